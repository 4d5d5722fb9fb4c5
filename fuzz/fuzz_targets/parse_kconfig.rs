#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_core::parse::kconfig;

fuzz_target!(|text: &str| {
    let _ = kconfig::parse(text);
});
