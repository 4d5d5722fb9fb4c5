//! Published figures beside ours.

use super::file::PublishedFile;
use super::{Point, ReportColumn, ScenarioError, SeedSpread, Sides, metric};

/// Published figures, as the scenario states them.
#[derive(Clone, Debug, PartialEq)]
pub struct Published {
    /// The metric that the figures are compared with.
    pub metric: &'static ReportColumn,
    /// What the figures are, with their unit.
    pub what: String,
    /// The tiering whose figure at the same point is 1; without one the largest figure of all is 1.
    pub relative_to: Option<String>,
    /// Of each tiering, one figure for each value of the sweep.
    pub figures: Vec<(String, Vec<f64>)>,
}

/// A published figure and ours.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishedFigure {
    /// The tiering.
    pub tiering: String,
    /// Index of the value of the sweep.
    pub value: usize,
    /// The figure as it was published.
    pub figure: f64,
    /// The same relative to its base.
    pub published: f64,
    /// Ours, relative to ours of the same base, over the seeds.
    pub ours: SeedSpread,
    /// On which side of the base ours is, seed by seed.
    pub sides: Sides,
}

/// Whether ours lies on the side of the base that was published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sign {
    /// With each seed.
    AsPublished,
    /// With no seed.
    Against,
    /// Ours is level with the base with each seed.
    Level,
    /// With some, or there are too few seeds to say.
    Undecided,
}

impl PublishedFigure {
    /// What the seeds say of the published sign; `None` of the base itself.
    #[must_use]
    pub fn sign(&self) -> Option<Sign> {
        let (seeds, with) = (self.sides.seeds(), self.sides.on_side_of(self.published));
        (self.published != 1.0).then_some(match with {
            _ if seeds < Sides::LEAST => Sign::Undecided,
            with if with == seeds => Sign::AsPublished,
            0 if self.sides.level == seeds => Sign::Level,
            0 => Sign::Against,
            _ => Sign::Undecided,
        })
    }

    /// The median of ours by theirs, less one.
    #[must_use]
    pub fn difference(&self) -> f64 {
        self.ours.median / self.published - 1.0
    }
}

impl Published {
    pub(super) fn new(file: PublishedFile, points: &[Point], seeds: usize) -> Result<Self, ScenarioError> {
        let metric = metric::named("published.metric", &file.metric)?;
        let names = || points.iter().flat_map(|point| &point.tierings).map(|tiering| tiering.name.as_str());
        let known = |key: &str, name: &str| match names().any(|known| known == name) {
            true => Ok(()),
            false => Err(ScenarioError::name(key, name, points[0].tierings.iter().map(|tiering| tiering.name.as_str()))),
        };
        for (name, figures) in &file.figures {
            known("published.figures", name)?;
            if figures.len() * seeds != points.len() || figures.iter().any(|figure| !(*figure > 0.0 && figure.is_finite())) {
                let found = format!("{} figures", figures.len());
                let expected = format!("{}, one for each value of the sweep, each above 0", points.len() / seeds);
                return Err(ScenarioError::key(format!("published.figures.{name}"), found, expected));
            }
        }
        if let Some(base) = &file.relative_to {
            known("published.relative-to", base)?;
            if !file.figures.contains_key(base) {
                return Err(ScenarioError::name("published.relative-to", base, file.figures.keys().map(String::as_str)));
            }
        }
        let figures = file.figures.into_iter().collect();
        Ok(Self { metric, what: file.what, relative_to: file.relative_to, figures })
    }

    /// Sets `ours`, the metric for a tiering at a value of the sweep with one of the seeds, beside each figure. Ratios are those within a
    /// seed.
    #[must_use]
    pub fn compare(&self, seeds: usize, ours: impl Fn(&str, usize, usize) -> Option<f64>) -> Vec<PublishedFigure> {
        let theirs = |tiering: &str, value: usize| {
            self.figures.iter().find(|(name, _)| name == tiering).and_then(|(_, figures)| figures.get(value).copied())
        };
        let relative = |of: &dyn Fn(&str, usize) -> Option<f64>, tiering: &str, value: usize| {
            let base = match &self.relative_to {
                Some(tiering) => of(tiering, value),
                None => self.each().filter_map(|(name, value)| of(name, value)).reduce(f64::max),
            };
            Some(of(tiering, value)? / base?)
        };
        let row = |(tiering, value): (&str, usize)| {
            let of_seed = |seed| relative(&|tiering, value| ours(tiering, value, seed), tiering, value);
            let ours: Vec<f64> = (0..seeds).filter_map(of_seed).collect();
            Some(PublishedFigure {
                tiering: tiering.to_owned(),
                value,
                figure: theirs(tiering, value)?,
                published: relative(&theirs, tiering, value)?,
                ours: SeedSpread::of(ours.iter().copied())?,
                sides: Sides::of(ours),
            })
        };
        self.each().filter_map(row).collect()
    }

    fn each(&self) -> impl Iterator<Item = (&str, usize)> {
        self.figures.iter().flat_map(|(name, figures)| (0..figures.len()).map(move |value| (name.as_str(), value)))
    }
}
