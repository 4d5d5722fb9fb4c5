//! The table of `bench codecs`, and its JSON.

use std::fmt::Write;

use serde::Serialize;
use swaptune_bench::codecs::{BenchPages, CodecRow, CodecVerdict};
use swaptune_core::Bytes;
use swaptune_core::measurement::{CodecFigures, Measurement, PoolFigures};
use swaptune_core::stats::Quantiles;

use super::text;

/// What is printed for programs.
#[derive(Serialize)]
pub struct CodecsJson<'a> {
    /// Same-filled pages that were left out.
    same_filled: u64,
    /// Files or processes that could not be read.
    unread: u64,
    rows: Vec<CodecJson<'a>>,
}

#[derive(Serialize)]
struct CodecJson<'a> {
    /// Only rows of one thread have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<String>,
    #[serde(flatten)]
    measurement: &'a Measurement,
}

/// For programs.
pub fn json<'a>(pages: &BenchPages, measurements: &'a [Measurement], verdicts: &[CodecVerdict]) -> CodecsJson<'a> {
    let verdicts = verdicts.iter().map(|verdict| Some(verdict.to_string())).chain(std::iter::repeat(None));
    let rows = measurements.iter().zip(verdicts).map(|(measurement, verdict)| CodecJson { verdict, measurement });
    CodecsJson { same_filled: pages.same_filled, unread: pages.unread, rows: rows.collect() }
}

/// For people: where the pages come from, the codecs, their speed on several threads, and why some cannot be used here.
pub fn table(pages: &BenchPages, rows: &[CodecRow], verdicts: &[CodecVerdict], pool: Bytes) -> String {
    let (one, several) = rows.split_at(verdicts.len());
    let mut page = head(pages);
    if rows.is_empty() {
        return page;
    }
    page += &text::columns(&cells(one, verdicts, pool), &[1, 2, 3, 4, 5, 6, 7], 0);
    page += &threads(one, several);
    page + &notes(one)
}

fn head(pages: &BenchPages) -> String {
    let size = Bytes(pages.bytes().len() as u64);
    let mut line =
        format!("{} of {} of {} ({size})", text::count(pages.count(), "page"), Bytes(pages.page_size() as u64), pages.of);
    if pages.same_filled > 0 {
        let _ = write!(line, "; {} same-filled left out", pages.same_filled);
    }
    if pages.unread > 0 {
        let _ =
            write!(line, "; {} could not be read", text::count(usize::try_from(pages.unread).unwrap_or(usize::MAX), "source"));
    }
    line + "; MB = 10⁶ B of original data a second of processor time\n\n"
}

fn cells(rows: &[CodecRow], verdicts: &[CodecVerdict], pool: Bytes) -> Vec<Vec<String>> {
    let mut head: Vec<String> =
        ["CODEC", "STORE MB/s", "p50", "p99", "LOAD MB/s", "p50", "p99", "RATIO"].map(str::to_owned).into();
    let pools = rows.iter().map(|row| &row.figures.pools).find(|pools| !pools.is_empty());
    let pools: Vec<&str> = pools.into_iter().flatten().map(|pool| pool.allocator.name.as_str()).collect();
    head.extend(pools.iter().map(|name| format!("{} OF {}", pool.compact(), name.to_uppercase())));
    head.extend(["IN KERNEL", "VERDICT"].map(str::to_owned));
    let body = rows.iter().zip(verdicts).map(|(row, verdict)| {
        let mut cells = speeds(&row.figures);
        cells.push(format!("{:.2}", row.figures.ratio));
        cells.extend(
            (0..pools.len()).map(|which| row.figures.pools.get(which).map_or_else(String::new, |pools| holds(pools, pool))),
        );
        cells.push(if row.is_memcpy() { String::new() } else { row.in_kernel.short() });
        cells.push(verdict.to_string());
        cells
    });
    std::iter::once(head).chain(body).collect()
}

fn speeds(figures: &CodecFigures) -> Vec<String> {
    let rate = |rate: Option<f64>| rate.map_or_else(String::new, |rate| format!("{rate:.0}"));
    let time = |quantiles: Option<Quantiles>, which: fn(Quantiles) -> String| quantiles.map_or_else(String::new, which);
    let (p50, p99) = (|q: Quantiles| q.p50.to_string(), |q: Quantiles| q.p99.to_string());
    vec![
        figures.codec.clone(),
        rate(figures.compress_mb_s),
        time(figures.compress, p50),
        time(figures.compress, p99),
        rate(figures.decompress_mb_s),
        time(figures.decompress, p50),
        time(figures.decompress, p99),
    ]
}

/// `holds 2.6 GiB (2.44)`.
fn holds(of: &PoolFigures, pool: Bytes) -> String {
    let ratio = of.original.0 as f64 / of.used.0.max(1) as f64;
    format!("{} ({ratio:.2})", Bytes((pool.0 as f64 * ratio) as u64))
}

/// Each codec on several threads, beside one.
fn threads(one: &[CodecRow], several: &[CodecRow]) -> String {
    if several.is_empty() {
        return String::new();
    }
    let head = ["CODEC", "THREADS", "STORE MB/s", "LOAD MB/s", "EACH THREAD, OF ONE ALONE"].map(str::to_owned).to_vec();
    let body = several.iter().map(|row| {
        let alone = one.iter().find(|other| other.setting == row.setting).map(|other| &other.figures);
        let rates = [|figures: &CodecFigures| figures.compress_mb_s, |figures: &CodecFigures| figures.decompress_mb_s];
        let threads = f64::from(row.figures.threads);
        let together = rates.map(|rate| rate(&row.figures).map_or_else(String::new, |each| format!("{:.0}", each * threads)));
        let share = rates.map(|rate| Some(100.0 * rate(&row.figures)? / rate(alone?)?));
        let share = share.map(|share| share.map_or_else(|| "–".into(), |share| format!("{share:.0} %")));
        let [store, load] = together;
        vec![row.figures.codec.clone(), row.figures.threads.to_string(), store, load, share.join(" store, ") + " load"]
    });
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(body).collect();
    format!("\n{}", text::columns(&rows, &[1, 2, 3], 0))
}

/// Why a codec cannot be used here, and whose sizes are not the kernel's.
fn notes(rows: &[CodecRow]) -> String {
    let mut page = String::new();
    for row in rows.iter().filter(|row| row.setting.is_default() && !row.is_memcpy()) {
        let codec = row.setting.codec();
        let partly = [&row.in_kernel.zswap, &row.in_kernel.zram].into_iter().flatten().any(|place| !place.availability.usable());
        if partly {
            page += &text::wrap(&format!("{}: {}", codec.name, row.in_kernel.text()), 2);
        }
        page += &text::wrap(&format!("{}: sizes are {}", codec.name, codec.sizes), 2);
    }
    if page.is_empty() { page } else { format!("\n{page}") }
}
