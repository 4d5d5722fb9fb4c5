//! The way of a page, from top to bottom: it is wanted and not mapped; it comes from the tier that has it, with its neighbours; room is
//! made for it; another page leaves, in `pageout.rs`. What each part does stands in its folder.

use std::ops::Range;

use swaptune_kernel::behaviours;

use super::clock::Clock;
use super::mm::{BATCH, Memory};
use super::outcome::Outcome;
use super::page::{AHEAD, CLEAN, NONE, POOLED, REFERENCED, Tier};
use super::pageout::{Below, free_swap};
use super::shrinker::Shrinker;
use super::spec::{COPY, CompressedSizes, ModelSettings, ModelSettingsError};
use super::swap::Swap;
use super::zswap::Zswap;
use crate::trace::{Event, Op};

/// Rounds of direct reclaim that evicted, for one page, after which there is no room: pages only go round, as from zswap back into RAM
/// because the zram behind it takes no more. A kernel may go on like this for ever. Waiting for writes is no such round: they end.
pub(super) const HOPELESS: u32 = 1 << 12;

/// Neither RAM nor swap has room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OutOfMemory;

/// A machine at work on a trace.
#[derive(Clone, Debug)]
pub struct Model {
    pub(super) settings: ModelSettings,
    pub(super) clock: Clock,
    pub(super) memory: Memory,
    pub(super) zswap: Option<Zswap>,
    pub(super) swap: Swap,
    /// That of zsmalloc: it compacts all pools.
    pub(super) compaction: Shrinker,
    /// Accesses that found their page mapped, and all others.
    pub(super) hits: u64,
    pub(super) misses: u64,
    /// Nanoseconds that the process has waited for reads of disks.
    pub(super) disk_wait: u64,
    pub(super) outcome: Outcome,
}

impl Model {
    /// A machine on which pages 0 to `pages` − 1 exist and are untouched.
    ///
    /// # Errors
    /// Settings that make no machine.
    pub fn new(mut settings: ModelSettings, pages: u32) -> Result<Self, ModelSettingsError> {
        settings.check()?;
        let sizes = std::mem::replace(&mut settings.sizes, CompressedSizes::Each(Vec::new()));
        let (zswap, swap) = (Zswap::of(&settings), Swap::new(&settings, &sizes));
        let values_in_zswap = zswap.is_some() && behaviours::SAME_FILLED_IN_ZSWAP.is_in(settings.kernel);
        let memory = Memory::new(&settings, sizes, pages, swap.zrams.iter().next().is_some() || values_in_zswap);
        let (clock, outcome) = (Clock::default(), Outcome::default());
        Ok(Self {
            settings,
            clock,
            memory,
            zswap,
            swap,
            compaction: Shrinker::default(),
            hits: 0,
            misses: 0,
            disk_wait: 0,
            outcome,
        })
    }

    /// A page is wanted that is not mapped: brings it into RAM and advances the process by the time that takes.
    pub(super) fn fault(&mut self, event: Event) -> Result<(), OutOfMemory> {
        let page = event.page;
        self.prefetch_fault(page);
        self.end_writes(self.clock.now);
        self.catch_up();
        self.clock.now += std::mem::take(&mut self.clock.stolen);
        let begin = self.clock.now;
        match self.memory.pages.tier(page) {
            Tier::Ram => self.use_swap_cache(page, event.op == Op::Write),
            Tier::Writing => self.use_under_write(page),
            Tier::Absent => self.do_anonymous_page(page, event.cgroup)?,
            Tier::Zero | Tier::Zswap | Tier::Zram | Tier::WrittenBack | Tier::Disk => {
                if let Some(zswap) = self.zswap.as_ref().filter(|_| self.memory.pages.has(page, POOLED)) {
                    zswap.entries.prefetch_object(&self.memory.pages, page);
                }
                self.make_room(self.memory.pages.cgroup(page))?;
                self.do_swap_page(page, event.op == Op::Write);
                self.outcome.stall += self.clock.now - begin;
            }
        }
        Ok(())
    }

    /// What the end of a fault needs is asked for at its beginning.
    #[inline]
    fn prefetch_fault(&self, page: u32) {
        let slot = self.memory.pages.slot(page);
        if slot != NONE {
            self.swap.slots.prefetch_slot(slot);
        }
        if let Some(zswap) = self.zswap.as_ref().filter(|_| self.memory.pages.has(page, POOLED)) {
            zswap.entries.prefetch_entry(&self.memory.pages, page);
        }
    }

