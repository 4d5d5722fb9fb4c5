//! From looks at a process to accesses of its pages.

use std::cmp::Reverse;
use std::io;

use swaptune_host::processes::watch::{ProcessLook, SeenPage, TouchedPages};
use swaptune_tiers::trace::Op;

/// Numbers of pages, without gaps; those of pages that went are given again.
#[derive(Debug, Default)]
pub(super) struct Ids {
    next: u32,
    free: Vec<u32>,
}

impl Ids {
    /// How many numbers were ever in use.
    pub(super) fn count(&self) -> u32 {
        self.next
    }

    fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        })
    }
}

/// How an access is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AccessBasis {
    /// The page was there when we first looked at the process.
    Held,
    /// It was made since the last look.
    Made,
    /// It was seen that this page was used.
    Known,
    /// Its mapping has as many used pages, and it is taken to be one of them.
    Assumed,
    /// It went.
    Gone,
}

/// An access of one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageAccess {
    pub(super) page: u32,
    pub(super) op: Op,
    pub(super) basis: AccessBasis,
}

/// A page that is followed.
#[derive(Clone, Copy, Debug)]
struct FollowedPage {
    seen: SeenPage,
    id: u32,
    /// Number of the look that last saw it used.
    last: u32,
}

/// The pages of one process as the last look saw them, in the order of addresses.
#[derive(Debug, Default)]
pub(super) struct FollowedPages {
    pages: Vec<FollowedPage>,
    began: bool,
}

impl FollowedPages {
    /// The process has ended: all its pages go.
    pub(super) fn end(self, ids: &mut Ids, put: &mut impl FnMut(PageAccess) -> io::Result<()>) -> io::Result<()> {
        self.pages.iter().try_for_each(|page| free(page, ids, put))
    }

    /// What happened up to look number `number`: first the pages that went, then those that were used, by address. `each_page` says
    /// that the look tells which pages were touched, and not only how many of each mapping.
    pub(super) fn step(
        &mut self,
        look: &ProcessLook,
        each_page: bool,
        number: u32,
        ids: &mut Ids,
        put: &mut impl FnMut(PageAccess) -> io::Result<()>,
    ) -> io::Result<()> {
        let came = if self.began { AccessBasis::Made } else { AccessBasis::Held };
        let mut uses = self.follow(&look.pages, came, ids, put)?;
        let trusted = if each_page { vec![true; uses.len()] } else { self.count(&look.counted, &mut uses) };
        self.began = true;
        for ((page, basis), trusted) in self.pages.iter_mut().zip(uses).zip(trusted) {
            let Some(basis) = basis else { continue };
            let is_new = matches!(basis, AccessBasis::Made | AccessBasis::Held);
            if is_new {
                page.id = ids.take();
            }
            page.last = number;
            let op = if is_new || trusted && page.seen.is_written() { Op::Write } else { Op::Read };
            put(PageAccess { page: page.id, op, basis })?;
        }
        Ok(())
    }

    /// Takes the pages of a look in place of those before; says which are known to have been used, and how.
    fn follow(
        &mut self,
        seen: &[SeenPage],
        came: AccessBasis,
        ids: &mut Ids,
        put: &mut impl FnMut(PageAccess) -> io::Result<()>,
    ) -> io::Result<Vec<Option<AccessBasis>>> {
        let mut before = std::mem::take(&mut self.pages).into_iter().peekable();
        let mut uses = Vec::with_capacity(seen.len());
        for &seen in seen {
            while let Some(gone) = before.next_if(|page| page.seen.address() < seen.address()) {
                free(&gone, ids, put)?;
            }
            let known = before.next_if(|page| page.seen.address() == seen.address());
            let is_back = known.is_some_and(|page| !page.seen.is_in_ram() && seen.is_in_ram());
            uses.push(match known {
                None => Some(came),
                Some(_) if is_back || seen.is_touched() => Some(AccessBasis::Known),
                Some(_) => None,
            });
            let (id, last) = known.map_or((u32::MAX, 0), |page| (page.id, page.last));
            self.pages.push(FollowedPage { seen, id, last });
        }
        before.try_for_each(|gone| free(&gone, ids, put))?;
        Ok(uses)
    }

    /// Adds the uses that only counts and soft-dirty marks tell of; says of which pages the marks can be trusted.
    fn count(&self, counted: &[TouchedPages], uses: &mut [Option<AccessBasis>]) -> Vec<bool> {
        let mut trusted = vec![true; uses.len()];
        for mapping in counted {
            let place = |address: u64| self.pages.partition_point(|page| page.seen.address() < address);
            let range = place(mapping.start)..place(mapping.end);
            let pages = &self.pages[range.clone()];
            let in_ram = || pages.iter().zip(range.clone()).filter(|(page, _)| page.seen.is_in_ram());
            let marked = in_ram().filter(|(page, at)| uses[*at].is_some() || page.seen.is_written()).count() as u64;
            // A mapping that has grown bears the mark as a whole: then more pages seem written than were touched at all.
            if marked > mapping.touched {
                trusted[range.clone()].fill(false);
            }
        }
        for ((page, used), trusted) in self.pages.iter().zip(&mut *uses).zip(&trusted) {
            if *trusted && page.seen.is_written() && used.is_none() {
                *used = Some(AccessBasis::Known);
            }
        }
        for mapping in counted {
            self.spread(mapping, uses);
        }
        trusted
    }

