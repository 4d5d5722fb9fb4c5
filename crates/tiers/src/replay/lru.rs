//! Least recently used, as an access log.
//!
//! The trace itself is the list: `last[page]` is the position, from 1, of a page's newest access; 0 when there is none. A hit
//! rewrites that one word. Eviction walks the trace from its oldest position that may still be in memory: a page whose last
//! access lies elsewhere has been accessed again and is passed over, any other is evicted by going on. So a page is in memory
//! exactly when its last access lies beyond the walk. Both ends move forward only, which lets memory be asked for in time.

use super::{exact_curve, log::ask_ahead};
use crate::trace::{Op, Trace};

/// From this many sizes, the exact curve takes less time than a replay of each.
pub(super) const CURVE_FROM: usize = 8;

/// Misses of memories of each of these sizes, none of them 0.
pub(super) fn misses(trace: &Trace, sizes: &[u32]) -> Vec<u64> {
    if sizes.len() < CURVE_FROM {
        return sizes.iter().map(|&size| replay(trace, size)).collect();
    }
    exact_curve(trace).misses(sizes)
}

fn replay(trace: &Trace, size: u32) -> u64 {
    let mut log = Log { pages: trace.pages(), last: vec![0; trace.page_count() as usize], evicted: 0, room: size };
    match trace.frees() {
        None => (0..trace.len()).map(|now| u64::from(log.access(now))).sum(),
        Some(ops) => {
            ops.iter().enumerate().map(|(now, &op)| u64::from(if op == Op::Free { log.free(now) } else { log.access(now) })).sum()
        }
    }
}

struct Log<'a> {
    pages: &'a [u32],
    last: Vec<u32>,
    /// Everything up to this position, from 1, has been evicted or accessed again.
    evicted: u32,
    /// Pages that can still come in without an eviction.
    room: u32,
}

impl Log<'_> {
    /// Whether the access at position `now`, from 0, misses.
    #[inline(always)]
    fn access(&mut self, now: usize) -> bool {
        ask_ahead(&self.last, self.pages, now);
        let last = &mut self.last[self.pages[now] as usize];
        let before = std::mem::replace(last, now as u32 + 1);
        if before > self.evicted {
            return false;
        }
        if self.room > 0 {
            self.room -= 1
        } else {
            self.evict()
        }
        true
    }

    #[inline(always)]
    fn evict(&mut self) {
        loop {
            let oldest = self.evicted as usize;
            ask_ahead(&self.last, self.pages, oldest);
            self.evicted += 1;
            if self.last[self.pages[oldest] as usize] == self.evicted {
                return;
            }
        }
    }

    /// Takes a page away; that is never a miss.
    fn free(&mut self, now: usize) -> bool {
        let last = &mut self.last[self.pages[now] as usize];
        if std::mem::take(last) > self.evicted {
            self.room += 1;
        }
        false
    }
}
