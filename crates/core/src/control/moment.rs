//! What the laws see of a machine: one moment, and the time between two.

use serde::{Deserialize, Serialize};

use super::zram::DeviceMoment;
use crate::units::Bytes;

/// One look at a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// Milliseconds since boot, sleep included (`/proc/uptime`).
    pub at_ms: u64,
    /// `MemTotal`.
    pub ram: Bytes,
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
    /// Pages that are being written to disks (`nr_writeback`).
    pub writeback: u64,
    /// Canaries that went to the disk since the daemon began; none where they are kept from it.
    pub canaries: u64,
    /// Pages of files that came back soon after they left RAM.
    pub refault_file: u64,
    /// Time in which some task waited for memory, µs; `None` where the kernel does not say.
    pub memory_stall_us: Option<u64>,
    /// The same for I/O.
    pub io_stall_us: Option<u64>,
    /// What this process itself has waited for memory while it reclaimed, µs since it began: the kernel counts that as a stall too.
    pub ours_us: u64,
    /// The same for I/O, while it had zram write back.
    pub ours_io_us: u64,
    /// Units and other groups with memory of their own.
    pub units: Vec<UnitMoment>,
    /// zram devices that are swap.
    pub zram: Vec<DeviceMoment>,
}

/// One unit at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UnitMoment {
    /// Path of its group below the mount point, or what stands for it where processes are asked ([`super::processes`]).
    pub path: String,
    /// Inode of its folder, or when its first process began: a group that was removed and made again is another one.
    pub id: u64,
    /// When it was read.
    pub at_ms: u64,
    /// Processor time that it used, µs.
    pub cpu_us: u64,
    /// Memory that is not compressed: `memory.current` less `memory.zswap.current`; of processes their anonymous memory alone.
    pub memory: Bytes,
    /// `memory.zswap.current`: what it has in the pool, compressed.
    pub pooled: Bytes,
    /// `memory.swap.current`: slots, those of pages in zswap included; `None` where the kernel does not count them by group.
    pub swapped: Option<Bytes>,
    /// What `memory.min` and `memory.low` protect.
    pub protected: Bytes,
    /// Anonymous pages and pages of files that came back since it began.
    pub refaults: u64,
    /// Anonymous memory in RAM.
    pub anon: Bytes,
    /// Whether its memory may be swapped (`memory.swap.max` is not 0, `memory.zswap.max` neither), or that of one of its processes.
    pub may_swap: bool,
}

/// What happened between two moments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// Its length, ms.
    pub ms: u64,
    /// Pages from swap devices, a second.
    pub swapped_in: f64,
    /// Pages to swap devices that zswap did not write back and that are no canaries, a second: stores that were refused are among them.
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
    /// The span; `None` when the clock did not go on, or a counter began anew.
    #[must_use]
    pub fn between(before: &Moment, now: &Moment) -> Option<Self> {
        let ms = now.at_ms.checked_sub(before.at_ms).filter(|ms| *ms > 0)?;
        let a_second = |count: u64| count as f64 * 1000.0 / ms as f64;
        let (now_stalled, was_stalled) = (Stalled::of(now), Stalled::of(before));
        let out = now.pswpout.checked_sub(before.pswpout)?;
        let written_back = now.zswpwb.checked_sub(before.zswpwb)?;
        Some(Self {
            ms,
            swapped_in: a_second(now.pswpin.checked_sub(before.pswpin)?),
            // The two are read one after the other: a page between them is no page that went past.
            past_zswap: a_second(out.saturating_sub(written_back).saturating_sub(now.canaries.saturating_sub(before.canaries))),
            refaults: a_second(now.refault_file.checked_sub(before.refault_file)?),
            memory_stall: now_stalled.memory_since(&was_stalled),
            io_stall: now_stalled.io_since(&was_stalled),
            written_back,
        })
    }
}

/// How long tasks had waited at some moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stalled {
    at_ms: u64,
    memory_us: Option<u64>,
    io_us: Option<u64>,
    ours_us: u64,
    ours_io_us: u64,
}

impl Stalled {
    /// At this moment.
    #[must_use]
    pub fn of(moment: &Moment) -> Self {
        let Moment { at_ms, memory_stall_us, io_stall_us, ours_us, ours_io_us, .. } = *moment;
        Self { at_ms, memory_us: memory_stall_us, io_us: io_stall_us, ours_us, ours_io_us }
    }

    /// Microseconds of a second since an earlier moment that some task waited for memory, this process left out.
    #[must_use]
    pub fn memory_since(&self, was: &Self) -> Option<f64> {
        let ours = self.ours_us.saturating_sub(was.ours_us);
        self.rate(was, self.memory_us?.saturating_sub(was.memory_us?).saturating_sub(ours))
    }

    /// The same for I/O.
    #[must_use]
    pub fn io_since(&self, was: &Self) -> Option<f64> {
        let ours = self.ours_io_us.saturating_sub(was.ours_io_us);
        self.rate(was, self.io_us?.saturating_sub(was.io_us?).saturating_sub(ours))
    }

    /// The kernel sums up every two seconds (`PSI_FREQ`): less time than that says nothing.
    fn rate(&self, was: &Self, us: u64) -> Option<f64> {
        let ms = self.at_ms.checked_sub(was.at_ms)?.max(PERIOD_MS);
        Some(us as f64 * 1000.0 / ms as f64)
    }

    /// Whether an earlier moment is long enough ago for a sum of the kernel to lie between.
    #[must_use]
    pub fn is_apart(&self, was: &Self) -> bool {
        self.at_ms.saturating_sub(was.at_ms) >= 2 * PERIOD_MS
    }
}

/// From one look to the next a machine that takes this long was asleep or stopped, ms: a tick is a second, a burst ten at most. Counts by the second and
/// idle times say nothing of such a span.
pub(super) const SLEPT_MS: u64 = 30_000;

/// How often the kernel sums up waiting times (kernel/sched/psi.c, `PSI_FREQ`), ms.
const PERIOD_MS: u64 = 2000;

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
        let now = Moment {
            at_ms: 1500,
            pswpout: 50,
            zswpwb: 25,
            canaries: 5,
            pswpin: 5,
            memory_stall_us: Some(1000),
            ours_us: 200,
            ..before.clone()
        };
        let span = Span::between(&before, &now).unwrap();
        assert_eq!((span.ms, span.swapped_in, span.past_zswap, span.written_back), (500, 10.0, 20.0, 25));
        // 700 µs of others, over the two seconds of which the kernel speaks.
        assert_eq!((span.memory_stall, span.io_stall), (Some(350.0), None));
        assert_eq!(Span::between(&now, &before), None);
        assert_eq!(Span::between(&now, &now), None);
    }
}
