//! Read-ahead of swap: how many neighbours come along (mm/swap_state.c).

use super::page::{AHEAD, CLEAN, REFERENCED, Tier};
use super::{Backing, Model};

/// Most pages of read-ahead by addresses: 2 to this power (`SWAP_RA_ORDER_CEILING`).
const CEILING: u32 = 5;

/// The window, which adapts to how many pages read ahead were used.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Window {
    hits: u32,
    last: u32,
    previous: u32,
}

impl Window {
    pub(super) const fn hit(&mut self) {
        self.hits += 1;
    }

    /// Pages to read for a fault at a place, this one included (`__swapin_nr_pages`).
    fn next(&mut self, place: u32, most: u32) -> u32 {
        let hits = std::mem::take(&mut self.hits);
        let adjacent = place.abs_diff(self.previous) == 1;
        let wanted = match hits {
            0 if adjacent => 2,
            0 => 1,
            _ => (hits + 2).next_power_of_two().max(4),
        };
        self.previous = place;
        self.last = wanted.min(most).max(self.last / 2);
        self.last
    }
}

impl Model {
    /// Neighbours of a page that zswap or a disk holds, nearest first: by slot where an area is rotational, else by address.
    fn neighbours(&mut self, page: u32) -> Vec<u32> {
        let by_slots = self.settings.reads_ahead_by_slots();
        let most = 1 << if by_slots { self.settings.page_cluster } else { self.settings.page_cluster.min(CEILING) };
        if most == 1 {
            return Vec::new();
        }
        let place = if by_slots { self.pages[page as usize].slot } else { page };
        let count = self.window.next(place, most);
        let start = if by_slots { place & !(count - 1) } else { place.saturating_sub((count - 1) / 2) };
        let cgroup = self.pages[page as usize].cgroup;
        let at = |place: u32| if by_slots { self.slots.owner(place) } else { Some(place) };
        let held = |&other: &u32| {
            let entry = self.pages.get(other as usize);
            other != page && entry.is_some_and(|entry| entry.cgroup == cgroup && matches!(entry.tier, Tier::Zswap | Tier::Disk))
        };
        (start..start.saturating_add(count)).filter_map(at).filter(held).collect()
    }

    /// After a load from zswap: neighbours come along.
    pub(super) fn read_ahead(&mut self, page: u32) {
        let neighbours = self.neighbours(page);
        self.bring(neighbours);
    }

    /// Reads a page that has just entered RAM from its disk, with its neighbours, and waits for it.
    pub(super) fn read_with_neighbours(&mut self, page: u32) {
        if let Some(shrinker) = self.shrinkers.groups.get_mut(usize::from(self.pages[page as usize].cgroup)) {
            shrinker.disk_swapins += 1;
        }
        let neighbours = self.neighbours(page);
        self.pages[page as usize].set(CLEAN);
        let wanted = self.pages[page as usize].slot;
        self.pause_worker();
        self.now = if neighbours.is_empty() {
            self.read_run(wanted, 1)
        } else {
            let mut read = self.bring(neighbours);
            read.push(wanted);
            self.read_slots(read, wanted)
        };
    }

    /// Neighbours enter RAM as long as there is room without reclaim; tells the slots of such as must be read from a disk.
    fn bring(&mut self, neighbours: Vec<u32>) -> Vec<u32> {
        let mut slots = Vec::new();
        for page in neighbours {
            if self.lacks_room(self.pages[page as usize].cgroup) {
                break;
            }
            if self.pages[page as usize].tier == Tier::Zswap {
                let time = self.load_from_zswap(page);
                self.spend(time);
            } else {
                slots.push(self.pages[page as usize].slot);
                self.pages[page as usize].set(CLEAN);
            }
            self.charge(self.pages[page as usize].cgroup);
            let entry = &mut self.pages[page as usize];
            entry.tier = Tier::Ram;
            entry.set(AHEAD);
            entry.clear(REFERENCED);
            self.lists.insert(&mut self.pages, page);
            self.outcome.counters.swap_ra += 1;
        }
        slots
    }

    /// Reads slots, adjacent ones in one request, and tells when the wanted one is there.
    fn read_slots(&mut self, mut slots: Vec<u32>, wanted: u32) -> u64 {
        slots.sort_unstable();
        let joined = |a: &u32, b: &u32| a + 1 == *b && self.slots.area(*a) == self.slots.area(*b);
        let runs: Vec<(u32, u32)> = slots.chunk_by(joined).map(|run| (run[0], run.len() as u32)).collect();
        let mut end = self.now;
        for (slot, count) in runs {
            let there = self.read_run(slot, count);
            end = if (slot..slot + count).contains(&wanted) { there } else { end };
        }
        end
    }

    /// Reads adjacent slots and tells when they are there.
    fn read_run(&mut self, slot: u32, count: u32) -> u64 {
        self.outcome.counters.pswpin += u64::from(count);
        self.outcome.counters.disk_in += u64::from(count);
        match self.settings.areas[self.slots.area(slot)].backing {
            Backing::Disk { device, .. } => self.devices[device].read(self.now, slot, count),
            Backing::Zram { .. } => self.now,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_grows_with_hits_and_shrinks_by_half() {
        let mut window = Window::default();
        assert_eq!(window.next(100, 8), 1);
        assert_eq!(window.next(101, 8), 2, "an adjacent fault");
        (0..3).for_each(|_| window.hit());
        assert_eq!(window.next(300, 8), 8);
        assert_eq!(window.next(500, 8), 4);
        assert_eq!((window.next(700, 8), window.next(900, 8)), (2, 1));
        (0..100).for_each(|_| window.hit());
        assert_eq!(window.next(300, 8), 8, "page-cluster is the ceiling");
    }
}