    /// A page of the swap cache is used for the first time since it came there: it was read ahead, or it was written and is still in RAM.
    fn use_swap_cache(&mut self, page: u32, write: bool) {
        self.memory.pages.clear(page, AHEAD);
        self.memory.lruvecs.touch(&mut self.memory.pages, page);
        if !self.memory.lruvecs.was_written(&self.memory.pages, page) {
            self.swap.readahead.hit(&mut self.memory, page);
        }
        self.clock.spend(self.settings.costs.minor);
        self.try_to_free_swap(page, write);
    }

    /// A page that is still being written is in the swap cache, and stays there.
    fn use_under_write(&mut self, page: u32) {
        self.swap.readahead.hit(&mut self.memory, page);
        self.clock.spend(self.settings.costs.minor);
        self.memory.add_again(page);
    }

    /// The first access to a page.
    fn do_anonymous_page(&mut self, page: u32, cgroup: u16) -> Result<(), OutOfMemory> {
        let (begin, cgroup) = (self.clock.now, self.memory.known_cgroup(cgroup));
        self.memory.pages.set_cgroup(page, cgroup);
        self.make_room(cgroup)?;
        self.outcome.stall += self.clock.now - begin;
        self.clock.now += self.settings.costs.allocate;
        self.memory.add_new(page);
        Ok(())
    }

    /// A page comes back from the tier that has it.
    fn do_swap_page(&mut self, page: u32, write: bool) {
        self.memory.vmstat.pgmajfault += 1;
        let swap_in = self.settings.costs.swap_in;
        // Making room may have moved it on.
        match self.memory.pages.tier(page) {
            Tier::Zswap => {
                let time = self.zswap.as_mut().map_or(0, |zswap| zswap.load(&mut self.memory, page));
                self.clock.spend(swap_in + time);
                self.refault(page, REFERENCED);
                self.read_ahead(page);
            }
            Tier::Zram => {
                let time = self.swap.remove_from_zram(&mut self.memory, page);
                self.memory.vmstat.pswpin += 1;
                self.swap.free(&mut self.memory, page);
                self.clock.spend(swap_in + time);
                self.refault(page, REFERENCED);
            }
            Tier::WrittenBack => {
                let block = self.memory.pages.entry(page);
                self.memory.pages.set_entry(page, NONE);
                self.memory.vmstat.pswpin += 1;
                self.clock.spend(swap_in);
                self.refault(page, REFERENCED);
                let begin = self.clock.now;
                self.clock.now = self.swap.read_block(&mut self.memory, begin, page, block);
                self.disk_wait += self.clock.now - begin;
                self.swap.free(&mut self.memory, page);
            }
            Tier::Disk => {
                self.clock.spend(swap_in);
                self.refault(page, REFERENCED);
                self.swapin_readahead(page);
            }
            Tier::Writing => self.use_under_write(page),
            Tier::Zero => {
                self.clock.spend(swap_in);
                self.fill_with_zeros(page);
                self.refault(page, REFERENCED);
                self.read_ahead(page);
            }
            Tier::Absent | Tier::Ram => {}
        }
        self.try_to_free_swap(page, write);
    }

    #[inline]
    fn refault(&mut self, page: u32, flags: u8) {
        self.memory.refault(page, flags, self.swap.has_free());
    }

    /// A page that a write brought from swap, or any while swap is short, gives its slot back (`should_try_to_free_swap`). One that is
    /// written later keeps it: that is no fault of which the kernel would hear.
    fn try_to_free_swap(&mut self, page: u32, write: bool) {
        if write || self.swap.is_short() {
            free_swap(&mut self.memory, &mut self.swap, self.zswap.as_mut(), page);
        }
    }

    /// A page of zeros is made again (`swap_read_folio_zeromap`). Its slot goes on remembering it, so that its next eviction writes nothing.
    fn fill_with_zeros(&mut self, page: u32) {
        self.memory.vmstat.swpin_zero += 1;
        self.clock.spend(COPY);
        self.memory.pages.set(page, CLEAN);
    }

