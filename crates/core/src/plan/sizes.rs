//! Sizes that a machine cannot hold: refused with the largest one that makes sense.

use super::areas::mount_of;
use super::draft::Draft;
use crate::change::Change;
use crate::facts::{BlockDevice, Mount};
use crate::settings::{SwapWanted, ZramWanted};
use crate::units::Bytes;

/// How many times RAM all zram devices together may hold: pages that compress well take a quarter of their size, so that what is more
/// could never be filled, and the driver's table of it takes RAM at once (zram.rst: 0.1 % of the size).
const ZRAM_TIMES_RAM: u64 = 4;
/// What stays free beside a new swap file: a full file system does more harm than missing swap.
pub const FILE_RESERVE: Bytes = Bytes::from_mib(256);

/// False, with a refusal, for zram devices that RAM can never hold.
pub(super) fn zram_fits(draft: &mut Draft<'_>) -> bool {
    let ram = draft.facts().memory.total();
    let Some(wanted) = draft.settings().zram.as_ref().filter(|_| ram > Bytes(0)) else { return true };
    let size = |device: &ZramWanted| device.size.0;
    let sum = Bytes(wanted.value.iter().map(size).fold(0, u64::saturating_add));
    let most = Bytes(ram.0.saturating_mul(ZRAM_TIMES_RAM));
    let limit = wanted.value.iter().map(|device| device.mem_limit).max().unwrap_or_default();
    if sum > most {
        let why = format!(
            "{sum} wanted on {ram} of RAM: even pages that compress to a quarter fill RAM at {most}, the most that makes sense"
        );
        draft.refuse("zram", why, format!("write size = \"{}\" or less under [[zram]]", whole(most).compact()));
    } else if limit > ram {
        let why = format!("mem_limit {limit} is more than the {ram} of RAM, the most that makes sense");
        draft.refuse("zram", why, format!("write mem_limit = \"{}\" or less under [[zram]]", whole(ram).compact()));
    }
    sum <= most && limit <= ram
}

/// False, with a refusal, for an area that is larger than the device that it names.
pub(super) fn fits_device(draft: &mut Draft<'_>, wanted: &SwapWanted, device: &BlockDevice, path: &str) -> bool {
    let Some(size) = wanted.size.filter(|size| *size > device.size && device.size > Bytes(0)) else { return true };
    let why = format!("{size} wanted, and the device has {}, the most that it can hold", device.size);
    draft.refuse(path, why, "leave size out under its [[swap]]: a device is used as a whole");
    false
}

/// False, with a refusal, for a swap file that its file system has no room for; `freed` is what another step gives back before.
pub(super) fn fits_mount(draft: &mut Draft<'_>, mount: &Mount, size: Bytes, freed: Bytes, path: &str) -> bool {
    let Some(free) = mount.free.value().map(|free| Bytes(free.0.saturating_add(freed.0))) else { return true };
    let others = promised(draft, mount);
    let most = whole(Bytes(free.0.saturating_sub(FILE_RESERVE.0).saturating_sub(others.0)));
    if size <= most {
        return true;
    }
    let before = if others > Bytes(0) { format!(" and {others} go to files before it") } else { String::new() };
    let why =
        format!("{size} wanted, {free} free on {}, of which {FILE_RESERVE} stay free{before}: {most} is the most", mount.at);
    let hint = if most == Bytes(0) {
        format!("free some space on {}, or name another file system", mount.at)
    } else {
        format!("write size = \"{}\" or less under its [[swap]]", most.compact())
    };
    draft.refuse(path, why, hint);
    false
}

/// What the files of this plan take of a file system already.
fn promised(draft: &Draft<'_>, mount: &Mount) -> Bytes {
    let there = |path: &str| mount_of(draft.facts(), path).is_some_and(|other| other.at == mount.at);
    let files = draft.steps().iter().filter_map(|step| match &step.change {
        Change::SwapFile { path, after: Some(file), .. } if there(path) => Some(file.size.0),
        _ => None,
    });
    Bytes(files.fold(0, u64::saturating_add))
}

/// Whole MiB, so that it reads well where it is to be typed.
fn whole(size: Bytes) -> Bytes {
    Bytes::from_mib(size.mib())
}
