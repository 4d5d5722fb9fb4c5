//! What a plan wants, written down for programs that set up machines themselves: where swaptune shall plan and not apply.
//!
//! Everything is resolved for one machine: of names the first that its kernel has, of sizes the share of its RAM. What a format cannot
//! say is a note, never left out in silence.

mod ansible;
mod cloud_init;
mod dracut;
mod left_out;
mod nixos;
mod systemd;
mod zram_generator;

use serde::{Deserialize, Serialize};

use crate::facts::Facts;
use crate::knobs;
use crate::plan::Plan;
use crate::settings::{Settings, SwapWanted, WantedParameter, ZramWanted, ZswapSettings};
use left_out::Leaves;

/// A form to write a plan in.
#[derive(Debug)]
pub struct EmitFormat {
    /// As it is typed.
    pub name: &'static str,
    /// What it is for, in one sentence.
    pub about: &'static str,
    write: fn(&EmittedValues<'_>, &mut Emitted),
    leaves: Leaves,
}

/// All of them.
pub const FORMATS: [EmitFormat; 6] = [
    EmitFormat {
        name: "ansible",
        about: "a playbook with the files of `systemd`; the machine needs no swaptune",
        write: ansible::write,
        leaves: Leaves::Steps,
    },
    EmitFormat {
        name: "cloud-init",
        about: "user data: swaptune's configuration, and its apply at the first boot",
        write: cloud_init::write,
        leaves: Leaves::Nothing,
    },
    EmitFormat {
        name: "dracut",
        about: "dracut.conf.d: modules and kernel arguments that zswap needs before the root file system is there",
        write: dracut::write,
        leaves: Leaves::Silencing,
    },
    EmitFormat {
        name: "nixos",
        about: "a module for configuration.nix, with NixOS's own options",
        write: nixos::write,
        leaves: Leaves::Steps,
    },
    EmitFormat {
        name: "systemd",
        about: "sysctl.d, tmpfiles.d and swap units; the machine needs no swaptune",
        write: systemd::write,
        leaves: Leaves::Steps,
    },
    EmitFormat {
        name: "zram-generator",
        about: "zram-generator.conf for the zram devices",
        write: zram_generator::write,
        leaves: Leaves::Silencing,
    },
];

/// A file of the form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmittedFile {
    /// Where it belongs on the machine; a bare name where its place is the reader's choice.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// What was written down.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Emitted {
    /// The files.
    pub files: Vec<EmittedFile>,
    /// What the form cannot say, and what is to be done by hand.
    pub notes: Vec<String>,
}

impl Emitted {
    fn file(&mut self, path: impl Into<String>, text: String) {
        self.files.push(EmittedFile { path: path.into(), text });
    }

    fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }
}

/// Writes these settings down for this machine; of the plan for them, what the format has nothing for is told.
#[must_use]
pub fn emit(format: &EmitFormat, facts: &Facts, settings: &Settings, plan: &Plan) -> Emitted {
    let mut emitted = Emitted::default();
    let values = EmittedValues::of(facts, settings, &mut emitted);
    (format.write)(&values, &mut emitted);
    emitted.notes.extend(left_out::notes(format.leaves, &values, plan));
    emitted
}

/// First line of each file that has comments.
const HEADER: &str = "# Written by `swaptune emit` from a plan for one machine.\n";

