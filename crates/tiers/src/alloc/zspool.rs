//! A pool of zsmalloc that lives: objects come and go, zspages fill up, become holed and are compacted.

use super::lists::Lists;
use super::{SizeClass, Zsmalloc};
use crate::prefetch::prefetch;

/// Groups of fullness of a class: 0 %, below 10 %, … below 90 %, below 100 %, 100 % (`NR_FULLNESS_GROUPS`).
const GROUPS: usize = 12;
const FULL: usize = GROUPS - 1;

#[derive(Clone, Copy, Debug)]
struct Zspage {
    class: u8,
    /// Of fullness.
    group: u8,
    inuse: u16,
}

/// Free places of a class, as zspages that they would fill and what is left over: kept, because reclaim asks with each batch.
#[derive(Clone, Copy, Debug, Default)]
struct Holes {
    zspages: u32,
    rest: u16,
}

/// A pool of zsmalloc.
///
/// Full groups first: a new object goes to the fullest group that has room, and there to the zspage that changed group last, as in
/// `find_get_zspage()` since 6.4. The handle of an object is the number of its zspage: which place it has there changes nothing.
#[derive(Clone, Debug)]
pub struct ZsPool {
    zsmalloc: Zsmalloc,
    zspages: Vec<Zspage>,
    /// Numbers of zspages that do not exist at present.
    empty: Vec<u32>,
    /// Zspages of a class by fullness, full and empty ones too.
    groups: Lists,
    pages: u64,
    /// Places for objects that the zspages of a class have free.
    holes: Vec<Holes>,
    /// Pages that compaction would free.
    freeable: u64,
}

impl ZsPool {
    /// An empty pool with these classes.
    #[must_use]
    pub fn new(zsmalloc: Zsmalloc) -> Self {
        let classes = zsmalloc.classes().len();
        let (groups, holes) = (Lists::new(classes * GROUPS), vec![Holes::default(); classes]);
        Self { zsmalloc, zspages: Vec::new(), empty: Vec::new(), groups, pages: 0, holes, freeable: 0 }
    }

    /// The classes.
    #[must_use]
    pub const fn zsmalloc(&self) -> &Zsmalloc {
        &self.zsmalloc
    }

    /// Pages of RAM that the pool holds.
    #[must_use]
    pub const fn pages(&self) -> u64 {
        self.pages
    }

    /// Asks for the memory of a zspage that is used soon.
    #[inline]
    pub fn soon(&self, zspage: u32) {
        prefetch(&self.zspages, zspage as usize);
        self.groups.soon(zspage);
    }

    /// Stores an object of so many bytes, at most a page, and tells its zspage.
    pub fn alloc(&mut self, size: u16) -> u32 {
        let class = self.zsmalloc.class_index(size);
        let lists = class * GROUPS;
        let found = (lists..lists + FULL).rev().find_map(|list| self.groups.first(list));
        let zspage = found.unwrap_or_else(|| self.fresh(class));
        self.fill(zspage);
        zspage
    }

    /// Frees an object of a zspage that [`ZsPool::alloc`] told and that was not freed since.
    pub fn free(&mut self, zspage: u32) {
        let class = usize::from(self.zspages[zspage as usize].class);
        self.change(zspage, -1);
        let holes = &mut self.holes[class];
        holes.rest += 1;
        let SizeClass { pages, objects, .. } = self.zsmalloc.classes()[class];
        if holes.rest == objects {
            (holes.rest, holes.zspages) = (0, holes.zspages + 1);
            self.freeable += u64::from(pages);
        }
        if self.zspages[zspage as usize].inuse == 0 {
            self.release(zspage, class);
        }
    }

    /// Pages that compaction would free (`zs_can_compact`).
    #[must_use]
    pub const fn freeable(&self) -> u64 {
        self.freeable
    }

