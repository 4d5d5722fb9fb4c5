#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_core::parse::work_trace;

fuzz_target!(|text: &str| {
    let runs = work_trace::parse(text, "f");
    assert!(runs.waits.len() + runs.runs.len() <= text.lines().count());
});
