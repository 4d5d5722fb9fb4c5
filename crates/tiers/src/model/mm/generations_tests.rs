//! Generations of a group by themselves: when it gets another, what a walk finds, and what reclaim takes.

use super::aging::Candidates;
use super::lruvec::{Lruvecs, MIN_LRU_BATCH, Scan};
use super::workingset::Refault;
use crate::model::Lru;
use crate::model::page::{Pages, REFERENCED, Tier};

/// Pages of one group that entered RAM in the order of their numbers, none of them accessed since.
struct Bench {
    pages: Pages,
    lists: Lruvecs,
}

impl Bench {
    fn new(count: u32) -> Self {
        let mut bench =
            Self { pages: Pages::new(count as usize, false, false), lists: Lruvecs::new(Lru::Generational, [false].into_iter()) };
        (0..count).for_each(|page| bench.come(page));
        bench
    }

    fn come(&mut self, page: u32) {
        self.pages.go(page, Tier::Ram);
        self.lists.insert(&mut self.pages, page);
    }

    fn touch(&mut self, pages: impl IntoIterator<Item = u32>) {
        pages.into_iter().for_each(|page| self.lists.touch(&mut self.pages, page));
    }

    fn age(&mut self) {
        self.lists.age(&mut self.pages, 0);
    }

    /// As many generations as are needed for one to be evicted.
    fn age_until_old(&mut self) -> usize {
        let mut count = 0;
        while self.lists.should_run_aging(0).0 {
            self.age();
            count += 1;
        }
        count
    }

    fn isolate(&mut self) -> Candidates {
        self.lists.isolate_oldest(&self.pages, 0, true, &mut Scan::default())
    }

    /// A batch of the oldest generation leaves RAM.
    fn evict(&mut self) -> Vec<u32> {
        let isolated = self.isolate();
        let pages: Vec<u32> = (0..isolated.len()).map(|index| isolated.get(index)).collect();
        for &page in &pages {
            self.pages.go(page, Tier::Disk);
            let shadow = self.lists.shadow(0);
            self.pages.set_place(page, shadow);
        }
        pages
    }

    fn used(&self) -> Vec<u32> {
        self.pages.numbers().filter(|&page| self.pages.state(page).is_mapped() && self.pages.has(page, REFERENCED)).collect()
    }
}

/// The two youngest generations are left to themselves, the oldest is emptied, and a shadow is recent while its generation would be.
#[test]
fn generations_pass_as_they_are_emptied() {
    let mut bench = Bench::new(100);
    assert!(bench.lists.has_fewest_generations(0));
    assert_eq!((bench.evict(), bench.age_until_old()), (vec![], 2));
    assert!(!bench.lists.has_fewest_generations(0));
    assert_eq!(bench.evict(), (0..64).collect::<Vec<_>>(), "a batch");
    assert_eq!((bench.evict(), bench.lists.len(0)), ((64..100).collect(), 0));
    assert!(bench.lists.has_fewest_generations(0), "and none old is left");
    let refault = |bench: &mut Bench, page| {
        bench.pages.go(page, Tier::Ram);
        bench.lists.refault(&mut bench.pages, page, true)
    };
    assert_ne!(refault(&mut bench, 0), Refault::Late);
    bench.age();
    bench.age();
    assert_eq!(refault(&mut bench, 1), Refault::Late, "its generation is gone");
    assert_eq!((bench.lists.inactive_generations(0), bench.lists.should_run_aging(0)), (1, (false, 2)));
}

/// The first walk goes through all tables; then only through those of which an eighth was used when they were last met.
#[test]
fn a_walk_finds_used_pages_where_some_were_found_before() {
    let mut bench = Bench::new(1024);
    bench.touch(0..64);
    bench.touch(512..575);
    bench.age();
    assert_eq!(bench.used(), [0; 0], "the first walk sees all");
    bench.touch([3, 700]);
    bench.age();
    assert_eq!(bench.used(), [700], "64 of 512 were used in the one table, 63 in the other");
    let first = (bench.evict()[..4].to_vec(), bench.lists.len(0));
    assert_eq!(first, (vec![0, 1, 2, 4], 1024 - 64), "what the walk saw is younger");
    bench.touch([70]);
    bench.age();
    assert_eq!(bench.used(), [70, 700], "one was too few for a third walk");
}

/// A used page that reclaim meets speaks for those around it: on their way out they stay, in the lists they become young, and the table is
/// walked when the next generation comes.
#[test]
fn a_used_page_has_its_neighbours_looked_at() {
    let mut bench = Bench::new(512);
    bench.age_until_old();
    bench.touch([40, 41, 60, 66, 71, 72, 300, 511]);
    let mut isolated = bench.isolate();
    assert_eq!((isolated.len(), isolated.get(40)), (MIN_LRU_BATCH, 40));
    bench.pages.clear(40, REFERENCED);
    bench.lists.look_around(&mut bench.pages, 40, &mut isolated);
    let stay: Vec<usize> = (0..isolated.len()).filter(|&index| isolated.was_used(index)).collect();
    assert_eq!((stay, bench.used()), (vec![41, 60], vec![72, 300, 511]), "from 8 to 71");
    bench.age();
    assert_eq!(bench.used(), [72, 300, 511], "five of 64 are less than an eighth");
    bench.touch(80..90);
    bench.pages.clear(80, REFERENCED);
    bench.lists.look_around(&mut bench.pages, 80, &mut Candidates::new());
    assert_eq!(bench.used(), [300, 511]);
    bench.age();
    assert_eq!(bench.used(), [0; 0], "eleven are not");
}

/// Pages whose write has ended go first, whatever is older, and are no longer among those once they are used and met.
#[test]
fn written_pages_go_first() {
    let mut bench = Bench::new(100);
    bench.age_until_old();
    bench.lists.remove(&bench.pages, 90);
    bench.lists.rotate_written(&mut bench.pages, 90);
    assert!(bench.lists.was_written(&bench.pages, 90) && !bench.pages.state(90).is_mapped());
    assert!(bench.lists.has_written(0));
    assert_eq!((bench.lists.len(0), bench.evict()[..3].to_vec()), (100, vec![90, 0, 1]));
    assert_eq!(bench.lists.isolate_oldest(&bench.pages, 0, false, &mut Scan::default()).len(), 0, "no other where swap is full");
}
