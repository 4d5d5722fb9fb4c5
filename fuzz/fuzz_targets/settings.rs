#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_core::settings::read_toml;

fuzz_target!(|text: &str| {
    let _ = read_toml("fuzz", text, None);
});
