//! What signals do to a process that has to put something back: in a program of its own, for it takes them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use rustix::process::{Signal, getpid, kill_process};
use swaptune_host::stop::Stop;

#[test]
fn no_signal_ends_what_must_put_something_back_first() {
    let stop = Stop::on_signals().unwrap();
    assert!(!stop.is_asked());
    stop.clone().outlast_signals();
    // One that ended this process would end it here, with exit code 130.
    for signal in [Signal::HUP, Signal::HUP, Signal::INT, Signal::INT, Signal::TERM, Signal::TERM] {
        kill_process(getpid(), signal).unwrap();
        assert!(stop.is_asked());
    }
}
