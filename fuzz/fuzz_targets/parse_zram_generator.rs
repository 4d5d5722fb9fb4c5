#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_core::Bytes;
use swaptune_core::parse::zram_generator;

fuzz_target!(|text: &str| {
    for device in zram_generator::devices(&[("a", text), ("b", text)]) {
        let _ = (device.is_swap(), device.is_left_out(Bytes::from_gib(1)));
    }
    let _ = zram_generator::in_order(&text.lines().collect::<Vec<_>>());
});
