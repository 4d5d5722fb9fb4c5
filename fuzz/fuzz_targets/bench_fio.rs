#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_bench::disk::output::{DirectionFigures, parse};

fuzz_target!(|text: &str| {
    if let Ok(outcome) = parse(text) {
        for load in [&outcome.read, &outcome.write].into_iter().flatten() {
            let _ = DirectionFigures::figures(&[load, load]);
        }
    }
});
