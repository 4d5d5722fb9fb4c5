#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_core::parse::udevdb;

fuzz_target!(|text: &str| {
    let _ = (udevdb::parse(text), udevdb::links(text));
});
