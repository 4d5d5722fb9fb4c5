//! Live knobs: sysctls, huge pages, zswap's parameters.

use super::When;
use super::draft::{Draft, Why};
use swaptune_kernel::behaviours;

use crate::change::Change;
use crate::facts::ZswapFacts;
use crate::knobs::{self, Knob};
use crate::settings::{PoolLimit, Setting, WantedParameter, ZswapSettings};
use crate::units::Bytes;

/// Every knob of the `[knobs]` section.
pub(super) fn knobs(draft: &mut Draft<'_>) {
    for (name, setting) in &draft.settings().knobs {
        knob(draft, name, setting);
    }
}

/// One knob brought to its value, or the reason why it cannot be.
fn knob(draft: &mut Draft<'_>, name: &str, setting: &Setting<String>) {
    let Some(row) = knobs::find(name) else { return };
    if draft.facts().image.is_some() && draft.facts().has_knob(row) {
        return;
    }
    match draft.facts().knobs.get(name) {
        Some(crate::Fact::Known { value, .. }) if row.same(value, &setting.value) => remark(draft, name, row.source),
        Some(crate::Fact::Known { value, .. }) => {
            let after = row.spelling(&setting.value);
            let change =
                Change::Knob { name: name.into(), path: row.path.into(), before: value.clone(), after, fallbacks: Vec::new() };
            let why = Why::setting(setting, name, draft.settings());
            draft.step(When::Now, change, why);
            if name == "vm.swappiness" {
                groups_keep_theirs(draft);
            }
        }
        Some(crate::Fact::Absent { absent }) => absent_knob(draft, name, absent),
        None => absent_knob(draft, name, "not in this kernel"),
    }
}

/// With control groups of version 1 each group has a swappiness of its own, which it took from its parent when it was made.
fn groups_keep_theirs(draft: &mut Draft<'_>) {
    let system = &draft.facts().system;
    if system.cgroup_version.value() != Some(&1) || system.memory_controller.value() == Some(&false) {
        return;
    }
    let text = "control groups of version 1 that are there keep the memory.swappiness that they were made with: it counts for those made \
                later, and for all from the next boot on";
    draft.note("vm.swappiness", text, "mm/memcontrol.c, mem_cgroup_css_alloc(); cgroup-v1/memory.rst, swappiness");
}

/// What is disputed about a value that is in effect already; where it is a step, the step says it.
fn remark(draft: &mut Draft<'_>, name: &str, source: &str) {
    if let Some(remark) = draft.settings().remarks.get(name) {
        draft.note(name, remark.clone(), source);
    }
}

fn absent_knob(draft: &mut Draft<'_>, name: &str, why: &str) {
    let row = knobs::find(name);
    let by_version = draft.facts().kernel.version.value().and_then(|version| row?.why_absent(*version));
    let text = by_version.unwrap_or_else(|| format!("left out: {why}"));
    draft.note(name, text, row.map_or("", |row| row.source));
}

/// zswap's parameters in the order of the table, and `enabled` last: a kernel that has never had zswap on takes the others then; the
/// write side reads all of them back after that.
pub(super) fn zswap(draft: &mut Draft<'_>) {
    let zswap = match &draft.facts().zswap {
        crate::Fact::Known { value, .. } => value,
        crate::Fact::Absent { absent } => {
            if draft.settings().wants_zswap() {
                let text = format!("this kernel has no zswap ({absent}): zram or plain disk swap is what it can do");
                draft.note("zswap.enabled", text, "CONFIG_ZSWAP; Debian's cloud kernels have none up to 6.18");
            }
            return;
        }
    };
    let off = draft.settings().zswap.enabled().is_some_and(|on| !on.value);
    let (enabled, others): (Vec<&Knob>, Vec<&Knob>) = ZswapSettings::rows().partition(|row| row.name == "zswap.enabled");
    for row in others.into_iter().filter(|_| !off).chain(enabled) {
        if let Some(setting) = draft.settings().zswap.get(row.parameter()) {
            parameter(draft, zswap, row, setting);
        }
    }
    if off && zswap.enabled {
        draft.note(
            "zswap.enabled",
            "off stops new stores only; what is stored stays until it is faulted in or swapoff",
            "zswap.rst",
        );
    }
}

