#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_core::parse::block_stat;

fuzz_target!(|text: &str| {
    let _ = block_stat::parse(text);
});
