//! The order of measuring: what is compared runs in turn, round for round, so that what disturbs one disturbs the other.

use std::time::Duration;

use swaptune_core::Bytes;
use swaptune_core::measurement::{DiskFigures, Measurement, ResultFigures};
use thiserror::Error;

use super::area::LoadedArea;
use super::fio::{self, Fio, FioError};
use super::identity::identities;
use super::layout::{self, AreaLayout, CandidateArea};
use super::output::{DirectionFigures, FioOutcome};
use super::shapes::{FILL, SHAPES, Shape};
use crate::results::{ResultRecorder, StoreError};

/// What is wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct DiskOptions {
    /// Numbers of jobs.
    pub jobs: Vec<u32>,
    /// Length of one round of one point.
    pub time: Duration,
    /// Rounds of each point.
    pub rounds: u32,
    /// What each load is spread over.
    pub size: Bytes,
}

/// An area and where it comes from.
#[derive(Debug)]
pub struct Placed {
    /// The area.
    pub area: LoadedArea,
    /// Which folder or device, counted from 0.
    pub place: usize,
    /// True for a part of a folder's space, see [`CandidateArea`].
    pub is_part: bool,
}

impl Placed {
    /// The same for the choice of layouts, when every load begins at `offset`.
    fn candidate(&self, offset: Bytes) -> CandidateArea {
        let (place, disks, is_part) = (self.place, self.area.disks.clone(), self.is_part);
        let end = self.area.offset.0.saturating_add(self.area.room.0);
        CandidateArea { place, disks, room: Bytes(end.saturating_sub(offset.0)), is_part }
    }
}

/// Why it ended early.
#[derive(Debug, Error)]
pub enum DiskError {
    /// fio.
    #[error("{what}: {source}")]
    Fio {
        /// What was measured.
        what: String,
        /// What went wrong.
        source: FioError,
    },
    /// The areas are too small to be measured.
    #[error("{0} is too little to measure: at least 4 MiB are needed")]
    Small(Bytes),
    /// The result could not be kept.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// One group of points that are compared: a load with a number of jobs, on several layouts.
#[derive(Debug)]
struct PointGroup<'a> {
    shape: &'a Shape,
    jobs: u32,
    layouts: Vec<&'a AreaLayout>,
}

/// A benchmark of areas, ready to run.
#[derive(Debug)]
pub struct DiskBench<'a> {
    areas: &'a [Placed],
    options: &'a DiskOptions,
    layouts: Vec<AreaLayout>,
    /// Where loads begin in every area: behind the header of a swap area, if there is one.
    offset: Bytes,
    size: Bytes,
}

impl<'a> DiskBench<'a> {
    /// Decides what is measured together.
    ///
    /// # Errors
    /// [`DiskError::Small`].
    pub fn new(areas: &'a [Placed], options: &'a DiskOptions) -> Result<Self, DiskError> {
        let offset = areas.iter().map(|placed| placed.area.offset).max().unwrap_or_default();
        let candidates: Vec<CandidateArea> = areas.iter().map(|placed| placed.candidate(offset)).collect();
        let layouts = layout::layouts(&candidates);
        let size = layout::common_size(&candidates, &layouts, options.size);
        let bench = Self { areas, options, layouts, offset, size };
        if size < Bytes::from_mib(4) { Err(DiskError::Small(size)) } else { Ok(bench) }
    }

    /// What each load is spread over.
    #[must_use]
    pub fn size(&self) -> Bytes {
        self.size
    }

    /// How often fio runs, without filling.
    #[must_use]
    pub fn runs(&self) -> u32 {
        let groups = self.groups();
        groups.iter().map(|group| group.layouts.len() as u32 * self.options.rounds).sum()
    }

