//! zram devices: module, device, header, area.

use super::draft::{Draft, Why, uuid};
use super::{When, zram_upkeep};
use crate::change::{Change, SwapHeaderState, SwapState, ZramState};
use crate::facts::{Availability, Holds, SwapArea, ZramDevice};
use crate::settings::ZramWanted;
use crate::units::Bytes;

const FILLS_RAM: &str =
    "only its size bounds the RAM that zram takes: a full device of pages that hardly compress leaves little to run in";

/// All zram devices of the settings.
pub(super) fn plan(draft: &mut Draft<'_>) {
    if !super::sizes::zram_fits(draft) {
        return;
    }
    for (number, wanted) in draft.settings().zram.iter().flat_map(|list| &list.value).enumerate() {
        device(draft, number, wanted);
    }
}

/// A zram device with its swap area.
fn device(draft: &mut Draft<'_>, number: usize, wanted: &ZramWanted) {
    let name = format!("zram{number}");
    let path = format!("/dev/{name}");
    let facts = draft.facts();
    let device = facts.zram.devices.iter().find(|device| device.name == name);
    let wanted = &zram_upkeep::possible(draft, device, wanted);
    if let Some(active) = facts.swaps.iter().find(|area| area.path == path) {
        return on_already(draft, active, device, wanted);
    }
    let driver = facts.zram.driver.value().copied();
    if !driver.is_some_and(Availability::usable) {
        return draft.refuse(
            path,
            format!("this kernel has no zram ({})", facts.zram.driver.source()),
            "take the [[zram]] section out",
        );
    }
    if driver == Some(Availability::Module) {
        let why = Why::rule("zram is a module that is not loaded", facts.zram.driver.source());
        draft.step(When::Now, Change::Module { name: "zram".into(), before: false, after: true }, why);
    }
    let algorithm = zram_algorithm(draft, &wanted.algorithm);
    let after = ZramState {
        algorithm,
        disksize: wanted.size,
        mem_limit: wanted.mem_limit,
        recomp_algorithm: wanted.recomp_algorithm.clone(),
        backing_dev: zram_upkeep::backing_dev(draft, device, number, wanted),
    };
    let before = device.filter(|device| device.disksize > Bytes(0)).map(state);
    let held = facts.swap_places.iter().find(|place| place.path == path).and_then(|place| place.holds.value());
    if before.is_some() && matches!(held, Some(Holds::Other { .. } | Holds::Unknown)) {
        return in_other_use(draft, &name, &path);
    }
    let on = SwapState::at(wanted.priority);
    let why = || Why::rule("compressed RAM as swap, before every disk", "zram.rst");
    if before.as_ref() == Some(&after) && matches!(held, Some(Holds::Swap { .. })) {
        return draft.step(When::Now, Change::Swap { path, before: None, after: Some(on) }, why());
    }
    let provenance = draft.settings().zram.as_ref().map(|list| Why::setting(list, "zram.disksize", draft.settings()));
    let origin = provenance.unwrap_or_else(|| Why::rule("zram device of the configuration", "zram.rst"));
    let risk = if after.mem_limit == Bytes(0) { FILLS_RAM } else { "" };
    draft.step(When::Now, Change::Zram { name, before, after: Some(after) }, Why { risk, ..origin });
    let header = SwapHeaderState { uuid: uuid(draft.request.seed, &path), label: "zram".into() };
    draft.step(When::Now, Change::SwapHeader { path: path.clone(), before: None, after: Some(header), wipe: false }, why());
    draft.step(When::Now, Change::Swap { path, before: None, after: Some(on) }, why());
}

/// A device that is set up and holds something other than swap: that a file system is mounted from it outweighs all.
fn in_other_use(draft: &mut Draft<'_>, name: &str, path: &str) {
    let facts = draft.facts();
    let mounted = facts.block_device(name).and_then(|device| device.mounted_at.clone());
    let mount = facts.mounts.iter().find(|mount| mount.device.value().is_some_and(|device| device == name));
    match mounted.or_else(|| mount.map(|mount| mount.at.clone())) {
        Some(at) => draft.refuse(
            path,
            format!("the device is mounted at {at}, and zram for swap takes the first ones"),
            "let what sets it up take a higher number, or leave zram out: --set zswap.enabled=true with an area under [[swap]]",
        ),
        None => draft.refuse(
            path,
            "the device is set up and holds something other than swap",
            format!("if nothing in it is needed any more: zramctl --reset {path}"),
        ),
    }
}

