//! Temporary settings: what a benchmark sets for a moment, and puts back whatever happens.
//!
//! All settings of a [`TemporarySettings`] are steps of one transaction that is never finished: each is journalled, durably, before it
//! is made, and taken back, newest first, as a transaction that was cut short is taken back. Three do that, whichever
//! comes first: its owner when it is closed or dropped; the [`guardian`], a process of its own, when this process
//! is killed; and [`recover`], when both were killed. The journal lies in `/run`: a reboot takes it away together with
//! most of what it tells of (a swap file that is left then is a plain file).

mod error;
pub mod guardian;

use std::path::{Path, PathBuf};
use std::time::Duration;

use swaptune_core::Bytes;
use swaptune_core::change::{Change, SwapFileState, SwapHeaderState, SwapState, ZramState};
use swaptune_core::knobs::{self, Knob, KnobError};
use swaptune_core::plan::{Step, When};
use swaptune_core::swapoff::SwapoffRoom;
use swaptune_kernel::nearest;
use uuid::Uuid;

pub use error::TemporaryError;

use crate::aside::Aside;
use crate::checkpoint::NoFaults;
use crate::error_chain;
use crate::inspect::container;
use crate::journal::record::{Ending, JournalRecord};
use crate::journal::{Beginning, Journal, Stamp, StateDir, Transaction, TransactionKind, TransactionStatus, all, pending};
use crate::kernel::{self, Kernel};
use crate::lock::Lock;
use crate::machine::Machine;
use crate::transaction::{NotUndone, Run, StepError, UndoOptions, UndoReport, grow, privileges, read_knob, undo_all, undo_from};
use guardian::{Guardian, GuardianProgram};

/// Temporary settings are never finished.
const TORN: UndoOptions<'static> = UndoOptions { torn: true, later: false, force: false, aside: &[] };
/// The highest priority an area can have.
pub const TOP_PRIORITY: i32 = 32_767;

/// Temporary settings: each change is journalled before it is made, and all are put back, newest first, when this is closed
/// or dropped; a guardian process puts them back when this process is killed. One at a time on a machine.
pub struct TemporarySettings {
    machine: Machine,
    kernel: Box<dyn Kernel>,
    state: StateDir,
    id: String,
    recovered: Option<String>,
    room: Bytes,
    guardian: Option<Guardian>,
    // Last: they are freed when everything else is done.
    _locks: Locks,
    _aside: Option<Aside>,
}

impl std::fmt::Debug for TemporarySettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TemporarySettings").field("id", &self.id).finish_non_exhaustive()
    }
}

/// A moment in the life of a [`TemporarySettings`], to go back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(usize);

impl Mark {
    /// Steps that were made before it, those that were put back since included.
    #[must_use]
    pub fn steps(self) -> usize {
        self.0
    }
}

impl TemporarySettings {
    /// Begins; `what` says for what, to whoever finds it. What a killed run left is put back first.
    ///
    /// # Errors
    /// [`TemporaryError`]: refused without root and in a container, busy while another process has temporary settings or applies a plan.
    pub fn open(machine: &Machine, what: &str) -> Result<Self, TemporaryError> {
        Self::open_with_guardian(machine, what, &GuardianProgram::default())
    }

    /// The same for the daemon itself, which asks no daemon to step aside.
    ///
    /// # Errors
    /// As [`TemporarySettings::open`].
    pub fn open_in_daemon(machine: &Machine, what: &str) -> Result<Self, TemporaryError> {
        Self::begin(machine, what, &GuardianProgram::default(), None)
    }

    /// The same with another program as guardian.
    ///
    /// # Errors
    /// As [`TemporarySettings::open`].
    pub fn open_with_guardian(machine: &Machine, what: &str, program: &GuardianProgram) -> Result<Self, TemporaryError> {
        no_container(machine)?;
        Self::begin(machine, what, program, Aside::ask(machine))
    }

