//! Scenarios: a machine, a workload and several tierings side by side, as a TOML text that explains itself.
//!
//! [`Scenario::read`] turns the text into [`Point`]s, one for each value of its sweep; a point has one workload and one
//! [`ModelSettings`] per tiering, and [`run()`] makes a [`TieringRun`] of both. Where the text states published figures, [`Published::compare`] sets
//! them beside ours. Nothing here opens a file or reads a clock: a scenario gives the same figures everywhere.

mod build;
mod error;
mod file;
mod fit;
mod grammar;
mod metric;
mod node;
mod published;
#[cfg(test)]
mod reproduction_tests;
mod run;
mod scale;
mod seeds;
mod sweep;
#[cfg(test)]
mod tests;
mod typed;
mod units;
mod upkeep;

use toml::{Table, Value};

pub use error::ScenarioError;
pub use file::{AreaSpec, BaseSpec, DeviceSpec, MachineSpec, ZswapSpec};
pub use fit::{Applications, Fit, FitLook, Search, Stopped};
pub use grammar::GRAMMAR;
pub use metric::{ColumnUnit, METRICS, ReportColumn};
pub use published::{Published, PublishedFigure, Sign};
pub use run::{DaemonDeeds, Play, TieringRun, WAKE_GAP, run, run_within};
pub use seeds::{SeedSpread, Sides, SignOfSeeds};
pub use sweep::Sweep;
pub use typed::Typed;
pub use units::Size;

use crate::generate::generate;
use crate::model::{ModelFigures, ModelSettings};
use crate::page_set::PageSet;
use file::ScenarioFile;

/// Where a workload comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum WorkloadSource {
    /// A generator with its parameters, as [`crate::generate::generate`] takes them.
    Generated(String),
    /// A trace file, as it is named in the scenario.
    Trace(String),
}

/// A way to arrange the tiers.
#[derive(Clone, Debug, PartialEq)]
pub struct Tiering {
    /// What the scenario calls it.
    pub name: String,
    /// The machine with it. Cgroups are those of the trace: [`run()`] repeats the one that stands here.
    pub settings: ModelSettings,
    /// Whether pages have the sizes that the scenario says, and not those of the trace.
    pub sizes_given: bool,
    /// Names of its devices, in the order of [`ModelSettings::devices`].
    pub devices: Vec<String>,
    /// That a daemon runs beside it, with what its configuration says: the keys of `[keep]`, which nothing here reads. [`run()`] knows of
    /// none; whoever has the laws of one plays with [`Play`].
    pub daemon: Option<Table>,
}

/// One value of the sweep with one seed; the only one where there is neither a sweep nor several seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The value, as it would be typed.
    pub at: Option<String>,
    /// The seed, where there are several.
    pub seed: Option<u64>,
    /// The workload.
    pub source: WorkloadSource,
    /// By how much it is smaller than what it stands for.
    pub scale: u32,
    /// What is compared.
    pub tierings: Vec<Tiering>,
}

/// A scenario, ready to run.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// What is compared, in one sentence.
    pub title: String,
    /// Where the question and the published figures come from; may be empty.
    pub source: String,
    /// What to know of the model's answer; may be empty.
    pub notes: String,
    /// The key of the sweep.
    pub key: Option<String>,
    /// For each value of the sweep one after another, one for each seed.
    pub points: Vec<Point>,
    /// Points of each value of the sweep.
    pub seeds: usize,
    /// The tiering by whose figures those of all others are also told, seed by seed.
    pub relative_to: Option<String>,
    /// What to report.
    pub report: Vec<&'static ReportColumn>,
    /// Published figures, one table for each metric.
    pub published: Vec<Published>,
}

/// What differs from the text.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Keys that have another value.
    pub set: Vec<(String, Value)>,
    /// A sweep instead of the text's own; published figures are left out then.
    pub sweep: Option<Sweep>,
    /// What to report instead of what the text says; empty for that.
    pub report: Vec<String>,
    /// Times of what the text names and does not describe.
    pub figures: ModelFigures,
    /// Adds to each tiering without a daemon the same one with it.
    pub daemon: bool,
}

/// What a scenario asks for and cannot fetch: nothing here opens a file.
pub trait Outside {
    /// The page set of this name.
    ///
    /// # Errors
    /// Why there is none.
    fn page_set(&self, name: &str) -> Result<PageSet, String>;

