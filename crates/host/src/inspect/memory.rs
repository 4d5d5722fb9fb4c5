//! RAM, counters, pressure, huge pages.

use swaptune_core::Fact;
use swaptune_core::facts::{CountersSinceBoot, MemoryFacts, ThpFacts};
use swaptune_core::parse::{choice, keyed, pressure};

use crate::machine::Machine;

/// What was counted when the configuration was last changed. In `/run`: a reboot takes it away together with the counters.
pub(crate) const COUNTERS: &str = "/run/swaptune/counters.json";
pub(crate) const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

pub(super) fn inspect(machine: &Machine) -> MemoryFacts {
    MemoryFacts {
        meminfo: parsed(machine, "/proc/meminfo", |text| Some(keyed::meminfo(text))),
        vmstat: parsed(machine, "/proc/vmstat", |text| Some(keyed::counts(text))),
        counted: counted(machine),
        pressure: parsed(machine, "/proc/pressure/memory", pressure::parse),
        thp: thp(machine),
    }
}

/// Counters when the configuration was last changed, unless a boot came between.
fn counted(machine: &Machine) -> Fact<CountersSinceBoot> {
    let path = COUNTERS;
    let text = match machine.read_text(path) {
        Ok(text) => text,
        Err(error) if error.missing => return Fact::absent(format!("{path}: nothing was applied since boot")),
        Err(error) => return error.absent(),
    };
    let boot = machine.read_text(BOOT_ID).unwrap_or_default();
    match serde_json::from_str::<CountersSinceBoot>(&text) {
        Ok(counted) if !counted.boot.is_empty() && counted.boot == boot.trim() => Fact::known(counted, path),
        Ok(_) => Fact::absent(format!("{path}: of another boot")),
        Err(error) => Fact::absent(format!("{path}: {error}")),
    }
}

/// A fact made of one file.
pub(super) fn parsed<T>(machine: &Machine, path: &str, parse: impl FnOnce(&str) -> Option<T>) -> Fact<T> {
    match machine.read_text(path) {
        Ok(text) => match parse(&text) {
            Some(value) => Fact::known(value, path),
            None => Fact::absent(format!("{path}: not in the form that the kernel documents")),
        },
        Err(error) => error.absent(),
    }
}

fn thp(machine: &Machine) -> Fact<ThpFacts> {
    let folder = "/sys/kernel/mm/transparent_hugepage";
    let read = |name: &str| machine.read_text(&format!("{folder}/{name}")).map(|text| choice::value(&text));
    match (read("enabled"), read("defrag")) {
        (Ok(enabled), Ok(defrag)) => Fact::known(ThpFacts { enabled, defrag }, folder),
        (Err(error), _) | (_, Err(error)) => error.absent(),
    }
}
