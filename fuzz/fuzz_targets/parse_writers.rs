#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_core::parse::writers;

fuzz_target!(|text: &str| {
    for command in writers::commands(text) {
        let _ = (writers::script(&command.text), writers::shell(&command.text));
    }
    for line in text.lines() {
        let _ = (writers::shell(line), writers::tmpfiles(line), writers::udev(line), writers::modprobe(line));
    }
});
