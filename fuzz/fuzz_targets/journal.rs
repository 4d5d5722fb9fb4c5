#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use swaptune_host::journal;

fuzz_target!(|bytes: &[u8]| {
    let _ = journal::parse(Path::new("fuzz"), bytes);
});
