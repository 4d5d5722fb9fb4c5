//! Events whose pages have ids of any kind: they get their numbers many at a time, which hides the wait for the table of ids.

use super::columns::{KeptColumns, Trace, TraceBuilder, since};
use super::error::TraceError;
use super::event::Event;
use super::intern::Interner;

/// Events that are numbered at once.
const BATCH: usize = 4096;

/// A trace that is being made of such events.
pub(super) struct Numbered {
    interner: Interner,
    builder: TraceBuilder,
    ids: Vec<u64>,
    events: Vec<Event>,
    pages: Vec<u32>,
    /// When the first event happened.
    start: Option<u64>,
}

impl Numbered {
    /// Of at most this many events.
    pub(super) fn new(keep: KeptColumns, most: u64) -> Self {
        Self {
            interner: Interner::default(),
            builder: TraceBuilder::new(keep).at_most(most),
            ids: Vec::with_capacity(BATCH),
            events: Vec::with_capacity(BATCH),
            pages: Vec::with_capacity(BATCH),
            start: None,
        }
    }

    /// Adds an event to the page `id`. Its time becomes one since the first event.
    #[inline]
    pub(super) fn push(&mut self, id: u64, mut event: Event) -> Result<(), TraceError> {
        event.time = self.since_first(event.time)?;
        self.ids.push(id);
        self.events.push(event);
        if self.ids.len() == BATCH { self.number() } else { Ok(()) }
    }

    /// Adds such an event to `count` pages, from `first` on.
    pub(super) fn push_run(&mut self, first: u64, count: u64, mut event: Event) -> Result<(), TraceError> {
        event.time = self.since_first(event.time)?;
        let (mut first, end) = (first, first + count);
        while first < end {
            let room = (BATCH - self.ids.len()) as u64;
            let until = end.min(first + room);
            self.ids.extend(first..until);
            self.events.resize(self.ids.len(), event);
            first = until;
            if self.ids.len() == BATCH {
                self.number()?;
            }
        }
        Ok(())
    }

    /// Where times are not kept their order does not matter.
    #[inline]
    fn since_first(&mut self, time: u64) -> Result<u64, TraceError> {
        let start = *self.start.get_or_insert(time);
        match self.builder.keep() {
            KeptColumns::Everything => since(start, time, (self.builder.len() + self.ids.len()) as u64 + 1),
            KeptColumns::Pages => Ok(0),
        }
    }

    fn number(&mut self) -> Result<(), TraceError> {
        self.pages.clear();
        self.interner.number_all(&self.ids, &mut self.pages);
        self.builder.extend(&self.pages, &self.events)?;
        self.ids.clear();
        self.events.clear();
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<Trace, TraceError> {
        self.number()?;
        self.builder.finish(Some(self.interner.len()))
    }
}
