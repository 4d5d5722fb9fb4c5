//! Swap headers on devices and files, and what is checked before one is overwritten.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::{FileTypeExt, MetadataExt};

use swaptune_core::change::{Change, SwapHeaderState};
use swaptune_core::parse::mountinfo;

use super::{ChangeHandler, Completed, Observed, RecordedStep, Restored, StepContext, UndoState, mismatch};
use crate::journal::record::SavedRange;
use crate::journal::{Journal, Saved, fingerprint};
use crate::swap_header::{self, END, INFO};
use crate::transaction::error::StepError;
use crate::transaction::run::Run;

/// Bytes and where they go.
type Piece = (u64, Vec<u8>);

pub(super) struct HeaderHandler<'a> {
    pub path: &'a str,
    pub before: Option<&'a SwapHeaderState>,
    pub after: Option<&'a SwapHeaderState>,
    pub wipe: bool,
}

impl ChangeHandler for HeaderHandler<'_> {
    fn observe(&self, cx: StepContext<'_>) -> Result<Observed, StepError> {
        let real = cx.run.real(self.path)?;
        if !cx.run.exists(&real) {
            return Ok(Observed::Gone(format!("{} is not there", self.path)));
        }
        let found = current(&cx.run, &real)?;
        Ok(match found {
            found if self.after.is_some() && same(found.as_ref(), self.after) => Observed::After,
            found if same(found.as_ref(), self.before) || self.before.is_none() && self.wipe => Observed::Before,
            found => Observed::Other(words(found.as_ref())),
        })
    }

    fn save(&self, cx: StepContext<'_>, journal: &Journal<'_>, seq: usize) -> Result<Saved, StepError> {
        let real = cx.run.real(self.path)?;
        let (file, ranges) = self.new_bytes(cx, &real)?;
        let save = |(part, (from, bytes)): (usize, &(u64, Vec<u8>))| {
            let old = swap_header::range(&file, *from, bytes.len() as u64);
            let old = old.map_err(|error| StepError::io("read", &real, error))?;
            Ok(SavedRange { at: *from, blob: journal.save(seq, part, &old)? })
        };
        let ranges = ranges.iter().enumerate().map(save).collect::<Result<_, StepError>>()?;
        Ok(Saved::Ranges { at: real, ranges })
    }

    fn make(&self, cx: StepContext<'_>) -> Result<Completed, StepError> {
        let real = cx.run.real(self.path)?;
        // Looked at again, right before the write: the user may have taken a long time to say yes. What is looked at stays
        // open, so that nothing else can take the device in between.
        let file = open_to_overwrite(&cx.run, &real, self.before, self.wipe, true)?;
        let (_, ranges) = self.new_bytes(cx, &real)?;
        cx.run.overwrite(&real, &file, &ranges)?;
        drop(file);
        announce(&cx.run, &real);
        let found = current(&cx.run, &real)?;
        if !same(found.as_ref(), self.after) {
            let (wanted, found) = (words(self.after), words(found.as_ref()));
            return Err(StepError::NotTaken { path: real, wanted, found });
        }
        Ok(Completed::changed(words(self.before), words(self.after)))
    }

    fn undo_state(&self, cx: StepContext<'_>, recorded: RecordedStep<'_>) -> Result<UndoState, StepError> {
        let Saved::Ranges { at: real, ranges } = recorded.saved else { return Err(mismatch(self.path)) };
        let is_zram = real.starts_with("/dev/zram");
        if !cx.run.exists(real) {
            // After a run that was cut short, a file that had no header and is gone was deleted, and has none again. Otherwise its file
            // system may only be unmounted, as a device may be unplugged: both come back with what stands on them, so it is told.
            let has_none = is_zram || recorded.torn && self.before.is_none() && !real.starts_with("/dev/");
            return Ok(match () {
                () if has_none => UndoState::Saved,
                () if real.starts_with("/dev/") => UndoState::Away,
                () => UndoState::Other("not there any more".into()),
            });
        }
        let (file, size) = open(&cx.run, real)?;
        // A zram device that was reset since holds nothing of before and nothing of ours.
        if is_zram && size == 0 {
            return Ok(UndoState::Saved);
        }
        let read = |range: &SavedRange| swap_header::range(&file, range.at, range.blob.length);
        let found = ranges.iter().map(read).collect::<Result<Vec<_>, _>>();
        let found = found.map_err(|error| StepError::io("read", real, error))?;
        let is_saved = |(range, bytes): (&SavedRange, &Vec<u8>)| fingerprint(bytes) == range.blob.print;
        if ranges.iter().zip(&found).all(is_saved) {
            return Ok(UndoState::Saved);
        }
        let header = current(&cx.run, real)?;
        let ours = same(header.as_ref(), self.after)
            || is_zram
            || recorded.torn && self.is_torn(cx, recorded, (ranges, &found), size)?;
        if ours { Ok(UndoState::Ours) } else { Ok(UndoState::Other(words(header.as_ref()))) }
    }

    fn restore(&self, cx: StepContext<'_>, recorded: RecordedStep<'_>) -> Result<Restored, StepError> {
        let Saved::Ranges { at: real, ranges } = recorded.saved else { return Err(mismatch(self.path)) };
        refuse_if_used(&cx.run, real)?;
        let load = |range: &SavedRange| Ok((range.at, recorded.state.load(&range.blob)?));
        let bytes = ranges.iter().map(load).collect::<Result<Vec<_>, StepError>>()?;
        let file = cx.run.open_exclusive(real)?;
        cx.run.overwrite(real, &file, &bytes)?;
        drop(file);
        announce(&cx.run, real);
        Ok(Restored::Whole)
    }
}

