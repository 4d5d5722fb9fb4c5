//! Writes of a device in the order in which it does them: those that have begun, then requests of adjacent slots that wait, found by the slot
//! at which they end.

use std::collections::VecDeque;

/// Who waits for the end of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// A page leaves RAM, unless it was accessed again: then its number of writes is no longer this.
    Page {
        /// The page.
        page: u32,
        /// Number of its write.
        write: u32,
    },
    /// A copy, of a page that is already elsewhere.
    Copy,
    /// A page that the zram of an area writes to its backing device.
    Block {
        /// The area.
        area: u16,
    },
}

/// Most pages of a request (`max_sectors_kb` of 512).
const MOST: u32 = 128;
/// Before the number of the first request: the end of a chain.
const NIL: u64 = 0;
/// No page.
const NONE: u32 = u32::MAX;

/// Adjacent slots that are written in one go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WriteRequest {
    pub(crate) slot: u32,
    /// Pages whose write has not ended.
    pub(crate) count: u32,
    /// When it arrived; from its beginning on, when its next page ends.
    pub(crate) at: u64,
    pub(crate) round: u64,
    /// Number of the next older request in the same chain.
    older: u64,
    /// Who waits for its next page; most requests have one.
    next: Written,
    /// First and last of the pages after that in [`Requests::pages`].
    rest: (u32, u32),
}

impl WriteRequest {
    const fn end(&self) -> u32 {
        self.slot.wrapping_add(self.count)
    }
}

/// Requests whose writes have not ended.
///
/// Requests have numbers in order of their arrival. Those that can grow are chained by their end, the newest first: with thousands of
/// them, as behind a slow disk, a page still finds its neighbour at once. What has begun is older than all others and ends its chain
/// wherever it is still named.
#[derive(Clone, Debug)]
pub(crate) struct Requests {
    requests: VecDeque<WriteRequest>,
    /// Number of the oldest request.
    first: u64,
    /// How many of them have begun.
    begun: usize,
    /// Newest request of each chain; as many chains as a power of two.
    chains: Vec<u64>,
    /// Who waits for each further page of each request, and the next one of the same request or of the free ones.
    pages: Vec<(Written, u32)>,
    free: u32,
}

impl Requests {
    pub(crate) fn new() -> Self {
        Self { requests: VecDeque::new(), first: NIL + 1, begun: 0, chains: vec![NIL; 64], pages: Vec::new(), free: NONE }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.requests.len()
    }

    /// The oldest request that waits.
    #[inline]
    pub(crate) fn waiting(&self) -> Option<&WriteRequest> {
        self.requests.get(self.begun)
    }

    /// When the next page of those that have begun ends.
    #[inline]
    pub(crate) fn end(&self) -> Option<u64> {
        self.requests.front().filter(|_| self.begun > 0).map(|request| request.at)
    }

    /// Who waits for the next page of the request that comes after `after` others.
    #[inline]
    pub(crate) fn peek(&self, after: usize) -> Option<Written> {
        Some(self.requests.get(after)?.next)
    }

    /// Adds a page that waits to the newest request that ends at its slot and can grow, else as a request of its own.
    #[inline]
    pub(crate) fn add(&mut self, slot: u32, arrived: u64, round: u64, written: Written) {
        match self.ending_at(slot) {
            Some(number) => self.join(number, written),
            None => {
                let number = self.first + self.requests.len() as u64;
                self.push(slot, arrived, round, written);
                if self.requests.len() - self.begun > 2 * self.chains.len() {
                    self.rechain();
                } else {
                    self.chain(number);
                }
            }
        }
    }

    fn join(&mut self, number: u64, written: Written) {
        self.unchain(number);
        let page = self.page(written);
        let request = self.request(number);
        let last = std::mem::replace(&mut request.rest.1, page);
        request.count += 1;
        let grows = request.count < MOST;
        if last == NONE {
            request.rest.0 = page;
        } else {
            self.pages[last as usize].1 = page;
        }
        if grows {
            self.chain(number);
        }
    }

    /// Adds a page whose write begins at once and ends at a time. None may wait.
    #[inline]
    pub(crate) fn add_begun(&mut self, slot: u32, end: u64, written: Written) {
        self.push(slot, end, 0, written);
        self.begun += 1;
    }

    #[inline]
    fn push(&mut self, slot: u32, at: u64, round: u64, next: Written) {
        self.requests.push_back(WriteRequest { slot, count: 1, at, round, older: NIL, next, rest: (NONE, NONE) });
    }

    /// The oldest request that waits begins; its first page ends at a time.
    #[inline]
    pub(crate) fn begin(&mut self, end: u64) {
        self.requests[self.begun].at = end;
        self.begun += 1;
    }

