#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_core::parse::zswap_cli;

fuzz_target!(|text: &str| {
    let _ = zswap_cli::read(text);
});
