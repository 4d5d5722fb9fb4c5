#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_core::parse::crypttab;

fuzz_target!(|text: &str| {
    let _ = crypttab::parse(text);
});
