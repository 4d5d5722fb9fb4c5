//! What measurements of this machine put in the place of assumed figures.

use super::density_tolerance_percent;
use crate::codec_choice::{CandidateCodec, CodecChoice, choose};
use crate::facts::Facts;
use crate::measurement::{Evidence, MeasuredAnswer, PageCost};

/// A choice of compressor that rests on results.
pub(super) struct Chosen {
    pub(super) name: String,
    pub(super) reason: String,
    pub(super) source: String,
    /// One that this kernel lacks and that would be better, and in what.
    pub(super) better: Option<String>,
}

/// The compressor that fits this machine's pages, by the rule of [`choose`].
///
/// `None` when nothing is known of the one that is assumed to be best, or of no other: half a comparison is none.
pub(super) fn compressor(facts: &Facts, evidence: &Evidence, names: &[String], usable: &[String], zram: bool) -> Option<Chosen> {
    let cost = |name: &str| if zram { evidence.zram_cost(name) } else { evidence.zswap_cost(name) };
    let known = |name: &String| evidence.stored_ratio(name, "zsmalloc").map(|ratio| (name.clone(), ratio, cost(name)));
    let known: Vec<_> = names.iter().filter_map(known).collect();
    let mut here = known.iter().map(|(name, ..)| name).filter(|name| usable.contains(name));
    if here.clone().count() < usable.len().min(2) || here.next() != usable.first() {
        return None;
    }
    let candidate = |(name, ratio, cost): &(String, MeasuredAnswer<f64>, Option<MeasuredAnswer<PageCost>>)| CandidateCodec {
        codec: name.clone(),
        stored: ratio.value,
        cost: cost.as_ref().map(|cost| cost.value.both()),
        usable: usable.contains(name),
    };
    let candidates: Vec<CandidateCodec> = known.iter().map(candidate).collect();
    let cpus = facts.kernel.cpus.value().copied();
    let CodecChoice::Take { codec, why, better } = choose(&candidates, density_tolerance_percent(cpus))? else {
        return None;
    };
    let (_, ratio, cost) = known.into_iter().find(|(name, ..)| *name == codec)?;
    let source = match cost.map(|cost| cost.source).filter(|source| *source != ratio.source) {
        Some(cost) => format!("{}, {cost}", ratio.source),
        None => ratio.source,
    };
    Some(Chosen { reason: format!("of this machine's pages {codec} {why}"), name: codec, source, better })
}

/// How many times as fast a page comes back from compressed swap, its way out included, as a page of a file from the disk.
pub(super) fn speed_ratio(
    evidence: &Evidence,
    cost: Option<MeasuredAnswer<PageCost>>,
    disk: Option<&str>,
) -> Option<MeasuredAnswer<(f64, String)>> {
    let (cost, read) = (cost?, evidence.page_read(disk)?);
    let ratio = read.value.0 as f64 / cost.value.both().0.max(1) as f64;
    let reason =
        format!("a page goes out and back in {}, a page of a file comes from the disk in {}", cost.value.both(), read.value);
    Some(MeasuredAnswer { value: (ratio, reason), source: format!("{}, {}", cost.source, read.source) })
}
