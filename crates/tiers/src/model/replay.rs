//! A trace goes through the model: the way of an access that finds its page in RAM is kept short, because most do.

use std::ops::Range;

use super::page::{AHEAD, DIRTY, REFERENCED, Tier};
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
        match trace.plain_reads() {
            Some((step, cgroup)) => {
                let event = |page, index: usize| Event { time: index as u64 * step, page, cgroup, op: Op::Read };
                self.go(pages, range, event, seen)
            }
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
        let mut index = range.start;
        while index < range.end {
            index = self.hits(pages, index..range.end, &event, &mut seen);
            if index < range.end {
                let event = event(pages[index], index);
                let begin = self.now.max(event.time);
                if !self.hit(event, begin) && self.miss(event, begin).is_err() {
                    return false;
                }
                seen(event, begin, self.now);
                index += 1;
            }
        }
        true
    }

    /// Does accesses up to the first one that takes more than a mark at a mapped page, and tells which that is. What it needs of the
    /// model is kept at hand: this is where most accesses end.
    #[inline(always)]
    fn hits(
        &mut self,
        pages: &[u32],
        range: Range<usize>,
        event: &impl Fn(u32, usize) -> Event,
        seen: &mut impl FnMut(Event, u64, u64),
    ) -> usize {
        let (table, cost) = (&mut self.pages[..], self.settings.costs.access);
        let end = if self.lists.marks_pages() { range.end } else { range.start };
        let soon = pages.get(range.start + AHEAD_OF_ACCESS..).unwrap_or_default();
        let (mut index, mut now) = (range.start, self.now);
        for (after, &page) in pages[range.start..end].iter().enumerate() {
            if let Some(&page) = soon.get(after) {
                prefetch(table, page as usize);
            }
            let event = event(page, index);
            let page = &mut table[event.page as usize];
            if page.tier != Tier::Ram || page.has(AHEAD) || event.op == Op::Free {
                break;
            }
            page.set(if event.op == Op::Write { REFERENCED | DIRTY } else { REFERENCED });
            let begin = now.max(event.time);
            now = begin + cost;
            seen(event, begin, now);
            index += 1;
        }
        self.now = now;
        self.hits += (index - range.start) as u64;
        index
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
            self.pages[event.page as usize].set(DIRTY);
        }
        true
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
            self.pages[event.page as usize].set(DIRTY);
        }
        Ok(())
    }
}
