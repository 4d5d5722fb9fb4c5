#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_core::edit::fstab;

fuzz_target!(|text: &str| {
    let _ = fstab::entries(text);
    let once = fstab::remove_swap(text, |_| true);
    assert_eq!(fstab::remove_swap(&once, |_| true), once);
    assert_eq!(fstab::remove_swap(text, |_| false), text);
});
