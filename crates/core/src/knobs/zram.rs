//! zram device attributes (`/sys/block/zramN`).

use super::{Effect, Knob, KnobKey, KnobKind};
use swaptune_kernel::v;

/// What the rows have in common.
const ATTRIBUTE: Knob = Knob {
    key: KnobKey::None("[[zram]] takes size, algorithm, priority, mem_limit, recomp_algorithm and backing_dev"),
    source: "Documentation/admin-guide/blockdev/zram.rst",
    ..Knob::LIVE
};

pub(super) static ROWS: &[Knob] = &[
    Knob {
        name: "zram.disksize",
        path: "/sys/block/zram*/disksize",
        key: KnobKey::Zram("size"),
        kind: KnobKind::Size,
        unit: "bytes",
        default: "0",
        effect: Effect::BeforeSetup,
        doc: "Uncompressed capacity of the device; the algorithm must be set before it.",
        ..ATTRIBUTE
    },
    Knob {
        name: "zram.comp_algorithm",
        path: "/sys/block/zram*/comp_algorithm",
        key: KnobKey::Zram("algorithm"),
        kind: KnobKind::Name,
        default: "lzo-rle upstream, lz4 in Debian 13",
        effect: Effect::BeforeSetup,
        doc: "Compressor; since 6.12 only the backends built into zram exist.",
        ..ATTRIBUTE
    },
    Knob {
        name: "zram.mem_limit",
        path: "/sys/block/zram*/mem_limit",
        key: KnobKey::Zram("mem_limit"),
        kind: KnobKind::Size,
        unit: "bytes",
        default: "0 (none)",
        doc: "Most RAM that the compressed data may take; a write over it fails with an I/O error.",
        ..ATTRIBUTE
    },
    Knob {
        name: "zram.mem_used_max",
        path: "/sys/block/zram*/mem_used_max",
        kind: KnobKind::Trigger,
        default: "",
        doc: "Writing 0 resets the high-water mark shown in mm_stat.",
        ..ATTRIBUTE
    },
    Knob {
        name: "zram.reset",
        path: "/sys/block/zram*/reset",
        kind: KnobKind::Trigger,
        default: "",
        doc: "Frees everything and makes the device uninitialised.",
        ..ATTRIBUTE
    },
    Knob {
        name: "zram.initstate",
        path: "/sys/block/zram*/initstate",
        kind: KnobKind::ReadOnly,
        default: "0",
        doc: "1 once disksize is set.",
        ..ATTRIBUTE
    },
    Knob {
        name: "zram.mm_stat",
        path: "/sys/block/zram*/mm_stat",
        kind: KnobKind::ReadOnly,
        default: "",
        doc: "Original size, compressed size, RAM used, limit, maximum, same-filled pages, compacted pages, incompressible pages now and ever (the last since 5.15).",
        ..ATTRIBUTE
    },
    Knob {
        name: "zram.io_stat",
        path: "/sys/block/zram*/io_stat",
        kind: KnobKind::ReadOnly,
        default: "",
        doc: "Failed reads, failed writes, non-page-aligned requests, freed slots.",
        ..ATTRIBUTE
    },
    Knob {
        name: "zram.debug_stat",
        path: "/sys/block/zram*/debug_stat",
        kind: KnobKind::ReadOnly,
        default: "",
        doc: "Internal counters of the driver.",
        ..ATTRIBUTE
    },
    Knob {
        name: "zram.compact",
        path: "/sys/block/zram*/compact",
        kind: KnobKind::Trigger,
        default: "",
        doc: "Compacts the allocator; the gain stands in mm_stat.",
        ..ATTRIBUTE
    },
    Knob {
        name: "zram.backing_dev",
        path: "/sys/block/zram*/backing_dev",
        key: KnobKey::Zram("backing_dev"),
        kind: KnobKind::Name,
        default: "none",
        effect: Effect::BeforeSetup,
        doc: "Block device for write-back (CONFIG_ZRAM_WRITEBACK).",
        ..ATTRIBUTE
    },
    Knob {
        name: "zram.writeback",
        path: "/sys/block/zram*/writeback",
        kind: KnobKind::Trigger,
        default: "",
        doc: "Writes idle, huge or huge_idle pages to the backing device once; nothing does this by itself.",
        ..ATTRIBUTE
    },
    Knob {
        name: "zram.writeback_limit",
        path: "/sys/block/zram*/writeback_limit",
        kind: KnobKind::Integer { min: 0, max: 9223372036854775807 },
        unit: "4 KiB",
        default: "0",
        doc: "Remaining write-back budget in 4 KiB units, honoured when writeback_limit_enable is 1.",
        ..ATTRIBUTE
    },
    Knob {
        name: "zram.writeback_limit_enable",
        path: "/sys/block/zram*/writeback_limit_enable",
        kind: KnobKind::Bool,
        default: "0",
        doc: "Turns the write-back budget on.",
        ..ATTRIBUTE
    },
    Knob {
        name: "zram.bd_stat",
        path: "/sys/block/zram*/bd_stat",
        kind: KnobKind::ReadOnly,
        default: "",
        doc: "Pages on the backing device, reads from it, writes to it, in 4 KiB units.",
        ..ATTRIBUTE
    },
    Knob {
        name: "zram.idle",
        path: "/sys/block/zram*/idle",
        kind: KnobKind::Trigger,
        default: "",
        doc: "Marks pages as idle: all, or those not accessed for N seconds (CONFIG_ZRAM_TRACK_ENTRY_ACTIME).",
        ..ATTRIBUTE
    },
    Knob {
        name: "zram.max_comp_streams",
        path: "/sys/block/zram*/max_comp_streams",
        kind: KnobKind::Integer { min: 1, max: 2147483647 },
        default: "number of CPUs",
        gone: Some(v(6, 15)),
        replaced_by: "a stream per CPU always, so it did nothing for years",
        doc: "Kept for compatibility; has no effect.",
        ..ATTRIBUTE
    },
    Knob {
        name: "zram.recomp_algorithm",
        path: "/sys/block/zram*/recomp_algorithm",
        key: KnobKey::Zram("recomp_algorithm"),
        kind: KnobKind::Name,
        default: "none",
        since: Some(v(6, 2)),
        effect: Effect::BeforeSetup,
        doc: "Up to three secondary compressors for recompression (CONFIG_ZRAM_MULTI_COMP, off in Debian).",
        ..ATTRIBUTE
    },
    Knob {
        name: "zram.recompress",
        path: "/sys/block/zram*/recompress",
        kind: KnobKind::Trigger,
        default: "",
        since: Some(v(6, 2)),
        doc: "Recompresses idle, huge or huge_idle pages once; fails with EINVAL before disksize is set.",
        ..ATTRIBUTE
    },
    Knob {
        name: "zram.algorithm_params",
        path: "/sys/block/zram*/algorithm_params",
        kind: KnobKind::Trigger,
        default: "",
        since: Some(v(6, 12)),
        effect: Effect::BeforeSetup,
        doc: "Level and dictionary of a compressor; errors show when disksize is written.",
        ..ATTRIBUTE
    },
    Knob {
        name: "zram.writeback_batch_size",
        path: "/sys/block/zram*/writeback_batch_size",
        kind: KnobKind::Integer { min: 1, max: 4294967295 },
        default: "32",
        since: Some(v(6, 19)),
        doc: "Requests in flight during write-back.",
        ..ATTRIBUTE
    },
    Knob {
        name: "zram.compressed_writeback",
        path: "/sys/block/zram*/compressed_writeback",
        kind: KnobKind::Bool,
        default: "N",
        since: Some(v(7, 0)),
        effect: Effect::BeforeSetup,
        doc: "Writes pages to the backing device in compressed form.",
        ..ATTRIBUTE
    },
];
