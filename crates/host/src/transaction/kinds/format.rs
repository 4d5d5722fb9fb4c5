//! What a device holds as a whole: a partition table, a LUKS volume.
//!
//! An external program makes it (sfdisk, cryptsetup); the ends of the device are captured before, and going back writes them again. What
//! is destroyed is not captured: the journal would keep the very keys that are to be gone.

use std::fs::File;

use swaptune_core::change::DeviceFormat;
use swaptune_core::parse::{gpt, signature};

use super::header::{open, open_to_overwrite, partitions, refuse_if_used, refused};
use super::{ChangeHandler, Completed, Observed, RecordedStep, Restored, StepContext, UndoState, mismatch};
use crate::journal::record::SavedRange;
use crate::journal::{Journal, Saved, fingerprint};
use crate::swap_header::{self, END};
use crate::transaction::error::StepError;
use crate::transaction::run::Run;

/// How much of a volume its header takes: the whole of it is captured, and destroyed.
const LUKS_HEADER: u64 = swaptune_core::device::LUKS_HEADER.0;
/// The smallest piece of a device that is written as a whole.
const SECTOR: u64 = 512;
const DESTROYED: &str = "what was on it is destroyed for good, as it was asked";

pub(super) struct FormatHandler<'a> {
    pub path: &'a str,
    pub before: Option<&'a DeviceFormat>,
    pub after: Option<&'a DeviceFormat>,
    pub wipe: bool,
}

impl ChangeHandler for FormatHandler<'_> {
    fn observe(&self, cx: StepContext<'_>) -> Result<Observed, StepError> {
        let real = cx.run.real(self.path)?;
        if !cx.run.exists(&real) {
            // What is to be made needs its device, which an earlier step of the plan may bring.
            let gone = Observed::Gone(format!("{} is not there", self.path));
            return Ok(if self.after.is_some() { Observed::Before } else { gone });
        }
        let found = found(&cx.run, &real)?;
        let is = |side: Option<&DeviceFormat>| side.is_some_and(|side| found.iter().any(|found| found == side.uuid()));
        Ok(match () {
            () if is(self.after) => Observed::After,
            () if self.before.is_none() || is(self.before) => Observed::Before,
            () if self.after.is_none() && found.is_empty() => Observed::After,
            () => Observed::Other(words(&found)),
        })
    }

    fn save(&self, cx: StepContext<'_>, journal: &Journal<'_>, seq: usize) -> Result<Saved, StepError> {
        let real = cx.run.real(self.path)?;
        let partitions = partitions(&cx.run, real.trim_start_matches("/dev/"));
        let mut ranges = Vec::new();
        if self.after.is_some() {
            let (file, size) = open(&cx.run, &real)?;
            for (part, (at, length)) in self.ends(size).into_iter().enumerate() {
                let bytes = swap_header::range(&file, at, length).map_err(|error| StepError::io("read", &real, error))?;
                ranges.push(SavedRange { at, blob: journal.save(seq, part, &bytes)? });
            }
        }
        Ok(Saved::Device { at: real, ranges, partitions })
    }

    fn make(&self, cx: StepContext<'_>) -> Result<Completed, StepError> {
        let real = cx.run.real(self.path)?;
        let Some(after) = self.after else { return self.destroy(cx, &real) };
        let file = open_to_overwrite(&cx.run, &real, None, self.wipe, true)?;
        if self.wipe {
            self.clear(cx, &real, &file)?;
        }
        // The program opens it exclusively itself.
        drop(file);
        cx.run.format(&real, after)?;
        let found = found(&cx.run, &real)?;
        if !found.iter().any(|found| found == after.uuid()) {
            let wanted = after.uuid().to_owned();
            return Err(StepError::NotTaken { path: real, wanted, found: words(&found) });
        }
        Ok(Completed::changed("as captured", after.uuid()))
    }

    fn undo_state(&self, cx: StepContext<'_>, recorded: RecordedStep<'_>) -> Result<UndoState, StepError> {
        let Saved::Device { at: real, ranges, partitions: parts } = recorded.saved else { return Err(mismatch(self.path)) };
        if !cx.run.exists(real) {
            return Ok(UndoState::Away);
        }
        let found = found(&cx.run, real)?;
        let is = |side: Option<&DeviceFormat>| side.is_some_and(|side| found.iter().any(|found| found == side.uuid()));
        if self.after.is_none() {
            return Ok(if is(self.before) { UndoState::Saved } else { UndoState::Ours });
        }
        let (mut file, size) = open(&cx.run, real)?;
        let read = |range: &SavedRange| swap_header::range(&file, range.at, range.blob.length);
        let bytes = ranges.iter().map(read).collect::<Result<Vec<_>, _>>();
        let bytes = bytes.map_err(|error| StepError::io("read", real, error))?;
        let saved = ranges.iter().zip(&bytes).all(|(range, bytes)| fingerprint(bytes) == range.blob.print);
        let is_known = *parts == partitions(&cx.run, real.trim_start_matches("/dev/"));
        Ok(match () {
            () if saved && is_known => UndoState::Saved,
            () if saved || is(self.after) => UndoState::Ours,
            // A program that was cut short leaves no identity, ours, or still the one of before.
            () if recorded.torn && found.iter().all(|id| self.is_of(&recorded, ranges, id)) => {
                let kinds = swap_header::probe(&mut file, size).map_err(|error| StepError::io("read", real, error))?;
                self.foreign(&recorded, ranges, size, kinds).map_or(UndoState::Ours, UndoState::Other)
            }
            () => UndoState::Other(words(&found)),
        })
    }

    fn restore(&self, cx: StepContext<'_>, recorded: RecordedStep<'_>) -> Result<Restored, StepError> {
        let Saved::Device { at: real, ranges, .. } = recorded.saved else { return Err(mismatch(self.path)) };
        if self.after.is_none() {
            return Ok(Restored::Kept(DESTROYED.into()));
        }
        refuse_if_used(&cx.run, real)?;
        self.refuse_new_contents(cx, real)?;
        let load = |range: &SavedRange| Ok((range.at, recorded.state.load(&range.blob)?));
        let bytes = ranges.iter().map(load).collect::<Result<Vec<_>, StepError>>()?;
        let file = cx.run.open_exclusive(real)?;
        cx.run.overwrite(real, &file, &bytes)?;
        drop(file);
        self.tell(cx, real)?;
        Ok(Restored::Whole)
    }
}

