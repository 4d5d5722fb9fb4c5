//! How the worker that writes back walks the entries, by kernel.

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
pub enum Groups {
    /// By age alone.
    Global,
    /// One of each cgroup in turn; one that has none counts as a failure.
    Broken,
    /// One of each cgroup in turn; such as have none are passed over.
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
    pub groups: Groups,
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
    groups: Groups::Global,
    second_chance: false,
    per_step: 1,
    failures: 16,
};

/// One of each cgroup in turn.
pub(super) const EACH: Walk = Walk { groups: Groups::Fair, ..ONE };

impl Walk {
    /// The walk of a kernel, `(6, 12)` for 6.12 (mm/zswap.c: `shrink_worker`, `shrink_memcg`).
    #[must_use]
    pub fn of_kernel(version: (u16, u16)) -> Self {
        let current = Self {
            trigger: Trigger::AnyReject,
            until: Until::Accept,
            groups: Groups::Fair,
            second_chance: true,
            per_step: 32,
            failures: 16,
        };
        match version {
            (0..=5, _) | (6, 0..=4) => Self { until: Until::OneEntry, ..Self::of_kernel((6, 5)) },
            (6, 5..=7) => Self { trigger: Trigger::AboveLimit, groups: Groups::Global, ..Self::of_kernel((6, 8)) },
            (6, 8..=11) => Self { groups: Groups::Broken, second_chance: false, ..Self::of_kernel((6, 12)) },
            (6, _) | (7, 0..=2) => Self { per_step: 1, ..current },
            _ => current,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_has_its_version() {
        let walk = Walk::of_kernel;
        assert_eq!((walk((6, 4)).until, walk((6, 5)).until), (Until::OneEntry, Until::Accept));
        assert_eq!((walk((6, 7)).trigger, walk((6, 8)).trigger), (Trigger::AboveLimit, Trigger::AnyReject));
        assert_eq!((walk((5, 10)).groups, walk((6, 7)).groups), (Groups::Global, Groups::Global));
        assert_eq!(
            (walk((6, 8)).groups, walk((6, 11)).groups, walk((6, 12)).groups),
            (Groups::Broken, Groups::Broken, Groups::Fair)
        );
        assert_eq!((walk((6, 11)).second_chance, walk((6, 12)).second_chance), (false, true));
        assert_eq!((walk((6, 18)).per_step, walk((7, 2)).per_step, walk((7, 3)).per_step), (1, 1, 32));
        assert_eq!((walk((5, 0)), walk((6, 0))), (walk((6, 4)), walk((6, 4))), "the first of each row");
        assert_eq!((walk((6, 19)), walk((7, 0))), (walk((6, 12)), walk((6, 12))));
        assert!([(5, 15), (6, 6), (6, 9), (6, 18), (7, 3)].into_iter().all(|version| walk(version).failures == 16));
    }
}
