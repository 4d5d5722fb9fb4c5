//! Processes with memory in swap. `/proc/PID/status` has it without a look at any page of the process.

use std::collections::BTreeMap;

use swaptune_core::Fact;
use swaptune_core::metrics::ProcessUse;
use swaptune_core::parse::proc_status;

use super::{LARGEST, is_turn};
use crate::machine::Machine;

/// The processes that were there at the last look.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    known: BTreeMap<u32, ProcessUse>,
    largest: Vec<u32>,
}

impl Tasks {
    pub fn look(&mut self, machine: &Machine, turn: u64) -> Fact<Vec<ProcessUse>> {
        let names = match machine.list("/proc") {
            Ok(names) => names,
            Err(error) => return error.absent(),
        };
        let mut was = std::mem::take(&mut self.known);
        for pid in names.iter().filter_map(|name| name.parse().ok()) {
            let known = was.remove(&pid).filter(|_| !is_turn(u64::from(pid), turn) && !self.largest.contains(&pid));
            let found = known.or_else(|| read(machine, pid));
            self.known.extend(found.map(|process| (pid, process)));
        }
        let mut swapped: Vec<ProcessUse> = self.known.values().filter(|process| process.swap.0 > 0).cloned().collect();
        swapped.sort_unstable_by(|a, b| b.swap.cmp(&a.swap).then(a.pid.cmp(&b.pid)));
        swapped.truncate(LARGEST);
        self.largest = swapped.iter().map(|process| process.pid).collect();
        Fact::known(swapped, "/proc/PID/status VmSwap")
    }
}

/// `None` for one that has ended meanwhile. A kernel thread has nothing in swap and is known as that.
fn read(machine: &Machine, pid: u32) -> Option<ProcessUse> {
    let status = proc_status::parse(&machine.read_text(&format!("/proc/{pid}/status")).ok()?)?;
    Some(ProcessUse { pid, name: status.name, swap: status.swap })
}
