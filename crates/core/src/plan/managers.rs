//! What becomes of other programs that set up swap, zram or zswap: each is silenced, or left alone and said in one line.

use super::draft::{Draft, Why};
use super::{When, owned};
use crate::change::Change;
use crate::facts::{Facts, Manager};
use crate::parse::zram_generator;
use crate::settings::Settings;

/// What a manager sets up at boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Makes {
    /// Swap on zram.
    Zram,
    /// zswap's parameters and swap areas, against this plan.
    Zswap,
    /// Something that this plan can live with.
    Other,
}

/// How a manager is kept from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Silence {
    /// By a drop-in of zram-generator.
    Generator,
    /// By a link of this unit's name to /dev/null.
    Mask(&'static str),
    /// By a link of this generator's name to /dev/null (systemd.generator(7)): a unit that it makes has no file to be masked for good.
    MaskGenerator(&'static str),
    /// Not by us: what to do is said.
    Say,
}

/// One manager.
#[derive(Clone, Copy, Debug)]
pub(super) struct ManagerRow {
    /// Name as in the facts.
    pub(super) name: &'static str,
    /// What it sets up.
    pub(super) makes: Makes,
    silence: Silence,
    /// What it does, or how it is told to stop.
    says: &'static str,
}

/// Every manager that an inspection can find.
pub(super) static TABLE: &[ManagerRow] = &[
    row("zram-generator", Makes::Zram, Silence::Generator, ""),
    row("zram-tools", Makes::Zram, Silence::Mask("zramswap.service"), ""),
    row("zram-config", Makes::Zram, Silence::Mask("zram-config.service"), ""),
    row("zram-swap", Makes::Zram, Silence::Mask("zram-swap.service"), ""),
    row("zramd", Makes::Zram, Silence::Mask("zramd.service"), ""),
    row("zramen", Makes::Zram, Silence::Mask("zramen.service"), ""),
    row("pop-zram", Makes::Zram, Silence::Mask("pop-default-settings-zram.service"), ""),
    row("zram-init", Makes::Zram, Silence::Say, "take it out of the runlevel (rc-update del zram-init), or disable its units"),
    row("armbian-zram-config", Makes::Zram, Silence::Say, "write SWAP=false in /etc/default/armbian-zram-config"),
    row("rpi-swap", Makes::Zram, Silence::MaskGenerator("rpi-swap-generator"), ""),
    row("zswap-cli", Makes::Zswap, Silence::Mask("zswap-cli.service"), ""),
    row("systemd-swap", Makes::Zswap, Silence::Mask("systemd-swap.service"), ""),
    row("dphys-swapfile", Makes::Other, Silence::Say, "it keeps a swap file of its own, with the kernel's default priority"),
    row(
        "swapspace",
        Makes::Other,
        Silence::Say,
        "it makes and removes swap files as memory runs short, with the kernel's default priority",
    ),
    row("xzram", Makes::Other, Silence::Say, "it sets up zram when it is started and keeps sysctls in a file of its own"),
    row(
        "tuned",
        Makes::Other,
        Silence::Say,
        "its profile may set swappiness; it re-applies sysctl.d after its own values unless reapply_sysctl = 0",
    ),
    row("systemd-oomd", Makes::Other, Silence::Say, "it kills by pressure and by free swap, and sets nothing of this plan"),
    row("oomd", Makes::Other, Silence::Say, "it kills by pressure and by free swap, and sets nothing of this plan"),
    row(
        "earlyoom",
        Makes::Other,
        Silence::Say,
        "it kills when memory and swap are nearly used up, and sets nothing of this plan",
    ),
    row("nohang", Makes::Other, Silence::Say, "it kills when memory and swap are nearly used up, and sets nothing of this plan"),
    row("uresourced", Makes::Other, Silence::Say, "it protects the memory of the active user, and sets nothing of this plan"),
];

/// Links to /dev/null that keep a manager from acting: path, and the name that they mask.
pub(super) fn masked(facts: &Facts) -> Vec<(String, &'static str)> {
    let path = |row: &ManagerRow| match row.silence {
        Silence::Mask(unit) => Some((mask_of_unit(unit), unit)),
        Silence::MaskGenerator(name) => Some((mask_of_generator(name), name)),
        Silence::Generator | Silence::Say => None,
    };
    TABLE.iter().filter_map(path).filter(|(path, _)| facts.file(path) == Some("")).collect()
}

fn mask_of_unit(unit: &str) -> String {
    format!("/etc/systemd/system/{unit}")
}

fn mask_of_generator(name: &str) -> String {
    format!("/etc/systemd/system-generators/{name}")
}

/// True when plans have an answer to a manager of this name.
#[must_use]
pub fn treats_manager(name: &str) -> bool {
    TABLE.iter().any(|row| row.name == name)
}

/// True when a manager of this name sets up zram or zswap.
pub(crate) fn sets_up_swap(name: &str) -> bool {
    TABLE.iter().any(|row| row.name == name && row.makes != Makes::Other)
}

const fn row(name: &'static str, makes: Makes, silence: Silence, says: &'static str) -> ManagerRow {
    ManagerRow { name, makes, silence, says }
}

const TWICE: &str = "zswap in front of zram compresses every page twice and moves memory between two pools";
const SAME_DEVICE: &str = "the zram of this plan is set up by swaptune, and one device has one owner";
const TAKEN_OVER: &str = "its swap file is in this plan, and one area has one owner";
const AGAINST: &str = "it sets zswap and swap at boot, after and against this plan";

/// Every manager that acts at boot, and those of zram whose devices are on.
pub(super) fn plan(draft: &mut Draft<'_>) {
    let facts = draft.facts();
    let zram_is_on = facts.swaps.iter().any(crate::facts::SwapArea::is_zram);
    for manager in &facts.system.managers {
        let Some(row) = TABLE.iter().find(|row| row.name == manager.name) else { continue };
        let against = against(draft, row);
        let acts = manager.active || against == Some(TWICE) && row.makes == Makes::Zram && zram_is_on;
        match against.filter(|_| acts) {
            Some(reason) => silence(draft, row, manager, reason),
            None if !manager.active => {}
            None if row.makes == Makes::Zram => {
                let text = "it sets up the zram of this machine, and this plan leaves that to it";
                draft.note(row.name, text, manager.evidence.clone());
            }
            None if row.makes == Makes::Zswap => {
                let text = "it sets zswap and swap at boot, and this plan leaves that to it";
                draft.note(row.name, text, manager.evidence.clone());
            }
            None => draft.note(row.name, row.says, manager.evidence.clone()),
        }
    }
}

/// Why a manager and this plan cannot both have their way; `None` when they can.
fn against(draft: &Draft<'_>, row: &ManagerRow) -> Option<&'static str> {
    let settings = draft.settings();
    match row.makes {
        Makes::Zram if settings.wants_zram() => Some(SAME_DEVICE),
        // What was taken over has a new owner, be it a swap file.
        Makes::Zram if row.name == "rpi-swap" && settings.derives_nothing() && settings.swap.is_some() => Some(TAKEN_OVER),
        Makes::Zram if settings.wants_zswap() => Some(TWICE),
        Makes::Zswap if !wants_neither_zswap_nor_swap(settings) => Some(AGAINST),
        Makes::Zram | Makes::Zswap | Makes::Other => None,
    }
}

/// True where a manager of zswap and swap has nothing to contradict: only something else was asked for.
fn wants_neither_zswap_nor_swap(settings: &Settings) -> bool {
    settings.derives_nothing() && settings.zswap.is_empty() && settings.swap.is_none() && !settings.wants_zram()
}

/// Keeps a manager from acting at the next boot, by its own way of being told.
fn silence(draft: &mut Draft<'_>, row: &ManagerRow, manager: &Manager, reason: &str) {
    if !draft.request.boot {
        return draft.note(
            row.name,
            format!("left alone for now; at the next boot it acts again: {reason}"),
            manager.evidence.clone(),
        );
    }
    let systemd = draft.facts().system.has_systemd();
    let why = Why::rule(format!("{} would act at the next boot: {reason}", row.name), manager.evidence.clone());
    match row.silence {
        Silence::Generator => generator(draft, manager, why),
        Silence::Mask(unit) if systemd => mask(draft, &mask_of_unit(unit), why),
        Silence::MaskGenerator(name) => mask(draft, &mask_of_generator(name), why),
        Silence::Mask(unit) => {
            let text = format!("disable it in your init ({}): {reason}", unit.trim_end_matches(".service"));
            draft.note(row.name, text, manager.evidence.clone());
        }
        Silence::Say => draft.note(row.name, format!("{}: {reason}", row.says), manager.evidence.clone()),
    }
}

/// zram-generator: a drop-in behind all others leaves its swap devices out; file systems on zram stay.
fn generator(draft: &mut Draft<'_>, manager: &Manager, why: Why<'_>) {
    let facts = draft.facts();
    let devices = zram_generator::devices_of(facts, owned::ZRAM_GENERATOR_FILE);
    let swaps: Vec<&str> = devices.iter().filter(|device| device.is_swap()).map(|device| device.name.as_str()).collect();
    if swaps.is_empty() {
        return draft.note("zram-generator", "its configuration names no swap device", manager.evidence.clone());
    }
    draft.file(owned::ZRAM_GENERATOR_FILE, Some(owned::zram_generator(&swaps)), 0o644, why);
}

fn mask(draft: &mut Draft<'_>, path: &str, why: Why<'_>) {
    // A link to /dev/null reads as an empty text: masked already.
    if draft.facts().file(path) == Some("") {
        return;
    }
    if draft.facts().file(path).is_some() {
        let text = format!("{path} is a file of its own, so it cannot be masked: disable it by its own means");
        return draft.note(path, text, path);
    }
    draft.step(When::Boot, Change::Link { path: path.into(), before: None, after: Some("/dev/null".into()) }, why);
}
