//! zram devices: added, set up, reset.
//!
//! The order of the writes is the driver's: compressor and limit before the size, and everything only while the device
//! is not set up (Documentation/admin-guide/blockdev/zram.rst).

use std::fs::File;
use std::io::{Seek, SeekFrom};

use swaptune_core::Bytes;
use swaptune_core::change::ZramState;
use swaptune_core::knobs;
use swaptune_core::parse::choice;

use super::header::refuse_if_open;
use super::{ChangeHandler, Completed, Observed, RecordedStep, Restored, StepContext, UndoState, mismatch};
use crate::error_chain;
use crate::journal::{Journal, Saved};
use crate::swap_header;
use crate::transaction::error::StepError;

const CONTROL: &str = "/sys/class/zram-control";

pub(super) struct ZramHandler<'a> {
    pub name: &'a str,
    pub before: Option<&'a ZramState>,
    pub after: Option<&'a ZramState>,
}

impl ChangeHandler for ZramHandler<'_> {
    fn observe(&self, cx: StepContext<'_>) -> Result<Observed, StepError> {
        let found = state(cx, self.name)?;
        Ok(match found.as_ref() {
            // Set up as it is wanted, where the plan did not expect it: what is in it may be needed.
            found if same(cx, found, self.after) && (found.is_none() || self.before.is_some()) => Observed::After,
            found if same(cx, found, self.before) => Observed::Before,
            found => Observed::Other(words(found)),
        })
    }

    fn save(&self, cx: StepContext<'_>, journal: &Journal<'_>, seq: usize) -> Result<Saved, StepError> {
        let state = state(cx, self.name)?;
        if let Some(backing) = self.after.and_then(|after| after.backing_dev.as_deref()) {
            let is_set = state.as_ref().is_some_and(|state| is_backed_by(cx, state, backing));
            if !is_set {
                nothing_lost(cx, backing)?;
            }
        }
        let head = match state {
            Some(_) => self.head(cx)?.map(|head| journal.save(seq, 0, &head)).transpose()?,
            None => None,
        };
        Ok(Saved::Zram {
            driver: cx.run.exists_inside(CONTROL),
            device: cx.run.exists_inside(&folder(self.name)),
            algorithm: algorithm(cx, self.name)?,
            state,
            head,
        })
    }

    fn make(&self, cx: StepContext<'_>) -> Result<Completed, StepError> {
        if let Some(after) = self.after {
            add(cx, self.name)?;
            set_up(cx, self.name, after)?;
        } else {
            reset(cx, self.name)?;
        }
        Ok(Completed::changed(words(self.before), words(self.after)))
    }

    fn undo_state(&self, cx: StepContext<'_>, recorded: RecordedStep<'_>) -> Result<UndoState, StepError> {
        let Saved::Zram { device, driver, algorithm: saved_algorithm, state: saved, head } = recorded.saved else {
            return Err(mismatch(self.name));
        };
        let found = state(cx, self.name)?;
        let exists = cx.run.exists_inside(&folder(self.name));
        let as_it_was = exists == *device && algorithm(cx, self.name)? == *saved_algorithm;
        let driver_too = *driver || !cx.run.exists_inside(CONTROL);
        Ok(match found.as_ref() {
            // Cut short between its backing device and its size.
            None if recorded.torn && saved.is_none() && holds_backing(cx, self.name)? => UndoState::Ours,
            found if same(cx, found, saved.as_ref()) && as_it_was && driver_too => match head {
                // Set up again, but not yet with the header that it had. Another header is as good: it is swap again.
                Some(_) if self.head(cx)?.is_none() => UndoState::Ours,
                _ => UndoState::Saved,
            },
            // Not set up: nothing of value can be in it, whether a crash or a reboot brought it there.
            None if recorded.torn || saved.is_none() => UndoState::Ours,
            found if same(cx, found, self.after) => UndoState::Ours,
            found => UndoState::Other(words(found)),
        })
    }

    fn restore(&self, cx: StepContext<'_>, recorded: RecordedStep<'_>) -> Result<Restored, StepError> {
        let Saved::Zram { driver, device, algorithm: saved, state, head } = recorded.saved else {
            return Err(mismatch(self.name));
        };
        match state {
            Some(state) => {
                add(cx, self.name)?;
                set_up(cx, self.name, state)?;
                if let Some(head) = head {
                    let path = self.device(cx)?;
                    let file = cx.run.open_exclusive(&path)?;
                    cx.run.overwrite(&path, &file, &[(0, recorded.state.load(head)?)])?;
                }
                return Ok(Restored::Whole);
            }
            None => reset(cx, self.name)?,
        }
        let exists = cx.run.exists_inside(&folder(self.name));
        if exists && !device {
            cx.run.zram_remove(self.name)?;
        } else if let Some(saved) = saved.as_ref().filter(|_| exists) {
            // Up to 6.1 a reset keeps the compressor, later it goes back to the default.
            if algorithm(cx, self.name)?.as_ref() != Some(saved) {
                cx.run.set(&path(self.name, "comp_algorithm"), saved)?;
            }
        }
        if !driver && cx.run.exists_inside(CONTROL) {
            // Another device may keep the driver busy.
            if let Err(error) = cx.run.unload_module("zram") {
                return Ok(Restored::Kept(error_chain(&error)));
            }
        }
        Ok(Restored::Whole)
    }
}

