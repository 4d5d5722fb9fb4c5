//! zswap's dynamic shrinker (mm/zswap.c: `zswap_shrinker_count`, `zswap_shrinker_scan`).

use swaptune_kernel::behaviours;

use super::Zswap;
use super::entries::Entries;
use crate::model::mm::Memory;
use crate::model::swap::Swap;

impl Zswap {
    /// Writes back what reclaim of a cgroup at a priority asks of the shrinker.
    pub(in crate::model) fn shrink(&mut self, memory: &mut Memory, swap: &mut Swap, cgroup: u16, priority: u32, time: &mut u64) {
        if !self.shrinks {
            return;
        }
        let group = cgroup.min(self.entries.groups() - 1);
        let second_chance = behaviours::SHRINKER_SECOND_CHANCE.is_in(self.kernel);
        let lruvec = &mut self.lruvecs[usize::from(group)];
        let freeable = count(&self.entries, group, &mut lruvec.disk_swapins, second_chance);
        let mut shrinker = lruvec.shrinker;
        shrinker.scan(freeable, priority, |count| {
            let mut written = 0;
            for _ in 0..count {
                match self.write_back_oldest(memory, swap, group, second_chance, time) {
                    Some(is_written) => written += u32::from(is_written),
                    None => break,
                }
            }
            written > 0
        });
        self.lruvecs[usize::from(group)].shrinker = shrinker;
    }
}

/// Entries by how well they compress, without those that swap-in from the disk speaks for; before 6.12 without the quarter that is
/// protected at least (`zswap_shrinker_count`).
fn count(entries: &Entries, group: u16, disk_swapins: &mut u64, second_chance: bool) -> u64 {
    let listed = entries.listed(group);
    let spoken_for = (*disk_swapins).min(listed);
    *disk_swapins -= spoken_for;
    let protected = if second_chance { 0 } else { listed / 4 };
    let free = listed.saturating_sub(spoken_for.max(protected));
    (free * entries.pages()).checked_div(entries.stored_pages).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use swaptune_kernel::v;

    use super::super::limit::ZswapLimit;
    use super::*;
    use crate::alloc::{Allocator, Pool};
    use crate::model::page::Pages;

    #[test]
    fn the_shrinker_is_offered_what_compresses_badly_and_is_not_spoken_for() {
        let limit = ZswapLimit { ram: 10_000, max_pool_percent: 50, accept_threshold_percent: 90, kernel: v(6, 12) };
        let pool = |allocator: &Allocator, size| {
            let mut entries = Entries::new(limit, &crate::policies::POLICIES[0], Pool::new(allocator), 1);
            let mut pages = Pages::new(200, false, true);
            (0..200).for_each(|page| assert!(entries.insert(&mut pages, page, size)));
            entries
        };
        let zswap = pool(&Allocator::Zbud, 2500);
        let mut disk_swapins = 30;
        assert_eq!(
            [(); 2].map(|()| count(&zswap, 0, &mut disk_swapins, true)),
            [170, 200],
            "what came from the disk counts once"
        );
        assert_eq!(count(&zswap, 0, &mut disk_swapins, false), 150, "a quarter is protected before 6.12");
        let mut disk_swapins = 80;
        assert_eq!(count(&zswap, 0, &mut disk_swapins, false), 120);
        let two = pool(&Allocator::Zbud, 1000);
        assert_eq!(count(&two, 0, &mut disk_swapins, true), 100, "two in a page: half as many");
    }
}
