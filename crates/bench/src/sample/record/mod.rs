//! Recording which pages of running processes are used, as a trace.
//!
//! All processes that are meant are looked at again and again. A look tells what became of each page since the one before:
//! [`swaptune_host::processes::watch`] says how far that can be seen. Each page that was used in between becomes one event, however
//! often it was used; all events of a look bear its time, and stand in the order of process numbers and addresses, because in which
//! order they happened is not known. Pages that went come first. The first look writes every page that is there, as an allocation.
//!
//! Only what is followed is held in memory: 16 bytes a page, and some more for the process that is being looked at. Events go to the file as they are found.

mod pages;

use std::collections::{BTreeMap, HashSet};
use std::io::{self, Write};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde::Serialize;
use swaptune_core::Bytes;
use swaptune_host::machine::Machine;
use swaptune_host::processes::cold::BITMAP;
use swaptune_host::processes::watch::{WatchedProcess, Watcher};
use swaptune_host::processes::{self, Process, ProcessChoice, Unseen, page_bytes};
use swaptune_host::stop::Stop;
use swaptune_tiers::trace::binary::{BinaryWriter, Columns};
use swaptune_tiers::trace::{Event, Op};
use thiserror::Error;

use self::pages::{AccessBasis, FollowedPages, Ids, PageAccess};
use super::{GroupKind, SampleError, group_of_process};

/// How long a wish to stop may go unnoticed.
const NOTICE: Duration = Duration::from_millis(50);

/// What to record.
#[derive(Clone, Debug)]
pub struct RecordRequest {
    /// Which processes.
    pub choice: ProcessChoice,
    /// One control group of the trace a systemd unit, where a process belongs to one; else one a process.
    pub by_unit: bool,
    /// From one look to the next.
    pub interval: Duration,
    /// From the first look to the last.
    pub length: Duration,
}

/// Why nothing was recorded.
#[derive(Debug, Error)]
pub enum AccessRecordError {
    /// There is nothing to look at.
    #[error(transparent)]
    Nothing(#[from] SampleError),
    /// Our own pages could not be looked at, or the trace not be written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The number of a control group is 16 bits wide.
    #[error("found more than 65536 units or processes, expected at most as many as a trace can number")]
    Groups,
}

/// What was recorded, and how far it can be believed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AccessRecording {
    /// Which processes were meant.
    pub of: String,
    /// From the first look to the last.
    pub seconds: f64,
    /// From one look to the next, as was asked for.
    pub interval_seconds: f64,
    /// How often the processes were looked at.
    pub looks: u32,
    /// Looks that began late because the one before took longer than an interval.
    pub late: u32,
    /// Time that looking took, all looks together.
    pub looking_seconds: f64,
    /// Whether each page that was touched was seen; else how many of each mapping were.
    pub each_page: bool,
    /// Whether it was seen which pages were written; else every access but the first is a read.
    pub writes_seen: bool,
    /// Processes that were followed.
    pub processes: u64,
    /// Of them those that ended meanwhile.
    pub ended: u64,
    /// Processes that may not be looked at.
    pub forbidden: u64,
    /// Their anonymous memory.
    pub forbidden_memory: Bytes,
    /// Processes that could not be looked at for another reason.
    pub failed: u64,
    /// Numbers of pages in the trace.
    pub pages: u32,
    /// Bytes of a page.
    pub page_size: u64,
    /// What happened.
    pub events: Events,
    /// Control groups of the trace: the first has number 0.
    pub groups: Vec<RecordedGroup>,
}

/// Events of a trace by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Events {
    /// Pages that were there when their process was first looked at.
    pub held: u64,
    /// Pages made since.
    pub made: u64,
    /// Further accesses that were seen to be writes.
    pub writes: u64,
    /// Further accesses that were not.
    pub reads: u64,
    /// Of writes and reads those of which only the mapping is known.
    pub assumed: u64,
    /// Pages that went.
    pub frees: u64,
}

