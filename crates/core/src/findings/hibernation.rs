//! Hibernation: an image needs room on a disk that the next boot finds and can decrypt.

use super::ask::{booted_with, paths, swap_lines, zram_areas};
use super::{Exhibit, Finding, FindingEvidence, Severity};
use crate::facts::Facts;
use crate::parse::crypttab::{self, CryptMapping};

pub(super) static ROWS: &[Finding] = &[
    Finding {
        code: "hibernation-only-zram",
        severity: Severity::Warning,
        title: "hibernation is configured and all swap is zram",
        source: "Documentation/power/swsusp.rst: the image is written to a swap device, and zram is memory",
        detect: only_zram,
    },
    Finding {
        code: "hibernation-random-key",
        severity: Severity::Error,
        title: "hibernation would write to swap whose key is lost at power-off",
        source: "crypttab(5): a random key is made anew at each boot",
        detect: random_key,
    },
    Finding {
        code: "hibernation-device-missing",
        severity: Severity::Warning,
        title: "the kernel waits for a resume device that is not there",
        source: "Documentation/admin-guide/kernel-parameters.txt: resume=",
        detect: device_missing,
    },
];

/// The device that the kernel resumes from; `noresume` wins wherever it stands.
fn resume(facts: &Facts) -> Option<String> {
    booted_with(facts, "resume").filter(|device| !device.is_empty() && booted_with(facts, "noresume").is_none())
}

fn word(facts: &Facts, device: &str) -> Exhibit {
    Exhibit { source: facts.kernel.cmdline.source().to_owned(), text: format!("resume={device}") }
}

fn only_zram(facts: &Facts) -> Option<FindingEvidence> {
    let device = resume(facts)?;
    let zram = zram_areas(facts);
    if zram.is_empty() || zram.len() < facts.swaps.len() {
        return None;
    }
    let what =
        format!("resume={device} is on the command line, but swap is only {}: there is nowhere to write the image", paths(&zram));
    Some(FindingEvidence::new(what, "swaptune plan").seen_all([word(facts, &device)]).seen_all(swap_lines(&zram)))
}

fn random_key(facts: &Facts) -> Option<FindingEvidence> {
    let device = resume(facts)?;
    let name = device.strip_prefix("/dev/mapper/")?;
    let all = crypttab::parse(facts.file("/etc/crypttab").unwrap_or_default());
    let found = all.into_iter().find(|mapping: &CryptMapping| mapping.name == name && mapping.random_key())?;
    let what = format!("resume={device} names a mapping whose key is random: an image written there can never be read again");
    let line = Exhibit { source: "/etc/crypttab".into(), text: format!("{} {} {}", found.name, found.source, found.key) };
    Some(
        FindingEvidence::new(what, super::ask::drop_word(facts, &format!("resume={device}")))
            .seen_all([word(facts, &device), line]),
    )
}

fn device_missing(facts: &Facts) -> Option<FindingEvidence> {
    let device = resume(facts)?;
    if facts.block_devices.is_empty() || !facts.can_look_up(&device) || facts.device_named(&device).is_some() {
        return None;
    }
    let what = format!("resume={device} names a device that is not there: some initramfs images wait for it at each boot");
    Some(FindingEvidence::new(what, super::ask::drop_word(facts, &format!("resume={device}"))).seen_all([word(facts, &device)]))
}
