#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_tiers::trace::{Format, Keep, Reading, read};

// Samples with addresses, as perf script prints them.
fuzz_target!(|bytes: &[u8]| {
    let reading = Reading { format: Some(Format::Perf), layout: None, keep: Keep::Everything };
    if let Ok(trace) = read(bytes, &reading) {
        assert!(trace.pages().iter().all(|&page| page < trace.page_count()));
    }
});
