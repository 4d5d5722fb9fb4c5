//! Other programs that set what swaptune sets: two of them at once, or one that undoes the other.

use super::{Exhibit, Finding, FindingEvidence, Severity};
use crate::facts::{Facts, KnobWriter, MANAGERS_OF_ZRAM, Manager, WriterKind};
use crate::parse::cmdline;
use crate::plan::{APPLIED_FILE, writers};
use crate::settings::read_toml;

pub(super) static ROWS: &[Finding] = &[
    Finding {
        code: "managers-two",
        severity: Severity::Warning,
        title: "two programs set up compressed swap",
        source: "systemd.unit(5): the second one finds the device busy or undoes the first",
        detect: two,
    },
    Finding {
        code: "managers-zswap-and-zram",
        severity: Severity::Warning,
        title: "zswap is on, and a program will set zram up in front of it at boot",
        source: "mm/zswap.c; zram-generator.conf(5)",
        detect: zswap_and_zram,
    },
    Finding {
        code: "managers-fight-swaptune",
        severity: Severity::Warning,
        title: "another program sets zswap after swaptune",
        source: "systemd.unit(5)",
        detect: fight_swaptune,
    },
    Finding {
        code: "managers-knob-writer",
        severity: Severity::Warning,
        title: "something else sets at boot what swaptune sets",
        source: "systemd.special(7): sysinit.target comes after swap.target, so units with default dependencies come after swaptune",
        detect: knob_writer,
    },
    Finding {
        code: "managers-tuned-wins",
        severity: Severity::Warning,
        title: "tuned's values win over sysctl files",
        source: "tuned-main.conf(5): reapply_sysctl",
        detect: tuned_wins,
    },
    Finding {
        code: "managers-oomd-without-swap",
        severity: Severity::Warning,
        title: "systemd-oomd runs without swap",
        source: "systemd-oomd.service(8): it works best with swap, because pressure rises before memory is gone",
        detect: oomd_without_swap,
    },
    Finding {
        code: "managers-two-oom-daemons",
        severity: Severity::Info,
        title: "two programs kill processes when memory runs short",
        source: "systemd-oomd.service(8)",
        detect: two_oom_daemons,
    },
];

fn active<'a>(facts: &'a Facts, names: &[&str]) -> Vec<&'a Manager> {
    facts.system.managers.iter().filter(|manager| manager.active && names.contains(&manager.name.as_str())).collect()
}

fn exhibits(managers: &[&Manager]) -> Vec<Exhibit> {
    managers
        .iter()
        .map(|manager| Exhibit { source: manager.evidence.clone(), text: format!("{} is active", manager.name) })
        .collect()
}

fn names(managers: &[&Manager]) -> String {
    managers.iter().map(|manager| manager.name.as_str()).collect::<Vec<_>>().join(" and ")
}

fn two(facts: &Facts) -> Option<FindingEvidence> {
    let found = [MANAGERS_OF_ZRAM, &["zswap-cli", "systemd-swap"], &["dphys-swapfile", "rpi-swap", "swapspace"]]
        .into_iter()
        .map(|family| active(facts, family))
        .find(|found| found.len() > 1)?;
    let what =
        format!("{} are both active: they set up the same thing, and the order of the boot decides who wins", names(&found));
    let cure = format!("systemctl disable --now {}", unit(&found[1].name));
    Some(FindingEvidence::new(what, cure).seen_all(exhibits(&found)))
}

/// The unit to disable for a manager.
fn unit(name: &str) -> String {
    match name {
        "zram-generator" => "systemd-zram-setup@zram0.service".to_owned(),
        "zram-tools" => "zramswap.service".to_owned(),
        "rpi-swap" => "rpi-zram-writeback.timer".to_owned(),
        name => format!("{name}.service"),
    }
}

fn zswap_and_zram(facts: &Facts) -> Option<FindingEvidence> {
    let configured = facts.boot.arguments.value().and_then(|store| cmdline::get(&store.configured, "zswap.enabled"));
    let at_boot = configured.is_some_and(|value| cmdline::boolean(&value) == Some(true));
    if !facts.zswap_is_on() && !at_boot {
        return None;
    }
    let found = active(facts, MANAGERS_OF_ZRAM);
    let first = found.first()?;
    let what = format!("zswap is on, and {} sets zram up at boot: each page would be compressed twice", first.name);
    Some(FindingEvidence::new(what, "swaptune apply").seen_all(exhibits(&found)))
}