    /// Reads a page that has just entered RAM from its disk, with its neighbours, and waits for it (`swapin_readahead`).
    fn swapin_readahead(&mut self, page: u32) {
        if let Some(zswap) = &mut self.zswap {
            zswap.note_disk_read(self.memory.pages.cgroup(page), self.clock.now);
            zswap.worker.get_turn(self.clock.now);
        }
        let neighbours = self.swap.readahead.neighbours(&self.memory, &self.swap.slots, page);
        self.memory.pages.set(page, CLEAN);
        self.memory.locked = Some(page);
        let wanted = self.memory.pages.slot(page);
        let begin = self.clock.now;
        self.clock.now = if neighbours.is_empty() {
            self.swap.read_run(&mut self.memory, self.clock.now, wanted, 1)
        } else {
            let mut slots = self.bring(neighbours);
            slots.push(wanted);
            self.swap.read(&mut self.memory, self.clock.now, slots, Some(wanted))
        };
        self.disk_wait += self.clock.now - begin;
        self.memory.locked = None;
    }

    /// After a page that no disk had to give: neighbours come along, and those that a disk gives are not waited for.
    fn read_ahead(&mut self, page: u32) {
        let neighbours = self.swap.readahead.neighbours(&self.memory, &self.swap.slots, page);
        self.memory.locked = Some(page);
        let slots = self.bring(neighbours);
        self.memory.locked = None;
        self.swap.read(&mut self.memory, self.clock.now, slots, None);
    }

    /// Neighbours enter RAM, for which reclaim makes room as for any page; tells the slots that must be read from a disk.
    fn bring(&mut self, neighbours: Vec<u32>) -> Vec<u32> {
        let mut slots = Vec::new();
        for page in neighbours {
            if self.make_room(self.memory.pages.cgroup(page)).is_err() {
                break;
            }
            // Making room may have moved it on.
            match self.memory.pages.tier(page) {
                Tier::Zswap => {
                    let time = self.zswap.as_mut().map_or(0, |zswap| zswap.load(&mut self.memory, page));
                    self.clock.spend(time);
                }
                Tier::Disk => {
                    slots.push(self.memory.pages.slot(page));
                    self.memory.pages.set(page, CLEAN);
                }
                Tier::Zero => self.fill_with_zeros(page),
                _ => continue,
            }
            self.refault(page, AHEAD);
            self.memory.vmstat.swap_ra += 1;
        }
        slots
    }

    /// Makes room for one page of a cgroup; the process waits as long as that takes.
    #[inline(always)]
    pub(super) fn make_room(&mut self, cgroup: u16) -> Result<(), OutOfMemory> {
        if self.free_pages() > self.memory.marks.low as i64 && !self.memory.is_over_limit(cgroup) {
            return Ok(());
        }
        self.reclaim_room(cgroup)
    }

    fn reclaim_room(&mut self, cgroup: u16) -> Result<(), OutOfMemory> {
        let mut rounds = 0..HOPELESS;
        while self.memory.is_over_limit(cgroup) {
            self.direct_reclaim(Some(cgroup), &mut rounds)?;
        }
        let mut free = self.free_pages();
        if free <= self.memory.marks.low as i64 && self.memory.kswapd.is_none() {
            self.memory.kswapd = Some(self.clock.now);
        }
        while free <= self.memory.marks.min as i64 {
            self.direct_reclaim(None, &mut rounds)?;
            free = self.free_pages();
        }
        Ok(())
    }

    /// One round of direct reclaim: evicts a batch, or waits for a write if one is under way already.
    fn direct_reclaim(&mut self, cgroup: Option<u16>, rounds: &mut Range<u32>) -> Result<(), OutOfMemory> {
        self.memory.vmstat.allocstall += 1;
        let mut time = self.clock.now;
        let evicted = if self.memory.under_write() < BATCH { self.shrink(cgroup, &mut time) } else { 0 };
        self.clock.system += time - self.clock.now;
        self.clock.now = time;
        if evicted > 0 {
            rounds.next().ok_or(OutOfMemory)?;
        } else {
            self.clock.now = self.clock.now.max(self.swap.disks.next_end().ok_or(OutOfMemory)?);
        }
        self.end_writes(self.clock.now);
        self.catch_up();
        Ok(())
    }

    /// Lets kswapd, zswap's workers and the upkeep of zram do what they could do by now.
    #[inline(always)]
    pub(super) fn catch_up(&mut self) {
        let zswap_is_busy = self.zswap.as_ref().is_some_and(Zswap::is_busy);
        if self.memory.kswapd.is_some() || zswap_is_busy || self.swap.zrams.have_upkeep {
            self.catch_up_all();
        }
    }

