//! Other programs that set what swaptune would set: one table, and what makes each of them active at boot.

use std::collections::BTreeMap;

use swaptune_core::Bytes;
use swaptune_core::facts::Manager;
use swaptune_core::parse::zram_generator;

use crate::machine::Machine;

/// How a manager is switched on.
enum Active {
    /// By a service of this name: a link in a `.wants` folder, a runlevel, or runit's folder.
    Service(&'static [&'static str]),
    /// By a generator of systemd that acts when its configuration has a section `[zram…]`.
    ZramGenerator,
    /// By being there, unless this generator of systemd is masked.
    Generator(&'static str),
    /// By being there.
    Installed,
}

struct ManagerEvidence {
    name: &'static str,
    evidence: &'static [&'static str],
    active: Active,
}

const TABLE: &[ManagerEvidence] = &[
    row("zram-generator", &["/usr/lib/systemd/system-generators/zram-generator"], Active::ZramGenerator),
    row("zram-tools", &["/usr/sbin/zramswap"], Active::Service(&["zramswap"])),
    row("zram-config", &["/usr/bin/init-zram-swapping", "/usr/sbin/zram-config", "/etc/ztab"], Active::Service(&["zram-config"])),
    row("zram-swap", &["/usr/local/sbin/zram-swap.sh"], Active::Service(&["zram-swap"])),
    row("zram-init", &["/usr/sbin/zram-init", "/sbin/zram-init"], Active::Service(&["zram-init", "zram_swap"])),
    row("armbian-zram-config", &["/usr/lib/armbian/armbian-zram-config"], Active::Service(&["armbian-zram-config"])),
    row("zramd", &["/usr/bin/zramd"], Active::Service(&["zramd"])),
    row("zramen", &["/usr/bin/zramen"], Active::Service(&["zramen"])),
    row("pop-zram", &["/usr/bin/pop-zram-config", "/etc/default/pop-zram"], Active::Service(&["pop-default-settings-zram"])),
    row("zswap-cli", &["/usr/bin/zswap-cli", "/usr/sbin/zswap-cli"], Active::Service(&["zswap-cli"])),
    row("systemd-swap", &["/usr/bin/systemd-swap", "/etc/systemd/swap.conf"], Active::Service(&["systemd-swap"])),
    row(
        "rpi-swap",
        &["/etc/rpi/swap.conf", "/usr/lib/systemd/system-generators/rpi-swap-generator"],
        Active::Generator("rpi-swap-generator"),
    ),
    row("dphys-swapfile", &["/usr/sbin/dphys-swapfile", "/sbin/dphys-swapfile"], Active::Service(&["dphys-swapfile"])),
    row("swapspace", &["/usr/sbin/swapspace"], Active::Service(&["swapspace"])),
    row("xzram", &["/etc/sysctl.d/99-xzram.conf"], Active::Installed),
    row("tuned", &["/usr/sbin/tuned", "/usr/bin/tuned"], Active::Service(&["tuned"])),
    row("systemd-oomd", &["/usr/lib/systemd/systemd-oomd"], Active::Service(&["systemd-oomd"])),
    row("oomd", &["/usr/bin/oomd"], Active::Service(&["oomd"])),
    row("earlyoom", &["/usr/bin/earlyoom", "/usr/sbin/earlyoom"], Active::Service(&["earlyoom"])),
    row("nohang", &["/usr/sbin/nohang", "/usr/bin/nohang"], Active::Service(&["nohang", "nohang-desktop"])),
    row("uresourced", &["/usr/libexec/uresourced"], Active::Service(&["uresourced"])),
];

