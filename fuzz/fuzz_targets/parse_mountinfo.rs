#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_core::parse::mountinfo;

fuzz_target!(|text: &str| {
    let mounts = mountinfo::parse(text);
    for mount in &mounts {
        let _ = (mount.read_only(), mountinfo::holding(&mounts, &mount.at));
    }
});
