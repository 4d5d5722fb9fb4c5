#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_core::parse::maps;

fuzz_target!(|text: &str| {
    let _ = (maps::parse(text), maps::usage(text));
});
