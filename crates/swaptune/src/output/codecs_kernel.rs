//! What `bench codecs --kernel` says of the kernel's own codecs.

use serde::Serialize;
use swaptune_bench::codecs::{KernelOutcome, KernelRow, Predicted};
use swaptune_core::Bytes;
use swaptune_core::measurement::{CodecPath, Measurement};
use swaptune_host::error_chain;

use super::text;

/// What is printed for programs.
#[derive(Serialize)]
pub struct KernelCodecsJson<'a> {
    rows: Vec<KernelCodecJson<'a>>,
    left_out: Vec<JsonLeftOut<'a>>,
    /// Why it ended early.
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<String>,
}

#[derive(Serialize)]
struct KernelCodecJson<'a> {
    /// Bytes of compressed pages, where the kernel says.
    #[serde(skip_serializing_if = "Option::is_none")]
    compressed: Option<Bytes>,
    /// Pages of live processes that did not go through, for the kernel might have written them to the swap file.
    #[serde(skip_serializing_if = "is_zero")]
    kept_out: u64,
    /// What the library and the model of the allocator say.
    #[serde(skip_serializing_if = "Option::is_none")]
    predicted: Option<JsonPredicted>,
    #[serde(flatten)]
    measurement: &'a Measurement,
}

#[derive(Serialize)]
struct JsonPredicted {
    compressed: Bytes,
    used: Bytes,
}

#[derive(Serialize)]
struct JsonLeftOut<'a> {
    user: &'a str,
    codec: &'a str,
    why: &'a str,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// For programs.
pub fn json<'a>(outcome: &'a KernelOutcome, measurements: &'a [Measurement]) -> KernelCodecsJson<'a> {
    let predicted = |Predicted { compressed, used }| JsonPredicted { compressed, used };
    let row = |(row, measurement): (&KernelRow, &'a Measurement)| KernelCodecJson {
        compressed: row.compressed,
        kept_out: row.kept_out,
        predicted: row.predicted.map(predicted),
        measurement,
    };
    let left_out = outcome.left_out.iter().map(|left| JsonLeftOut { user: left.user, codec: &left.name, why: &left.why });
    let failed = outcome.failed.as_ref().map(|error| error_chain(error));
    KernelCodecsJson { failed, rows: outcome.rows.iter().zip(measurements).map(row).collect(), left_out: left_out.collect() }
}

/// For people.
pub fn table(outcome: &KernelOutcome) -> String {
    let KernelOutcome { rows, left_out, .. } = outcome;
    let mut page = String::from("\nThis kernel's own, each on a new pool; with what zram and the swap path add\n\n");
    let head = ["IN", "CODEC", "STORE MB/s", "LOAD MB/s", "RATIO", "STORED", "POOL", "PREDICTED"].map(str::to_owned).to_vec();
    let body = rows.iter().map(cells);
    page += &text::columns(&std::iter::once(head).chain(body).collect::<Vec<_>>(), &[2, 3, 4, 5, 6], 0);
    let kept_out: Vec<&KernelRow> = rows.iter().filter(|row| row.kept_out > 0).collect();
    if !left_out.is_empty() || !kept_out.is_empty() {
        page.push('\n');
    }
    if !kept_out.is_empty() {
        page += &text::wrap(&kept_out_words(&kept_out), 2);
    }
    for left in left_out {
        page += &text::wrap(&format!("{} {}: left out ({})", left.user, left.name, left.why), 2);
    }
    page
}

/// Which pages of live processes zswap did not get, and why.
fn kept_out_words(rows: &[&KernelRow]) -> String {
    let of = |row: &&KernelRow| {
        let figures = &row.figures;
        format!("{} {} of {}", figures.codec, figures.pages, figures.pages + row.kept_out)
    };
    format!(
        "pages through zswap: {}; this kernel writes a page that does not shrink to the swap file in clear text, so only pages that \
         surely shrink went out",
        rows.iter().map(of).collect::<Vec<_>>().join(", ")
    )
}

fn cells(row: &KernelRow) -> Vec<String> {
    let figures = &row.figures;
    let rate = |rate: Option<f64>| rate.map_or_else(String::new, |rate| format!("{rate:.0}"));
    let taken = figures.pools.first();
    vec![
        if figures.path == CodecPath::Zram { "zram".into() } else { "zswap".into() },
        figures.codec.clone(),
        rate(figures.compress_mb_s),
        rate(figures.decompress_mb_s),
        // Without a count of compressed bytes there is only what the pool took, in the next column.
        row.compressed.map_or_else(|| "–".into(), |_| format!("{:.2}", figures.ratio)),
        taken.map_or_else(String::new, |taken| format!("{:.2}", taken.original.0 as f64 / taken.used.0.max(1) as f64)),
        taken.map_or_else(String::new, |taken| taken.used.to_string()),
        taken.and_then(|taken| Some(error(row.predicted?.used, taken.used))).unwrap_or_else(|| "–".into()),
    ]
}

/// `22.4 MiB (+0.2 %)`.
fn error(predicted: Bytes, found: Bytes) -> String {
    format!("{predicted} ({:+.1} %)", 100.0 * (predicted.0 as f64 / found.0.max(1) as f64 - 1.0))
}
