//! How much a shrinker does when reclaim calls it (mm/shrinker.c).

/// Objects of one call (`SHRINK_BATCH`).
const BATCH: u64 = 128;

/// What a shrinker has put off (`nr_deferred`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shrinker {
    deferred: u64,
}

impl Shrinker {
    /// How many of `freeable` objects to scan now (`do_shrink_slab` with DEFAULT_SEEKS).
    pub(super) fn scan(&mut self, freeable: u64, priority: u32) -> u64 {
        let delta = (freeable >> priority) * 2;
        let total = ((self.deferred >> priority) + delta).min(2 * freeable);
        let mut scanned = 0;
        while total - scanned >= BATCH.min(freeable).max(1) {
            scanned += BATCH.min(total - scanned);
        }
        self.deferred = (self.deferred + delta).saturating_sub(scanned).min(2 * freeable);
        scanned
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_lists_are_scanned_only_at_high_pressure() {
        let mut shrinker = Shrinker::default();
        assert_eq!(shrinker.scan(10_000, 12), 0);
        assert_eq!(shrinker.deferred, 4);
        assert_eq!(shrinker.scan(262_144, 12), 128);
        assert_eq!(shrinker.scan(100, 0), 128, "one batch, and what is left is too little for another");
        assert_eq!(Shrinker::default().scan(0, 0), 0);
    }

    #[test]
    fn no_more_than_twice_what_there_is_is_put_off() {
        let mut shrinker = Shrinker::default();
        assert!((0..10_000).all(|_| shrinker.scan(5_000, 12) == 0));
        assert_eq!(shrinker.deferred, 10_000);
    }

    #[test]
    fn what_is_put_off_comes_later() {
        let mut shrinker = Shrinker::default();
        let calls = (0..10_000).take_while(|_| shrinker.scan(60_000, 9) == 0).count();
        assert_eq!(calls, 0, "234 at once");
        let mut shrinker = Shrinker::default();
        let calls = (0..10_000).take_while(|_| shrinker.scan(30_000, 9) == 0).count();
        assert!((50..100).contains(&calls), "{calls}");
    }
}
