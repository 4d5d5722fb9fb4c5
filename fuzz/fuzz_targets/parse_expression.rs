#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_core::parse::expression;

fuzz_target!(|text: &str| {
    let _ = expression::mib(text, 1000.0);
});
