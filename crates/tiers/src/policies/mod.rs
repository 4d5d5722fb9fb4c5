//! How zswap's pool is kept below its limit: one small file a policy, all of them in [`POLICIES`].

mod background;
mod broken_walk;
mod cleaning;
mod fair_walk;
mod interrupted;
mod limit;
mod no_writeback;
mod proactive;
mod raw;
mod responsive;
mod shrinker;
mod switching;
mod walk;
mod write_back;
mod write_through;

pub use walk::{Groups, Trigger, Until, Walk};

impl PartialEq for Policy {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// What a pool is measured by, in pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marks {
    /// Its limit.
    pub max: u64,
    /// The threshold below which it accepts again.
    pub accept: u64,
}

/// More pages than any pool has.
const NEVER: u64 = u64::MAX;

/// Who pays for write-back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Context {
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
    pub through: fn(Marks) -> u64,
    /// Pages of the pool from which on a store sets the worker going although it succeeds.
    pub early: fn(Marks) -> u64,
    /// Pages of the pool from which on a store sets another worker going, which copies the oldest pages to the disk and leaves them in the
    /// pool.
    pub cleans: fn(Marks) -> u64,
    /// How the worker walks; `None`: as the kernel of that version does.
    pub walk: Option<Walk>,
    /// Who pays for it.
    pub context: Context,
    /// The dynamic shrinker of 6.8 (`shrinker_enabled`).
    pub shrinker: bool,
    /// Whether pages that do not compress are kept as they are; `None`: as the kernel of that version does.
    pub raw: Option<bool>,
    /// Nanoseconds for which the worker pauses after a page was rejected or read from the disk.
    pub pause: u64,
    /// Whether a pool that was full refuses pages until it is below its threshold.
    pub hysteresis: bool,
}

/// What the policies have in common unless they say otherwise: a current kernel as it comes.
const KERNEL: Policy = Policy {
    name: "",
    about: "",
    source: "",
    through: |_| NEVER,
    early: |_| NEVER,
    cleans: |_| NEVER,
    walk: None,
    context: Context::SameProcessor,
    shrinker: false,
    raw: None,
    pause: 0,
    hysteresis: true,
};

/// THE table of policies.
pub const POLICIES: [Policy; 14] = [
    limit::POLICY,
    shrinker::POLICY,
    no_writeback::POLICY,
    write_back::POLICY,
    write_through::POLICY,
    switching::POLICY,
    cleaning::POLICY,
    broken_walk::POLICY,
    fair_walk::POLICY,
    proactive::POLICY,
    background::POLICY,
    raw::POLICY,
    interrupted::POLICY,
    responsive::POLICY,
];

/// The policy of this name.
#[must_use]
pub fn named(name: &str) -> Option<&'static Policy> {
    static TABLE: [Policy; 14] = POLICIES;
    TABLE.iter().find(|policy| policy.name == name)
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
        assert!(POLICIES[0] == limit::POLICY && POLICIES[0] != POLICIES[1], "a policy is its name");
    }
}
