//! A trace in memory: one column per property, and a column whose values are all alike takes no room.

use swaptune_kernel::stats::Nanos;

use super::error::{EVENTS_MAX, TraceError, TracePlace, too_long};
use super::event::{Event, Op};

/// Nanoseconds by which an event may lie before an earlier one; it counts as happening with that one.
const BACK_MAX: u64 = 1_000_000_000;

/// Nanoseconds from the first event to event number `number`, from 1. One that is a little earlier happens with it.
///
/// # Errors
/// When it is earlier by more than [`BACK_MAX`].
pub(super) fn since(start: u64, time: u64, number: u64) -> Result<u64, TraceError> {
    match start.saturating_sub(time) {
        back if back > BACK_MAX => Err(goes_back(number, back)),
        _ => Ok(time.saturating_sub(start)),
    }
}

fn goes_back(number: u64, back: u64) -> TraceError {
    let found = format!("event {number}, {} before the one before it", Nanos(back));
    let expected = format!("times that go back by {} at most: sort it, or cut it there", Nanos(BACK_MAX));
    TraceError::malformed(TracePlace::Whole, found, expected)
}

/// Values of all events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Column<T> {
    /// Every event has this one.
    Same(T),
    /// One for each event.
    Each(Vec<T>),
}

impl<T: Copy + PartialEq> Column<T> {
    #[inline]
    fn get(&self, index: usize) -> T {
        match self {
            Self::Same(value) => *value,
            Self::Each(values) => values[index],
        }
    }

    /// Adds the value of event number `index`, which is the next one.
    pub(crate) fn push(&mut self, index: usize, value: T) {
        match self {
            Self::Same(_) if index == 0 => *self = Self::Same(value),
            Self::Same(same) if *same == value => {}
            Self::Same(same) => {
                let mut values = vec![*same; index];
                values.push(value);
                *self = Self::Each(values);
            }
            Self::Each(values) => values.push(value),
        }
    }

    /// Adds the values of the events from number `index`, which is the next one.
    fn extend(&mut self, index: usize, mut values: impl Iterator<Item = T>) {
        for index in index.. {
            if let Self::Each(each) = self {
                return each.extend(values);
            }
            let Some(value) = values.next() else { return };
            self.push(index, value);
        }
    }
}

/// Moments of all events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EventTimes {
    /// Event number i, from 0, happens at i times this many nanoseconds.
    Every(u64),
    /// One for each event, in nanoseconds.
    Each(Vec<u64>),
}

impl EventTimes {
    #[inline]
    fn get(&self, index: usize) -> u64 {
        match self {
            Self::Every(step) => (index as u64).saturating_mul(*step),
            Self::Each(values) => values[index],
        }
    }

    fn push(&mut self, index: usize, time: u64) {
        match self {
            Self::Every(step) if index == 1 && time > 0 => *step = time,
            Self::Every(step) if (index as u64).checked_mul(*step) == Some(time) => {}
            Self::Every(_) => {
                let mut values: Vec<u64> = (0..index).map(|index| self.get(index)).collect();
                values.push(time);
                *self = Self::Each(values);
            }
            Self::Each(values) => values.push(time),
        }
    }

    /// Lets no event happen before the one before it, where that is off by `slack` at most. How far the first that is off by more goes back,
    /// and its number from 1.
    fn put_in_order(&mut self, slack: u64) -> Result<(), (u64, u64)> {
        let Self::Each(times) = self else { return Ok(()) };
        let mut latest = 0_u64;
        for (number, time) in (1..).zip(times) {
            if latest.saturating_sub(*time) > slack {
                return Err((number, latest - *time));
            }
            latest = latest.max(*time);
            *time = latest;
        }
        Ok(())
    }

    /// Adds the moments of the events from number `index`, which is the next one.
    pub(crate) fn extend(&mut self, index: usize, mut times: impl Iterator<Item = u64>) {
        for index in index.. {
            if let Self::Each(values) = self {
                return values.extend(times);
            }
            let Some(time) = times.next() else { return };
            self.push(index, time);
        }
    }
}

/// Which properties of events are kept. Page and operation always are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptColumns {
    /// All of them.
    Everything,
    /// Only what a replay without costs needs: no times and no cgroups, which saves up to ten bytes an event.
    Pages,
}

/// A sequence of accesses to pages.
///
/// Pages are numbered from 0 without gaps, so that what is known about a page can stand in an array. There are at most
/// [`EVENTS_MAX`] events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    pub(crate) pages: Vec<u32>,
    pub(crate) times: EventTimes,
    pub(crate) cgroups: Column<u16>,
    pub(crate) ops: Column<Op>,
    pub(crate) page_count: u32,
    pub(crate) sizes: Vec<u16>,
}

