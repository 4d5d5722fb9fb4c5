//! `swaptune bench disk`: chooses the areas, runs the loads, prints the table.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use swaptune_bench::disk::{DiskBench, DiskError, DiskOptions, Fio, FioError, LoadedArea, PlaceError, Placed};
use swaptune_core::facts::SwapKind;
use swaptune_core::measurement::{DiskFigures, Measurement, ResultFigures};
use swaptune_core::{Bytes, Facts};
use swaptune_host::inspect::{self, InspectScope};

use super::recorder;
use crate::cli::{DiskArgs, ResultsArgs};
use crate::cmd::Context;
use crate::failure::{FINDINGS, Failure, REFUSED, USAGE};
use crate::output::disk::DiskReport;
use crate::output::progress::ProgressLine;
use crate::output::{self, text};

/// A cluster of swap slots: areas are whole ones.
const CLUSTER: u64 = 2 << 20;

/// Measures each disk that was asked for, and keeps the results.
pub fn run(context: &Context, results: &ResultsArgs, args: &DiskArgs) -> Result<u8, Failure> {
    super::needs_live(context)?;
    let mut fio = Fio::find()?;
    let facts = inspect::inspect(&context.machine, InspectScope::STATUS);
    let areas = areas(context, &facts, args)?;
    let time = Duration::from_secs_f64(args.seconds);
    let options = DiskOptions { jobs: args.jobs.clone(), time, rounds: args.rounds, size: args.size.0 };
    let bench = DiskBench::new(&areas, &options)?;
    let mut recorder = recorder(context, results, &command(args, &facts))?;
    let (runs, seconds) = (bench.runs(), f64::from(bench.runs()) * args.seconds);
    output::message(&format!("{} of fio on {}, about {seconds:.0} s", text::count(runs as usize, "run"), bench.size()));
    let progress = ProgressLine::start();
    let measured = bench.run(&mut fio, &mut recorder, &mut |done, what| progress.show(what, done as usize, runs as usize));
    drop(progress);
    let measured = measured?;
    let rows: Vec<&DiskFigures> = measured.iter().filter_map(figures).collect();
    let began = measured.first().map(|first| first.conditions.clone()).unwrap_or_default();
    let report = DiskReport::new(&rows, &began, args.p99);
    if context.json {
        output::json_versioned(&DiskOutput { fio: &fio.version, measurements: &measured, report: &report })?;
    } else {
        output::data(&report.text(&fio.version, &facts))?;
    }
    Ok(0)
}

#[derive(Serialize)]
struct DiskOutput<'a> {
    fio: &'a str,
    measurements: &'a [Measurement],
    #[serde(flatten)]
    report: &'a DiskReport<'a>,
}

fn figures(measurement: &Measurement) -> Option<&DiskFigures> {
    if let ResultFigures::Disk(disk) = &measurement.figures { Some(disk) } else { None }
}

/// Opens everything that is to be measured.
fn areas(context: &Context, facts: &Facts, args: &DiskArgs) -> Result<Vec<Placed>, PlaceError> {
    let mut found = Vec::new();
    let mut place = 0;
    for (devices, give_up) in [(&args.device, false), (&args.wipe, true)] {
        for path in devices {
            found.push(Placed { area: LoadedArea::device(facts, path, give_up)?, place, is_part: false });
            place += 1;
        }
    }
    for dir in folders(args, facts) {
        let scratch = LoadedArea::scratch(&context.machine, facts, &dir, &sizes(args.size.0, args.areas))?;
        found.extend(scratch.into_iter().enumerate().map(|(index, area)| Placed { area, place, is_part: index > 0 }));
        place += 1;
    }
    Ok(found)
}

/// One file as large as all parts together, and the parts.
fn sizes(size: Bytes, areas: u32) -> Vec<Bytes> {
    let part = (size.0 / u64::from(areas)).next_multiple_of(CLUSTER);
    let parts = if areas > 1 { areas as usize } else { 0 };
    std::iter::once(Bytes(size.0.next_multiple_of(CLUSTER))).chain(std::iter::repeat_n(Bytes(part), parts)).collect()
}

/// The folders that were named; where nothing was, the one of a swap file, else /var/tmp.
fn folders(args: &DiskArgs, facts: &Facts) -> Vec<PathBuf> {
    if !(args.dir.is_empty() && args.device.is_empty() && args.wipe.is_empty()) {
        return args.dir.clone();
    }
    let file = facts.swaps.iter().find(|area| area.kind == SwapKind::File);
    let folder = file.and_then(|area| Path::new(&area.path).parent());
    vec![folder.map_or_else(|| PathBuf::from("/var/tmp"), Path::to_owned)]
}

/// What to type to measure it again.
fn command(args: &DiskArgs, facts: &Facts) -> String {
    let mut words = vec!["swaptune bench disk".to_owned()];
    words.extend(folders(args, facts).iter().map(|dir| format!("--dir {}", dir.display())));
    words.extend(args.device.iter().map(|device| format!("--device {device}")));
    words.extend(args.wipe.iter().map(|device| format!("--wipe {device}")));
    let jobs: Vec<String> = args.jobs.iter().map(u32::to_string).collect();
    words.push(format!("--areas {} --jobs {} --seconds {}", args.areas, jobs.join(","), args.seconds));
    words.push(format!("--rounds {} --size {}", args.rounds, args.size));
    words.join(" ")
}

impl From<PlaceError> for Failure {
    fn from(error: PlaceError) -> Self {
        let code = match error {
            PlaceError::NoDevice(_) => USAGE,
            PlaceError::Io { .. } => FINDINGS,
            _ => REFUSED,
        };
        Self::new(code, &error).hint(error.hint())
    }
}

impl From<FioError> for Failure {
    fn from(error: FioError) -> Self {
        let hint = match error {
            FioError::Missing | FioError::Old(_) => super::install("fio", "fio", "fio", "fio"),
            _ => String::new(),
        };
        Self::new(FINDINGS, error).hint(hint)
    }
}

impl From<DiskError> for Failure {
    fn from(error: DiskError) -> Self {
        match error {
            DiskError::Store(error) => error.into(),
            DiskError::Small(_) => Self::new(USAGE, error).hint("choose a larger --size or device"),
            DiskError::Fio { .. } => {
                Self::new(FINDINGS, error).hint("what was measured before it is kept: `swaptune bench show`")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_whole_clusters_that_hold_the_size() {
        let mib = |sizes: Vec<Bytes>| sizes.iter().map(|size| size.mib()).collect::<Vec<_>>();
        assert_eq!(mib(sizes(Bytes::from_gib(1), 4)), [1024, 256, 256, 256, 256]);
        assert_eq!(mib(sizes(Bytes::from_mib(64), 3)), [64, 22, 22, 22]);
        assert_eq!(mib(sizes(Bytes::from_mib(63), 1)), [64]);
    }
}
