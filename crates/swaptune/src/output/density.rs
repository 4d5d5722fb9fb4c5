//! How many services fitted, as text.

use std::fmt::Write;

use swaptune_bench::density::{DensityProgress, DensityRatio, ratio};
use swaptune_bench::variant::VariantOutcome;
use swaptune_core::Bytes;
use swaptune_core::control::DaemonReport;
use swaptune_core::measurement::{DensityEnd, DensityFigures, DensityFit, DensityLevel, DensityLimit, SampleFigures};
use swaptune_core::stats::{Nanos, Quantiles, median_interval};

use super::text;

/// Columns of the longest bar.
const BAR: f64 = 32.0;

/// What is being done.
pub fn progress(now: &DensityProgress<'_>) -> String {
    let left = now.left.map_or_else(String::new, |left| format!(", {} left", text::minutes(left.as_secs())));
    format!("{}: {}{left}", now.variant, text::count(now.services as usize, "service"))
}

/// What a daemon did from one of its reports to the next.
pub fn kept(before: &DaemonReport, after: &DaemonReport) -> String {
    let (was, is) = (&before.totals, &after.totals);
    format!(
        "swaptune daemon ran: {} moves of the limit, {} bursts that drained {}, {} probes that took {}, {} of it out of RAM",
        is.moves.saturating_sub(was.moves),
        is.bursts.saturating_sub(was.bursts),
        Bytes(is.drained.0.saturating_sub(was.drained.0)),
        is.probes.saturating_sub(was.probes),
        Bytes(is.taken.0.saturating_sub(was.taken.0)),
        Bytes(is.freed.0.saturating_sub(was.freed.0)),
    )
}

/// What the services' pages are like.
pub fn sampled(sample: &SampleFigures) -> String {
    let ratios: Vec<String> =
        sample.codecs.iter().map(|codec| format!("{:.2} : 1 with {}", codec.ratio.value, codec.codec)).collect();
    format!("pages of a service compress {}: what is planned for them rests on that", ratios.join(", "))
}

/// The answer first, then what was measured around it.
pub fn text(outcome: &VariantOutcome<DensityFigures>) -> String {
    let mut page = String::new();
    if let Some(first) = outcome.figures.first() {
        let load = &first.load;
        let _ = writeln!(page, "MOST SERVICES WITH p99 WAKE ≤ {}", load.bound);
        let limit = match first.limit {
            DensityLimit::Group => "a control group",
            DensityLimit::Machine => "this machine, the rest of its RAM held",
            DensityLimit::InPlace => "this machine as it is",
        };
        page += &text::wrap(
            &format!(
                "{} for all in {limit}; {} with {} each, {} wakes a second over all{}, {} % of the memory at a wake",
                first.memory,
                load.service,
                load.heap,
                load.wakes_per_second,
                unevenly(load.skew),
                load.work_percent
            ),
            0,
        );
        let names: Vec<&str> = outcome.figures.iter().map(|row| row.variant.as_str()).collect();
        page += &text::named(&names, |names| tables(&outcome.figures, names, &load.at));
        page += &verdict(&outcome.figures);
    }
    let mut notes: Vec<String> =
        outcome.skipped.iter().map(|skipped| format!("not measured: {}: {}", skipped.variant, skipped.why)).collect();
    notes.extend(outcome.figures.iter().filter_map(pool));
    let in_place = outcome.figures.iter().filter(|figures| figures.limit == DensityLimit::InPlace);
    notes.extend(in_place.flat_map(|figures| figures.settings.clone()));
    if outcome.stopped {
        notes.push(
            "stopped: what was measured in whole rounds until then is kept, and everything that was set is put back".into(),
        );
    }
    if !notes.is_empty() {
        page.push('\n');
        notes.iter().for_each(|note| page += &text::wrap(note, 0));
    }
    page
}

fn tables(figures: &[DensityFigures], names: &[String], at: &[u32]) -> String {
    let (head, more) = match at {
        [] => ("At that number, and at the next", levels(figures, names)),
        at => ("p50 / p99 of a wake at each number, medians of the rounds that got there", by_number(figures, names, at)),
    };
    format!("{}\n{head}\n{more}", bars(figures, names))
}

fn bars(figures: &[DensityFigures], names: &[String]) -> String {
    let most = figures.iter().map(|row| row.fits.value).fold(1.0, f64::max);
    let rows: Vec<Vec<String>> = figures
        .iter()
        .zip(names)
        .map(|(row, name)| {
            let bar = "█".repeat((row.fits.value / most * BAR).round() as usize);
            let (value, range) = fit(row);
            let range = if row.rounds.len() > 1 { range } else { "1 round".into() };
            vec![name.clone(), value, range, bar]
        })
        .collect();
    text::columns(&rows, &[1], 2)
}

/// How many services fit, and its interval.
pub fn fit(row: &DensityFigures) -> (String, String) {
    let Some([value, low, high]) = row.fit() else { return ("–".into(), String::new()) };
    let range = match (low, high) {
        (DensityFit::Exactly(low), DensityFit::Exactly(high)) => format!("{low:.0}–{high:.0}"),
        (low, high) if low == high => low.to_string(),
        (low, high) => format!("{low} to {high}"),
    };
    (value.to_string(), range)
}

