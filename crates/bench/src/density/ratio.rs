//! Two configurations beside each other.

use swaptune_core::measurement::DensityFigures;
use swaptune_core::stats::{Estimate, paired_ratio};

/// How many times what another configuration holds one holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DensityRatio {
    /// The mean of the rounds with its 95 % interval.
    Of(Estimate),
    /// At least this ratio in every round: the other held less than was tried, or this one more.
    AtLeast(f64),
    /// At most this ratio in every round.
    AtMost(f64),
    /// What both hold lies beyond the numbers that were tried.
    Unknown,
}

/// How many times what `other` holds `variant` holds, over the rounds that both have. `None` with fewer than two rounds or when one of them
/// held nothing.
#[must_use]
pub fn ratio(variant: &DensityFigures, other: &DensityFigures) -> Option<DensityRatio> {
    let pairs = variant.rounds.iter().zip(&other.rounds).map(|(a, b)| (a.between(), b.between()));
    let pairs: Vec<_> = pairs.collect();
    if pairs.iter().all(|(a, b)| a.0 == a.1 && b.0 == b.1) {
        return known(variant, other).map(DensityRatio::Of);
    }
    if pairs.len() < 2 {
        return None;
    }
    let least = pairs.iter().map(|(a, b)| a.0 / b.1).fold(f64::INFINITY, f64::min);
    let most = pairs.iter().map(|(a, b)| a.1 / b.0).fold(0.0, f64::max);
    Some(match (least, most) {
        (least, _) if least > 0.0 && least < f64::INFINITY => DensityRatio::AtLeast(least),
        (_, most) if most < f64::INFINITY => DensityRatio::AtMost(most),
        _ => DensityRatio::Unknown,
    })
}

/// The ratio of numbers that are no bounds.
///
/// What fits is known to a step of the numbers that were tried, and no better for being found twice: rounds that agree say nothing of their
/// scatter, so the interval is never narrower than such a step to each side.
fn known(variant: &DensityFigures, other: &DensityFigures) -> Option<Estimate> {
    let pairs = variant.rounds.iter().zip(&other.rounds).map(|(a, b)| (f64::from(a.fits), f64::from(b.fits)));
    let found = paired_ratio(&pairs.collect::<Vec<_>>())?;
    // A little more, or what differs by one step would be on either side of 1 as it is rounded.
    let step = step(variant).max(step(other)) * (1.0 + 1e-9);
    Some(Estimate { low: found.low.min(found.value / step), high: found.high.max(found.value * step), ..found })
}

/// How many times what fits the next number was that was tried, at most.
fn step(figures: &DensityFigures) -> f64 {
    let of_round = figures.rounds.iter().filter(|round| round.fits > 0).filter_map(|round| {
        let next = round.levels.iter().map(|level| level.services).filter(|services| *services > round.fits).min()?;
        Some(f64::from(next) / f64::from(round.fits))
    });
    of_round.fold(1.0, f64::max)
}

#[cfg(test)]
mod tests {
    use swaptune_core::Bytes;
    use swaptune_core::measurement::{DensityCounts, DensityEnd, DensityLevel, DensityLimit, DensityLoad, DensityRound};
    use swaptune_core::stats::Nanos;

    use super::*;

    /// Rounds that held the first number and not the second.
    fn figures(rounds: &[(u32, u32)]) -> DensityFigures {
        let level = |services, end| DensityLevel { services, end, wake: None, seconds: 1.0, counts: DensityCounts::default() };
        let round = |(fits, next): &(u32, u32)| DensityRound {
            fits: *fits,
            levels: vec![level(*fits, DensityEnd::Held), level(*next, DensityEnd::Slow)],
        };
        DensityFigures {
            variant: "v".into(),
            settings: Vec::new(),
            memory: Bytes(1 << 30),
            limit: DensityLimit::Group,
            pool_percent: None,
            load: DensityLoad {
                service: "python".into(),
                heap: Bytes(1 << 20),
                work_percent: 30,
                wakes_per_second: 5.0,
                skew: 0.0,
                wakes: 200,
                bound: Nanos(1),
                seed: 1,
                at: Vec::new(),
            },
            rounds: rounds.iter().map(round).collect(),
            fits: Estimate { value: 0.0, low: 0.0, high: 0.0 },
        }
    }

    #[test]
    fn rounds_that_agree_know_no_more_than_a_step() {
        let found = known(&figures(&[(30, 32), (30, 32)]), &figures(&[(28, 30), (28, 30)])).unwrap();
        assert!(found.low < 1.0 && found.low > 0.99 && found.high >= 30.0 / 28.0 * 30.0 / 28.0, "{found:?}");
        let clear = known(&figures(&[(60, 65), (60, 65)]), &figures(&[(28, 30), (28, 30)])).unwrap();
        assert!(clear.low > 1.9 && clear.high < 2.4, "{clear:?}");
    }

    #[test]
    fn rounds_that_differ_say_more_of_their_scatter_than_a_step() {
        let found = known(&figures(&[(30, 32), (40, 43)]), &figures(&[(30, 32), (20, 21)])).unwrap();
        assert!(found.low < 0.1 && found.high > 20.0, "{found:?}");
        assert_eq!(ratio(&figures(&[(30, 32)]), &figures(&[(30, 32)])), None);
    }

    #[test]
    fn what_one_of_them_holds_beyond_the_numbers_that_were_tried_bounds_the_ratio() {
        let (below, exact, above) = ([(0, 54), (0, 54)], [(60, 66), (60, 66)], [(72, 66), (72, 66)]);
        let told = |a: &[(u32, u32)], b: &[(u32, u32)]| ratio(&figures(a), &figures(b)).unwrap();
        assert_eq!(told(&exact, &below), DensityRatio::AtLeast(60.0 / 54.0));
        assert_eq!(told(&above, &exact), DensityRatio::AtLeast(72.0 / 60.0));
        assert_eq!(told(&below, &exact), DensityRatio::AtMost(54.0 / 60.0));
        assert_eq!(told(&below, &below), DensityRatio::Unknown);
        assert!(matches!(told(&exact, &exact), DensityRatio::Of(_)));
    }
}
