//! Sysctls of memory management and the swap core, MGLRU, block queues.

use super::{Built, Effect, Knob, KnobKey, KnobKind};
use swaptune_kernel::v;

pub(super) static ROWS: &[Knob] = &[
    Knob {
        name: "vm.swappiness",
        path: "/proc/sys/vm/swappiness",
        kind: KnobKind::Integer { min: 0, max: 200 },
        default: "60",
        doc: "Relative cost of swap I/O against file I/O: 100 is equal, x times faster swap is 200*x/(x+1), over 100 suits compressed swap.",
        source: "Documentation/admin-guide/sysctl/vm.rst",
        ..Knob::LIVE
    },
    Knob {
        name: "vm.page-cluster",
        path: "/proc/sys/vm/page-cluster",
        kind: KnobKind::Integer { min: 0, max: 31 },
        unit: "log2 pages",
        default: "3",
        doc: "Read-ahead of swap, reads only: 2 to this power pages; 0 turns it off. No effect on zram; neighbours in zswap are decompressed too, and since 6.16 unused ones stay in RAM.",
        source: "Documentation/admin-guide/sysctl/vm.rst",
        ..Knob::LIVE
    },
    Knob {
        name: "vm.vfs_cache_pressure",
        path: "/proc/sys/vm/vfs_cache_pressure",
        kind: KnobKind::Integer { min: 0, max: 2147483647 },
        default: "100",
        doc: "Tendency to reclaim dentries and inodes against page cache; 0 can run out of memory.",
        source: "Documentation/admin-guide/sysctl/vm.rst",
        ..Knob::LIVE
    },
    Knob {
        name: "vm.vfs_cache_pressure_denom",
        path: "/proc/sys/vm/vfs_cache_pressure_denom",
        kind: KnobKind::Integer { min: 100, max: 2147483647 },
        default: "100",
        since: Some(v(6, 18)),
        doc: "Denominator of vfs_cache_pressure.",
        source: "Documentation/admin-guide/sysctl/vm.rst",
        ..Knob::LIVE
    },
    Knob {
        name: "vm.dirty_ratio",
        path: "/proc/sys/vm/dirty_ratio",
        kind: KnobKind::Integer { min: 0, max: 100 },
        unit: "%",
        default: "20",
        excludes: "vm.dirty_bytes",
        doc: "Share of available memory that one writer may dirty before it must write; 0 while dirty_bytes rules.",
        source: "Documentation/admin-guide/sysctl/vm.rst",
        ..Knob::LIVE
    },
    Knob {
        name: "vm.dirty_background_ratio",
        path: "/proc/sys/vm/dirty_background_ratio",
        kind: KnobKind::Integer { min: 0, max: 100 },
        unit: "%",
        default: "10",
        excludes: "vm.dirty_background_bytes",
        doc: "Share of available memory that may be dirty before background writing starts; 0 while dirty_background_bytes rules.",
        source: "Documentation/admin-guide/sysctl/vm.rst",
        ..Knob::LIVE
    },
    Knob {
        name: "vm.dirty_bytes",
        path: "/proc/sys/vm/dirty_bytes",
        kind: KnobKind::Integer { min: 0, max: 9223372036854775807 },
        least: 8192,
        unit: "bytes",
        default: "0",
        excludes: "vm.dirty_ratio",
        doc: "As dirty_ratio in bytes, two pages or more; setting one clears the other.",
        source: "Documentation/admin-guide/sysctl/vm.rst",
        ..Knob::LIVE
    },
    Knob {
        name: "vm.dirty_background_bytes",
        path: "/proc/sys/vm/dirty_background_bytes",
        kind: KnobKind::Integer { min: 0, max: 9223372036854775807 },
        unit: "bytes",
        default: "0",
        excludes: "vm.dirty_background_ratio",
        doc: "As dirty_background_ratio in bytes; setting one clears the other.",
        source: "Documentation/admin-guide/sysctl/vm.rst",
        ..Knob::LIVE
    },
    Knob {
        name: "vm.dirty_expire_centisecs",
        path: "/proc/sys/vm/dirty_expire_centisecs",
        kind: KnobKind::Integer { min: 0, max: 2147483647 },
        unit: "1/100 s",
        default: "3000",
        doc: "Age at which dirty data must be written.",
        source: "Documentation/admin-guide/sysctl/vm.rst",
        ..Knob::LIVE
    },
    Knob {
        name: "vm.dirty_writeback_centisecs",
        path: "/proc/sys/vm/dirty_writeback_centisecs",
        kind: KnobKind::Integer { min: 0, max: 2147483647 },
        unit: "1/100 s",
        default: "500",
        doc: "Interval of the flusher threads; 0 turns periodic writing off.",
        source: "Documentation/admin-guide/sysctl/vm.rst",
        ..Knob::LIVE
    },
    Knob {
        name: "vm.compact_unevictable_allowed",
        path: "/proc/sys/vm/compact_unevictable_allowed",
        kind: KnobKind::Integer { min: 0, max: 1 },
        default: "1 (0 with PREEMPT_RT)",
        built: Built::Options(&[("CONFIG_PREEMPT_RT", "0")], "1"),
        doc: "Whether compaction may move mlocked pages, which can stall their owner.",
        source: "Documentation/admin-guide/sysctl/vm.rst",
        ..Knob::LIVE
    },
    Knob {
        name: "vm.compact_memory",
        path: "/proc/sys/vm/compact_memory",
        kind: KnobKind::Trigger,
        default: "",
        doc: "Writing 1 compacts all zones once, so that huge pages can be had again.",
        source: "Documentation/admin-guide/sysctl/vm.rst",
        ..Knob::LIVE
    },
    Knob {
        name: "vm.compaction_proactiveness",
        path: "/proc/sys/vm/compaction_proactiveness",
        kind: KnobKind::Integer { min: 0, max: 100 },
        default: "20",
        doc: "How much compaction is done in the background; a non-zero write starts one at once.",
        source: "Documentation/admin-guide/sysctl/vm.rst",
        ..Knob::LIVE
    },
    Knob {
        name: "vm.watermark_scale_factor",
        path: "/proc/sys/vm/watermark_scale_factor",
        kind: KnobKind::Integer { min: 1, max: 3000 },
        unit: "1/10000",
        default: "10",
        doc: "Distance between the watermarks in 1/10000 of memory; larger makes kswapd start earlier and free more. Maximum 1000 before 5.17, unless it has the fix of July 2022 (5.15.58).",
        source: "Documentation/admin-guide/sysctl/vm.rst",
        ..Knob::LIVE
    },
    Knob {
        name: "vm.watermark_boost_factor",
        path: "/proc/sys/vm/watermark_boost_factor",
        kind: KnobKind::Integer { min: 0, max: 2147483647 },
        unit: "1/10000",
        default: "15000",
        doc: "How far the high watermark is raised after fragmentation, in 1/10000; 0 turns the bursts of reclaim off.",
        source: "Documentation/admin-guide/sysctl/vm.rst",
        ..Knob::LIVE
    },
    Knob {
        name: "vm.overcommit_memory",
        path: "/proc/sys/vm/overcommit_memory",
        kind: KnobKind::Integer { min: 0, max: 2 },
        default: "0",
        doc: "0 refuses what exceeds RAM and swap in one request, 1 never refuses, 2 is strict; none of them saves memory.",
        source: "Documentation/admin-guide/sysctl/vm.rst",
        ..Knob::LIVE
    },
    Knob {
        name: "vm.overcommit_ratio",
        path: "/proc/sys/vm/overcommit_ratio",
        kind: KnobKind::Integer { min: 0, max: 2147483647 },
        unit: "%",
        default: "50",
        excludes: "vm.overcommit_kbytes",
        doc: "Share of RAM in the commit limit; counts only with overcommit_memory=2.",
        source: "Documentation/admin-guide/sysctl/vm.rst",
        ..Knob::LIVE
    },
    Knob {
        name: "vm.overcommit_kbytes",
        path: "/proc/sys/vm/overcommit_kbytes",
        kind: KnobKind::Integer { min: 0, max: 9223372036854775807 },
        unit: "KiB",
        default: "0",
        excludes: "vm.overcommit_ratio",
        doc: "As overcommit_ratio in KiB; setting one clears the other.",
        source: "Documentation/admin-guide/sysctl/vm.rst",
        ..Knob::LIVE
    },
    Knob {
        name: "vm.min_free_kbytes",
        path: "/proc/sys/vm/min_free_kbytes",
        kind: KnobKind::Integer { min: 64, max: 2147483647 },
        unit: "KiB",
        default: "from RAM size",
        doc: "Memory kept free for allocations that cannot wait.",
        source: "Documentation/admin-guide/sysctl/vm.rst",
        ..Knob::LIVE
    },
    Knob {
        name: "vm.admin_reserve_kbytes",
        path: "/proc/sys/vm/admin_reserve_kbytes",
        kind: KnobKind::Integer { min: 0, max: 2147483647 },
        unit: "KiB",
        default: "8192",
        doc: "Memory kept for root when overcommit is 0 or 2.",
        source: "Documentation/admin-guide/sysctl/vm.rst",
        ..Knob::LIVE
    },
    Knob {
        name: "vm.zone_reclaim_mode",
        path: "/proc/sys/vm/zone_reclaim_mode",
        kind: KnobKind::Integer { min: 0, max: 7 },
        default: "0",
        doc: "Whether a NUMA node reclaims before it allocates elsewhere.",
        source: "Documentation/admin-guide/sysctl/vm.rst",
        ..Knob::LIVE
    },
    Knob {
        name: "vm.defrag_mode",
        path: "/proc/sys/vm/defrag_mode",
        kind: KnobKind::Integer { min: 0, max: 1 },
        default: "0",
        since: Some(v(6, 15)),
        doc: "Keeps huge-page blocks together at the price of earlier reclaim.",
        source: "Documentation/admin-guide/sysctl/vm.rst",
        ..Knob::LIVE
    },
    Knob {
        name: "vm.max_map_count",
        path: "/proc/sys/vm/max_map_count",
        kind: KnobKind::Integer { min: 1, max: 2147483647 },
        default: "65530",
        doc: "Most mappings a process may have.",
        source: "Documentation/admin-guide/sysctl/vm.rst",
        ..Knob::LIVE
    },
    Knob {
        name: "swap.vma_ra_enabled",
        path: "/sys/kernel/mm/swap/vma_ra_enabled",
        kind: KnobKind::Bool,
        default: "true",
        doc: "Read-ahead of swap by neighbouring addresses; one rotational area switches the machine to physical read-ahead.",
        source: "mm/swap_state.c",
        ..Knob::LIVE
    },
    Knob {
        name: "block.rotational",
        path: "/sys/block/*/queue/rotational",
        key: KnobKey::None("swaptune sets it for the disks of swap areas"),
        kind: KnobKind::Bool,
        default: "from the device; 1 on most virtual disks",
        effect: Effect::BeforeSetup,
        doc: "Whether the kernel treats the disk as spinning: selects the swap allocator, the kind of read-ahead and the splitting of huge pages at swapon.",
        source: "Documentation/ABI/stable/sysfs-block",
        ..Knob::LIVE
    },
    Knob {
        name: "lru_gen.enabled",
        path: "/sys/kernel/mm/lru_gen/enabled",
        kind: KnobKind::Integer { min: 0, max: 7 },
        letters: &[('y', "7"), ('n', "0")],
        unit: "bit mask",
        default: "7 with CONFIG_LRU_GEN_ENABLED, else 0",
        built: Built::Options(&[("CONFIG_LRU_GEN_ENABLED", "7")], "0"),
        since: Some(v(6, 1)),
        doc: "Multi-generational LRU: 1 the core, 2 clearing accessed bits in batches, 4 in non-leaf entries.",
        source: "Documentation/admin-guide/mm/multigen_lru.rst",
        ..Knob::LIVE
    },
    Knob {
        name: "lru_gen.min_ttl_ms",
        path: "/sys/kernel/mm/lru_gen/min_ttl_ms",
        kind: KnobKind::Integer { min: 0, max: 4294967295 },
        unit: "ms",
        default: "0",
        since: Some(v(6, 1)),
        doc: "Keeps the working set of this many milliseconds; if it cannot be kept the OOM killer runs.",
        source: "Documentation/admin-guide/mm/multigen_lru.rst",
        ..Knob::LIVE
    },
];
