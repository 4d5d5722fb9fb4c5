//! Idle processes in place of idle units: reads them, and has the kernel page out a part of their anonymous private mappings.
//!
//! All are read at every tenth tick, those of a unit once more right before it is asked. A process is held by a pidfd that is opened first,
//! and only then compared with the one that was looked at, so that a later process of the same number is never asked.

use std::collections::BTreeMap;
use std::io;

use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, getpid, pidfd_open};
use swaptune_core::Bytes;
use swaptune_core::control::UnitMoment;
use swaptune_core::control::processes::{ProcessId, ProcessMoment, Returned, shares};
use swaptune_core::parse::{maps, proc_cgroup, proc_stat, proc_status};

use super::units::ReclaimError;
use crate::machine::Machine;
use crate::processes::{Located, Locator, PageRun, Unseen};
use crate::sys::pages::{MOST_RANGES, ProcessRange, page_out};

/// Bits of `CapEff` (linux/capability.h): to open `/proc/PID/pagemap`, which its owner alone may read, to read the memory of any process, and to
/// give advice about it.
const CAPABILITIES: [u64; 3] = [1 << 2, 1 << 19, 1 << 23];
/// The score that protects a process from being killed when memory ends, and here from being paged out.
const PROTECTED: &str = "-1000";
/// Addresses that are searched for pages at once, and in one probe at most: a tick waits for it.
const WINDOW: usize = 256 << 20;
const MOST: u64 = 16 << 30;
/// Windows of one probe at most; mappings may be small.
const WINDOWS: usize = 1024;
/// What seldom changes of a process, its name, its group and its protection, is read at every tenth look.
const TURNS: u64 = 10;

/// Whether pages of others can be paged out here.
pub(super) fn may_page_out(machine: &Machine) -> bool {
    let status = machine.read_text("/proc/self/status").ok().and_then(|text| proc_status::parse(&text));
    let may = status.is_some_and(|status| CAPABILITIES.iter().all(|bit| status.capabilities & bit != 0));
    // Asked for nothing, the kernel says whether it knows the call, and a filter of the service whether it lets it through.
    may && machine.is_live() && pidfd_open(getpid(), PidfdFlags::empty()).is_ok_and(|us| page_out(us, &[]).is_ok())
}

/// The processes of one machine, looked at again and again.
#[derive(Debug)]
pub(super) struct WatchedProcesses<'a> {
    machine: &'a Machine,
    page: Bytes,
    tick_us: u64,
    looks: u64,
    returned: Returned,
    /// By the path of the unit that they stand for.
    units: BTreeMap<String, Vec<ProcessMoment>>,
    locator: Locator,
    /// Where the next probe of a process begins to search: pages that the kernel leaves where they are must not end every one.
    from: BTreeMap<ProcessId, u64>,
}

impl<'a> WatchedProcesses<'a> {
    pub(super) fn new(machine: &'a Machine) -> Self {
        let page = machine.page_size();
        let tick_us = 1_000_000 / rustix::param::clock_ticks_per_second().max(1);
        let (units, from) = (BTreeMap::new(), BTreeMap::new());
        Self { machine, page, tick_us, looks: 0, returned: Returned::new(page), units, locator: Locator::new(), from }
    }

    /// Reads all of them, and says what units they make.
    pub(super) fn look(&mut self, at_ms: u64) -> BTreeMap<String, UnitMoment> {
        let known: BTreeMap<ProcessId, ProcessMoment> =
            std::mem::take(&mut self.units).into_values().flatten().map(|process| (process.id, process)).collect();
        let pids = self.machine.list("/proc").unwrap_or_default();
        let pids = pids.iter().filter_map(|name| name.parse().ok());
        let turn = self.looks % TURNS;
        let earlier = |id: ProcessId| known.get(&id).filter(|_| u64::from(id.pid) % TURNS != turn);
        let found: Vec<ProcessMoment> = pids.filter_map(|pid| self.read(pid, earlier)).collect();
        self.looks += 1;
        self.returned.learn_all(&found);
        self.from.retain(|id, _| found.iter().any(|process| process.id == *id));
        for process in found {
            self.units.entry(process.path.clone()).or_default().push(process);
        }
        let unit = |(path, processes): (&String, &Vec<_>)| Some((path.clone(), self.returned.unit(path, at_ms, processes)?));
        self.units.iter().filter_map(unit).collect()
    }

