#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_core::parse::bls;

fuzz_target!(|text: &str| {
    let _ = (bls::options(text), bls::extlinux_append(text), bls::first(text, "version"));
});