    /// Fills every area, then measures every point and records it; `step` is told before each run of fio how many are done.
    ///
    /// # Errors
    /// [`DiskError`]; what was measured before it is recorded.
    pub fn run(
        &self,
        fio: &mut Fio,
        recorder: &mut ResultRecorder<'_>,
        step: &mut dyn FnMut(u32, &str),
    ) -> Result<Vec<Measurement>, DiskError> {
        for placed in self.areas {
            step(0, &format!("filling {}", placed.area.name));
            fio.settle(&self.filling(placed))
                .map_err(|source| DiskError::Fio { what: format!("filling {}", placed.area.name), source })?;
        }
        let mut done = 0;
        let mut rows = Vec::new();
        for group in self.groups() {
            for figures in self.group(&group, fio, &mut |what| {
                step(done, what);
                done += 1;
            })? {
                let identities = identities(recorder.machine(), &figures.disks);
                let figures = DiskFigures { identities, ..figures };
                rows.push(recorder.record(ResultFigures::Disk(figures))?);
            }
        }
        Ok(rows)
    }

    fn groups(&self) -> Vec<PointGroup<'_>> {
        let sweep = |shape: &Shape| if shape.sweeps { self.options.jobs.clone() } else { vec![1] };
        let layouts = |shape: &Shape| self.layouts.iter().filter(|layout| shape.compares || layout.areas.len() == 1).collect();
        let group = |shape| sweep(shape).into_iter().map(move |jobs| PointGroup { shape, jobs, layouts: layouts(shape) });
        SHAPES.iter().flat_map(group).collect()
    }

    /// Every layout once in each round; every other round the other way round.
    fn group(&self, group: &PointGroup<'_>, fio: &Fio, step: &mut dyn FnMut(&str)) -> Result<Vec<DiskFigures>, DiskError> {
        let mut outcomes: Vec<Vec<FioOutcome>> = vec![Vec::new(); group.layouts.len()];
        for round in 0..self.options.rounds {
            for turn in 0..group.layouts.len() {
                let index = if round % 2 == 0 { turn } else { group.layouts.len() - 1 - turn };
                let layout = group.layouts[index];
                let (areas, disks) = (count(layout.areas.len(), "area"), layout.disks.join("+"));
                let what = format!("{}, {} on {areas} of {disks}", group.shape.what, count(group.jobs as usize, "job"));
                step(&what);
                let placed: Vec<&Placed> = layout.areas.iter().map(|area| &self.areas[*area]).collect();
                let outcome = fio.run(&self.load(group, &placed));
                outcomes[index].push(outcome.map_err(|source| DiskError::Fio { what, source })?);
            }
        }
        Ok(group.layouts.iter().zip(&outcomes).map(|(layout, outcomes)| self.figures(group, layout, outcomes, fio)).collect())
    }

    fn load(&self, group: &PointGroup<'_>, areas: &[&Placed]) -> fio::FioLoad<'static> {
        let places = areas.iter().map(|placed| placed.area.path()).collect();
        let (template, time) = (group.shape.template, self.options.time);
        fio::FioLoad { template, places, offset: self.offset, size: self.size, jobs: group.jobs, time }
    }

    /// Everything of one area that a load may touch; all that comes before it too where the device is given up.
    fn filling(&self, placed: &Placed) -> fio::FioLoad<'static> {
        let area = &placed.area;
        let before = self.offset.0.saturating_sub(area.offset.0);
        let size = Bytes(area.room.0.min(self.size.0.saturating_add(before)));
        fio::FioLoad { template: FILL, places: vec![area.path()], offset: area.offset, size, jobs: 1, time: self.options.time }
    }

    fn figures(&self, group: &PointGroup<'_>, layout: &AreaLayout, outcomes: &[FioOutcome], fio: &Fio) -> DiskFigures {
        let side = |of: fn(&FioOutcome) -> Option<&DirectionFigures>| {
            DirectionFigures::figures(&outcomes.iter().filter_map(of).collect::<Vec<_>>())
        };
        DiskFigures {
            disks: layout.disks.clone(),
            identities: Vec::new(),
            places: layout.areas.iter().map(|area| self.areas[*area].area.name.clone()).collect(),
            shape: group.shape.shape,
            jobs: group.jobs,
            size: self.size,
            seconds: self.options.time.as_secs_f64(),
            engine: if group.shape.is_deep { fio.engine.to_owned() } else { "psync".into() },
            rounds: outcomes.iter().map(FioOutcome::iops).collect(),
            read: side(|outcome| outcome.read.as_ref()),
            write: side(|outcome| outcome.write.as_ref()),
        }
    }
}

fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}
