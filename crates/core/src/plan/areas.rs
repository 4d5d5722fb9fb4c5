//! Disk areas: what is switched on now, in which order, and which lines of fstab make it last.

use std::collections::BTreeMap;

use super::When;
use super::draft::{Draft, Why, uuid};
use super::owned::{UDEV_FILE, udev_rules};
use super::sizes;
use swaptune_kernel::behaviours;

use crate::change::{Change, SwapFileState, SwapHeaderState, SwapState};
use crate::edit::fstab::{self, FstabSwapLine};
use crate::facts::{BlockDevice, Encryption, Facts, Holds, Mount, SwapArea, SwapKind, SwapPlace, Transport};
use crate::settings::{EncryptRule, SwapWanted};
use crate::units::Bytes;

const FSTAB: &str = "/etc/fstab";

/// What stands behind a wanted area on this machine.
enum AreaBacking<'a> {
    Device(&'a BlockDevice),
    File(&'a str),
    Missing,
}

/// One wanted area and what is known of it.
struct WantedArea<'a> {
    wanted: &'a SwapWanted,
    place: AreaBacking<'a>,
    active: Option<&'a SwapArea>,
    /// What is there already, where it is not on.
    there: Option<&'a SwapPlace>,
    /// UUID of its header: the one it has or the one it gets.
    uuid: Option<String>,
}

impl WantedArea<'_> {
    /// The path that system calls take.
    fn path(&self) -> String {
        match (&self.active, &self.place) {
            (Some(active), _) => active.path.clone(),
            (None, AreaBacking::Device(device)) => device.node(),
            _ => self.wanted.path.clone(),
        }
    }

    fn wanted_state(&self) -> SwapState {
        SwapState { discard_once: self.wanted.discard_once, ..SwapState::at(self.wanted.priority) }
    }
}

fn locate<'a>(facts: &'a Facts, wanted: &'a SwapWanted) -> WantedArea<'a> {
    let device = facts.device_named(&wanted.path);
    let same = |on: &&SwapArea| {
        on.path == wanted.path
            || device.is_some_and(|device| on.kind == SwapKind::Partition && on.device.value() == Some(&device.name))
    };
    let active = facts.swaps.iter().find(same);
    let place = match device {
        Some(device) => AreaBacking::Device(device),
        None if active.is_some_and(|on| on.kind == SwapKind::File) => AreaBacking::File(&wanted.path),
        None if wanted.path.starts_with('/') && !wanted.path.starts_with("/dev/") => AreaBacking::File(&wanted.path),
        None => AreaBacking::Missing,
    };
    let signature = facts.swap_signatures.iter().find(|signature| signature.path == wanted.path);
    let there = facts.swap_places.iter().find(|place| place.path == wanted.path);
    let uuid = active
        .and_then(|on| on.uuid.value().cloned())
        .or_else(|| there.and_then(swap_uuid))
        .or_else(|| {
            device.filter(|device| device.contents.value().is_some_and(|c| c == "swap")).and_then(|device| device.uuid.clone())
        })
        .or_else(|| signature.and_then(|signature| signature.uuid.clone()));
    WantedArea { wanted, place, active, there, uuid }
}

/// UUID of the swap header that was found at a place.
fn swap_uuid(place: &SwapPlace) -> Option<String> {
    match place.holds.value()? {
        Holds::Swap { uuid, .. } => Some(uuid.clone()),
        _ => None,
    }
}

