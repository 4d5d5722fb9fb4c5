#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_core::parse::{kubelet, yaml};

fuzz_target!(|text: &str| {
    let _ = yaml::values(text);
    let _ = (kubelet::configuration(text), kubelet::flags(text), kubelet::rancher_file(text), kubelet::rancher_words(text));
});
