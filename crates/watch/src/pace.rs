//! Waiting for the next tick, and being asked to stop meanwhile.

use std::time::{Duration, Instant};

use rustix::event::{Timespec, poll};
use swaptune_host::stop::Stop;

/// Longest time without a look at the flag.
pub(crate) const GLANCE: Duration = Duration::from_secs(1);

/// Ticks at a steady distance: what a tick costs does not move the next one.
#[derive(Debug)]
pub struct Pace {
    interval: Duration,
    next: Instant,
}

impl Pace {
    /// The first tick is an interval away.
    #[must_use]
    pub fn new(interval: Duration) -> Self {
        Self { interval, next: Instant::now() + interval }
    }

    /// How long it is to the next tick.
    #[must_use]
    pub fn left(&self) -> Duration {
        self.next.saturating_duration_since(Instant::now())
    }

    /// Goes on to the tick after the next. Ticks that were missed are left out.
    pub fn advance(&mut self) {
        self.next = (self.next + self.interval).max(Instant::now());
    }

    /// Waits for the next tick; false when asked to stop.
    pub fn wait(&mut self, stop: &Stop) -> bool {
        // A signal ends the call; one that comes just before it is seen at the next look.
        while !stop.is_asked() && !self.left().is_zero() {
            let left = Timespec::try_from(self.left().min(GLANCE)).ok();
            let _ = poll(&mut [], left.as_ref());
        }
        self.advance();
        !stop.is_asked()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asked_to_stop_it_does_not_wait() {
        let stop = Stop::default();
        assert!(Pace::new(Duration::from_millis(1)).wait(&stop));
        stop.ask();
        assert!(!Pace::new(Duration::from_secs(3600)).wait(&stop));
    }

    #[test]
    fn missed_ticks_are_left_out() {
        let mut pace = Pace { interval: Duration::from_millis(1), next: Instant::now() - Duration::from_secs(9) };
        pace.advance();
        assert!(pace.next + Duration::from_secs(1) > Instant::now());
    }
}
