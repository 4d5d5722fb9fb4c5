#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_core::parse::ini;

fuzz_target!(|text: &str| {
    let _ = ini::sections(text);
});
