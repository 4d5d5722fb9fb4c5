#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_core::escape;

fuzz_target!(|text: &str| {
    assert_eq!(escape::unescape(&escape::escape(text)), text);
    let _ = escape::unescape(text);
});
