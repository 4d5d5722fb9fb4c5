#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_core::edit::grub;

fuzz_target!(|text: &str| {
    let _ = grub::effective(&[("grub", text), ("drop-in", text)]);
    if let Ok(once) = grub::set(text, &[("zswap.enabled", "1")], &["zswap."]) {
        assert_eq!(grub::set(&once, &[("zswap.enabled", "1")], &["zswap."]), Ok(once));
    }
});
