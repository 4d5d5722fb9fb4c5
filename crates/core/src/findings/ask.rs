//! Questions that several detectors ask of the facts.
//!
//! Every helper answers from facts alone and says "no" or `None` when a fact is absent: a finding is only reported on
//! what was seen.

use super::Exhibit;
use crate::Bytes;
use crate::facts::{BlockDevice, Facts, KernelLogLine, SwapArea, SwapKind, ZswapFacts};
use crate::parse::cmdline::{self, Argument};
use swaptune_kernel::Behaviour;

/// Where zswap's parameters are shown.
pub(super) const PARAMETERS: &str = "/sys/module/zswap/parameters";

/// A parameter as an exhibit.
pub(super) fn parameter(name: &str, value: &str) -> Exhibit {
    Exhibit { source: format!("{PARAMETERS}/{name}"), text: value.to_owned() }
}

/// True when the kernel is known and does this.
pub(super) fn does(facts: &Facts, behaviour: &Behaviour) -> bool {
    facts.kernel.does(behaviour) == Some(true)
}

/// True when the kernel is known and does not do this.
pub(super) fn does_not(facts: &Facts, behaviour: &Behaviour) -> bool {
    facts.kernel.does(behaviour) == Some(false)
}

/// The kernel's release for a sentence.
pub(super) fn release(facts: &Facts) -> &str {
    facts.kernel.release.value().map_or("this kernel", String::as_str)
}

/// zswap, when it is there and on.
pub(super) fn zswap_on(facts: &Facts) -> Option<&ZswapFacts> {
    facts.zswap.value().filter(|zswap| zswap.enabled)
}

/// A numeric zswap parameter.
pub(super) fn percent(zswap: &ZswapFacts, name: &str) -> Option<u64> {
    zswap.parameter(name)?.trim().parse().ok()
}

/// A debugfs counter of zswap.
pub(super) fn counter(facts: &Facts, name: &str) -> Option<u64> {
    facts.zswap.value()?.counters.value()?.get(name).copied()
}

/// A debugfs counter of zswap, less what it was when the configuration was last changed.
pub(super) fn grown(facts: &Facts, name: &str) -> Option<u64> {
    let before = facts.memory.counted.value().and_then(|counted| counted.zswap.get(name)).copied();
    Some(counter(facts, name)?.saturating_sub(before.unwrap_or(0)))
}

/// The same for a counter of vmstat.
pub(super) fn grown_vmstat(facts: &Facts, name: &str) -> Option<u64> {
    let before = facts.memory.counted.value().and_then(|counted| counted.vmstat.get(name)).copied();
    Some(facts.memory.count(name)?.saturating_sub(before.unwrap_or(0)))
}

/// Since when these counters count.
pub(super) fn since(facts: &Facts) -> String {
    facts
        .memory
        .counted
        .value()
        .map_or_else(|| "since boot".to_owned(), |counted| format!("since {} at {}", counted.by, counted.at))
}

/// Pages that zswap wrote back since then: vmstat from 6.8 on, debugfs before.
pub(super) fn written_back(facts: &Facts) -> Option<u64> {
    grown_vmstat(facts, "zswpwb").or_else(|| grown(facts, "written_back_pages"))
}

/// Pages of the size of this machine as bytes.
pub(super) fn pages(facts: &Facts, count: u64) -> Bytes {
    let size = if facts.kernel.page_size.0 == 0 { 4096 } else { facts.kernel.page_size.0 };
    Bytes(count.saturating_mul(size))
}

/// Active areas on zram.
pub(super) fn zram_areas(facts: &Facts) -> Vec<&SwapArea> {
    facts.swaps.iter().filter(|area| area.is_zram()).collect()
}

/// Active areas on anything but zram.
pub(super) fn disk_areas(facts: &Facts) -> Vec<&SwapArea> {
    facts.swaps.iter().filter(|area| !area.is_zram()).collect()
}

/// The block device that an area is on; for a file, that of its file system.
pub(super) fn device<'a>(facts: &'a Facts, area: &SwapArea) -> Option<&'a BlockDevice> {
    facts.block_device(area.device.value()?)
}

/// Paths of areas for a sentence: `/dev/vda3, /dev/vdb1`.
pub(super) fn paths(areas: &[&SwapArea]) -> String {
    areas.iter().map(|area| area.path.as_str()).collect::<Vec<_>>().join(", ")
}

