//! Cleaning ahead: a worker that writes copies of the oldest pages of the pool, so that evicting them later costs nothing.

use super::Zswap;
use super::list_lru::PoolEntry;
use crate::model::clock::Clock;
use crate::model::mm::Memory;
use crate::model::page::{CLEAN, Tier};
use crate::model::swap::Swap;

/// Pages whose copies are sent at a time (`SWAP_CLUSTER_MAX`): what is adjacent is one request.
const BATCH: usize = 32;

impl Zswap {
    /// Sets it going, unless it is at work.
    pub(in crate::model) fn wake_cleaner(&mut self, time: u64) {
        self.cleaner.get_or_insert(time);
    }

    /// Lets it do what it could do by now, on a processor of its own.
    pub(in crate::model) fn run_cleaner(&mut self, memory: &mut Memory, swap: &mut Swap, clock: &mut Clock) {
        while let Some(begin) = self.cleaner.filter(|&begin| begin < clock.now) {
            let mut time = begin;
            let goes_on = self.clean_batch(memory, swap, &mut time);
            clock.system += time - begin;
            self.cleaner = goes_on.then_some(time.max(begin + 1));
        }
    }

    /// Cleans a batch of the oldest pages. `false` when all that may leave next are clean.
    fn clean_batch(&mut self, memory: &mut Memory, swap: &mut Swap, time: &mut u64) -> bool {
        swap.disks.start_plug();
        let mut cleaned = 0;
        while let Some(PoolEntry { page, size, .. }) = self.entries.next_to_clean() {
            let state = memory.pages.state(page);
            // What is in the swap cache does not leave yet, and zram has room or not whenever it is asked.
            if state.tier() != Tier::Zswap || state.has(CLEAN) || !swap.is_on_disk(memory, page) {
                continue;
            }
            *time += self.costs.swap_out + self.decompressed(size);
            swap.write_copy(memory, page, *time);
            self.entries.set_clean(&memory.pages, page);
            cleaned += 1;
            if cleaned == BATCH {
                return true;
            }
        }
        false
    }
}
