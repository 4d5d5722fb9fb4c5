//! Disk areas behind the tier: those that are on, and a swap file where they have too few slots.

use crate::edit::fstab;
use crate::facts::{BlockDevice, Encryption, Facts, Mount, SwapArea, SwapKind};
use crate::measurement::{AreaSpread, Estimate, Evidence, MeasuredAnswer};
use crate::settings::{Settings, SwapWanted};
use crate::units::Bytes;

use super::assume::ASSUMED;
use super::{DISK_PRIORITY, priorities, unfit};

/// One disk area behind the tier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskArea {
    /// Device or file: of an area that is on as `/proc/swaps` has it.
    pub path: String,
    /// What it is recorded as.
    pub name: String,
    /// Size that it has or shall have.
    pub size: Bytes,
    /// True for a file that is made when it is not there.
    pub create: bool,
    /// Its priority.
    pub priority: i32,
    /// True for one that may be missing: such areas are kept as they were prepared.
    pub optional: bool,
}

/// The user's areas, else the areas that are on with a file beside them where they are too small, else those in fstab, else a file to be
/// made on the root disk.
pub(super) fn areas(facts: &Facts, evidence: &Evidence, above: &Settings) -> Vec<DiskArea> {
    if let Some(wanted) = &above.swap {
        let area = |area: &SwapWanted| {
            // What is not there counts too: a typing error must not turn the design into another one, the plan refuses it by name.
            let size = Bytes(size_of(facts, area).unwrap_or(0));
            let (path, name) = (area.path.clone(), area.path.clone());
            DiskArea { path, name, size, create: area.size.is_some(), priority: area.priority, optional: false }
        };
        return wanted.value.iter().map(area).collect();
    }
    if facts.image.is_some() {
        return listed_areas(facts);
    }
    let on = active_areas(facts);
    // Where zram is the only swap, that was chosen; a disk area beside it would only invert the tiers. What zswap takes the place of is
    // decided later (`tiering::decide`), but where zswap was asked for.
    if facts.swaps.iter().any(SwapArea::is_zram) && !above.wants_zswap() {
        return on;
    }
    if !on.is_empty() {
        return with_enough(facts, on);
    }
    swap_file(facts).map_or_else(Vec::new, |file| divide(facts, evidence, file))
}

/// Areas that are on, and a swap file beside them where they have too few slots ([`demand`]). Not on a disk that spins, whose heads would
/// go back and forth, and which is slower than any other; and not where it would be less encrypted than they are ([`too_plain`]).
pub(super) fn with_enough(facts: &Facts, mut on: Vec<DiskArea>) -> Vec<DiskArea> {
    let spins = root_disk(facts).is_some_and(BlockDevice::spins);
    let Some(file) = swap_file(facts).filter(|file| !spins && on.iter().all(|area| area.path != file.path)) else { return on };
    let priority = priorities::quicker_than(facts, &on);
    let missing = demand(facts).0.saturating_sub(on.iter().map(|area| area.size.0).sum());
    let size = in_steps(Bytes(missing).min(file.size));
    if size >= ASSUMED.swap_file.min && too_plain(facts).is_none() {
        on.push(DiskArea { size, priority, ..file });
    }
    on
}

/// Why a file on / would be less encrypted than the areas that are on: who encrypts these does not want plain pages on a disk. zram is on
/// none.
pub(super) fn too_plain(facts: &Facts) -> Option<String> {
    let is_encrypted = root(facts).and_then(|root| root.device.value()).is_some_and(|device| facts.encrypts(device));
    let on = || facts.swaps.iter().filter(|area| !area.is_zram() && !is_encrypted);
    if on().any(|area| area.encryption.value().is_some_and(|how| *how != Encryption::None)) {
        return Some("none that is plain is put beside an encrypted one".to_owned());
    }
    let unknown = on().find(|area| !area.encryption.is_known())?;
    Some(format!("none is made: whether {} is encrypted, and a plain one not wanted, is unknown", unknown.path))
}