    /// Pages of a mapping that were touched, of which some are known. The others are taken to be those that were used last, in
    /// the order of addresses among equals: a program that goes on doing what it did.
    fn spread(&self, mapping: &TouchedPages, uses: &mut [Option<AccessBasis>]) {
        let place = |address: u64| self.pages.partition_point(|page| page.seen.address() < address);
        let range = place(mapping.start)..place(mapping.end);
        let in_ram = || range.clone().filter(|at| self.pages[*at].seen.is_in_ram());
        let known = in_ram().filter(|at| uses[*at].is_some()).count() as u64;
        let missing = usize::try_from(mapping.touched.saturating_sub(known)).unwrap_or(usize::MAX);
        let mut candidates: Vec<usize> = in_ram().filter(|at| uses[*at].is_none()).collect();
        let basis = if candidates.len() <= missing { AccessBasis::Known } else { AccessBasis::Assumed };
        candidates.sort_by_key(|at| Reverse(self.pages[*at].last));
        candidates.iter().take(missing).for_each(|at| uses[*at] = Some(basis));
    }
}

fn free(page: &FollowedPage, ids: &mut Ids, put: &mut impl FnMut(PageAccess) -> io::Result<()>) -> io::Result<()> {
    ids.free.push(page.id);
    put(PageAccess { page: page.id, op: Op::Free, basis: AccessBasis::Gone })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: u64 = 4096;

    /// A process and what became of its pages, as `page op basis`.
    #[derive(Default)]
    struct Follower {
        pages: FollowedPages,
        ids: Ids,
        looks: u32,
    }

    impl Follower {
        fn look(&mut self, pages: &[SeenPage], counted: &[TouchedPages], each_page: bool) -> Vec<String> {
            let (look, mut said) = (ProcessLook { pages: pages.to_vec(), counted: counted.to_vec() }, Vec::new());
            let mut put = |access: PageAccess| {
                said.push(format!("{} {:?} {:?}", access.page, access.op, access.basis));
                Ok(())
            };
            self.pages.step(&look, each_page, self.looks, &mut self.ids, &mut put).unwrap();
            self.looks += 1;
            said
        }
    }

    fn ram(number: u64) -> SeenPage {
        SeenPage::new(number * PAGE, true)
    }

    fn swap(number: u64) -> SeenPage {
        SeenPage::new(number * PAGE, false)
    }

    fn touched(start: u64, end: u64, touched: u64) -> TouchedPages {
        TouchedPages { start: start * PAGE, end: end * PAGE, touched }
    }

    #[test]
    fn pages_come_and_go_and_come_back_from_swap() {
        let mut follower = Follower::default();
        assert_eq!(follower.look(&[ram(1), swap(2), ram(5)], &[], true), ["0 Write Held", "1 Write Held", "2 Write Held"]);
        assert!(follower.look(&[ram(1), swap(2), ram(5)], &[], true).is_empty(), "nobody did anything");
        // Page 1 was moved to swap, which is no access; 2 came back, which is one; 5 went; 7 is new and gets its number.
        assert_eq!(follower.look(&[swap(1), ram(2), ram(7)], &[], true), ["2 Free Gone", "1 Read Known", "2 Write Made"]);
        let mut gone = Vec::new();
        let mut put = |access: PageAccess| {
            gone.push((access.page, access.op));
            Ok(())
        };
        follower.pages.end(&mut follower.ids, &mut put).unwrap();
        assert_eq!(gone, [(0, Op::Free), (1, Op::Free), (2, Op::Free)]);
        assert_eq!(follower.ids.count(), 3);
    }

    #[test]
    fn touched_and_written_pages_are_told_apart() {
        let mut follower = Follower::default();
        follower.look(&[ram(1), ram(2), ram(3)], &[], true);
        let look = [ram(1).touched(), ram(2).touched().written(), ram(3).written()];
        // Page 3 bears a mark of writing and was not touched: its mapping has grown.
        assert_eq!(follower.look(&look, &[], true), ["0 Read Known", "1 Write Known"]);
    }

    #[test]
    fn counts_of_all_or_none_are_exact() {
        let mut follower = Follower::default();
        follower.look(&[ram(1), ram(2), ram(8), ram(9)], &[], false);
        let counted = [touched(1, 3, 2), touched(8, 10, 0)];
        assert_eq!(follower.look(&[ram(1), ram(2), ram(8), ram(9)], &counted, false), ["0 Read Known", "1 Read Known"]);
    }

    #[test]
    fn of_some_pages_those_used_last_are_assumed() {
        let mut follower = Follower::default();
        let (all, one) = ([ram(1), ram(2), ram(3), ram(4)], [touched(1, 5, 1)]);
        follower.look(&[ram(1), ram(2), ram(3)], &[], false);
        // Page 4 is new and counts as the one that was touched.
        assert_eq!(follower.look(&all, &one, false), ["3 Write Made"]);
        assert_eq!(follower.look(&all, &one, false), ["3 Read Assumed"]);
        assert_eq!(follower.look(&all, &[touched(1, 5, 3)], false), ["0 Read Assumed", "1 Read Assumed", "3 Read Assumed"]);
        // A written page is known, and the other one that was touched is one of those used last.
        let written = [ram(1), ram(2), ram(3).written(), ram(4)];
        assert_eq!(follower.look(&written, &[touched(1, 5, 2)], false), ["0 Read Assumed", "2 Write Known"]);
    }

    #[test]
    fn marks_of_more_pages_than_were_touched_are_not_believed() {
        let mut follower = Follower::default();
        follower.look(&[ram(1), ram(2), swap(3)], &[], false);
        let look = [ram(1).written(), ram(2).written(), swap(3).written()];
        assert_eq!(follower.look(&look, &[touched(1, 4, 1)], false), ["0 Read Assumed"]);
        // Believed: a page may have been written and swapped out since.
        assert_eq!(
            follower.look(&[ram(1).written(), ram(2), swap(3).written()], &[touched(1, 4, 1)], false),
            ["0 Write Known", "2 Write Known"]
        );
    }
}