    /// The next page has ended, the one after it in the same request ends `after` nanoseconds later. Tells who waited for it.
    #[inline]
    pub(crate) fn take_ended(&mut self, after: u64) -> Option<Written> {
        let request = self.requests.front_mut()?;
        let written = request.next;
        if request.count == 1 {
            self.requests.pop_front();
            (self.first, self.begun) = (self.first + 1, self.begun - 1);
            return Some(written);
        }
        let page = request.rest.0;
        let (next, following) = self.pages[page as usize];
        (request.next, request.rest.0) = (next, following);
        (request.count, request.at) = (request.count - 1, request.at + after);
        self.pages[page as usize].1 = self.free;
        self.free = page;
        Some(written)
    }

    #[inline]
    fn page(&mut self, written: Written) -> u32 {
        let page = self.free;
        if page == NONE {
            self.pages.push((written, NONE));
            return (self.pages.len() - 1) as u32;
        }
        self.free = self.pages[page as usize].1;
        self.pages[page as usize] = (written, NONE);
        page
    }

    #[inline]
    fn request(&mut self, number: u64) -> &mut WriteRequest {
        &mut self.requests[(number - self.first) as usize]
    }

    #[inline]
    fn head(&mut self, end: u32) -> &mut u64 {
        let chains = self.chains.len();
        &mut self.chains[end as usize & (chains - 1)]
    }

    fn ending_at(&mut self, slot: u32) -> Option<u64> {
        let mut number = *self.head(slot);
        let waiting = self.first + self.begun as u64;
        while number >= waiting {
            let request = self.request(number);
            if request.end() == slot {
                return Some(number);
            }
            number = request.older;
        }
        None
    }

    /// Puts a request into the chain of its end, behind newer ones.
    fn chain(&mut self, number: u64) {
        let end = self.request(number).end();
        let (mut newer, mut older) = (NIL, *self.head(end));
        while older > number {
            (newer, older) = (older, self.request(older).older);
        }
        self.request(number).older = older;
        self.link(end, newer, number);
    }

    fn unchain(&mut self, number: u64) {
        let WriteRequest { older, .. } = *self.request(number);
        let end = self.request(number).end();
        let (mut newer, mut at) = (NIL, *self.head(end));
        while at != number {
            (newer, at) = (at, self.request(at).older);
        }
        self.link(end, newer, older);
    }

    /// After `newer`, or at the head of the chain, comes `number`.
    fn link(&mut self, end: u32, newer: u64, number: u64) {
        if newer == NIL {
            *self.head(end) = number;
        } else {
            self.request(newer).older = number;
        }
    }

    fn rechain(&mut self) {
        self.chains = vec![NIL; 4 * self.chains.len()];
        for index in self.begun..self.requests.len() {
            if self.requests[index].count < MOST {
                self.chain(self.first + index as u64);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_full_request_stays_full_when_the_chains_grow() {
        let mut requests = Requests::new();
        let others = (0..200).map(|other| 1000 + 2 * other);
        (0..MOST).chain(others).chain([MOST]).for_each(|slot| requests.add(slot, 0, 0, Written::Copy));
        assert_eq!(requests.waiting().map(|request| request.count), Some(MOST));
    }

    proptest! {
        /// As a search through all of them would find them.
        #[test]
        fn a_page_joins_the_newest_request_that_ends_there(steps in prop::collection::vec((0_u32..400, 0_u8..10), 0..2000)) {
            let mut requests = Requests::new();
            let mut plain: VecDeque<(u32, Vec<Written>)> = VecDeque::new();
            let mut begun: VecDeque<(u64, Written)> = VecDeque::new();
            for (index, (slot, kind)) in steps.into_iter().enumerate() {
                if kind == 0 {
                    let (waiting, expected) = (requests.waiting().copied(), plain.pop_front());
                    prop_assert_eq!(waiting.map(|request| request.slot), expected.as_ref().map(|request| request.0));
                    if let Some((_, pages)) = expected {
                        requests.begin(1000 * index as u64);
                        begun.extend((0..).map(|page| 1000 * index as u64 + 3 * page).zip(pages));
                    }
                    continue;
                }
                if kind == 1 {
                    let end = requests.end();
                    let ended = end.map(|end| (end, requests.take_ended(3).unwrap()));
                    prop_assert_eq!(ended, begun.pop_front());
                    continue;
                }
                let slot = if kind < 5 { slot } else { index as u32 };
                let written = Written::Page { page: index as u32, write: 1 };
                requests.add(slot, 0, 0, written);
                let joins = |(at, pages): &&mut (u32, Vec<Written>)| at.wrapping_add(pages.len() as u32) == slot && pages.len() < MOST as usize;
                match plain.iter_mut().rev().find(joins) {
                    Some((_, pages)) => pages.push(written),
                    None => plain.push_back((slot, vec![written])),
                }
                prop_assert_eq!(requests.waiting().is_none(), plain.is_empty());
            }
        }
    }
}