/// One parameter of zswap, with what is special about it.
fn parameter(draft: &mut Draft<'_>, zswap: &ZswapFacts, row: &Knob, setting: &Setting<WantedParameter>) {
    match (&setting.value, row.name) {
        (WantedParameter::Names(names), "zswap.compressor") => return compressor(draft, zswap, row, setting, names),
        (WantedParameter::Names(names), "zswap.zpool") => zpool(draft, names),
        (WantedParameter::Size(size), _) => too_large(draft, *size),
        _ => {}
    }
    match setting.value.text(draft.facts().memory.total()) {
        Some(wanted) => {
            let rest = if let WantedParameter::Names(names) = &setting.value {
                names.get(1..).unwrap_or_default().to_vec()
            } else {
                Vec::new()
            };
            write(draft, zswap, row, setting, &wanted, rest);
        }
        // The service turns the size into a share of the RAM that it finds.
        None if draft.facts().image.is_some() => {}
        None => draft.refuse(row.name, "the size of RAM is unknown", "write max_pool_percent = N in [zswap]"),
    }
}

/// A size that was meant for a larger machine.
fn too_large(draft: &mut Draft<'_>, size: Bytes) {
    let ram = draft.facts().memory.total();
    if ram > Bytes(0) && size > ram.percent(PoolLimit::SIZE_PERCENT_MAX) {
        let text =
            format!("{size} is more than half of this machine's {ram}: the pool is limited to {} %", PoolLimit::SIZE_PERCENT_MAX);
        draft.note("zswap.max_pool_percent", text, "the rest of RAM must hold what is in use");
    }
}

/// The step for one parameter; an absent one becomes a note that says since or until when kernels have it.
fn write(
    draft: &mut Draft<'_>,
    zswap: &ZswapFacts,
    row: &Knob,
    setting: &Setting<WantedParameter>,
    wanted: &str,
    fallbacks: Vec<String>,
) {
    let Some(value) = zswap.configured(row.parameter()) else {
        return absent_knob(draft, row.name, "not in this kernel");
    };
    if row.same(value, wanted) {
        return remark(draft, row.name, row.source);
    }
    let (name, path) = (row.name.to_owned(), row.path.to_owned());
    let change = Change::Knob { name, path, before: value.trim().into(), after: wanted.into(), fallbacks };
    let why = Why::setting(setting, row.name, draft.settings());
    draft.step(When::Now, change, why);
}

/// What an allocator cannot do on a kernel of this age.
fn zpool(draft: &mut Draft<'_>, names: &[String]) {
    let first = names.first().map(String::as_str);
    if first == Some("zsmalloc") && draft.facts().kernel.does(&behaviours::ZSMALLOC_WRITES_BACK) == Some(false) {
        let text = "zsmalloc cannot write back before Linux 6.2: a full pool then sends new pages straight to the disk, so keep it below its limit";
        draft.note("zswap.zpool", text, "mm/zsmalloc.c, zs_zpool_shrink (6.2)");
    }
}

/// The compressor: the first of the list that this kernel has or can load; the rest are tried if the kernel refuses it.
fn compressor(draft: &mut Draft<'_>, zswap: &ZswapFacts, row: &Knob, setting: &Setting<WantedParameter>, names: &[String]) {
    let facts = draft.facts();
    let Some(first) = facts.first_usable(names) else {
        let have: Vec<&str> = facts.compressors.iter().filter(|c| c.availability.usable()).map(|c| c.name.as_str()).collect();
        let why = format!("this kernel has none of {}; it has {}", names.join(", "), have.join(", "));
        return draft.refuse("zswap.compressor", why, "name one that it has under [zswap] compressor");
    };
    for name in names.iter().take_while(|name| **name != first) {
        draft.note("zswap.compressor", format!("{name} is not in this kernel, so {first} is taken"), why_not(draft, name));
    }
    let fallbacks = names.iter().skip_while(|name| **name != first).skip(1).cloned().collect();
    write(draft, zswap, row, setting, &first, fallbacks);
}

fn why_not(draft: &Draft<'_>, name: &str) -> String {
    draft
        .facts()
        .compressors
        .iter()
        .find(|c| c.name == name)
        .map_or_else(|| "not a compressor that is looked for".into(), |c| c.source.clone())
}