/// All disk areas of the settings.
pub(super) fn plan(draft: &mut Draft<'_>) {
    let settings = draft.settings();
    let mut lines = Vec::new();
    let mut disks = SpinningDisks::default();
    let mut cycles = Vec::new();
    let mut named = BTreeMap::new();
    for wanted in settings.swap.iter().flat_map(|list| &list.value) {
        let mut area = locate(draft.facts(), wanted);
        if named_twice(draft, &area, &mut named) || !is_encrypted_as_wanted(draft, &area) {
            continue;
        }
        if let Some(active) = area.active {
            cycles.extend(cycle(draft, &area, active, &mut disks));
        } else if draft.facts().image.is_some() {
            if !listed_area(draft, &area) {
                continue;
            }
        } else if !fresh_area(draft, &mut area, &mut disks) {
            continue;
        }
        lines.push((fstab_line(&area), area));
    }
    off_and_on(draft, &cycles, &mut disks);
    if !lines.is_empty() && draft.request.boot {
        fstab_lines(draft, &lines);
    }
    if !disks.pretenders.is_empty() {
        // A disk that was corrected before does not pretend any more, and needs its rule at the next boot all the same.
        udev(draft, &[ruled(draft.facts()), disks.pretenders].concat());
    }
}

/// Two names of one device would be two areas that undo each other.
fn named_twice<'a>(draft: &mut Draft<'_>, area: &WantedArea<'a>, named: &mut BTreeMap<&'a str, &'a str>) -> bool {
    let AreaBacking::Device(device) = &area.place else { return false };
    let Some(first) = named.insert(&device.name, &area.wanted.path) else { return false };
    let why = format!("it is {}, which {first} names already", device.node());
    draft.refuse(&area.wanted.path, why, "take one of the two [[swap]] sections out");
    true
}

/// Whether the area is encrypted as its section says; a plan prepares no device, it refuses one that is not prepared.
fn is_encrypted_as_wanted(draft: &mut Draft<'_>, area: &WantedArea<'_>) -> bool {
    let Some(rule) = area.wanted.encrypt else { return true };
    let found = match &area.place {
        AreaBacking::Missing => return true,
        AreaBacking::File(_) => EncryptRule::None,
        AreaBacking::Device(device) => match device.dm_crypt() {
            Some(Encryption::Luks { .. }) => EncryptRule::Luks,
            Some(Encryption::Plain) => EncryptRule::Random,
            _ => EncryptRule::None,
        },
    };
    if found == rule {
        return true;
    }
    let why = format!("encrypt = \"{}\" is wanted, and what is there is \"{}\"", rule.name(), found.name());
    let hint =
        format!("name the mapping below /dev/mapper, or make one: swaptune device prepare --encrypt {} DEVICE", rule.name());
    draft.refuse(area.path(), why, hint);
    false
}

/// Disks that only say that they spin, and those of them that are corrected already.
#[derive(Default)]
struct SpinningDisks {
    pretenders: Vec<String>,
    corrected: Vec<String>,
}

impl SpinningDisks {
    fn correct(&mut self, draft: &mut Draft<'_>, disk: &str) {
        if !self.corrected.iter().any(|name| name == disk) {
            self.corrected.push(disk.to_owned());
            rotational(draft, disk);
        }
    }
}

/// An active area that has to go off and on again.
struct Cycle {
    path: String,
    before: SwapState,
    after: SwapState,
    disk: Option<String>,
}

/// What an area that is on needs: another priority, or the disk below it corrected.
fn cycle(draft: &mut Draft<'_>, area: &WantedArea<'_>, active: &SwapArea, disks: &mut SpinningDisks) -> Option<Cycle> {
    let disk = pretender(draft, area);
    disks.pretenders.extend(disk.clone());
    let before = active_state(draft.facts(), active);
    // What is discarded is not shown, so a wish for it is no reason to switch it off and on.
    let discard_once = before.discard_once || area.wanted.discard_once;
    let after = SwapState { priority: area.wanted.priority, discard_once, ..before };
    let moves = before.priority != after.priority;
    if !moves && disk.is_none() {
        return None;
    }
    let path = active.path.clone();
    if active.used > Bytes(0) {
        let priority = moves.then(|| format!("its priority is {} and not {}", before.priority, after.priority));
        let kind = disk.map(|disk| format!("its disk {disk} counts as one that spins"));
        let what: Vec<String> = priority.into_iter().chain(kind).collect();
        let text = format!("it holds {}, which is not moved now, so until the next boot {}", active.used, what.join(" and "));
        draft.pending(path, text, "/proc/swaps");
        return None;
    }
    Some(Cycle { path, before, after, disk })
}