/// Slots for what is in the pool, and for what neither pool nor RAM hold.
pub(super) fn demand(facts: &Facts) -> Bytes {
    let figures = &ASSUMED.swap_file;
    Bytes(facts.memory.shared().0.saturating_mul(figures.slots_percent) / 100).min(figures.max)
}

/// Whole 256 MiB, so that a size reads well.
pub(super) fn in_steps(size: Bytes) -> Bytes {
    Bytes::from_mib(size.mib() / 256 * 256)
}

/// The areas that an image will switch on by itself. How large they are only their machine knows.
fn listed_areas(facts: &Facts) -> Vec<DiskArea> {
    let specs = fstab::swap_specs(facts.file("/etc/fstab").unwrap_or_default());
    specs
        .filter(|spec| !spec.starts_with("/dev/zram"))
        .map(|path| DiskArea {
            name: path.clone(),
            path,
            size: Bytes(0),
            create: false,
            priority: DISK_PRIORITY,
            optional: false,
        })
        .collect()
}

/// One file, or as many as were measured to be clearly faster on its disk.
fn divide(facts: &Facts, evidence: &Evidence, file: DiskArea) -> Vec<DiskArea> {
    let disk = disk_of(facts, std::slice::from_ref(&file));
    let several = evidence.spread(disk.map(|disk| disk.name.as_str())).filter(|known| pays(known.value.gain));
    let Some(count) = several.map(|known| u64::from(known.value.areas)).filter(|count| *count > 1) else { return vec![file] };
    let size = Bytes::from_mib(file.size.mib() / count);
    let path = |number| if number == 0 { file.path.clone() } else { format!("{}{number}", file.path) };
    (0..count).map(|number| DiskArea { path: path(number), name: path(number), size, ..file.clone() }).collect()
}

/// A gain that is certain, and more than a shared machine scatters.
fn pays(gain: Estimate) -> bool {
    gain.low > 1.0 && gain.value >= 1.0 + ASSUMED.measured.gain_percent as f64 / 100.0
}

/// What measurements say about the number of areas that are made, as a sentence.
pub(super) fn spread(facts: &Facts, evidence: &Evidence, areas: &[DiskArea]) -> Option<MeasuredAnswer<String>> {
    let disk = disk_of(facts, areas)?;
    let known = evidence.spread(Some(&disk.name)).filter(|_| areas.iter().all(|area| area.create))?;
    let AreaSpread { areas: count, gain } = known.value;
    let verdict = if pays(gain) { "so there are several" } else { "so one is enough" };
    let value = format!(
        "{count} areas on {} did {:.2} times the operations of one ({:.2} to {:.2}): {verdict}",
        disk.name, gain.value, gain.low, gain.high
    );
    Some(MeasuredAnswer { value, source: known.source })
}

/// The disk areas that are on.
pub(super) fn active_areas(facts: &Facts) -> Vec<DiskArea> {
    let on: Vec<(&SwapArea, bool)> =
        facts.swaps.iter().filter(|area| !area.is_zram()).map(|area| (area, listed_as_optional(facts, area))).collect();
    let area = |((area, optional), priority): (&(&SwapArea, bool), i32)| {
        let (path, name, create) = (area.path.clone(), lasting_name(facts, area), area.kind == SwapKind::File);
        DiskArea { path, name, size: whole_size(facts, area), create, priority, optional: *optional }
    };
    let mut areas: Vec<DiskArea> = on.iter().zip(priorities::of(facts, &on)).map(area).collect();
    // A boot switches them on side by side, so that /proc/swaps has them in any order.
    areas.sort_by(|a, b| (a.create, &a.name).cmp(&(b.create, &b.name)));
    areas
}

/// True when its line in fstab lets a boot go on without it after a short wait.
fn listed_as_optional(facts: &Facts, area: &SwapArea) -> bool {
    let device = area.device.value().and_then(|name| facts.block_device(name)).filter(|_| area.kind == SwapKind::Partition);
    let is_it = |entry: &fstab::FstabEntry| entry.spec == area.path || device.is_some_and(|device| device.is_named(&entry.spec));
    let entries = fstab::entries(facts.file("/etc/fstab").unwrap_or_default());
    entries.iter().flatten().any(|entry| entry.is_swap() && entry.is_optional() && is_it(entry))
}

