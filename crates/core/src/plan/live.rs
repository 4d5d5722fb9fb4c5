//! Live knobs: sysctls, huge pages, zswap's parameters.

use super::When;
use super::draft::{Draft, Why, first_usable};
use swaptune_kernel::behaviours;

use crate::change::Change;
use crate::facts::ZswapFacts;
use crate::knobs;
use crate::settings::{PoolLimit, Setting};

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
        }
        Some(crate::Fact::Absent { absent }) => absent_knob(draft, name, absent),
        None => absent_knob(draft, name, "not in this kernel"),
    }
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

/// zswap's parameters in the order in which a kernel that has never had zswap on takes them: allocator, compressor,
/// limits, shrinker, and only then `enabled`; the write side reads all of them back after that.
pub(super) fn zswap(draft: &mut Draft<'_>) {
    let settings = &draft.settings().zswap;
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
    if settings.enabled.as_ref().is_some_and(|on| !on.value) {
        parameter(draft, zswap, "enabled", settings.enabled.as_ref(), "N", Vec::new());
        if zswap.enabled {
            draft.note(
                "zswap.enabled",
                "off stops new stores only; what is stored stays until it is faulted in or swapoff",
                "zswap.rst",
            );
        }
        return;
    }
    if let Some(zpools) = &settings.zpool {
        zpool(draft, zswap, zpools);
    }
    compressor(draft, zswap);
    if let Some(limit) = &settings.pool {
        match limit.value.percent(draft.facts().memory.total()) {
            Some(percent) => {
                too_large(draft, limit.value);
                parameter(draft, zswap, "max_pool_percent", Some(limit), &percent.to_string(), Vec::new());
            }
            // The service turns the size into a share of the RAM that it finds.
            None if draft.facts().image.is_some() => {}
            None => draft.refuse("zswap.max_pool_percent", "the size of RAM is unknown", "write max_pool_percent = N in [zswap]"),
        }
    }
    let accept = settings.accept_threshold_percent.as_ref();
    if let Some(percent) = accept {
        parameter(draft, zswap, "accept_threshold_percent", accept, &percent.value.to_string(), Vec::new());
    }
    let flag = |setting: &Setting<bool>| if setting.value { "Y" } else { "N" };
    if let Some(shrinker) = &settings.shrinker_enabled {
        parameter(draft, zswap, "shrinker_enabled", Some(shrinker), flag(shrinker), Vec::new());
    }
    if let Some(enabled) = &settings.enabled {
        parameter(draft, zswap, "enabled", Some(enabled), flag(enabled), Vec::new());
    }
}

/// A size that was meant for a larger machine.
fn too_large(draft: &mut Draft<'_>, limit: PoolLimit) {
    let ram = draft.facts().memory.total();
    if let PoolLimit::Size(size) = limit
        && size > ram.percent(PoolLimit::SIZE_PERCENT_MAX)
    {
        let text =
            format!("{size} is more than half of this machine's {ram}: the pool is limited to {} %", PoolLimit::SIZE_PERCENT_MAX);
        draft.note("zswap.max_pool_percent", text, "the rest of RAM must hold what is in use");
    }
}

/// One parameter of zswap; absent ones become a note that says since or until when kernels have it.
fn parameter<T>(
    draft: &mut Draft<'_>,
    zswap: &ZswapFacts,
    field: &str,
    setting: Option<&Setting<T>>,
    wanted: &str,
    fallbacks: Vec<String>,
) {
    let name = format!("zswap.{field}");
    let (Some(row), Some(setting)) = (knobs::find(&name), setting) else { return };
    let Some(value) = zswap.parameter(field) else {
        return absent_knob(draft, &name, "not in this kernel");
    };
    if row.same(value, wanted) {
        return remark(draft, &name, row.source);
    }
    let change =
        Change::Knob { name: name.clone(), path: row.path.into(), before: value.trim().into(), after: wanted.into(), fallbacks };
    let why = Why::setting(setting, &name, draft.settings());
    draft.step(When::Now, change, why);
}

/// The allocator: the first of the list that the kernel's age allows.
fn zpool(draft: &mut Draft<'_>, zswap: &ZswapFacts, wanted: &Setting<Vec<String>>) {
    let Some((first, rest)) = wanted.value.split_first() else { return };
    if first == "zsmalloc" && draft.facts().kernel.does(&behaviours::ZSMALLOC_WRITES_BACK) == Some(false) {
        let text = "zsmalloc cannot write back before Linux 6.2: a full pool then sends new pages straight to the disk, so keep it below its limit";
        draft.note("zswap.zpool", text, "mm/zsmalloc.c, zs_zpool_shrink (6.2)");
    }
    parameter(draft, zswap, "zpool", Some(wanted), first, rest.to_vec());
}

/// The compressor: the first of the list that this kernel has or can load; the rest are tried if the kernel refuses it.
fn compressor(draft: &mut Draft<'_>, zswap: &ZswapFacts) {
    let Some(wanted) = &draft.settings().zswap.compressor else { return };
    let facts = draft.facts();
    let Some(first) = first_usable(facts, &wanted.value) else {
        let have: Vec<&str> = facts.compressors.iter().filter(|c| c.availability.usable()).map(|c| c.name.as_str()).collect();
        let why = format!("this kernel has none of {}; it has {}", wanted.value.join(", "), have.join(", "));
        return draft.refuse("zswap.compressor", why, "name one that it has under [zswap] compressor");
    };
    for name in wanted.value.iter().take_while(|name| **name != first) {
        draft.note("zswap.compressor", format!("{name} is not in this kernel, so {first} is taken"), why_not(draft, name));
    }
    let fallbacks = wanted.value.iter().skip_while(|name| **name != first).skip(1).cloned().collect();
    parameter(draft, zswap, "compressor", Some(wanted), &first, fallbacks);
}

fn why_not(draft: &Draft<'_>, name: &str) -> String {
    draft
        .facts()
        .compressors
        .iter()
        .find(|c| c.name == name)
        .map_or_else(|| "not a compressor that is looked for".into(), |c| c.source.clone())
}