/// How an area is on: with its priority, and what the line of fstab that brought it has discarded, which the kernel does not show.
#[must_use]
pub fn active_state(facts: &Facts, area: &SwapArea) -> SwapState {
    let device = area.device.value().filter(|_| area.kind == SwapKind::Partition).and_then(|name| facts.block_device(name));
    let is_it = |spec: &str| spec == area.path || device.is_some_and(|device| device.is_named(spec));
    let lines = fstab::entries(facts.file(FSTAB).unwrap_or_default());
    let line = lines.into_iter().flatten().find(|entry| entry.is_swap() && is_it(&entry.spec));
    let discard = line.as_ref().and_then(|line| line.option("discard"));
    SwapState {
        discard_once: matches!(discard, Some("" | "once")),
        discard_pages: matches!(discard, Some("" | "pages")),
        ..SwapState::at(area.priority)
    }
}

/// All of them off, then the disks corrected, then all on: areas of one disk share its flag.
fn off_and_on(draft: &mut Draft<'_>, cycles: &[Cycle], disks: &mut SpinningDisks) {
    let why = || Why {
        risk: "for a moment this area takes no pages",
        ..Why::rule(
            "swapoff, then swapon: priority and disk kind take effect at swapon only",
            "swapon(2); default priorities differ: -2, -3, … up to 6.18, -1 for all from 6.19",
        )
    };
    let swap = |cycle: &Cycle, before, after| Change::Swap { path: cycle.path.clone(), before, after };
    // The last one goes off first: a rollback undoes from the end, and so brings them back in their order.
    for cycle in cycles.iter().rev().filter(|cycle| cycle.disk.is_some()) {
        draft.step(When::Now, swap(cycle, Some(cycle.before), None), why());
    }
    for disk in cycles.iter().filter_map(|cycle| cycle.disk.as_ref()) {
        disks.correct(draft, disk);
    }
    for cycle in cycles {
        let before = cycle.disk.is_none().then_some(cycle.before);
        draft.step(When::Now, swap(cycle, before, Some(cycle.after)), why());
    }
}

/// In an image only a line of its fstab says that there will be such an area, with a header: no device of it is seen from here.
fn listed_area(draft: &mut Draft<'_>, area: &WantedArea<'_>) -> bool {
    let listed = fstab::swap_specs(draft.facts().file(FSTAB).unwrap_or_default()).any(|spec| spec == area.wanted.path);
    if !listed {
        let path = area.path();
        let text = format!(
            "{path} cannot be seen from here, and /etc/fstab of the image has no line for it: apply once on the machine itself to use it"
        );
        draft.note(path, text, "an image has no devices");
    }
    listed
}

/// The live steps for an area that is off; false when it is skipped or refused.
fn fresh_area<'a>(draft: &mut Draft<'a>, area: &mut WantedArea<'a>, disks: &mut SpinningDisks) -> bool {
    let path = area.path();
    let fresh = area.uuid.is_none() && !matches!(area.place, AreaBacking::Missing);
    if fresh && !draft.request.now {
        let text = format!("{path} has no swap header yet: apply it live once (without --boot) to make one");
        draft.note(path, text, "mkswap(8)");
        return false;
    }
    match &area.place {
        AreaBacking::Missing => {
            let text = format!("{path} is not there: skipped, the other areas come up without it");
            if area.wanted.may_be_missing() {
                draft.note(path, text, "block devices in /sys/class/block");
            } else {
                let why = "no device of this name is there, and its [[swap]] does not say optional = true";
                draft.refuse(path, why, "`lsblk` shows what is there; attach it, or write optional = true under its [[swap]]");
            }
            return false;
        }
        AreaBacking::Device(device) if !sizes::fits_device(draft, area.wanted, device, &path) => return false,
        AreaBacking::Device(device) if !prepare_device(draft, device, &path, area.there, &mut area.uuid) => return false,
        AreaBacking::File(file) if !prepare_file(draft, area.wanted, file, area.there, &mut area.uuid) => return false,
        _ => {}
    }
    if let Some(disk) = pretender(draft, area) {
        disks.correct(draft, &disk);
        disks.pretenders.push(disk);
    }
    let why =
        Why::rule("swap area of the configuration", "swapon(2); the priority is explicit because defaults differ by kernel");
    draft.step(When::Now, Change::Swap { path, before: None, after: Some(area.wanted_state()) }, why);
    true
}

