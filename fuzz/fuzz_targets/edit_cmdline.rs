#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_core::edit::cmdline;

fuzz_target!(|text: &str| {
    let once = cmdline::set(text, &[("zswap.enabled", "1")], &["zswap."]);
    assert_eq!(cmdline::set(&once, &[("zswap.enabled", "1")], &["zswap."]), once);
});