    /// One unit as it is at this moment, of the processes that it had at the last look; `None` when they are gone.
    pub(super) fn unit(&mut self, path: &str, at_ms: u64) -> Option<UnitMoment> {
        let was: Vec<ProcessId> = self.units.get(path)?.iter().map(|process| process.id).collect();
        let fresh = was.iter().filter_map(|id| self.read(id.pid, |_| None).filter(|process| process.id == *id));
        // One that was moved belongs to another unit now.
        let fresh: Vec<ProcessMoment> = fresh.filter(|process| process.path == path).collect();
        self.returned.learn(&fresh);
        let unit = self.returned.unit(path, at_ms, &fresh);
        self.units.insert(path.to_owned(), fresh);
        unit
    }

    /// One process; `None` for one that has ended, for kernel threads, and for this one and those that it started: its guardian and its
    /// canaries. What seldom changes is taken from an earlier look where there is one.
    fn read<'b>(&self, pid: u32, known: impl Fn(ProcessId) -> Option<&'b ProcessMoment>) -> Option<ProcessMoment> {
        let text = |file: &str| self.machine.read_text(&format!("/proc/{pid}/{file}")).ok();
        let status = proc_status::parse(&text("status")?).filter(|status| status.has_memory)?;
        let stat = proc_stat::parse(&text("stat")?)?;
        if [pid, stat.parent].contains(&std::process::id()) {
            return None;
        }
        let id = ProcessId { pid, started: stat.started };
        let (path, may_swap) = match known(id) {
            Some(known) => (known.path.clone(), known.may_swap),
            None => {
                let membership = proc_cgroup::parse(&text("cgroup").unwrap_or_default());
                let may_swap = text("oom_score_adj")?.trim() != PROTECTED && self.group_may_swap(&membership.path);
                (membership.unit_path(&status.name, pid), may_swap)
            }
        };
        Some(ProcessMoment {
            id,
            path,
            cpu_us: stat.cpu_ticks.saturating_mul(self.tick_us),
            major_faults: stat.major_faults,
            anon: status.rss_anon,
            swapped: status.swap,
            locked: status.locked,
            may_swap,
        })
    }

    /// Version 1 has one word of an administrator for what must not be swapped. That of the root group is vm.swappiness, which is none.
    fn group_may_swap(&self, path: &str) -> bool {
        let swappiness = || self.machine.read_text(&format!("/sys/fs/cgroup/memory{path}/memory.swappiness")).ok();
        path == "/" || swappiness().is_none_or(|text| text.trim() != "0")
    }

    /// Has `bytes` of the unit at `path` paged out; says how much was.
    ///
    /// # Errors
    /// [`ReclaimError`], where none of its processes could be asked.
    pub(super) fn take(&mut self, path: &str, bytes: Bytes) -> Result<Bytes, ReclaimError> {
        let processes = self.units.get(path).ok_or(ReclaimError::Other)?;
        let mut taken: Result<Bytes, _> = Err(ReclaimError::Other);
        for (id, share) in shares(processes, bytes) {
            match (self.take_from(id, share), &mut taken) {
                (Ok(more), Ok(sum)) => sum.0 += more.0,
                (Err(_), Ok(_)) => {}
                (first, none) => *none = first,
            }
        }
        taken
    }

    fn take_from(&mut self, id: ProcessId, bytes: Bytes) -> Result<Bytes, ReclaimError> {
        let process = hold(self.machine, id)?;
        let text = self.machine.read_text(&format!("/proc/{}/maps", id.pid)).map_err(|_| ReclaimError::Other)?;
        let (page, mut taken, mut left) = (self.page.0, 0, bytes.0);
        for window in windows(&maps::parse(&text), self.from.get(&id).copied().unwrap_or(0)) {
            let found = self.locator.locate_in(id.pid, &[window])?;
            let ranges = ranges(&found, left / page, page);
            let Some(end) = ranges.last().map(|last| last.start + last.length as u64) else { continue };
            left -= ask(&process, &ranges)?;
            let still = self.locator.locate_in(id.pid, &[(window.0, end)])?;
            let was: usize = ranges.iter().map(|range| range.length).sum();
            taken += (was as u64).saturating_sub(still.present * page);
            self.from.insert(id, end);
            if left < page {
                break;
            }
        }
        Ok(Bytes(taken))
    }
}

/// Holds a process, if it is still the one that was looked at.
fn hold(machine: &Machine, id: ProcessId) -> Result<OwnedFd, ReclaimError> {
    let pid = i32::try_from(id.pid).ok().and_then(Pid::from_raw).ok_or(ReclaimError::Other)?;
    let process = pidfd_open(pid, PidfdFlags::empty())?;
    let stat = machine.read_text(&format!("/proc/{}/stat", id.pid)).ok().and_then(|text| proc_stat::parse(&text));
    if stat.is_some_and(|stat| stat.started == id.started) { Ok(process) } else { Err(ReclaimError::Other) }
}