/// A device gets a swap header unless it has one; what carries anything else is refused, and so is what has no name.
fn prepare_device(
    draft: &mut Draft<'_>,
    device: &BlockDevice,
    path: &str,
    there: Option<&SwapPlace>,
    id: &mut Option<String>,
) -> bool {
    let wipe = draft.request.wipe.iter().any(|named| named == path || device.is_named(named));
    if let Some(at) = &device.mounted_at {
        draft.refuse(path, format!("it is mounted at {at}"), "unmount it first, or name another device");
        return false;
    }
    let held = there.and_then(|place| place.holds.value());
    let kind = match held {
        Some(Holds::Swap { .. }) => Some("swap"),
        Some(Holds::Other { kind }) => Some(kind.as_str()),
        Some(Holds::Unknown) => Some("data without a known signature"),
        Some(Holds::Blank) | None => device.contents.value().map(String::as_str),
    };
    match kind {
        Some("swap") => return true,
        Some(contents) if !wipe => {
            let hint = format!("if you want to lose it: swaptune apply --wipe {path}");
            draft.refuse(path, format!("it carries {contents}, and a swap header would destroy that"), hint);
            return false;
        }
        _ => {}
    }
    if draft.facts().block_devices.iter().any(|other| other.parent.as_deref() == Some(&device.name)) && !wipe {
        draft.refuse(path, "it has a partition table", "name one of its partitions");
        return false;
    }
    outlives_reboot(draft, path, "swap header");
    header(draft, path, id, wipe);
    true
}

/// Says what of a plan for this boot alone a reboot does not undo: what is on a disk.
fn outlives_reboot(draft: &mut Draft<'_>, path: &str, what: &str) {
    if !draft.request.boot {
        let text = format!("a reboot switches it off, and the {what} stays until `swaptune rollback`");
        draft.note(path, text, "live settings go with a reboot, files do not");
    }
}

fn header(draft: &mut Draft<'_>, path: &str, id: &mut Option<String>, wipe: bool) {
    let new = uuid(draft.request.seed, path);
    let state = SwapHeaderState { uuid: new.clone(), label: String::new() };
    *id = Some(new);
    let mut why = Why::rule(
        "it has no swap header yet",
        "signatures are probed again right before the write, and the bytes below are kept",
    );
    if wipe {
        why.risk = "what the device carries now is lost to its file system; the overwritten page is kept for rollback";
    }
    draft.step(When::Now, Change::SwapHeader { path: path.into(), before: None, after: Some(state), wipe }, why);
}

