//! How the worker that writes back walks the entries, by kernel.

use swaptune_kernel::{KernelVersion, behaviours};

/// What sets the worker going.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// A store that found the pool above its limit.
    AboveLimit,
    /// Any store that was refused.
    AnyReject,
}

/// When one run of the worker has done enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// After one page of the pool.
    OneEntry,
    /// When the pool accepts again.
    Accept,
}

/// In what order entries of several cgroups are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupOrder {
    /// By age alone.
    Global,
    /// One of each cgroup in turn; one that has none counts as a failure.
    Broken,
    /// One of each cgroup in turn; a cgroup that has none is passed over.
    Fair,
}

/// A way to walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walk {
    /// What sets it going.
    pub trigger: Trigger,
    /// When it has done enough.
    pub until: Until,
    /// In what order.
    pub groups: GroupOrder,
    /// Whether an entry is passed over the first time it is met (`referenced`).
    pub second_chance: bool,
    /// Entries looked at in one step.
    pub per_step: u32,
    /// Steps without success after which it gives up (`MAX_RECLAIM_RETRIES`).
    pub failures: u32,
}

/// Exactly what is needed, oldest first.
pub(super) const ONE: Walk = Walk {
    trigger: Trigger::AnyReject,
    until: Until::Accept,
    groups: GroupOrder::Global,
    second_chance: false,
    per_step: 1,
    failures: 16,
};

/// One of each cgroup in turn.
pub(super) const EACH: Walk = Walk { groups: GroupOrder::Fair, ..ONE };

impl Walk {
    /// The walk of a kernel (mm/zswap.c: `shrink_worker`, `shrink_memcg`).
    #[must_use]
    pub fn of_kernel(version: KernelVersion) -> Self {
        let by_cgroup = behaviours::WRITEBACK_BY_CGROUP.is_in(version);
        let fair = behaviours::WRITEBACK_FAIR.is_in(version);
        Self {
            trigger: if by_cgroup { Trigger::AnyReject } else { Trigger::AboveLimit },
            until: if behaviours::WRITES_BACK_TO_THRESHOLD.is_in(version) { Until::Accept } else { Until::OneEntry },
            groups: match (by_cgroup, fair) {
                (false, _) => GroupOrder::Global,
                (true, false) => GroupOrder::Broken,
                (true, true) => GroupOrder::Fair,
            },
            second_chance: fair,
            per_step: if behaviours::WRITEBACK_IN_BATCHES.is_in(version) { 32 } else { 1 },
            failures: 16,
        }
    }
}

#[cfg(test)]
mod tests {
    use swaptune_kernel::v;

    use super::*;

    #[test]
    fn each_change_has_its_version() {
        let walk = Walk::of_kernel;
        assert_eq!((walk(v(6, 4)).until, walk(v(6, 5)).until), (Until::OneEntry, Until::Accept));
        assert_eq!((walk(v(6, 7)).trigger, walk(v(6, 8)).trigger), (Trigger::AboveLimit, Trigger::AnyReject));
        assert_eq!((walk(v(5, 10)).groups, walk(v(6, 7)).groups), (GroupOrder::Global, GroupOrder::Global));
        assert_eq!(
            (walk(v(6, 8)).groups, walk(v(6, 11)).groups, walk(v(6, 12)).groups),
            (GroupOrder::Broken, GroupOrder::Broken, GroupOrder::Fair)
        );
        assert_eq!((walk(v(6, 11)).second_chance, walk(v(6, 12)).second_chance), (false, true));
        assert_eq!((walk(v(6, 18)).per_step, walk(v(7, 2)).per_step, walk(v(7, 3)).per_step), (1, 1, 32));
        assert_eq!((walk(v(5, 0)), walk(v(6, 0))), (walk(v(6, 4)), walk(v(6, 4))), "the first of each row");
        assert_eq!((walk(v(6, 19)), walk(v(7, 0))), (walk(v(6, 12)), walk(v(6, 12))));
        assert!([v(5, 15), v(6, 6), v(6, 9), v(6, 18), v(7, 3)].into_iter().all(|version| walk(version).failures == 16));
    }
}
