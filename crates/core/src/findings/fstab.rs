//! `/etc/fstab` and `/etc/crypttab`: lines that hold up a boot, name what is not there, or lose data.

use super::{Exhibit, Finding, FindingEvidence, Severity};
use crate::edit::fstab::{FstabEntry, entries};
use crate::facts::{BlockDevice, Facts, SwapKind};
use crate::parse::crypttab::{self, CryptMapping};

const FSTAB: &str = "/etc/fstab";
const CRYPTTAB: &str = "/etc/crypttab";

pub(super) static ROWS: &[Finding] = &[
    Finding {
        code: "fstab-broken-line",
        severity: Severity::Warning,
        title: "fstab has a line that cannot be parsed",
        source: "fstab(5)",
        detect: broken_line,
    },
    Finding {
        code: "fstab-missing-device",
        severity: Severity::Warning,
        title: "fstab lists a swap device that is not there",
        source: "systemd.swap(5): without nofail the boot waits 90 s for the device",
        detect: missing_device,
    },
    Finding {
        code: "fstab-optional-missing",
        severity: Severity::Info,
        title: "a swap device that may be missing is not there",
        source: "systemd.swap(5): nofail, x-systemd.device-timeout",
        detect: optional_missing,
    },
    Finding {
        code: "fstab-no-nofail",
        severity: Severity::Info,
        title: "a swap line of fstab can hold up the boot",
        source: "systemd.swap(5): nofail",
        detect: no_nofail,
    },
    Finding {
        code: "fstab-duplicate",
        severity: Severity::Warning,
        title: "fstab lists a swap area twice",
        source: "fstab(5); swapon(8)",
        detect: duplicate,
    },
    Finding {
        code: "fstab-swap-off",
        severity: Severity::Warning,
        title: "a swap area of fstab is not on",
        source: "swapon(8): -a",
        detect: swap_off,
    },
    Finding {
        code: "fstab-file-copy-on-write",
        severity: Severity::Warning,
        title: "fstab lists a swap file on a file system that refuses it",
        source: "fs/btrfs/inode.c: btrfs_swap_activate: no copy-on-write, no compression, one device",
        detect: file_copy_on_write,
    },
    Finding {
        code: "crypttab-random-key-by-uuid",
        severity: Severity::Error,
        title: "crypttab finds a swap device by an identity that its random key erases",
        source: "crypttab(5): the device is formatted at each boot; only PARTUUID and disk ids stay",
        detect: random_key_by_uuid,
    },
    Finding {
        code: "crypttab-random-key-by-name",
        severity: Severity::Warning,
        title: "crypttab formats a device by a name that can change",
        source: "crypttab(5): kernel names such as sda3 are given in the order of discovery",
        detect: random_key_by_name,
    },
    Finding {
        code: "crypttab-random-key-without-swap",
        severity: Severity::Warning,
        title: "crypttab makes a random key for swap but no swap header",
        source: "crypttab(5): option swap runs mkswap at each boot",
        detect: random_key_without_swap,
    },
    Finding {
        code: "crypttab-random-key-luks",
        severity: Severity::Error,
        title: "crypttab gives a LUKS volume a random key",
        source: "crypttab(5): LUKS cannot be opened by a key that changes at each boot",
        detect: random_key_luks,
    },
];

fn text(facts: &Facts) -> &str {
    facts.file(FSTAB).unwrap_or_default()
}

/// Swap lines that are used at boot.
fn swaps(facts: &Facts) -> Vec<FstabEntry> {
    let all = entries(text(facts)).into_iter().filter_map(Result::ok);
    all.filter(|entry| entry.is_swap() && entry.option("noauto").is_none()).collect()
}

fn line(entry: &FstabEntry) -> Exhibit {
    let text = format!("{} {} {} {}", entry.spec, entry.target, entry.fstype, entry.options);
    Exhibit { source: format!("{FSTAB} line {}", entry.line), text }
}

/// The device that the first field names.
fn device<'a>(facts: &'a Facts, entry: &FstabEntry) -> Option<&'a BlockDevice> {
    facts.device_named(&entry.spec)
}

fn is_file(entry: &FstabEntry) -> bool {
    entry.spec.starts_with('/') && !entry.spec.starts_with("/dev/")
}

fn is_active(facts: &Facts, entry: &FstabEntry) -> bool {
    let device = device(facts, entry);
    facts.swaps.iter().any(|area| {
        let on_device =
            device.is_some_and(|device| area.device.value() == Some(&device.name) && area.kind == SwapKind::Partition);
        let same_uuid = entry.tag().is_some_and(|(tag, uuid)| tag == "UUID" && area.uuid.value().is_some_and(|own| own == uuid));
        area.path == entry.spec || on_device || same_uuid
    })
}

