#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_core::parse::zramswap;

fuzz_target!(|text: &str| {
    let _ = zramswap::read(text);
});