impl HeaderHandler<'_> {
    /// The bytes to be written, by where they go, and the file to be read.
    fn new_bytes(&self, cx: StepContext<'_>, real: &str) -> Result<(File, Vec<Piece>), StepError> {
        let Some(after) = self.after else {
            return Err(StepError::Refused {
                what: self.path.to_owned(),
                why: "what was there before a swap header comes back only by a rollback".into(),
                hint: "`swaptune rollback` brings it back".into(),
            });
        };
        let (file, size) = open(&cx.run, real)?;
        let mut page = swap_header::page(&after.uuid, &after.label, size, cx.run.kernel.page_size())
            .map_err(|source| StepError::Header { path: real.to_owned(), source })?;
        if self.wipe {
            let head = size.min(END);
            page.resize(usize::try_from(head).unwrap_or(page.len()).max(page.len()), 0);
            let mut ranges = vec![(0, page)];
            if size > head {
                let tail = (size - head).min(END);
                ranges.push((size - tail, vec![0; usize::try_from(tail).unwrap_or(0)]));
            }
            return Ok((file, ranges));
        }
        let boot = swap_header::range(&file, 0, INFO as u64).map_err(|error| StepError::io("read", real, error))?;
        page[..boot.len()].copy_from_slice(&boot);
        Ok((file, vec![(0, page)]))
    }

    /// True when every byte is either a saved or a new one: a crash came in the middle of the write. A disk writes whole
    /// sectors, but a killed process may have got to any byte of what it wrote to the page cache.
    fn is_torn(
        &self,
        cx: StepContext<'_>,
        recorded: RecordedStep<'_>,
        (ranges, found): (&[SavedRange], &[Vec<u8>]),
        size: u64,
    ) -> Result<bool, StepError> {
        let mut ours = vec![0; found.first().map_or(0, Vec::len)];
        let page_size = cx.run.kernel.page_size();
        let page = self.after.map(|after| swap_header::page(&after.uuid, &after.label, size, page_size));
        if let Some(Ok(page)) = page {
            let length = page.len().min(ours.len());
            ours[..length].copy_from_slice(&page[..length]);
        }
        for (index, (range, found)) in ranges.iter().zip(found).enumerate() {
            let saved = recorded.state.load(&range.blob)?;
            let zeros = vec![0; found.len()];
            let new = if index == 0 { &ours } else { &zeros };
            let mut bytes = found.iter().zip(&saved).zip(new);
            if !bytes.all(|((found, saved), new)| found == saved || found == new) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Has udev look at a device again (Documentation/ABI/stable/sysfs-uevent). It does so by itself once something that wrote to it closes
/// it, but not before it has seen the device, and a partition that was just made may not have come that far. Without
/// udev, or with a read-only sysfs, nothing is lost: the next boot looks.
fn announce(run: &Run<'_>, real: &str) {
    let Some(name) = real.strip_prefix("/dev/") else { return };
    let uevent = format!("/sys/class/block/{}/uevent", name.replace('/', "!"));
    if run.exists_inside(&uevent) {
        let _ = run.set(&uevent, "change");
    }
}

/// Refuses a device or file that may still be needed. `expected` is the swap header that may be replaced.
pub(crate) fn check_overwrite(
    run: &Run<'_>,
    real: &str,
    expected: Option<&SwapHeaderState>,
    wipe: bool,
) -> Result<(), StepError> {
    open_to_overwrite(run, real, expected, wipe, false).map(drop)
}

/// The same, and the device stays open, exclusively.
pub(super) fn open_to_overwrite(
    run: &Run<'_>,
    real: &str,
    expected: Option<&SwapHeaderState>,
    wipe: bool,
    write: bool,
) -> Result<File, StepError> {
    refuse_if_used(run, real)?;
    let name = real.trim_start_matches("/dev/");
    if !wipe && !partitions(run, name).is_empty() {
        return Err(refused(real, "it has partitions", WIPE));
    }
    let mut file = match run.kernel.open_exclusive(&run.host(real), write) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::ResourceBusy => {
            return Err(refused(real, "something in the kernel uses it", "see what lsblk shows on top of it"));
        }
        Err(error) => return Err(StepError::io("open", real, error)),
    };
    refuse_if_open(run, real)?;
    if !wipe {
        refuse_contents(run, real, &mut file, expected)?;
    }
    Ok(file)
}

/// Refuses what a virtual machine, a loop device or any program has open: they do not hold it exclusively.
pub(super) fn refuse_if_open(run: &Run<'_>, real: &str) -> Result<(), StepError> {
    match run.kernel.open_by(&run.host(real)) {
        Ok(None) => Ok(()),
        Ok(Some(who)) => Err(refused(real, &format!("{who} has it open"), "end what uses it, or name another device")),
        Err(error) => Err(StepError::io("look who has open", real, error)),
    }
}

/// Refuses what carries anything but the swap header that may be replaced: by name, or as bytes without one.
fn refuse_contents(run: &Run<'_>, real: &str, file: &mut File, expected: Option<&SwapHeaderState>) -> Result<(), StepError> {
    let failed = |error| StepError::io("read", real, error);
    let size = file.seek(SeekFrom::End(0)).map_err(failed)?;
    let found = swap_header::probe(file, size).map_err(failed)?;
    let header = swap_header::read(file, run.kernel.page_size()).map_err(failed)?;
    let is_expected = expected.is_some() && same(header.as_ref(), expected);
    let others: Vec<&str> = found.iter().map(String::as_str).filter(|kind| !(is_expected && *kind == "swap")).collect();
    if !others.is_empty() {
        return Err(refused(real, &format!("it carries {}", others.join(", ")), WIPE));
    }
    if !is_expected && !swap_header::is_blank(file, size).map_err(failed)? {
        return Err(refused(real, "it is not blank, and no signature says what it holds", WIPE));
    }
    Ok(())
}

/// The file of a step that writes a swap header to a file without being told to overwrite it: that must be one that the same
/// transaction makes. What is there already may be anything, whatever its size and contents.
pub(crate) fn must_be_made<'a>(run: &Run<'_>, change: &'a Change) -> Option<&'a str> {
    let Change::SwapHeader { path, before: None, wipe: false, .. } = change else { return None };
    let real = run.real(path).ok()?;
    (!real.starts_with("/dev/")).then_some(path.as_str())
}

/// True for the step that makes this swap file.
pub(crate) fn is_made_by(change: &Change, file: &str) -> bool {
    matches!(change, Change::SwapFile { path, after: Some(_), .. } if path == file)
}

/// Why such a file is left alone.
pub(crate) fn not_made_here(path: &str) -> StepError {
    refused(path, "it was there before, and swaptune did not make it", WIPE)
}

const WIPE: &str = "if nothing on it is needed any more, name it with --wipe";

/// Refuses what is mounted, swapped to, or held by another device. No option helps here.
pub(super) fn refuse_if_used(run: &Run<'_>, real: &str) -> Result<(), StepError> {
    let name = real.trim_start_matches("/dev/").to_owned();
    let areas = run.areas()?;
    let mounts = mountinfo::parse(&run.read_setting("/proc/self/mountinfo")?.unwrap_or_default());
    for part in std::iter::once(name.clone()).chain(partitions(run, &name)) {
        let device = if real.starts_with("/dev/") { format!("/dev/{part}") } else { real.to_owned() };
        let numbers = device_numbers(run, &device);
        let is_it = |mount: &&mountinfo::MountLine| mount.source == device || Some(mount.device) == numbers;
        if let Some(mount) = mounts.iter().find(is_it) {
            return Err(refused(&device, &format!("it is mounted at {}", mount.at), "unmount it first"));
        }
        if areas.iter().any(|area| area.path == device) {
            return Err(refused(&device, "it is in use as swap", "switch it off first"));
        }
        if let Some(holder) = names(run, &format!("/sys/class/block/{part}/holders")).first() {
            return Err(refused(&device, &format!("{holder} lies on it"), "take that apart first"));
        }
    }
    Ok(())
}

pub(super) fn refused(real: &str, why: &str, hint: &str) -> StepError {
    StepError::Refused { what: format!("overwriting {real}"), why: why.into(), hint: hint.into() }
}

/// Kernel names of the partitions of a disk.
pub(super) fn partitions(run: &Run<'_>, name: &str) -> Vec<String> {
    let folder = format!("/sys/class/block/{name}");
    let is_partition = |part: &String| run.exists_inside(&format!("{folder}/{part}/partition"));
    names(run, &folder).into_iter().filter(|part| part.starts_with(name) && is_partition(part)).collect()
}

pub(super) fn names(run: &Run<'_>, folder: &str) -> Vec<String> {
    let Ok(real) = run.real(folder) else { return Vec::new() };
    let Ok(entries) = std::fs::read_dir(run.host(&real)) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned())).collect();
    names.sort_unstable();
    names
}

