#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_core::parse::crypto;

fuzz_target!(|text: &str| {
    let _ = crypto::parse(text);
});
