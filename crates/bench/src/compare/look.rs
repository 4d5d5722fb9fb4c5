//! What the kernel counts over a run, and what the machine looks like meanwhile.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use swaptune_core::Bytes;
use swaptune_core::measurement::{CompareCounts, CompareLook};
use swaptune_core::parse::{keyed, pressure};
use swaptune_host::machine::Machine;

/// The first interval of a timeline.
const INTERVAL: Duration = Duration::from_millis(250);
/// A timeline that is longer keeps every second look, and looks half as often from then on.
const LOOKS: usize = 240;

/// Counters of the kernel at a moment.
#[derive(Debug)]
pub(super) struct KernelCounters {
    vmstat: BTreeMap<String, u64>,
    some_us: u64,
    full_us: u64,
}

impl KernelCounters {
    pub(super) fn read(machine: &Machine) -> Self {
        let text = |path| machine.read_text(path).unwrap_or_default();
        let stall = pressure::parse(&text("/proc/pressure/memory"));
        Self {
            vmstat: keyed::counts(&text("/proc/vmstat")),
            some_us: stall.as_ref().map_or(0, |stall| stall.some_total_us),
            full_us: stall.as_ref().map_or(0, |stall| stall.full_total_us),
        }
    }

    /// What was counted since an earlier moment.
    pub(super) fn since(&self, then: &Self) -> CompareCounts {
        let count = |key: &str| {
            let at = |counters: &Self| counters.vmstat.get(key).copied().unwrap_or(0);
            at(self).saturating_sub(at(then))
        };
        CompareCounts {
            swap_reads: count("pswpin"),
            swap_writes: count("pswpout"),
            loads: count("zswpin"),
            stores: count("zswpout"),
            written_back: count("zswpwb"),
            major_faults: count("pgmajfault"),
            refaults_anon: count("workingset_refault_anon"),
            refaults_file: count("workingset_refault_file"),
            oom_kills: count("oom_kill"),
            some_stall_us: self.some_us.saturating_sub(then.some_us),
            full_stall_us: self.full_us.saturating_sub(then.full_us),
        }
    }
}

/// Looks at the machine in a run, as many as a picture needs.
#[derive(Debug)]
pub(super) struct Timeline {
    begun: Instant,
    interval: Duration,
    last: (Instant, u64),
    looks: Vec<CompareLook>,
}

impl Timeline {
    /// Begins, with a first look.
    pub(super) fn begin(machine: &Machine) -> Self {
        let now = Instant::now();
        let mut timeline = Self { begun: now, interval: INTERVAL, last: (now, stalled(machine)), looks: Vec::new() };
        timeline.add(machine);
        timeline
    }

    /// Looks, if it is time.
    pub(super) fn look(&mut self, machine: &Machine) {
        if self.last.0.elapsed() < self.interval {
            return;
        }
        self.add(machine);
        if self.looks.len() > LOOKS {
            let mut is_kept = false;
            self.looks.retain(|_| {
                is_kept = !is_kept;
                is_kept
            });
            self.interval *= 2;
        }
    }

    /// Looks a last time.
    pub(super) fn end(mut self, machine: &Machine) -> Vec<CompareLook> {
        self.add(machine);
        self.looks
    }

    fn add(&mut self, machine: &Machine) {
        let now = Instant::now();
        let lines = keyed::meminfo(&machine.read_text("/proc/meminfo").unwrap_or_default());
        let bytes = |key: &str| lines.get(key).copied().unwrap_or(Bytes(0));
        let (since, before) = std::mem::replace(&mut self.last, (now, stalled(machine)));
        let passed = now.saturating_duration_since(since).as_secs_f64();
        let stalled = self.last.1.saturating_sub(before) as f64 / 1e4;
        self.looks.push(CompareLook {
            at_s: now.saturating_duration_since(self.begun).as_secs_f64(),
            pool: bytes("Zswap"),
            swap: Bytes(bytes("SwapTotal").0.saturating_sub(bytes("SwapFree").0)),
            some_stall_percent: if passed > 0.0 { (stalled / passed).min(100.0) } else { 0.0 },
        });
    }
}

/// Time in which some task stalled on memory, µs.
fn stalled(machine: &Machine) -> u64 {
    let text = machine.read_text("/proc/pressure/memory").unwrap_or_default();
    pressure::parse(&text).map_or(0, |stall| stall.some_total_us)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_timeline_is_thinned() {
        let machine = Machine::live();
        let mut timeline = Timeline::begin(&machine);
        timeline.interval = Duration::ZERO;
        (0..LOOKS).for_each(|_| timeline.look(&machine));
        assert!(timeline.looks.len() <= LOOKS / 2 + 1, "{}", timeline.looks.len());
        assert_eq!(timeline.looks[0].some_stall_percent, 0.0);
        let looks = timeline.end(&machine);
        assert!(looks.is_sorted_by(|a, b| a.at_s < b.at_s));
    }

    #[test]
    fn counters_are_differences_and_never_negative() {
        let counters = |pages: u64, us| KernelCounters {
            vmstat: BTreeMap::from([("pswpin".to_owned(), pages), ("oom_kill".to_owned(), 1)]),
            some_us: us,
            full_us: 0,
        };
        let counts = counters(9, 5).since(&counters(4, 6));
        assert_eq!((counts.swap_reads, counts.oom_kills, counts.some_stall_us, counts.loads), (5, 0, 0, 0));
    }
}