/// Major and minor number of a block device.
fn device_numbers(run: &Run<'_>, real: &str) -> Option<(u32, u32)> {
    let found = std::fs::metadata(run.host(real)).ok()?;
    let number = found.rdev();
    found.file_type().is_block_device().then(|| (rustix::fs::major(number), rustix::fs::minor(number)))
}

pub(super) fn open(run: &Run<'_>, real: &str) -> Result<(File, u64), StepError> {
    let failed = |error| StepError::io("read", real, error);
    let mut file = File::open(run.host(real)).map_err(failed)?;
    let size = file.seek(SeekFrom::End(0)).map_err(failed)?;
    Ok((file, size))
}

pub(super) fn current(run: &Run<'_>, real: &str) -> Result<Option<SwapHeaderState>, StepError> {
    let (mut file, _) = open(run, real)?;
    swap_header::read(&mut file, run.kernel.page_size()).map_err(|error| StepError::io("read", real, error))
}

pub(super) fn same(a: Option<&SwapHeaderState>, b: Option<&SwapHeaderState>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a.uuid.eq_ignore_ascii_case(&b.uuid) && a.label == b.label,
        (None, None) => true,
        _ => false,
    }
}

fn words(header: Option<&SwapHeaderState>) -> String {
    header.map_or_else(|| "without a swap header".into(), |header| format!("swap {}", header.uuid))
}
