//! zram: the driver and its devices.

use swaptune_core::facts::{Availability, DAEMON_STATUS, ZramDevice, ZramFacts};
use swaptune_core::parse::{choice, mm_stat};
use swaptune_core::{Bytes, Fact};

use super::compressors::Modules;
use super::memory::parsed;
use crate::machine::{Machine, ReadError};

pub(super) fn inspect(machine: &Machine, modules: &Modules) -> ZramFacts {
    let names = machine.list("/sys/block").unwrap_or_default();
    let is_zram = |name: &&String| name.strip_prefix("zram").is_some_and(|rest| rest.parse::<u32>().is_ok());
    ZramFacts {
        driver: driver(machine, modules),
        kept: machine.exists(DAEMON_STATUS),
        devices: names.iter().filter(is_zram).map(|name| device(machine, name)).collect(),
    }
}

fn driver(machine: &Machine, modules: &Modules) -> Fact<Availability> {
    // Present as soon as the driver is, built in or loaded; /sys/module/zram only exists for a module.
    let control = "/sys/class/zram-control";
    if machine.exists(control) {
        let loaded = modules.is_loaded("zram");
        return Fact::known(if loaded { Availability::Loaded } else { Availability::BuiltIn }, control);
    }
    let (availability, source) = modules.find("zram", "CONFIG_ZRAM");
    Fact::known(availability, source)
}

fn device(machine: &Machine, name: &str) -> ZramDevice {
    let path = |file: &str| format!("/sys/block/{name}/{file}");
    let text = |file: &str| machine.read_text(&path(file)).map(|text| text.trim().to_owned());
    let algorithms = text("comp_algorithm").map(|text| choice::parse(&text));
    ZramDevice {
        name: name.to_owned(),
        disksize: Bytes(text("disksize").ok().and_then(|text| text.parse().ok()).unwrap_or_default()),
        algorithm: match &algorithms {
            Ok(choice) => match &choice.chosen {
                Some(chosen) => Fact::known(chosen.clone(), path("comp_algorithm")),
                None => Fact::absent(format!("{}: none is chosen", path("comp_algorithm"))),
            },
            Err(error) => error.clone().absent(),
        },
        algorithms: algorithms.map(|choice| choice.all).unwrap_or_default(),
        mm_stat: parsed(machine, &path("mm_stat"), mm_stat::parse),
        backing_dev: match text("backing_dev") {
            Ok(device) => Fact::known(device, path("backing_dev")),
            Err(error) => error.absent(),
        },
        written_back: written_back(text("bd_stat"), path("bd_stat")),
        recomp_algorithm: match text("recomp_algorithm") {
            Ok(lines) => Fact::known(choice::numbered(&lines), path("recomp_algorithm")),
            Err(error) => error.absent(),
        },
    }
}

/// The third number counts writes of 4 KiB, whatever a page is (zram.rst, bd_stat).
fn written_back(bd_stat: Result<String, ReadError>, path: String) -> Fact<Bytes> {
    match bd_stat {
        Ok(text) => match text.split_whitespace().nth(2).and_then(|blocks| blocks.parse::<u64>().ok()) {
            Some(blocks) => Fact::known(Bytes(blocks.saturating_mul(4096)), path),
            None => Fact::absent(format!("{path}: found \"{text}\", expected three numbers")),
        },
        Err(error) => error.absent(),
    }
}
