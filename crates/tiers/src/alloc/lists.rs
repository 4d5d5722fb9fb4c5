//! Doubly linked lists of small numbers: what the allocators keep their half-filled pages in.

use crate::prefetch::prefetch;

const NIL: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Links {
    prev: u32,
    next: u32,
}

/// Several lists over the numbers 0…n. A number is in one list at most. New ones go to the front, as the kernel's `list_add`.
#[derive(Clone, Debug)]
pub(super) struct Lists {
    heads: Vec<u32>,
    links: Vec<Links>,
}

impl Lists {
    /// So many empty lists.
    pub(super) fn new(lists: usize) -> Self {
        Self { heads: vec![NIL; lists], links: Vec::new() }
    }

    /// Asks for the memory of a number that is moved soon.
    #[inline]
    pub(super) fn soon(&self, node: u32) {
        prefetch(&self.links, node as usize);
    }

    /// The number at the front of a list.
    pub(super) fn first(&self, list: usize) -> Option<u32> {
        Some(self.heads[list]).filter(|&node| node != NIL)
    }

    /// Puts a number, which must not be in any list, to the front of one.
    pub(super) fn push(&mut self, list: usize, node: u32) {
        if self.links.len() <= node as usize {
            self.links.resize(node as usize + 1, Links { prev: NIL, next: NIL });
        }
        let next = self.heads[list];
        self.links[node as usize] = Links { prev: NIL, next };
        if next != NIL {
            self.links[next as usize].prev = node;
        }
        self.heads[list] = node;
    }

    /// Takes a number out of the list that it is in.
    pub(super) fn remove(&mut self, list: usize, node: u32) {
        let Links { prev, next } = self.links[node as usize];
        match prev {
            NIL => self.heads[list] = next,
            _ => self.links[prev as usize].next = next,
        }
        if next != NIL {
            self.links[next as usize].prev = prev;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_pushed_is_first_and_any_can_go() {
        let mut lists = Lists::new(2);
        for node in [4, 1, 7, 2] {
            lists.push(0, node);
        }
        lists.push(1, 0);
        assert_eq!(lists.first(0), Some(2));
        lists.remove(0, 1);
        lists.remove(0, 2);
        assert_eq!(lists.first(0), Some(7));
        lists.remove(0, 7);
        assert_eq!(lists.first(0), Some(4));
        lists.remove(0, 4);
        assert_eq!((lists.first(0), lists.first(1)), (None, Some(0)));
        lists.push(0, 4);
        assert_eq!(lists.first(0), Some(4));
    }
}
