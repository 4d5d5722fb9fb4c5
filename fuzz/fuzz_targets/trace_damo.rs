#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_tiers::trace::{Format, Keep, Reading, read};

// DAMON's records in all of their forms; the reader makes few accesses of them when it is fuzzed.
fuzz_target!(|bytes: &[u8]| {
    let reading = Reading { format: Some(Format::Damo), layout: None, keep: Keep::Everything };
    if let Ok(trace) = read(bytes, &reading) {
        assert!(trace.pages().iter().all(|&page| page < trace.page_count()));
    }
});
