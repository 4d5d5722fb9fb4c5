//! What the daemon says: a line a decision, its status, and what `swaptune status` tells of it.

use swaptune_core::control::{DaemonReport, DecisionEntry, Mode};

use super::text::{columns, count, labelled, wrap};

/// Decisions that a status shows.
const SHOWN: usize = 10;

/// One decision.
pub fn line(entry: &DecisionEntry) -> String {
    format!("{}: {} ({})", entry.law, entry.did, entry.why)
}

/// The status of a daemon.
pub fn text(report: &DaemonReport) -> String {
    let mut out = head(report);
    let limit = format!("{}; {}", limit(report), report.limit);
    for (law, said, text) in [
        ("limit", &report.limit, limit),
        ("pacing", &report.pacing, report.pacing.clone()),
        ("reclaim", &report.reclaim, reclaim(report)),
        ("zram", &report.zram, report.zram.clone()),
    ] {
        // Before the first tick a law has said nothing, and nothing is known of the limit.
        let text = if said.is_empty() { "not looked at yet" } else { &text };
        out += &labelled(&format!("  {law}"), text, 12);
    }
    out += "\nSince it began\n";
    let totals = &report.totals;
    let rows = [
        ("taken from units", totals.taken.to_string(), count_of(totals.probes, "probe")),
        ("less in RAM by that", totals.freed.to_string(), String::new()),
        ("still in swap, at most", still_out(report), String::new()),
        ("drained from the pool", totals.drained.to_string(), count_of(totals.bursts, "burst")),
        ("written in bursts", totals.written.to_string(), String::new()),
        ("written back by zram", totals.zram_written.to_string(), count_of(totals.zram_rounds, "round")),
        ("less in RAM of zram by that", totals.zram_freed.to_string(), count_of(totals.zram_recompressed, "recompression")),
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

/// What came of it since it began, in a few lines: what the kernel counted, beside what the laws do now.
pub fn summary(report: &DaemonReport) -> String {
    if report.mode == Mode::Missing {
        let text = "Daemon: enabled, and none has run since the machine booted; `systemctl status swaptuned` says why";
        return wrap(text, 0);
    }
    let totals = &report.totals;
    let taken = match totals.probes {
        0 => "nothing taken from idle units".to_owned(),
        probes => format!(
            "{} taken from idle units in {}, {} less in RAM by that; {} of it still in swap, at most",
            totals.taken,
            count_of(probes, "probe"),
            totals.freed,
            still_out(report)
        ),
    };
    let drained = match totals.bursts {
        0 => "nothing drained from the pool".to_owned(),
        bursts => {
            format!(
                "{} drained from the pool in {}, {} written by that",
                totals.drained,
                count_of(bursts, "burst"),
                totals.written
            )
        }
    };
    let mut lines = vec![taken, drained];
    if report.mode.is_running() {
        lines.push(format!("limit of the pool {}", limit(report)));
        lines.push(laws(report));
    }
    if totals.failures > 0 {
        lines.push(format!("{}; `swaptune daemon status` says which", count_of(totals.failures, "failure")));
    }
    lines.iter().fold(head(report), |out, line| out + &labelled("", line, 2))
}

/// Which process, since when, and what it does.
fn head(report: &DaemonReport) -> String {
    let state = match report.mode {
        Mode::Working => "at work",
        Mode::DryRun => "a dry run: nothing is set",
        Mode::Paused => "paused: everything is as configured, until `swaptune daemon resume`",
        Mode::Aside => "stands aside: a command that changes the machine runs",
        Mode::Stopped => "not running; everything was put back when it ended",
        Mode::Gone => "ended without a word, or is stopped; `sudo swaptune verify` looks at what is set",
        Mode::Missing => "not running",
    };
    let since = age(report.unix_ms.saturating_sub(report.since_unix_ms));
    let ran = if report.mode.is_running() { "for" } else { "ran for" };
    wrap(&format!("Daemon, process {}, {ran} {since}: {state}", report.pid), 0)
}

fn limit(report: &DaemonReport) -> String {
    match report.limit_percent == report.home_percent {
        true => format!("{} % of RAM, as configured", report.limit_percent),
        false => format!("{} % of RAM, {} % as configured", report.limit_percent, report.home_percent),
    }
}

fn reclaim(report: &DaemonReport) -> String {
    report.mechanism.map_or_else(|| report.reclaim.clone(), |mechanism| format!("{}; {}", mechanism.about(), report.reclaim))
}

fn laws(report: &DaemonReport) -> String {
    let (on, off): (Vec<_>, Vec<_>) = report.laws().into_iter().partition(|(_, works, _)| *works);
    let on: Vec<&str> = on.into_iter().map(|(law, ..)| law).collect();
    let on = if on.is_empty() { "none".to_owned() } else { on.join(", ") };
    off.into_iter().fold(format!("laws at work: {on}"), |text, (law, _, why)| format!("{text}; {law} is off ({why})"))
}

fn still_out(report: &DaemonReport) -> String {
    report.out.map_or_else(|| "an unknown part".to_owned(), |out| out.to_string())
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
    use swaptune_core::control::{Mechanism, Totals, WantedLaws};

    #[test]
    fn a_status_names_what_is_not_as_configured() {
        let entry =
            DecisionEntry { unix_ms: 60_000, law: "limit".into(), did: "43 % → 45 %".into(), why: "RAM is not short".into() };
        let report = DaemonReport {
            pid: 7,
            unix_ms: 130_000,
            limit_percent: 45,
            home_percent: 43,
            limit: "it is at its largest".into(),
            pacing: "zswap is off".into(),
            reclaim: "0 of 9 units are idle".into(),
            mechanism: Some(Mechanism::Processes),
            totals: Totals { moves: 1, taken: Bytes::from_mib(5), probes: 1, ..Totals::default() },
            log: [entry].into(),
            ..DaemonReport::default()
        };
        let text = text(&report);
        for part in [
            "process 7, for 2 min: at work",
            "45 % of RAM, 43 % as configured",
            "5 MiB  1 probe",
            "70 s ago",
            "43 % → 45 %",
            "processes, by process_madvise; 0 of 9",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }

    #[test]
    fn before_its_first_look_each_law_says_so() {
        let report = DaemonReport { pid: 7, mode: Mode::Stopped, mechanism: Some(Mechanism::Groups), ..DaemonReport::default() };
        let text = text(&report);
        for law in ["limit", "pacing", "reclaim", "zram"] {
            let line = text.lines().find(|line| line.trim_start().starts_with(law)).unwrap_or_default();
            assert_eq!(line.split_whitespace().skip(1).collect::<Vec<_>>().join(" "), "not looked at yet", "{text}");
        }
    }

    #[test]
    fn a_summary_says_what_was_given_back_and_which_laws_are_off() {
        let totals = Totals { taken: Bytes::from_mib(42), freed: Bytes::from_mib(14), probes: 37, ..Totals::default() };
        let report = DaemonReport {
            unix_ms: 130_000,
            limit_percent: 43,
            home_percent: 43,
            out: Some(Bytes::from_mib(35)),
            pacing: "zswap's shrinker is on".into(),
            works: WantedLaws { limit: true, pacing: false, reclaim: true, zram: true },
            totals,
            ..DaemonReport::default()
        };
        let said = |report: &DaemonReport| summary(report).split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [
            "for 2 min: at work",
            "42 MiB taken from idle units in 37 probes, 14 MiB less in RAM by that; 35 MiB of it still in swap, at most",
            "nothing drained from the pool",
            "limit of the pool 43 % of RAM, as configured",
            "laws at work: limit, reclaim, zram; pacing is off (zswap's shrinker is on)",
        ] {
            assert!(said(&report).contains(part), "{part}\n{}", summary(&report));
        }
        assert!(said(&DaemonReport { out: None, ..report.clone() }).contains("an unknown part of it still in swap"));
        for (mode, part) in [
            (Mode::Paused, "paused: everything is as configured"),
            (Mode::Gone, "ran for 2 min: ended without a word"),
            (Mode::Stopped, "not running; everything was put back"),
            (Mode::Missing, "enabled, and none has run"),
        ] {
            let said = said(&DaemonReport { mode, ..report.clone() });
            assert!(said.contains(part), "{part}\n{said}");
            assert_eq!(said.contains("laws at work"), mode.is_running(), "{said}");
        }
    }
}
