//! A swap area that is there already, taken into the configuration; nothing on it is touched.

use super::super::draft::{Draft, Why};
use super::super::{Plan, PlanRequest, When, active_state};
use super::lines::{self, BootArea};
use super::{DeviceWish, KeyFile, begin, finish};
use crate::change::{Change, SwapState};
use crate::facts::{BlockDevice, Encryption, Holds, SwapKind};
use crate::parse::crypttab;
use crate::settings::EncryptRule;

/// Plans to take an area as it is.
#[must_use]
pub fn adopt(request: &PlanRequest<'_>, wish: &DeviceWish<'_>) -> Plan {
    let mut draft = begin(request, "device adopt");
    if !draft.is_refused() {
        take(&mut draft, wish);
    }
    finish(draft)
}

fn take(draft: &mut Draft<'_>, wish: &DeviceWish<'_>) {
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
    let Ok(mapping) = crypttab_line(draft, device, wish) else { return };
    if active.is_none_or(|area| area.priority != wish.priority) {
        let before = active.map(|area| active_state(facts, area));
        let after = Some(SwapState { priority: wish.priority, ..before.unwrap_or_default() });
        let change = Change::Swap { path: device.node(), before, after };
        draft.step(When::Now, change, Why::rule("the area is on, with the priority that its line has", "swapon(2)"));
    }
    let spec = if device.dm_crypt().is_some() { device.node() } else { format!("UUID={uuid}") };
    let partition = device.partuuid.as_ref().filter(|_| device.dm_name.is_none());
    let area = BootArea {
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
    lines::add(draft, &area, mapping.as_ref().map(|(name, line)| (name.as_str(), line.clone())));
}

fn rule(device: &BlockDevice) -> EncryptRule {
    match device.dm_crypt() {
        Some(Encryption::Luks { .. }) => EncryptRule::Luks,
        Some(Encryption::Plain) => EncryptRule::Random,
        _ => EncryptRule::None,
    }
}

fn swap_uuid(draft: &Draft<'_>, device: &BlockDevice, wish: &DeviceWish<'_>) -> Option<String> {
    let place = draft.facts().swap_places.iter().find(|place| place.path == wish.device);
    match place.and_then(|place| place.holds.value()) {
        Some(Holds::Swap { uuid, .. }) => Some(uuid.clone()),
        Some(_) => None,
        None => device.uuid.clone().filter(|_| device.contents.value().is_some_and(|kind| kind == "swap")),
    }
}

/// A mapping's name and its line.
type Line = (String, String);

/// The line of crypttab that an encrypted mapping lacks: one that nothing opens would be missing from the next boot on. `Err` after a
/// refusal.
fn crypttab_line(draft: &mut Draft<'_>, device: &BlockDevice, wish: &DeviceWish<'_>) -> Result<Option<Line>, ()> {
    let name = device.dm_name.clone().unwrap_or_default();
    let known = crypttab::parse(draft.facts().file(lines::CRYPTTAB).unwrap_or_default());
    let is_listed = known.iter().any(|mapping| mapping.name == name);
    let leave_out = || "leave out --key-file".to_owned();
    let (why, hint) = match (device.dm_crypt(), is_listed, &wish.key_file) {
        (None, _, None) | (Some(_), true, None) => return Ok(None),
        (None, ..) => ("it is not encrypted, and no key opens it", leave_out()),
        (Some(_), true, Some(_)) => ("a line of /etc/crypttab opens it already", leave_out()),
        (Some(Encryption::Luks { .. }), false, Some(KeyFile { path, unfit: None })) => {
            return Ok(Some(volume_line(draft, device, wish, &name, path)));
        }
        (Some(Encryption::Luks { .. }), false, Some(KeyFile { unfit: Some(why), path })) => {
            let hint = format!("chmod 600 {path}; cryptsetup luksAddKey {} {path}", source(draft, device));
            (why.as_str(), hint)
        }
        (Some(Encryption::Luks { .. }), false, None) => {
            (NOT_LISTED, format!("swaptune device adopt {} --key-file FILE, a file that opens it", device.node()))
        }
        (Some(_), false, _) => {
            (NOT_LISTED, format!("write a line for {name} into /etc/crypttab, crypttab(5), or prepare its device anew"))
        }
    };
    draft.refuse(device.node(), why, hint);
    Err(())
}

const NOT_LISTED: &str = "no line of /etc/crypttab opens it at boot";

/// What the volume lies on.
fn source(draft: &Draft<'_>, device: &BlockDevice) -> String {
    let below = device.lies_on.first();
    below.and_then(|name| draft.facts().block_device(name)).map_or_else(|| "DEVICE".to_owned(), BlockDevice::node)
}

/// Found by the partition where there is one, else by the volume's own UUID, which no swap header erases. Discards go through as they do now.
fn volume_line(draft: &Draft<'_>, device: &BlockDevice, wish: &DeviceWish<'_>, name: &str, key: &str) -> Line {
    let below = device.lies_on.first().and_then(|name| draft.facts().block_device(name));
    let by = |tag: &str, id: &Option<String>| id.as_ref().map(|id| format!("{tag}={id}"));
    let spec = below.and_then(|below| by("PARTUUID", &below.partuuid).or_else(|| by("UUID", &below.uuid)));
    let spec = spec.unwrap_or_else(|| source(draft, device));
    let options = lines::mapping_options("luks,headless=true", device.discard.value() == Some(&true), wish.optional);
    (name.to_owned(), format!("{name} {spec} {key} {options}"))
}
