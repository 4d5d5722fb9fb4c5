#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_tiers::trace::{FORMATS, FieldLayout, KeptColumns, TraceReading, read, write};

// Whatever is read without an error can be written in every format that is written, and swaptune's own brings all of it back.
fuzz_target!(|bytes: &[u8]| {
    let layout = FieldLayout::parse("page=2,time_us=1,op=3").ok();
    for layout in [None, layout] {
        for format in FORMATS.iter().map(|row| Some(row.format)).chain([None]) {
            let reading = TraceReading { format, layout: layout.clone(), keep: KeptColumns::Everything };
            let Ok(trace) = read(bytes, &reading) else { continue };
            for row in FORMATS.iter().filter(|row| row.is_written()) {
                let mut out = Vec::new();
                write(&trace, row.format, &mut out).unwrap();
                let back =
                    read(&out[..], &TraceReading { format: Some(row.format), layout: None, keep: KeptColumns::Everything })
                        .unwrap();
                assert_eq!(back.len(), trace.len());
            }
        }
    }
});
