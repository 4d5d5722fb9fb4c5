#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_tiers::scenario::{Changes, NoFiles, Scenario};

// Whatever stands in a scenario, it is read or refused with a message.
fuzz_target!(|text: &str| {
    if let Err(error) = Scenario::read(text, &Changes::default(), &NoFiles) {
        assert!(!error.to_string().is_empty());
    }
});