impl Events {
    /// All of them.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.held + self.made + self.writes + self.reads + self.frees
    }

    fn count(&mut self, access: PageAccess) {
        *match (access.basis, access.op) {
            (AccessBasis::Gone, _) => &mut self.frees,
            (AccessBasis::Held, _) => &mut self.held,
            (AccessBasis::Made, _) => &mut self.made,
            (_, Op::Write) => &mut self.writes,
            _ => &mut self.reads,
        } += 1;
        self.assumed += u64::from(access.basis == AccessBasis::Assumed);
    }
}

/// A control group of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RecordedGroup {
    /// Name of the unit, or name and number of the process.
    pub name: String,
    /// Which of both.
    pub kind: GroupKind,
    /// What happened to its pages.
    pub events: Events,
}

/// A process that is followed.
struct Followed {
    started: u64,
    watched: WatchedProcess,
    pages: FollowedPages,
    group: u16,
}

struct AccessRecorder<W: Write> {
    watcher: Watcher,
    writer: BinaryWriter<W>,
    ids: Ids,
    followed: BTreeMap<u32, Followed>,
    /// Number and start of processes that cannot be looked at.
    unseen: HashSet<(u32, u64)>,
    numbers: BTreeMap<String, u16>,
    recording: AccessRecording,
}

/// Records until the time is over, until it is told to stop, or until the last of the processes that were named by number has
/// ended. Tells `on` how far it is. Gives back what was written to.
///
/// # Errors
/// [`AccessRecordError`] when there is no process to look at, or when writing fails.
pub fn record<W: Write>(
    machine: &Machine,
    request: &RecordRequest,
    out: W,
    stop: &Stop,
    on: &mut dyn FnMut(Duration, &AccessRecording),
) -> Result<(AccessRecording, W), AccessRecordError> {
    let mut recorder = AccessRecorder {
        watcher: Watcher::new(Path::new(BITMAP))?,
        writer: BinaryWriter::new(out, Columns::ALL)?,
        ids: Ids::default(),
        followed: BTreeMap::new(),
        unseen: HashSet::new(),
        numbers: BTreeMap::new(),
        recording: AccessRecording {
            of: request.choice.to_string(),
            page_size: page_bytes() as u64,
            ..AccessRecording::default()
        },
    };
    let start = Instant::now();
    let mut next = Duration::ZERO;
    loop {
        let at = start.elapsed();
        recorder.look(machine, request, at, stop)?;
        let done = start.elapsed();
        recorder.recording.looking_seconds += (done - at).as_secs_f64();
        recorder.recording.seconds = at.as_secs_f64();
        next += request.interval;
        if recorder.is_over(request) || next > request.length {
            break;
        }
        recorder.recording.late += u32::from(done > next);
        next = next.max(done);
        // After each look at least once, also where the next is late already.
        on(start.elapsed(), &recorder.recording);
        while start.elapsed() < next && !stop.is_asked() {
            sleep(NOTICE.min(next.saturating_sub(start.elapsed())));
            on(start.elapsed(), &recorder.recording);
        }
        if stop.is_asked() {
            break;
        }
    }
    recorder.finish(request)
}

impl<W: Write> AccessRecorder<W> {
    /// Processes named by number have no replacement.
    fn is_over(&self, request: &RecordRequest) -> bool {
        let choice = &request.choice;
        self.followed.is_empty() && !choice.is_everything() && choice.units.is_empty() && choice.cgroups.is_empty()
    }

    /// Looks at every process that is meant.
    fn look(&mut self, machine: &Machine, request: &RecordRequest, at: Duration, stop: &Stop) -> Result<(), AccessRecordError> {
        let listing = processes::list(machine, &request.choice).map_err(SampleError::from)?;
        let time = u64::try_from(at.as_nanos()).unwrap_or(u64::MAX);
        let is_first = self.recording.looks == 0;
        if is_first && listing.processes.is_empty() {
            return Err(SampleError::NoneMatches(request.choice.to_string()).into());
        }
        let there: BTreeMap<u32, u64> = listing.processes.iter().map(|process| (process.pid, process.started)).collect();
        let gone: Vec<u32> =
            self.followed.iter().filter(|(pid, one)| there.get(pid) != Some(&one.started)).map(|(pid, _)| *pid).collect();
        for followed in gone.into_iter().filter_map(|pid| self.followed.remove(&pid)).collect::<Vec<_>>() {
            self.end(followed, time)?;
        }
        for process in &listing.processes {
            if stop.is_asked() && !is_first {
                break;
            }
            self.follow(process, request.by_unit, time)?;
        }
        self.recording.looks += 1;
        if is_first && self.followed.is_empty() && self.recording.forbidden > 0 {
            return Err(SampleError::Forbidden(self.recording.forbidden).into());
        }
        Ok(())
    }