fn broken_line(facts: &Facts) -> Option<FindingEvidence> {
    let broken = entries(text(facts)).into_iter().find_map(Result::err)?;
    let what =
        format!("line {} of {FSTAB} {}, so it is skipped, and swaptune does not edit the file", broken.line, broken.problem);
    Some(FindingEvidence::new(what, "findmnt --verify").seen(format!("{FSTAB} line {}", broken.line), broken.text))
}

/// Swap lines whose device is not there.
fn missing(facts: &Facts) -> impl Iterator<Item = FstabEntry> {
    let listed = if facts.block_devices.is_empty() { Vec::new() } else { swaps(facts) };
    let is_missing =
        |entry: &FstabEntry| facts.can_look_up(&entry.spec) && device(facts, entry).is_none() && !is_active(facts, entry);
    listed.into_iter().filter(is_missing)
}

fn optional_missing(facts: &Facts) -> Option<FindingEvidence> {
    let missing: Vec<FstabEntry> = missing(facts).filter(FstabEntry::is_optional).collect();
    let first = missing.first()?;
    let what = format!(
        "{} may be missing and is not there, or could not be opened: boots give it up after {}; it comes up when it is plugged in",
        first.spec,
        wait(first)
    );
    let cure = format!("swaptune device retire {}", first.spec);
    Some(FindingEvidence::new(what, cure).seen_all(missing.iter().map(line)))
}

fn missing_device(facts: &Facts) -> Option<FindingEvidence> {
    let missing: Vec<FstabEntry> = missing(facts).filter(|entry| !entry.is_optional()).collect();
    let first = missing.first()?;
    let waits = if first.option("nofail").is_some() || !facts.system.has_systemd() {
        "the boot goes on without it".to_owned()
    } else {
        format!("without nofail each boot waits {} for it", wait(first))
    };
    let what = format!("{} is listed as swap and is not there: {waits}", first.spec);
    let cure = format!("sed -i '{}s/^/#/' {FSTAB}", first.line);
    Some(FindingEvidence::new(what, cure).seen_all(missing.iter().map(line)))
}

/// How long systemd waits for the device of a line.
fn wait(entry: &FstabEntry) -> String {
    let timeout = entry.option("x-systemd.device-timeout").unwrap_or("90s");
    match timeout.trim_end_matches('s').parse::<u64>() {
        Ok(0) => "without end".to_owned(),
        Ok(seconds) => format!("{seconds} s"),
        Err(_) => timeout.to_owned(),
    }
}

fn no_nofail(facts: &Facts) -> Option<FindingEvidence> {
    let listed = if facts.system.has_systemd() { swaps(facts) } else { Vec::new() };
    let lines: Vec<FstabEntry> = listed.into_iter().filter(|entry| entry.option("nofail").is_none() && !is_file(entry)).collect();
    let first = lines.first()?;
    let what =
        format!("{} has no nofail: should that device be missing or dead, the boot waits {} for it", first.spec, wait(first));
    Some(FindingEvidence::new(what, "swaptune apply --boot").seen_all(lines.iter().map(line)))
}

fn duplicate(facts: &Facts) -> Option<FindingEvidence> {
    let all = swaps(facts);
    let same = |a: &FstabEntry, b: &FstabEntry| {
        let (left, right) = (device(facts, a), device(facts, b));
        a.spec == b.spec || left.is_some() && left.map(|d| &d.name) == right.map(|d| &d.name)
    };
    let (first, second) =
        all.iter().enumerate().find_map(|(index, a)| Some((a, all[index + 1..].iter().find(|b| same(a, b))?)))?;
    let what =
        format!("lines {} and {} of {FSTAB} are the same swap area: the second one fails at boot", first.line, second.line);
    Some(FindingEvidence::new(what, "swaptune apply --boot").seen_all([line(first), line(second)]))
}

fn swap_off(facts: &Facts) -> Option<FindingEvidence> {
    let is_running = facts.image.is_none() && !facts.system.container.is_known();
    let is_file = |entry: &FstabEntry| is_running && is_file(entry) && refusing(facts, entry).is_none();
    let is_off = |entry: &FstabEntry| (device(facts, entry).is_some() || is_file(entry)) && !is_active(facts, entry);
    let off: Vec<FstabEntry> = swaps(facts).into_iter().filter(is_off).collect();
    let first = off.first()?;
    let there = if device(facts, first).is_some() { ", is there," } else { "" };
    let what = format!("{} is listed as swap{there} and is not on", first.spec);
    Some(FindingEvidence::new(what, "swapon -a").seen_all(off.iter().map(line)))
}

/// The file system that a swap file lies on, when it is one that refuses most of them.
fn refusing<'a>(facts: &'a Facts, entry: &FstabEntry) -> Option<&'a str> {
    let under = |at: &str| at == "/" || entry.spec.strip_prefix(at).is_some_and(|rest| rest.starts_with('/'));
    let mount = facts.mounts.iter().filter(|mount| under(&mount.at)).max_by_key(|mount| mount.at.len())?;
    Some(mount.filesystem.as_str()).filter(|kind| matches!(*kind, "btrfs" | "bcachefs" | "zfs" | "overlay" | "tmpfs"))
}

