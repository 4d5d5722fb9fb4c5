//! A sample as tables.

use swaptune_core::Bytes;
use swaptune_core::measurement::{Estimate, SampledCodec};

use super::{SampleReport, UnitLine};
use crate::output::text::{columns, wrap};

/// Codecs that get a column in the table of processes: all would not fit.
const COLUMNS: [&str; 2] = ["lz4", "zstd"];
/// An interval whose ends differ by more than this factor is not shown.
const WIDEST: f64 = 3.0;
/// Share of shared pages that is worth a word, percent.
const WORTH_SAYING: u64 = 1;

/// The whole page.
pub fn text(report: &SampleReport) -> String {
    let mut page = head(report);
    page += &format!("\n{}", columns(&codecs(report), &[1, 2, 3, 4], 0));
    page += &format!("\n{}", columns(&groups(report), &[1, 2, 3, 4, 5, 6, 7], 0));
    page += &notes(report);
    page + &wrap(&format!("advice: {}", report.advice), 0)
}

fn size(report: &SampleReport, pages: u64) -> Bytes {
    Bytes(pages * report.page_size)
}

fn head(report: &SampleReport) -> String {
    let figures = &report.figures;
    let mut line = format!(
        "{} of {} anonymous pages of {} ({}), {} in RAM, {} in swap; seed {}",
        figures.sampled,
        figures.present,
        figures.of,
        processes(figures.processes),
        size(report, figures.present),
        size(report, report.swapped),
        report.seed
    );
    line += &format!("\nzeros {}, same-filled with them {}", percent(&figures.zero), percent(&figures.same_filled));
    if let Some(cold) = &figures.cold {
        line += &format!(", cold {} (not touched for {} s, by {})", percent(&cold.share), cold.seconds, cold.method);
    }
    line + "\nIn brackets: 95 % confidence intervals\n"
}

/// A line for each codec, below a head.
pub fn codecs(report: &SampleReport) -> Vec<Vec<String>> {
    let pool = &report.pool;
    let holds = format!("{} OF POOL HOLD", pool.size);
    let stored = format!("IN {}", pool.allocator.to_uppercase());
    let mut rows = vec![["CODEC", "RATIO", "INCOMPRESSIBLE", &stored, &holds, "IN KERNEL"].map(str::to_owned).to_vec()];
    let mut codecs: Vec<&SampledCodec> = report.figures.codecs.iter().collect();
    codecs.sort_by(|a, b| a.ratio.value.total_cmp(&b.ratio.value));
    rows.extend(codecs.into_iter().map(|codec| {
        let held = pool.holds.iter().find(|(name, _)| *name == codec.codec).map(|(_, held)| bytes(held));
        let has = report.in_kernel.iter().find(|has| has.codec == codec.codec).map(|has| has.short.clone());
        vec![
            codec.codec.clone(),
            number(&codec.ratio),
            percent(&codec.incompressible),
            codec.stored.get(&pool.allocator).map_or_else(|| "–".into(), number),
            held.unwrap_or_else(|| "–".into()),
            has.unwrap_or_default(),
        ]
    }));
    rows.extend(report.not_computed.iter().map(|name| {
        let mut row = vec![name.clone()];
        row.extend(["?"; 4].map(str::to_owned));
        row.push("yes: `swaptune bench codecs --kernel`".into());
        row
    }));
    rows
}

/// A line for each unit or process and for all, below a head.
pub fn groups(report: &SampleReport) -> Vec<Vec<String>> {
    let shown: Vec<&str> = shown(report);
    let watched = report.watched.is_some();
    let mut head: Vec<String> = ["UNIT OR PROCESS", "PAGES", "SIZE", "SWAPPED"].map(str::to_owned).to_vec();
    head.extend(watched.then(|| "COLD".to_owned()));
    head.extend(shown.iter().map(|codec| codec.to_uppercase()));
    head.push("INCOMPRESSIBLE".into());
    let mut rows = vec![head];
    rows.extend(report.groups.iter().map(|line| group(report, line, &shown, watched)));
    rows.push(total(report, &shown, watched));
    rows
}

/// The codecs of the columns: those that most will ask for, else what there is.
fn shown(report: &SampleReport) -> Vec<&str> {
    let all = || report.figures.codecs.iter().map(|codec| codec.codec.as_str());
    let usual: Vec<&str> = all().filter(|codec| COLUMNS.contains(codec)).collect();
    if usual.is_empty() { all().take(COLUMNS.len()).collect() } else { usual }
}

