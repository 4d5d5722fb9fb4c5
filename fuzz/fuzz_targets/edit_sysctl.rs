#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_core::edit::sysctl;

fuzz_target!(|text: &str| {
    let once = sysctl::comment_out(text, "vm.swappiness", "why");
    assert_eq!(sysctl::comment_out(&once, "vm.swappiness", "why"), once);
});