impl FormatHandler<'_> {
    /// The ends of a device of this size that the format takes.
    fn ends(&self, size: u64) -> Vec<(u64, u64)> {
        let is_luks = [self.before, self.after].iter().flatten().any(|side| matches!(side, DeviceFormat::Luks { .. }));
        let head = size.min(if is_luks { LUKS_HEADER } else { END });
        let tail = (size - head).min(END);
        [(0, head), (size - tail, tail)].into_iter().filter(|(_, length)| *length > 0).collect()
    }

    fn clear(&self, cx: StepContext<'_>, real: &str, file: &File) -> Result<(), StepError> {
        let (_, size) = open(&cx.run, real)?;
        let zeros = |(at, length): (u64, u64)| (at, vec![0; usize::try_from(length).unwrap_or(0)]);
        let pieces: Vec<_> = self.ends(size).into_iter().map(zeros).collect();
        cx.run.overwrite(real, file, &pieces)
    }

    /// Overwrites what makes it readable, then gives back every block where the device can.
    fn destroy(&self, cx: StepContext<'_>, real: &str) -> Result<Completed, StepError> {
        refuse_if_used(&cx.run, real)?;
        let file = cx.run.open_exclusive(real)?;
        // Another device may have taken this name since the plan was made.
        let found = found(&cx.run, real)?;
        let begun = found.is_empty() && self.is_destroyed(cx, real)?;
        if !begun && !found.iter().any(|found| self.before.is_some_and(|before| before.uuid() == found)) {
            return Err(refused(real, &words(&found), "plan again: it is not what the plan was to destroy"));
        }
        // The head of one that was begun may still hold keys behind its first pages.
        self.clear(cx, real, &file)?;
        let (_, size) = open(&cx.run, real)?;
        let rest = match begun {
            // Nothing says any more that it is the same device.
            true => "destroyed; it was cut short once, so what else was written to it stays",
            false => match cx.run.discard(real, &file, size) {
                Ok(()) => "destroyed, and every block given back to the device",
                // A table holds no data, and a device without discard is no failure: it is said.
                Err(_) => "destroyed; the device takes no discard, so what else was written to it stays",
            },
        };
        drop(file);
        self.tell(cx, real)?;
        Ok(Completed::changed(self.before.map_or("nothing", DeviceFormat::uuid), rest))
    }

    /// Whether a run that was cut short had begun to destroy it: the end goes first, then the beginning, and nothing else is on it.
    fn is_destroyed(&self, cx: StepContext<'_>, real: &str) -> Result<bool, StepError> {
        let (mut file, size) = open(&cx.run, real)?;
        let failed = |error| StepError::io("read", real, error);
        let kinds = swap_header::probe(&mut file, size).map_err(failed)?;
        let first = swap_header::range(&file, 0, size.min(SECTOR)).map_err(failed)?;
        let (at, length) = self.ends(size).pop().unwrap_or_default();
        let last = swap_header::range(&file, at, length).map_err(failed)?;
        // With one end only the device is no larger than a header.
        let last = if at == 0 { Vec::new() } else { last };
        Ok(kinds.is_empty() && first.iter().chain(&last).all(|byte| *byte == 0))
    }

    /// Has the kernel read a partition table again.
    fn tell(&self, cx: StepContext<'_>, real: &str) -> Result<(), StepError> {
        let is_table = [self.before, self.after].iter().flatten().any(|side| matches!(side, DeviceFormat::Gpt { .. }));
        if is_table { cx.run.reread_partitions(real) } else { Ok(()) }
    }

    /// Whether this identity was there before, or is the one that was to be made.
    fn is_of(&self, recorded: &RecordedStep<'_>, ranges: &[SavedRange], id: &str) -> bool {
        let head = ranges.first().and_then(|range| recorded.state.load(&range.blob).ok()).unwrap_or_default();
        self.after.is_some_and(|after| after.uuid() == id) || identities(&head).iter().any(|known| known == id)
    }

    /// What the device carries that neither was there before nor is ours: not all that is put on a device has an identity (exFAT, NTFS, a member
    /// of ZFS or LVM).
    fn foreign(&self, recorded: &RecordedStep<'_>, ranges: &[SavedRange], size: u64, kinds: Vec<String>) -> Option<String> {
        let load = |range: &SavedRange| recorded.state.load(&range.blob).unwrap_or_default();
        let (head, tail) = (ranges.first().map(load).unwrap_or_default(), ranges.last().map(load).unwrap_or_default());
        let end = |bytes: &[u8]| usize::try_from(END).map_or(bytes.len(), |end| end.min(bytes.len()));
        let was = swap_header::kinds(&head[..end(&head)], &tail[tail.len() - end(&tail)..], size);
        let ours: &[&str] = match self.after {
            Some(DeviceFormat::Gpt { .. }) => &["gpt", "dos", swap_header::BOOT_SECTOR],
            Some(DeviceFormat::Luks { .. }) => &["crypto_LUKS"],
            Some(DeviceFormat::Swap { .. }) => &["swap"],
            None => &[],
        };
        let foreign = kinds.into_iter().find(|kind| !was.contains(kind) && !ours.contains(&kind.as_str()));
        foreign.map(|kind| format!("holding {kind}"))
    }

    /// A partition that we made may carry a file system by now: taking the table away would lose it.
    fn refuse_new_contents(&self, cx: StepContext<'_>, real: &str) -> Result<(), StepError> {
        // On a disk that was wiped, what is found may be left from before.
        if self.wipe || !matches!(self.after, Some(DeviceFormat::Gpt { .. })) {
            return Ok(());
        }
        for part in partitions(&cx.run, real.trim_start_matches("/dev/")) {
            let node = format!("/dev/{part}");
            let (mut file, size) = open(&cx.run, &node)?;
            let kinds = swap_header::probe(&mut file, size).map_err(|error| StepError::io("read", &node, error))?;
            if let Some(kind) = kinds.first() {
                return Err(refused(
                    real,
                    &format!("{node} carries {kind}"),
                    "move what is in it elsewhere, then `wipefs -a` it",
                ));
            }
        }
        Ok(())
    }
}

/// UUIDs of what a device holds.
fn found(run: &Run<'_>, real: &str) -> Result<Vec<String>, StepError> {
    let (file, _) = open(run, real)?;
    let head = swap_header::range(&file, 0, signature::HEAD as u64).map_err(|error| StepError::io("read", real, error))?;
    Ok(identities(&head))
}

fn identities(head: &[u8]) -> Vec<String> {
    let signatures = signature::probe(head).into_iter().filter_map(|signature| signature.uuid);
    gpt::disk_uuid(head).into_iter().chain(signatures).collect()
}

fn words(found: &[String]) -> String {
    if found.is_empty() { "nothing that is known".into() } else { format!("holding {}", found.join(", ")) }
}
