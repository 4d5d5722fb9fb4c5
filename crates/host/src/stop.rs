//! Being asked to stop: a flag that signals set, for work that must put something back before it ends.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{SigId, flag, low_level};

/// What a terminal, a person or a service manager sends to end a process.
const SIGNALS: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];
/// Exit code of a process that SIGINT ended, as shells have it.
const INTERRUPTED: i32 = 130;

/// Raised by the signals of every [`Stop`] of this process, for a call that they break off and that has none at hand.
pub(crate) static SIGNALLED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// A flag that is raised when this process is asked to stop. Copies share it.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    asked: Arc<AtomicBool>,
    // What ends this process at the second signal, and a long call at the first.
    endings: Vec<SigId>,
}

/// A flag that SIGHUP raises where it does not ask to stop: in a service, it asks to read the configuration anew.
#[derive(Clone, Debug, Default)]
pub struct Reload(Arc<AtomicBool>);

impl Reload {
    /// True once after each signal.
    #[must_use]
    pub fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}

impl Stop {
    /// The same for a service: SIGHUP raises another flag.
    ///
    /// # Errors
    /// As [`Stop::on_signals`].
    pub fn on_signals_of_a_service() -> io::Result<(Self, Reload)> {
        let (mut stop, reload) = (Self::default(), Reload::default());
        for signal in [SIGINT, SIGTERM] {
            stop.raised_by(signal)?;
        }
        flag::register(SIGHUP, Arc::clone(&reload.0))?;
        Ok((stop, reload))
    }

    /// From now on SIGINT, SIGTERM and SIGHUP raise the flag instead of ending the process; the second one ends it.
    ///
    /// # Errors
    /// What the kernel says; it does not refuse these signals.
    pub fn on_signals() -> io::Result<Self> {
        let mut stop = Self::default();
        SIGNALS.into_iter().try_for_each(|signal| stop.raised_by(signal))?;
        Ok(stop)
    }

    fn raised_by(&mut self, signal: i32) -> io::Result<()> {
        // In this order: the first signal finds the flag down and raises it.
        self.endings.push(flag::register_conditional_shutdown(signal, INTERRUPTED, Arc::clone(&self.asked))?);
        self.endings.push(flag::register(signal, Arc::clone(&SIGNALLED))?);
        flag::register(signal, Arc::clone(&self.asked)).map(|_| ())
    }

    /// From now on signals raise the flag, however many come, and none ends this process: what it has begun must be put back by itself. A
    /// terminal that is closed sends SIGHUP more than once.
    pub fn outlast_signals(&self) {
        for ending in &self.endings {
            low_level::unregister(*ending);
        }
    }

    /// From now on these signals do nothing to this process.
    ///
    /// # Errors
    /// As [`Stop::on_signals`].
    pub(crate) fn ignore_signals() -> io::Result<()> {
        SIGNALS.iter().try_for_each(|signal| flag::register(*signal, Arc::default()).map(|_| ()))
    }

    /// True once this process was asked to stop.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// Asks for it, as a signal does.
    pub fn ask(&self) {
        self.asked.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_share_the_flag() {
        let stop = Stop::default();
        let copy = stop.clone();
        assert!(!copy.is_asked());
        stop.ask();
        assert!(copy.is_asked());
    }
}
