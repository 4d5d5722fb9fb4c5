//! First in, first out, without a queue.
//!
//! Pages that come in are counted. A page is in memory exactly when fewer than `size` came in after it, so the number under
//! which it came in is all that is to be known of it, and nothing is done at an eviction. Several sizes are replayed in one pass:
//! their numbers of a page stand next to each other, and the processor compares several at once.

use super::log::ask_ahead;
use super::queue;
use crate::trace::Trace;

/// Sizes that are replayed in one pass at most.
pub(super) const TOGETHER: usize = 16;

/// Misses of memories of each of these sizes, none of them 0, at most [`TOGETHER`].
pub(super) fn misses(trace: &Trace, sizes: &[u32]) -> Vec<u64> {
    if let Some(ops) = trace.frees() {
        return sizes.iter().map(|&size| queue::misses(trace, ops, size, false)).collect();
    }
    match sizes.len() {
        1 => pass::<1>(trace, sizes),
        2..=4 => pass::<4>(trace, sizes),
        5..=8 => pass::<8>(trace, sizes),
        _ => pass::<TOGETHER>(trace, sizes),
    }
}

/// One pass for up to `LANES` sizes; lanes without a size count for nothing.
fn pass<const LANES: usize>(trace: &Trace, sizes: &[u32]) -> Vec<u64> {
    let (pages, mut room) = (trace.pages(), [1; LANES]);
    room.iter_mut().zip(sizes).for_each(|(room, &size)| *room = size);
    let (mut numbers, mut counts) = (vec![[0_u32; LANES]; trace.page_count() as usize], [0_u32; LANES]);
    for (now, &page) in pages.iter().enumerate() {
        ask_ahead(&numbers, pages, now);
        let numbers = &mut numbers[page as usize];
        for ((number, count), &size) in numbers.iter_mut().zip(&mut counts).zip(&room) {
            // 0: never came in. Numbers are from 1, so `count − number` is how many came in after it.
            let miss = (*number == 0) | (*count - *number >= size);
            *count += u32::from(miss);
            *number = if miss { *count } else { *number };
        }
    }
    counts.iter().take(sizes.len()).map(|&count| u64::from(count)).collect()
}