    fn begin(machine: &Machine, what: &str, program: &GuardianProgram, aside: Option<Aside>) -> Result<Self, TemporaryError> {
        let (machine, kernel) = copy(machine);
        privileges(&run(&machine, &*kernel))?;
        let state = StateDir::temporary(&machine);
        let locks = Locks::take(&machine, &state)?;
        let recovered = put_back_left(&machine, &*kernel, &state)?;
        let beginning = Beginning {
            kind: TransactionKind::Temporary,
            boot: run(&machine, &*kernel).boot_id(),
            profile: "",
            summary: what.to_owned(),
            steps: Vec::new(),
        };
        let guardian = Guardian::start(program, &machine).map_err(TemporaryError::Guardian)?;
        let created = Journal::create(&machine, &NoFaults, &state, beginning).map(|journal| journal.transaction().id.clone());
        let id = match created {
            Ok(id) => id,
            Err(error) => {
                guardian.dismiss();
                return Err(error.into());
            }
        };
        let (room, guardian) = (Bytes(0), Some(guardian));
        Ok(Self { machine, kernel, state, id, recovered, room, guardian, _locks: locks, _aside: aside })
    }

    /// Memory that is held now and free again before anything is put back, for it goes with this process: a swapoff can count on it.
    pub fn counts_on(&mut self, room: Bytes) {
        self.room = room;
    }

    /// Begins something that must end within `limit`: if [`TemporarySettings::disarm_watchdog`] is not called by then, the guardian kills
    /// this process, whether it is stopped or waits for what never comes, and puts everything back.
    ///
    /// # Errors
    /// [`TemporaryError::Guardian`] when there is none any more; nothing is begun without one.
    pub fn arm_watchdog(&mut self, limit: Duration) -> Result<(), TemporaryError> {
        let guardian = self.guardian.as_mut().ok_or_else(|| TemporaryError::Guardian(std::io::Error::other("it is gone")))?;
        guardian.arm(limit).map_err(TemporaryError::Guardian)
    }

    /// It has ended. A guardian that was killed meanwhile need not be told.
    pub fn disarm_watchdog(&mut self) {
        let _ = self.guardian.as_mut().map(Guardian::disarm);
    }

    /// What a killed run had left and was put back when this one began.
    #[must_use]
    pub fn recovered(&self) -> Option<&str> {
        self.recovered.as_deref()
    }

    /// Sets a knob by its name in the knob table: `zswap.compressor`, `vm.page-cluster`.
    ///
    /// Before zswap was ever on the kernel takes any compressor; so when `zswap.enabled` is set, what was set before is
    /// read again, and it is an error when the kernel replaced it.
    ///
    /// # Errors
    /// [`TemporaryError`]; the knob is as before then.
    pub fn knob(&mut self, name: &str, value: &str) -> Result<(), TemporaryError> {
        let unknown = || {
            let nearest = nearest(name, knobs::all().map(|knob| knob.name)).map(str::to_owned);
            KnobError::Unknown { name: name.to_owned(), nearest }
        };
        let knob = knobs::find(name).ok_or_else(unknown)?;
        let after = knob.normalise(value)?.into_owned();
        self.set(knob, after)
    }

    /// Sets a percentage beyond the range that its documentation has, where the kernel's code takes it.
    ///
    /// # Errors
    /// As [`TemporarySettings::knob`].
    pub fn percentage(&mut self, knob: &Knob, value: u64) -> Result<(), TemporaryError> {
        self.set(knob, value.to_string())
    }

    fn set(&mut self, knob: &Knob, after: String) -> Result<(), TemporaryError> {
        let name = knob.name;
        let absent = |why: &str| TemporaryError::Refused { what: name.to_owned(), why: why.into(), hint: String::new() };
        if knob.path.contains('*') {
            return Err(absent("it stands for one setting of each device, and no device was named"));
        }
        let before = read_knob(&run(&self.machine, &*self.kernel), knob.path)
            .map_err(|error| absent(&error_chain(&error)))?
            .ok_or_else(|| absent("this kernel does not have it"))?;
        let path = knob.path.to_owned();
        self.make(vec![Change::Knob { name: name.to_owned(), path, before, after, fallbacks: Vec::new() }])
    }

