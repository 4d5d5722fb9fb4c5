//! How much a shrinker does when reclaim calls it (mm/shrinker.c).

/// Objects of one call (`SHRINK_BATCH`).
const BATCH: u64 = 128;

/// What a shrinker has put off (`nr_deferred`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shrinker {
    deferred: u64,
}

impl Shrinker {
    /// Scans as many of `freeable` objects as is due now, a batch at a time, until `batch` says that one came to nothing (`do_shrink_slab`
    /// with DEFAULT_SEEKS). That batch stays put off, as what is too little for one.
    pub(super) fn scan(&mut self, freeable: u64, priority: u32, mut batch: impl FnMut(u64) -> bool) {
        if freeable == 0 {
            return;
        }
        let delta = (freeable >> priority) * 2;
        let total = ((self.deferred >> priority) + delta).min(2 * freeable);
        let mut scanned = 0;
        while total - scanned >= BATCH.min(freeable) {
            let count = BATCH.min(total - scanned);
            if !batch(count) {
                break;
            }
            scanned += count;
        }
        self.deferred = (self.deferred + delta).saturating_sub(scanned).min(2 * freeable);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Objects of a call whose batches all come to something.
    fn scan(shrinker: &mut Shrinker, freeable: u64, priority: u32) -> u64 {
        let mut scanned = 0;
        shrinker.scan(freeable, priority, |count| {
            scanned += count;
            true
        });
        scanned
    }

    #[test]
    fn small_lists_are_scanned_only_at_high_pressure() {
        let mut shrinker = Shrinker::default();
        assert_eq!(scan(&mut shrinker, 10_000, 12), 0);
        assert_eq!(shrinker.deferred, 4);
        assert_eq!(scan(&mut shrinker, 0, 0), 0);
        assert_eq!(shrinker.deferred, 4, "where nothing is offered, nothing is forgotten");
        assert_eq!(scan(&mut shrinker, 262_144, 12), 128);
        assert_eq!(scan(&mut shrinker, 100, 0), 128, "one batch, and what is left is too little for another");
    }

    #[test]
    fn a_batch_that_came_to_nothing_ends_the_call_and_stays_put_off() {
        let (mut shrinker, mut calls) = (Shrinker::default(), 0);
        shrinker.scan(1024, 1, |count| {
            calls += 1;
            assert_eq!(count, 128);
            calls < 3
        });
        assert_eq!((calls, shrinker.deferred), (3, 1024 - 2 * 128));
    }

    #[test]
    fn no_more_than_twice_what_there_is_is_put_off() {
        let mut shrinker = Shrinker::default();
        assert!((0..10_000).all(|_| scan(&mut shrinker, 5_000, 12) == 0));
        assert_eq!(shrinker.deferred, 10_000);
    }

    #[test]
    fn what_is_put_off_comes_later() {
        let mut shrinker = Shrinker::default();
        let calls = (0..10_000).take_while(|_| scan(&mut shrinker, 60_000, 9) == 0).count();
        assert_eq!(calls, 0, "234 at once");
        let mut shrinker = Shrinker::default();
        let calls = (0..10_000).take_while(|_| scan(&mut shrinker, 30_000, 9) == 0).count();
        assert!((50..100).contains(&calls), "{calls}");
    }
}
