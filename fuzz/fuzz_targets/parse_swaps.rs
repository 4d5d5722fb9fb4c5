#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_core::parse::swaps;

fuzz_target!(|text: &str| {
    let _ = swaps::parse(text);
});
