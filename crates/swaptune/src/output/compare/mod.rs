//! A comparison as text, and as a page with pictures.

mod html;

use swaptune_bench::compare::{BYSTANDER, CompareOptions, CompareProgress, blocks_needed, spoken};
use swaptune_bench::variant::VariantOutcome;
use swaptune_core::measurement::{CompareFigures, CompareRun, Incomparable};
use swaptune_core::stats::median;

use super::text;

pub use html::html;

/// What is being done.
pub fn progress(now: &CompareProgress<'_>) -> String {
    let left = now.left.map_or_else(String::new, |left| format!(", {} left", text::minutes(left.as_secs())));
    format!("{}: block {}{left}", now.variant, now.block + 1)
}

/// The verdicts first, then where time and pages went.
pub fn text(outcome: &VariantOutcome<CompareFigures>, options: &CompareOptions) -> String {
    let mut page = String::new();
    if let Some(first) = outcome.figures.first() {
        let memory = options.memory.map_or_else(String::new, |memory| format!(", in {memory} of memory"));
        page += &text::wrap(&format!("{}{memory}", spoken(&options.command)), 0);
        page.push('\n');
        let names: Vec<&str> = outcome.figures.iter().map(|row| row.variant.as_str()).collect();
        page += &text::named(&names, |names| {
            format!("{}\nMedians of a run\n{}\n", verdicts(&outcome.figures, names), costs(&outcome.figures, names))
        });
        page += &other(&outcome.figures).map_or_else(String::new, |other| text::wrap(&other, 0));
        page += &text::wrap(&told_apart(first, outcome.figures.len().saturating_sub(1), options), 0);
    }
    let skipped = outcome.skipped.iter().map(|skipped| format!("not compared: {}: {}", skipped.variant, skipped.why));
    let pools = outcome.figures.iter().filter_map(|row| {
        let percent = row.pool_percent.filter(|_| row.memory.is_some())?;
        Some(format!("{}: zswap's pool limit was {percent:.1} % of the memory", row.variant))
    });
    let stopped =
        outcome.stopped.then(|| "stopped: the runs until then are kept, and everything that was set is put back".to_owned());
    skipped.chain(pools).chain(stopped).for_each(|note| page += &text::wrap(&note, 0));
    page
}

fn verdicts(figures: &[CompareFigures], names: &[String]) -> String {
    let against = names.first().map_or_else(String::new, |first| format!("AGAINST {first} (95 %)"));
    let mut rows = vec![["", "ELAPSED", "", &against, "ENDED", "VERDICT"].map(str::to_owned).to_vec()];
    for (row, name) in figures.iter().zip(names) {
        let (ratio, verdict) = match &row.comparison {
            Some(comparison) => {
                let ratio = comparison.ratio;
                (format!("{:.2} ({:.2}–{:.2})", ratio.value, ratio.low, ratio.high), comparison.verdict.word())
            }
            None if row.against.is_none() => (String::new(), ""),
            None => ("–".into(), row.incomparable.unwrap_or(Incomparable::TooFewEnded).words()),
        };
        let elapsed = row.elapsed.map_or_else(|| "–".into(), |elapsed| format!("{:.1} s", elapsed.value));
        let range = row.elapsed.map_or_else(String::new, |elapsed| format!("{:.1}–{:.1}", elapsed.low, elapsed.high));
        let ended = format!("{} of {}", ended(row).count(), row.runs.len());
        rows.push(vec![name.clone(), elapsed, range, ratio, ended, verdict.into()]);
    }
    text::columns(&rows, &[1], 2)
}

/// Runs that ended well.
fn ended(row: &CompareFigures) -> impl Iterator<Item = &CompareRun> {
    row.runs.iter().filter(|run| run.failed.is_none())
}

/// A column of the second table: its head, and what it shows of the median run.
struct CostColumn {
    head: &'static str,
    of: fn(&CompareRun) -> Option<f64>,
    shown: fn(f64) -> String,
    // A column that says something only where it is not 0, and most of all of runs that failed.
    is_rare: bool,
}

impl CostColumn {
    const fn usual(head: &'static str, of: fn(&CompareRun) -> Option<f64>, shown: fn(f64) -> String) -> Self {
        Self { head, of, shown, is_rare: false }
    }

    /// The median of the runs that ended: one that was killed half-way costs little. How often something was killed is of all.
    fn cell(&self, row: &CompareFigures) -> String {
        let counts = |run: &&CompareRun| self.is_rare || run.failed.is_none();
        let values: Vec<f64> = row.runs.iter().filter(counts).filter_map(self.of).collect();
        median(&values).map_or_else(|| "–".into(), self.shown)
    }
}

