#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_core::edit::fstab::{self, FstabEntry, FstabSwapLine};

// The editor that writes fstab: one line of the area afterwards, and doing it again changes nothing.
fuzz_target!(|text: &str| {
    let _ = fstab::entries(text);
    let line = FstabSwapLine { spec: "UUID=ab-1".into(), options: "sw,pri=10,nofail".into() };
    let same = |entry: &FstabEntry| entry.spec == "UUID=ab-1" || entry.spec == "/dev/vda3";
    let once = fstab::set_swap(text, &line, same);
    assert_eq!(fstab::set_swap(&once, &line, same), once);
    assert_eq!(fstab::entries(&once).iter().flatten().filter(|entry| entry.is_swap() && same(entry)).count(), 1);
});
