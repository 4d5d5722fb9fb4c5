#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_core::parse::signature;

fuzz_target!(|bytes: &[u8]| {
    let _ = signature::probe(bytes);
});
