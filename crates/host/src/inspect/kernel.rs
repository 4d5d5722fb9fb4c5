//! The kernel: release, build options, command line, log.

use std::collections::BTreeMap;
use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use swaptune_core::facts::KernelFacts;
use swaptune_core::parse::{cmdline, kconfig};
use swaptune_core::{Fact, KernelVersion};

use super::InspectScope;
use crate::machine::{Machine, ReadError};

/// Build options that some rule looks at, without `CONFIG_`; a trailing `*` takes all that start so.
const OPTIONS: [&str; 31] = [
    "SWAP",
    "MODULES",
    "ZSWAP*",
    "ZRAM*",
    "ZSMALLOC*",
    "ZPOOL",
    "ZBUD*",
    "Z3FOLD*",
    "FRONTSWAP",
    "CRYPTO_LZO",
    "CRYPTO_LZ4",
    "CRYPTO_LZ4HC",
    "CRYPTO_ZSTD",
    "CRYPTO_DEFLATE",
    "CRYPTO_842",
    "DM_CRYPT",
    "TRANSPARENT_HUGEPAGE*",
    "THP_SWAP",
    "LRU_GEN*",
    "PSI*",
    "MEMCG*",
    "DEBUG_FS*",
    "SHRINKER_DEBUG",
    "DAMON_*",
    "IKCONFIG*",
    "HIBERNATION",
    "COMPACTION",
    "MODULE_COMPRESS*",
    "BLK_DEV_INITRD",
    "SYSCTL",
    "USERFAULTFD",
];
/// An unpacked configuration is 100–300 KiB; more than this is not one.
const CONFIG_LIMIT: u64 = 8 << 20;

pub(super) fn inspect(machine: &Machine, scope: InspectScope) -> KernelFacts {
    let release = release(machine);
    let config = if scope.config { config(machine, release.value().map(String::as_str)) } else { Fact::default() };
    let cmdline = match machine.read_text("/proc/cmdline") {
        Ok(text) => Fact::known(text.trim().to_owned(), "/proc/cmdline"),
        Err(error) => error.absent(),
    };
    KernelFacts {
        version: release.clone().and_then(|release| {
            KernelVersion::from_release(&release).ok_or_else(|| format!("`{release}` starts with no version"))
        }),
        modules_loadable: modules_loadable(machine, &release, &config, &cmdline),
        release,
        config,
        cmdline,
        log: match scope.log.then(|| machine.kernel_log()) {
            Some(Ok(lines)) => Fact::known(lines, "/dev/kmsg"),
            Some(Err(error)) => error.absent(),
            None => Fact::default(),
        },
        page_size: machine.page_size(),
        cpus: cpus(machine),
    }
}

/// The module folder of a release.
pub(super) fn module_folder(machine: &Machine, release: &str) -> Option<String> {
    ["/lib/modules", "/usr/lib/modules"].iter().map(|base| format!("{base}/{release}")).find(|path| machine.exists(path))
}

/// A longer release is none that a kernel has (`__NEW_UTS_LEN`); it would become a part of many paths.
const RELEASE_LIMIT: usize = 64;

pub(super) fn release(machine: &Machine) -> Fact<String> {
    let path = "/proc/sys/kernel/osrelease";
    let error = match machine.read_text(path) {
        Ok(text) if text.trim().len() > RELEASE_LIMIT => {
            let found = text.trim().len();
            return Fact::absent(format!("{path}: found {found} bytes, expected at most {RELEASE_LIMIT}"));
        }
        Ok(text) => return Fact::known(text.trim().to_owned(), path),
        Err(error) => error,
    };
    // An image that is being built runs no kernel, but will run one that is installed in it.
    let installed = if machine.is_live() { Vec::new() } else { super::image::kernels(machine) };
    match installed.as_slice() {
        [] => error.absent(),
        [only] => Fact::known(only.clone(), "/boot and /lib/modules: the only kernel there"),
        [newest, rest @ ..] => {
            let source = format!("/boot and /lib/modules: the newest of {} there (others: {})", rest.len() + 1, rest.join(", "));
            Fact::known(newest.clone(), source)
        }
    }
}

fn config(machine: &Machine, release: Option<&str>) -> Fact<BTreeMap<String, String>> {
    let mut tried = vec!["/proc/config.gz".to_owned()];
    if let Ok(text) = packed(machine, "/proc/config.gz") {
        return Fact::known(kconfig::parse(&text), "/proc/config.gz");
    }
    for pattern in ["/boot/config-", "/lib/modules/", "/usr/lib/modules/"] {
        let Some(release) = release else { break };
        let ending = if pattern.ends_with('/') { "/config" } else { "" };
        let path = format!("{pattern}{release}{ending}");
        if let Ok(text) = machine.read_lines(&path, is_wanted_line) {
            return Fact::known(kconfig::parse(&text), path);
        }
        tried.push(path);
    }
    Fact::absent(format!("no kernel configuration in {}", tried.join(", ")))
}

fn packed(machine: &Machine, path: &str) -> Result<String, ReadError> {
    let bytes = machine.read_bytes(path, CONFIG_LIMIT)?;
    let mut text = String::new();
    let read = MultiGzDecoder::new(bytes.as_slice()).take(CONFIG_LIMIT).read_to_string(&mut text);
    read.map_err(|error| ReadError::from_io(path, &error))?;
    let kept: String = text.split_inclusive('\n').filter(|line| is_wanted_line(line)).collect();
    machine.keep_instead(path, || {
        let mut packer = GzEncoder::new(Vec::new(), Compression::default());
        packer.write_all(kept.as_bytes()).and_then(|()| packer.finish()).unwrap_or_default()
    });
    Ok(kept)
}