    /// Moves objects out of the emptiest zspages into the fullest ones that have room, class by class, and frees what becomes empty.
    ///
    /// `objects` are the handles of all objects in the pool; those that move are changed. Tells how many pages became free.
    pub fn compact<'a>(&mut self, objects: impl Iterator<Item = &'a mut u32>) -> u64 {
        let before = self.pages;
        let mut moves = self.plan_moves();
        for handle in objects {
            if let Some(to) = moves.get_mut(*handle as usize).and_then(Vec::pop) {
                self.free(*handle);
                self.fill(to);
                *handle = to;
            }
        }
        before - self.pages
    }

    /// For each zspage that is to be emptied, where its objects go.
    fn plan_moves(&self) -> Vec<Vec<u32>> {
        let mut moves = vec![Vec::new(); self.zspages.len()];
        let mut by_class = vec![Vec::new(); self.holes.len()];
        for (index, zspage) in self.zspages.iter().enumerate().filter(|(_, zspage)| zspage.inuse > 0) {
            by_class[usize::from(zspage.class)].push((zspage.inuse, index as u32));
        }
        for (class, mut zspages) in by_class.into_iter().enumerate() {
            zspages.sort_unstable();
            plan_class(self.zsmalloc.classes()[class], &zspages, self.holes[class].zspages, &mut moves);
        }
        moves
    }

    fn fresh(&mut self, class: usize) -> u32 {
        let pages = self.zsmalloc.classes()[class].pages;
        let zspage = Zspage { class: class as u8, group: 0, inuse: 0 };
        let index = match self.empty.pop() {
            Some(index) => {
                self.zspages[index as usize] = zspage;
                index
            }
            None => {
                self.zspages.push(zspage);
                (self.zspages.len() - 1) as u32
            }
        };
        self.pages += u64::from(pages);
        self.holes[class].zspages += 1;
        self.freeable += u64::from(pages);
        self.groups.push(class * GROUPS, index);
        index
    }

    fn release(&mut self, zspage: u32, class: usize) {
        let pages = self.zsmalloc.classes()[class].pages;
        self.groups.remove(class * GROUPS, zspage);
        self.empty.push(zspage);
        self.pages -= u64::from(pages);
        self.holes[class].zspages -= 1;
        self.freeable -= u64::from(pages);
    }

    /// An object takes a place of a zspage.
    fn fill(&mut self, zspage: u32) {
        let class = usize::from(self.zspages[zspage as usize].class);
        self.change(zspage, 1);
        let holes = &mut self.holes[class];
        if holes.rest > 0 {
            holes.rest -= 1;
            return;
        }
        let SizeClass { pages, objects, .. } = self.zsmalloc.classes()[class];
        (holes.zspages, holes.rest) = (holes.zspages - 1, objects - 1);
        self.freeable -= u64::from(pages);
    }

    /// Changes the number of objects of a zspage, and its group if need be (`fix_fullness_group`).
    fn change(&mut self, index: u32, by: i16) {
        let zspage = &mut self.zspages[index as usize];
        let class = usize::from(zspage.class);
        let objects = self.zsmalloc.classes()[class].objects;
        zspage.inuse = zspage.inuse.wrapping_add_signed(by);
        let (before, after) = (usize::from(zspage.group), group(zspage.inuse, objects));
        if before != after {
            zspage.group = after as u8;
            self.groups.remove(class * GROUPS + before, index);
            self.groups.push(class * GROUPS + after, index);
        }
    }
}

/// Group of a zspage (`get_fullness_group`).
const fn group(inuse: u16, objects: u16) -> usize {
    if inuse == 0 {
        return 0;
    }
    if inuse == objects {
        return FULL;
    }
    // The kernel's 100 * inuse / objects / 10, which rounds down twice, in one division.
    (10 * inuse as u32 / objects as u32) as usize + 1
}

/// Moves within one class: as many of the emptiest zspages as the holes of the others can take.
fn plan_class(class: SizeClass, ascending: &[(u16, u32)], freeable: u32, moves: &mut [Vec<u32>]) {
    let (sources, rest) = ascending.split_at(freeable as usize);
    let mut holes = rest.iter().rev().flat_map(|&(inuse, index)| std::iter::repeat_n(index, usize::from(class.objects - inuse)));
    for &(inuse, source) in sources {
        moves[source as usize] = holes.by_ref().take(usize::from(inuse)).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alloc::Rule;

    fn pool() -> ZsPool {
        ZsPool::new(Zsmalloc::new(8, Rule::LeastWaste).unwrap())
    }

    #[test]
    fn groups_are_tenths_with_empty_and_full_apart() {
        let expect = [0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];
        assert_eq!(std::array::from_fn::<_, 11, _>(|inuse| group(inuse as u16, 10)), expect);
        assert_eq!((group(1, 128), group(127, 128)), (1, 10));
    }

    #[test]
    fn a_new_object_goes_to_the_fullest_zspage_with_room() {
        let mut pool = pool();
        // 2032 + 8 bytes: class 2048, two objects in a page.
        let handles: Vec<u32> = (0..5).map(|_| pool.alloc(2032)).collect();
        assert_eq!(pool.pages(), 3);
        pool.free(handles[0]);
        assert_eq!(pool.alloc(2032), handles[0], "changed group after the last page, so it is in front");
        pool.free(handles[4]);
        assert_eq!(pool.pages(), 2);
    }

    #[test]
    fn a_zspage_that_went_by_itself_leaves_no_holes() {
        let mut pool = pool();
        let mut handles: Vec<u32> = (0..8).map(|_| pool.alloc(2032)).collect();
        for index in [7, 6, 4, 2] {
            pool.free(handles.remove(index));
        }
        assert_eq!((pool.pages(), pool.freeable()), (3, 1), "of two objects, one and one");
        assert_eq!(pool.compact(handles.iter_mut()), 1);
    }

    #[test]
    fn compaction_frees_what_the_kernel_says_it_can() {
        let mut pool = pool();
        let mut handles: Vec<u32> = (0..2000).map(|index| pool.alloc(500 + index % 700)).collect();
        let full = pool.pages();
        for index in (0..1000).rev() {
            pool.free(handles.swap_remove(index * 2));
        }
        let (holed, freeable) = (pool.pages(), pool.freeable());
        assert!(freeable * 3 > full, "{freeable} of {full}");
        assert_eq!(pool.compact(handles.iter_mut()), freeable);
        assert_eq!((pool.pages(), pool.freeable()), (holed - freeable, 0));
        for handle in handles {
            pool.free(handle);
        }
        assert_eq!(pool.pages(), 0);
    }
}
