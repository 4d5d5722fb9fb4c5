//! What machines hold together: in a page of text, and with pictures.

use serde::Serialize;
use swaptune_core::fleet::{FleetState, Summary};

use super::{Unread, machines, unread};
use crate::output::report::{Bar, HtmlPage, bars, colour};
use crate::output::text::{columns, wrap};

/// Rows of the text; the page with pictures has all that are named.
const ROWS: usize = 10;

/// What was summed.
#[derive(Debug, Serialize)]
pub struct FleetReport {
    /// The fleet.
    #[serde(flatten)]
    pub state: FleetState,
    /// What could not be read.
    pub unread: Vec<Unread>,
}

/// The verdict first, then who needs a hand, then who gains most.
pub fn text(report: &FleetReport) -> String {
    let state = &report.state;
    let mut out = wrap(&verdict(state), 0);
    for note in advice(state).into_iter().chain(unread(&report.unread)) {
        out += &format!("\n{}", wrap(&note, 0));
    }
    let mut rows = vec![HEAD.map(str::to_owned).to_vec()];
    rows.extend(named(state).take(ROWS).map(row));
    if rows.len() > 1 {
        out += &format!("\n{}", columns(&rows, &[1, 2, 3, 4, 5, 6], 2));
    }
    out
}

/// The same as a page, with a bar for each machine that is named.
pub fn html(report: &FleetReport) -> String {
    let state = &report.state;
    let mut page = HtmlPage::begin("swaptune fleet report", "What compressed swap brings to this fleet");
    page.verdict(&verdict(state));
    for note in advice(state).into_iter().chain(unread(&report.unread)) {
        page.paragraph(&note);
    }
    let bar = |summary: &Summary| Bar {
        name: summary.name.clone(),
        value: Some(summary.saved().0 as f64 / f64::from(1 << 20)),
        range: None,
        says: summary.saved().to_string(),
        colour: colour(0),
    };
    let pictured: Vec<Bar> = named(state).map(bar).collect();
    if !pictured.is_empty() {
        let title = "RAM that compression saves, less what the pools take, MiB: the machines that gain most";
        page.heading(title);
        page.picture(&bars(title, &pictured));
        page.table(&HEAD, &named(state).map(row).collect::<Vec<_>>());
    }
    page.end()
}

const HEAD: [&str; 7] = ["MACHINE", "RAM", "CAPACITY", "POOLS", "HOLD", "SAVED", "ON DISK"];

fn row(summary: &Summary) -> Vec<String> {
    let sizes = [summary.ram, summary.capacity, summary.pools, summary.held, summary.saved(), summary.on_disk];
    std::iter::once(summary.name.clone()).chain(sizes.iter().map(ToString::to_string)).collect()
}

/// Machines on which pools hold something.
fn named(state: &FleetState) -> impl Iterator<Item = &Summary> {
    state.most.iter().filter(|summary| summary.held.0 > 0)
}

fn verdict(state: &FleetState) -> String {
    let total = &state.total;
    let head = format!("{} with {} of RAM", machines(state.machines), total.ram);
    let holds = match total.held.0 {
        0 => "nothing is compressed on any of them".to_owned(),
        held => format!(
            "pools of {} hold {}, so {} more fit ({:.2} : 1); at most {} is on disks",
            total.pools,
            total.held,
            total.saved(),
            held as f64 / total.pools.0.max(1) as f64,
            total.on_disk
        ),
    };
    let since = match state.applied {
        0 => String::new(),
        applied => format!(
            " Since the applies on {}, {} pages came back from zswap without a read, {} were read from swap areas.",
            machines(applied),
            state.loads,
            state.swap_reads
        ),
    };
    format!("{head}: {holds}.{since}")
}

/// What `status` says first on machines that need a hand, the most frequent first.
fn advice(state: &FleetState) -> Vec<String> {
    let mut advised: Vec<_> = state.advice.iter().collect();
    advised.sort_by_key(|(_, advised)| std::cmp::Reverse(advised.machines));
    let line = |(code, advised): (&String, &swaptune_core::fleet::Advised)| {
        format!("{code} on {} ({}): {}", machines(advised.machines), advised.examples.join(", "), advised.text)
    };
    advised.into_iter().map(line).collect()
}
