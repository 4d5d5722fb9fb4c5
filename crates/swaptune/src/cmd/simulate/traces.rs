//! What scenarios refer to: page sets, and traces, each made or read once and kept until its last run has ended.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use swaptune_tiers::generate::generate_at_most;
use swaptune_tiers::page_set::PageSet;
use swaptune_tiers::scenario::{Outside, WorkloadSource};
use swaptune_tiers::trace::{KeptColumns, Trace, TraceReading, read_at_most};

use super::trace_file;

/// A folder and a workload that is named in it.
type Key = (PathBuf, WorkloadSource);
type MadeTrace = Arc<OnceLock<Result<Arc<Trace>, String>>>;

/// Traces by where they come from.
#[derive(Default)]
pub struct Traces(Mutex<HashMap<Key, MadeTrace>>);

impl Traces {
    /// The trace of a workload; the first call makes it.
    pub fn get(&self, folder: &Path, source: &WorkloadSource) -> Result<Arc<Trace>, String> {
        let made = Arc::clone(self.map().entry((folder.to_owned(), source.clone())).or_default());
        made.get_or_init(|| make(folder, source).map(Arc::new)).clone()
    }

    /// Keeps a trace that was read already.
    pub fn put(&self, folder: &Path, source: &WorkloadSource, trace: Trace) {
        let made = OnceLock::from(Ok(Arc::new(trace)));
        self.map().insert((folder.to_owned(), source.clone()), Arc::new(made));
    }

    /// Frees a trace after its last run.
    pub fn forget(&self, folder: &Path, source: &WorkloadSource) {
        self.map().remove(&(folder.to_owned(), source.clone()));
    }

    fn map(&self) -> std::sync::MutexGuard<'_, HashMap<Key, MadeTrace>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn make(folder: &Path, source: &WorkloadSource) -> Result<Trace, String> {
    match source {
        WorkloadSource::Generated(spec) => generate_at_most(spec, trace_file::events_max()).map_err(|error| error.to_string()),
        WorkloadSource::Trace(name) => {
            let file = trace_file::open(&folder.join(name)).map_err(|error| format!("{name}: {error}"))?;
            let reading = TraceReading { format: None, layout: None, keep: KeptColumns::Everything };
            read_at_most(file, &reading, trace_file::events_max()).map_err(|error| format!("{name}: {error}"))
        }
    }
}

/// Files beside a scenario.
pub struct TraceFiles<'a> {
    /// Its folder.
    pub folder: &'a Path,
    /// The traces of all scenarios.
    pub traces: &'a Traces,
}

impl Outside for TraceFiles<'_> {
    fn page_set(&self, name: &str) -> Result<PageSet, String> {
        let text = fs::read_to_string(self.folder.join(name)).map_err(|error| format!("{name}: {error}"))?;
        PageSet::from_json(&text).map_err(|error| format!("{name}: {error}"))
    }

    fn pages(&self, source: &WorkloadSource) -> Result<u32, String> {
        self.traces.get(self.folder, source).map(|trace| trace.page_count())
    }
}
