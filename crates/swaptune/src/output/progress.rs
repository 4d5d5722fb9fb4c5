//! What long work is doing, on one line of standard error that is written over; nothing when that is no terminal.

use std::io::{IsTerminal, Write};

/// The line; it is wiped when dropped.
#[derive(Debug)]
pub struct Progress {
    terminal: bool,
}

impl Progress {
    /// Nothing is shown yet.
    pub fn start() -> Self {
        Self { terminal: std::io::stderr().is_terminal() }
    }

    /// Shows what is done now, as step `done` of `of`.
    pub fn show(&self, what: &str, done: usize, of: usize) {
        self.write(&format!("\r\x1b[K{:3} %  {what}", done * 100 / of.max(1)));
    }

    fn write(&self, text: &str) {
        if self.terminal {
            let mut stderr = std::io::stderr().lock();
            // Progress is no result: an error of the terminal is ignored.
            let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.write("\r\x1b[K");
    }
}
