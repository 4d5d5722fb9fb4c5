//! The same policies written as plainly as can be, for tests.

use std::collections::VecDeque;

use crate::trace::{Op, Trace};

/// Misses of a memory of `size` pages, which is a list of pages in the order in which they are evicted.
pub(super) fn misses(policy: &str, trace: &Trace, size: usize) -> u64 {
    let (mut memory, mut misses): (VecDeque<(u32, bool)>, u64) = (VecDeque::new(), 0);
    for event in trace.iter() {
        let place = memory.iter().position(|&(page, _)| page == event.page);
        match (event.op, place, policy) {
            (Op::Free, Some(place), _) => _ = memory.remove(place),
            (Op::Free, None, _) | (_, Some(_), "fifo") => {}
            (_, Some(place), "lru") => {
                memory.remove(place);
                memory.push_back((event.page, false));
            }
            (_, Some(place), _) => memory[place].1 = true,
            (_, None, _) => {
                misses += 1;
                while memory.len() == size {
                    match memory.pop_front() {
                        Some((page, true)) => memory.push_back((page, false)),
                        _ => break,
                    }
                }
                if size > 0 {
                    memory.push_back((event.page, false));
                }
            }
        }
    }
    misses
}
