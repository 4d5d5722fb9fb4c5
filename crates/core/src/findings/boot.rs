//! The next boot: modules that must be in the initramfs, words that wait for a reboot, a GRUB file that cannot be edited.

use std::collections::BTreeSet;

use super::ask::{booted_with, config, does_not, zswap_words};
use super::{Exhibit, Finding, FindingEvidence, Severity};
use crate::edit::grub;
use crate::facts::{Availability, BootLoader, Facts};
use crate::parse::cmdline;
use swaptune_kernel::behaviours;

pub(super) static ROWS: &[Finding] = &[
    Finding {
        code: "boot-compressor-not-loadable",
        severity: Severity::Warning,
        title: "the next boot asks zswap for a compressor that is not there that early",
        source: "mm/zswap.c: zswap_init is a late_initcall, before the root file system is mounted",
        detect: compressor_not_loadable,
    },
    Finding {
        code: "boot-zpool-not-loadable",
        severity: Severity::Warning,
        title: "the next boot asks zswap for an allocator that is not there that early",
        source: "mm/zswap.c: zswap_init; mm/zpool.c: zpool_has_pool (up to 6.17)",
        detect: zpool_not_loadable,
    },
    Finding {
        code: "boot-words-pending",
        severity: Severity::Info,
        title: "zswap's configured kernel arguments wait for a reboot",
        source: "Documentation/admin-guide/kernel-parameters.txt",
        detect: words_pending,
    },
    Finding {
        code: "boot-grub-not-plain",
        severity: Severity::Warning,
        title: "a GRUB file sets the kernel arguments in a way that cannot be edited safely",
        source: "grub-mkconfig(8) sources /etc/default/grub as shell code",
        detect: grub_not_plain,
    },
];

/// The value that the next boot gets: what is configured, or what this boot got when nothing is known of the loader.
fn next_boot(facts: &Facts, name: &str) -> Option<(String, String)> {
    match facts.boot.arguments.value() {
        Some(store) => Some((store.path.clone(), cmdline::get(&store.configured, name)?)),
        None => Some((facts.kernel.cmdline.source().to_owned(), booted_with(facts, name)?)),
    }
}

fn compressor_not_loadable(facts: &Facts) -> Option<FindingEvidence> {
    facts.zswap.value()?;
    let (place, asked) = next_boot(facts, "zswap.compressor")?;
    let compressor = facts.compressors.iter().find(|c| c.name == asked)?;
    if !matches!(compressor.availability, Availability::Module | Availability::Loaded) {
        return None;
    }
    let why = facts.initramfs.why_not_loadable(&asked)?;
    let what = format!("zswap.compressor={asked} will silently become the built-in default at the next boot: {why}");
    let found = FindingEvidence::new(what, "swaptune apply --boot").seen(place, format!("zswap.compressor={asked}"));
    let found = found.seen(facts.initramfs.contents.source(), facts.initramfs.contents.value()?.join(", "));
    Some(found.seen(compressor.source.clone(), format!("{asked} is a module")))
}

fn zpool_not_loadable(facts: &Facts) -> Option<FindingEvidence> {
    let zswap = facts.zswap.value()?;
    zswap.parameter("zpool")?;
    let (place, asked) = next_boot(facts, "zswap.zpool")?;
    let option = format!("CONFIG_{}", asked.to_uppercase());
    config(facts, &option).filter(|value| *value == "m")?;
    if !does_not(facts, &behaviours::NO_ZPOOL) {
        return None;
    }
    let why = facts.initramfs.why_not_loadable(&asked)?;
    let what = format!("zswap.zpool={asked} will silently become the built-in default at the next boot: {why}");
    Some(
        FindingEvidence::new(what, "swaptune apply --boot")
            .seen(place, format!("zswap.zpool={asked}"))
            .seen(facts.kernel.config.source(), format!("{option}=m")),
    )
}

fn words_pending(facts: &Facts) -> Option<FindingEvidence> {
    let store = facts.boot.arguments.value()?;
    let running = facts.kernel.cmdline.value()?;
    let mut words = zswap_words(facts);
    words.retain(|(_, word)| {
        let name = format!("zswap.{}", word.name);
        cmdline::get(running, &name) != cmdline::get(&store.configured, &name)
    });
    let names: BTreeSet<String> = words.iter().map(|(_, word)| format!("zswap.{}", word.name)).collect();
    if names.is_empty() {
        return None;
    }
    let list = names.into_iter().collect::<Vec<_>>().join(", ");
    let what = format!("{list} in {} and on the running command line differ: the file counts from the next boot on", store.path);
    let exhibits: Vec<Exhibit> = words.into_iter().map(|(source, word)| Exhibit { source, text: word.raw }).collect();
    Some(FindingEvidence::new(what, "systemctl reboot").seen_all(exhibits))
}

fn grub_not_plain(facts: &Facts) -> Option<FindingEvidence> {
    facts.boot.loader.value().filter(|loader| **loader == BootLoader::Grub)?;
    let is_grub = |path: &str| path == "/etc/default/grub" || path.starts_with("/etc/default/grub.d/");
    let files: Vec<(&str, &str)> = facts
        .files
        .iter()
        .filter(|(path, _)| is_grub(path))
        .filter_map(|(path, text)| Some((path.as_str(), text.value()?.as_str())))
        .collect();
    let error = grub::effective(&files).err()?;
    let what = format!("line {} of {} has {}: {}", error.line, error.path, error.found, error.hint);
    Some(
        FindingEvidence::new(what, format!("editor +{} {}", error.line, error.path))
            .seen(format!("{} line {}", error.path, error.line), error.found),
    )
}
