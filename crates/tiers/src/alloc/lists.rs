//! Doubly linked lists of numbered pages: what the allocators keep their half-filled ones in.

use std::ops::{Index, IndexMut};

use crate::prefetch::prefetch;

/// A page beside its links: who moves it looks at it too.
#[derive(Clone, Copy, Debug)]
struct ListNode<T> {
    prev: u32,
    next: u32,
    page: T,
}

/// Numbered pages, and several lists over them. A page is in one list at most. New ones go to the front, as the kernel's `list_add`.
///
/// Lists are rings through a node of their own, the first ones, so that no page is a special case at either end.
#[derive(Clone, Debug)]
pub(super) struct Lists<T> {
    lists: usize,
    nodes: Vec<ListNode<T>>,
}

impl<T: Copy + Default> Lists<T> {
    /// Empty lists.
    pub(super) fn new(lists: usize) -> Self {
        let empty = |list| ListNode { prev: list, next: list, page: T::default() };
        Self { lists, nodes: (0..lists as u32).map(empty).collect() }
    }

    /// A page more, in no list. Tells its number: of the first one that of lists, and one more for each.
    pub(super) fn add(&mut self, page: T) -> u32 {
        let number = self.nodes.len() as u32;
        self.nodes.push(ListNode { prev: number, next: number, page });
        number
    }

    /// Numbers of all pages.
    pub(super) fn numbers(&self) -> std::ops::Range<u32> {
        self.lists as u32..self.nodes.len() as u32
    }

    /// Asks for the memory of a page that is moved soon.
    #[inline]
    pub(super) fn prefetch(&self, node: u32) {
        prefetch(&self.nodes, node as usize);
    }

    /// The page at the front of a list.
    #[inline]
    pub(super) fn first(&self, list: usize) -> Option<u32> {
        let first = self.nodes[list].next;
        (first != list as u32).then_some(first)
    }

    /// Puts a page, which must not be in any list, to the front of one.
    #[inline]
    pub(super) fn push(&mut self, list: usize, node: u32) {
        let next = std::mem::replace(&mut self.nodes[list].next, node);
        self.nodes[next as usize].prev = node;
        let ListNode { prev, next: after, .. } = &mut self.nodes[node as usize];
        (*prev, *after) = (list as u32, next);
    }

    /// Takes a page out of the list that it is in. Tells whether that leaves the list empty.
    #[inline]
    pub(super) fn remove(&mut self, node: u32) -> bool {
        let ListNode { prev, next, .. } = self.nodes[node as usize];
        self.nodes[prev as usize].next = next;
        self.nodes[next as usize].prev = prev;
        prev == next
    }
}

impl<T> Index<u32> for Lists<T> {
    type Output = T;

    #[inline]
    fn index(&self, node: u32) -> &T {
        &self.nodes[node as usize].page
    }
}

impl<T> IndexMut<u32> for Lists<T> {
    #[inline]
    fn index_mut(&mut self, node: u32) -> &mut T {
        &mut self.nodes[node as usize].page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_pushed_is_first_and_any_can_go() {
        let mut lists = Lists::new(2);
        assert_eq!((0..8).map(|page| lists.add(page * 10)).collect::<Vec<u32>>(), (2..10).collect::<Vec<u32>>());
        lists[7] += 1;
        assert_eq!((lists[7], lists[3], lists.numbers()), (51, 10, 2..10));
        for node in [4, 3, 7, 2] {
            lists.push(0, node);
        }
        lists.push(1, 8);
        assert_eq!(lists.first(0), Some(2));
        assert_eq!([3, 2].map(|node| lists.remove(node)), [false, false]);
        assert_eq!(lists.first(0), Some(7));
        assert!(!lists.remove(7));
        assert_eq!(lists.first(0), Some(4));
        assert!(lists.remove(4));
        assert_eq!((lists.first(0), lists.first(1)), (None, Some(8)));
        lists.push(0, 4);
        assert_eq!(lists.first(0), Some(4));
    }
}
