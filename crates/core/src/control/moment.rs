//! What the laws see of a machine: one moment, and the time between two.

use serde::{Deserialize, Serialize};

use crate::units::Bytes;

/// One look at a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// Milliseconds since boot, sleep included (`/proc/uptime`).
    pub at_ms: u64,
    /// `MemTotal`.
    pub ram: Bytes,
    /// `MemAvailable`.
    pub available: Bytes,
    /// Size of a page.
    pub page: Bytes,
    /// `Zswap` of meminfo: what the pool takes.
    pub pool: Bytes,
    /// `Zswapped` of meminfo: what is in it, before it was compressed.
    pub stored: Bytes,
    /// `SwapTotal`.
    pub swap: Bytes,
    /// `SwapFree`.
    pub swap_free: Bytes,
    /// `max_pool_percent`.
    pub limit_percent: u64,
    /// `accept_threshold_percent`.
    pub accept_percent: u64,
    /// Pages that came from swap devices since boot.
    pub pswpin: u64,
    /// Pages that went to swap devices, zswap's write-back included.
    pub pswpout: u64,
    /// Pages that zswap wrote back.
    pub zswpwb: u64,
    /// Pages of files that came back soon after they left RAM.
    pub refault_file: u64,
    /// Time in which some task waited for memory, µs; `None` where the kernel does not say.
    pub memory_stall_us: Option<u64>,
    /// The same for I/O.
    pub io_stall_us: Option<u64>,
    /// Units and other groups with memory of their own.
    pub units: Vec<UnitMoment>,
}

/// One unit at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UnitMoment {
    /// Path of its group below the mount point.
    pub path: String,
    /// Inode of its folder: a group that was removed and made again is another one.
    pub id: u64,
    /// When it was read.
    pub at_ms: u64,
    /// Processor time that it used, µs.
    pub cpu_us: u64,
    /// `memory.current`.
    pub memory: Bytes,
    /// What `memory.min` and `memory.low` protect.
    pub protected: Bytes,
    /// Anonymous pages and pages of files that came back since it began.
    pub refaults: u64,
    /// Anonymous memory in RAM.
    pub anon: Bytes,
    /// Whether its memory may be swapped (`memory.swap.max` is not 0, `memory.zswap.max` neither).
    pub may_swap: bool,
}

/// What happened between two moments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// Its length, ms.
    pub ms: u64,
    /// Pages from swap devices, a second.
    pub swapped_in: f64,
    /// Pages to swap devices that zswap did not write back, a second: stores that were refused are among them.
    pub past_zswap: f64,
    /// Pages of files that came back, a second.
    pub refaults: f64,
    /// Microseconds of a second that some task waited for memory.
    pub memory_stall: Option<f64>,
    /// The same for I/O.
    pub io_stall: Option<f64>,
    /// Pages that zswap wrote back.
    pub written_back: u64,
}

impl Span {
    /// The span; `None` when the clock did not go on, or a counter began anew. `ours_us` is what this process itself waited for memory
    /// in it while it reclaimed, which counts as a stall too.
    #[must_use]
    pub fn between(before: &Moment, now: &Moment, ours_us: u64) -> Option<Self> {
        let ms = now.at_ms.checked_sub(before.at_ms).filter(|ms| *ms > 0)?;
        let a_second = |count: u64| count as f64 * 1000.0 / ms as f64;
        let stall = |was: Option<u64>, is: Option<u64>, ours: u64| {
            was.zip(is).map(|(was, is)| a_second(is.saturating_sub(was).saturating_sub(ours)))
        };
        let out = now.pswpout.checked_sub(before.pswpout)?;
        let written_back = now.zswpwb.checked_sub(before.zswpwb)?;
        Some(Self {
            ms,
            swapped_in: a_second(now.pswpin.checked_sub(before.pswpin)?),
            // The two are read one after the other: a page between them is no page that went past.
            past_zswap: a_second(out.saturating_sub(written_back)),
            refaults: a_second(now.refault_file.checked_sub(before.refault_file)?),
            memory_stall: stall(before.memory_stall_us, now.memory_stall_us, ours_us),
            io_stall: stall(before.io_stall_us, now.io_stall_us, 0),
            written_back,
        })
    }
}

impl Moment {
    /// A share of RAM in bytes, as the kernel rounds it: down to whole pages.
    #[must_use]
    pub fn of_ram(&self, percent: u64) -> Bytes {
        let page = self.page.0.max(1);
        Bytes(self.ram.0 / page * percent / 100 * page)
    }

    /// The limit of the pool.
    #[must_use]
    pub fn limit(&self) -> Bytes {
        self.of_ram(self.limit_percent)
    }

    /// The smallest limit at which the pool is not full, percent of RAM.
    #[must_use]
    pub fn pool_percent(&self) -> u64 {
        self.pool.0 * 100 / self.ram.0.max(1) + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_counts_by_the_second() {
        let before = Moment { at_ms: 1000, pswpout: 10, memory_stall_us: Some(100), ..Moment::default() };
        let now = Moment { at_ms: 1500, pswpout: 50, zswpwb: 30, pswpin: 5, memory_stall_us: Some(600), ..before.clone() };
        let span = Span::between(&before, &now, 200).unwrap();
        assert_eq!((span.ms, span.swapped_in, span.past_zswap, span.written_back), (500, 10.0, 20.0, 30));
        assert_eq!((span.memory_stall, span.io_stall), (Some(600.0), None));
        assert_eq!(Span::between(&now, &before, 0), None);
        assert_eq!(Span::between(&now, &now, 0), None);
    }
}
