//! A trace goes through the model: the way of an access that finds its page in RAM is kept short, because most do.

use std::ops::Range;

use super::machine::{Model, OutOfMemory};
use super::outcome::Outcome;
use super::page::DIRTY;
use crate::trace::{Event, Op, Trace};

/// Events ahead at which the memory of a page's state is prefetched, and that of the rest if it is not in RAM.
const AHEAD_OF_ACCESS: usize = 24;
const AHEAD_OF_FAULT: usize = 12;

impl Model {
    /// Runs a trace to its end, or to the point where memory ran out.
    ///
    /// # Panics
    /// If the trace has more pages than the model.
    #[must_use]
    pub fn run(mut self, trace: &Trace) -> Outcome {
        match trace.plain_reads().filter(|_| self.memory.lruvecs.marks_pages()) {
            Some((step, cgroup)) => self.read_all(trace.pages(), step, cgroup),
            None => _ = self.run_range(trace, 0..trace.len(), |_, _, _| ()),
        }
        self.finish()
    }

    /// Does the accesses of a part of a trace. `seen` hears of each, when it could begin and when it was done, in nanoseconds since the
    /// start. `false` when neither RAM nor swap had room for one, after which no access succeeds that needs room.
    ///
    /// # Panics
    /// If the range goes beyond the trace, or the trace has more pages than the model.
    pub fn run_range(&mut self, trace: &Trace, range: Range<usize>, mut seen: impl FnMut(Event, u64, u64)) -> bool {
        let pages = trace.pages();
        for index in range {
            if let Some(&page) = pages.get(index + AHEAD_OF_ACCESS) {
                self.memory.pages.prefetch_state(page);
            }
            if let Some(&page) = pages.get(index + AHEAD_OF_FAULT) {
                self.memory.pages.prefetch_fault(page);
            }
            let event = trace.get(index);
            let Some((begin, end)) = self.advance(event) else { return false };
            seen(event, begin, end);
        }
        true
    }

    /// Reads pages of one cgroup at even times, so far as there is room. No single access is reported, so that those that are marked at
    /// their pages alone are counted together.
    fn read_all(&mut self, pages: &[u32], step: u64, cgroup: u16) {
        let mut index = 0;
        while let Some(ahead) = pages.get(index..).filter(|ahead| !ahead.is_empty()) {
            let hits = self.mark(ahead);
            self.pass(hits as u64, index as u64 * step, step);
            index += hits;
            let Some(&page) = pages.get(index) else { return };
            let event = Event { time: index as u64 * step, page, cgroup, op: Op::Read };
            if self.miss(event, self.clock.now.max(event.time)).is_err() {
                return;
            }
            index += 1;
        }
    }

    /// Marks pages up to the first one that is not mapped, and tells how many those are.
    fn mark(&mut self, pages: &[u32]) -> usize {
        let later = pages.get(AHEAD_OF_ACCESS..).unwrap_or_default();
        let soon = pages.get(AHEAD_OF_FAULT..).unwrap_or_default();
        let mut marked = 0;
        for ((&page, &soon), &later) in pages.iter().zip(soon).zip(later) {
            self.memory.pages.prefetch_state(later);
            self.memory.pages.prefetch_fault(soon);
            if !self.memory.pages.mark(page) {
                return marked;
            }
            marked += 1;
        }
        marked + pages[marked..].iter().take_while(|&&page| self.memory.pages.mark(page)).count()
    }

    /// The process has found this many pages mapped, wanted in even steps from a time on: it was held up by what came before, by the first
    /// of them, or by the last.
    fn pass(&mut self, hits: u64, first: u64, step: u64) {
        let cost = self.settings.costs.access;
        if let Some(others) = hits.checked_sub(1) {
            self.clock.now = (self.clock.now.max(first) + others * cost).max(first + others * step) + cost;
            self.hits += hits;
        }
    }

    /// Does one access. Tells when it could begin and when it was done, both in nanoseconds since the start; `None` when neither RAM
    /// nor swap had room for it, after which no access succeeds that needs room.
    ///
    /// # Panics
    /// If the event names a page that does not exist.
    pub fn advance(&mut self, event: Event) -> Option<(u64, u64)> {
        let begin = self.clock.now.max(event.time);
        let done = self.hit(event, begin) || self.miss(event, begin).is_ok();
        done.then_some((begin, self.clock.now))
    }

    /// Does an access if its page is mapped. `false` if it takes more than that.
    #[inline(always)]
    fn hit(&mut self, event: Event, begin: u64) -> bool {
        if !self.memory.pages.state(event.page).is_mapped() || event.op == Op::Free {
            return false;
        }
        self.hits += 1;
        self.clock.now = begin + self.settings.costs.access;
        self.memory.lruvecs.touch(&mut self.memory.pages, event.page);
        if event.op == Op::Write {
            self.memory.pages.set(event.page, DIRTY);
        }
        true
    }

    /// Does an access that faults, or gives a page back.
    #[inline(never)]
    fn miss(&mut self, event: Event, begin: u64) -> Result<(), OutOfMemory> {
        self.clock.now = begin;
        self.misses += 1;
        if event.op == Op::Free {
            self.free(event.page);
            return Ok(());
        }
        if let Err(error) = self.fault(event) {
            self.outcome.out_of_memory = Some(self.hits + self.misses - 1);
            return Err(error);
        }
        self.clock.now += self.settings.costs.access;
        self.outcome.latency.add(self.clock.now - begin, 1);
        if event.op == Op::Write {
            self.memory.pages.set(event.page, DIRTY);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::tests::{machine, run};
    use crate::trace::{KeptColumns, TraceBuilder};

    /// Reads of pages that stay in RAM, at even times: sooner than they can be done, later, and sooner than the first ones can be.
    #[test]
    fn reads_at_even_times_are_those_one_by_one() {
        for step in [0, 1, 50, 99, 100, 101, 1000, 5000, 1_000_000] {
            let pages = (0..2000_u32).map(|index| if index < 40 { index } else { index * 7 % 40 });
            let events = pages.zip(0..).map(|(page, index)| Event { time: index * step, page, ..Event::default() });
            let mut builder = TraceBuilder::new(KeptColumns::Everything);
            events.clone().for_each(|event| builder.push(event).unwrap());
            let trace = builder.finish(None).unwrap();
            assert_eq!(trace.plain_reads(), Some((step, 0)));
            let whole = Model::new(machine(1000), 40).unwrap().run(&trace);
            assert_eq!(whole, run(machine(1000), 40, events), "{step}");
            assert_eq!(whole.counters.accesses, 2000);
        }
    }
}
