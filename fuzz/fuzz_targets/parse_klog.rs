#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_core::parse::klog;

fuzz_target!(|text: &str| {
    let lines = klog::text(text);
    let _ = (klog::record(text), klog::zswap_loaded(&lines), klog::zswap_complaints(&lines));
    for line in &lines {
        let _ = klog::concerns_swap(&line.text);
        assert_eq!(klog::text(&klog::render(line)).len(), 1);
    }
});