/// A swap file: made when there is none, taken as it is when it is one, and never written over otherwise, whatever its size
/// and contents: only a file that this transaction made, or that the user named with `--wipe`, is ours to overwrite.
fn prepare_file(
    draft: &mut Draft<'_>,
    wanted: &SwapWanted,
    path: &str,
    there: Option<&SwapPlace>,
    id: &mut Option<String>,
) -> bool {
    let Some(place) = there else { return id.is_some() || make_file(draft, wanted, path, Bytes(0), id) };
    let is_swap = matches!(place.holds.value(), Some(Holds::Swap { .. }));
    // A size that a rule derived is for a file that is not there yet.
    let is_derived = draft.settings().swap.as_ref().is_some_and(|list| list.provenance.reasoning().is_some());
    if is_swap && (is_derived || wanted.size.is_none_or(|size| size == place.size)) {
        return true;
    }
    if draft.request.wipe.iter().any(|named| named == path) {
        return replace_file(draft, wanted, path, place, id);
    }
    let size = wanted.size.unwrap_or(place.size);
    let wipe = format!("swaptune apply --wipe {path}");
    let (why, hint) = match &place.holds {
        crate::Fact::Absent { absent } => {
            (format!("a file of {} is there, and what it holds is unknown: {absent}", place.size), "run it as root".into())
        }
        _ if is_swap => (
            format!("it is a swap file of {}, and {size} are wanted", place.size),
            format!("to make it anew: {wipe}; to take it as it is, leave size out under its [[swap]]"),
        ),
        _ => (
            format!("a file of {} is there; it is not a swap file, and swaptune did not make it", place.size),
            format!("choose another path, or if you want to lose it: {wipe}"),
        ),
    };
    draft.refuse(path, why, hint);
    false
}

/// A file that the user gave up: deleted, and a swap file made in its place.
fn replace_file(draft: &mut Draft<'_>, wanted: &SwapWanted, path: &str, place: &SwapPlace, id: &mut Option<String>) -> bool {
    let wanted = SwapWanted { size: wanted.size.or(Some(place.size)), ..wanted.clone() };
    let why = Why {
        risk: "what the file holds is lost: a rollback brings back a swap file, but no other contents",
        ..Why::rule("named with --wipe", "the file that is there now is deleted, and a swap file is made in its place")
    };
    let before = Some(SwapFileState { size: place.size, nocow: false });
    draft.step(When::Now, Change::SwapFile { path: path.into(), before, after: None }, why);
    make_file(draft, &wanted, path, place.size, id)
}

/// A swap file that does not exist yet; `freed` is what another step gives back to its file system before.
fn make_file(draft: &mut Draft<'_>, wanted: &SwapWanted, path: &str, freed: Bytes, id: &mut Option<String>) -> bool {
    let Some(size) = wanted.size else {
        draft.refuse(path, "the file does not exist and no size is given", "write size = \"4G\" under its [[swap]]");
        return false;
    };
    let Some(mount) = mount_of(draft.facts(), path) else {
        draft.refuse(path, "no mounted file system is known for it", "name a path on ext4, xfs or btrfs");
        return false;
    };
    if !matches!(mount.filesystem.as_str(), "ext4" | "ext3" | "xfs" | "btrfs") {
        let why = format!("{} cannot hold a swap file here", mount.filesystem);
        draft.refuse(path, why, "use a partition, or a path on ext4, xfs or btrfs");
        return false;
    }
    if !sizes::fits_mount(draft, mount, size, freed, path) {
        return false;
    }
    let state = SwapFileState { size, nocow: mount.filesystem == "btrfs" };
    let why = Why::rule(
        format!("a swap file on {} ({})", mount.at, mount.filesystem),
        "swapon(8): no holes; on btrfs no copy-on-write",
    );
    outlives_reboot(draft, path, "file");
    draft.step(When::Now, Change::SwapFile { path: path.into(), before: None, after: Some(state) }, why);
    header(draft, path, id, false);
    true
}

/// The file system that holds a path: the longest mount point that is a prefix of it.
pub(super) fn mount_of<'a>(facts: &'a Facts, path: &str) -> Option<&'a Mount> {
    let holds = |mount: &&Mount| mount.at == "/" || path.strip_prefix(&mount.at).is_some_and(|rest| rest.starts_with('/'));
    facts.mounts.iter().filter(holds).max_by_key(|mount| mount.at.len())
}

