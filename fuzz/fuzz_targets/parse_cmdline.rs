#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_core::parse::cmdline;

fuzz_target!(|text: &str| {
    for argument in cmdline::parse(text) {
        assert!(cmdline::has(text, &argument.name));
        let _ = cmdline::boolean(argument.value.as_deref().unwrap_or_default());
    }
});