fn file_copy_on_write(facts: &Facts) -> Option<FindingEvidence> {
    let mut found = swaps(facts).into_iter().filter(|entry| is_file(entry) && !is_active(facts, entry));
    let (entry, filesystem) =
        found.find_map(|entry| Some((refusing(facts, &entry)?, entry))).map(|(kind, entry)| (entry, kind))?;
    let what = format!(
        "{} lies on {filesystem} and is not on: the kernel takes no swap file there that is copied on write, compressed or sparse",
        entry.spec
    );
    let cure =
        if filesystem == "btrfs" { format!("btrfs filesystem mkswapfile {}", entry.spec) } else { "swaptune plan".to_owned() };
    Some(FindingEvidence::new(what, cure).seen_all([line(&entry)]))
}

/// Mappings whose key is made anew at each boot.
fn random(facts: &Facts) -> Vec<CryptMapping> {
    let all = crypttab::parse(facts.file(CRYPTTAB).unwrap_or_default());
    all.into_iter().filter(CryptMapping::random_key).collect()
}

fn mapping(mapping: &CryptMapping) -> Exhibit {
    let text = format!("{} {} {} {}", mapping.name, mapping.source, mapping.key, mapping.options.join(","));
    Exhibit { source: CRYPTTAB.into(), text: text.trim_end().to_owned() }
}

fn has(mapping: &CryptMapping, option: &str) -> bool {
    mapping.options.iter().any(|own| own == option)
}

fn random_key_by_uuid(facts: &Facts) -> Option<FindingEvidence> {
    let erased = |source: &str| {
        let tag = source.split('=').next().unwrap_or_default();
        tag == "UUID" || tag == "LABEL" || source.starts_with("/dev/disk/by-uuid/") || source.starts_with("/dev/disk/by-label/")
    };
    // An offset leaves the first sectors, and with them a small file system that carries the UUID, in place.
    let safe = |mapping: &CryptMapping| mapping.options.iter().any(|option| option.starts_with("offset="));
    let found = random(facts).into_iter().find(|mapping| erased(&mapping.source) && !safe(mapping))?;
    let what = format!(
        "{} is found by {} and formatted with a random key at each boot, which erases that identity: the next boot does not find it",
        found.name, found.source
    );
    Some(FindingEvidence::new(what, "lsblk -o NAME,SIZE,PARTUUID").seen_all([mapping(&found)]))
}

fn random_key_by_name(facts: &Facts) -> Option<FindingEvidence> {
    let shifts = |source: &str| {
        let name = source.strip_prefix("/dev/").unwrap_or_default();
        !name.contains('/') && ["sd", "vd", "xvd", "hd", "nvme", "mmcblk"].iter().any(|kind| name.starts_with(kind))
    };
    let found = random(facts).into_iter().find(|mapping| shifts(&mapping.source))?;
    let what = format!(
        "{} formats {} at each boot: should another disk get that name one day, its data is gone",
        found.name, found.source
    );
    Some(FindingEvidence::new(what, "ls -l /dev/disk/by-id /dev/disk/by-partuuid").seen_all([mapping(&found)]))
}

/// Whether a swap line of fstab asks systemd to write a header into a mapping that has none.
fn is_made_by_fstab(facts: &Facts, mapping: &CryptMapping) -> bool {
    let node = format!("/dev/mapper/{}", mapping.name);
    swaps(facts).iter().any(|entry| entry.spec == node && entry.option("x-systemd.makefs").is_some())
}

fn random_key_without_swap(facts: &Facts) -> Option<FindingEvidence> {
    let makes = |mapping: &CryptMapping| mapping.options.iter().any(|option| option == "swap" || option.starts_with("tmp"));
    let found = random(facts).into_iter().find(|mapping| !makes(mapping) && !is_made_by_fstab(facts, mapping))?;
    let what = format!("{} gets a random key but lacks the option swap: it gets no swap header, and swapon fails", found.name);
    let before = if found.options.is_empty() { ' ' } else { ',' };
    let cure = format!("sed -i '/^{}[[:blank:]]/s/[[:blank:]]*$/{before}swap/' {CRYPTTAB}", found.name);
    Some(FindingEvidence::new(what, cure).seen_all([mapping(&found)]))
}

fn random_key_luks(facts: &Facts) -> Option<FindingEvidence> {
    let found = random(facts).into_iter().find(|mapping| has(mapping, "luks"))?;
    let what = format!(
        "{} is a LUKS volume with {} as its key, which is another one at each boot: it can never be opened",
        found.name, found.key
    );
    Some(FindingEvidence::new(what, "man 5 crypttab").seen_all([mapping(&found)]))
}
