//! Published figures beside ours.

use super::file::PublishedFile;
use super::{Metric, Point, ScenarioError, metric};

/// What somebody measured, as the scenario states it.
#[derive(Clone, Debug, PartialEq)]
pub struct Published {
    /// The metric that the figures are compared with.
    pub metric: &'static Metric,
    /// What the figures are, with their unit.
    pub what: String,
    /// The tiering whose figure at the same point is 1; without one the largest figure of all is 1.
    pub relative_to: Option<String>,
    /// Of each tiering, one figure for each point.
    pub figures: Vec<(String, Vec<f64>)>,
}

/// A published figure and ours.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The tiering.
    pub tiering: String,
    /// Index of the point.
    pub point: usize,
    /// The figure as it was published.
    pub figure: f64,
    /// The same relative to its base.
    pub published: f64,
    /// Ours, relative to ours of the same base.
    pub ours: f64,
}

impl Comparison {
    /// Ours by theirs, less one.
    #[must_use]
    pub fn difference(&self) -> f64 {
        self.ours / self.published - 1.0
    }
}

impl Published {
    pub(super) fn new(file: PublishedFile, points: &[Point]) -> Result<Self, ScenarioError> {
        let metric = metric::named("published.metric", &file.metric)?;
        let names = || points.iter().flat_map(|point| &point.tierings).map(|tiering| tiering.name.as_str());
        let known = |key: &str, name: &str| match names().any(|known| known == name) {
            true => Ok(()),
            false => Err(ScenarioError::name(key, name, points[0].tierings.iter().map(|tiering| tiering.name.as_str()))),
        };
        for (name, figures) in &file.figures {
            known("published.figures", name)?;
            if figures.len() != points.len() || figures.iter().any(|figure| !(*figure > 0.0 && figure.is_finite())) {
                let found = format!("{} figures", figures.len());
                let expected = format!("{}, one for each point, each above 0", points.len());
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

    /// Sets `ours`, the value of the metric for a tiering at a point, beside each figure.
    #[must_use]
    pub fn compare(&self, ours: impl Fn(&str, usize) -> Option<f64>) -> Vec<Comparison> {
        let theirs = |tiering: &str, point: usize| {
            self.figures.iter().find(|(name, _)| name == tiering).and_then(|(_, figures)| figures.get(point).copied())
        };
        let base = |of: &dyn Fn(&str, usize) -> Option<f64>, point: usize| match &self.relative_to {
            Some(tiering) => of(tiering, point),
            None => self.each().filter_map(|(name, point)| of(name, point)).reduce(f64::max),
        };
        let mut out = Vec::new();
        for (tiering, point) in self.each() {
            let (Some(figure), Some(our)) = (theirs(tiering, point), ours(tiering, point)) else { continue };
            let (Some(their_base), Some(our_base)) = (base(&theirs, point), base(&ours, point)) else { continue };
            let (published, ours) = (figure / their_base, our / our_base);
            out.push(Comparison { tiering: tiering.to_owned(), point, figure, published, ours });
        }
        out
    }

    fn each(&self) -> impl Iterator<Item = (&str, usize)> {
        self.figures.iter().flat_map(|(name, figures)| (0..figures.len()).map(move |point| (name.as_str(), point)))
    }
}