    /// Makes a swap file in a folder and switches it on; it is deleted in the end.
    ///
    /// # Errors
    /// [`TemporaryError`]: refused where the file system has too little room or takes no swap files. No file is left then.
    pub fn swap_file(&mut self, folder: &Path, size: Bytes, priority: i32) -> Result<PathBuf, TemporaryError> {
        let folder = self.inside(folder);
        let path = self.free_name(&folder);
        let page = self.kernel.page_size();
        let size = Bytes(size.0.div_ceil(page).max(1) * page);
        let found = {
            let run = run(&self.machine, &*self.kernel);
            let failed = |error| TemporaryError::Refused { what: path.clone(), why: error_chain(&error), hint: String::new() };
            let nearest = run.nearest_folder(&run.real(&path).map_err(failed)?);
            self.kernel.file_system(&nearest).map_err(|error| failed(StepError::io("look at", &folder, error)))?
        };
        let after = Some(SwapFileState { size, nocow: found.name == Some("btrfs") });
        self.make(vec![Change::SwapFile { path: path.clone(), before: None, after }, header(&path), on(&path, priority)])?;
        Ok(path.into())
    }

    /// Switches on an area that exists and is not in use.
    ///
    /// # Errors
    /// [`TemporaryError`]: refused when it is in use.
    pub fn swap_on(&mut self, path: &Path, priority: i32) -> Result<(), TemporaryError> {
        let path = self.inside(path);
        let found = {
            let run = run(&self.machine, &*self.kernel);
            run.real(&path).and_then(|real| run.area(&real))
        };
        let refused = |why: String, hint: &str| TemporaryError::Refused { what: path.clone(), why, hint: hint.into() };
        match found {
            Err(error) => Err(refused(error_chain(&error), "")),
            Ok(Some(_)) => Err(refused("it is in use as swap".into(), "name an area that is not, or a folder for a swap file")),
            Ok(None) => self.make(vec![on(&path, priority)]),
        }
    }

    /// Sets up an unused zram device, or a new one, and says its path; with a priority it is swap too.
    ///
    /// # Errors
    /// [`TemporaryError`]; the device is as before then.
    pub fn zram(&mut self, algorithm: &str, size: Bytes, swap_priority: Option<i32>) -> Result<String, TemporaryError> {
        let name = self.free_zram();
        let path = format!("/dev/{name}");
        let page = self.kernel.page_size();
        let disksize = Bytes(size.0.div_ceil(page).max(1) * page);
        let after = ZramState { algorithm: algorithm.to_owned(), disksize, ..ZramState::default() };
        let mut changes = vec![Change::Zram { name, before: None, after: Some(after) }];
        changes.extend(swap_priority.into_iter().flat_map(|priority| [header(&path), on(&path, priority)]));
        self.make(changes)?;
        Ok(path)
    }

    /// This moment.
    ///
    /// # Errors
    /// [`TemporaryError::Journal`].
    pub fn mark(&self) -> Result<Mark, TemporaryError> {
        Ok(Mark(self.journal()?.transaction().steps.len()))
    }

    /// Puts back what was set since.
    ///
    /// # Errors
    /// [`TemporaryError::NotRestored`].
    pub fn back_to(&mut self, mark: Mark) -> Result<(), TemporaryError> {
        let mut journal = self.journal()?;
        let undoing = undo_from(&run(&self.machine, &*self.kernel), &mut journal, mark.0, TORN);
        undoing.journal?;
        all_back(&undoing.steps)
    }

    /// Puts everything back, newest first. Pages of this process that went out are best given up before.
    ///
    /// # Errors
    /// [`TemporaryError::NotRestored`] with what could not be put back; the guardian goes on trying.
    pub fn close(mut self) -> Result<(), TemporaryError> {
        self.end()
    }

    fn end(&mut self) -> Result<(), TemporaryError> {
        let Some(guardian) = self.guardian.take() else { return Ok(()) };
        let result = self
            .journal()
            .and_then(|mut journal| put_back(&run(&self.machine, &*self.kernel), &mut journal))
            .and_then(|left| self.state.erase(&self.id).map_err(TemporaryError::from).and(all_back(&left)));
        match &result {
            Err(error) if is_unfinished(error, &self.state) => guardian.leave(),
            _ => guardian.dismiss(),
        }
        result
    }

