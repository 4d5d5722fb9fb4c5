//! First in, first out, without a queue.
//!
//! Pages that come in are counted. A page is in memory exactly when fewer than `size` came in after it, so the number under
//! which it came in is all that is to be known of it, and nothing is done at an eviction.

use super::log::ask_ahead;
use super::queue;
use crate::trace::Trace;

/// Misses of a memory of `size` pages; `size` is not 0.
pub(super) fn misses(trace: &Trace, size: u32) -> u64 {
    if let Some(ops) = trace.frees() {
        return queue::misses(trace, ops, size, false);
    }
    let pages = trace.pages();
    let (mut number, mut count) = (vec![0u32; trace.page_count() as usize], 0u32);
    for (now, &page) in pages.iter().enumerate() {
        ask_ahead(&number, pages, now);
        let number = &mut number[page as usize];
        // 0: never came in. Numbers are from 1, so `count − number` is how many came in after it.
        let miss = *number == 0 || count - *number >= size;
        count += u32::from(miss);
        *number = if miss { count } else { *number };
    }
    u64::from(count)
}
