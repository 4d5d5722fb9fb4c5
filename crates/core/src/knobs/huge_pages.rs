//! Transparent huge pages: global, khugepaged, per size.

use super::{Built, Knob, KnobKey, KnobKind};
use swaptune_kernel::v;

pub(super) static ROWS: &[Knob] = &[
    Knob {
        name: "transparent_hugepage.enabled",
        path: "/sys/kernel/mm/transparent_hugepage/enabled",
        kind: KnobKind::Choice(&["always", "madvise", "never"]),
        default: "CONFIG_TRANSPARENT_HUGEPAGE_*",
        built: Built::Options(
            &[("CONFIG_TRANSPARENT_HUGEPAGE_ALWAYS", "always"), ("CONFIG_TRANSPARENT_HUGEPAGE_MADVISE", "madvise")],
            "never",
        ),
        doc: "Which anonymous memory gets huge pages. Up to 6.12 huge pages bypass zswap on non-rotational block devices.",
        source: "Documentation/admin-guide/mm/transhuge.rst",
        ..Knob::LIVE
    },
    Knob {
        name: "transparent_hugepage.defrag",
        path: "/sys/kernel/mm/transparent_hugepage/defrag",
        kind: KnobKind::Choice(&["always", "defer", "defer+madvise", "madvise", "never"]),
        default: "madvise",
        doc: "Whether an allocation waits for compaction to get a huge page.",
        source: "Documentation/admin-guide/mm/transhuge.rst",
        ..Knob::LIVE
    },
    Knob {
        name: "transparent_hugepage.shmem_enabled",
        path: "/sys/kernel/mm/transparent_hugepage/shmem_enabled",
        kind: KnobKind::Choice(&["always", "within_size", "advise", "never", "deny", "force"]),
        default: "never",
        doc: "Huge pages for shared memory.",
        source: "Documentation/admin-guide/mm/transhuge.rst",
        ..Knob::LIVE
    },
    Knob {
        name: "transparent_hugepage.use_zero_page",
        path: "/sys/kernel/mm/transparent_hugepage/use_zero_page",
        kind: KnobKind::Bool,
        default: "1",
        doc: "Whether a read of untouched memory maps the huge zero page.",
        source: "Documentation/admin-guide/mm/transhuge.rst",
        ..Knob::LIVE
    },
    Knob {
        name: "transparent_hugepage.shrink_underused",
        path: "/sys/kernel/mm/transparent_hugepage/shrink_underused",
        kind: KnobKind::Bool,
        default: "Y",
        since: Some(v(6, 13)),
        doc: "Splits huge pages that are mostly zeroes under pressure.",
        source: "Documentation/admin-guide/mm/transhuge.rst",
        ..Knob::LIVE
    },
    Knob {
        name: "transparent_hugepage.khugepaged.defrag",
        path: "/sys/kernel/mm/transparent_hugepage/khugepaged/defrag",
        kind: KnobKind::Integer { min: 0, max: 1 },
        default: "1",
        doc: "Whether khugepaged compacts memory.",
        source: "Documentation/admin-guide/mm/transhuge.rst",
        ..Knob::LIVE
    },
    Knob {
        name: "transparent_hugepage.khugepaged.pages_to_scan",
        path: "/sys/kernel/mm/transparent_hugepage/khugepaged/pages_to_scan",
        kind: KnobKind::Integer { min: 1, max: 4294967295 },
        unit: "pages",
        default: "4096",
        doc: "Pages that khugepaged scans a pass.",
        source: "Documentation/admin-guide/mm/transhuge.rst",
        ..Knob::LIVE
    },
    Knob {
        name: "transparent_hugepage.khugepaged.scan_sleep_millisecs",
        path: "/sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs",
        kind: KnobKind::Integer { min: 0, max: 4294967295 },
        unit: "ms",
        default: "10000",
        doc: "Pause between passes.",
        source: "Documentation/admin-guide/mm/transhuge.rst",
        ..Knob::LIVE
    },
    Knob {
        name: "transparent_hugepage.khugepaged.alloc_sleep_millisecs",
        path: "/sys/kernel/mm/transparent_hugepage/khugepaged/alloc_sleep_millisecs",
        kind: KnobKind::Integer { min: 0, max: 4294967295 },
        unit: "ms",
        default: "60000",
        doc: "Pause after a failed allocation.",
        source: "Documentation/admin-guide/mm/transhuge.rst",
        ..Knob::LIVE
    },
    Knob {
        name: "transparent_hugepage.khugepaged.max_ptes_none",
        path: "/sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_none",
        kind: KnobKind::Integer { min: 0, max: 511 },
        unit: "pages",
        default: "511",
        doc: "Untouched pages a collapse may fill: each costs memory.",
        source: "Documentation/admin-guide/mm/transhuge.rst",
        ..Knob::LIVE
    },
    Knob {
        name: "transparent_hugepage.khugepaged.max_ptes_swap",
        path: "/sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_swap",
        kind: KnobKind::Integer { min: 0, max: 511 },
        unit: "pages",
        default: "64",
        doc: "Swapped-out pages that a collapse may read in.",
        source: "Documentation/admin-guide/mm/transhuge.rst",
        ..Knob::LIVE
    },
    Knob {
        name: "transparent_hugepage.khugepaged.max_ptes_shared",
        path: "/sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_shared",
        kind: KnobKind::Integer { min: 0, max: 511 },
        unit: "pages",
        default: "256",
        doc: "Shared pages a collapse may copy.",
        source: "Documentation/admin-guide/mm/transhuge.rst",
        ..Knob::LIVE
    },
    Knob {
        name: "transparent_hugepage.size.enabled",
        path: "/sys/kernel/mm/transparent_hugepage/hugepages-*kB/enabled",
        key: KnobKey::None("it exists for each size of page, and swaptune sets none"),
        kind: KnobKind::Choice(&["always", "inherit", "madvise", "never"]),
        default: "inherit for PMD size, else never",
        since: Some(v(6, 8)),
        doc: "Huge pages of one size; inherit follows the global setting.",
        source: "Documentation/admin-guide/mm/transhuge.rst",
        ..Knob::LIVE
    },
    Knob {
        name: "transparent_hugepage.size.shmem_enabled",
        path: "/sys/kernel/mm/transparent_hugepage/hugepages-*kB/shmem_enabled",
        key: KnobKey::None("it exists for each size of page, and swaptune sets none"),
        kind: KnobKind::Choice(&["always", "inherit", "within_size", "advise", "never"]),
        default: "inherit for PMD size, else never",
        since: Some(v(6, 11)),
        doc: "Huge pages of one size for shared memory.",
        source: "Documentation/admin-guide/mm/transhuge.rst",
        ..Knob::LIVE
    },
];