    /// Makes changes that belong together: all of them or none.
    ///
    /// # Errors
    /// [`TemporaryError::Step`], or refused where no memory is left to switch an area off again; everything is as before then.
    pub fn make(&mut self, changes: Vec<Change>) -> Result<(), TemporaryError> {
        let run = run(&self.machine, &*self.kernel);
        if changes.iter().any(|change| matches!(change, Change::Swap { after: Some(_), .. })) {
            enough_memory(&run, self.room)?;
        }
        let mut journal = self.journal()?;
        let first = journal.transaction().steps.len();
        let what = journal.transaction().summary.clone();
        for change in changes {
            let words = change.to_string();
            if let Err(cause) = grow(&run, &mut journal, step(change, &what)) {
                let undoing = undo_from(&run, &mut journal, first, TORN);
                all_back(&undoing.steps)?;
                return Err(TemporaryError::Step { change: words, cause: Box::new(cause) });
            }
        }
        Ok(())
    }

    fn journal(&self) -> Result<Journal<'_>, TemporaryError> {
        Ok(Journal::open(&self.machine, &NoFaults, &self.state, &self.id)?)
    }

    /// The path as text, absolute.
    fn inside(&self, path: &Path) -> String {
        let path = if path.is_absolute() { path.to_owned() } else { std::env::current_dir().unwrap_or_default().join(path) };
        path.to_string_lossy().trim_end_matches('/').to_owned()
    }

    fn free_name(&self, folder: &str) -> String {
        let names = (0..).map(|number| format!("{folder}/swaptune-scratch-{}-{number}.swap", self.id));
        let mut free = names.filter(|path| !self.machine.exists(path));
        free.next().unwrap_or_default()
    }

    /// A zram device that is not set up, else the name that the next new one will get.
    fn free_zram(&self) -> String {
        let read = |name: &str, file: &str| {
            self.machine.read_text(&format!("/sys/block/{name}/{file}")).unwrap_or_default().trim().to_owned()
        };
        let names = self.machine.list("/sys/block").unwrap_or_default();
        let is_free = |name: &&String| {
            name.starts_with("zram") && read(name, "disksize") == "0" && matches!(read(name, "backing_dev").as_str(), "" | "none")
        };
        let next = || (0..).map(|number| format!("zram{number}")).find(|name| !names.contains(name));
        names.iter().find(is_free).cloned().or_else(next).unwrap_or_default()
    }
}

