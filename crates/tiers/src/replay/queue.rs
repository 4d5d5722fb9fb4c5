//! First in, first out, and clock, for traces that give pages back: with a queue that a page leaves in the middle.
//!
//! A place in the queue is the number under which the page came in; a page that was given back has no number, so its place is
//! passed over when it comes to the front. Another round of clock is a new place at the end.

use std::collections::VecDeque;

use crate::trace::{Op, Trace};

/// Misses of a memory of `size` pages; with `second_chance`, pages that were hit since their last round get another.
pub(super) fn misses(trace: &Trace, ops: &[Op], size: u32, second_chance: bool) -> u64 {
    let mut queue = Queue {
        places: VecDeque::new(),
        pages: vec![QueuedPage::default(); trace.page_count() as usize],
        resident: 0,
        number: 0,
    };
    let mut misses = 0;
    for (&page, &op) in trace.pages().iter().zip(ops) {
        let known = &mut queue.pages[page as usize];
        match op {
            Op::Free if known.number > 0 => {
                *known = QueuedPage::default();
                queue.resident -= 1;
            }
            Op::Free => {}
            _ if known.number > 0 => known.referenced = second_chance,
            _ => {
                misses += 1;
                if queue.resident == size {
                    queue.evict();
                }
                queue.resident += 1;
                queue.add(page);
            }
        }
    }
    misses
}

#[derive(Clone, Copy, Debug, Default)]
struct QueuedPage {
    /// Number of its place, from 1; 0 when it is not in memory.
    number: u64,
    referenced: bool,
}

struct Queue {
    /// Numbers and pages, the oldest first.
    places: VecDeque<(u64, u32)>,
    pages: Vec<QueuedPage>,
    resident: u32,
    number: u64,
}

impl Queue {
    fn add(&mut self, page: u32) {
        // Places that pages have left are removed when they are the most.
        if self.places.len() > 2 * self.resident as usize + 64 {
            let pages = &self.pages;
            self.places.retain(|&(number, page)| pages[page as usize].number == number);
        }
        self.number += 1;
        self.pages[page as usize] = QueuedPage { number: self.number, referenced: false };
        self.places.push_back((self.number, page));
    }

    /// Takes the oldest page out that is not referenced.
    fn evict(&mut self) {
        while let Some((number, page)) = self.places.pop_front() {
            let known = &mut self.pages[page as usize];
            if known.number != number {
                continue;
            }
            if known.referenced {
                self.add(page);
                continue;
            }
            *known = QueuedPage::default();
            self.resident -= 1;
            return;
        }
    }
}
