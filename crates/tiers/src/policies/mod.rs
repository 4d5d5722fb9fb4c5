//! How zswap's pool is kept below its limit: THE table of policies.
//!
//! A row says how it differs from an earlier one, or from `KERNEL`, a current kernel as it comes. To add a policy is to add a row.

mod walk;

pub use walk::{GroupOrder, Trigger, Until, Walk};

impl PartialEq for Policy {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// What a pool is measured by, in pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolMarks {
    /// Its limit.
    pub max: u64,
    /// The threshold below which it accepts again.
    pub accept: u64,
}

/// More pages than any pool has.
const NEVER: u64 = u64::MAX;

/// Who pays for write-back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WritebackPayer {
    /// The page that needs the room waits for it.
    Store,
    /// A worker on the processor that asked for it, which the process there feels.
    SameProcessor,
    /// A worker on another processor.
    Background,
}

/// What keeps a pool below its limit.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// What it is called on the command line.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub about: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// Pages of the pool from which on a page that is stored goes to the disk at once too, so that its eviction is free.
    pub through: fn(PoolMarks) -> u64,
    /// Pages of the pool from which on a store sets the worker going although it succeeds.
    pub early: fn(PoolMarks) -> u64,
    /// Pages of the pool from which on a store sets another worker going, which copies the oldest pages to the disk and leaves them in the
    /// pool.
    pub cleans: fn(PoolMarks) -> u64,
    /// How the worker walks; `None`: as the kernel of that version does.
    pub walk: Option<Walk>,
    /// Who pays for it.
    pub context: WritebackPayer,
    /// The dynamic shrinker of 6.8 (`shrinker_enabled`).
    pub shrinker: bool,
    /// Whether pages that do not compress are kept as they are; `None`: as the kernel of that version does.
    pub raw: Option<bool>,
    /// Nanoseconds for which the worker pauses after a page was rejected or read from the disk.
    pub pause: u64,
    /// Whether a pool that was full refuses pages until it is below its threshold.
    pub hysteresis: bool,
}

/// What the rows have in common unless they say otherwise: a current kernel as it comes.
const KERNEL: Policy = Policy {
    name: "",
    about: "",
    source: "",
    through: |_| NEVER,
    early: |_| NEVER,
    cleans: |_| NEVER,
    walk: None,
    context: WritebackPayer::SameProcessor,
    shrinker: false,
    raw: None,
    pause: 0,
    hysteresis: true,
};

/// The pool is drained once a page was rejected: zswap as it comes.
const LIMIT: Policy = Policy {
    name: "limit",
    about: "The pool is drained to its threshold once a page was rejected, as the kernel of that version does it",
    source: "mm/zswap.c, shrink_worker()",
    ..KERNEL
};

const SHRINKER: Policy = Policy {
    name: "shrinker",
    about: "Reclaim writes back some of the pool's oldest pages along the way (shrinker_enabled), besides the limit",
    source: "mm/zswap.c, zswap_shrinker_scan(); since 6.8",
    shrinker: true,
    ..KERNEL
};

const NO_WRITEBACK: Policy = Policy {
    name: "no-writeback",
    about: "Nothing is ever written back: what does not fit the pool goes to the disk",
    source: "zsmalloc under zswap until 6.1, which could not evict",
    walk: Some(Walk { failures: 0, groups: GroupOrder::Global, ..walk::ONE }),
    ..KERNEL
};

const WRITE_BACK: Policy = Policy {
    name: "write-back",
    about: "A store into a full pool first writes back the oldest pages and waits for that",
    source: "mm/zswap.c of 3.13, zswap_frontswap_store()",
    walk: Some(walk::ONE),
    context: WritebackPayer::Store,
    ..KERNEL
};

const WRITE_THROUGH: Policy = Policy {
    name: "write-through",
    about: "Each page that is stored is written to the disk at once too, so that a full pool just drops its oldest",
    source: "D. Streetman, \"mm/zswap: add writethrough option\", v2, January 2014",
    through: |_| 0,
    ..WRITE_BACK
};

const SWITCHING: Policy = Policy {
    name: "switching",
    about: "Write-back up to a hundredth below the limit, write-through from there on",
    source: "named as future work in the review of \"mm/zswap: add writethrough option\", 2014",
    through: full_but_for_a_hundredth,
    ..WRITE_BACK
};

const CLEANING: Policy = Policy {
    name: "cleaning",
    about: "Before the accept threshold is reached a worker begins to copy the oldest pages to the disk, as many as lie between it and the limit; a full pool drops them",
    source: "own, after the write-back of dirty pages ahead of reclaim (mm/page-writeback.c); in the place of switching by fill",
    cleans: below_threshold,
    ..WRITE_BACK
};

