//! Whether there is room: in RAM and other areas for what an area holds, on file systems for what is written.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;

use rustix::fs::statvfs;
use swaptune_core::Bytes;
use swaptune_core::change::{Change, SwapFileState};
use swaptune_core::escape::visible;
use swaptune_core::parse::swaps::SwapLine;
use swaptune_core::plan::{FILE_RESERVE, Step};
use swaptune_core::swapoff::SwapoffRoom;

use super::error::StepError;
use super::run::Run;
use crate::journal::StateDir;
use crate::sampling::groups::{DEPTH, TREE};
use crate::swap_header::END;

/// What must stay free where files are written: the journal, temporary files, the bytes that are kept.
const SLACK: Bytes = Bytes::from_mib(1);

/// Checks that what these areas hold finds room again when all of them are switched off.
pub(super) fn check_swapoff(run: &Run<'_>, reals: &[String]) -> Result<(), StepError> {
    let (going, staying): (Vec<_>, Vec<_>) = run.areas()?.into_iter().partition(|area| reals.contains(&area.path));
    let used = Bytes(going.iter().map(|area| area.used.0).sum());
    if used.0 == 0 {
        return Ok(());
    }
    let available = run.meminfo("MemAvailable")?;
    let free = |area: &SwapLine| area.size.0.saturating_sub(area.used.0);
    let room = SwapoffRoom {
        used,
        // What goes to zram stays in RAM, and free slots do not say how well it compresses.
        elsewhere: Bytes(staying.iter().filter(|area| !area.path.starts_with("/dev/zram")).map(free).sum()),
        available: Bytes(available.unwrap_or(0)),
        total: Bytes(run.meminfo("MemTotal")?.unwrap_or(0)),
    };
    let path = going.iter().map(|area| area.path.as_str()).collect::<Vec<_>>().join(", ");
    room.check().map_err(|source| StepError::TooFull { path, source })?;
    refuse_limited_groups(run, Bytes(staying.iter().map(free).sum()))
}

/// What comes back to a group can leave it again only to a free slot: a group that then has more than its `memory.max` is at its limit, and the
/// kernel kills in it (mm/swapfile.c, `try_to_unuse`, charges each page to the group that it was taken from).
fn refuse_limited_groups(run: &Run<'_>, free: Bytes) -> Result<(), StepError> {
    let mut over = None;
    let excess = group_excess(run, TREE, 0, &mut over);
    let Some((group, sizes)) = over.filter(|_| excess > free) else { return Ok(()) };
    let GroupSizes { plain, swapped, most } = sizes;
    let without = if free.0 > 0 { format!("with {free} free in other areas") } else { "without swap".into() };
    Err(StepError::Refused {
        what: format!("control group {}", visible(group.trim_start_matches(TREE))),
        why: format!(
            "it has {plain} in RAM and {swapped} in swap, more than its memory.max of {most}: {without} processes in it would be killed"
        ),
        hint: "raise its memory.max (`systemctl set-property UNIT MemoryMax=`), or stop it".into(),
    })
}

/// What a group has, and may have.
struct GroupSizes {
    plain: Bytes,
    swapped: Bytes,
    most: Bytes,
}

/// How much of a group and of those in it would not fit below a `memory.max` without swap, and the first that is too large.
fn group_excess(run: &Run<'_>, group: &str, depth: usize, over: &mut Option<(String, GroupSizes)>) -> Bytes {
    let size = |file: &str| run.machine.read_text(&format!("{group}/{file}")).ok()?.trim().parse::<u64>().ok();
    let mut own = 0;
    if let Some((most, current)) = size("memory.max").zip(size("memory.current")) {
        let plain = current.saturating_sub(size("memory.zswap.current").unwrap_or(0));
        let swapped = size("memory.swap.current").unwrap_or(0);
        // What is over already is not brought there by what comes back.
        own = plain.saturating_add(swapped).saturating_sub(most).min(swapped);
        if own > 0 && over.is_none() {
            *over = Some((group.to_owned(), GroupSizes { plain: Bytes(plain), swapped: Bytes(swapped), most: Bytes(most) }));
        }
    }
    let inner = if depth < DEPTH { run.machine.folders(group) } else { Vec::new() };
    let below =
        inner.iter().map(|name| group_excess(run, &format!("{group}/{name}"), depth + 1, over).0).fold(0, u64::saturating_add);
    Bytes(own.max(below))
}