/// The disk to correct below an area, unless that would send huge pages past zswap, or only what was configured is wanted.
fn pretender(draft: &mut Draft<'_>, area: &WantedArea<'_>) -> Option<String> {
    if draft.settings().derives_nothing() {
        return None;
    }
    let disk = pretends_to_spin(draft.facts(), area)?;
    let huge = "transparent_hugepage.enabled";
    let wanted = draft.settings().knobs.get(huge).map(|setting| setting.value.as_str());
    let always = wanted.or_else(|| draft.facts().knob(huge)) == Some("always");
    let old = draft.facts().kernel.does(&behaviours::LARGE_FOLIOS_PAST_ZSWAP) == Some(true);
    if always && old && draft.settings().wants_zswap() {
        let text = "left rotational: with huge pages always on, a non-rotational swap device gets them as a whole, past zswap";
        draft.note(disk, text, "mm/zswap.c: large folios are refused up to 6.12; a rotational device splits them");
        return None;
    }
    Some(disk)
}

/// The disk of an area, when it says that it spins although a hypervisor stands behind it.
fn pretends_to_spin(facts: &Facts, area: &WantedArea<'_>) -> Option<String> {
    let name = match (&area.place, area.active) {
        (AreaBacking::Device(device), _) => device.name.clone(),
        (_, Some(active)) => active.device.value()?.clone(),
        (AreaBacking::File(path), None) => mount_of(facts, path)?.device.value()?.clone(),
        (AreaBacking::Missing, None) => return None,
    };
    let disk = facts.disk_of(&name)?;
    (disk.transport == Transport::Virtual && disk.rotational.value() == Some(&true)).then(|| disk.name.clone())
}

const ROTATIONAL: &str = "a virtual disk that reports rotational=1 gets the allocator and read-ahead of spinning disks";

fn rotational(draft: &mut Draft<'_>, disk: &str) {
    let change = spinning(disk, "1", "0");
    let why = Why {
        risk: "if the hypervisor keeps this disk on spinning ones, seeks cost more than the kernel assumes",
        ..Why::rule(ROTATIONAL, "mm/swapfile.c: decided at swapon by the queue's rotational flag")
    };
    draft.step(When::Now, change, why);
}

fn spinning(disk: &str, before: &str, after: &str) -> Change {
    let path = format!("/sys/class/block/{disk}/queue/rotational");
    let (before, after) = (before.into(), after.into());
    Change::Knob { name: "block.rotational".into(), path, before, after, fallbacks: Vec::new() }
}

fn udev(draft: &mut Draft<'_>, disks: &[String]) {
    let mut disks = disks.to_vec();
    disks.sort();
    disks.dedup();
    let text = (!disks.is_empty()).then(|| udev_rules(&disks));
    draft.file(UDEV_FILE, text, 0o644, Why::rule(ROTATIONAL, "mm/swapfile.c"));
}

/// The disks that our rule names already.
fn ruled(facts: &Facts) -> Vec<String> {
    let names = facts.file(UDEV_FILE).unwrap_or_default().lines().filter_map(|line| line.split("KERNEL==\"").nth(1));
    names.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())).collect()
}

/// Corrects the disk of a device that gets an area, when it only says that it spins. Before it gets a mapping, which takes that over.
pub(super) fn correct_disk(draft: &mut Draft<'_>, device: &str) {
    let Some(disk) = draft.facts().disk_of(device) else { return };
    if disk.transport == Transport::Virtual && disk.rotational.value() == Some(&true) {
        rotational(draft, &disk.name);
        udev(draft, &[ruled(draft.facts()), vec![disk.name.clone()]].concat());
    }
}

