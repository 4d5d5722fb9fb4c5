#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_core::parse::grub_cfg;

fuzz_target!(|text: &str| {
    let kept: String = text.split_inclusive('\n').filter(|line| grub_cfg::matters(line)).collect();
    assert_eq!(grub_cfg::arguments(text), grub_cfg::arguments(&kept));
});
