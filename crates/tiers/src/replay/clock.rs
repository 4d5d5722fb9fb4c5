//! Clock: a ring of pages and a hand, one reference bit a page, set by a hit and not by coming in.

use super::log::ask_ahead;
use super::queue;
use crate::trace::Trace;

/// What is known of a page.
const OUT: u8 = 0;
const IN: u8 = 1;
const REFERENCED: u8 = 2;

/// Misses of a memory of `size` pages; `size` is not 0.
pub(super) fn misses(trace: &Trace, size: u32) -> u64 {
    if let Some(ops) = trace.frees() {
        return queue::misses(trace, ops, size, true);
    }
    let pages = trace.pages();
    let slots = size.min(trace.page_count()) as usize;
    let (mut state, mut ring, mut hand, mut misses) = (vec![OUT; trace.page_count() as usize], Vec::with_capacity(slots), 0, 0);
    for (now, &page) in pages.iter().enumerate() {
        ask_ahead(&state, pages, now);
        let known = &mut state[page as usize];
        if *known != OUT {
            *known = REFERENCED;
            continue;
        }
        *known = IN;
        misses += 1;
        if ring.len() < slots {
            ring.push(page);
            continue;
        }
        loop {
            ask_ahead(&state, &ring, hand);
            let known = &mut state[ring[hand] as usize];
            if *known == IN {
                break;
            }
            *known = IN;
            hand = if hand + 1 == slots { 0 } else { hand + 1 };
        }
        state[ring[hand] as usize] = OUT;
        ring[hand] = page;
        hand = if hand + 1 == slots { 0 } else { hand + 1 };
    }
    misses
}
