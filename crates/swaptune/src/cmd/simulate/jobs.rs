//! Runs of the model on all cores.

use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;

use swaptune_bench::keep;
use swaptune_core::control::Wishes;
use swaptune_core::settings::read_toml;
use swaptune_tiers::scenario::{Point, Tiering, TieringRun, run};
use swaptune_tiers::trace::Trace;
use toml::{Table, Value};

use super::traces::Traces;
use crate::output::progress::ProgressLine;

/// One tiering at one point of one scenario.
pub struct ScenarioJob<'a> {
    /// Folder that paths of the workload are relative to.
    pub folder: &'a Path,
    /// The point.
    pub point: &'a Point,
    /// One of its tierings.
    pub tiering: &'a Tiering,
}

/// What became of each job. A job is a function of its scenario, so that neither their order nor the number of threads matters.
pub fn work(jobs: &[ScenarioJob], traces: &Traces, threads: Option<u16>, what: &str) -> Vec<Result<TieringRun, String>> {
    let done: Vec<OnceLock<Result<TieringRun, String>>> = jobs.iter().map(|_| OnceLock::new()).collect();
    let waiting: Vec<AtomicUsize> = jobs.iter().map(|job| AtomicUsize::new(sharing(jobs, job).count())).collect();
    let (next, finished, progress) = (AtomicUsize::new(0), AtomicUsize::new(0), ProgressLine::start());
    let worker = || {
        while let Some(index) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|index| *index < jobs.len()) {
            let job = &jobs[index];
            progress.show(&format!("{what}{}", job.tiering.name), finished.load(Ordering::Relaxed), jobs.len());
            done[index].get_or_init(|| {
                let trace = traces.get(job.folder, &job.point.source)?;
                alone_or_kept(job, &trace).map_err(|error| format!("tiering `{}`: {error}", job.tiering.name))
            });
            let first = sharing(jobs, job).next().unwrap_or(index);
            if waiting[first].fetch_sub(1, Ordering::AcqRel) == 1 {
                traces.forget(job.folder, &job.point.source);
            }
            finished.fetch_add(1, Ordering::Relaxed);
        }
    };
    let usual = || available_parallelism().map_or(1, usize::from);
    let threads = threads.map_or_else(usual, usize::from).min(jobs.len());
    std::thread::scope(|scope| (0..threads).for_each(|_| _ = scope.spawn(worker)));
    done.into_iter().map(|run| run.into_inner().unwrap_or_else(|| Err("it was not run".into()))).collect()
}

/// Where the tiering has a daemon, with that beside it.
fn alone_or_kept(job: &ScenarioJob, trace: &Trace) -> Result<TieringRun, String> {
    let run = match &job.tiering.daemon {
        Some(keys) => keep::run(job.tiering, trace, job.point.scale, wishes(keys)?),
        None => run(job.tiering, trace),
    };
    run.map_err(|error| error.to_string())
}

/// What its keys ask of a daemon: they are those of `[keep]` in a configuration.
fn wishes(keys: &Table) -> Result<Wishes, String> {
    let text = Table::from_iter([("keep".to_owned(), Value::Table(keys.clone()))]).to_string();
    let settings = read_toml("daemon", &text, None).map_err(|error| error.to_string())?;
    Ok(settings.keep.wishes())
}

/// Indices of the jobs with the same workload.
fn sharing<'a>(jobs: &'a [ScenarioJob], of: &'a ScenarioJob) -> impl Iterator<Item = usize> + 'a {
    let same = |job: &ScenarioJob| job.folder == of.folder && job.point.source == of.point.source;
    jobs.iter().enumerate().filter(move |(_, job)| same(job)).map(|(index, _)| index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_a_daemon_are_those_of_a_configuration() {
        let read = |text: &str| wishes(&text.parse().unwrap());
        let given = read("limit = true\nreclaim_idle_s = 30\npacing_chunk = \"16M\"").unwrap();
        assert!(given.wanted.limit && given.wanted.pacing);
        assert_eq!((given.figures.reclaim_idle_s, given.figures.pacing_chunk), (30, 16 << 20));
        assert_eq!(read("").unwrap(), Wishes::default());
        let wrong = read("reclaim_idle = 30").unwrap_err();
        assert!(wrong.contains("did you mean `reclaim_idle_s`?"), "{wrong}");
    }
}
