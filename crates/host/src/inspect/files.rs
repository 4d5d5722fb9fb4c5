//! Texts of the configuration files that a plan may edit, or that swaptune itself wrote.

use std::collections::{BTreeMap, BTreeSet};

use swaptune_core::plan::INITRAMFS_BUILDERS;
use swaptune_core::{Fact, Facts};

use super::managers::is_masked;
use crate::machine::Machine;

/// Files that are asked for by name; their absence is a fact too.
const FILES: [&str; 27] = [
    "/etc/fstab",
    "/etc/crypttab",
    "/etc/default/grub",
    "/etc/default/u-boot",
    "/etc/default/zramswap",
    "/etc/initramfs-tools/hooks/swaptune",
    "/etc/initramfs-tools/modules",
    "/etc/kernel/cmdline",
    "/etc/swaptune/applied.toml",
    "/run/swaptune/applied.toml",
    "/etc/systemd/system/swap.target.wants/swaptune.service",
    "/etc/systemd/system-generators/rpi-swap-generator",
    "/etc/systemd/system/zramswap.service",
    "/etc/systemd/system/pop-default-settings-zram.service",
    "/etc/systemd/system/zram-config.service",
    "/etc/systemd/system/zram-swap.service",
    "/etc/systemd/system/zramd.service",
    "/etc/systemd/system/zramen.service",
    "/etc/systemd/system/zswap-cli.service",
    "/etc/systemd/system/systemd-swap.service",
    "/etc/tuned/tuned-main.conf",
    "/etc/swaptune/config.toml",
    "/etc/sysctl.conf",
    "/etc/systemd/system/swaptune.service",
    "/etc/systemd/zram-generator.conf",
    "/etc/zswap-cli/zswap-cli.conf",
    "/usr/share/zswap-cli/zswap-cli.conf",
];
/// Folders, with what a name in them must contain and how it must end.
const FOLDERS: [(&str, &str, &str); 23] = [
    ("/etc/default/grub.d", "", ".cfg"),
    ("/etc/initramfs-tools/conf.d", "swaptune", ""),
    ("/etc/modules-load.d", "swaptune", ".conf"),
    ("/etc/rpi", "swap.conf", ".conf"),
    ("/etc/rpi/swap.conf.d", "", ".conf"),
    ("/run/rpi", "swap.conf", ".conf"),
    ("/run/rpi/swap.conf.d", "", ".conf"),
    ("/usr/lib/rpi", "swap.conf", ".conf"),
    ("/usr/lib/rpi/swap.conf.d", "", ".conf"),
    ("/usr/local/lib/rpi", "swap.conf", ".conf"),
    ("/usr/local/lib/rpi/swap.conf.d", "", ".conf"),
    ("/etc/swaptune/config.d", "", ".toml"),
    ("/etc/sysctl.d", "swaptune", ".conf"),
    ("/etc/systemd/system", "", ".swap"),
    ("/etc/systemd/zram-generator.conf.d", "", ".conf"),
    ("/etc/tmpfiles.d", "swaptune", ".conf"),
    ("/etc/udev/rules.d", "swaptune", ".rules"),
    ("/run/systemd", "zram-generator", ".conf"),
    ("/run/systemd/zram-generator.conf.d", "", ".conf"),
    ("/usr/lib/systemd", "zram-generator", ".conf"),
    ("/usr/lib/systemd/zram-generator.conf.d", "", ".conf"),
    ("/usr/local/lib/systemd", "zram-generator", ".conf"),
    ("/usr/local/lib/systemd/zram-generator.conf.d", "", ".conf"),
];

pub(super) fn inspect(machine: &Machine, facts: &Facts) -> BTreeMap<String, Fact<String>> {
    let sysctls = &facts.sysctl_sources;
    let arguments = facts.boot.arguments.value().map(|store| store.path.clone());
    let setters = sysctls.values().flatten().map(|source| source.path.clone()).filter(|path| !path.starts_with("/proc/"));
    let listed = FOLDERS.iter().flat_map(|(folder, part, ending)| {
        let is_named = move |path: &String| path.rsplit('/').next().is_some_and(|name| name.contains(part));
        machine.files_in(folder, ending).into_iter().filter(is_named)
    });
    let ours = INITRAMFS_BUILDERS.iter().map(|builder| builder.file.to_owned()).filter(|path| machine.exists(path));
    let fixed = FILES.iter().map(|path| (*path).to_owned());
    let paths: BTreeSet<String> = fixed.chain(listed).chain(ours).chain(setters).chain(arguments).collect();
    paths
        .into_iter()
        .map(|path| {
            let text = match machine.read_text(&path) {
                Ok(text) => Fact::known(text, path.clone()),
                // An image has no /dev: what is masked there is empty, and not missing.
                Err(error) if error.missing && path.contains("/zram-generator.conf") && is_masked(machine, &path) => {
                    Fact::known(String::new(), path.clone())
                }
                Err(error) => error.absent(),
            };
            (path, text)
        })
        .collect()
}
