//! Taking over what other programs and people configured: their files become settings, each value with its file and line.
//!
//! Only files count, for they are what the next boot makes of the machine. A manager is taken over with all its devices or not at all, so
//! that none of them is left without an owner. What cannot be carried over is a note.

mod fstab;
mod managers;
mod parameters;
#[cfg(test)]
mod tests;
mod zram_generator;

use crate::facts::Facts;
use crate::plan::{APPLIED_FILE, Note};
use crate::settings::{NOTHING_DERIVED, Provenance, Setting, Settings, SettingsError, SwapWanted, ZramWanted};

/// What notes on the taking over are about, with the place after it.
pub const ADOPTED: &str = "adopt";

/// A kind of configuration that can be taken over.
#[derive(Debug)]
pub struct Importer {
    /// Its name; of a manager that of the table of managers.
    pub name: &'static str,
    /// The files that it reads.
    pub files: &'static str,
    /// What is carried over.
    pub carries: &'static str,
    read: fn(&Facts, &mut Taken) -> Result<(), SettingsError>,
}

/// All of them, in the order in which a boot acts on them: of two that set one knob the later one has its way.
pub const IMPORTERS: [Importer; 8] = [
    Importer {
        name: "kernel arguments",
        files: "the boot loader's configuration, else /proc/cmdline",
        carries: "zswap.* words",
        read: parameters::words,
    },
    Importer {
        name: "sysctl.d",
        files: "/etc/sysctl.d, /etc/sysctl.conf",
        carries: "knobs of the table",
        read: parameters::sysctls,
    },
    Importer {
        name: "boot files",
        files: "tmpfiles.d, udev rules, modprobe.d, units, rc.local, cron",
        carries: "plain lines that set a knob",
        read: parameters::writers,
    },
    Importer { name: "fstab", files: "/etc/fstab", carries: "swap areas, their order and options", read: fstab::read },
    Importer {
        name: "zram-generator",
        files: "zram-generator.conf and its drop-ins",
        carries: "size, compressors, priority, limit, writeback-device",
        read: zram_generator::read,
    },
    Importer {
        name: "zram-tools",
        files: "/etc/default/zramswap",
        carries: "size, compressor, priority",
        read: managers::zram_tools,
    },
    Importer {
        name: "rpi-swap",
        files: "/etc/rpi/swap.conf and its drop-ins",
        carries: "swap file or zram",
        read: managers::rpi_swap,
    },
    Importer {
        name: "zswap-cli",
        files: "/etc/zswap-cli/zswap-cli.conf",
        carries: "zswap's parameters",
        read: managers::zswap_cli,
    },
];

/// What was taken over.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Taken {
    /// The settings: all of them come from a file, none from a rule.
    pub settings: Settings,
    /// What was read, and what could not be carried over.
    pub notes: Vec<Note>,
}

impl Taken {
    fn note(&mut self, text: impl Into<String>, evidence: impl Into<String>) {
        let evidence = evidence.into();
        self.notes.push(Note { about: format!("{ADOPTED} {evidence}"), text: text.into(), evidence, pending: false });
    }

    /// Areas beside those that other files name.
    fn areas(&mut self, areas: Vec<SwapWanted>, place: Provenance) {
        if !areas.is_empty() {
            self.settings.swap.get_or_insert_with(|| Setting::new(Vec::new(), place)).value.extend(areas);
        }
    }

    /// The devices of a manager; there can be one manager, for both would set up the same first device.
    fn zram(&mut self, name: &str, devices: Vec<ZramWanted>, place: Provenance) -> Result<(), SettingsError> {
        if let Some(first) = self.settings.zram.as_ref().filter(|_| !devices.is_empty()) {
            let problem = format!("{name} sets up zram, and so does {}: disable one of the two first", first.provenance);
            return Err(SettingsError { place: place.to_string(), problem });
        }
        if !devices.is_empty() {
            self.settings.zram = Some(Setting::new(devices, place));
        }
        Ok(())
    }
}

/// A line of a file.
fn at(path: &str, line: usize) -> Provenance {
    Provenance::File { path: path.to_owned(), line }
}

/// Reads the configuration of this machine, whoever wrote it.
///
/// # Errors
/// [`SettingsError`] with file and line for what its own program could not make sense of either, and where swaptune itself is applied.
pub fn adopt(facts: &Facts) -> Result<Taken, SettingsError> {
    if facts.file(APPLIED_FILE).is_some() {
        let problem =
            "there is an apply of our own, so there is nothing to adopt: leave --adopt out, or `swaptune rollback` first";
        return Err(SettingsError { place: APPLIED_FILE.into(), problem: problem.into() });
    }
    let mut taken = Taken::default();
    for importer in &IMPORTERS {
        (importer.read)(facts, &mut taken)?;
    }
    fstab::order(facts, &mut taken);
    if taken.settings == Settings::default() {
        taken.note("no file here configures swap, zswap, zram or a knob: there is nothing to take over", "/etc");
    }
    let profile = Setting::new(NOTHING_DERIVED.to_owned(), Provenance::Flag("--adopt".into()));
    taken.settings.profile = Some(profile);
    Ok(taken)
}

/// True when a manager of this name acts at boot.
fn is_active(facts: &Facts, name: &str) -> bool {
    facts.system.managers.iter().any(|manager| manager.name == name && manager.active)
}
