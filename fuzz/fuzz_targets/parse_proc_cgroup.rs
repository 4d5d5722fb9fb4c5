#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_core::parse::proc_cgroup;

fuzz_target!(|text: &str| {
    let member = proc_cgroup::parse(text);
    let _ = (member.is_in_group(text), member.is_in_unit(text), member.unit());
});