fn fight_swaptune(facts: &Facts) -> Option<FindingEvidence> {
    facts.file("/etc/systemd/system/swaptune.service")?;
    let found = active(facts, &["zswap-cli", "systemd-swap", "xzram"]);
    let first = found.first()?;
    let what = format!("{} sets the same values as swaptune at boot ({}): the last one wins", first.name, first.evidence);
    let cure = match first.name.as_str() {
        "zswap-cli" | "systemd-swap" => format!("systemctl disable --now {}.service", first.name),
        _ => hide(&first.evidence),
    };
    Some(FindingEvidence::new(what, cure).seen_all(exhibits(&found)))
}

fn knob_writer(facts: &Facts) -> Option<FindingEvidence> {
    let applied = read_toml(APPLIED_FILE, facts.file(APPLIED_FILE)?, None).ok()?;
    let found = writers::contested(facts, &applied);
    let (first, wanted) = found.first()?;
    let what = format!("{} is to be {wanted}, but {}: {}", first.knob, writers::says(first), writers::wins(first.kind));
    let cure = match first.kind {
        WriterKind::Unit => format!("systemctl disable {}", first.by),
        WriterKind::Tmpfiles | WriterKind::Udev | WriterKind::Modprobe => hide(&first.path),
        WriterKind::RcLocal | WriterKind::Cron => format!("sed -i '{}s/^/#/' {}", first.line, first.path),
    };
    let exhibit = |(writer, wanted): &(&KnobWriter, String)| Exhibit {
        source: format!("{} line {}", writer.path, writer.line),
        text: format!("{}, not {wanted}", writers::says(writer)),
    };
    Some(FindingEvidence::new(what, cure).seen_all(found.iter().map(exhibit)))
}

/// A file of a package is hidden by a link of its name in /etc, as tmpfiles.d(5) and udev(7) provide; one in /etc is moved.
fn hide(path: &str) -> String {
    match path.strip_prefix("/usr/lib/") {
        Some(below) => format!("ln -s /dev/null /etc/{below}"),
        None => format!("mv {path} {path}.off"),
    }
}

const TUNED_CONF: &str = "/etc/tuned/tuned-main.conf";

fn tuned_wins(facts: &Facts) -> Option<FindingEvidence> {
    let tuned = active(facts, &["tuned"]);
    tuned.first()?;
    let sections = crate::parse::ini::sections(facts.file(TUNED_CONF)?);
    let key = sections.iter().rev().find_map(|section| section.get("reapply_sysctl"))?;
    if cmdline::boolean(&key.value) != Some(false) {
        return None;
    }
    let what = "tuned is active with reapply_sysctl off: its profile overrides the sysctl files, ours included";
    let cure = format!("sed -i 's/^reapply_sysctl.*/reapply_sysctl = 1/' {TUNED_CONF} && systemctl restart tuned");
    let line = Exhibit { source: format!("{TUNED_CONF} line {}", key.line), text: format!("reapply_sysctl = {}", key.value) };
    Some(FindingEvidence::new(what, cure).seen_all([line]).seen_all(exhibits(&tuned)))
}

fn oomd_without_swap(facts: &Facts) -> Option<FindingEvidence> {
    let oomd = active(facts, &["systemd-oomd", "oomd"]);
    let first = oomd.first().filter(|_| facts.swaps.is_empty())?;
    let what =
        format!("{} is active and there is no swap: its swap policy is blind, and its pressure policy acts late", first.name);
    Some(FindingEvidence::new(what, "swaptune apply").seen_all(exhibits(&oomd)).seen("/proc/swaps", "empty"))
}

fn two_oom_daemons(facts: &Facts) -> Option<FindingEvidence> {
    let found = active(facts, &["systemd-oomd", "oomd", "earlyoom", "nohang"]);
    if found.len() < 2 {
        return None;
    }
    let what = format!("{} are active: each kills by rules of its own, and neither knows of the other", names(&found));
    let cure = format!("systemctl disable --now {}.service", found[1].name);
    Some(FindingEvidence::new(what, cure).seen_all(exhibits(&found)))
}