/// Refuses a swap file without room. `promised` is what earlier steps of the plan take of each file system, or give back.
pub(super) fn check_swap_files(run: &Run<'_>, change: &Change, promised: &mut BTreeMap<u64, i64>) -> Result<(), StepError> {
    let Change::SwapFile { path, before, after } = change else { return Ok(()) };
    if before == after {
        return Ok(());
    }
    let real = run.real(path)?;
    let others = promised.entry(device(run, &real)).or_default();
    let size = |side: &Option<SwapFileState>| side.as_ref().map_or(0, |side| i64::try_from(side.size.0).unwrap_or(i64::MAX));
    *others = others.saturating_sub(size(before));
    if let Some(after) = after {
        check_swap_file(run, &real, after, *others)?;
    }
    *others = others.saturating_add(size(after));
    Ok(())
}

/// Refuses a place where the kernel would not take the file, or that it would fill together with `others`, the bytes that
/// earlier steps put there; less than none where they make room.
pub(super) fn check_swap_file(run: &Run<'_>, real: &str, state: &SwapFileState, others: i64) -> Result<(), StepError> {
    let folder = run.nearest_folder(real);
    let found = run.kernel.file_system(&folder).map_err(|error| StepError::io("look at", real, error))?;
    let refused = |why: String, hint: &str| StepError::Refused { what: format!("swap file {real}"), why, hint: hint.into() };
    let name = found.name.unwrap_or("a file system of unknown type");
    if !found.swap_files {
        return Err(refused(format!("{name} cannot hold swap files"), "choose a place on ext4, xfs or btrfs"));
    }
    if name == "btrfs" && !state.nocow {
        return Err(refused("on btrfs it must be made without copy-on-write".into(), "make a new plan"));
    }
    if state.size.0 == 0 || state.size.0 % run.kernel.page_size() != 0 {
        let page = Bytes(run.kernel.page_size());
        return Err(refused(format!("{} bytes are no whole pages of {page}", state.size.0), "round the size up"));
    }
    let free = Bytes(found.free.saturating_add_signed(others.saturating_neg()));
    if free.0 < state.size.0.saturating_add(FILE_RESERVE.0) {
        let why = format!("{} are needed and {FILE_RESERVE} must stay free, but {free} are free", state.size);
        return Err(refused(why, "choose a smaller size or another file system"));
    }
    Ok(())
}

/// Refuses when what is to be written does not fit, file system by file system.
pub(super) fn check_space(run: &Run<'_>, state: &StateDir, steps: &[Step]) -> Result<(), StepError> {
    // Everything that is overwritten is kept.
    let kept = steps.iter().map(|step| overwritten(run, &step.change)).fold(SLACK.0, u64::saturating_add);
    let state_device = std::fs::metadata(state.path()).map_or(0, |found| found.dev());
    let mut needed = BTreeMap::from([(state_device, (Bytes(kept), state.path().to_owned()))]);
    for step in steps {
        let sizes = match &step.change {
            Change::File { path, after: Some(text), .. } => vec![(path, text.len() as u64 + length(run, path))],
            Change::File { path, .. } => vec![(path, length(run, path))],
            // The generator makes a second copy of each beside the first, and going back has one reserved.
            Change::Generated { outputs, .. } => outputs.iter().map(|path| (path, 2 * length(run, path))).collect(),
            _ => continue,
        };
        for (path, size) in sizes {
            let real = run.real(path)?;
            let entry = needed.entry(device(run, &real)).or_insert((SLACK, run.nearest_folder(&real)));
            entry.0 = Bytes(entry.0.0.saturating_add(size));
        }
    }
    for (need, path) in needed.into_values() {
        let Ok(found) = statvfs(&path) else { continue };
        let free = Bytes(found.f_bavail.saturating_mul(found.f_frsize));
        if free < need {
            return Err(StepError::Refused {
                what: format!("writing to {}", path.display()),
                why: format!("its file system has {free} free, {need} are needed"),
                hint: "free some space on that file system".into(),
            });
        }
    }
    Ok(())
}

/// How many bytes a change overwrites.
fn overwritten(run: &Run<'_>, change: &Change) -> u64 {
    match change {
        Change::File { path, .. } => length(run, path),
        Change::Generated { outputs, .. } => outputs.iter().map(|path| length(run, path)).sum(),
        Change::SwapHeader { wipe: true, .. } => 2 * END,
        Change::Format { after: Some(_), .. } => END + swaptune_core::device::LUKS_HEADER.0,
        _ => 0,
    }
}

/// Number of the file system that a path lies on, or would lie on.
fn device(run: &Run<'_>, real: &str) -> u64 {
    std::fs::metadata(run.nearest_folder(real)).map_or(0, |found| found.dev())
}

fn length(run: &Run<'_>, path: &str) -> u64 {
    let real = run.real(path).unwrap_or_default();
    std::fs::metadata(run.host(&real)).map_or(0, |found| found.len())
}