impl ZramHandler<'_> {
    fn device(&self, cx: StepContext<'_>) -> Result<String, StepError> {
        cx.run.real(&format!("/dev/{}", self.name))
    }

    /// The swap header of a device that is set up, nothing when it is blank. What holds anything else is refused: a reset
    /// would destroy it.
    fn head(&self, cx: StepContext<'_>) -> Result<Option<Vec<u8>>, StepError> {
        let path = self.device(cx)?;
        let failed = |error| StepError::io("read", &path, error);
        let file = File::open(cx.run.host(&path)).map_err(failed)?;
        let page_size = cx.run.kernel.page_size();
        let head = swap_header::range(&file, 0, page_size).map_err(failed)?;
        if swap_header::is_header(&head, page_size) {
            return Ok(Some(head));
        }
        let size = state(cx, self.name)?.map_or(0, |state| state.disksize.0);
        if swap_header::is_blank(&file, size).map_err(failed)? {
            return Ok(None);
        }
        Err(StepError::Refused {
            what: path,
            why: "it holds something other than swap, which a reset would destroy".into(),
            hint: format!("if nothing in it is needed any more: zramctl --reset /dev/{}", self.name),
        })
    }
}

/// Looks once more, right before the write, at what the backing device carries, and opens it exclusively.
fn nothing_lost(cx: StepContext<'_>, backing: &str) -> Result<(), StepError> {
    let real = cx.run.real(backing)?;
    let failed = |error| StepError::io("read", backing, error);
    let mut file = cx.run.open_exclusive(&real)?;
    refuse_if_open(&cx.run, &real)?;
    let size = file.seek(SeekFrom::End(0)).map_err(failed)?;
    let Some(kind) = swap_header::probe(&mut file, size).map_err(failed)?.into_iter().next() else { return Ok(()) };
    Err(StepError::Refused {
        what: backing.to_owned(),
        why: format!("it carries {kind}, which write-back would destroy"),
        hint: format!("name another device, or if you want to lose it: wipefs --all {backing}"),
    })
}

fn is_backed_by(cx: StepContext<'_>, state: &ZramState, wanted: &str) -> bool {
    let real = |path: &str| cx.run.real(path).unwrap_or_else(|_| path.to_owned());
    state.backing_dev.as_deref().is_some_and(|found| real(found) == real(wanted))
}

/// Makes sure that the driver and the device are there.
fn add(cx: StepContext<'_>, name: &str) -> Result<(), StepError> {
    if !cx.run.exists_inside(CONTROL) {
        cx.run.load_module("zram")?;
    }
    if cx.run.exists_inside(&folder(name)) {
        return Ok(());
    }
    let added = cx.run.zram_add()?;
    if added == name {
        return Ok(());
    }
    // Devices are numbered by the kernel; a number was taken or freed since the plan was made.
    cx.run.zram_remove(&added)?;
    Err(StepError::Conflict { what: "the next zram device".into(), expected: name.to_owned(), found: added })
}

