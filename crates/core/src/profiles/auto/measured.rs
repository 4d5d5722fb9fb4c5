//! What measurements of this machine put in the place of assumed figures.

use crate::facts::Facts;
use crate::measurement::{Evidence, Measured, PageCost};
use crate::stats::Nanos;

/// One compressor with what is known of it.
struct Candidate {
    name: String,
    ratio: Measured<f64>,
    cost: Option<Measured<PageCost>>,
}

/// A choice of compressor that rests on results.
pub(super) struct Chosen {
    pub(super) name: String,
    pub(super) reason: String,
    pub(super) source: String,
}

/// The compressor that fits this machine's pages: the densest, unless a quicker one holds nearly as much.
///
/// `None` when nothing is known of the one that is assumed to be best, or of no other: half a comparison is none.
pub(super) fn compressor(facts: &Facts, evidence: &Evidence, usable: &[String], zram: bool) -> Option<Chosen> {
    let cost = |name: &str| if zram { evidence.zram_cost(name) } else { evidence.zswap_cost(name) };
    let candidate = |name: &String| {
        let ratio = evidence.stored_ratio(name, "zsmalloc")?;
        Some(Candidate { name: name.clone(), ratio, cost: cost(name) })
    };
    let candidates: Vec<Candidate> = usable.iter().filter_map(candidate).collect();
    if candidates.len() < usable.len().min(2) || candidates.first().map(|first| &first.name) != usable.first() {
        return None;
    }
    let densest = candidates.iter().max_by(|a, b| a.ratio.value.total_cmp(&b.ratio.value))?;
    let tolerance = super::density_tolerance_percent(facts.kernel.cpus);
    let enough = densest.ratio.value * (100 - tolerance.min(100)) as f64 / 100.0;
    let dense = candidates.iter().filter(|candidate| candidate.ratio.value >= enough);
    let cheapest = dense.filter(|candidate| candidate.cost.is_some()).min_by_key(|candidate| both(candidate));
    let chosen = cheapest.filter(|_| densest.cost.is_some()).unwrap_or(densest);
    Some(explain(chosen, densest, &candidates))
}

fn both(candidate: &Candidate) -> Nanos {
    candidate.cost.as_ref().map_or(Nanos(u64::MAX), |cost| cost.value.both())
}

fn explain(chosen: &Candidate, densest: &Candidate, candidates: &[Candidate]) -> Chosen {
    let about = |candidate: &Candidate| {
        let cost = candidate.cost.as_ref();
        let cost = cost.map_or_else(String::new, |cost| format!(" for {} out and back", cost.value.both()));
        format!("{} holds {:.2} : 1{cost}", candidate.name, candidate.ratio.value)
    };
    let others: Vec<String> = candidates.iter().filter(|other| other.name != chosen.name).map(about).collect();
    let why = if chosen.name == densest.name { "the densest" } else { "nearly as dense as the densest, and quicker" };
    let against = if others.is_empty() { String::new() } else { format!("; {}", others.join(", ")) };
    let reason = format!("of this machine's pages {}: {why}{against}", about(chosen));
    let mut sources = vec![chosen.ratio.source.clone()];
    sources.extend(chosen.cost.as_ref().map(|cost| cost.source.clone()).filter(|source| *source != chosen.ratio.source));
    Chosen { name: chosen.name.clone(), reason, source: sources.join(", ") }
}

/// How many times as fast a page comes back from compressed swap, its way out included, as a page of a file from the disk.
pub(super) fn speed_ratio(
    evidence: &Evidence,
    cost: Option<Measured<PageCost>>,
    disk: Option<&str>,
) -> Option<Measured<(f64, String)>> {
    let (cost, read) = (cost?, evidence.page_read(disk)?);
    let ratio = read.value.0 as f64 / cost.value.both().0.max(1) as f64;
    let reason =
        format!("a page goes out and back in {}, a page of a file comes from the disk in {}", cost.value.both(), read.value);
    Some(Measured { value: (ratio, reason), source: format!("{}, {}", cost.source, read.source) })
}
