//! The lists of RAM's pages by themselves: which page is taken next, what is counted meanwhile, and who was away for how long.

use super::lruvec::{Lruvecs, Scan, inactive_ratio};
use super::workingset::Refault;
use crate::model::Lru;
use crate::model::page::{Pages, Tier, WORKINGSET};

/// Pages that entered RAM in the order of their numbers, none of them accessed since.
struct Bench {
    pages: Pages,
    lists: Lruvecs,
    /// What was done since the last batch ended.
    scan: Scan,
}

impl Bench {
    fn new(kind: Lru, count: u32) -> Self {
        Self::of_groups(kind, &[false], count, |_| 0, 0)
    }

    /// The first pages are active, of one group that has a limit or not.
    fn with_active(count: u32, active: u32, limited: bool) -> Self {
        Self::of_groups(Lru::Classic, &[limited], count, |_| 0, active)
    }

    fn of_groups(kind: Lru, limited: &[bool], count: u32, group: impl Fn(u32) -> u16, active: u32) -> Self {
        let pages = Pages::new(count as usize, limited.len() > 1, false);
        let mut bench = Self { pages, lists: Lruvecs::new(kind, limited.iter().copied()), scan: Scan::default() };
        for page in 0..count {
            bench.pages.set_cgroup(page, group(page));
            bench.pages.go(page, Tier::Ram);
            if page < active {
                bench.lists.activate(&mut bench.pages, page, &mut bench.scan);
            } else {
                bench.lists.insert(&mut bench.pages, page);
            }
        }
        bench.end_batch();
        bench
    }

    fn touch(&mut self, pages: impl IntoIterator<Item = u32>) {
        pages.into_iter().for_each(|page| self.lists.touch(&mut self.pages, page));
    }

    fn evict(&mut self) -> Option<u32> {
        self.evict_from(0)
    }

    fn evict_from(&mut self, group: u16) -> Option<u32> {
        let page = self.lists.victim(&mut self.pages, group, &mut self.scan)?;
        self.pages.go(page, Tier::Disk);
        let shadow = self.lists.shadow(group);
        self.pages.set_place(page, shadow);
        Some(page)
    }

    fn evict_some(&mut self, count: usize) -> Vec<u32> {
        (0..count).map_while(|_| self.evict()).collect()
    }

    /// Pages scanned, activated and deactivated in the batch that ends.
    fn end_batch(&mut self) -> (u64, u64, u64) {
        let mut scan = std::mem::take(&mut self.scan);
        self.lists.end_batch(&mut self.pages, 0, &mut scan);
        (scan.scanned, scan.activated, scan.deactivated)
    }

    fn come_back(&mut self, page: u32) -> Refault {
        self.pages.go(page, Tier::Ram);
        self.lists.refault(&mut self.pages, page, true)
    }

    /// Whether each of these would be active at once if it came back now.
    fn are_recent<const N: usize>(&self, pages: [u32; N]) -> [bool; N] {
        pages.map(|page| {
            let mut bench = Self { pages: self.pages.clone(), lists: self.lists.clone(), scan: self.scan };
            bench.come_back(page) != Refault::Late
        })
    }

    fn counts(&self) -> (u64, u64, u64) {
        (self.scan.scanned, self.scan.activated, self.scan.deactivated)
    }
}

#[test]
fn the_exact_order_is_that_of_the_last_access() {
    let mut bench = Bench::new(Lru::Exact, 6);
    bench.touch([0, 3, 0]);
    assert_eq!((bench.lists.len(0), bench.evict_some(9)), (6, vec![1, 2, 4, 5, 3, 0]));
    assert_eq!((bench.counts(), bench.lists.resident()), ((6, 0, 0), 0));
    assert_eq!(
        [Lru::Exact, Lru::Classic, Lru::Generational].map(|kind| Bench::new(kind, 1).lists.marks_pages()),
        [false, true, true]
    );
}

/// Who was accessed goes round once, who was accessed again by then becomes active.
#[test]
fn a_page_is_active_when_it_was_seen_twice() {
    let mut bench = Bench::new(Lru::Classic, 100);
    bench.touch(0..10);
    assert_eq!((bench.evict_some(2), bench.counts()), (vec![10, 11], (12, 0, 0)), "ten of them went round");
    bench.touch(0..5);
    assert_eq!(bench.evict_some(88), (12..100).collect::<Vec<u32>>());
    assert_eq!((bench.lists.len(0), bench.evict()), (10, Some(5)), "the first five are active");
    assert_eq!(bench.counts(), (12 + 88 + 5 + 1, 5, 0));
    assert_eq!(bench.evict_some(9), [6, 7, 8, 9, 0, 1, 2, 3, 4], "they come last, with no mark left of having been accessed");
    assert_eq!(bench.counts(), (106 + 5 + 9, 5, 5));
    assert!((0..5).all(|page| bench.pages.has(page, WORKINGSET)) && !bench.pages.has(5, WORKINGSET));
}

/// As many may be active as are inactive, or three times as many from a gigabyte on: else a batch is deactivated before a page is taken.
#[test]
fn the_active_list_gives_up_a_batch_when_it_is_too_long() {
    for (count, active, deactivated) in [
        (100, 0, 0),
        (100, 50, 0),
        (100, 51, 32),
        (100, 100, 32),
        (20, 20, 20),
        (300_000, 150_001, 0),
        (300_000, 225_000, 0),
        (300_000, 225_001, 32),
        (300_000, 300_000, 32),
    ] {
        let mut bench = Bench::with_active(count, active, false);
        let first = if active == count { 0 } else { active };
        assert_eq!(
            (bench.evict(), bench.counts()),
            (Some(first), (deactivated + 1, 0, deactivated)),
            "{active} of {count} are active"
        );
        let next = if active < count - 1 { active + 1 } else { first + 1 };
        assert_eq!(bench.evict(), Some(next), "deactivated pages come last");
    }
}

