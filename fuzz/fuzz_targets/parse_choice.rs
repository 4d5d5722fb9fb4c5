#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_core::parse::choice;

fuzz_target!(|text: &str| {
    let parsed = choice::parse(text);
    assert!(parsed.chosen.is_none_or(|word| parsed.all.contains(&word)));
    let _ = choice::value(text);
});