const BROKEN_WALK: Policy = Policy {
    name: "broken-walk",
    about: "The worker takes one page of each cgroup in turn and gives up after 16 that have none",
    source: "mm/zswap.c of 6.8 to 6.11, shrink_worker()",
    walk: Some(Walk { groups: GroupOrder::Broken, ..walk::EACH }),
    ..KERNEL
};

const FAIR_WALK: Policy = Policy {
    name: "fair-walk",
    about: "The worker takes one page of each cgroup in turn and passes over those that have none",
    source: "T. Funaki, \"mm: zswap: global shrinker fix and proactive shrink\", v2, July 2024, patches 1 and 2; in 6.12",
    walk: Some(walk::EACH),
    ..KERNEL
};

const PROACTIVE: Policy = Policy {
    name: "proactive",
    about: "The worker starts 1 % of the limit above the accept threshold, and the pool accepts pages up to its limit meanwhile",
    source: "T. Funaki, the same series, patch 3 (with 1 and 2)",
    early: above_threshold,
    hysteresis: false,
    ..FAIR_WALK
};

const BACKGROUND: Policy = Policy {
    name: "background",
    about: "As proactive, and the worker does not run on the processor that reclaims",
    source: "T. Funaki, the same series, patch 4 (with 1 to 3)",
    context: WritebackPayer::Background,
    ..PROACTIVE
};

const RAW: Policy = Policy {
    name: "raw",
    about: "As proactive, and pages that do not compress are kept in the pool as they are instead of being rejected",
    source: "T. Funaki, the same series, patch 5 (with 1 to 3); since 6.18 by another patch",
    raw: Some(true),
    ..PROACTIVE
};

const INTERRUPTED: Policy = Policy {
    name: "interrupted",
    about: "As proactive, and the worker pauses for 500 ms after a rejected page or a load that misses the pool",
    source: "T. Funaki, the same series, patch 6 (with 1 to 3)",
    pause: HALF_A_SECOND,
    ..PROACTIVE
};

const RESPONSIVE: Policy = Policy {
    name: "responsive",
    about: "Proactive, background, raw and interrupted together",
    source: "T. Funaki, the same series, all six patches",
    raw: Some(true),
    pause: HALF_A_SECOND,
    ..BACKGROUND
};

/// THE table of policies.
pub static POLICIES: &[Policy] = &[
    LIMIT,
    SHRINKER,
    NO_WRITEBACK,
    WRITE_BACK,
    WRITE_THROUGH,
    SWITCHING,
    CLEANING,
    BROKEN_WALK,
    FAIR_WALK,
    PROACTIVE,
    BACKGROUND,
    RAW,
    INTERRUPTED,
    RESPONSIVE,
];

/// Half a second in nanoseconds.
const HALF_A_SECOND: u64 = 500_000_000;

/// More than a hundredth of the limit above the threshold.
const fn above_threshold(marks: PoolMarks) -> u64 {
    marks.accept + marks.max / 100 + 1
}

/// As far below the threshold as the limit is above it: a pool that is filled in one go is not clean in time otherwise.
const fn below_threshold(marks: PoolMarks) -> u64 {
    (2 * marks.accept).saturating_sub(marks.max) + 1
}

/// A lower threshold writes pages that would still have come back from the pool, a higher one is missed by pools whose objects leave in
/// whole pages. What was stored before the switch is written when it goes: that is the price of not knowing what is to come.
const fn full_but_for_a_hundredth(marks: PoolMarks) -> u64 {
    marks.max - marks.max / 100
}

/// The policy of this name.
#[must_use]
pub fn named(name: &str) -> Option<&'static Policy> {
    POLICIES.iter().find(|policy| policy.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_everything_is_said() {
        for (index, policy) in POLICIES.iter().enumerate() {
            assert!(!policy.name.is_empty() && !policy.about.is_empty() && !policy.source.is_empty(), "{index}");
            assert_eq!(named(policy.name).map(|found| found.about), Some(policy.about));
        }
        let mut said: Vec<&str> = POLICIES.iter().flat_map(|policy| [policy.about, policy.source]).collect();
        said.sort_unstable();
        said.dedup();
        assert_eq!(said.len(), 2 * POLICIES.len(), "each says what it does and where it comes from, and not what its base says");
        assert!(named("lru").is_none());
        assert!(POLICIES[0] == LIMIT && POLICIES[0] != POLICIES[1], "a policy is its name");
    }

    #[test]
    fn thresholds_are_exact() {
        let marks = PoolMarks { max: 1000, accept: 900 };
        assert_eq!((PROACTIVE.early)(marks), 911, "a hundredth above the accept threshold");
        assert_eq!((SWITCHING.through)(marks), 990, "a hundredth below the limit");
        assert_eq!((CLEANING.cleans)(marks), 801, "as far below the threshold as the limit is above it");
        assert_eq!((CLEANING.cleans)(PoolMarks { max: 1000, accept: 300 }), 1);
    }
}