/// `inactive_ratio` of mm/vmscan.c: the square root of ten times the gigabytes, and 1 below one.
#[test]
fn the_share_of_active_pages_grows_with_memory() {
    const GIGABYTE: usize = 1 << 18;
    assert_eq!([0, 1, GIGABYTE - 1].map(inactive_ratio), [1, 1, 1]);
    for gigabytes in 1..200 {
        let expected = (10.0 * gigabytes as f64).sqrt() as usize;
        let ends = [gigabytes * GIGABYTE, (gigabytes + 1) * GIGABYTE - 1];
        assert_eq!(ends.map(inactive_ratio), [expected; 2], "{gigabytes} GiB");
    }
}

/// A group at its limit: active pages go when some came back soon, until the round has ended, when they are too many, or anyway.
#[test]
fn active_pages_are_looked_at_for_a_reason() {
    let share = |pages: usize| pages / 2;
    let mut bench = Bench::with_active(120, 20, true);
    assert_eq!(bench.lists.targets(0, share, false), (50, 0));
    assert_eq!(bench.lists.targets(0, share, true), (50, 10), "anyway");
    let page = bench.evict().unwrap();
    assert_eq!(bench.come_back(page), Refault::Activated);
    assert_eq!(bench.lists.targets(0, share, false), (49, 10), "99 and 21");
    bench.lists.end_round(0);
    assert_eq!(bench.lists.targets(0, share, false), (49, 0));
    assert_eq!(Bench::with_active(120, 70, true).lists.targets(0, share, false), (25, 35), "more than half are active");
}

/// While pages come back soon, as large a share of the active list is deactivated as was scanned of the inactive one.
#[test]
fn refaults_deactivate_a_share_of_the_active_list() {
    for (active, limited, before, after) in [
        // 12 of 60, and 41 active ones by then.
        (40, false, (12, 0, 0), (20, 0, 8)),
        (40, true, (12, 0, 0), (20, 0, 8)),
        // A batch was deactivated already: 12 of 72, and 29 active ones.
        (60, false, (44, 0, 32), (48, 0, 36)),
        (60, true, (44, 0, 32), (48, 0, 36)),
    ] {
        let evicted = |comes_back: bool| {
            let mut bench = Bench::with_active(100, active, limited);
            let evicted = bench.evict_some(12);
            if comes_back {
                assert_eq!(bench.come_back(evicted[11]), Refault::Activated);
            }
            (bench.end_batch(), bench.end_batch())
        };
        assert_eq!(evicted(false), (before, (0, 0, 0)), "{active} active");
        assert_eq!(evicted(true), (after, (0, 0, 0)), "{active} active, once");
    }
}

/// A page comes back soon when no more left after it, and became active, than there are active pages.
#[test]
fn who_was_away_for_longer_than_active_pages_are_many_comes_back_late() {
    for limited in [false, true] {
        // 60 active pages less a batch of 32 that was deactivated.
        let mut bench = Bench::with_active(100, 60, limited);
        let mut evicted = bench.evict_some(12);
        bench.end_batch();
        evicted.extend(bench.evict_some(20));
        assert_eq!(bench.are_recent([evicted[3], evicted[4], evicted[31]]), [false, true, true], "28 are active");
        assert_eq!((bench.come_back(evicted[31]), bench.lists.len(0)), (Refault::Activated, 69));
        assert_eq!(bench.are_recent([evicted[3], evicted[4]]), [false, true], "one more is active, and one more became so");
        // 40 active pages less 15 that were given back.
        let mut bench = Bench::with_active(100, 40, limited);
        (0..15).for_each(|page| bench.lists.remove(&bench.pages, page));
        (90..95).for_each(|page| bench.lists.remove(&bench.pages, page));
        let evicted = bench.evict_some(30);
        assert_eq!(bench.are_recent([evicted[4], evicted[5]]), [false, true], "25 are active");
        let shadow = evicted[29];
        bench.pages.go(shadow, Tier::Ram);
        assert_eq!(bench.lists.refault(&mut bench.pages, shadow, false), Refault::Late, "without free swap none can make room");
    }
}

/// What a group with a limit evicts counts for the machine too, and not the other way round.
#[test]
fn groups_with_a_limit_have_an_age_of_their_own() {
    // Of 100 pages 20 are active: even ones of group 0, which has a limit, odd ones of group 1, which has none.
    let begin = || Bench::of_groups(Lru::Classic, &[true, false], 100, |page| (page % 2) as u16, 20);
    let evict = |bench: &mut Bench, group, count| (0..count).map(|_| bench.evict_from(group).unwrap()).collect::<Vec<u32>>();
    // All 20 are counted for group 0 and the machine, whose batch that was.
    for (limited, machine, recent) in
        [(0, 19, true), (0, 20, false), (10, 9, true), (11, 9, false), (19, 0, true), (20, 0, false)]
    {
        let mut bench = begin();
        let first = evict(&mut bench, 1, 1)[0];
        evict(&mut bench, 0, limited);
        evict(&mut bench, 1, machine);
        assert_eq!(bench.are_recent([first]), [recent], "{limited} of the group, {machine} of the machine");
        let mut bench = begin();
        let first = evict(&mut bench, 0, 1)[0];
        evict(&mut bench, 0, limited);
        evict(&mut bench, 1, machine);
        assert_eq!(bench.are_recent([first]), [limited < 20], "its own {limited} alone");
    }
}
