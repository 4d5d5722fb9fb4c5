//! Cleaning ahead: a worker that writes copies of the oldest pages of zswap's pool, so that evicting them later costs nothing.

use super::Model;
use super::ages::Entry;
use super::page::{CLEAN, Tier};
use super::zswap::Zswap;

/// Pages whose copies are sent at a time (`SWAP_CLUSTER_MAX`): what is adjacent is one request.
const BATCH: usize = 32;

impl Model {
    /// Sets it going, unless it is at work.
    pub(super) fn wake_cleaner(&mut self, time: u64) {
        self.cleaner.get_or_insert(time);
    }

    /// Lets it do what it could do by now, on a processor of its own.
    pub(super) fn run_cleaner(&mut self) {
        while let Some(begin) = self.cleaner.filter(|&clock| clock < self.now) {
            let mut time = begin;
            let goes_on = self.clean_batch(&mut time);
            self.outcome.system += time - begin;
            self.cleaner = goes_on.then_some(time.max(begin + 1));
        }
    }

    /// Cleans a batch of the oldest pages. `false` when all that may leave next are clean.
    fn clean_batch(&mut self, time: &mut u64) -> bool {
        self.round += 1;
        let mut cleaned = 0;
        while let Some(Entry { page, size, .. }) = self.zswap.as_mut().and_then(Zswap::next_to_clean) {
            let state = self.pages.state(page);
            // What is in the swap cache does not leave yet, and zram has room or not whenever it is asked.
            let on_disk = self.zrams[self.slots.area(self.pages.slot(page))].is_none();
            if state.tier() != Tier::Zswap || state.has(CLEAN) || !on_disk {
                continue;
            }
            *time += self.settings.costs.swap_out + self.decompressed(size);
            self.write_copy(page, *time);
            if let Some(zswap) = &mut self.zswap {
                zswap.set_clean(&self.pages, page);
            }
            cleaned += 1;
            if cleaned == BATCH {
                return true;
            }
        }
        false
    }
}