/// Columns of what a run costs, in this order.
static COSTS: &[CostColumn] = &[
    CostColumn::usual("USER", |run| Some(run.user_s), seconds),
    CostColumn::usual("SYSTEM", |run| Some(run.system_s), seconds),
    CostColumn::usual("STALL", |run| Some(run.counts.some_stall_us as f64 / 1e6), seconds),
    CostColumn::usual("DISK IN", |run| Some(run.counts.swap_reads as f64), pages),
    CostColumn::usual("DISK OUT", |run| Some(run.counts.swap_writes as f64), pages),
    CostColumn::usual("POOL IN", |run| Some(run.counts.loads as f64), pages),
    CostColumn::usual("POOL OUT", |run| Some(run.counts.stores as f64), pages),
    CostColumn::usual(OTHER, |run| Some(run.bystander?.p99.0 as f64 / 1e6), milliseconds),
    CostColumn {
        head: "KILLS",
        of: |run| Some(run.counts.oom_kills as f64),
        shown: |kills| format!("{kills:.0}"),
        is_rare: true,
    },
];

/// The column that needs a word.
const OTHER: &str = "OTHER";

/// Columns that say something of these figures.
fn costs_of(figures: &[CompareFigures]) -> Vec<&'static CostColumn> {
    let has_any = |cost: &CostColumn| figures.iter().flat_map(|row| &row.runs).filter_map(cost.of).any(|value| value > 0.0);
    COSTS.iter().filter(|cost| !cost.is_rare || has_any(cost)).collect()
}

/// What the column of the other program means; nothing where no run had one.
fn other(figures: &[CompareFigures]) -> Option<String> {
    let has_one = figures.iter().flat_map(|row| &row.runs).any(|run| run.bystander.is_some());
    has_one.then(|| {
        format!("{OTHER} is another program beside, of {BYSTANDER} at most, that wakes 20 times a second: its 99th percentile.")
    })
}

fn seconds(seconds: f64) -> String {
    format!("{seconds:.1} s")
}

fn milliseconds(ms: f64) -> String {
    if ms < 100.0 { format!("{ms:.1} ms") } else { format!("{ms:.0} ms") }
}

/// Pages by count: the size of a page is the machine's own matter.
fn pages(pages: f64) -> String {
    match pages {
        pages if pages >= 1e6 => format!("{:.1} M", pages / 1e6),
        pages if pages >= 1e4 => format!("{:.0} k", pages / 1e3),
        pages => format!("{pages:.0}"),
    }
}

fn costs(figures: &[CompareFigures], names: &[String]) -> String {
    let costs = costs_of(figures);
    let head = std::iter::once(String::new()).chain(costs.iter().map(|cost| cost.head.to_owned()));
    let mut rows: Vec<Vec<String>> = vec![head.collect()];
    for (row, name) in figures.iter().zip(names) {
        rows.push(std::iter::once(name.clone()).chain(costs.iter().map(|cost| cost.cell(row))).collect());
    }
    text::columns(&rows, &(1..=costs.len()).collect::<Vec<_>>(), 2)
}

/// What this machine can tell apart, and how much was run.
fn told_apart(first: &CompareFigures, others: usize, options: &CompareOptions) -> String {
    let count = first.runs.iter().filter(|run| !run.again).count();
    let blocks = text::count(count, "block");
    let apart = match first.resolution {
        Some(resolution) => format!("two runs of {} differ by up to {:.1} % here", first.variant, (resolution - 1.0) * 100.0),
        None => "too few to say what this machine tells apart".into(),
    };
    let needed = blocks_needed(others);
    let few = if count < needed { format!("; a difference can be proved with {needed} blocks or more") } else { String::new() };
    format!(
        "{blocks} in random order, disk and pool in pages; {apart}; within {:.1} % is equivalent{few}.",
        options.delta * 100.0
    )
}

#[cfg(test)]
mod tests {
    use swaptune_core::measurement::CompareCounts;

    use super::*;

    #[test]
    fn costs_are_of_runs_that_ended_and_kills_of_all() {
        let run = |user_s: f64, failed: Option<&str>, oom_kills: u64| CompareRun {
            block: 0,
            again: false,
            place: 0,
            elapsed_s: user_s,
            user_s,
            system_s: 0.0,
            failed: failed.map(str::to_owned),
            counts: CompareCounts { oom_kills, ..CompareCounts::default() },
            bystander: None,
            timeline: Vec::new(),
        };
        let row = CompareFigures {
            variant: "disk".into(),
            settings: Vec::new(),
            against: None,
            memory: None,
            pool_percent: None,
            runs: vec![run(9.0, None, 0), run(0.1, Some("killed"), 1), run(0.1, Some("killed"), 1)],
            elapsed: None,
            comparison: None,
            incomparable: None,
            resolution: None,
        };
        let cells: Vec<(&str, String)> =
            costs_of(std::slice::from_ref(&row)).iter().map(|cost| (cost.head, cost.cell(&row))).collect();
        assert!(cells.contains(&("USER", "9.0 s".into())) && cells.contains(&("KILLS", "1".into())), "{cells:?}");
    }
}
