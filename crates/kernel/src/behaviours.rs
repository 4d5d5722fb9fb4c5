//! THE table of kernel behaviours: what Linux does, in which versions, who says so and which room depends on it.
//!
//! A rule, a finding or the simulator names a row and asks [`Behaviour::is_in`]; it never compares versions itself. A kernel that
//! changes its mind is one edit here. `swaptune knobs --behaviours` prints the table for a machine.

use crate::{KernelVersion, v};

/// Something that a kernel does or does not do, depending on its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Behaviour {
    /// What it is called in the table: `zero-map`.
    pub name: &'static str,
    /// First version that does it; `None` when every supported kernel (5.10 and later) before `until` does.
    pub since: Option<KernelVersion>,
    /// First version that does it no more; `None` while the newest does.
    pub until: Option<KernelVersion>,
    /// What the kernel does, as one sentence.
    pub about: &'static str,
    /// The source file, document or series that says so.
    pub source: &'static str,
    /// Crates that ask this row.
    pub used_by: &'static [&'static str],
}

impl Behaviour {
    /// Whether a kernel of this version does it.
    #[must_use]
    pub fn is_in(&self, version: KernelVersion) -> bool {
        self.since.is_none_or(|since| version >= since) && self.until.is_none_or(|until| version < until)
    }

    /// The versions that do it, in words: `since 6.12`, `6.5 to 6.8`.
    #[must_use]
    pub fn versions(&self) -> String {
        match (self.since, self.until) {
            (None, None) => "always".to_owned(),
            (Some(since), None) => format!("since {since}"),
            (None, Some(until)) => format!("before {until}"),
            (Some(since), Some(until)) => format!("since {since}, before {until}"),
        }
    }
}

/// A row that began with a version and goes on.
const fn since(major: u16, minor: u16) -> Lifetime {
    Lifetime { since: Some(v(major, minor)), until: None }
}

/// A row that ended with a version.
const fn before(major: u16, minor: u16) -> Lifetime {
    Lifetime { since: None, until: Some(v(major, minor)) }
}

/// A row that began with one version and ended with another.
const fn between(since: (u16, u16), until: (u16, u16)) -> Lifetime {
    Lifetime { since: Some(v(since.0, since.1)), until: Some(v(until.0, until.1)) }
}

struct Lifetime {
    since: Option<KernelVersion>,
    until: Option<KernelVersion>,
}

macro_rules! table {
    ($($id:ident: $name:literal, $life:expr, [$($user:literal),+], $about:literal, $source:literal;)+) => {
        $(
            #[doc = $about]
            pub const $id: Behaviour = {
                let Lifetime { since, until } = $life;
                Behaviour { name: $name, since, until, about: $about, source: $source, used_by: &[$($user),+] }
            };
        )+

        /// The whole table, in the order in which it is shown.
        pub const TABLE: &[Behaviour] = &[$($id),+];

        /// Rust's names of the rows, for the test that looks who uses them.
        #[cfg(test)]
        const IDENTIFIERS: &[&str] = &[$(stringify!($id)),+];
    };
}

