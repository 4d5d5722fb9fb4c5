#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_core::parse::gpt;

fuzz_target!(|bytes: &[u8]| {
    // As blkid and /dev/disk write it, or nothing.
    if let Some(uuid) = gpt::disk_uuid(bytes) {
        assert_eq!((uuid.len(), uuid.matches('-').count()), (36, 4));
    }
});
