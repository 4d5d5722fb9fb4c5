//! Configurations with their runs, before they are run and once they were.

use std::cmp::Ordering;

use swaptune_core::Facts;
use swaptune_core::measurement::{CompareFigures, CompareRun, Comparison, Evidence, Incomparable};
use swaptune_core::stats::median_interval;

use super::{CompareOptions, KeptRun, judge};
use crate::variant::{Preparation, Skipped, Variant, VariantOutcome, prepare};

/// A configuration and its runs.
pub(super) struct VariantRuns<'a> {
    pub(super) variant: &'a Variant,
    pub(super) preparation: Preparation,
    pub(super) runs: Vec<CompareRun>,
    // Why it cannot be compared.
    pub(super) refused: Option<String>,
}

/// The configurations, with the runs that a comparison has of before.
pub(super) fn rows<'a>(
    variants: &'a [Variant],
    (facts, evidence): (&Facts, &Evidence),
    options: &CompareOptions,
    before: Vec<KeptRun>,
    outcome: &mut VariantOutcome<CompareFigures>,
) -> Vec<VariantRuns<'a>> {
    let memory = options.memory.unwrap_or_else(|| facts.memory.total());
    let row = |variant: &'a Variant| {
        let (preparation, refused) = match prepare(variant, (facts, memory), evidence, &options.folder) {
            Ok(preparation) => (preparation, None),
            Err(why) => (Preparation::default(), Some(why)),
        };
        VariantRuns { variant, preparation, runs: Vec::new(), refused }
    };
    let mut rows: Vec<VariantRuns<'_>> = variants.iter().map(row).collect();
    for kept in before {
        if let Some(row) = rows.get_mut(kept.variant) {
            row.runs.push(kept.run);
        }
    }
    let refused = rows.iter().filter_map(|row| Some(Skipped { variant: row.variant.name.clone(), why: row.refused.clone()? }));
    outcome.skipped.extend(refused);
    rows
}

/// Why nothing can be compared: the first, against which all are set, or all others are refused. `None` where two are left.
pub(super) fn why_none_is_left(rows: &[VariantRuns<'_>]) -> Option<String> {
    let is_first_left = rows.first().is_some_and(|row| row.refused.is_none());
    if is_first_left && rows.iter().filter(|row| row.refused.is_none()).count() >= 2 {
        return None;
    }
    let why = rows.iter().filter_map(|row| Some(format!("{}: {}", row.variant.name, row.refused.as_ref()?)));
    Some(why.collect::<Vec<_>>().join("; "))
}

/// Judges what was measured.
pub(super) fn finish(rows: Vec<VariantRuns<'_>>, options: &CompareOptions, outcome: &mut VariantOutcome<CompareFigures>) {
    let baseline: Vec<CompareRun> = rows.first().map(|row| row.runs.clone()).unwrap_or_default();
    let first = |block: u32, again: bool| {
        baseline.iter().find(|run| run.block == block && run.again == again && run.failed.is_none()).map(|run| run.elapsed_s)
    };
    let against = |row: &VariantRuns<'_>| -> Vec<(f64, f64)> {
        let ended = row.runs.iter().filter(|run| !run.again && run.failed.is_none());
        ended.filter_map(|run| Some((run.elapsed_s, first(run.block, false)?))).collect()
    };
    let same: Vec<(f64, f64)> =
        (0..options.blocks).filter_map(|block| Some((first(block, true)?, first(block, false)?))).collect();
    let pairs: Vec<Vec<(f64, f64)>> = rows.iter().skip(1).map(against).collect();
    let failures: Vec<Ordering> = rows.iter().map(|row| failures(&row.runs, &baseline)).collect();
    let judged = std::iter::once(None).chain(judge::judge(&pairs, &same, options.delta));
    let judged = judged.zip(failures).map(|(found, failures)| {
        found.map(|found| Comparison { verdict: judge::with_failures(found.verdict, failures), ..found })
    });
    let resolution = judge::resolution(&same);
    let name = rows.first().map(|row| row.variant.name.clone());
    for (place, (row, comparison)) in rows.into_iter().zip(judged).enumerate() {
        let variant = row.variant.name.clone();
        if row.runs.is_empty() {
            let is_told = outcome.skipped.iter().any(|skipped| skipped.variant == variant);
            let why = row.refused.unwrap_or_else(|| "it was stopped before a run of it was done".into());
            outcome.skipped.extend((!is_told).then_some(Skipped { variant, why }));
            continue;
        }
        if let Some(why) = &row.refused {
            let why = format!("after {} of its runs: {why}", row.runs.len());
            outcome.skipped.push(Skipped { variant: variant.clone(), why });
        }
        let incomparable = (place > 0 && comparison.is_none()).then(|| incomparable(&row.runs, &baseline));
        let elapsed: Vec<f64> = row.runs.iter().filter(|run| run.failed.is_none()).map(|run| run.elapsed_s).collect();
        outcome.figures.push(CompareFigures {
            variant,
            settings: row.preparation.changes.iter().map(ToString::to_string).collect(),
            against: name.clone().filter(|_| place > 0),
            memory: options.memory,
            pool_percent: row.preparation.pool_percent,
            runs: row.runs,
            elapsed: median_interval(&elapsed),
            comparison,
            incomparable,
            resolution,
        });
    }
}

/// Why runs cannot be set against those of the first configuration.
fn incomparable(runs: &[CompareRun], baseline: &[CompareRun]) -> Incomparable {
    let has_ended = |runs: &[CompareRun]| runs.iter().any(|run| run.failed.is_none());
    match (has_ended(baseline), has_ended(runs)) {
        (false, true) => Incomparable::FirstNeverEnded,
        (true, false) => Incomparable::NeverEnded,
        (false, false) => Incomparable::NeitherEnded,
        (true, true) => Incomparable::TooFewEnded,
    }
}