fn set_up(cx: StepContext<'_>, name: &str, wanted: &ZramState) -> Result<(), StepError> {
    let ZramState { algorithm, disksize, mem_limit, recomp_algorithm, backing_dev } = wanted;
    reset(cx, name)?;
    cx.run.set(&path(name, "comp_algorithm"), algorithm)?;
    for (algorithm, priority) in recomp_algorithm.iter().zip(1..) {
        cx.run.set(&path(name, "recomp_algorithm"), &format!("algo={algorithm} priority={priority}"))?;
    }
    if let Some(device) = backing_dev {
        cx.run.set(&path(name, "backing_dev"), device)?;
    }
    if mem_limit.0 > 0 {
        cx.run.set(&path(name, "mem_limit"), &mem_limit.0.to_string())?;
    }
    cx.run.set(&path(name, "disksize"), &disksize.0.to_string())?;
    let found = state(cx, name)?;
    if same(cx, found.as_ref(), Some(wanted)) {
        return Ok(());
    }
    Err(StepError::NotTaken { path: folder(name), wanted: words(Some(wanted)), found: words(found.as_ref()) })
}

fn reset(cx: StepContext<'_>, name: &str) -> Result<(), StepError> {
    let is_set_up = attribute(cx, name, "initstate")?.is_some_and(|state| state != "0");
    if !is_set_up {
        if !holds_backing(cx, name)? {
            return Ok(());
        }
        // A device without a size gives its backing device back at no reset (`zram_reset_device` ends early).
        cx.run.set(&path(name, "disksize"), &cx.run.kernel.page_size().to_string())?;
    }
    cx.run.set(&path(name, "reset"), "1")
}

/// Whether a device has a backing device, set up or not.
fn holds_backing(cx: StepContext<'_>, name: &str) -> Result<bool, StepError> {
    Ok(attribute(cx, name, "backing_dev")?.is_some_and(|device| device != "none"))
}

/// How a device is set up; `None` when it is not.
fn state(cx: StepContext<'_>, name: &str) -> Result<Option<ZramState>, StepError> {
    let number = |text: Option<String>| text.and_then(|text| text.parse().ok()).unwrap_or(0);
    let disksize = Bytes(number(attribute(cx, name, "disksize")?));
    if disksize.0 == 0 {
        return Ok(None);
    }
    // mem_limit itself can only be written; the fourth number of mm_stat shows it.
    let mm_stat = attribute(cx, name, "mm_stat")?.unwrap_or_default();
    let mem_limit = Bytes(number(mm_stat.split_whitespace().nth(3).map(str::to_owned)));
    Ok(Some(ZramState {
        algorithm: algorithm(cx, name)?.unwrap_or_default(),
        disksize,
        mem_limit,
        recomp_algorithm: choice::numbered(&attribute(cx, name, "recomp_algorithm")?.unwrap_or_default()),
        backing_dev: attribute(cx, name, "backing_dev")?.filter(|device| device != "none"),
    }))
}

fn algorithm(cx: StepContext<'_>, name: &str) -> Result<Option<String>, StepError> {
    Ok(attribute(cx, name, "comp_algorithm")?.map(|text| knobs::chosen(&text).to_owned()))
}

fn attribute(cx: StepContext<'_>, name: &str, attribute: &str) -> Result<Option<String>, StepError> {
    cx.run.read_setting(&path(name, attribute))
}

fn folder(name: &str) -> String {
    format!("/sys/block/{name}")
}

fn path(name: &str, attribute: &str) -> String {
    format!("/sys/block/{name}/{attribute}")
}

/// The driver rounds sizes up to whole pages, shows the real path of a device, and keeps names of secondary compressors that were
/// not asked for.
fn same(cx: StepContext<'_>, found: Option<&ZramState>, wanted: Option<&ZramState>) -> bool {
    let page = cx.run.kernel.page_size();
    let pages = |state: &ZramState| (state.disksize.0.div_ceil(page), state.mem_limit.0.div_ceil(page));
    match (found, wanted) {
        (Some(found), Some(wanted)) => {
            found.algorithm == wanted.algorithm
                && pages(found) == pages(wanted)
                && (wanted.recomp_algorithm.is_empty() || found.recomp_algorithm == wanted.recomp_algorithm)
                && wanted.backing_dev.as_deref().map_or(found.backing_dev.is_none(), |device| is_backed_by(cx, found, device))
        }
        (found, wanted) => found.is_none() && wanted.is_none(),
    }
}

fn words(state: Option<&ZramState>) -> String {
    state.map_or_else(|| "not set up".into(), ZramState::words)
}
