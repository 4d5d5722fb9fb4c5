#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_core::parse::proc_status;

fuzz_target!(|text: &str| {
    let _ = proc_status::parse(text);
});