    /// How many pages a workload has: what shares of it are shares of.
    ///
    /// # Errors
    /// Why that is not known.
    fn pages(&self, source: &WorkloadSource) -> Result<u32, String>;
}

/// An outside without files: workloads are generated, and there are no page sets.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl Outside for NoFiles {
    fn page_set(&self, name: &str) -> Result<PageSet, String> {
        Err(format!("{name}: no files are read here"))
    }

    fn pages(&self, source: &WorkloadSource) -> Result<u32, String> {
        match source {
            WorkloadSource::Generated(spec) => generate(spec).map(|trace| trace.page_count()).map_err(|error| error.to_string()),
            WorkloadSource::Trace(name) => Err(format!("{name}: no files are read here")),
        }
    }
}

impl Scenario {
    /// Reads the text of a scenario.
    ///
    /// # Errors
    /// The first thing that is wrong, with its key.
    pub fn read(text: &str, changes: &Changes, outside: &dyn Outside) -> Result<Self, ScenarioError> {
        let document: Table = text.parse().map_err(|error: toml::de::Error| ScenarioError::Toml(error.to_string()))?;
        let set = |table: &mut Table| changes.set.iter().try_for_each(|(key, value)| sweep::put(table, key, value));
        let mut document = document;
        set(&mut document)?;
        Self::of(ScenarioFile::read(document)?, changes, outside)
    }

    /// The scenario that is typed in flags.
    ///
    /// # Errors
    /// The first thing that is wrong, with the flag or key.
    pub fn typed(typed: &Typed, changes: &Changes, outside: &dyn Outside) -> Result<Self, ScenarioError> {
        let file = typed.file()?.with(changes.set.iter().map(|(key, value)| (key.as_str(), value)))?;
        Self::of(file, changes, outside)
    }

    fn of(file: ScenarioFile, changes: &Changes, outside: &dyn Outside) -> Result<Self, ScenarioError> {
        let file = if changes.daemon { file.with_daemon() } else { file };
        let own = file.sweep.as_ref().map(|sweep| Sweep::of(&sweep.key, &sweep.values)).transpose()?;
        let swept_by_text = changes.sweep.is_none();
        let sweep = changes.sweep.clone().or(own);
        let values: Vec<Option<Value>> =
            sweep.as_ref().map_or(vec![None], |sweep| sweep.values.iter().cloned().map(Some).collect());
        if sweep.as_ref().is_some_and(|sweep| sweep.key == "seeds") {
            return Err(ScenarioError::key("sweep", "`seeds`", format!("`{}`, or seeds for each value: seeds = 5", seeds::KEY)));
        }
        // Whoever sweeps the seed looks at each by itself.
        let by_hand = sweep.as_ref().is_some_and(|sweep| sweep.key == seeds::KEY);
        let mut points = Vec::new();
        for value in &values {
            let at = value.as_ref().map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
            let mut file = file.with(sweep.iter().map(|sweep| sweep.key.as_str()).zip(value))?;
            for seed in if by_hand { vec![None] } else { seeds::each(&file)? } {
                seed.into_iter().for_each(|seed| seeds::put(&mut file, seed));
                points.push(Point { seed, ..build::point(&file, at.clone(), outside, &changes.figures)? });
            }
        }
        let seeds = points.len() / values.len();
        let published = file.published.iter().filter(|_| swept_by_text).cloned();
        let published = published.map(|published| Published::new(published, &points, seeds)).collect::<Result<_, _>>()?;
        let relative_to = relative_to(file.relative_to, &points)?;
        let report = metric::chosen(if changes.report.is_empty() { &file.report } else { &changes.report })?;
        let key = sweep.map(|sweep| sweep.key);
        Ok(Self { title: file.title, source: file.source, notes: file.notes, key, points, seeds, relative_to, report, published })
    }
}

/// The tiering of this name, if one is wanted.
fn relative_to(name: Option<String>, points: &[Point]) -> Result<Option<String>, ScenarioError> {
    let names = || points.first().into_iter().flat_map(|point| &point.tierings).map(|tiering| tiering.name.as_str());
    match name {
        Some(name) if names().all(|known| known != name) => Err(ScenarioError::name("relative-to", &name, names())),
        name => Ok(name),
    }
}
