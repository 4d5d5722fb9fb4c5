#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_core::parse::mm_stat;

fuzz_target!(|text: &str| {
    let _ = mm_stat::parse(text);
});