table! {
    // zswap: what a store does.
    SAME_FILLED_IN_ZSWAP: "zswap-same-filled", before(6, 12), ["tiers", "bench"],
        "zswap keeps a page that one word fills as that word, without an object in its pool",
        "mm/zswap.c, zswap_is_page_same_filled(); removed with the zero map";
    RAW_PAGES: "zswap-keeps-raw", since(6, 18), ["core", "tiers", "bench"],
        "zswap keeps a page that does not compress as it is, instead of refusing it",
        "mm/zswap.c, zswap_compress(); stored_incompressible_pages in debugfs";
    COUNTS_COMPRESS_FAIL: "zswap-counts-compress-fail", since(6, 7), ["core", "tiers"],
        "zswap counts pages that its compressor could not make smaller",
        "mm/zswap.c, reject_compress_fail";
    ENTRY_HEADER: "zswap-entry-header", before(6, 5), ["bench"],
        "zswap puts the swap entry in front of each object where the allocator can evict (zbud, z3fold)",
        "mm/zswap.c, struct zswap_header";
    LARGE_FOLIOS_PAST_ZSWAP: "zswap-refuses-large-folios", before(6, 13), ["core"],
        "zswap refuses a large folio, so that a huge page goes to a non-rotational swap device as a whole",
        "mm/zswap.c, zswap_store()";
    COMPRESSOR_CHECKED_LATE: "zswap-compressor-checked-late", since(6, 3), ["core"],
        "Before it is first enabled zswap takes any compressor name, and silently replaces one that cannot be loaded when it is",
        "mm/zswap.c, zswap_setup()";

    // zswap: what a load does.
    LOADS_ARE_EXCLUSIVE: "zswap-exclusive-loads", since(6, 9), ["core", "tiers"],
        "A load takes the entry out of zswap",
        "mm/zswap.c, zswap_load()";
    EXCLUSIVE_LOADS_LOSE_PAGES: "zswap-exclusive-loads-unsafe", between((6, 5), (6, 9)), ["core"],
        "With exclusive_loads on, a load from a synchronous device (zram, pmem) frees the only copy of the page",
        "mm/zswap.c; fix 25cd241408a2";
    GENERATIONS: "lru-generations", since(6, 1), ["tiers"],
        "Pages can be kept in generations (MGLRU): Debian, Fedora, Arch and Ubuntu turn them on, lru_gen/enabled says so",
        "Documentation/admin-guide/mm/multigen_lru.rst; mm/Kconfig, CONFIG_LRU_GEN_ENABLED";
    READ_AHEAD_STAYS: "zswap-readahead-stays", since(6, 16), ["core", "tiers"],
        "What read-ahead brings out of zswap stays in RAM until it is used: pageout() writes no page that no process has mapped, and zswap kept no copy",
        "mm/vmscan.c, pageout(); no later kernel is known to differ";

    // zswap: its limit and write-back.
    LIMIT_IN_PAGES: "zswap-limit-in-pages", since(6, 10), ["tiers"],
        "The limit and the accept threshold are compared as pages, the threshold as a share of the limit",
        "mm/zswap.c, zswap_max_pages(), zswap_accept_thr_pages()";
    WRITES_BACK_TO_THRESHOLD: "zswap-writeback-to-threshold", since(6, 5), ["tiers"],
        "Write-back of a full pool goes on until the pool accepts again; before, it ends after one entry",
        "mm/zswap.c, shrink_worker()";
    WRITEBACK_BY_CGROUP: "zswap-writeback-by-cgroup", since(6, 8), ["tiers"],
        "Entries are listed by cgroup, the worker takes them in turn, and any refused store sets it going",
        "mm/zswap.c, shrink_worker(), list_lru";
    WRITEBACK_FAIR: "zswap-writeback-fair", since(6, 12), ["tiers"],
        "The worker passes over cgroups that have nothing in zswap, and an entry gets a second chance",
        "T. Funaki, \"mm: zswap: global shrinker fix and proactive shrink\", patches 1 and 2; zswap_entry.referenced";
    WRITEBACK_IN_BATCHES: "zswap-writeback-in-batches", since(7, 3), ["tiers"],
        "The worker looks at 32 entries of a cgroup in one step instead of one",
        "mm/zswap.c, shrink_memcg()";
    WORKER_UNBOUND: "zswap-worker-unbound", since(6, 9), ["tiers"],
        "The write-back worker is not bound to the processor that asks for it",
        "mm/zswap.c, WQ_UNBOUND";
    SHRINKER_SECOND_CHANCE: "zswap-shrinker-second-chance", since(6, 12), ["tiers"],
        "The shrinker gives each entry a second chance instead of protecting a quarter of them",
        "mm/zswap.c, zswap_shrinker_count()";
    WRITEBACK_NEEDS_MEMCG: "zswap-writeback-needs-memcg", between((6, 8), (7, 2)), ["core"],
        "A full pool is written back only where memory cgroups are compiled in and enabled",
        "mm/zswap.c, shrink_worker(), mem_cgroup_iter()";

    WRITEBACK_SWITCH: "zswap-writeback-switch", since(6, 8), ["core"],
        "A group can be kept from the disk (memory.zswap.writeback): what zswap refuses of it stays in RAM",
        "Documentation/admin-guide/cgroup-v2.rst; mm/page_io.c, swap_writeout()";

    WORKER_TO_THRESHOLD: "zswap-worker-to-threshold", since(6, 5), ["core"],
        "A store that is refused above the limit has the worker write back until the pool is below the threshold; before, one page",
        "mm/zswap.c, shrink_worker(); before, zpool_shrink(pool, 1)";

    // Control groups.
    RECLAIM_SWAPPINESS: "reclaim-swappiness", since(6, 11), ["host"],
        "memory.reclaim takes swappiness=0 to 200 (not in 6.9, in 6.11)",
        "mm/memcontrol.c, memory_reclaim()";
    RECLAIM_ANON_ONLY: "reclaim-swappiness-max", since(6, 17), ["host"],
        "memory.reclaim takes swappiness=max, which takes anonymous pages only (not in 6.14, in 6.17)",
        "mm/vmscan.c, user_proactive_reclaim()";

    // Allocators of compressed pages.
    ZSMALLOC_WRITES_BACK: "zsmalloc-writeback", since(6, 2), ["core"],
        "zsmalloc can write back; before, a full zsmalloc pool sends new pages straight to the disk",
        "mm/zsmalloc.c, zs_zpool_shrink()";
    ZSMALLOC_LEAST_WASTE: "zsmalloc-least-waste", since(6, 3), ["tiers"],
        "zsmalloc chooses the length of a class's zspages by least waste, up to a configured length (default 8)",
        "mm/zsmalloc.c, calculate_zspage_chain_size(); CONFIG_ZSMALLOC_CHAIN_SIZE";
    ONLY_ZSMALLOC: "zsmalloc-only", since(6, 15), ["core", "tiers"],
        "zbud and z3fold are gone; zsmalloc is the only allocator",
        "mm/Kconfig";
    NO_ZPOOL: "zswap-no-zpool", since(6, 18), ["core"],
        "zswap uses zsmalloc directly; zswap.zpool= on the command line is ignored without a message",
        "mm/zswap.c; zpool layer removed";

    // The swap core.
    ZERO_MAP: "zero-map", since(6, 12), ["tiers"],
        "The swap map remembers pages of zeros; they reach neither zswap nor the device",
        "mm/page_io.c, swap_zeromap_folio_set()";
    CLUSTERS_ROTATE: "swap-clusters-rotate", since(6, 15), ["core", "tiers"],
        "Areas of equal priority are filled in turn by whole clusters, or by single pages where they spin; before, 64 slots at a time",
        "mm/swapfile.c, swap_alloc_fast(), swap_alloc_slow(); the slot cache is gone";
    NONFULL_CLUSTERS_FIRST: "swap-nonfull-clusters-first", since(6, 18), ["tiers"],
        "Clusters from which slots were given back are filled before an empty one is taken, unless the device wants discards",
        "K. Song, \"mm, swap: prefer nonfull over free clusters\"";
    DEFAULT_PRIORITY_EQUAL: "swap-default-priority-equal", since(6, 19), ["core"],
        "Areas without a priority of their own all get -1 and are filled in turn; before, they get -2, -3, … one after the other",
        "mm/swapfile.c";
    LARGE_SWAPIN: "swap-large-folios-in", since(6, 12), ["core"],
        "Large folios come back whole from a synchronous device, unless zswap was enabled since boot",
        "mm/memory.c, alloc_swap_folio(); zswap_never_enabled()";

    // zram.
    ZRAM_OWN_CODECS: "zram-own-codecs", since(6, 12), ["core", "bench"],
        "zram has codecs of its own, chosen when it is built; before, it asks the crypto API",
        "drivers/block/zram/Kconfig, ZRAM_BACKEND_*";
    ZRAM_IDLE_BY_AGE: "zram-idle-by-age", since(5, 16), ["tiers"],
        "Pages of zram can be marked idle by age; before, only all at once",
        "drivers/block/zram/zram_drv.c, idle_store(); CONFIG_ZRAM_TRACK_ENTRY_ACTIME";
    ZRAM_RECOMPRESSION: "zram-recompression", since(6, 2), ["tiers"],
        "zram can compress pages again with another algorithm",
        "drivers/block/zram/zram_drv.c, recompress_store(); CONFIG_ZRAM_MULTI_COMP";
    ZRAM_RECOMPRESS_PAGES: "zram-recompress-pages", since(6, 10), ["core"],
        "How many pages zram compresses again at once can be bounded (max_pages); before, the word is ignored",
        "drivers/block/zram/zram_drv.c, recompress_store()";
    ZRAM_WRITEBACK_BATCHES: "zram-writeback-batches", since(6, 19), ["tiers"],
        "zram's write-back has several pages under way at once (writeback_batch_size)",
        "drivers/block/zram/zram_drv.c";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn names_are_unique_and_everything_is_said() {
        let names: BTreeSet<&str> = TABLE.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), TABLE.len());
        for row in TABLE {
            assert!(row.since.is_some() || row.until.is_some(), "{}: what every kernel does is no row", row.name);
            assert!(row.since.zip(row.until).is_none_or(|(since, until)| since < until), "{}", row.name);
            assert!(!row.about.is_empty() && !row.source.is_empty() && !row.used_by.is_empty(), "{}", row.name);
        }
    }

    #[test]
    fn the_first_and_the_last_version_are_exact() {
        let span = EXCLUSIVE_LOADS_LOSE_PAGES;
        assert_eq!([v(6, 4), v(6, 5), v(6, 8), v(6, 9)].map(|version| span.is_in(version)), [false, true, true, false]);
        assert_eq!([v(6, 11), v(6, 12), v(7, 0)].map(|version| ZERO_MAP.is_in(version)), [false, true, true]);
        assert_eq!([v(5, 10), v(6, 12), v(6, 13)].map(|version| LARGE_FOLIOS_PAST_ZSWAP.is_in(version)), [true, true, false]);
        assert_eq!(span.versions(), "since 6.5, before 6.9");
        assert_eq!((ZERO_MAP.versions(), LARGE_FOLIOS_PAST_ZSWAP.versions()), ("since 6.12".into(), "before 6.13".into()));
    }

    /// Production code of the other crates, by crate.
    fn sources() -> Vec<(String, String, String)> {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let mut found = Vec::new();
        for name in ["core", "tiers", "host", "bench", "swaptune"] {
            for part in ["src", "examples"].map(|part| crates.join(name).join(part)).iter().filter(|part| part.is_dir()) {
                read(name, part, &mut found);
            }
        }
        found
    }

    #[allow(clippy::disallowed_methods)] // A test may look at the tree; the crate may not.
    fn read(name: &str, folder: &Path, found: &mut Vec<(String, String, String)>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let shown = path.display().to_string();
            if path.is_dir() {
                read(name, &path, found);
            } else if shown.ends_with(".rs") && !shown.contains("tests") && !shown.contains("/cases/") {
                let text = std::fs::read_to_string(&path).unwrap();
                let tests = ["", "pub(super) "].map(|visible| format!("#[cfg(test)]\n{visible}mod tests {{"));
                let end = tests.iter().filter_map(|begin| text.find(begin)).min().unwrap_or(text.len());
                let text = text.get(..end).unwrap().to_owned();
                found.push((name.to_owned(), shown, text));
            }
        }
    }

    #[test]
    fn each_row_is_asked_by_the_crates_that_it_names() {
        let sources = sources();
        let words = |text: &str| -> BTreeSet<String> {
            text.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_owned).collect()
        };
        let sources: Vec<_> = sources.iter().map(|(name, _, text)| (name.as_str(), words(text))).collect();
        for (row, identifier) in TABLE.iter().zip(IDENTIFIERS) {
            let users: BTreeSet<&str> =
                sources.iter().filter(|(_, words)| words.contains(*identifier)).map(|(name, _)| *name).collect();
            assert_eq!(users, row.used_by.iter().copied().collect(), "{}", row.name);
        }
    }

    /// A version that stands in another crate is data of a table (a knob's lifetime, the kernel of a default), never a comparison.
    #[test]
    fn no_other_crate_compares_versions() {
        let literal = |line: &str| {
            let mut rest = line;
            while let Some(at) = rest.find("v(") {
                let before = rest[..at].chars().next_back();
                rest = &rest[at + 2..];
                if before.is_none_or(|c| !c.is_alphanumeric() && c != '_') && rest.starts_with(|c: char| c.is_ascii_digit()) {
                    return true;
                }
            }
            false
        };
        let is_data = |path: &str, line: &str| {
            path.contains("/knobs/") || line.contains("kernel: v(") || line.trim_start().starts_with("//")
        };
        let mut found = Vec::new();
        for (_, path, text) in sources() {
            let lines = text.lines().filter(|line| literal(line) && !is_data(&path, line));
            found.extend(lines.map(|line| format!("{path}: {}", line.trim())));
        }
        assert!(found.is_empty(), "ask a row of the table of behaviours instead:\n{}", found.join("\n"));
    }
}
