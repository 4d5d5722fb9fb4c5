//! The access-time ladder: what a page costs in each tier, and what threads and read-ahead change.

use std::fmt::Write;

use swaptune_bench::swap::SwapOutcome;
use swaptune_core::measurement::{MemoryOrder, SwapFigures, SwapRound, SwapTier};
use swaptune_core::stats::{Nanos, Quantiles};

use super::text;

/// Tables for people.
pub fn table(outcome: &SwapOutcome) -> String {
    let mut page = String::new();
    let mut ladder: Vec<&SwapFigures> = outcome.figures.iter().filter(|row| is_rung(row)).collect();
    ladder.sort_by_key(|row| row.load.map_or(u64::MAX, |load| load.p50.0));
    if !ladder.is_empty() {
        page +=
            "What one page costs, quickest load first (store: one MADV_PAGEOUT; load: first touch; at random, page-cluster 0)\n";
        page += &latencies(&ladder);
    }
    let threads: Vec<&SwapFigures> = outcome.figures.iter().filter(|row| scales(row, &outcome.figures)).collect();
    if !threads.is_empty() {
        page += "\nThreads (pages a second of all, median round)\n";
        page += &rates(&threads, "THREADS", |row| row.threads.to_string());
    }
    let ahead: Vec<&SwapFigures> = outcome.figures.iter().filter(|row| reads_ahead(row, &outcome.figures)).collect();
    if !ahead.is_empty() {
        page += "\nRead-ahead (every page is touched once)\n";
        page += &rates(&ahead, "PAGE-CLUSTER", |row| format!("{} {}", row.page_cluster, word(row.order)));
    }
    page += &notes(outcome);
    page
}

fn notes(outcome: &SwapOutcome) -> String {
    let mut notes = String::new();
    for missed in &outcome.missed {
        notes += &text::wrap(&format!("not measured: {}: {}", missed.job, missed.why), 0);
    }
    if outcome.stopped {
        notes += "stopped: what was measured until then is kept, and everything that was set is put back\n";
    }
    if notes.is_empty() { notes } else { format!("\n{notes}") }
}

/// One page by itself: nothing is read ahead, no other process is at work.
fn is_rung(row: &SwapFigures) -> bool {
    row.threads == 1 && row.order == MemoryOrder::Random && row.page_cluster == 0
}

/// A row that differs from another only by its number of threads.
fn scales(row: &SwapFigures, all: &[SwapFigures]) -> bool {
    let same = |other: &SwapFigures| {
        (&other.tier, other.class, other.page_cluster, other.order) == (&row.tier, row.class, row.page_cluster, row.order)
    };
    all.iter().any(|other| same(other) && other.threads != row.threads)
}

/// A row that differs from another only by page-cluster or the order.
fn reads_ahead(row: &SwapFigures, all: &[SwapFigures]) -> bool {
    let same = |other: &SwapFigures| (&other.tier, other.class, other.threads) == (&row.tier, row.class, row.threads);
    all.iter().any(|other| same(other) && (other.page_cluster, other.order) != (row.page_cluster, row.order))
}

fn word(order: MemoryOrder) -> &'static str {
    match order {
        MemoryOrder::Sequential => "in order",
        MemoryOrder::Random => "at random",
    }
}

fn latencies(rows: &[&SwapFigures]) -> String {
    let head = ["TIER", "PAGES", "STORE p50", "p90", "p99", "p99.9", "LOAD p50", "p90", "p99", "p99.9", "ROUNDS", "SAMPLES"];
    let mut cells = vec![head.map(str::to_owned).to_vec()];
    cells.extend(rows.iter().map(|row| {
        let mut line = vec![row.tier.to_string(), row.class.to_string()];
        line.extend(quantiles(row.store.as_ref()));
        line.extend(quantiles(row.load.as_ref()));
        line.push(spread(&row.rounds));
        line.push(row.load.map_or_else(|| "–".into(), |load| load.samples.to_string()));
        line
    }));
    text::columns(&cells, &[2, 3, 4, 5, 6, 7, 8, 9, 11], 2)
}

fn quantiles(quantiles: Option<&Quantiles>) -> [String; 4] {
    let Some(q) = quantiles else { return ["–", "–", "–", "–"].map(str::to_owned) };
    [q.p50.to_string(), q.p90.to_string(), q.p99.to_string(), q.p999.map_or_else(|| "–".into(), |p999| p999.to_string())]
}

/// Lowest and highest median load of the rounds.
fn spread(rounds: &[SwapRound]) -> String {
    let loads = || rounds.iter().map(|round| round.load);
    let (low, high) = (loads().min().unwrap_or(Nanos(0)), loads().max().unwrap_or(Nanos(0)));
    if rounds.len() > 1 { format!("{low}–{high}") } else { "one".into() }
}

fn rates(rows: &[&SwapFigures], head: &str, what: impl Fn(&SwapFigures) -> String) -> String {
    let mut cells =
        vec![["TIER", "PAGES", head, "STORES/s", "LOADS/s", "STORE p50", "LOAD p50", "LOAD p99"].map(str::to_owned).to_vec()];
    cells.extend(rows.iter().map(|row| {
        let latency = |quantiles: Option<Quantiles>, pick: fn(Quantiles) -> Nanos| {
            quantiles.map_or_else(|| "–".to_owned(), |quantiles| pick(quantiles).to_string())
        };
        vec![
            row.tier.to_string(),
            row.class.to_string(),
            what(row),
            format!("{:.0}", row.stores_per_second),
            format!("{:.0}", row.loads_per_second),
            latency(row.store, |store| store.p50),
            latency(row.load, |load| load.p50),
            latency(row.load, |load| load.p99),
        ]
    }));
    let mut table = text::columns(&cells, &[3, 4, 5, 6, 7], 2);
    if rows.iter().any(|row| matches!(row.tier, SwapTier::Zram { .. })) {
        let _ = writeln!(table, "  zram is read without read-ahead, whatever vm.page-cluster says (a synchronous device)");
    }
    table
}