fn group(report: &SampleReport, line: &UnitLine, shown: &[&str], watched: bool) -> Vec<String> {
    let numbers = line.numbers.as_ref();
    let mut cells = vec![line.name.clone(), line.present.to_string()];
    cells.extend([size(report, line.present).to_string(), size(report, line.swapped).to_string()]);
    if watched {
        cells.push(numbers.and_then(|numbers| numbers.cold.as_ref()).map_or_else(|| "–".into(), percent));
    }
    cells.extend(of_codecs(numbers.map(|numbers| numbers.codecs.as_slice()).unwrap_or_default(), shown));
    cells
}

fn total(report: &SampleReport, shown: &[&str], watched: bool) -> Vec<String> {
    let figures = &report.figures;
    let mut cells = vec!["total".to_owned(), figures.present.to_string()];
    cells.extend([size(report, figures.present).to_string(), size(report, report.swapped).to_string()]);
    if watched {
        cells.push(figures.cold.as_ref().map_or_else(|| "–".into(), |cold| percent(&cold.share)));
    }
    cells.extend(of_codecs(&figures.codecs, shown));
    cells
}

/// The ratio of each codec, and what the first of them cannot compress.
fn of_codecs(codecs: &[SampledCodec], shown: &[&str]) -> Vec<String> {
    let of = |name: &str| codecs.iter().find(|codec| codec.codec == name);
    let mut cells: Vec<String> = shown
        .iter()
        .map(|name| of(name).filter(says_something).map_or_else(|| "too few".into(), |codec| number(&codec.ratio)))
        .collect();
    let incompressible = shown.first().and_then(|name| of(name)).map(|codec| percent(&codec.incompressible));
    cells.push(incompressible.unwrap_or_else(|| "–".into()));
    cells
}

/// A handful of pages has an interval that says nothing.
pub fn says_something(codec: &&SampledCodec) -> bool {
    codec.ratio.high <= WIDEST * codec.ratio.low
}

fn notes(report: &SampleReport) -> String {
    let tally = &report.tally;
    let mut notes = vec![format!(
        "The pool is {} ({}). Incompressible are pages that take a whole page of the pool; ratios leave same-filled pages out, \
         pools count them as this kernel does.",
        report.pool.size, report.pool.source
    )];
    if tally.forbidden > 0 {
        let hint = if report.root { "the kernel forbids it even to root" } else { "sudo swaptune sample sees them too" };
        notes.push(format!("{} ({}) may not be read: {hint}.", processes(tally.forbidden), tally.forbidden_memory));
    }
    if tally.vanished + tally.failed > 0 {
        notes.push(format!("{} ended or could not be read meanwhile.", processes(tally.vanished + tally.failed)));
    }
    if tally.vanished_pages > 0 {
        notes.push(format!("{} pages that were drawn had vanished when they were read.", tally.vanished_pages));
    }
    if tally.shared_pages * 100 > report.figures.sampled * WORTH_SAYING {
        let share = tally.shared_pages * 100 / report.figures.sampled.max(1);
        notes.push(format!("{share} % of the pages are shared between processes after a fork and count once for each."));
    }
    match &report.watched {
        Some(watched) if !watched.instead.is_empty() => notes.push(format!(
            "Coldness is of whole processes, by clear_refs: {}. Where memory is short, pages look colder than they are.",
            watched.instead
        )),
        Some(_) => {}
        None => notes.push(format!("--cold SECONDS shows which pages are not touched, by {}.", report.cold_can_be_seen_by)),
    }
    let notes: String = notes.iter().map(|note| wrap(note, 2)).collect();
    format!("\n{notes}\n")
}

fn processes(number: u64) -> String {
    format!("{number} process{}", if number == 1 { "" } else { "es" })
}

/// `3.01 (2.95–3.07)`.
fn number(estimate: &Estimate) -> String {
    format!("{:.2} ({:.2}–{:.2})", estimate.value, estimate.low, estimate.high)
}

/// `12.1 % (11.2–13.1)`; a value that is known has no interval.
pub fn percent(estimate: &Estimate) -> String {
    let percent = |share: f64| share * 100.0;
    let value = format!("{:.1} %", percent(estimate.value));
    let is_known = estimate.low == estimate.value && estimate.high == estimate.value;
    if is_known { value } else { format!("{value} ({:.1}–{:.1})", percent(estimate.low), percent(estimate.high)) }
}

fn bytes(estimate: &Estimate) -> String {
    let bytes = |value: f64| Bytes(value as u64);
    format!("{} ({}–{})", bytes(estimate.value), bytes(estimate.low), bytes(estimate.high))
}
