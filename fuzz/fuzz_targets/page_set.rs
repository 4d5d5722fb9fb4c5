#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_tiers::page_set::PageSet;

fuzz_target!(|text: &str| {
    if let Ok(set) = PageSet::from_json(text) {
        assert_eq!(PageSet::from_json(&set.to_json().expect("what was read can be written")).expect("and read"), set);
    }
});