    /// Looks at one process.
    fn follow(&mut self, process: &Process, by_unit: bool, time: u64) -> Result<(), AccessRecordError> {
        let (pid, started) = (process.pid, process.started);
        if self.unseen.contains(&(pid, started)) {
            return Ok(());
        }
        let known = self.followed.remove(&pid);
        let is_new = known.is_none();
        let new = || Followed { started, watched: WatchedProcess::new(pid), pages: FollowedPages::default(), group: 0 };
        let mut followed = known.unwrap_or_else(new);
        let look = match self.watcher.look(&mut followed.watched) {
            Ok(look) => look,
            Err(unseen) => {
                self.miss(process, &unseen);
                return if is_new { Ok(()) } else { self.end(followed, time) };
            }
        };
        if is_new {
            followed.group = self.group(process, by_unit)?;
            self.recording.processes += 1;
        }
        let (each_page, number) = (self.watcher.sight().each_page, self.recording.looks);
        let (writer, recording, group) = (&mut self.writer, &mut self.recording, followed.group);
        let mut put = |access| put(writer, recording, group, time, access);
        followed.pages.step(&look, each_page, number, &mut self.ids, &mut put)?;
        self.followed.insert(pid, followed);
        Ok(())
    }

    /// The number of the control group of a process.
    fn group(&mut self, process: &Process, by_unit: bool) -> Result<u16, AccessRecordError> {
        let (name, kind) = group_of_process(process, by_unit);
        if let Some(number) = self.numbers.get(&name) {
            return Ok(*number);
        }
        let number = u16::try_from(self.recording.groups.len()).map_err(|_| AccessRecordError::Groups)?;
        self.numbers.insert(name.clone(), number);
        self.recording.groups.push(RecordedGroup { name, kind, events: Events::default() });
        Ok(number)
    }

    /// A process that cannot be looked at.
    fn miss(&mut self, process: &Process, unseen: &Unseen) {
        match unseen {
            Unseen::Vanished(_) => return,
            Unseen::Forbidden(_) => {
                self.recording.forbidden += 1;
                self.recording.forbidden_memory.0 += process.rss_anon.0;
            }
            Unseen::Failed { .. } => self.recording.failed += 1,
        }
        self.unseen.insert((process.pid, process.started));
    }

    /// A process is there no longer: its pages go.
    fn end(&mut self, followed: Followed, time: u64) -> Result<(), AccessRecordError> {
        self.recording.ended += 1;
        let (writer, recording, group) = (&mut self.writer, &mut self.recording, followed.group);
        Ok(followed.pages.end(&mut self.ids, &mut |access| put(writer, recording, group, time, access))?)
    }

    fn finish(mut self, request: &RecordRequest) -> Result<(AccessRecording, W), AccessRecordError> {
        let sight = self.watcher.sight();
        let recording = &mut self.recording;
        (recording.each_page, recording.writes_seen) = (sight.each_page, sight.writes);
        recording.interval_seconds = request.interval.as_secs_f64();
        recording.pages = self.ids.count();
        // What pages compress to is not known: reading them would count as using them.
        Ok((self.recording, self.writer.finish(&[])?))
    }
}

fn put(
    writer: &mut BinaryWriter<impl Write>,
    recording: &mut AccessRecording,
    group: u16,
    time: u64,
    access: PageAccess,
) -> io::Result<()> {
    recording.events.count(access);
    if let Some(recorded) = recording.groups.get_mut(usize::from(group)) {
        recorded.events.count(access);
    }
    writer.push(Event { time, page: access.page, cgroup: group, op: access.op })
}