/// Addresses to search, each within one anonymous private mapping, from `from` on and around.
fn windows(mappings: &[maps::MemoryMapping], from: u64) -> Vec<(u64, u64)> {
    let spans = || mappings.iter().filter(|mapping| mapping.is_anonymous()).map(|mapping| (mapping.start, mapping.end));
    let after = spans().map(|(start, end)| (start.max(from), end));
    let before = spans().map(|(start, end)| (start, end.min(from)));
    let cut = |(start, end): (u64, u64)| (start..end).step_by(WINDOW).map(move |at| (at, end.min(at + WINDOW as u64)));
    let mut searched = 0;
    let is_near = |(start, end): &(u64, u64)| {
        searched += end - start;
        searched <= MOST
    };
    after.chain(before).flat_map(cut).take_while(is_near).take(WINDOWS).collect()
}

/// The first pages of those in RAM, at most `pages`.
fn ranges(found: &Located, pages: u64, page: u64) -> Vec<ProcessRange> {
    let mut left = pages;
    let cut = |run: &PageRun| {
        let pages = run.pages.min(left);
        left -= pages;
        ProcessRange { start: run.start, length: usize::try_from(pages * page).unwrap_or(0) }
    };
    found.runs.iter().map(cut).take_while(|range| range.length > 0).collect()
}

/// Has ranges of one mapping paged out; says how much of them was gone through. Memory that the kernel does not page out, as what is locked,
/// and memory that was given up meanwhile are no errors.
fn ask(process: &OwnedFd, ranges: &[ProcessRange]) -> io::Result<u64> {
    let (mut asked, mut rest) = (0, ranges);
    while !rest.is_empty() {
        match page_out(process, &rest[..rest.len().min(MOST_RANGES)]) {
            Ok(bytes) => {
                asked += bytes as u64;
                rest = &rest[whole(rest, bytes)..];
            }
            Err(error) if error.raw_os_error() == Some(libc::ENOMEM) => rest = &rest[1..],
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => break,
            Err(error) => return Err(error),
        }
    }
    Ok(asked)
}

/// How many ranges these bytes are, from the first; one at least, so that no answer of the kernel is waited for twice.
fn whole(ranges: &[ProcessRange], bytes: usize) -> usize {
    let mut sum = 0_usize;
    let is_done = |range: &&ProcessRange| {
        sum = sum.saturating_add(range.length);
        sum <= bytes
    };
    ranges.iter().take_while(is_done).count().max(1)
}

