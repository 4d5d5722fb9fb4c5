//! RAM, counters, pressure, huge pages.

use swaptune_core::Fact;
use swaptune_core::facts::{MemoryFacts, ThpFacts};
use swaptune_core::parse::{choice, keyed, pressure};

use crate::machine::Machine;

pub(super) fn inspect(machine: &Machine) -> MemoryFacts {
    MemoryFacts {
        meminfo: parsed(machine, "/proc/meminfo", |text| Some(keyed::meminfo(text))),
        vmstat: parsed(machine, "/proc/vmstat", |text| Some(keyed::counts(text))),
        pressure: parsed(machine, "/proc/pressure/memory", pressure::parse),
        thp: thp(machine),
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
