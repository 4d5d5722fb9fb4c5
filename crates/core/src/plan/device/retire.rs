//! A device taken out: off, closed, no line of it left, its keys destroyed.

use super::super::draft::{Draft, Why};
use super::super::{Plan, PlanRequest, When, areas};
use super::lines::{self, CRYPTTAB, FSTAB};
use super::{DeviceWish, begin, without_capacity};
use crate::change::{Change, DeviceFormat, MappingKey, MappingState, SwapHeaderState};
use crate::device::KEY_DIR;
use crate::edit::fstab;
use crate::facts::{BlockDevice, Encryption, SwapArea, SwapKind};
use crate::parse::crypttab::{self, CryptMapping};

/// What there is of an area.
struct FoundArea<'a> {
    /// The partition or disk; `None` when it is not there.
    below: Option<&'a BlockDevice>,
    /// The mapping on it that is open.
    mapping: Option<&'a BlockDevice>,
    /// Its line in crypttab.
    line: Option<CryptMapping>,
    /// The area that is on.
    area: Option<&'a SwapArea>,
}

/// Plans to take a device out of use.
#[must_use]
pub fn retire(request: &PlanRequest<'_>, wish: &DeviceWish<'_>) -> Plan {
    let mut draft = begin(request, "device retire");
    if draft.is_refused() {
        return without_capacity(draft);
    }
    let all = find(&draft, wish.device);
    for found in &all {
        one(&mut draft, wish, found);
    }
    if draft.steps().is_empty() && !draft.is_refused() {
        draft.refuse(
            wish.device,
            "nothing of it is swap here, and no line names it",
            "`swaptune status` and /etc/fstab show what is",
        );
    }
    without_capacity(draft)
}

/// The areas on a device: on itself, or on its partitions.
fn find<'a>(draft: &Draft<'a>, spec: &str) -> Vec<FoundArea<'a>> {
    let facts = draft.facts();
    let Some(device) = facts.device_named(spec) else {
        let name = spec.strip_prefix("/dev/mapper/").unwrap_or(spec);
        let lines = crypttab::parse(facts.file(CRYPTTAB).unwrap_or_default());
        let line = lines.into_iter().find(|line| line.name == name || line.source == spec);
        return vec![FoundArea { below: None, mapping: None, line, area: None }];
    };
    let is_below = |other: &&BlockDevice| match &device.dm_name {
        Some(_) => device.lies_on.contains(&other.name),
        None => other.name == device.name || other.parent.as_deref() == Some(&device.name),
    };
    facts.block_devices.iter().filter(is_below).map(|below| on(draft, below)).collect()
}

fn on<'a>(draft: &Draft<'a>, below: &'a BlockDevice) -> FoundArea<'a> {
    let facts = draft.facts();
    let lines = crypttab::parse(facts.file(CRYPTTAB).unwrap_or_default());
    let line = lines.into_iter().find(|line| below.is_named(&line.source));
    let is_mapping = |other: &&BlockDevice| other.lies_on.contains(&below.name) && other.dm_crypt().is_some();
    let mapping = facts.block_devices.iter().find(is_mapping);
    let name = mapping.map_or(&below.name, |mapping| &mapping.name);
    let area = facts.swaps.iter().find(|area| area.kind == SwapKind::Partition && area.device.value() == Some(name));
    FoundArea { below: Some(below), mapping, line, area }
}

fn one(draft: &mut Draft<'_>, wish: &DeviceWish<'_>, found: &FoundArea<'_>) {
    let is_swap = found.area.is_some() || is_listed(draft, wish, found) || holds_swap(found);
    if !is_swap {
        return;
    }
    if let Some(at) = found.mapping.or(found.below).and_then(|device| device.mounted_at.as_ref()) {
        return draft.refuse(wish.device, format!("it is mounted at {at}"), "retire is for swap areas");
    }
    off(draft, found);
    let names = |spec: &str| is_named(found, wish, spec);
    let line = found.line.as_ref().map(|line| line.name.clone());
    let by_line = found.line.as_ref().and_then(|line| line.source.strip_prefix("PARTUUID="));
    let partuuid = found.below.and_then(|below| below.partuuid.as_deref()).or(by_line);
    lines::remove(draft, partuuid, &names, &|mapping| Some(&mapping.name) == line.as_ref());
    close(draft, found);
    destroy(draft, found);
    if let Some(below) = found.below {
        areas::uncorrect_disk(draft, &below.name, found.area);
    }
    notes(draft, wish, found);
}

/// True for every name of the area: of its partition, of its mapping, open or not.
fn is_named(found: &FoundArea<'_>, wish: &DeviceWish<'_>, spec: &str) -> bool {
    let by_line = found.line.as_ref().is_some_and(|line| spec == format!("/dev/mapper/{}", line.name));
    let by_device = [found.below, found.mapping].iter().flatten().any(|device| device.is_named(spec));
    by_line || by_device || found.below.is_none() && spec == wish.device
}

fn is_listed(draft: &Draft<'_>, wish: &DeviceWish<'_>, found: &FoundArea<'_>) -> bool {
    let entries = fstab::entries(draft.facts().file(FSTAB).unwrap_or_default());
    entries.iter().flatten().any(|entry| entry.is_swap() && is_named(found, wish, &entry.spec))
        || found.line.as_ref().is_some_and(|line| line.options.iter().any(|option| option == "swap"))
}

