//! Writes that wait for a device: requests of adjacent slots, oldest first, found by the slot at which they end.

use std::collections::VecDeque;

use super::device::Written;

/// Most pages of a request (`max_sectors_kb` of 512).
const MOST: u32 = 128;
/// Before the number of the first request: the end of a chain.
const NIL: u64 = 0;
/// No page.
const NONE: u32 = u32::MAX;

/// Adjacent slots that are written in one go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) slot: u32,
    pub(super) count: u32,
    pub(super) arrived: u64,
    pub(super) round: u64,
    /// First and last of its pages in [`Waiting::pages`].
    pages: (u32, u32),
    /// Number of the next older request in the same chain.
    older: u64,
}

impl Request {
    const fn end(&self) -> u32 {
        self.slot.wrapping_add(self.count)
    }
}

/// Requests that have not begun.
///
/// Requests have numbers in order of their arrival. Such as can grow are chained by their end, the newest first: with thousands of
/// them, as behind a slow disk, a page still finds its neighbour at once. What has begun is older than all others and ends its chain
/// wherever it is still named.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    requests: VecDeque<Request>,
    /// Number of the oldest request.
    first: u64,
    /// Newest request of each chain; as many chains as a power of two.
    chains: Vec<u64>,
    /// Who waits for each page of each request, and the next one of the same request or of the free ones.
    pages: Vec<(Written, u32)>,
    free: u32,
}

impl Waiting {
    pub(super) fn new() -> Self {
        Self { requests: VecDeque::new(), first: NIL + 1, chains: vec![NIL; 64], pages: Vec::new(), free: NONE }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    #[inline]
    pub(super) fn front(&self) -> Option<&Request> {
        self.requests.front()
    }

    /// Adds a page to the newest request that ends at its slot and can grow, else as a request of its own.
    pub(super) fn add(&mut self, slot: u32, arrived: u64, round: u64, written: Written) {
        let page = self.page(written);
        let Some(number) = self.ending_at(slot) else {
            let number = self.first + self.requests.len() as u64;
            self.requests.push_back(Request { slot, count: 1, arrived, round, pages: (page, page), older: NIL });
            if self.requests.len() > 2 * self.chains.len() {
                self.rechain();
            } else {
                self.chain(number);
            }
            return;
        };
        self.unchain(number);
        let request = self.request(number);
        let last = std::mem::replace(&mut request.pages.1, page);
        request.count += 1;
        let grows = request.count < MOST;
        self.pages[last as usize].1 = page;
        if grows {
            self.chain(number);
        }
    }

    /// Takes the oldest request; [`Waiting::take_page`] then gives its pages.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Request> {
        let oldest = self.requests.pop_front()?;
        self.first += 1;
        Some(oldest)
    }

    /// The next page of a request that was taken.
    #[inline]
    pub(super) fn take_page(&mut self, request: &mut Request) -> Written {
        let page = request.pages.0;
        let (written, next) = self.pages[page as usize];
        request.pages.0 = next;
        self.pages[page as usize].1 = self.free;
        self.free = page;
        written
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
    fn request(&mut self, number: u64) -> &mut Request {
        &mut self.requests[(number - self.first) as usize]
    }

    #[inline]
    fn head(&mut self, end: u32) -> &mut u64 {
        let chains = self.chains.len();
        &mut self.chains[end as usize & (chains - 1)]
    }

    fn ending_at(&mut self, slot: u32) -> Option<u64> {
        let mut number = *self.head(slot);
        while number >= self.first {
            let request = *self.request(number);
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
        let Request { older, .. } = *self.request(number);
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
        for index in 0..self.requests.len() {
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
        let mut waiting = Waiting::new();
        let others = (0..200).map(|other| 1000 + 2 * other);
        (0..MOST).chain(others).chain([MOST]).for_each(|slot| waiting.add(slot, 0, 0, Written::Copy));
        assert_eq!(waiting.front().map(|request| request.count), Some(MOST));
    }

    proptest! {
        /// As a search through all of them would find them.
        #[test]
        fn a_page_joins_the_newest_request_that_ends_there(steps in prop::collection::vec((0_u32..400, 0_u8..10), 0..2000)) {
            let mut waiting = Waiting::new();
            let mut plain: VecDeque<(u32, Vec<Written>)> = VecDeque::new();
            for (index, (slot, kind)) in steps.into_iter().enumerate() {
                if kind == 0 {
                    let (taken, expected) = (waiting.pop(), plain.pop_front());
                    prop_assert_eq!(taken.map(|request| request.slot), expected.as_ref().map(|request| request.0));
                    if let (Some(mut request), Some((_, pages))) = (taken, expected) {
                        let found: Vec<Written> = (0..request.count).map(|_| waiting.take_page(&mut request)).collect();
                        prop_assert_eq!(found, pages);
                    }
                    continue;
                }
                let slot = if kind < 4 { slot } else { index as u32 };
                let written = Written::Page { page: index as u32, write: 1 };
                waiting.add(slot, 0, 0, written);
                let joins = |(at, pages): &&mut (u32, Vec<Written>)| at.wrapping_add(pages.len() as u32) == slot && pages.len() < MOST as usize;
                match plain.iter_mut().rev().find(joins) {
                    Some((_, pages)) => pages.push(written),
                    None => plain.push_back((slot, vec![written])),
                }
                prop_assert_eq!(waiting.is_empty(), plain.is_empty());
            }
        }
    }
}
