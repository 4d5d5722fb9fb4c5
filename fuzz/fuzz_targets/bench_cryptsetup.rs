#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_bench::cipher::output;
use swaptune_core::measurement::recommend;

fuzz_target!(|text: &str| {
    let _ = output::no_interface(text);
    let _ = output::unavailable(text);
    let rows = output::parse(text);
    if let Some(choice) = recommend(&rows, None) {
        assert!(choice.mib_s > 0.0);
    }
});