/// A device that is swap already is not taken away from what is in it; how it differs is said.
fn on_already(draft: &mut Draft<'_>, active: &SwapArea, device: Option<&ZramDevice>, wanted: &ZramWanted) {
    let found = device.map(state).unwrap_or_default();
    let is_backed = wanted.backing_dev.as_deref().is_none_or(|name| {
        let backing = draft.facts().device_named(name);
        device.zip(backing).is_some_and(|(device, backing)| zram_upkeep::is_backed_by(device, backing))
    });
    let compresses_again = wanted.recomp_algorithm.is_empty() || wanted.recomp_algorithm == found.recomp_algorithm;
    let priority = priority(draft, active, wanted.priority);
    let is_limited = is_limited_to(device, wanted.mem_limit, draft.facts().kernel.page_size);
    let as_wanted = found.disksize == wanted.size && compresses_as(device, &wanted.algorithm) && is_limited;
    if as_wanted && priority == wanted.priority && is_backed && compresses_again {
        return;
    }
    let words = found.words();
    let text = format!("{} is on with {words} and priority {priority}; it is left as it is until the next boot", active.path);
    draft.pending(&active.path, text, "/proc/swaps");
}

/// Whether a device has the first compressor of those wanted that it offers; where it offers none of them, whatever it has is as good.
fn compresses_as(device: Option<&ZramDevice>, wanted: &[String]) -> bool {
    let Some(device) = device else { return true };
    let first = wanted.iter().find(|name| device.algorithms.contains(name));
    first.is_none() || first == device.algorithm.value()
}

/// Whether a device has this limit, which the driver rounds up to whole pages; where its limit is not known, nothing says that it has not.
fn is_limited_to(device: Option<&ZramDevice>, wanted: Bytes, page: Bytes) -> bool {
    let pages = |limit: Bytes| limit.0.div_ceil(page.0.max(1));
    let stat = device.and_then(|device| device.mm_stat.value());
    stat.is_none_or(|stat| pages(stat.mem_limit) == pages(wanted))
}

/// The priority that an area has then: the wanted one, unless it holds something that would have to be moved for it.
fn priority(draft: &mut Draft<'_>, active: &SwapArea, wanted: i32) -> i32 {
    if active.priority == wanted || active.used > Bytes(0) {
        return active.priority;
    }
    let state = |priority| Some(SwapState::at(priority));
    let change = Change::Swap { path: active.path.clone(), before: state(active.priority), after: state(wanted) };
    let reason =
        format!("its priority is {} and not {wanted}, and it holds nothing that would have to be moved", active.priority);
    draft.step(When::Now, change, Why::rule(reason, "swapon(2): higher priority is filled first"));
    wanted
}

/// How a device that is set up is set up.
pub(super) fn state(device: &ZramDevice) -> ZramState {
    ZramState {
        algorithm: device.algorithm.value().cloned().unwrap_or_default(),
        disksize: device.disksize,
        mem_limit: device.mm_stat.value().map_or(Bytes(0), |stat| stat.mem_limit),
        recomp_algorithm: device.recomp_algorithm.value().cloned().unwrap_or_default(),
        backing_dev: device.backing_dev.value().filter(|backing| *backing != "none").cloned(),
    }
}

/// The first algorithm that zram of this kernel offers. Where it offers none of them that is refused, and a boot, which passes over a refusal, gets
/// what there is.
fn zram_algorithm(draft: &mut Draft<'_>, wanted: &[String]) -> String {
    let facts = draft.facts();
    let first = wanted.first().cloned().unwrap_or_default();
    let has = facts.zram_algorithms();
    let Some(chosen) = facts.first_of_zram(wanted).or_else(|| wanted.is_empty().then(String::new)) else {
        let why = format!("this kernel's zram has none of {}; it has {}", wanted.join(", "), has.join(", "));
        draft.refuse("zram.comp_algorithm", why, "name one that it has under [[zram]] algorithm");
        return has.first().cloned().unwrap_or(first);
    };
    if chosen != first {
        let text = format!("{first} is not among this kernel's zram compressors ({}), so {chosen} is taken", has.join(", "));
        draft.note("zram.comp_algorithm", text, "comp_algorithm; since 6.12 zram has backends of its own, fixed at build");
    }
    chosen
}