/// How uneven wakes are, as a part of a sentence.
fn unevenly(skew: f64) -> String {
    if skew > 0.0 { format!(", the n-th service 1/n^{skew} times as often as the first") } else { String::new() }
}

/// The level that was held and the first that was not, of the round in the middle.
fn levels(figures: &[DensityFigures], names: &[String]) -> String {
    let head = ["VARIANT", "SERVICES", "", "p50", "p99", "READS/wake", "LOADS/wake", "WRITEBACK", "STALL"];
    let mut cells = vec![head.map(str::to_owned).to_vec()];
    for (row, name) in figures.iter().zip(names) {
        let Some(round) = row.rounds.iter().min_by_key(|round| (f64::from(round.fits) - row.fits.value).abs() as u64) else {
            continue;
        };
        let held = round.levels.iter().find(|level| level.services == round.fits && level.end == DensityEnd::Held);
        let next = round.levels.iter().filter(|level| level.end != DensityEnd::Held && level.services > round.fits);
        cells.extend(held.into_iter().chain(next.min_by_key(|level| level.services)).map(|level| self::level(name, level)));
    }
    text::columns(&cells, &[1, 3, 4, 5, 6, 7, 8], 2)
}

/// One line for each configuration, one column for each number that was asked for.
fn by_number(figures: &[DensityFigures], names: &[String], at: &[u32]) -> String {
    let head = std::iter::once("VARIANT".to_owned()).chain(at.iter().map(u32::to_string));
    let mut cells: Vec<Vec<String>> = vec![head.collect()];
    for (row, name) in figures.iter().zip(names) {
        let wake = |services: &u32| wake_at(row, *services).unwrap_or_else(|| "–".into());
        cells.push(std::iter::once(name.clone()).chain(at.iter().map(wake)).collect());
    }
    text::columns(&cells, &(1..=at.len()).collect::<Vec<_>>(), 2)
}

/// `None` when no round got there.
fn wake_at(row: &DensityFigures, services: u32) -> Option<String> {
    let levels: Vec<&DensityLevel> =
        row.rounds.iter().flat_map(|round| &round.levels).filter(|level| level.services == services).collect();
    let whole = |level: &&&DensityLevel| matches!(level.end, DensityEnd::Held | DensityEnd::Slow);
    if !levels.iter().any(|level| whole(&level)) {
        return levels.first().map(|level| level.end.word().into());
    }
    let middle = |of: fn(&Quantiles) -> Nanos| {
        let times: Vec<f64> =
            levels.iter().filter(whole).filter_map(|level| level.wake.as_ref()).map(|wake| of(wake).0 as f64).collect();
        median_interval(&times).map(|middle| Nanos(middle.value as u64))
    };
    Some(format!("{} / {}", middle(|wake| wake.p50)?, middle(|wake| wake.p99)?))
}

fn level(name: &str, level: &DensityLevel) -> Vec<String> {
    let each =
        |count: u64| level.wake.map_or_else(|| "–".into(), |wake| format!("{:.0}", count as f64 / wake.samples.max(1) as f64));
    let counts = &level.counts;
    let stalled = counts.some_stall_us as f64 / 1e4 / level.seconds.max(f64::MIN_POSITIVE);
    vec![
        name.to_owned(),
        level.services.to_string(),
        level.end.word().into(),
        level.wake.map_or_else(|| "–".into(), |wake| wake.p50.to_string()),
        level.wake.map_or_else(|| "–".into(), |wake| wake.p99.to_string()),
        each(counts.swap_reads),
        each(counts.loads),
        counts.written_back.to_string(),
        format!("{stalled:.0} %"),
    ]
}

/// What the last configuration holds against each of the others.
fn verdict(figures: &[DensityFigures]) -> String {
    let Some((last, others)) = figures.split_last() else { return String::new() };
    let lines = others.iter().filter_map(|other| {
        let ratio = match ratio(last, other)? {
            DensityRatio::Of(ratio) => ratio,
            bound => return Some(vec![bounded(bound), other.variant.clone(), String::new(), "a bound".into()]),
        };
        let word = match ratio {
            ratio if ratio.low > 1.0 => "more",
            ratio if ratio.high < 1.0 => "fewer",
            _ => "no clear difference",
        };
        let interval = format!("({:.2} to {:.2})", ratio.low, ratio.high);
        Some(vec![format!("{:.2} times", ratio.value), other.variant.clone(), interval, word.into()])
    });
    let lines: Vec<Vec<String>> = lines.collect();
    if lines.is_empty() {
        return String::new();
    }
    let rounds = text::count(last.rounds.len(), "round");
    format!("\n{} holds ({rounds}, 95 %)\n{}", last.variant, text::columns(&lines, &[0], 2))
}

/// A ratio of which only a bound is known.
fn bounded(ratio: DensityRatio) -> String {
    match ratio {
        DensityRatio::Of(ratio) => format!("{:.2} times", ratio.value),
        DensityRatio::AtLeast(least) => format!("≥ {least:.2} times"),
        DensityRatio::AtMost(most) => format!("≤ {most:.2} times"),
        DensityRatio::Unknown => "–".into(),
    }
}

/// The limit of the pool is set in whole percents of all RAM, which is not what was asked for.
fn pool(row: &DensityFigures) -> Option<String> {
    let percent = row.pool_percent?;
    Some(format!("{}: zswap's pool limit was {percent:.1} % of {}", row.variant, row.memory))
}
