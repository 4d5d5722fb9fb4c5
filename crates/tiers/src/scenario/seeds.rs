//! The same question with several seeds, and what figures of them say together.

use toml::Value;

use super::ScenarioError;
use super::file::ScenarioFile;
use crate::generate::{GENERATORS, number};

/// The key that seeds are values of.
pub(super) const KEY: &str = "workload.with.seed";
/// The same, as the generator has it.
const PARAMETER: &str = "seed";
/// Most seeds of a scenario.
const MOST: u32 = 1000;

/// A figure over seeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeedSpread {
    /// Half of the seeds have no less and half no more.
    pub median: f64,
    /// The smallest.
    pub least: f64,
    /// The largest.
    pub most: f64,
}

impl SeedSpread {
    /// Of figures in any order; `None` of none. Between two middle ones the median is their mean.
    #[must_use]
    pub fn of(figures: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut figures: Vec<f64> = figures.into_iter().collect();
        figures.sort_unstable_by(f64::total_cmp);
        let (least, most) = (*figures.first()?, *figures.last()?);
        let middle = figures.len() / 2;
        let median = if figures.len() % 2 == 1 { figures[middle] } else { f64::midpoint(figures[middle - 1], figures[middle]) };
        Some(Self { median, least, most })
    }
}

/// On which side of 1 a ratio lies, seed by seed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sides {
    /// Seeds with which it is below 1.
    pub below: usize,
    /// Seeds with which it is exactly 1.
    pub level: usize,
    /// Seeds with which it is above 1.
    pub above: usize,
}

/// What seeds say of a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SignOfSeeds {
    /// Below 1 with each seed.
    Below,
    /// 1 with each seed.
    Level,
    /// Above 1 with each seed.
    Above,
    /// Seeds differ, or there are too few of them to say.
    Undecided,
}

impl Sides {
    /// Seeds without which no sign is decided.
    pub const LEAST: usize = 5;

    /// Of ratios, one for each seed.
    #[must_use]
    pub fn of(ratios: impl IntoIterator<Item = f64>) -> Self {
        let mut sides = Self::default();
        for ratio in ratios {
            match ratio.total_cmp(&1.0) {
                std::cmp::Ordering::Less => sides.below += 1,
                std::cmp::Ordering::Equal => sides.level += 1,
                std::cmp::Ordering::Greater => sides.above += 1,
            }
        }
        sides
    }

    /// How many seeds there are.
    #[must_use]
    pub const fn seeds(&self) -> usize {
        self.below + self.level + self.above
    }

    /// The sign, if all seeds have the same and there are [`Sides::LEAST`] of them.
    #[must_use]
    pub const fn side(&self) -> SignOfSeeds {
        let seeds = self.seeds();
        match () {
            () if seeds < Self::LEAST => SignOfSeeds::Undecided,
            () if self.below == seeds => SignOfSeeds::Below,
            () if self.level == seeds => SignOfSeeds::Level,
            () if self.above == seeds => SignOfSeeds::Above,
            () => SignOfSeeds::Undecided,
        }
    }

    /// Of how many seeds the ratio is on the side on which this figure is.
    #[must_use]
    pub fn on_side_of(&self, figure: f64) -> usize {
        match figure.total_cmp(&1.0) {
            std::cmp::Ordering::Less => self.below,
            std::cmp::Ordering::Equal => self.level,
            std::cmp::Ordering::Greater => self.above,
        }
    }
}

/// Seeds that a file asks for: the one that its workload has and those after it. `None` alone leaves the workload as it is.
///
/// # Errors
/// When their number is none, or the workload has no seed.
pub(super) fn each(file: &ScenarioFile) -> Result<Vec<Option<u64>>, ScenarioError> {
    if !(1..=MOST).contains(&file.seeds) {
        return Err(ScenarioError::key("seeds", file.seeds, format!("a number from 1 to {MOST}")));
    }
    if file.seeds == 1 {
        return Ok(vec![None]);
    }
    let Some(name) = &file.workload.generator else {
        return Err(ScenarioError::key("seeds", file.seeds, "1 with workload.trace: a trace has no seed"));
    };
    let given =
        file.workload.parameters.get(PARAMETER).map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    let row = GENERATORS.iter().find(|row| row.name == name);
    let usual = || row.and_then(|row| row.parameters.iter().find(|row| row.name == PARAMETER)).map(|row| row.default.to_owned());
    let text = given.or_else(usual).unwrap_or_default();
    let whole = number(&text).filter(|seed| seed.fract() == 0.0 && (0.0..9e15).contains(seed));
    let first = whole.ok_or_else(|| ScenarioError::key(KEY, text, "a whole number"))? as u64;
    Ok((first..first + u64::from(file.seeds)).map(Some).collect())
}

/// The file with this seed.
pub(super) fn put(file: &mut ScenarioFile, seed: u64) {
    file.workload.parameters.insert(PARAMETER.to_owned(), Value::Integer(seed as i64));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_that_flips_or_has_few_seeds_is_undecided() {
        let of = |ratios: &[f64]| Sides::of(ratios.iter().copied());
        assert_eq!(of(&[0.9, 0.99, 0.5, 0.1, 0.7]).side(), SignOfSeeds::Below);
        assert_eq!(of(&[1.1; 9]).side(), SignOfSeeds::Above);
        assert_eq!(of(&[1.0; 5]).side(), SignOfSeeds::Level);
        assert_eq!(of(&[0.9, 0.9, 0.9, 0.9, 1.001]).side(), SignOfSeeds::Undecided);
        assert_eq!(of(&[0.9, 0.9, 0.9, 0.9, 1.0]).side(), SignOfSeeds::Undecided, "level is no sign");
        assert_eq!(of(&[0.9; 4]).side(), SignOfSeeds::Undecided, "too few");
        let mixed = of(&[0.9, 1.1, 1.2]);
        assert_eq!((mixed.on_side_of(0.5), mixed.on_side_of(2.0), mixed.seeds()), (1, 2, 3));
    }

    #[test]
    fn a_median_is_in_the_middle_and_the_ends_are_told() {
        let spread =
            |figures: &[f64]| SeedSpread::of(figures.iter().copied()).map(|spread| (spread.median, spread.least, spread.most));
        assert_eq!(spread(&[3.0, 1.0, 9.0]), Some((3.0, 1.0, 9.0)));
        assert_eq!(spread(&[4.0, 1.0, 9.0, 2.0]), Some((3.0, 1.0, 9.0)));
        assert_eq!((spread(&[7.0]), spread(&[])), (Some((7.0, 7.0, 7.0)), None));
    }
}
