//! zswap module parameters of every supported kernel (`/sys/module/zswap/parameters`), in the order in which a plan writes them; `enabled`
//! goes last all the same.

use super::{Built, Knob, KnobKind};
use swaptune_kernel::v;

pub(super) static ROWS: &[Knob] = &[
    Knob {
        name: "zswap.enabled",
        path: "/sys/module/zswap/parameters/enabled",
        kind: KnobKind::Bool,
        default: "N unless CONFIG_ZSWAP_DEFAULT_ON",
        built: Built::Options(&[("CONFIG_ZSWAP_DEFAULT_ON", "Y")], "N"),
        doc: "Turns the compressed cache for swap pages on; turning it off only stops new stores, what is stored stays until it is faulted in or swapoff.",
        source: "Documentation/admin-guide/mm/zswap.rst",
        ..Knob::LIVE
    },
    Knob {
        name: "zswap.zpool",
        path: "/sys/module/zswap/parameters/zpool",
        kind: KnobKind::Choice(&["zsmalloc", "zbud", "z3fold"]),
        default: "zbud up to 6.6, zsmalloc from 6.7",
        built: Built::Text("CONFIG_ZSWAP_ZPOOL_DEFAULT"),
        gone: Some(v(6, 18)),
        replaced_by: "zswap uses zsmalloc directly; zswap.zpool= on the command line is ignored without a word",
        doc: "Allocator of the pool: zsmalloc, zbud or z3fold (the last two are gone since 6.15).",
        source: "mm/zswap.c; zpool layer removed in 6.18",
        ..Knob::LIVE
    },
    Knob {
        name: "zswap.compressor",
        path: "/sys/module/zswap/parameters/compressor",
        kind: KnobKind::Name,
        default: "CONFIG_ZSWAP_COMPRESSOR_DEFAULT, upstream lzo",
        built: Built::Text("CONFIG_ZSWAP_COMPRESSOR_DEFAULT"),
        doc: "Compressor of pages stored from now on; before the first enable (6.3 and later) any name is taken and silently replaced, so read it back.",
        source: "mm/zswap.c, zswap_compressor_param_set",
        ..Knob::LIVE
    },
    Knob {
        name: "zswap.max_pool_percent",
        path: "/sys/module/zswap/parameters/max_pool_percent",
        kind: KnobKind::Integer { min: 0, max: 100 },
        unit: "%",
        default: "20",
        doc: "Largest share of all RAM that the compressed pool may take; a cap, not a reservation. At the limit new pages go to the disk; what it cannot hold must have the rest of RAM to run in.",
        source: "Documentation/admin-guide/mm/zswap.rst",
        ..Knob::LIVE
    },
    Knob {
        name: "zswap.accept_threshold_percent",
        path: "/sys/module/zswap/parameters/accept_threshold_percent",
        kind: KnobKind::Integer { min: 0, max: 100 },
        unit: "%",
        default: "90",
        doc: "After the pool was full, stores are accepted again below this share of max_pool_percent; 100 turns the hysteresis off.",
        source: "Documentation/admin-guide/mm/zswap.rst",
        ..Knob::LIVE
    },
    Knob {
        name: "zswap.shrinker_enabled",
        path: "/sys/module/zswap/parameters/shrinker_enabled",
        kind: KnobKind::Bool,
        default: "N unless CONFIG_ZSWAP_SHRINKER_DEFAULT_ON",
        built: Built::Options(&[("CONFIG_ZSWAP_SHRINKER_DEFAULT_ON", "Y")], "N"),
        since: Some(v(6, 8)),
        doc: "Lets memory reclaim write pages of the pool back to the swap device before the limit is reached, also where all of them would still fit.",
        source: "Documentation/admin-guide/mm/zswap.rst",
        ..Knob::LIVE
    },
    Knob {
        name: "zswap.same_filled_pages_enabled",
        path: "/sys/module/zswap/parameters/same_filled_pages_enabled",
        kind: KnobKind::Bool,
        default: "Y",
        gone: Some(v(6, 10)),
        replaced_by: "same-filled pages are always handled; since 6.12 zero pages are kept by the swap core",
        doc: "Stores pages filled with one repeated word as that word.",
        source: "mm/zswap.c; removed by c074e1467f85",
        ..Knob::LIVE
    },
    Knob {
        name: "zswap.non_same_filled_pages_enabled",
        path: "/sys/module/zswap/parameters/non_same_filled_pages_enabled",
        kind: KnobKind::Bool,
        default: "Y",
        since: Some(v(5, 18)),
        gone: Some(v(6, 10)),
        replaced_by: "such pages are always stored",
        doc: "Whether pages that are not same-filled are stored at all.",
        source: "mm/zswap.c; removed by c074e1467f85",
        ..Knob::LIVE
    },
    Knob {
        name: "zswap.exclusive_loads",
        path: "/sys/module/zswap/parameters/exclusive_loads",
        kind: KnobKind::Bool,
        default: "N unless CONFIG_ZSWAP_EXCLUSIVE_LOADS_DEFAULT_ON",
        built: Built::Options(&[("CONFIG_ZSWAP_EXCLUSIVE_LOADS_DEFAULT_ON", "Y")], "N"),
        since: Some(v(6, 5)),
        gone: Some(v(6, 9)),
        replaced_by: "a load always frees the entry since 6.9",
        doc: "Frees the compressed copy when a page is loaded; unsafe over zram or pmem swap on 6.5 to 6.8.",
        source: "mm/zswap.c; fix 25cd241408a2",
        ..Knob::LIVE
    },
];
