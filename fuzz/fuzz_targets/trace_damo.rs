#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_tiers::trace::{KeptColumns, TraceFormat, TraceReading, read};

// DAMON's records in all of their forms; the reader makes few accesses of them when it is fuzzed.
fuzz_target!(|bytes: &[u8]| {
    let reading = TraceReading { format: Some(TraceFormat::Damo), layout: None, keep: KeptColumns::Everything };
    if let Ok(trace) = read(bytes, &reading) {
        assert!(trace.pages().iter().all(|&page| page < trace.page_count()));
    }
});