impl Drop for TemporarySettings {
    /// What fails here the guardian tries again, and tells.
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// Puts back what a killed run left, and says what it was.
///
/// # Errors
/// [`TemporaryError`]: busy while a living process has temporary settings.
pub fn recover(machine: &Machine) -> Result<Option<String>, TemporaryError> {
    let (machine, kernel) = copy(machine);
    let state = StateDir::temporary(&machine);
    if !machine.exists("/run/swaptune/scratch") || machine.is_live() && !machine.is_root() || all(&state)?.is_empty() {
        return Ok(None);
    }
    let _locks = Locks::take(&machine, &state)?;
    put_back_left(&machine, &*kernel, &state)
}

/// One command with temporary settings at a time, and no apply beside it.
#[derive(Debug)]
struct Locks {
    _scratch: Lock,
    _apply: Lock,
}

impl Locks {
    fn take(machine: &Machine, state: &StateDir) -> Result<Self, TemporaryError> {
        let persistent = StateDir::persistent(machine);
        state.create()?;
        persistent.create()?;
        Ok(Self { _scratch: Lock::take(&state.lock_path())?, _apply: Lock::take(&persistent.lock_path())? })
    }
}

fn copy(machine: &Machine) -> (Machine, Box<dyn Kernel>) {
    let machine = if machine.is_live() { Machine::live() } else { Machine::at(machine.root()) };
    let kernel = kernel::of(&machine);
    (machine, kernel)
}

fn run<'a>(machine: &'a Machine, kernel: &'a dyn Kernel) -> Run<'a> {
    Run { machine, kernel, faults: &NoFaults, progress: &|_| () }
}

/// In a container the settings are those of its host, and of everything beside it.
fn no_container(machine: &Machine) -> Result<(), TemporaryError> {
    let found = container(machine);
    let Some(found) = found.value() else { return Ok(()) };
    Err(TemporaryError::Refused {
        what: "temporary settings".into(),
        why: format!("this is a container ({}): its kernel's swap belongs to the host", found.kind),
        hint: "run it on the host".into(),
    })
}

/// A machine without any memory left could not switch a temporary area off again; `room` will be free by then.
fn enough_memory(run: &Run<'_>, room: Bytes) -> Result<(), TemporaryError> {
    let read = |key| run.meminfo(key).ok().flatten();
    let (Some(available), Some(total)) = (read("MemAvailable"), read("MemTotal")) else { return Ok(()) };
    let (available, total) = (Bytes(available.saturating_add(room.0)), Bytes(total));
    let margin = SwapoffRoom { used: Bytes(0), elsewhere: Bytes(0), available, total }.margin();
    if available > margin {
        return Ok(());
    }
    Err(TemporaryError::Refused {
        what: "temporary swap".into(),
        why: format!("{available} of memory are available, and {margin} must be to switch it off again"),
        hint: "end some applications first".into(),
    })
}

/// Puts back what a killed run left. The locks are held.
fn put_back_left(machine: &Machine, kernel: &dyn Kernel, state: &StateDir) -> Result<Option<String>, TemporaryError> {
    let (mut said, mut left) = (None, Vec::new());
    for transaction in all(state)? {
        // One that was killed at the very end has only its journal to be taken away.
        if transaction.status.is_pending() {
            let mut journal = Journal::open(machine, &NoFaults, state, &transaction.id)?;
            left.extend(put_back(&run(machine, kernel), &mut journal)?);
            said = Some(format!("what `{}` left when it was killed is put back ({})", transaction.summary, count(&transaction)));
        }
        state.erase(&transaction.id)?;
    }
    all_back(&left).map(|()| said)
}

fn count(transaction: &Transaction) -> String {
    match transaction.steps.iter().filter(|log| log.is_standing()).count() {
        1 => "1 change".into(),
        count => format!("{count} changes"),
    }
}

/// Undoes every step that stands. An error means that some can be undone later.
///
/// A journal that takes no more lines keeps nothing from being put back: what was undone is found so the next time, and it is erased after this.
fn put_back(run: &Run<'_>, journal: &mut Journal<'_>) -> Result<Vec<UndoReport>, TemporaryError> {
    let undo = JournalRecord::Undo { time: Stamp::now().text(), boot: run.boot_id(), asked: true };
    let is_told = journal.transaction().status == TransactionStatus::Undoing || journal.add(undo).is_ok();
    let steps = undo_all(run, journal, TORN).steps;
    if steps.iter().filter_map(UndoReport::not_undone).any(|left| left.failed) {
        all_back(&steps)?;
    }
    if is_told {
        let _ = journal.add(JournalRecord::End { ending: Ending::RolledBack });
    }
    Ok(steps)
}

fn all_back(steps: &[UndoReport]) -> Result<(), TemporaryError> {
    let left: Vec<NotUndone> = steps.iter().filter_map(UndoReport::not_undone).collect();
    if left.is_empty() { Ok(()) } else { Err(TemporaryError::NotRestored { left }) }
}

/// True when trying again may help.
fn is_unfinished(error: &TemporaryError, state: &StateDir) -> bool {
    matches!(error, TemporaryError::NotRestored { .. } | TemporaryError::Journal(_)) && !matches!(pending(state), Ok(None))
}

fn header(path: &str) -> Change {
    let after = Some(SwapHeaderState { uuid: Uuid::new_v4().to_string(), label: "swaptune-scratch".into() });
    Change::SwapHeader { path: path.to_owned(), before: None, after, wipe: false }
}

fn on(path: &str, priority: i32) -> Change {
    let after = Some(SwapState::at(priority));
    Change::Swap { path: path.to_owned(), before: None, after }
}

fn step(change: Change, what: &str) -> Step {
    let evidence = "asked for".to_owned();
    Step { change, when: When::Now, reason: what.to_owned(), evidence, provenance: "temporary".into(), risk: String::new() }
}
