//! Idle processes in place of idle units: where no control groups of version 2 count and reclaim memory, processes are grouped by the unit
//! that systemd names them by, and stand each for themselves elsewhere.
//!
//! What the kernel does not say of such a unit follows from its processes. Processor time and memory are sums. What came back is the larger
//! of two counts of each process: major faults, and by how much its memory in swap fell; read-ahead brings pages back that no major fault
//! counts, and the memory in swap says nothing of files.

use std::collections::BTreeMap;

use super::moment::UnitMoment;
use crate::units::Bytes;

/// A process: its number, and when it began, which tells it from a later one of the same number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProcessId {
    /// Clock ticks from the boot to its start.
    pub started: u64,
    /// Its number.
    pub pid: u32,
}

/// One process at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessMoment {
    /// Which.
    pub id: ProcessId,
    /// Path of the unit that it belongs to; without one its group, its name and its number.
    pub path: String,
    /// Processor time that it used, children that it waited for included, µs.
    pub cpu_us: u64,
    /// Major faults, children that it waited for included.
    pub major_faults: u64,
    /// Anonymous memory in RAM.
    pub anon: Bytes,
    /// Anonymous memory in swap.
    pub swapped: Bytes,
    /// Memory that it has locked.
    pub locked: Bytes,
    /// Whether its memory may be swapped: it is not protected (`oom_score_adj` of -1000), nor is its group (`memory.swappiness` of 0).
    pub may_swap: bool,
}

impl ProcessMoment {
    /// What of it may be taken.
    fn gives(&self) -> Bytes {
        if self.may_swap { Bytes(self.anon.0.saturating_sub(self.locked.0)) } else { Bytes(0) }
    }
}

/// What is known of one process from earlier looks.
#[derive(Clone, Copy, Debug)]
struct KnownProcess {
    major_faults: u64,
    swapped: Bytes,
    /// Pages that came back.
    back: u64,
}

/// What came back to processes since they were first seen.
#[derive(Clone, Debug, Default)]
pub struct Returned {
    page: Bytes,
    known: BTreeMap<ProcessId, KnownProcess>,
}

impl Returned {
    /// Nothing yet; `page` is the size of a page.
    #[must_use]
    pub fn new(page: Bytes) -> Self {
        Self { page, ..Self::default() }
    }

    /// Learns from all processes that there are; those that have ended are forgotten.
    pub fn learn_all(&mut self, now: &[ProcessMoment]) {
        let known = std::mem::take(&mut self.known);
        self.known = now.iter().map(|process| (process.id, next(known.get(&process.id), process, self.page))).collect();
    }

    /// Learns from some of them.
    pub fn learn(&mut self, now: &[ProcessMoment]) {
        for process in now {
            let next = next(self.known.get(&process.id), process, self.page);
            self.known.insert(process.id, next);
        }
    }

    /// Processes that stand for one unit, as a law sees that; `None` without any.
    #[must_use]
    pub fn unit(&self, path: &str, at_ms: u64, processes: &[ProcessMoment]) -> Option<UnitMoment> {
        let sum = |of: fn(&ProcessMoment) -> u64| processes.iter().map(of).fold(0, u64::saturating_add);
        let anon = Bytes(sum(|process| process.gives().0));
        Some(UnitMoment {
            path: path.to_owned(),
            // A unit whose first process is another one was started again.
            id: processes.iter().map(|process| process.id.started).min()?,
            at_ms: at_ms.max(1),
            cpu_us: sum(|process| process.cpu_us),
            memory: Bytes(sum(|process| process.anon.0)),
            swapped: Some(Bytes(sum(|process| process.swapped.0))),
            refaults: processes.iter().filter_map(|process| self.known.get(&process.id)).map(|known| known.back).sum(),
            anon,
            may_swap: anon > Bytes(0),
            ..UnitMoment::default()
        })
    }
}

