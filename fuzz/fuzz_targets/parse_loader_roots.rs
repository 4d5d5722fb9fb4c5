#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_core::parse::loader_roots;

fuzz_target!(|text: &str| {
    // What boots takes its own place.
    if loader_roots::why_not(None, text).is_none() {
        assert_eq!(loader_roots::why_not(Some(text), text), None);
    }
});
