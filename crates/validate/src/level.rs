//! What a pool that fills holds in the mean. Each drain takes a tenth of it at once, so that what it holds at one moment, the end of the
//! workload, says how far the last drain is past, and not whether the simulator is right.

use std::time::Duration;

use crate::content::PAGE;
use crate::tiering::ACCEPT_PERCENT;

/// Time between two looks, the kernel's and the simulator's.
pub(super) const LOOK: Duration = Duration::from_millis(4);

/// The mean of many looks, from the first one on that saw as much as a full pool is drained to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Level {
    from: f64,
    sum: f64,
    looks: u32,
}

impl Level {
    /// Of a pool that may have this many pages.
    pub fn of(pages: u64) -> Self {
        Self { from: (pages * ACCEPT_PERCENT / 100 * PAGE as u64) as f64, sum: 0.0, looks: 0 }
    }

    /// It holds this many bytes now.
    pub fn see(&mut self, bytes: u64) {
        let bytes = bytes as f64;
        if self.looks > 0 || bytes >= self.from {
            self.sum += bytes;
            self.looks += 1;
        }
    }

    /// Bytes; `None` if it never held so much.
    pub fn mean(&self) -> Option<f64> {
        (self.looks > 0).then(|| self.sum / f64::from(self.looks))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_held_while_it_was_filled_does_not_count() {
        let mut level = Level::of(100);
        let see = |level: &mut Level, pages: &[u64]| pages.iter().for_each(|pages| level.see(pages * PAGE as u64));
        see(&mut level, &[10, 50, 89]);
        assert_eq!(level.mean(), None);
        see(&mut level, &[90, 100, 80]);
        assert_eq!(level.mean(), Some(90.0 * PAGE as f64), "but what it holds after that does");
    }
}
