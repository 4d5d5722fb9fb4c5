//! How many applications fit: tables, CSV, JSON.

use std::fmt::Write;

use serde_json::{Value, json};
use swaptune_bench::this_machine::Cite;
use swaptune_core::Bytes;
use swaptune_core::stats::Nanos;
use swaptune_tiers::scenario::{Applications, Fit, FitLook, Scenario, Search, Stopped, WorkloadSource};

use super::scenario::{quoted, seconds, understood};
use super::text;

/// Bytes of a page.
const PAGE: f64 = 4096.0;

/// The searches of a scenario.
pub struct Fitted {
    /// What it is called.
    pub file: String,
    /// One for each tiering, done.
    pub searches: Vec<Search>,
    /// The scenario with one application.
    pub scenario: Scenario,
    /// Its applications.
    pub workload: Applications,
}

impl Fitted {
    fn each(&self) -> impl Iterator<Item = (&str, &Search, Fit)> {
        let names = self.scenario.points[0].tierings.iter().map(|tiering| tiering.name.as_str());
        names.zip(&self.searches).map(|(name, search)| (name, search, search.answer()))
    }

    /// The smallest number that was given more seconds than the workload says, and how many.
    fn first_longer(&self) -> Option<(u32, u32)> {
        let most = self.searches.iter().flat_map(|search| search.looks().map(|(number, _)| number)).max()?;
        (1..=most).find_map(|number| Some((number, self.workload.longer(number)?)))
    }

    /// Applications by those of the first tiering.
    fn capacity(&self, fit: Fit) -> Option<f64> {
        let first = self.searches.first().map(|search| search.answer().applications)?;
        (first > 0).then(|| f64::from(fit.applications) / f64::from(first))
    }
}

/// For people.
pub fn tables(done: &[Fitted], limit: Nanos) -> String {
    done.iter().map(|fitted| table(fitted, limit)).collect::<Vec<_>>().join("\n")
}

fn table(done: &Fitted, limit: Nanos) -> String {
    let point = &done.scenario.points[0];
    let ram = Bytes(point.tierings[0].settings.ram * 4096 * u64::from(point.scale));
    let mut page = format!("Applications that fit in {ram} of RAM when 99 % of their wakes take at most {limit}\n");
    if point.scale > 1 {
        let text = format!(
            "Everything counted in pages is a {}th: times of wakes, pool and reads are multiplied by it. --set scale=1 takes the exact size, and long.",
            point.scale
        );
        page += &text::wrap(&text, 2);
    }
    if let WorkloadSource::Generated(spec) = &point.source {
        let parts = spec.split([':', ',']).filter(|part| !part.starts_with("apps="));
        page += &text::wrap(&format!("Workload: {}", parts.collect::<Vec<_>>().join(" ")), 2);
    }
    if let Some((first, seconds)) = done.first_longer() {
        let first = text::count(first as usize, "application");
        let text = format!("From {first} on a run lasts longer, for all to start and wake: {seconds} s with as many.");
        page += &text::wrap(&text, 2);
    }
    page.push('\n');
    let head = ["TIERING", "FIT", "BY FIRST", "WAKE-P50", "WAKE-P99", "POOL", "DISK-IN", "ONE MORE"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for (name, _, fit) in done.each() {
        let more = if fit.next.is_none() { "≥ " } else { "" };
        let mut row = vec![name.to_owned(), format!("{more}{}", fit.applications)];
        row.push(done.capacity(fit).map_or("-".into(), |ratio| format!("{ratio:.2}")));
        let cell = |of: fn(&FitLook) -> Option<String>| fit.look.as_ref().and_then(of).unwrap_or_else(|| "-".into());
        row.push(cell(|look| look.wake_p50.map(time)));
        row.push(cell(|look| look.wake_p99.map(time)));
        row.push(cell(|look| Some(Bytes((look.pool * PAGE) as u64).to_string())));
        row.push(cell(|look| Some(look.disk_in.to_string())));
        row.push(next(fit, limit));
        rows.push(row);
    }
    page += &text::columns(&rows, &[1, 2, 3, 4, 5, 6], 0);
    for (name, _, fit) in done.each() {
        if let Some(again) = fit.fits_again {
            let text = format!(
                "{name}: wakes do not get slower with each application: {again} fit as well, although {} do not.",
                fit.applications + 1
            );
            page += &text::wrap(&text, 2);
        }
        if fit.next.is_none() {
            let text = format!("{name}: {} fit; larger numbers were not looked at.", fit.applications);
            page += &text::wrap(&text, 2);
        }
    }
    page.push('\n');
    // Both points of this scenario are searches of their own: one application and two.
    page + &understood(&done.scenario, |one, two| if one == two { one } else { "as large as the workload".to_owned() })
}

/// What one application more comes to.
fn next(fit: Fit, limit: Nanos) -> String {
    let Some(look) = fit.next else { return "not looked at".into() };
    match look.stopped(limit.0) {
        Some(Stopped::Memory) => format!("memory: full at {:.0} % of the workload", look.out_of_memory.unwrap_or(0.0) * 100.0),
        _ => format!("latency: {}", look.wake_p99.map_or("-".into(), time)),
    }
}

fn time(nanos: u64) -> String {
    seconds(nanos as f64 * 1e-9)
}

fn word(stopped: Option<Stopped>) -> &'static str {
    match stopped {
        Some(Stopped::Latency) => "latency",
        Some(Stopped::Memory) => "memory",
        None => "",
    }
}

