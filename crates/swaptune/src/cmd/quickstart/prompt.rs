//! A question on the terminal that a signal ends.

use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use swaptune_host::stop::Stop;

use crate::output;

/// How often is looked whether to stop.
const GLANCE: Duration = Duration::from_millis(200);

/// One line in lower case, empty at the end of the input; `None` once the user asked to stop.
pub fn ask(question: &str, stop: &Stop) -> Option<String> {
    output::unended(question);
    let mut line = Vec::new();
    loop {
        match byte(stop)? {
            None | Some(b'\n') => break,
            Some(byte) => line.push(byte),
        }
    }
    Some(String::from_utf8_lossy(&line).trim().to_lowercase())
}

/// The next byte, `Some(None)` at the end. One at a time: what a buffer had taken, `poll` would not see.
fn byte(stop: &Stop) -> Option<Option<u8>> {
    let input = std::io::stdin();
    let input = input.as_fd();
    let glance = Timespec::try_from(GLANCE).ok();
    loop {
        if stop.is_asked() {
            return None;
        }
        match poll(&mut [PollFd::new(&input, PollFlags::IN)], glance.as_ref()) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            // A terminal that cannot be read has come to its end.
            Ok(_) | Err(_) => {
                let mut byte = [0];
                return Some(matches!(rustix::io::read(input, &mut byte), Ok(1)).then_some(byte[0]));
            }
        }
    }
}
