//! A pool of zsmalloc that lives: objects come and go, zspages fill up, become holed and are compacted.

use super::Zsmalloc;
use super::lists::Lists;

/// Groups of fullness of a class: 0 %, below 10 %, … below 90 %, below 100 %, 100 % (`NR_FULLNESS_GROUPS`).
const GROUPS: usize = 12;
const EMPTY: u8 = 0;
const FULL: u8 = GROUPS as u8 - 1;

#[derive(Clone, Copy, Debug, Default)]
struct Zspage {
    inuse: u16,
    class: u8,
    /// Of fullness.
    group: u8,
}

/// What the pool knows of a class besides its size.
#[derive(Clone, Copy, Debug)]
struct PoolClass {
    /// Pages of a zspage.
    pages: u16,
    /// Objects of a zspage.
    objects: u16,
    /// Groups that have zspages with room, a bit each.
    roomy: u16,
    /// Free places, as zspages that they would fill and what is left over: kept, because reclaim asks with each batch.
    rest: u16,
    zspages: u32,
    /// Where its groups begin in [`ZsPool::group_of`].
    first: u32,
}

/// A pool of zsmalloc.
///
/// Full groups first: a new object goes to the fullest group that has room, and there to the zspage that changed group last, as in
/// `find_get_zspage()` since 6.4. The handle of an object is the number of its zspage: which place it has there changes nothing.
#[derive(Clone, Debug)]
pub struct ZsPool {
    zsmalloc: Zsmalloc,
    classes: Vec<PoolClass>,
    /// For each class, the group of a zspage by its objects: the kernel divides twice for it.
    group_of: Vec<u8>,
    /// Zspages, and lists of those of a class by fullness, full ones too.
    zspages: Lists<Zspage>,
    /// Zspages that do not exist at present.
    empty: Vec<u32>,
    pages: u64,
    /// Pages that compaction would free.
    freeable: u64,
}

impl ZsPool {
    /// An empty pool with these classes.
    #[must_use]
    pub fn new(zsmalloc: Zsmalloc) -> Self {
        let (mut classes, mut group_of) = (Vec::new(), Vec::new());
        for size in zsmalloc.classes() {
            let (pages, objects, first) = (u16::from(size.pages), size.objects, group_of.len() as u32);
            classes.push(PoolClass { pages, objects, roomy: 0, rest: 0, zspages: 0, first });
            group_of.extend((0..=objects).map(|inuse| group(inuse, objects)));
        }
        let zspages = Lists::new(classes.len() * GROUPS);
        Self { zsmalloc, classes, group_of, zspages, empty: Vec::new(), pages: 0, freeable: 0 }
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
    pub fn prefetch(&self, zspage: u32) {
        self.zspages.prefetch(zspage);
    }

    /// Stores an object of `size` bytes, at most a page, and tells its zspage.
    #[inline]
    pub fn alloc(&mut self, size: u16) -> u32 {
        let class = self.zsmalloc.class_index(size);
        let fullest = self.classes[class].roomy.checked_ilog2();
        let found = fullest.and_then(|group| self.zspages.first(class * GROUPS + group as usize));
        let zspage = found.unwrap_or_else(|| self.fresh(class));
        self.fill(zspage);
        zspage
    }

    /// Frees an object of a zspage that [`ZsPool::alloc`] told and that was not freed since.
    #[inline]
    pub fn free(&mut self, zspage: u32) {
        let Zspage { class, inuse, .. } = self.zspages[zspage];
        let class = &mut self.classes[usize::from(class)];
        class.rest += 1;
        if class.rest == class.objects {
            (class.rest, class.zspages) = (0, class.zspages + 1);
            self.freeable += u64::from(class.pages);
        }
        if inuse == 1 {
            class.zspages -= 1;
            self.empty.push(zspage);
            self.pages -= u64::from(class.pages);
            self.freeable -= u64::from(class.pages);
        }
        change(class, &self.group_of, &mut self.zspages, zspage, inuse - 1);
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
        let mut moves = vec![Vec::new(); self.zspages.numbers().end as usize];
        let mut by_class = vec![Vec::new(); self.classes.len()];
        for index in self.zspages.numbers() {
            let Zspage { class, inuse, .. } = self.zspages[index];
            if inuse > 0 {
                by_class[usize::from(class)].push((inuse, index));
            }
        }
        for (class, zspages) in self.classes.iter().zip(&mut by_class) {
            zspages.sort_unstable();
            plan_class(*class, zspages, &mut moves);
        }
        moves
    }

    /// A zspage without objects, in no list.
    fn fresh(&mut self, class: usize) -> u32 {
        let zspage = Zspage { inuse: 0, class: class as u8, group: EMPTY };
        let class = &mut self.classes[class];
        class.zspages += 1;
        self.pages += u64::from(class.pages);
        self.freeable += u64::from(class.pages);
        let Some(index) = self.empty.pop() else { return self.zspages.add(zspage) };
        self.zspages[index] = zspage;
        index
    }

    /// An object takes a place of a zspage.
    #[inline]
    fn fill(&mut self, zspage: u32) {
        let Zspage { class, inuse, .. } = self.zspages[zspage];
        let class = &mut self.classes[usize::from(class)];
        if class.rest == 0 {
            (class.zspages, class.rest) = (class.zspages - 1, class.objects);
            self.freeable -= u64::from(class.pages);
        }
        class.rest -= 1;
        change(class, &self.group_of, &mut self.zspages, zspage, inuse + 1);
    }
}

/// Changes the number of objects of a zspage, and its group if need be (`fix_fullness_group`).
#[inline]
fn change(class: &mut PoolClass, group_of: &[u8], zspages: &mut Lists<Zspage>, index: u32, inuse: u16) {
    let after = group_of[class.first as usize + usize::from(inuse)];
    let zspage = &mut zspages[index];
    zspage.inuse = inuse;
    let before = std::mem::replace(&mut zspage.group, after);
    if before == after {
        return;
    }
    let lists = usize::from(zspage.class) * GROUPS;
    if before != EMPTY {
        let last = zspages.remove(index);
        class.roomy &= !(u16::from(last) << before);
    }
    if after != EMPTY {
        zspages.push(lists + usize::from(after), index);
        class.roomy |= (1 << after) & !(1 << FULL);
    }
}

/// Group of a zspage (`get_fullness_group`).
const fn group(inuse: u16, objects: u16) -> u8 {
    if inuse == 0 {
        return EMPTY;
    }
    if inuse == objects {
        return FULL;
    }
    // The kernel's 100 * inuse / objects / 10, which rounds down twice, in one division.
    (10 * inuse as u32 / objects as u32) as u8 + 1
}

/// Moves within one class: as many of the emptiest zspages as the holes of the others can take.
fn plan_class(class: PoolClass, ascending: &[(u16, u32)], moves: &mut [Vec<u32>]) {
    let (sources, rest) = ascending.split_at(class.zspages as usize);
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