fn next(was: Option<&KnownProcess>, now: &ProcessMoment, page: Bytes) -> KnownProcess {
    let back = was.map_or(0, |was| {
        let faults = now.major_faults.saturating_sub(was.major_faults);
        let fell = was.swapped.0.saturating_sub(now.swapped.0) / page.0.max(1);
        was.back + faults.max(fell)
    });
    KnownProcess { major_faults: now.major_faults, swapped: now.swapped, back }
}

/// Which processes of a unit are asked for how much, those with most to give first.
#[must_use]
pub fn shares(processes: &[ProcessMoment], bytes: Bytes) -> Vec<(ProcessId, Bytes)> {
    let mut by_size: Vec<(ProcessId, Bytes)> = processes.iter().map(|process| (process.id, process.gives())).collect();
    by_size.sort_by_key(|(id, gives)| (std::cmp::Reverse(*gives), *id));
    let mut left = bytes;
    for (_, share) in &mut by_size {
        *share = (*share).min(left);
        left.0 -= share.0;
    }
    by_size.retain(|(_, share)| share.0 > 0);
    by_size
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: Bytes = Bytes(4096);

    fn process(pid: u32) -> ProcessMoment {
        let id = ProcessId { pid, started: u64::from(pid) * 10 };
        ProcessMoment { id, may_swap: true, ..ProcessMoment::default() }
    }

    #[test]
    fn a_unit_is_the_sum_of_its_processes() {
        let make = |pid, anon, may_swap| ProcessMoment {
            anon: Bytes::from_mib(anon),
            locked: Bytes::from_mib(1),
            swapped: Bytes::from_mib(2),
            cpu_us: 10,
            may_swap,
            ..process(pid)
        };
        let processes = [make(9, 30, true), make(4, 20, false), make(5, 1, true)];
        let unit = Returned::new(PAGE).unit("/u.service", 5, &processes).unwrap();
        assert_eq!((unit.id, unit.cpu_us, unit.memory, unit.swapped), (40, 30, Bytes::from_mib(51), Some(Bytes::from_mib(6))));
        assert_eq!((unit.anon, unit.may_swap), (Bytes::from_mib(29), true), "neither what is locked nor what is protected");
        assert!(!Returned::new(PAGE).unit("/u.service", 5, &processes[1..]).unwrap().may_swap);
        assert_eq!(Returned::new(PAGE).unit("/u.service", 5, &[]), None);
    }

    #[test]
    fn what_came_back_is_what_was_waited_for_or_what_left_swap() {
        let mut returned = Returned::new(PAGE);
        let mut see = |major_faults, swapped_pages: u64| {
            let now = [ProcessMoment { major_faults, swapped: Bytes(swapped_pages * 4096), ..process(3) }];
            returned.learn(&now);
            returned.unit("/x", 1, &now).unwrap().refaults
        };
        assert_eq!(see(100, 50), 0, "what was before it was seen is not known");
        assert_eq!(see(105, 50), 5, "pages of files");
        assert_eq!(see(106, 42), 13, "read-ahead: eight pages for one fault");
        assert_eq!(see(106, 90), 13, "what goes out is no return");
        assert_eq!(see(116, 85), 23);
        // Another process of the same number begins anew; one that has ended is forgotten.
        returned.learn_all(&[process(4)]);
        let again = [process(3)];
        assert_eq!(returned.unit("/x", 1, &again).unwrap().refaults, 0);
    }

    #[test]
    fn those_with_most_give_first_and_no_more_than_they_have() {
        let make = |pid, mib, may_swap| ProcessMoment { anon: Bytes::from_mib(mib), may_swap, ..process(pid) };
        let processes = [make(1, 3, true), make(2, 8, true), make(3, 50, false), make(4, 8, true)];
        let share =
            |mib| shares(&processes, Bytes::from_mib(mib)).iter().map(|(id, part)| (id.pid, part.0 >> 20)).collect::<Vec<_>>();
        assert_eq!(share(5), [(2, 5)]);
        assert_eq!(share(17), [(2, 8), (4, 8), (1, 1)]);
        assert_eq!(share(100), [(2, 8), (4, 8), (1, 3)]);
        assert_eq!(share(0), []);
    }
}
