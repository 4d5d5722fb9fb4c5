//! What long work is doing: on one line of standard error that is written over, or a line a minute where that is no terminal.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::unended;

/// Time from line to line in a file, the log of a service or of a job that runs for hours.
const EVERY: Duration = Duration::from_secs(60);

/// The line; on a terminal it is wiped when dropped.
#[derive(Debug)]
pub struct ProgressLine {
    terminal: bool,
    /// When there was a line last, where they stay.
    told: Mutex<Instant>,
}

impl ProgressLine {
    /// Nothing is shown yet.
    pub fn start() -> Self {
        Self { terminal: std::io::stderr().is_terminal(), told: Mutex::new(Instant::now()) }
    }

    /// Shows what is done now, as step `done` of `of`.
    pub fn show(&self, what: &str, done: usize, of: usize) {
        if let Some(text) = self.text(what, done * 100 / of.max(1), Instant::now()) {
            unended(&text);
        }
    }

    fn text(&self, what: &str, percent: usize, now: Instant) -> Option<String> {
        if self.terminal {
            return Some(format!("\r\x1b[K{percent:3} %  {what}"));
        }
        let mut told = self.told.lock().ok()?;
        let is_due = now.duration_since(*told) >= EVERY;
        is_due.then(|| {
            *told = now;
            format!("{percent:3} %  {what}\n")
        })
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if self.terminal {
            unended("\r\x1b[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_a_file_there_is_a_line_a_minute() {
        let began = Instant::now();
        let progress = ProgressLine { terminal: false, told: Mutex::new(began) };
        let at = |seconds| progress.text("round 1 of 3", 7, began + Duration::from_secs(seconds));
        assert_eq!(at(59), None);
        assert_eq!(at(60).as_deref(), Some("  7 %  round 1 of 3\n"));
        assert_eq!((at(61), at(119)), (None, None));
        assert!(at(120).is_some());
    }
}
