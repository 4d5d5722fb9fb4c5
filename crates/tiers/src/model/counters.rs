//! Counters, named as the kernel names them.

/// Events since the start, in pages unless the name says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Accesses in the trace.
    pub accesses: u64,
    /// Faults that had to wait for a codec or a device.
    pub pgmajfault: u64,
    /// Pages looked at by reclaim (`pgscan_kswapd` and `pgscan_direct`).
    pub pgscan: u64,
    /// Pages that reclaim took out of RAM (`pgsteal_*`).
    pub pgsteal: u64,
    /// Rounds of reclaim by a process that needed memory (`allocstall`).
    pub allocstall: u64,
    /// Pages loaded from zswap.
    pub zswpin: u64,
    /// Pages stored in zswap.
    pub zswpout: u64,
    /// Pages written back from zswap (`zswpwb`, since 6.8), which debugfs calls `written_back_pages`.
    pub zswpwb: u64,
    /// Pages read from swap areas, zram included.
    pub pswpin: u64,
    /// Pages written to swap areas, zram and write-back included.
    pub pswpout: u64,
    /// Of `pswpin`: from disks, backing devices of zram included.
    pub disk_in: u64,
    /// Pages written to disks, backing devices of zram included.
    pub disk_out: u64,
    /// Zero pages restored from the zero map (since 6.12).
    pub swpin_zero: u64,
    /// Zero pages that only the zero map remembers (since 6.12).
    pub swpout_zero: u64,
    /// Pages read ahead.
    pub swap_ra: u64,
    /// Of those: used.
    pub swap_ra_hit: u64,
    /// Pages that came back after they were evicted (`workingset_refault_anon`).
    pub workingset_refault_anon: u64,
    /// Of those: back so soon that they are active at once (`workingset_activate_anon`).
    pub workingset_activate_anon: u64,
    /// Of those: pages that had been active when they were evicted, or not long before (`workingset_restore_anon`).
    pub workingset_restore_anon: u64,
    /// Pages moved to the active list by reclaim that found them used twice (`pgactivate`).
    pub pgactivate: u64,
    /// Pages moved from there to the inactive list (`pgdeactivate`).
    pub pgdeactivate: u64,
    /// Stores refused because zswap's pool was at its limit.
    pub pool_limit_hit: u64,
    /// Stores refused between threshold and limit, which no kernel counts.
    pub reject_draining: u64,
    /// Attempts to write a page back that failed.
    pub reject_reclaim_fail: u64,
    /// Stores refused because the page did not compress (counted since 6.7).
    pub reject_compress_fail: u64,
    /// Stores refused because the allocator has no place of that size.
    pub reject_compress_poor: u64,
    /// Evictions given up because no swap slot was free.
    pub swap_full: u64,
    /// Pages that zram kept as they were because they did not compress (`huge_pages_since` of mm_stat).
    pub huge_pages_since: u64,
    /// Pages that zram wrote to its backing device (`bd_writes` of bd_stat).
    pub bd_writes: u64,
    /// Pages that it read from there (`bd_reads`).
    pub bd_reads: u64,
    /// Pages that a secondary algorithm brought into a smaller class, which no kernel counts.
    pub recompressed: u64,
    /// Pages that it could not (`ZRAM_INCOMPRESSIBLE`), which no kernel counts.
    pub recompress_rejected: u64,
    /// Pages that compaction of the pools freed.
    pub pages_compacted: u64,
}