/// Settings as this machine takes them.
struct EmittedValues<'a> {
    settings: &'a Settings,
    facts: &'a Facts,
    /// Paths of zswap's parameters with their values, in the order in which they must be written: `enabled` last.
    zswap: Vec<(&'static str, String)>,
    /// Names of sysctls, as sysctl(8) has them, and their values.
    sysctls: Vec<(&'static str, String)>,
    /// Paths of other knobs and their values.
    sysfs: Vec<(&'static str, String)>,
    areas: &'a [SwapWanted],
    zrams: Vec<ZramWanted>,
    /// RAM in bytes.
    ram: u64,
}

impl<'a> EmittedValues<'a> {
    fn of(facts: &'a Facts, settings: &'a Settings, emitted: &mut Emitted) -> Self {
        let (mut sysctls, mut sysfs) = (Vec::new(), Vec::new());
        for (name, setting) in &settings.knobs {
            let Some(row) = knobs::find(name).filter(|row| facts.has_knob(row)) else {
                emitted.note(format!("{name} is left out: this kernel has no such knob"));
                continue;
            };
            let value = row.spelling(&setting.value);
            match row.path {
                path if path.contains('*') => {
                    emitted.note(format!("{name} = {value} is left out: it is one file for each device"))
                }
                _ if row.is_sysctl() => sysctls.push((row.name, value)),
                path => sysfs.push((path, value)),
            }
        }
        let usable = |zram: &ZramWanted| ZramWanted {
            algorithm: facts.first_of_zram(&zram.algorithm).or(zram.algorithm.first().cloned()).into_iter().collect(),
            backing_dev: zram.backing_dev.as_deref().and_then(path_of),
            ..zram.clone()
        };
        Self {
            settings,
            facts,
            zswap: zswap(facts, settings),
            sysctls,
            sysfs,
            areas: settings.swap.as_ref().map_or(&[], |list| &list.value),
            zrams: settings.zram.iter().flat_map(|list| &list.value).map(usable).collect(),
            ram: facts.memory.total().0,
        }
    }
}

/// A path, which these formats take in place of a tag; `None` for what is no path, or has a character that would end a line.
fn path_of(name: &str) -> Option<String> {
    const TAGS: [(&str, &str); 5] =
        [("UUID=", "uuid"), ("LABEL=", "label"), ("PARTUUID=", "partuuid"), ("PARTLABEL=", "partlabel"), ("ID=", "id")];
    let link = |tag: &str, folder: &str| Some(format!("/dev/disk/by-{folder}/{}", link_name(name.strip_prefix(tag)?)));
    let tagged = TAGS.iter().find_map(|(tag, folder)| link(tag, folder));
    let path = tagged.unwrap_or_else(|| name.to_owned());
    (path.starts_with('/') && !path.contains(char::is_control)).then_some(path)
}

/// A label as udev names its link: a character of ASCII that is not one of these is its byte in hexadecimal (`encode_devnode_name()` of systemd).
fn link_name(label: &str) -> String {
    let plain = |c: char| !c.is_ascii() || c.is_ascii_alphanumeric() || "#+-.:=@_".contains(c);
    label.chars().map(|c| if plain(c) { c.to_string() } else { format!("\\x{:02x}", c as u32) }).collect()
}

fn zswap(facts: &Facts, settings: &Settings) -> Vec<(&'static str, String)> {
    let Some(live) = facts.zswap.value() else { return Vec::new() };
    let counts = |name: &str| settings.wants_zswap() || name == "zswap.enabled";
    let rows = ZswapSettings::rows().filter(|row| counts(row.name) && live.parameter(row.parameter()).is_some());
    let value = |wanted: &WantedParameter| match wanted {
        WantedParameter::Names(names) => facts.first_usable(names).or(names.first().cloned()),
        other => other.text(facts.memory.total()),
    };
    let mut all: Vec<(&str, String)> =
        rows.filter_map(|row| Some((row.path, value(&settings.zswap.get(row.parameter())?.value)?))).collect();
    all.sort_by_key(|(path, _)| path.ends_with("/enabled"));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_area_is_a_path_and_nothing_else() {
        assert_eq!(path_of("UUID=0b8c").as_deref(), Some("/dev/disk/by-uuid/0b8c"));
        assert_eq!(path_of("LABEL=my swap").as_deref(), Some("/dev/disk/by-label/my\\x20swap"), "as udev names the link");
        assert_eq!(path_of("PARTLABEL=a/ü#1").as_deref(), Some("/dev/disk/by-partlabel/a\\x2fü#1"));
        assert_eq!(path_of("/var/a=b").as_deref(), Some("/var/a=b"));
        assert_eq!(path_of("/dev/vda3\nExecStart=/bin/true"), None);
        assert_eq!(path_of("swapfile"), None);
    }
}
