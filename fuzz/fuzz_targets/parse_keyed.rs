#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_core::parse::keyed;

fuzz_target!(|text: &str| {
    let _ = (keyed::counts(text), keyed::meminfo(text));
});