const fn row(name: &'static str, evidence: &'static [&'static str], active: Active) -> ManagerEvidence {
    ManagerEvidence { name, evidence, active }
}

pub(super) fn inspect(machine: &Machine, ram: Bytes) -> Vec<Manager> {
    let enabled = Enabled::read(machine, is_ours);
    let found = TABLE.iter().filter_map(|row| {
        let evidence = row.evidence.iter().find(|path| machine.exists(path))?;
        let reason = match row.active {
            Active::Service(names) => enabled.any(names),
            Active::ZramGenerator => zram_section(machine, ram),
            Active::Generator(name) if is_generator_masked(machine, name) => None,
            Active::Generator(_) | Active::Installed => Some((*evidence).to_owned()),
        };
        Some(Manager {
            name: row.name.to_owned(),
            active: reason.is_some(),
            evidence: reason.unwrap_or_else(|| (*evidence).to_owned()),
        })
    });
    found.collect()
}

fn is_generator_masked(machine: &Machine, generator: &str) -> bool {
    is_masked(machine, &format!("/etc/systemd/system-generators/{generator}"))
}

/// Whether a file is a link to /dev/null, which hides others of its name.
pub(super) fn is_masked(machine: &Machine, path: &str) -> bool {
    machine.link(path).is_ok_and(|target| target == "/dev/null")
}

/// The file of the first swap device that zram-generator makes.
fn zram_section(machine: &Machine, ram: Bytes) -> Option<String> {
    if is_generator_masked(machine, "zram-generator") {
        return None;
    }
    let mut paths = Vec::new();
    for folder in zram_generator::FOLDERS {
        let main = format!("{folder}zram-generator.conf");
        paths.extend(machine.files_in(&format!("{main}.d"), ".conf"));
        let is_there = machine.exists(&main) || is_masked(machine, &main);
        paths.extend(is_there.then_some(main));
    }
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let texts = zram_generator::in_order(&paths).into_iter();
    let texts: Vec<(&str, String)> = texts.map(|path| (path, machine.read_text(path).unwrap_or_default())).collect();
    let files: Vec<(&str, &str)> = texts.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let makes = |device: &zram_generator::GeneratorDevice| device.is_swap() && !device.is_left_out(ram);
    zram_generator::devices(&files).into_iter().find(makes).map(|device| device.path)
}

/// Services that start at boot, by name, with the link that starts them.
pub(super) struct Enabled(BTreeMap<String, String>);

impl Enabled {
    /// Those of the services that are `wanted`.
    pub(super) fn read(machine: &Machine, wanted: impl Fn(&str) -> bool) -> Self {
        let mut names = BTreeMap::new();
        let mut add = |folder: &str| {
            for unit in machine.list_where(folder, |name| wanted(service_of(name))).unwrap_or_default() {
                names.insert(service_of(&unit).to_owned(), format!("{folder}/{unit}"));
            }
        };
        for base in ["/usr/lib/systemd/system", "/etc/systemd/system"] {
            for folder in machine.files_in(base, ".wants") {
                add(&folder);
            }
        }
        if !machine.exists("/run/systemd/system") {
            for folder in ["/etc/runlevels/boot", "/etc/runlevels/default", "/etc/runit/runsvdir/default", "/etc/rc2.d"] {
                add(folder);
            }
        }
        names.retain(|service, _| {
            let unit = format!("/etc/systemd/system/{service}.service");
            !machine.link(&unit).is_ok_and(|target| target == "/dev/null")
        });
        Self(names)
    }

    pub(super) fn any(&self, services: &[&str]) -> Option<String> {
        services.iter().find_map(|service| self.0.get(*service).cloned())
    }
}

/// The service behind the name of a unit (`zram-init@0.service`) or of a start link (`S01dphys-swapfile`).
fn service_of(name: &str) -> &str {
    let started = name.strip_prefix('S').map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    started.unwrap_or(name).split(['@', '.']).next().unwrap_or_default()
}

fn is_ours(service: &str) -> bool {
    TABLE.iter().any(|row| matches!(row.active, Active::Service(names) if names.contains(&service)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::tree;

    fn found(files: &[(&str, &str)]) -> Vec<(String, bool)> {
        let dir = tree(files);
        inspect(&Machine::at(dir.path()), Bytes::from_gib(1)).into_iter().map(|manager| (manager.name, manager.active)).collect()
    }

    fn check(files: &[(&str, &str)], expect: &[(&str, bool)]) {
        let expect: Vec<(String, bool)> = expect.iter().map(|(name, active)| ((*name).to_owned(), *active)).collect();
        assert_eq!(found(files), expect);
    }

    #[test]
    fn installed_is_not_active() {
        let tuned = ("usr/sbin/tuned", "");
        let wants = ("etc/systemd/system/multi-user.target.wants/tuned.service", "-> /usr/lib/systemd/system/tuned.service");
        check(&[tuned], &[("tuned", false)]);
        check(&[tuned, wants], &[("tuned", true)]);
        check(&[tuned, wants, ("etc/systemd/system/tuned.service", "-> /dev/null")], &[("tuned", false)]);
        check(&[("usr/sbin/dphys-swapfile", ""), ("etc/rc2.d/S01dphys-swapfile", "")], &[("dphys-swapfile", true)]);
        check(&[], &[]);
    }

    #[test]
    fn plans_have_an_answer_to_every_manager() {
        for row in TABLE {
            assert!(swaptune_core::plan::treats_manager(row.name), "{}", row.name);
        }
    }

    #[test]
    fn a_generator_needs_a_section() {
        let generator = ("usr/lib/systemd/system-generators/zram-generator", "");
        check(&[generator], &[("zram-generator", false)]);
        check(&[generator, ("etc/systemd/zram-generator.conf", "# [zram0]\n")], &[("zram-generator", false)]);
        check(&[generator, ("usr/lib/systemd/zram-generator.conf", "[zram0]\n")], &[("zram-generator", true)]);
        let emptied = ("etc/systemd/zram-generator.conf", "");
        check(&[generator, emptied, ("usr/lib/systemd/zram-generator.conf", "[zram0]\n")], &[("zram-generator", false)]);
        let masked = ("etc/systemd/zram-generator.conf", "-> /dev/null");
        check(&[generator, masked, ("usr/lib/systemd/zram-generator.conf", "[zram0]\n")], &[("zram-generator", false)]);
        let early = ("run/systemd/zram-generator.conf", "[zram0]\n");
        check(&[generator, emptied, early], &[("zram-generator", true)]);
        let dropin = ("usr/local/lib/systemd/zram-generator.conf.d/20-x.conf", "[zram0]\n");
        check(&[generator, emptied, dropin], &[("zram-generator", true)]);
        let off = ("etc/systemd/zram-generator.conf.d/zz.conf", "[zram0]\nhost-memory-limit = 0\n");
        check(&[generator, emptied, dropin, off], &[("zram-generator", false)]);
        let hidden = ("etc/systemd/zram-generator.conf.d/20-x.conf", "-> /dev/null");
        check(&[generator, emptied, dropin, hidden], &[("zram-generator", false)]);
        let log = ("etc/systemd/zram-generator.conf", "[zram0]\nmount-point = /var/log\n");
        check(&[generator, log], &[("zram-generator", false)]);
    }
}