impl From<Unseen> for ReclaimError {
    fn from(unseen: Unseen) -> Self {
        match unseen {
            Unseen::Vanished(_) => Self::Other,
            unseen => Self::Io(io::Error::other(unseen.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::write;

    const STATUS: &str =
        "Name:\tsleeper\nUid:\t0\t0\t0\t0\nVmSize:\t100000 kB\nVmLck:\t0 kB\nRssAnon:\t40960 kB\nVmSwap:\t1024 kB\n";

    fn play(root: &std::path::Path, pid: u32, parent: u32, started: u64, score: i32) {
        let stat = format!("{pid} (sleeper) S {parent} 1 1 0 -1 0 1 0 2 0 3 4 0 0 20 0 1 0 {started} 1 1 1\n");
        write(root, &format!("proc/{pid}/stat"), &stat);
        write(root, &format!("proc/{pid}/status"), STATUS);
        write(root, &format!("proc/{pid}/oom_score_adj"), &format!("{score}\n"));
        write(root, &format!("proc/{pid}/cgroup"), "4:memory:/box\n1:name=systemd:/system.slice/web.service\n");
    }

    #[test]
    fn who_is_left_alone_and_who_makes_a_unit() {
        let dir = tempfile::tempdir().unwrap();
        let us = std::process::id();
        let others = [us + 1, us + 2, us + 3, us + 4];
        play(dir.path(), us, 1, 5, 0);
        play(dir.path(), others[0], us, 6, 0);
        play(dir.path(), others[1], 1, 7, 0);
        play(dir.path(), others[2], 1, 8, -1000);
        play(dir.path(), others[3], 1, 9, 0);
        // A kernel thread has no memory.
        write(dir.path(), &format!("proc/{}/status", others[3]), "Name:\tkthreadd\nUid:\t0\t0\t0\t0\n");
        let machine = Machine::at(dir.path());
        let mut processes = WatchedProcesses::new(&machine);
        let units = processes.look(1000);
        let (path, unit) = units.first_key_value().unwrap();
        assert_eq!((units.len(), path.as_str(), unit.id), (1, "/system.slice/web.service", 7));
        assert_eq!(
            (unit.memory, unit.anon),
            (Bytes::from_mib(80), Bytes::from_mib(40)),
            "what is protected counts and gives nothing"
        );
        let pids = |processes: &WatchedProcesses| processes.units[path].iter().map(|process| process.id.pid).collect::<Vec<_>>();
        assert_eq!(pids(&processes), [others[1], others[2]]);
        // Right before a probe all is read anew: one is protected by now, one has moved, one is another process.
        play(dir.path(), others[1], 1, 7, -1000);
        assert!(!processes.unit(path, 2000).unwrap().may_swap);
        write(dir.path(), &format!("proc/{}/cgroup", others[1]), "1:name=systemd:/system.slice/db.service\n");
        play(dir.path(), others[2], 1, 99, 0);
        assert_eq!(processes.unit(path, 3000), None);
        // Its group may be kept from swap.
        play(dir.path(), others[1], 1, 7, 0);
        write(dir.path(), "sys/fs/cgroup/memory/box/memory.swappiness", "0\n");
        assert!(WatchedProcesses::new(&machine).look(4000).values().all(|unit| !unit.may_swap));
    }

    #[test]
    fn a_process_that_was_moved_is_found_where_it_is() {
        let dir = tempfile::tempdir().unwrap();
        // Another than this process, whose turn is neither the first look after the move nor the one before.
        let pid = (std::process::id() / TURNS as u32 + 1) * TURNS as u32 + 5;
        play(dir.path(), pid, 1, 5, 0);
        let machine = Machine::at(dir.path());
        let mut processes = WatchedProcesses::new(&machine);
        let mut paths = || processes.look(1000).into_keys().collect::<Vec<_>>();
        assert_eq!(paths(), ["/system.slice/web.service"]);
        write(dir.path(), &format!("proc/{pid}/cgroup"), "1:name=systemd:/system.slice/db.service\n");
        let looks = (0..TURNS).map(|_| paths()).collect::<Vec<_>>();
        assert!(looks.iter().any(|paths| *paths == ["/system.slice/web.service"]), "it is not read anew each time");
        assert_eq!(looks.last().unwrap(), &["/system.slice/db.service"]);
    }

    #[test]
    fn a_later_process_of_the_same_number_is_not_held() {
        let machine = Machine::live();
        let pid = std::process::id();
        let stat = proc_stat::parse(&machine.read_text("/proc/self/stat").unwrap()).unwrap();
        assert!(hold(&machine, ProcessId { pid, started: stat.started }).is_ok());
        for id in [
            ProcessId { pid, started: stat.started + 1 },
            ProcessId { pid: 0, started: 1 },
            ProcessId { pid: u32::MAX, started: 1 },
        ] {
            assert!(matches!(hold(&machine, id), Err(ReclaimError::Other)), "{id:?}");
        }
    }

    #[test]
    fn a_search_goes_on_where_the_last_one_ended_and_is_bounded() {
        let mapping = |start, end, name: &str| maps::MemoryMapping { start, end, read: true, private: true, name: name.into() };
        let mappings = [mapping(0x1000, 0x3000, ""), mapping(0x3000, 0x4000, "/lib/x.so"), mapping(0x5000, 0x6000, "[heap]")];
        assert_eq!(windows(&mappings, 0), [(0x1000, 0x3000), (0x5000, 0x6000)]);
        assert_eq!(windows(&mappings, 0x2000), [(0x2000, 0x3000), (0x5000, 0x6000), (0x1000, 0x2000)]);
        assert_eq!(windows(&mappings, u64::MAX), windows(&mappings, 0));
        let large = windows(&[mapping(0, 1 << 44, "")], 0);
        assert!(large.iter().all(|(start, end)| end - start == WINDOW as u64));
        assert_eq!((large.len() * WINDOW) as u64, MOST);
        assert_eq!(windows(&vec![mapping(0x1000, 0x2000, ""); 5000], 0).len(), WINDOWS);
    }

    #[test]
    fn no_more_pages_are_asked_for_than_wanted() {
        let runs = vec![PageRun { start: 0x1000, pages: 2 }, PageRun { start: 0x9000, pages: 4 }];
        let found = Located { runs, present: 6, ..Located::default() };
        let asked = |pages| ranges(&found, pages, 0x1000).iter().map(|range| (range.start, range.length)).collect::<Vec<_>>();
        assert_eq!(asked(0), []);
        assert_eq!(asked(3), [(0x1000, 0x2000), (0x9000, 0x1000)]);
        assert_eq!(asked(9), [(0x1000, 0x2000), (0x9000, 0x4000)]);
        let all = ranges(&found, 9, 0x1000);
        assert_eq!([0, 0x2000, 0x5000, 0x6000].map(|bytes| whole(&all, bytes)), [1, 1, 1, 2]);
    }
}
