#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_core::Bytes;
use swaptune_core::parse::rpi_swap::{self, RpiSwapSection};

fuzz_target!(|text: &str| {
    let swap = rpi_swap::read(&[("a", text), ("b", text)]);
    let _ = swap.mechanism();
    for section in [RpiSwapSection::File, RpiSwapSection::Zram] {
        let _ = swap.size(section, Bytes::from_gib(1));
    }
});
