//! Which compressor suits pages that were sampled: what the pool would hold against what a page costs.

use crate::stats::Nanos;

/// A codec that can be chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct CandidateCodec {
    /// The kernel's name.
    pub codec: String,
    /// Original size by RAM taken.
    pub stored: f64,
    /// Out and back, where it was measured here; else [`usual_cost`].
    pub cost: Option<Nanos>,
    /// Whether this kernel has it.
    pub usable: bool,
}

/// What a page costs out and back, as one machine measured it in user space (lz4 1.9.4, zstd 1.5.4, libdeflate 1.23 over cold
/// pages of browsers and interpreters on a Zen 4 guest; median). Only their order and rough distance count here.
const USUAL: &[(&str, Nanos)] =
    &[("lz4", Nanos(5_600)), ("zstd", Nanos(17_000)), ("lz4hc", Nanos(46_000)), ("deflate", Nanos(80_000))];

/// What a page usually costs out and back; `None` for a codec that was not measured.
#[must_use]
pub fn usual_cost(codec: &str) -> Option<Nanos> {
    USUAL.iter().find(|(name, _)| *name == codec).map(|(_, cost)| *cost)
}

/// A choice.
#[derive(Clone, Debug, PartialEq)]
pub enum CodecChoice {
    /// This one of those that the kernel has.
    Take {
        /// The codec.
        codec: String,
        /// Why, as a sentence without its first word.
        why: String,
        /// One that is not in this kernel and would be better, and in what: `zstd, 12 % more at about 17 µs a page`.
        better: Option<String>,
    },
    /// The kernel has none of them; this one would be the best.
    NoneUsable {
        /// The codec.
        best: String,
    },
}

/// Chooses: the cheapest of those that hold at most `tolerance_percent` less than the densest. `None` without candidates.
#[must_use]
pub fn choose(candidates: &[CandidateCodec], tolerance_percent: u64) -> Option<CodecChoice> {
    let best_of_all = pick(candidates.iter(), tolerance_percent)?;
    let Some(chosen) = pick(candidates.iter().filter(|candidate| candidate.usable), tolerance_percent) else {
        return Some(CodecChoice::NoneUsable { best: best_of_all.codec.clone() });
    };
    let densest = densest(candidates.iter().filter(|candidate| candidate.usable))?;
    let better = (best_of_all.codec != chosen.codec).then(|| {
        let more = 100.0 * (best_of_all.stored / chosen.stored - 1.0);
        let amount = if more < 0.0 { format!("{:.0} % less", -more) } else { format!("{more:.0} % more") };
        format!("{}, {amount} at {} a page", best_of_all.codec, text(best_of_all))
    });
    let usable = candidates.iter().filter(|candidate| candidate.usable).count();
    Some(CodecChoice::Take { codec: chosen.codec.clone(), why: why(chosen, densest, usable), better })
}

fn why(chosen: &CandidateCodec, densest: &CandidateCodec, usable: usize) -> String {
    let holds = format!("holds {:.2} : 1 at {} a page", chosen.stored, text(chosen));
    if usable == 1 {
        format!("{holds}, the only one of these that this kernel has")
    } else if densest.codec == chosen.codec {
        format!("{holds}, the most")
    } else {
        format!("{holds}; {} holds {:.2} : 1 at {}", densest.codec, densest.stored, text(densest))
    }
}

fn text(candidate: &CandidateCodec) -> String {
    match (candidate.cost, usual_cost(&candidate.codec)) {
        (Some(measured), _) => format!("{measured}"),
        (None, Some(usual)) => format!("about {usual}"),
        (None, None) => "an unknown time".into(),
    }
}

fn cost(candidate: &CandidateCodec) -> Nanos {
    candidate.cost.or_else(|| usual_cost(&candidate.codec)).unwrap_or(Nanos(u64::MAX))
}

fn densest<'a>(candidates: impl Iterator<Item = &'a CandidateCodec>) -> Option<&'a CandidateCodec> {
    candidates.max_by(|a, b| a.stored.total_cmp(&b.stored))
}

fn pick<'a>(candidates: impl Iterator<Item = &'a CandidateCodec> + Clone, tolerance_percent: u64) -> Option<&'a CandidateCodec> {
    let enough = densest(candidates.clone())?.stored * (100 - tolerance_percent.min(100)) as f64 / 100.0;
    candidates.filter(|candidate| candidate.stored >= enough).min_by_key(|candidate| cost(candidate))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(list: &[(&str, f64, bool)]) -> Vec<CandidateCodec> {
        let candidate = |(codec, stored, usable): &(&str, f64, bool)| CandidateCodec {
            codec: (*codec).to_owned(),
            stored: *stored,
            cost: None,
            usable: *usable,
        };
        list.iter().map(candidate).collect()
    }

    #[test]
    fn the_densest_wins_unless_a_quicker_one_holds_nearly_as_much() {
        let far = choose(&candidates(&[("lz4", 2.6, true), ("zstd", 3.6, true), ("deflate", 3.7, true)]), 10);
        let Some(CodecChoice::Take { codec, why, better }) = far else { panic!("{far:?}") };
        assert_eq!((codec.as_str(), better), ("zstd", None));
        assert_eq!(why, "holds 3.60 : 1 at about 17 µs a page; deflate holds 3.70 : 1 at about 80 µs");
        let near = choose(&candidates(&[("lz4", 2.6, true), ("zstd", 2.8, true)]), 10);
        assert!(matches!(near, Some(CodecChoice::Take { codec, .. }) if codec == "lz4"));
        let tolerant = choose(&candidates(&[("lz4", 2.6, true), ("zstd", 3.6, true)]), 30);
        assert!(matches!(tolerant, Some(CodecChoice::Take { codec, .. }) if codec == "lz4"));
    }

    #[test]
    fn what_was_measured_counts_more() {
        let mut list = candidates(&[("lz4", 2.6, true), ("zstd", 2.8, true)]);
        list[0].cost = Some(Nanos(30_000));
        assert!(matches!(choose(&list, 10), Some(CodecChoice::Take { codec, .. }) if codec == "zstd"));
    }

    #[test]
    fn what_the_kernel_lacks_is_only_wished_for() {
        let some = choose(&candidates(&[("lz4", 2.0, true), ("zstd", 3.0, false)]), 10);
        let Some(CodecChoice::Take { codec, why, better }) = some else { panic!("{some:?}") };
        assert_eq!((codec.as_str(), better.as_deref()), ("lz4", Some("zstd, 50 % more at about 17 µs a page")));
        assert_eq!(why, "holds 2.00 : 1 at about 5.6 µs a page, the only one of these that this kernel has");
        let slow = choose(&candidates(&[("zstd", 3.92, false), ("deflate", 4.0, true)]), 10);
        assert!(matches!(slow, Some(CodecChoice::Take { better: Some(better), .. }) if better.starts_with("zstd, 2 % less at")));
        let none = choose(&candidates(&[("lz4", 2.0, false), ("zstd", 3.0, false)]), 10);
        assert_eq!(none, Some(CodecChoice::NoneUsable { best: "zstd".into() }));
        assert_eq!(choose(&[], 10), None);
    }
}