/// Takes that back, when our rule names the disk and no other area lies on it.
pub(super) fn uncorrect_disk(draft: &mut Draft<'_>, device: &str, area: Option<&SwapArea>) {
    let facts = draft.facts();
    let Some(disk) = facts.disk_of(device) else { return };
    let ruled = ruled(facts);
    let is_on_it = |other: &&SwapArea| {
        other.device.value().and_then(|name| facts.disk_of(name)).is_some_and(|other| other.name == disk.name)
    };
    let others = facts.swaps.iter().filter(|other| area.is_none_or(|area| area.path != other.path)).any(|other| is_on_it(&other));
    if others || !ruled.contains(&disk.name) {
        return;
    }
    if disk.rotational.value() == Some(&false) {
        let why = Why::rule("it is what the disk said before", "mm/swapfile.c");
        draft.step(When::Now, spinning(&disk.name, "0", "1"), why);
    }
    udev(draft, &ruled.into_iter().filter(|name| *name != disk.name).collect::<Vec<_>>());
}

fn fstab_line(area: &WantedArea<'_>) -> FstabSwapLine {
    let spec = match (&area.place, &area.uuid) {
        // A key made at each boot gives another UUID at each boot; the name of the mapping lasts.
        (AreaBacking::Device(device), _) if device.dm_crypt().is_some() => device.node(),
        (AreaBacking::Device(_), Some(uuid)) => format!("UUID={uuid}"),
        _ => area.path(),
    };
    FstabSwapLine { spec, options: options(area.wanted) }
}

/// Options of a line in fstab.
pub(super) fn options(wanted: &SwapWanted) -> String {
    let mut options = format!("sw,pri={}", wanted.priority);
    if wanted.boots_without() {
        options.push_str(",nofail");
    }
    if wanted.discard_once {
        options.push_str(",discard=once");
    }
    options
}

/// What a line says beyond our options and stays: when the area is discarded, whether a boot switches it on, that its device needs the
/// network first, and what only systemd reads.
fn kept_options(options: &str, ours: &str) -> String {
    let stays =
        |option: &&str| matches!(*option, "noauto" | "_netdev") || option.starts_with("x-") || option.starts_with("discard");
    let has = |option: &&str| ours.split(',').any(|own| own.split('=').next() == option.split('=').next());
    options.split(',').filter(|option| stays(option) && !has(option)).map(|option| format!(",{option}")).collect()
}

/// One line an area; older lines of the same area go.
fn fstab_lines(draft: &mut Draft<'_>, lines: &[(FstabSwapLine, WantedArea<'_>)]) {
    let before = draft.facts().file(FSTAB).unwrap_or_default().to_owned();
    if let Some(broken) = fstab::entries(&before).into_iter().find_map(Result::err) {
        let why = format!("line {} is broken: {}", broken.line, broken.text.trim());
        return draft.refuse(FSTAB, why, "mend the line (findmnt --verify shows all), then plan again");
    }
    let (mut text, mut by_hand) = (before.clone(), Vec::new());
    for (line, area) in lines {
        let device = match &area.place {
            AreaBacking::Device(device) => Some(*device),
            _ => None,
        };
        let path = area.path();
        let same = |entry: &fstab::FstabEntry| {
            entry.is_swap()
                && (entry.spec == path || entry.spec == line.spec || device.is_some_and(|device| device.is_named(&entry.spec)))
        };
        let old = fstab::entries(&text).into_iter().flatten().find(same).map(|entry| entry.options).unwrap_or_default();
        let options = line.options.clone() + &kept_options(&old, &line.options);
        by_hand.extend(options.split(',').any(|option| option == "noauto").then_some(line.spec.as_str()));
        text = fstab::set_swap(&text, &FstabSwapLine { spec: line.spec.clone(), options }, same);
    }
    if text != before {
        let missing = if draft.facts().system.has_systemd() { ", after systemd has waited for it" } else { "" };
        let but = if by_hand.is_empty() { String::new() } else { format!(", but for {} with noauto", by_hand.join(", ")) };
        let reason = format!(
            "the areas come up at each boot{but}, by UUID, with an explicit priority; the machine boots without a missing one{missing}"
        );
        draft.file(FSTAB, Some(text), 0o644, Why::rule(reason, "fstab(5), swapon(8), systemd.swap(5)"));
    }
}
