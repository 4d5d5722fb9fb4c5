//! Pages of docs/reference that are generated from tables (knobs, behaviours, findings, metrics, figures of the daemon, exit codes), and pictures that are drawn from results.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, bail};
use swaptune_core::control::figures;
use swaptune_core::findings;
use swaptune_core::knobs::{self, Effect, Knob};
use swaptune_core::metrics::{self, MetricKind};
use swaptune_kernel::behaviours;

use crate::cli::EXIT_CODES;
use crate::pictures::PICTURES;

/// A page: its path below the repository and its bytes.
type Page = (PathBuf, Vec<u8>);

/// Writes every page.
pub fn write() -> anyhow::Result<()> {
    for (path, bytes) in pages()? {
        fs::create_dir_all(path.parent().context("a page has a folder")?)?;
        fs::write(&path, bytes).with_context(|| path.display().to_string())?;
        println!("{}", path.display());
    }
    Ok(())
}

/// Fails when a page differs from what would be written.
pub fn check() -> anyhow::Result<()> {
    let pages = pages()?;
    let stale = pages.iter().filter(|(path, bytes)| fs::read(path).ok().as_ref() != Some(bytes));
    let stale: Vec<String> = stale.map(|(path, _)| path.display().to_string()).collect();
    if !stale.is_empty() {
        bail!("out of date, run `make reference`: {}", stale.join(", "));
    }
    println!("{} generated pages are up to date", pages.len());
    Ok(())
}

fn pages() -> anyhow::Result<Vec<Page>> {
    let mut pages = vec![
        page("docs/reference/knobs.md", knobs_page()),
        page("docs/reference/behaviours.md", behaviours_page()),
        page("docs/reference/findings.md", findings_page()),
        page("docs/reference/metrics.md", metrics_page()),
        page("docs/reference/keep.md", keep_page()),
        page("docs/reference/exit-codes.md", exit_codes_page()),
    ];
    for (path, draw) in PICTURES {
        pages.push(page(path, draw()?));
    }
    Ok(pages)
}

fn page(path: &str, text: String) -> Page {
    (PathBuf::from(path), text.into_bytes())
}

fn metrics_page() -> String {
    let mut text = String::from(
        "# Metrics\n\nEvery value that `swaptune watch` shows. Generated from the metric table (`crates/core/src/metrics/`) by `make reference`.\n\
         The names are those of `--once`, JSON and CSV; OpenMetrics puts `swaptune_` before them, and `_total` behind a counter. JSON and CSV have\n\
         the rate of a counter beside it, in its unit by second.\n\n| name | kind | unit | for each | what it is |\n|---|---|---|---|---|\n",
    );
    for row in metrics::all() {
        let kind = match row.kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
        };
        let _ = writeln!(
            text,
            "| `{}` | {kind} | {} | {} | {} |",
            row.name,
            row.unit.name(),
            row.label().unwrap_or_default(),
            row.help
        );
    }
    text
}

fn keep_page() -> String {
    let mut text = String::from(
        "# Figures of the daemon\n\nWhat the laws of `swaptune daemon` go by: keys of `[keep]` in the configuration. Generated from the table of figures\n\
         (`crates/core/src/control/figures.rs`) by `make reference`; [the guide](../guides/keep.md) says what the laws do with them. µs/s are\n\
         microseconds of each second: 1000 are 0.1 %. Sizes are written in quotes.\n\n\
         | key | unit | default | range | what it is | where the default comes from |\n|---|---|---|---|---|---|\n",
    );
    for row in figures::TABLE {
        let [default, min, max] = [row.default, row.min, row.max].map(|value| row.unit.show(value));
        let _ = writeln!(
            text,
            "| `{}` | {} | {default} | {min} to {max} | {} | {} |",
            row.name,
            row.unit.name(),
            row.about,
            row.source
        );
    }
    text
}

fn exit_codes_page() -> String {
    let mut text = String::from(
        "# Exit codes\n\nWhat `swaptune` ends with, for scripts and monitors. Generated from the table of codes (`crates/swaptune/src/cli/exit.rs`) by\n\
         `make reference`. What the message says to type next is on standard error, behind `hint:`.\n\n| code | meaning | when |\n|---|---|---|\n",
    );
    for row in EXIT_CODES {
        let _ = writeln!(text, "| {} | {} | {} |", row.code, row.meaning, row.when);
    }
    text
}

fn knobs_page() -> String {
    let mut text = String::from(
        "# Knobs\n\nEvery kernel setting that swaptune reads or turns. Generated from the knob table (`crates/core/src/knobs/`) by\n\
         `make reference`; `swaptune knobs` shows the same with the live values of a machine.\n",
    );
    for rows in knobs::TABLE {
        let family = rows.first().map_or("", |row| row.name.split('.').next().unwrap_or_default());
        let _ = write!(text, "\n## {family}\n");
        for row in *rows {
            text += &knob(row);
        }
    }
    text
}

fn knob(row: &Knob) -> String {
    let lifetime = match (row.since, row.gone) {
        (None, None) => "every supported kernel".to_owned(),
        (Some(since), None) => format!("since {since}"),
        (None, Some(gone)) => format!("gone in {gone}: {}", row.replaced_by),
        (Some(since), Some(gone)) => format!("since {since}, gone in {gone}: {}", row.replaced_by),
    };
    let unit = if row.unit.is_empty() { String::new() } else { format!(", in {}", row.unit) };
    let effect = match row.effect {
        Effect::Live => "at once",
        Effect::BeforeSetup => "before the device or area is set up",
    };
    format!(
        "\n### `{}`\n\n{}\n\n- file: `{}`\n- takes: {}{unit}\n- key: {}\n- default: {}\n- kernels: {lifetime}\n- takes effect: {effect}\n- source: {}\n",
        row.name,
        row.doc,
        row.path,
        row.expected(),
        row.key_text(),
        if row.default.is_empty() { "none" } else { row.default },
        row.source
    )
}

fn behaviours_page() -> String {
    let mut text = String::from(
        "# Behaviours\n\nWhat kernels do by themselves, whatever the knobs say, and in which versions. Generated from the table of behaviours\n\
         (`crates/kernel/src/behaviours.rs`) by `make reference`; `swaptune knobs --behaviours` says which of them a machine's kernel has.\n\n\
         | behaviour | kernels | what the kernel does | source | asked by |\n|---|---|---|---|---|\n",
    );
    for row in behaviours::TABLE {
        let users = row.used_by.join(", ");
        let _ = writeln!(text, "| `{}` | {} | {} | {} | {users} |", row.name, row.versions(), row.about, row.source);
    }
    text
}

fn findings_page() -> String {
    let mut text = String::from(
        "# Findings\n\nWhat `swaptune verify` can find wrong with a machine. Generated from the findings table\n\
         (`crates/core/src/findings/`) by `make reference`.\n\n| code | severity | finding | source |\n|---|---|---|---|\n",
    );
    for row in findings::all() {
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} |",
            row.code,
            format!("{:?}", row.severity).to_lowercase(),
            row.title.replace('|', "\\|"),
            row.source.replace('|', "\\|")
        );
    }
    text
}
