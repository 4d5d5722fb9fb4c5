#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_core::parse::modules;

fuzz_target!(|text: &str| {
    let _ = (modules::name(text), modules::loaded(text, "zram"));
    assert!(modules::find(text, "lz4").is_none_or(|path| modules::name(path) == "lz4"));
});
