#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_core::parse::sysctl;

fuzz_target!(|text: &str| {
    for setting in sysctl::parse(text) {
        assert!(!setting.key.is_empty() && setting.line > 0);
    }
});
