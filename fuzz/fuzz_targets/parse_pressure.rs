#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_core::parse::pressure;

fuzz_target!(|text: &str| {
    let _ = pressure::parse(text);
});
