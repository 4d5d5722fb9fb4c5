//! A swap area that is there already, taken into the configuration; nothing on it is touched.

use super::super::draft::{Draft, Why};
use super::super::{Plan, Request, When};
use super::lines::{self, Area};
use super::{Wish, begin, finish};
use crate::change::{Change, SwapState};
use crate::facts::{BlockDevice, Encryption, Holds, SwapKind};
use crate::parse::crypttab;
use crate::settings::EncryptRule;

/// Plans to take an area as it is.
#[must_use]
pub fn adopt(request: &Request<'_>, wish: &Wish<'_>) -> Plan {
    let mut draft = begin(request, "device adopt");
    if !draft.is_refused() {
        take(&mut draft, wish);
    }
    finish(draft)
}

fn take(draft: &mut Draft<'_>, wish: &Wish<'_>) {
    let facts = draft.facts();
    let Some(device) = facts.device_named(wish.device) else {
        return draft.refuse(wish.device, "no block device of this name is there", "`lsblk -f` shows what is there");
    };
    let is_it = |name: Option<&String>| name == Some(&device.name);
    let active = facts.swaps.iter().find(|area| area.kind == SwapKind::Partition && is_it(area.device.value()));
    let Some(uuid) = swap_uuid(draft, device, wish) else {
        let mapping = facts.block_devices.iter().find(|other| other.lies_on.contains(&device.name));
        let hint = match mapping {
            Some(mapping) => format!("swaptune device adopt {}", mapping.node()),
            None => format!("to make it one: swaptune device prepare {}", device.node()),
        };
        return draft.refuse(device.node(), "it is no swap area", hint);
    };
    if !opens_at_boot(draft, device) {
        return;
    }
    if active.is_none_or(|area| area.priority != wish.priority) {
        let before = active.map(|area| SwapState { priority: area.priority, discard_once: false });
        let after = Some(SwapState { priority: wish.priority, discard_once: false });
        let change = Change::Swap { path: device.node(), before, after };
        draft.step(When::Now, change, Why::rule("the area is on, with the priority that its line has", "swapon(2)"));
    }
    let spec = if device.dm_crypt().is_some() { device.node() } else { format!("UUID={uuid}") };
    let partition = device.partuuid.as_ref().filter(|_| wish.optional && device.dm_name.is_none());
    let area = Area {
        spec,
        name: partition.map_or_else(|| device.node(), |partuuid| format!("PARTUUID={partuuid}")),
        priority: wish.priority,
        discard: false,
        optional: wish.optional,
        encrypt: rule(device),
        partuuid: device.partuuid.clone().or_else(|| {
            let below = device.lies_on.first().and_then(|name| facts.block_device(name));
            below.and_then(|below| below.partuuid.clone())
        }),
    };
    lines::add(draft, &area, None);
}

fn rule(device: &BlockDevice) -> EncryptRule {
    match device.dm_crypt() {
        Some(Encryption::Luks { .. }) => EncryptRule::Luks,
        Some(Encryption::Plain) => EncryptRule::Random,
        _ => EncryptRule::None,
    }
}

fn swap_uuid(draft: &Draft<'_>, device: &BlockDevice, wish: &Wish<'_>) -> Option<String> {
    let place = draft.facts().swap_places.iter().find(|place| place.path == wish.device);
    match place.and_then(|place| place.holds.value()) {
        Some(Holds::Swap { uuid, .. }) => Some(uuid.clone()),
        Some(_) => None,
        None => device.uuid.clone().filter(|_| device.contents.value().is_some_and(|kind| kind == "swap")),
    }
}

/// A mapping that nothing opens at boot would be missing from the next boot on.
fn opens_at_boot(draft: &mut Draft<'_>, device: &BlockDevice) -> bool {
    let Some(name) = device.dm_name.as_ref().filter(|_| device.dm_crypt().is_some()) else { return true };
    let known = crypttab::parse(draft.facts().file(lines::CRYPTTAB).unwrap_or_default());
    let is_listed = known.iter().any(|mapping| mapping.name == *name);
    if !is_listed {
        let hint = format!("write a line for {name} into /etc/crypttab, crypttab(5), or prepare its device anew");
        draft.refuse(device.node(), "no line of /etc/crypttab opens it at boot", hint);
    }
    is_listed
}