impl Trace {
    /// How many events there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pages.len()
    }

    /// Whether there are no events.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// How many pages there are; each is below this number.
    #[must_use]
    pub fn page_count(&self) -> u32 {
        self.page_count
    }

    /// The page of each event.
    #[must_use]
    pub fn pages(&self) -> &[u32] {
        &self.pages
    }

    /// When all events are reads of one cgroup, one as soon after the other: the time between two in nanoseconds, with which no
    /// moment is beyond what can be counted, and the cgroup.
    pub(crate) fn plain_reads(&self) -> Option<(u64, u16)> {
        match (&self.times, &self.cgroups, &self.ops) {
            (&EventTimes::Every(step), &Column::Same(cgroup), Column::Same(Op::Read)) => {
                (self.len() as u64).checked_mul(step).map(|_end| (step, cgroup))
            }
            _ => None,
        }
    }

    /// The same with times that never go back, as the model needs them: processors write their events with some delay, and some traces know
    /// whole seconds only.
    ///
    /// # Errors
    /// When a time goes back by more than [`BACK_MAX`]: those are two traces, or one in another order.
    pub(crate) fn in_order(mut self) -> Result<Self, TraceError> {
        self.times.put_in_order(BACK_MAX).map_err(|(number, back)| goes_back(number, back))?;
        Ok(self)
    }

    /// What each page compresses to, in bytes, where the trace knows it; 0 is a same-filled page. Empty when it does not.
    #[must_use]
    pub fn sizes(&self) -> &[u16] {
        &self.sizes
    }

    /// Event number `index`, from 0.
    ///
    /// # Panics
    /// When there is no such event.
    #[must_use]
    #[inline]
    pub fn get(&self, index: usize) -> Event {
        Event { page: self.pages[index], time: self.times.get(index), cgroup: self.cgroups.get(index), op: self.ops.get(index) }
    }

    /// All events in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Event> + Clone + '_ {
        (0..self.len()).map(|index| self.get(index))
    }

    /// The operation of each event, when there is a [`Op::Free`] among them; without one, replays need not look.
    #[must_use]
    pub fn frees(&self) -> Option<&[Op]> {
        match &self.ops {
            Column::Each(ops) if ops.contains(&Op::Free) => Some(ops),
            _ => None,
        }
    }

    /// The time of the last event, in nanoseconds; 0 when there is none.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.len().checked_sub(1).map_or(0, |last| self.times.get(last))
    }
}

/// Makes a [`Trace`] out of events whose pages are numbered without gaps.
#[derive(Debug)]
pub struct TraceBuilder {
    trace: Trace,
    keep: KeptColumns,
    most: u64,
}

impl TraceBuilder {
    /// An empty trace.
    #[must_use]
    pub fn new(keep: KeptColumns) -> Self {
        let trace = Trace {
            pages: Vec::new(),
            times: EventTimes::Every(0),
            cgroups: Column::Same(0),
            ops: Column::Same(Op::Read),
            page_count: 0,
            sizes: Vec::new(),
        };
        Self { trace, keep, most: EVENTS_MAX }
    }

    /// The same, of at most this many events.
    pub(crate) fn at_most(self, events: u64) -> Self {
        Self { most: events, ..self }
    }

    /// Adds an event; what is not kept of it is dropped.
    ///
    /// # Errors
    /// When there are as many already as may be.
    pub fn push(&mut self, event: Event) -> Result<(), TraceError> {
        let index = self.trace.pages.len();
        if index as u64 >= self.most {
            return Err(too_long(self.most));
        }
        self.trace.pages.push(event.page);
        self.trace.ops.push(index, event.op);
        if self.keep == KeptColumns::Everything {
            self.trace.times.push(index, event.time);
            self.trace.cgroups.push(index, event.cgroup);
        }
        Ok(())
    }

    /// Adds many events at once, whose pages stand apart.
    ///
    /// # Errors
    /// When there would be more than may be.
    pub(crate) fn extend(&mut self, pages: &[u32], events: &[Event]) -> Result<(), TraceError> {
        let index = self.trace.pages.len();
        if (index + events.len()) as u64 > self.most {
            return Err(too_long(self.most));
        }
        self.trace.pages.extend_from_slice(pages);
        self.trace.ops.extend(index, events.iter().map(|event| event.op));
        if self.keep == KeptColumns::Everything {
            self.trace.times.extend(index, events.iter().map(|event| event.time));
            self.trace.cgroups.extend(index, events.iter().map(|event| event.cgroup));
        }
        Ok(())
    }

    /// Events that were added so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.trace.pages.len()
    }

    /// Whether none was.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.trace.pages.is_empty()
    }

    /// What each page compresses to, in bytes; see [`Trace::sizes`].
    pub fn sizes(&mut self, sizes: Vec<u16>) {
        self.trace.sizes = sizes;
    }

    /// The trace, with `page_count` pages; for `None`, as many as the highest number asks for.
    ///
    /// # Errors
    /// When an event names a page beyond the count, when there are more pages than events (one is never accessed), or when
    /// sizes were given for another number of pages.
    pub fn finish(mut self, page_count: Option<u32>) -> Result<Trace, TraceError> {
        let highest = self.trace.pages.iter().copied().max();
        let needed = highest.map_or(0, |page| u64::from(page) + 1);
        let count = page_count.map_or(needed, u64::from);
        if needed > count {
            return Err(TraceError::malformed(TracePlace::Whole, format!("page {}", needed - 1), format!("pages below {count}")));
        }
        if count > self.trace.pages.len() as u64 {
            let expected = "no more pages than events, numbered from 0 without gaps";
            return Err(TraceError::malformed(TracePlace::Whole, format!("{count} pages in {} events", self.len()), expected));
        }
        if !self.trace.sizes.is_empty() && self.trace.sizes.len() as u64 != count {
            let found = format!("compressed sizes of {} pages", self.trace.sizes.len());
            return Err(TraceError::malformed(TracePlace::Whole, found, format!("sizes of {count} pages")));
        }
        if self.trace.ops == Column::Same(Op::Free) {
            self.trace.ops = Column::Each(vec![Op::Free; self.len()]);
        }
        self.trace.page_count = count as u32;
        self.trace.pages.shrink_to_fit();
        Ok(self.trace)
    }

    /// Adds events that happen one step apart and are plain reads; for readers that decode many at once.
    pub(crate) fn extend_pages(&mut self, pages: impl Iterator<Item = u32>) {
        self.trace.pages.extend(pages);
    }

    pub(crate) fn trace_mut(&mut self) -> &mut Trace {
        &mut self.trace
    }

    pub(crate) fn keep(&self) -> KeptColumns {
        self.keep
    }
}