/// `CONFIG_X=…` or `# CONFIG_X is not set` of a wanted option.
fn is_wanted_line(line: &str) -> bool {
    let line = line.strip_prefix("# ").unwrap_or(line);
    let Some(rest) = line.strip_prefix("CONFIG_") else { return false };
    // A configuration has ten thousand lines: most of them end here.
    let first = rest.as_bytes().first();
    let mut candidates = OPTIONS.iter().filter(|option| option.as_bytes().first() == first);
    candidates.any(|option| is_option(rest.split(['=', ' ']).next().unwrap_or_default(), option))
}

fn is_option(name: &str, option: &str) -> bool {
    option.strip_suffix('*').map_or(name == option, |start| name.starts_with(start))
}

fn modules_loadable(
    machine: &Machine,
    release: &Fact<String>,
    config: &Fact<BTreeMap<String, String>>,
    cmdline: &Fact<String>,
) -> Fact<bool> {
    if config.value().and_then(|map| map.get("CONFIG_MODULES")).is_some_and(|value| value == "n") {
        return Fact::known(false, format!("{}: CONFIG_MODULES is not set", config.source()));
    }
    if cmdline.value().is_some_and(|line| cmdline::has(line, "nomodule")) {
        return Fact::known(false, "/proc/cmdline: nomodule");
    }
    let disabled = "/proc/sys/kernel/modules_disabled";
    if machine.read_text(disabled).is_ok_and(|text| text.trim() == "1") {
        return Fact::known(false, format!("{disabled}: 1 until reboot"));
    }
    let Some(release) = release.value() else { return Fact::absent(release.source()) };
    match module_folder(machine, release) {
        Some(path) => Fact::known(true, path),
        None => Fact::known(false, format!("/lib/modules/{release}: no such file")),
    }
}

/// Processors online, from the list that the kernel writes (`0-3,8`).
fn cpus(machine: &Machine) -> Fact<u32> {
    let (list, table) = ("/sys/devices/system/cpu/online", "/proc/cpuinfo");
    let online = machine.read_text(list).unwrap_or_default();
    let count = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(last.parse::<u32>().ok()?.checked_sub(first.parse().ok()?)?.saturating_add(1))
    };
    let total = online.trim().split(',').filter_map(count).fold(0, u32::saturating_add);
    if total > 0 {
        return Fact::known(total, list);
    }
    let cpuinfo = match machine.read_text(table) {
        Ok(text) => text,
        Err(error) => return error.absent(),
    };
    let lines = cpuinfo.lines().filter(|line| line.starts_with("processor")).count();
    match u32::try_from(lines) {
        Ok(0) | Err(_) => Fact::absent(format!("{table}: no line `processor`")),
        Ok(count) => Fact::known(count, table),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::tree;

    #[test]
    fn processors_online() {
        for (online, expect) in [("0-3\n", 4), ("0\n", 1), ("0-1,4,6-7\n", 5), ("", 2)] {
            let dir = tree(&[
                ("sys/devices/system/cpu/online", online),
                ("proc/cpuinfo", "processor\t: 0\nflags\t: x\nprocessor\t: 1\n"),
            ]);
            assert_eq!(cpus(&Machine::at(dir.path())).value(), Some(&expect), "{online}");
        }
        assert!(!cpus(&Machine::at(tree(&[]).path())).is_known(), "nothing says that there is one");
    }

    #[test]
    fn an_image_takes_the_kernel_that_is_installed() {
        let dir = tree(&[("lib/modules/6.12.1-amd64/config", "CONFIG_ZSWAP=y\nCONFIG_HZ=1\nCONFIG_MODULES=y\n")]);
        let facts = inspect(&Machine::at(dir.path()), InspectScope::PLAN);
        assert_eq!(facts.release.value().unwrap(), "6.12.1-amd64");
        assert_eq!(facts.config.source(), "/lib/modules/6.12.1-amd64/config");
        assert_eq!(facts.config.value().unwrap().len(), 2);
        assert_eq!(facts.modules_loadable.value(), Some(&true));
        assert_eq!(facts.cmdline.source(), "/proc/cmdline: no such file");
    }

    #[test]
    fn a_release_longer_than_a_kernel_has_is_none() {
        let of = |length: usize| {
            let dir = tree(&[("proc/sys/kernel/osrelease", &"6".repeat(length))]);
            inspect(&Machine::at(dir.path()), InspectScope::PLAN).release
        };
        assert_eq!(of(64).value().map(String::len), Some(64));
        assert_eq!(of(1 << 20).source(), "/proc/sys/kernel/osrelease: found 1048576 bytes, expected at most 64");
    }

    #[test]
    fn modules_that_cannot_be_loaded() {
        let dir = tree(&[("proc/sys/kernel/osrelease", "6.18.1\n"), ("proc/cmdline", "quiet nomodule\n")]);
        let facts = inspect(&Machine::at(dir.path()), InspectScope::PLAN);
        assert_eq!(facts.modules_loadable, Fact::known(false, "/proc/cmdline: nomodule"));
    }
}
