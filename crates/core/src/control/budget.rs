//! A budget of bytes in any 24 hours.

use serde::{Deserialize, Serialize};

use crate::units::Bytes;

/// Hours that count: the running one is a part of an hour, so that one more makes 24 whole ones.
const HOURS: usize = 25;
const HOUR_MS: u64 = 3_600_000;

/// What was spent in each of the last hours.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// The hour of the last entry, counted from boot.
    hour: u64,
    /// Bytes by hour, the running one first.
    spent: Vec<u64>,
}

impl Budget {
    /// What may still be spent at this moment.
    #[must_use]
    pub fn left(&self, at_ms: u64, allowed: Bytes) -> Bytes {
        let passed = (at_ms / HOUR_MS).saturating_sub(self.hour) as usize;
        let counts = self.spent.iter().take(HOURS.saturating_sub(passed));
        Bytes(allowed.0.saturating_sub(counts.fold(0, |sum: u64, hour| sum.saturating_add(*hour))))
    }

    /// The same on the clock of another boot that shows `at_ms`, `passed_ms` after it was written down. What has passed of an hour counts as none.
    #[must_use]
    pub fn after_a_boot(mut self, passed_ms: u64, at_ms: u64) -> Self {
        self.age(passed_ms / HOUR_MS);
        Self { hour: at_ms / HOUR_MS, ..self }
    }

    /// Spends.
    pub fn spend(&mut self, at_ms: u64, bytes: Bytes) {
        let hour = at_ms / HOUR_MS;
        self.age(hour.saturating_sub(self.hour));
        self.spent.resize(self.spent.len().max(1), 0);
        self.hour = self.hour.max(hour);
        self.spent[0] = self.spent[0].saturating_add(bytes.0);
    }

    /// Begins hours in which nothing is spent yet.
    fn age(&mut self, hours: u64) {
        let hours = usize::try_from(hours).map_or(HOURS, |hours| hours.min(HOURS));
        self.spent.splice(0..0, std::iter::repeat_n(0, hours));
        self.spent.truncate(HOURS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_spent_counts_for_a_day() {
        let mut budget = Budget::default();
        let hour = |hours: u64| hours * HOUR_MS;
        assert_eq!(budget.left(hour(5), Bytes(100)), Bytes(100));
        budget.spend(hour(5), Bytes(60));
        budget.spend(hour(7), Bytes(30));
        assert_eq!(budget.left(hour(7), Bytes(100)), Bytes(10));
        assert_eq!(budget.left(hour(29), Bytes(100)), Bytes(10));
        assert_eq!(budget.left(hour(30), Bytes(100)), Bytes(70));
        assert_eq!(budget.left(hour(32), Bytes(100)), Bytes(100));
        // A clock that went back forgives nothing.
        budget.spend(hour(1), Bytes(5));
        assert_eq!(budget.left(hour(1), Bytes(100)), Bytes(5));
    }

    #[test]
    fn a_reboot_forgives_nothing() {
        let mut budget = Budget::default();
        budget.spend(100 * HOUR_MS, Bytes(60));
        let left = |passed: u64, at: u64, now: u64| budget.clone().after_a_boot(passed, at).left(now, Bytes(100));
        assert_eq!(left(0, 0, 0), Bytes(40));
        assert_eq!(left(HOUR_MS * 3 - 1, HOUR_MS * 9, HOUR_MS * (9 + 22)), Bytes(40), "two hours and 22");
        assert_eq!(left(HOUR_MS * 3, HOUR_MS * 9, HOUR_MS * (9 + 22)), Bytes(100));
        assert_eq!(left(u64::MAX, 0, 0), Bytes(100));
    }

    proptest::proptest! {
        #[test]
        fn no_day_has_more_than_is_allowed(
            spends in proptest::collection::vec((0_u64..HOUR_MS * 3, 0_u64..200), 1..200),
            allowed in 0_u64..2000,
        ) {
            let (mut budget, mut at, mut log) = (Budget::default(), 0, Vec::new());
            for (wait, wish) in spends {
                at += wait;
                let bytes = wish.min(budget.left(at, Bytes(allowed)).0);
                budget.spend(at, Bytes(bytes));
                log.push((at, bytes));
                let day: u64 = log.iter().filter(|(then, _)| at - then < 24 * HOUR_MS).map(|(_, bytes)| bytes).sum();
                proptest::prop_assert!(day <= allowed);
            }
        }
    }
}
