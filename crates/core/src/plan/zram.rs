//! zram devices: module, device, header, area.

use super::When;
use super::draft::{Draft, Why, uuid};
use crate::change::{Change, SwapHeaderState, SwapState, ZramState};
use crate::facts::Availability;
use crate::settings::ZramWanted;
use crate::units::Bytes;

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
    if let Some(active) = facts.swaps.iter().find(|area| area.path == path) {
        let size = device.map_or(Bytes(0), |device| device.disksize);
        if size != wanted.size || active.priority != wanted.priority {
            let text =
                format!("{path} is on with {size} and priority {}; it is left as it is until the next boot", active.priority);
            draft.note(path, text, "/proc/swaps");
        }
        return;
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
    let algorithm = zram_algorithm(draft, device.map_or(&[][..], |device| &device.algorithms), &wanted.algorithm);
    let state = ZramState { algorithm, disksize: wanted.size, mem_limit: wanted.mem_limit };
    let provenance = draft.settings().zram.as_ref().map(|list| Why::setting(list, "zram.disksize", draft.settings()));
    let why = provenance.unwrap_or_else(|| Why::rule("zram device of the configuration", "zram.rst"));
    draft.step(When::Now, Change::Zram { name, before: None, after: Some(state) }, why);
    let header = SwapHeaderState { uuid: uuid(draft.request.seed, &path), label: "zram".into() };
    let why = || Why::rule("compressed RAM as swap, before every disk", "zram.rst");
    draft.step(When::Now, Change::SwapHeader { path: path.clone(), before: None, after: Some(header), wipe: false }, why());
    let on = SwapState { priority: wanted.priority, discard_once: false };
    draft.step(When::Now, Change::Swap { path, before: None, after: Some(on) }, why());
}

/// The first algorithm that the device offers; before the module is loaded, the first that was asked for.
fn zram_algorithm(draft: &mut Draft<'_>, offered: &[String], wanted: &[String]) -> String {
    let first = wanted.first().cloned().unwrap_or_default();
    if offered.is_empty() {
        return first;
    }
    let chosen = wanted.iter().find(|name| offered.contains(name)).or(offered.first()).cloned().unwrap_or_default();
    if chosen != first {
        let text = format!("{first} is not among this kernel's zram compressors ({}), so {chosen} is taken", offered.join(", "));
        draft.note("zram.comp_algorithm", text, "comp_algorithm; since 6.12 zram has backends of its own, fixed at build");
    }
    chosen
}
