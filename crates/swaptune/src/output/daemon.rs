//! What the daemon says: a line a decision, and its status.

use swaptune_host::keep::status::{Entry, Mode, Report};

use super::text::{columns, count, labelled};

/// Decisions that a status shows.
const SHOWN: usize = 10;

/// One decision.
pub fn line(entry: &Entry) -> String {
    format!("{}: {} ({})", entry.law, entry.did, entry.why)
}

/// The status of a daemon.
pub fn text(report: &Report, is_alive: bool) -> String {
    let state = match report.mode {
        Mode::Working if !is_alive => "ended without a word; `sudo swaptune verify` looks at what is set",
        Mode::Working => "at work",
        Mode::DryRun => "a dry run: nothing is set",
        Mode::Paused => "paused: everything is as configured, until `swaptune daemon resume`",
        Mode::Aside => "stands aside: a command that changes the machine runs",
        Mode::Stopped => "not running",
    };
    let since = age(report.unix_ms.saturating_sub(report.since_unix_ms));
    let mut out = format!("Daemon, process {}, for {since}: {state}\n", report.pid);
    let limit = match report.limit_percent == report.home_percent {
        true => format!("{} % of RAM, as configured", report.limit_percent),
        false => format!("{} % of RAM, {} % as configured", report.limit_percent, report.home_percent),
    };
    for (law, said) in
        [("limit", format!("{limit}; {}", report.limit)), ("pacing", report.pacing.clone()), ("reclaim", report.reclaim.clone())]
    {
        out += &labelled(&format!("  {law}"), &said, 12);
    }
    out += "\nSince it began\n";
    let totals = &report.totals;
    let rows = [
        ("taken from units", totals.taken.to_string(), count_of(totals.probes, "probe")),
        ("less in RAM by that", totals.freed.to_string(), String::new()),
        ("drained from the pool", totals.drained.to_string(), count_of(totals.bursts, "burst")),
        ("written in bursts", totals.written.to_string(), String::new()),
        ("moves of the limit", totals.moves.to_string(), String::new()),
        ("units", report.units.to_string(), format!("{} idle", report.idle)),
    ];
    let rows: Vec<Vec<String>> = rows.into_iter().map(|(what, value, more)| vec![what.to_owned(), value, more]).collect();
    out += &columns(&rows, &[1], 2);
    if totals.failures > 0 {
        out += &format!("  {}; the last decisions say why\n", count_of(totals.failures, "failure"));
    }
    if !report.log.is_empty() {
        out += "\nLast decisions\n";
    }
    for entry in report.log.iter().rev().take(SHOWN).rev() {
        let ago = age(report.unix_ms.saturating_sub(entry.unix_ms));
        out += &labelled(&format!("  {ago} ago"), &line(entry), 16);
    }
    out
}

fn count_of(number: u64, noun: &str) -> String {
    count(usize::try_from(number).unwrap_or(usize::MAX), noun)
}

/// How long that is, in its largest unit.
fn age(ms: u64) -> String {
    match ms / 1000 {
        seconds if seconds < 120 => format!("{seconds} s"),
        seconds if seconds < 7200 => format!("{} min", seconds / 60),
        seconds if seconds < 172_800 => format!("{} h", seconds / 3600),
        seconds => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use swaptune_core::Bytes;
    use swaptune_host::keep::status::Totals;

    #[test]
    fn a_status_names_what_is_not_as_configured() {
        let entry = Entry { unix_ms: 60_000, law: "limit".into(), did: "43 % → 45 %".into(), why: "RAM is not short".into() };
        let report = Report {
            pid: 7,
            unix_ms: 130_000,
            limit_percent: 45,
            home_percent: 43,
            limit: "it is at its largest".into(),
            pacing: "zswap is off".into(),
            totals: Totals { moves: 1, taken: Bytes::from_mib(5), probes: 1, ..Totals::default() },
            log: [entry].into(),
            ..Report::default()
        };
        let text = text(&report, true);
        for part in
            ["process 7, for 2 min: at work", "45 % of RAM, 43 % as configured", "5 MiB  1 probe", "70 s ago", "43 % → 45 %"]
        {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }
}
