//! Looking at a work of the kernel's workqueues: trace events, in an instance of tracefs of our own.
//!
//! An instance has buffers and switches of its own, so that no other tracing is touched. It goes away with this process: its
//! folder has a guardian that removes it once our end of a pipe closes, even when we are killed. Should the guardian be killed too, the next
//! one that is made removes what is left.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use swaptune_core::parse::work_trace::{Runs, parse};
use thiserror::Error;

use crate::folder_guardian::FolderGuardian;
use crate::machine::Machine;

/// Where instances belong.
const INSTANCES: &str = "/sys/kernel/tracing/instances";
/// How names of ours begin.
const PREFIX: &str = "swaptune-";
/// Of each processor: so much that some ten thousand events fit. What comes first is overwritten.
const BUFFER_KIB: u32 = 8192;
const EVENTS: [&str; 3] = ["workqueue_queue_work", "workqueue_execute_start", "workqueue_execute_end"];

/// This kernel or machine does not let us look.
#[derive(Debug, Error)]
#[error("{path}: {source}")]
pub struct WorkTraceError {
    path: String,
    source: io::Error,
}

/// An instance that records what all works do. Dropped, it is removed.
#[derive(Debug)]
pub struct WorkTrace {
    folder: PathBuf,
    guardian: FolderGuardian,
}

impl WorkTrace {
    /// Begins to look.
    ///
    /// # Errors
    /// [`WorkTraceError`] where tracefs is not mounted, has no such events, or is not ours to write.
    pub fn start(machine: &Machine) -> Result<Self, WorkTraceError> {
        let failed = |path: &Path, source| WorkTraceError { path: path.display().to_string(), source };
        let instances = machine.resolve(INSTANCES).map_err(|error| failed(Path::new(INSTANCES), io::Error::other(error)))?;
        if !machine.is_live() {
            return Err(failed(&instances, io::Error::other("a folder runs no kernel")));
        }
        remove_leftovers(machine, &instances);
        let folder = instances.join(format!("{PREFIX}{}", std::process::id()));
        fs::create_dir(&folder).map_err(|source| failed(&folder, source))?;
        let guardian = FolderGuardian::start(&folder, None).map_err(|source| failed(&folder, source))?;
        let trace = Self { folder, guardian };
        // The usual clock is one of each processor, and a request comes from another than that which runs.
        trace.write("trace_clock", "mono")?;
        trace.write("buffer_size_kb", &BUFFER_KIB.to_string())?;
        EVENTS.iter().try_for_each(|event| trace.write(&format!("events/workqueue/{event}/enable"), "1"))?;
        Ok(trace)
    }

    /// When this function of the kernel ran since.
    ///
    /// # Errors
    /// [`WorkTraceError`].
    pub fn runs(&self, function: &str) -> Result<Runs, WorkTraceError> {
        self.write("tracing_on", "0")?;
        let path = self.folder.join("trace");
        // Names of processes are whatever they call themselves.
        let text = fs::read(&path).map_err(|source| WorkTraceError { path: path.display().to_string(), source })?;
        self.write("tracing_on", "1")?;
        Ok(parse(&String::from_utf8_lossy(&text), function))
    }

    fn write(&self, file: &str, text: &str) -> Result<(), WorkTraceError> {
        let path = self.folder.join(file);
        fs::write(&path, text).map_err(|source| WorkTraceError { path: path.display().to_string(), source })
    }
}

impl Drop for WorkTrace {
    fn drop(&mut self) {
        self.guardian.end();
    }
}

/// Removes instances of ours whose maker is gone.
fn remove_leftovers(machine: &Machine, instances: &Path) {
    for entry in fs::read_dir(instances).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let maker = name.strip_prefix(PREFIX).and_then(|pid| pid.parse::<u32>().ok());
        if maker.is_some_and(|pid| !machine.exists(&format!("/proc/{pid}"))) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_runs_no_kernel() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("sys/kernel/tracing/instances")).unwrap();
        assert!(WorkTrace::start(&Machine::at(root.path())).unwrap_err().to_string().ends_with("a folder runs no kernel"));
        assert!(WorkTrace::start(&Machine::at(root.path().join("none"))).is_err());
    }
}