/// How many runs failed, against those of the first configuration in the same blocks.
fn failures(runs: &[CompareRun], baseline: &[CompareRun]) -> Ordering {
    let counts = |runs: &[CompareRun], others: &[CompareRun]| {
        let in_both = |run: &&CompareRun| !run.again && others.iter().any(|other| !other.again && other.block == run.block);
        runs.iter().filter(in_both).filter(|run| run.failed.is_some()).count()
    };
    counts(runs, baseline).cmp(&counts(baseline, runs))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use swaptune_core::measurement::CompareVerdict;

    use super::*;
    use crate::space::SpaceWish;

    const BLOCKS: u32 = 12;

    fn options() -> CompareOptions {
        CompareOptions {
            command: Vec::new(),
            memory: None,
            limit: SpaceWish::Best,
            blocks: BLOCKS,
            delta: 0.03,
            drops_caches: false,
            folder: PathBuf::new(),
            seed: 1,
        }
    }

    fn run(block: u32, again: bool, seconds: f64, failed: bool) -> CompareRun {
        CompareRun {
            block,
            again,
            place: 0,
            elapsed_s: seconds,
            user_s: 0.0,
            system_s: 0.0,
            failed: failed.then(|| "killed (signal 9)".to_owned()),
            counts: Default::default(),
            bystander: None,
            timeline: Vec::new(),
        }
    }

    fn variant(name: &str) -> Variant {
        Variant { name: name.into(), algorithm: None, settings: None }
    }

    fn row(variant: &Variant, runs: Vec<CompareRun>) -> VariantRuns<'_> {
        VariantRuns { variant, preparation: Preparation::default(), runs, refused: None }
    }

    /// The first takes 100 s, the second `times` that; each fails in as many of its first blocks as is given.
    fn verdict(factor: f64, failed: [u32; 2]) -> CompareVerdict {
        let variants = [variant("none"), variant("other")];
        let mut first: Vec<CompareRun> = (0..BLOCKS).map(|block| run(block, false, 100.0, block < failed[0])).collect();
        first.extend((0..BLOCKS).map(|block| run(block, true, 100.0, false)));
        let second = (0..BLOCKS).map(|block| run(block, false, 100.0 * factor, block < failed[1])).collect();
        let mut outcome = VariantOutcome::default();
        finish(vec![row(&variants[0], first), row(&variants[1], second)], &options(), &mut outcome);
        outcome.figures[1].comparison.unwrap().verdict
    }

    #[test]
    fn what_is_refused_half_way_is_told_of_and_ends_it_where_nothing_is_left() {
        let variants = [variant("none"), variant("disk"), variant("zram")];
        let mut rows: Vec<VariantRuns<'_>> =
            variants.iter().map(|variant| row(variant, vec![run(0, false, 1.0, false)])).collect();
        rows[2].refused = Some("no room".into());
        assert_eq!(why_none_is_left(&rows), None);
        let mut outcome = VariantOutcome::default();
        rows[1].refused = Some("busy".into());
        assert_eq!(why_none_is_left(&rows).as_deref(), Some("disk: busy; zram: no room"));
        rows[1].refused = None;
        finish(rows, &options(), &mut outcome);
        assert_eq!((outcome.figures.len(), outcome.skipped.len()), (3, 1));
        assert_eq!(outcome.skipped[0].why, "after 1 of its runs: no room");
        let mut first = row(&variants[0], Vec::new());
        first.refused = Some("gone".into());
        let others = [first, row(&variants[1], Vec::new()), row(&variants[2], Vec::new())];
        assert_eq!(why_none_is_left(&others).as_deref(), Some("none: gone"), "all are set against it");
    }

    #[test]
    fn what_is_killed_more_often_is_not_better_for_the_runs_that_are_left() {
        use CompareVerdict::{Better, Equivalent, Inconclusive, Worse};
        assert_eq!([0.5, 1.0, 2.0].map(|factor| verdict(factor, [0, 0])), [Better, Equivalent, Worse]);
        assert_eq!([0.5, 1.0, 2.0].map(|factor| verdict(factor, [2, 2])), [Better, Equivalent, Worse]);
        assert_eq!([0.5, 1.0, 2.0].map(|factor| verdict(factor, [0, 1])), [Inconclusive, Inconclusive, Worse]);
        assert_eq!([0.5, 1.0, 2.0].map(|factor| verdict(factor, [1, 0])), [Better, Inconclusive, Inconclusive]);
    }

    #[test]
    fn a_configuration_without_a_ratio_says_which_of_both_never_ended() {
        let variants = [variant("none"), variant("other")];
        let told = |failed: [u32; 2]| {
            let runs = |failed: u32| (0..BLOCKS).map(|block| run(block, false, 1.0, block < failed)).collect();
            let mut outcome = VariantOutcome::default();
            let rows = vec![row(&variants[0], runs(failed[0])), row(&variants[1], runs(failed[1]))];
            finish(rows, &options(), &mut outcome);
            assert_eq!(outcome.figures[0].incomparable, None);
            outcome.figures[1].incomparable
        };
        assert_eq!(told([BLOCKS, 0]), Some(Incomparable::FirstNeverEnded));
        assert_eq!(told([0, BLOCKS]), Some(Incomparable::NeverEnded));
        assert_eq!(told([BLOCKS, BLOCKS]), Some(Incomparable::NeitherEnded));
        assert_eq!(told([BLOCKS - 1, 0]), Some(Incomparable::TooFewEnded));
        assert_eq!(told([0, 0]), None);
    }
}
