//! A trace goes through the model: the way of an access that finds its page in RAM is kept short, because most do.

use std::ops::Range;

use super::page::{AHEAD, NONE, Tier};
use super::{Model, OutOfMemory, Outcome};
use crate::prefetch::prefetch;
use crate::trace::{Event, Op, Trace};

/// So many events in advance the memory of a page is asked for.
const AHEAD_OF_ACCESS: usize = 24;

impl Model {
    /// Runs a trace to its end, or to the point where memory ran out.
    ///
    /// # Panics
    /// If the trace has more pages than the model.
    #[must_use]
    pub fn run(mut self, trace: &Trace) -> Outcome {
        self.replay(trace, 0..trace.len(), |_, _, _| ());
        self.finish()
    }

    /// Does the accesses of a part of a trace. `seen` hears of each, when it could begin and when it was done, in nanoseconds since the
    /// start. `false` when neither RAM nor swap had room for one, after which no access succeeds that needs room.
    ///
    /// # Panics
    /// If the range goes beyond the trace, or the trace has more pages than the model.
    pub fn replay(&mut self, trace: &Trace, range: Range<usize>, seen: impl FnMut(Event, u64, u64)) -> bool {
        let pages = trace.pages();
        match trace.plain_reads_of() {
            Some(cgroup) => self.go(pages, range, |page, _| Event { time: 0, page, cgroup, op: Op::Read }, seen),
            None => self.go(pages, range, |_, index| trace.get(index), seen),
        }
    }

    #[inline(always)]
    fn go(
        &mut self,
        pages: &[u32],
        range: Range<usize>,
        event: impl Fn(u32, usize) -> Event,
        mut seen: impl FnMut(Event, u64, u64),
    ) -> bool {
        let coming = &pages[(range.start + AHEAD_OF_ACCESS).min(pages.len())..];
        for (place, index) in range.enumerate() {
            if let Some(&later) = coming.get(place) {
                prefetch(&self.pages, later as usize);
            }
            let event = event(pages[index], index);
            let begin = self.now.max(event.time);
            if !self.hit(event, begin) && self.miss(event, begin).is_err() {
                return false;
            }
            seen(event, begin, self.now);
        }
        true
    }

    /// Does one access. Tells when it could begin and when it was done, both in nanoseconds since the start; `None` when neither RAM
    /// nor swap had room for it, after which no access succeeds that needs room.
    ///
    /// # Panics
    /// If the event names a page that does not exist.
    pub fn advance(&mut self, event: Event) -> Option<(u64, u64)> {
        let begin = self.now.max(event.time);
        let done = self.hit(event, begin) || self.miss(event, begin).is_ok();
        done.then_some((begin, self.now))
    }

    /// Does an access if its page is mapped. `false` if it takes more than that.
    #[inline(always)]
    fn hit(&mut self, event: Event, begin: u64) -> bool {
        let page = &self.pages[event.page as usize];
        let mapped = page.tier == Tier::Ram && !page.has(AHEAD);
        if !mapped || event.op == Op::Free {
            return false;
        }
        self.hits += 1;
        self.now = begin + self.settings.costs.access;
        self.lists.touch(&mut self.pages, event.page);
        if event.op == Op::Write {
            self.dirty(event.page);
        }
        true
    }

    /// What swap holds of a page is stale.
    #[inline(always)]
    fn dirty(&mut self, page: u32) {
        if self.pages[page as usize].slot != NONE {
            self.drop_copies(page);
        }
    }

    /// Does an access that faults, or gives a page back.
    #[inline(never)]
    fn miss(&mut self, event: Event, begin: u64) -> Result<(), OutOfMemory> {
        self.now = begin;
        self.misses += 1;
        if event.op == Op::Free {
            self.free(event.page);
            return Ok(());
        }
        if let Err(error) = self.fault(event) {
            self.outcome.out_of_memory = Some(self.hits + self.misses - 1);
            return Err(error);
        }
        self.now += self.settings.costs.access;
        self.outcome.latency.add(self.now - begin, 1);
        if event.op == Op::Write {
            self.dirty(event.page);
        }
        Ok(())
    }
}
