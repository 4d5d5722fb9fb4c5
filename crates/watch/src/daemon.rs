//! What the daemon does, in few words: for the screen and for one look as text.

use swaptune_core::control::{DaemonReport, DecisionEntry, Mode};

/// Its state in a word or two.
pub(crate) fn state(mode: Mode) -> &'static str {
    match mode {
        Mode::Working => "at work",
        Mode::DryRun => "a dry run",
        Mode::Paused => "paused",
        Mode::Aside => "stands aside",
        Mode::Stopped | Mode::Missing => "not running",
        Mode::Gone => "ended without a word",
    }
}

/// What came of it since it began.
pub(crate) fn sums(report: &DaemonReport) -> String {
    let totals = &report.totals;
    let taken = report.out.map_or_else(String::new, |out| format!(" (at most {out} still out)"));
    format!("{}, took {}{taken}, drained {}", state(report.mode), totals.taken, totals.drained)
}

/// When, which law, what and why.
pub(crate) fn decision(report: &DaemonReport, entry: &DecisionEntry) -> (String, String) {
    let ago = report.unix_ms.saturating_sub(entry.unix_ms) / 1000;
    (format!("{ago} s ago"), format!("{}: {} ({})", entry.law, entry.did, entry.why))
}