fn holds_swap(found: &FoundArea<'_>) -> bool {
    let device = found.mapping.or(found.below);
    device.is_some_and(|device| device.contents.value().is_some_and(|kind| kind == "swap"))
}

fn off(draft: &mut Draft<'_>, found: &FoundArea<'_>) {
    let Some((area, device)) = found.area.zip(found.mapping.or(found.below)) else { return };
    let before = Some(areas::active_state(draft.facts(), area));
    let why = Why::rule("its pages come back first; refused where they do not fit", "swapoff(2)");
    draft.step(When::Now, Change::Swap { path: device.node(), before, after: None }, why);
}

fn close(draft: &mut Draft<'_>, found: &FoundArea<'_>) {
    let (Some(mapping), Some(below)) = (found.mapping, found.below) else { return };
    let key = match (&found.line, mapping.dm_crypt()) {
        (Some(line), Some(Encryption::Luks { .. })) => MappingKey::File { path: line.key.clone() },
        (line, _) => MappingKey::Random { cipher: cipher(line.as_ref()), key_bits: bits(line.as_ref()) },
    };
    let label = mapping.label.clone().unwrap_or_default();
    let swap = SwapHeaderState { uuid: mapping.uuid.clone().unwrap_or_default(), label };
    let state = MappingState { source: below.node(), key, discard: false, swap };
    let name = mapping.dm_name.clone().unwrap_or_default();
    let why = Why::rule("its key leaves the kernel's memory", "cryptsetup-close(8)");
    draft.step(When::Now, Change::Mapping { name, before: Some(state), after: None }, why);
}

fn option<'a>(line: Option<&'a CryptMapping>, key: &str) -> Option<&'a str> {
    line?.options.iter().find_map(|option| option.strip_prefix(key)?.strip_prefix('='))
}

fn cipher(line: Option<&CryptMapping>) -> String {
    option(line, "cipher").unwrap_or("aes-xts-plain64").to_owned()
}

fn bits(line: Option<&CryptMapping>) -> u32 {
    option(line, "size").and_then(|bits| bits.parse().ok()).unwrap_or(512)
}

/// Whether a volume of LUKS is the area: its mapping holds swap, or a line of crypttab opens it with a key of its own. A line may name a partition that
/// has been given another use since, and fstab may know it by the kernel's name alone: what a random key would open is no such volume.
fn is_ours(found: &FoundArea<'_>) -> bool {
    let has_swap = found.mapping.is_some() && (found.area.is_some() || holds_swap(found));
    has_swap || found.mapping.is_none() && found.line.as_ref().is_some_and(|line| !line.random_key())
}

/// What makes the contents readable. Of a random key nothing is left once the mapping is closed.
fn destroy(draft: &mut Draft<'_>, found: &FoundArea<'_>) {
    let key = found.line.as_ref().map(|line| line.key.as_str()).filter(|key| key.starts_with(KEY_DIR));
    if let Some((below, kind)) = found.below.and_then(|below| Some((below, below.contents.value()?.as_str()))) {
        let uuid = below.uuid.clone().unwrap_or_default();
        let before = match kind {
            "crypto_LUKS" if !is_ours(found) => {
                let text = "its lines go, and what is on it stays: it is a volume of LUKS that no line opens as swap";
                return draft.note(below.node(), text, "contents of the device, and /etc/crypttab");
            }
            "crypto_LUKS" => Some(DeviceFormat::Luks {
                uuid,
                label: below.label.clone().unwrap_or_default(),
                cipher: cipher(found.line.as_ref()),
                key_bits: bits(found.line.as_ref()),
                key_file: key.unwrap_or_default().to_owned(),
            }),
            "swap" => Some(DeviceFormat::Swap { uuid }),
            _ => None,
        };
        let why = Why {
            risk: "this cannot be taken back",
            ..Why::rule(
                "what makes it readable is overwritten; blocks are given back where the device takes discards",
                "block/fops.c",
            )
        };
        if before.is_some() {
            draft.step(When::Now, Change::Format { path: below.node(), before, after: None, wipe: false }, why);
        }
    }
    if let Some(path) = key {
        let why =
            Why { risk: "this cannot be taken back", ..Why::rule("nothing is left that it opens", "overwritten, then deleted") };
        draft.step(When::Now, Change::KeyFile { path: path.to_owned(), before: true, after: false }, why);
    }
}

fn notes(draft: &mut Draft<'_>, wish: &DeviceWish<'_>, found: &FoundArea<'_>) {
    let Some(below) = found.below else {
        let text =
            "the device is not there: its lines go, what is on it stays as it is; an encrypted one is unreadable without its key";
        return draft.note(wish.device, text, "block devices in /sys/class/block");
    };
    let is_clear = found.mapping.is_none() && found.line.is_none();
    let stays = if is_clear {
        "what was swapped out in clear text is only gone where the device takes discards; flash may keep older copies in any case"
    } else {
        "what was swapped out stays on the device, encrypted, without a key"
    };
    draft.note(below.node(), format!("{stays}; its partition table stays"), "what a header is, and what is data");
}