    fn catch_up_all(&mut self) {
        while let Some(time) = self.memory.kswapd.filter(|&time| time < self.clock.now) {
            self.memory.kswapd = self.balance(time);
            if let Some(zswap) = self.zswap.as_mut().filter(|_| self.memory.kswapd.is_none()) {
                zswap.worker.get_turn(time);
            }
        }
        if let Some(zswap) = &mut self.zswap {
            zswap.run_workers(&mut self.memory, &mut self.swap, &mut self.clock);
        }
        self.clock.system += self.swap.run_upkeep(&mut self.memory, self.clock.now);
    }

    /// A round of kswapd (`balance_pgdat`). Tells when the next one begins; `None`: it sleeps until it is woken.
    fn balance(&mut self, begin: u64) -> Option<u64> {
        self.end_writes(begin);
        let (free, wanted) = (self.free_pages(), self.memory.marks.high as i64);
        let (is_generational, mut time) = (self.memory.is_generational(), begin);
        if free >= wanted && !self.memory.kswapd_is_in_a_pass() {
            self.memory.kswapd_sleeps();
            return None;
        }
        // With generations nothing but a full queue holds kswapd up.
        let waits = if is_generational { self.swap.disks.is_full() } else { free + self.memory.under_write() as i64 >= wanted };
        if waits {
            // While kswapd waits the processor is free.
            if let Some(zswap) = &mut self.zswap {
                zswap.worker.get_turn(begin);
            }
            return Some(self.swap.disks.next_end().map_or(self.clock.now, |end| end.max(begin + 1)));
        }
        let goes_on = if is_generational {
            self.swap.disks.start_plug();
            let (memory, mut below) = self.split();
            memory.kswapd_goes_on(&mut below, &mut time)
        } else {
            self.shrink(None, &mut time) > 0
        };
        self.clock.system += time - begin;
        goes_on.then_some(time)
    }

    /// Evicts a batch or more of a cgroup, or of all. Tells how many pages left the lists.
    pub(super) fn shrink(&mut self, cgroup: Option<u16>, time: &mut u64) -> usize {
        self.swap.disks.start_plug();
        let (memory, mut below) = self.split();
        match cgroup {
            Some(cgroup) => memory.shrink_memcg(cgroup, &mut below, time),
            None => memory.shrink_node(&mut below, time),
        }
    }

    /// RAM, and what is below it.
    pub(super) const fn split(&mut self) -> (&mut Memory, Below<'_>) {
        let Self { settings, clock, memory, zswap, swap, compaction, misses, .. } = self;
        (memory, Below { zswap: zswap.as_mut(), swap, compaction, clock, swap_out: settings.costs.swap_out, faults: *misses })
    }

    /// A page is given back.
    pub(super) fn free(&mut self, page: u32) {
        self.end_writes(self.clock.now);
        match self.memory.pages.tier(page) {
            Tier::Absent => return,
            Tier::Ram => self.memory.remove(page),
            // The end of the write finds another page there.
            Tier::Writing => self.memory.uncharge(self.memory.pages.cgroup(page)),
            Tier::Zram => _ = self.swap.remove_from_zram(&mut self.memory, page),
            Tier::WrittenBack => self.swap.free_block(&mut self.memory, page),
            Tier::Zero | Tier::Zswap | Tier::Disk => {}
        }
        free_swap(&mut self.memory, &mut self.swap, self.zswap.as_mut(), page);
        self.memory.pages.forget(page);
    }

    /// Frees the RAM of pages whose write has ended.
    #[inline(always)]
    pub(super) fn end_writes(&mut self, by: u64) {
        self.swap.end_writes(&mut self.memory, by);
    }

    /// Pages of RAM that are free; below zero when pools took reserves.
    #[inline]
    pub(super) fn free_pages(&self) -> i64 {
        self.memory.free(self.zswap.as_ref().map_or(0, |zswap| zswap.entries.pages()) + self.swap.zrams.pages())
    }

    /// What it came to so far.
    #[must_use]
    pub fn finish(mut self) -> Outcome {
        self.outcome.counters = self.memory.vmstat;
        self.outcome.counters.accesses = self.hits + self.misses;
        self.outcome.latency.add(self.settings.costs.access, self.hits);
        self.outcome.elapsed = self.clock.now;
        self.outcome.system = self.clock.system;
        self.outcome.pool_peak = self.zswap.as_ref().map_or(0, |zswap| zswap.peak);
        self.outcome
    }
}