/// Comma-separated values, in seconds, bytes and pages.
pub fn csv(done: &[Fitted]) -> String {
    let mut out = "scenario,tiering,applications,by_first,wake_p50,wake_p99,pool,disk_in,stopped\n".to_owned();
    let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    for fitted in done {
        for (name, search, fit) in fitted.each() {
            let wake = |of: fn(&FitLook) -> Option<u64>| number(fit.look.as_ref().and_then(of).map(|nanos| nanos as f64 * 1e-9));
            let stopped = word(fit.next.and_then(|look| look.stopped(search.limit())));
            let _ = writeln!(
                out,
                "{},{},{},{},{},{},{},{},{stopped}",
                quoted(&fitted.file),
                quoted(name),
                fit.applications,
                number(fitted.capacity(fit)),
                wake(|look| look.wake_p50),
                wake(|look| look.wake_p99),
                number(fit.look.map(|look| look.pool * PAGE)),
                number(fit.look.map(|look| look.disk_in as f64)),
            );
        }
    }
    out
}

/// For programs.
pub fn json(done: &[Fitted], limit: Nanos, cites: &[&Cite]) -> Value {
    let look = |look: FitLook| {
        let seconds = |nanos: Option<u64>| nanos.map(|nanos| nanos as f64 * 1e-9);
        json!({ "wake-p50": seconds(look.wake_p50), "wake-p99": seconds(look.wake_p99), "pool": look.pool * PAGE,
                "disk-in": look.disk_in, "out-of-memory": look.out_of_memory })
    };
    let tiering = |fitted: &Fitted, name: &str, search: &Search, fit: Fit| {
        let looks = search.looks().map(|(applications, seen)| json!({ "applications": applications, "figures": look(*seen) }));
        json!({ "tiering": name, "applications": fit.applications, "by-first": fitted.capacity(fit),
                "figures": fit.look.map(look), "next": fit.next.map(look),
                "stopped": fit.next.and_then(|next| next.stopped(limit.0)), "fits-again": fit.fits_again,
                "looks": looks.collect::<Vec<_>>() })
    };
    let one = |fitted: &Fitted| {
        let each = fitted.each().map(|(name, search, fit)| tiering(fitted, name, search, fit));
        json!({ "file": fitted.file, "tierings": each.collect::<Vec<_>>() })
    };
    json!({ "limit": limit.0 as f64 * 1e-9, "scenarios": done.iter().map(one).collect::<Vec<_>>(), "measured": cites })
}