/// Areas and what they do: the first verb for one, the second for several.
pub(super) fn paths_that(areas: &[&SwapArea], one: &str, several: &str) -> String {
    format!("{} {}", paths(areas), if areas.len() == 1 { one } else { several })
}

/// Areas as lines of `/proc/swaps`.
pub(super) fn swap_lines(areas: &[&SwapArea]) -> Vec<Exhibit> {
    let line = |area: &&SwapArea| {
        let kind = if area.kind == SwapKind::File { "file" } else { "partition" };
        let text = format!("{} {kind}, size {}, used {}, priority {}", area.path, area.size, area.used, area.priority);
        Exhibit { source: "/proc/swaps".into(), text }
    };
    areas.iter().map(line).collect()
}

/// A line of the kernel log as an exhibit.
pub(super) fn log_exhibit(line: &KernelLogLine) -> Exhibit {
    let source = if line.at.is_empty() { "kernel log".to_owned() } else { format!("kernel log at {} s", line.at) };
    Exhibit { source, text: line.text.clone() }
}

/// Lines of the kernel log for which `wanted` holds.
pub(super) fn log(facts: &Facts, wanted: impl Fn(&str) -> bool) -> Vec<Exhibit> {
    let lines = facts.kernel.log.value().map_or(&[][..], Vec::as_slice);
    lines.iter().filter(|line| wanted(&line.text)).map(log_exhibit).collect()
}

/// A command line with where it stands: the running one, and the one that is configured for the next boot.
pub(super) fn command_lines(facts: &Facts) -> Vec<(&str, &str)> {
    let running = facts.kernel.cmdline.value().map(|text| (facts.kernel.cmdline.source(), text.as_str()));
    let configured = facts.boot.arguments.value().map(|store| (store.path.as_str(), store.configured.as_str()));
    running.into_iter().chain(configured).collect()
}

/// The words of zswap on every command line, with where they stand; names without `zswap.`.
pub(super) fn zswap_words(facts: &Facts) -> Vec<(String, Argument)> {
    let words = command_lines(facts).into_iter().flat_map(|(source, text)| {
        let words = cmdline::parse(text).into_iter();
        words.filter_map(move |mut word| {
            let name = word.name.strip_prefix("zswap.")?.replace('-', "_");
            word.name = name;
            Some((source.to_owned(), word))
        })
    });
    words.collect()
}

/// The value that the running kernel was given.
pub(super) fn booted_with(facts: &Facts, name: &str) -> Option<String> {
    cmdline::get(facts.kernel.cmdline.value()?, name)
}

/// A build option.
pub(super) fn config<'a>(facts: &'a Facts, name: &str) -> Option<&'a str> {
    facts.kernel.config.value()?.get(name).map(String::as_str)
}

/// The value of a knob as a number.
pub(super) fn number(facts: &Facts, knob: &str) -> Option<i64> {
    facts.knob(knob)?.trim().parse().ok()
}

/// A knob as an exhibit: its source and its value.
pub(super) fn knob_exhibit(facts: &Facts, knob: &str) -> Exhibit {
    let source = facts.knobs.get(knob).map_or(knob, crate::Fact::source);
    Exhibit { source: source.to_owned(), text: format!("{knob} = {}", facts.knob(knob).unwrap_or("unknown").trim()) }
}

/// The lines of sysctl files that set a knob, in the order in which they are read.
pub(super) fn setters(facts: &Facts, knob: &str) -> Vec<Exhibit> {
    let sources = facts.sysctl_sources.get(knob).map_or(&[][..], Vec::as_slice);
    let exhibit = |source: &crate::facts::SysctlSource| Exhibit {
        source: format!("{} line {}", source.path, source.line),
        text: format!("{knob} = {}", source.value),
    };
    sources.iter().map(exhibit).collect()
}

/// A command that takes a word out of the loader's configuration.
pub(super) fn drop_word(facts: &Facts, word: &str) -> String {
    match facts.boot.arguments.value() {
        Some(store) => {
            let regenerate = store.regenerate.as_ref().map(|command| format!(" && {}", command.join(" "))).unwrap_or_default();
            format!("sed -i 's/ *{}//' {}{regenerate}", word.replace('/', "\\/"), store.path)
        }
        None => format!("grep -rn '{word}' /etc/default/grub /etc/default/grub.d /etc/kernel /boot/loader"),
    }
}
