#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_core::parse::shell;

fuzz_target!(|text: &str| {
    let _ = shell::evaluate([text, text]);
});