/// A name that still means the same area when disks come and go, or come in another order: its mapping, its partition, or its header.
/// One that two devices have, as a disk and its copy do, is none.
fn lasting_name(facts: &Facts, area: &SwapArea) -> String {
    let device = area.device.value().and_then(|name| facts.block_device(name)).filter(|_| area.kind == SwapKind::Partition);
    let Some(device) = device else { return area.path.clone() };
    if device.dm_name.is_some() {
        return device.node();
    }
    let tags = [("PARTUUID", &device.partuuid), ("UUID", &device.uuid)];
    let mut names = tags.into_iter().filter_map(|(tag, value)| Some(format!("{tag}={}", value.as_ref()?)));
    let is_its_own = |name: &String| {
        let mut named = facts.block_devices.iter().filter(|other| other.is_named(name));
        named.next().is_some_and(|first| first.name == device.name) && named.next().is_none()
    };
    names.find(is_its_own).unwrap_or_else(|| device.node())
}

/// Size of the device or file: the kernel shows it without the header page, and a plan must not see it shrink.
fn whole_size(facts: &Facts, area: &SwapArea) -> Bytes {
    let device = area.device.value().filter(|_| area.kind == SwapKind::Partition).and_then(|name| facts.block_device(name));
    device.map_or_else(|| Bytes::from_mib(area.size.0.div_ceil(1 << 20)), |device| device.size)
}

/// Bytes of a wanted area: as written, or that of the device or active area.
pub(super) fn size_of(facts: &Facts, area: &SwapWanted) -> Option<u64> {
    let active = || facts.swaps.iter().find(|on| on.path == area.path).map(|on| whole_size(facts, on));
    let device = || facts.device_named(&area.path).map(|device| device.size);
    area.size.or_else(device).or_else(active).map(|size| size.0)
}

/// A swap file on the root file system, where that can hold one.
fn swap_file(facts: &Facts) -> Option<DiskArea> {
    let figures = &ASSUMED.swap_file;
    let root = root(facts)?;
    if root_disk(facts).is_some_and(|disk| unfit::disk(disk).is_some()) || unfit::root(facts, root).is_some() {
        return None;
    }
    let (path, size) = (figures.path.clone(), swap_file_size(facts, root));
    Some(DiskArea { name: path.clone(), path, size, create: true, priority: DISK_PRIORITY, optional: false })
}

/// The file system that a swap file is made on.
pub(super) fn root(facts: &Facts) -> Option<&Mount> {
    facts.mounts.iter().find(|mount| mount.at == "/")
}

/// The whole disk below it.
pub(super) fn root_disk(facts: &Facts) -> Option<&BlockDevice> {
    facts.disk_of(root(facts)?.device.value()?)
}

/// What a swap file on this file system would get: enough slots ([`demand`]).
pub(super) fn swap_file_size(facts: &Facts, root: &Mount) -> Bytes {
    let figures = &ASSUMED.swap_file;
    let free = root.free.value().copied().unwrap_or_default().percent(figures.free_percent);
    in_steps(demand(facts).max(figures.min).min(free))
}

/// The whole disk behind the area that is filled first; of equal ones that which is named first.
pub(super) fn disk_of<'a>(facts: &'a Facts, areas: &[DiskArea]) -> Option<&'a BlockDevice> {
    disk_below(facts, areas.iter().rev().max_by_key(|area| area.priority)?)
}

/// The whole disk behind an area; what is not there yet will lie on that of /.
pub(super) fn disk_below<'a>(facts: &'a Facts, area: &DiskArea) -> Option<&'a BlockDevice> {
    let active = facts.swaps.iter().find(|on| on.path == area.path).and_then(|on| on.device.value());
    let device = active.or_else(|| facts.device_named(&area.path).map(|device| &device.name));
    device.map_or_else(|| root_disk(facts), |name| facts.disk_of(name))
}
