#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_tiers::trace::{KeptColumns, TraceFormat, TraceReading, read};

// Samples with addresses, as perf script prints them.
fuzz_target!(|bytes: &[u8]| {
    let reading = TraceReading { format: Some(TraceFormat::Perf), layout: None, keep: KeptColumns::Everything };
    if let Ok(trace) = read(bytes, &reading) {
        assert!(trace.pages().iter().all(|&page| page < trace.page_count()));
    }
});
