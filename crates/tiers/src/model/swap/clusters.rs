//! Clusters of a swap area's slots, each in the list that says what is known of its room (mm/swapfile.c, as since 6.14; earlier kernels are
//! taken to do the same).

use crate::model::page::NONE;

/// Slots of a cluster (`SWAPFILE_CLUSTER`).
pub(crate) const CLUSTER: u32 = 512;

/// What is known of a cluster's room. All but the last are lists, the oldest member first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum ClusterRoom {
    /// Every slot is free (`free_clusters`).
    Empty,
    /// A slot was given back since one was last taken (`nonfull_clusters`).
    Holes,
    /// One was taken since; others were left (`frag_clusters`).
    Taken,
    /// None is free (`full_clusters`). Their order does not matter.
    Full,
}

const LISTS: usize = ClusterRoom::Full as usize;

#[derive(Clone, Copy, Debug)]
struct Cluster {
    size: u16,
    free: u16,
    room: ClusterRoom,
    /// Its neighbours in its list.
    older: u32,
    newer: u32,
}

/// All clusters of an area.
#[derive(Clone, Debug)]
pub(crate) struct Clusters {
    clusters: Vec<Cluster>,
    /// Oldest and newest of each list.
    oldest: [u32; LISTS],
    newest: [u32; LISTS],
}

impl Clusters {
    /// Those of an area of this many slots, all free.
    pub(crate) fn new(slots: u32) -> Self {
        let count = slots.div_ceil(CLUSTER);
        let mut all = Self { clusters: Vec::with_capacity(count as usize), oldest: [NONE; LISTS], newest: [NONE; LISTS] };
        for index in 0..count {
            let size = CLUSTER.min(slots - index * CLUSTER) as u16;
            all.clusters.push(Cluster { size, free: size, room: ClusterRoom::Full, older: NONE, newer: NONE });
            all.list(index, ClusterRoom::Empty);
        }
        all
    }

    /// The oldest cluster of a list.
    pub(crate) fn oldest(&self, room: ClusterRoom) -> Option<u32> {
        self.oldest.get(room as usize).copied().filter(|&cluster| cluster != NONE)
    }

    pub(crate) fn is_empty(&self, cluster: u32) -> bool {
        let Cluster { size, free, .. } = self.clusters[cluster as usize];
        size == free
    }

    pub(crate) fn is_full(&self, cluster: u32) -> bool {
        self.clusters[cluster as usize].free == 0
    }

    /// A slot of a cluster was taken.
    #[inline]
    pub(crate) fn take(&mut self, cluster: u32) {
        self.clusters[cluster as usize].free -= 1;
        self.scanned(cluster);
    }

    /// A cluster that is not empty was scanned for a slot (`relocate_cluster`).
    #[inline]
    pub(crate) fn scanned(&mut self, cluster: u32) {
        let room = if self.is_full(cluster) { ClusterRoom::Full } else { ClusterRoom::Taken };
        self.go(cluster, room);
    }

    /// A slot of a cluster was given back (`partial_free_cluster`, `free_cluster`).
    #[inline]
    pub(crate) fn give_back(&mut self, cluster: u32) {
        self.clusters[cluster as usize].free += 1;
        let room = if self.is_empty(cluster) { ClusterRoom::Empty } else { ClusterRoom::Holes };
        self.go(cluster, room);
    }

    /// Puts a cluster at the end of another list. In its own it keeps its place.
    #[inline]
    fn go(&mut self, cluster: u32, room: ClusterRoom) {
        if self.clusters[cluster as usize].room != room {
            self.unlist(cluster);
            self.list(cluster, room);
        }
    }

    fn unlist(&mut self, cluster: u32) {
        let Cluster { room, older, newer, .. } = self.clusters[cluster as usize];
        if room == ClusterRoom::Full {
            return;
        }
        match self.clusters.get_mut(older as usize) {
            Some(older) => older.newer = newer,
            None => self.oldest[room as usize] = newer,
        }
        match self.clusters.get_mut(newer as usize) {
            Some(newer) => newer.older = older,
            None => self.newest[room as usize] = older,
        }
    }

    fn list(&mut self, cluster: u32, room: ClusterRoom) {
        self.clusters[cluster as usize].room = room;
        if room == ClusterRoom::Full {
            return;
        }
        let older = std::mem::replace(&mut self.newest[room as usize], cluster);
        match self.clusters.get_mut(older as usize) {
            Some(older) => older.newer = cluster,
            None => self.oldest[room as usize] = cluster,
        }
        let own = &mut self.clusters[cluster as usize];
        (own.older, own.newer) = (older, NONE);
    }
}
