//! Looking at a work of the running kernel. Needs tracefs, and that it is ours to write; is ignored by name otherwise.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use swaptune_host::machine::Machine;
use swaptune_host::work_trace::WorkTrace;
use swaptune_trials::{TestResult, lacks, run, trials};

fn main() -> ExitCode {
    run(trials![what_is_looked_at_runs_and_no_instance_is_left])
}

fn what_is_looked_at_runs_and_no_instance_is_left() -> TestResult {
    let trace = WorkTrace::start(&Machine::live()).or_else(|why| lacks(why.to_string()))?;
    let folder = PathBuf::from(format!("/sys/kernel/tracing/instances/swaptune-{}", std::process::id()));
    assert!(folder.exists());
    // Reading it makes each processor fold its counts, as a work.
    fs::read("/proc/sys/vm/stat_refresh")?;
    let looked = trace.runs("refresh_vm_stats")?;
    assert!(!looked.waits.is_empty() && !looked.runs.is_empty(), "{looked:?}");
    drop(trace);
    assert!(!folder.exists());
    Ok(())
}
