//! `swaptune sample`: how well the pages of this machine's processes compress.

mod record;

use std::fs;
use std::path::Path;

use swaptune_bench::codec::{CodecSetting, SettingError};
use swaptune_bench::sample::{self, EstimatedPools, MemorySample, SampleError, SampleRequest, SampleStep, USUAL};
use swaptune_core::measurement::{Evidence, Measurement, ResultFigures, SampleFigures};
use swaptune_host::inspect::{InspectScope, inspect};
use swaptune_host::processes::ProcessChoice;

use super::bench::{recorder, store};
use crate::cli::{GroupBy, SampleArgs};
use crate::cmd::Context;
use crate::failure::{Failure, USAGE};
use crate::output;
use crate::output::progress::ProgressLine;
use crate::output::sample::{SampleBasis, SampleReport};

/// Only the parts that say what the pool would be and which codecs the kernel has.
pub const SCOPE: InspectScope = InspectScope { log: false, config: true, ..InspectScope::STATUS };

/// Samples, keeps, and prints a table.
pub fn run(context: &Context, args: &SampleArgs) -> Result<u8, Failure> {
    if !context.machine.is_live() {
        let message = "--root: a folder has no processes";
        return Err(Failure::new(USAGE, message).hint("`swaptune sample` looks at the machine that it runs on"));
    }
    if let Some(file) = &args.record {
        return record::run(context, args, file);
    }
    let request = request(args)?;
    let facts = inspect(&context.machine, SCOPE);
    let mut recorder = recorder(context, &args.results, &command(args))?;
    let mut sample = {
        let progress = ProgressLine::start();
        sample::take(&context.machine, &request, &mut |step| show(&progress, step))?
    };
    let pools = EstimatedPools::of(&facts.kernel);
    let few = || Failure::new(1, "too few pages for any estimate").hint("name more processes, or none for all of them");
    let figures = sample.figures(&pools).ok_or_else(few)?;
    let measurement = recorder.record(ResultFigures::Sample(figures.clone()))?;
    if let Some(file) = &args.save {
        save(&mut sample, &measurement, file)?;
    }
    let evidence = evidence(context, args, &measurement);
    let watching = sample::watching(&context.machine);
    let basis = SampleBasis {
        sample: &sample,
        facts: &facts,
        pools: &pools,
        evidence: &evidence,
        watching,
        root: context.machine.is_root(),
        kept: !args.results.no_save,
    };
    let report = SampleReport::new(&measurement.run, figures, &basis);
    if context.json {
        output::json_versioned(&report)?;
    } else {
        output::data(&report.text())?;
    }
    if let Some(path) = &args.html {
        output::report::write(path, &report.html(&basis, &measurement))?;
    }
    Ok(0)
}

/// What was measured on this machine, this sample the newest of it.
fn evidence(context: &Context, args: &SampleArgs, measurement: &Measurement) -> Evidence {
    let conditions = &measurement.conditions;
    // Without results the usual costs are taken: a file that cannot be read is no reason to show nothing.
    let mut measurements = store(context, &args.results).read().unwrap_or_default().measurements;
    measurements.retain(|known| known.run != measurement.run);
    let mut newest = measurement.clone();
    if let ResultFigures::Sample(sample) = &mut newest.figures {
        // The advice is on the pages that were asked for.
        SampleFigures::ALL.clone_into(&mut sample.of);
    }
    measurements.push(newest);
    Evidence::new(measurements, &conditions.machine, &conditions.kernel)
}

/// Which processes are meant.
fn choice(args: &SampleArgs) -> ProcessChoice {
    ProcessChoice { pids: args.pid.clone(), units: args.unit.clone(), cgroups: args.cgroup.clone() }
}

fn request(args: &SampleArgs) -> Result<SampleRequest, Failure> {
    let choice = choice(args);
    let asked: Vec<&str> = args.codec.iter().map(String::as_str).collect();
    let names = if asked.is_empty() { USUAL } else { &asked };
    let codecs: Result<Vec<CodecSetting>, SettingError> = names.iter().map(|name| name.parse()).collect();
    let by_unit = args.by.map_or(choice.is_everything(), |by| by == GroupBy::Unit);
    Ok(SampleRequest {
        choice,
        pages: u64::from(args.pages),
        cold_seconds: args.cold.map(u64::from),
        seed: args.seed.unwrap_or_else(sample::fresh_seed),
        codecs: codecs.map_err(|error| Failure::new(USAGE, error).hint("lzo and lzo-rle: `swaptune bench codecs --kernel`"))?,
        by_unit,
    })
}

/// Shows how far it has come.
pub fn show(progress: &ProgressLine, step: SampleStep) {
    let (what, done, of) = match step {
        SampleStep::Locating { done, of } => ("locating pages", done, of),
        SampleStep::Reading { done, of } => ("reading pages", done, of),
        SampleStep::Watching { done, of } => ("watching which pages are touched", done, of),
    };
    progress.show(what, usize::try_from(done).unwrap_or(usize::MAX), usize::try_from(of).unwrap_or(usize::MAX));
}

/// What to type to sample the same again.
fn command(args: &SampleArgs) -> String {
    let mut words = vec!["swaptune sample".to_owned()];
    words.extend(args.pid.iter().map(|pid| format!("--pid {pid}")));
    words.extend(args.unit.iter().map(|unit| format!("--unit {unit}")));
    words.extend(args.cgroup.iter().map(|group| format!("--cgroup {group}")));
    if words.len() == 1 {
        words.push("--all".into());
    }
    words.push(format!("--pages {}", args.pages));
    words.extend(args.cold.map(|seconds| format!("--cold {seconds}")));
    if !args.codec.is_empty() {
        words.push(format!("--codec {}", args.codec.join(",")));
    }
    words.join(" ")
}

fn save(sample: &mut MemorySample, measurement: &Measurement, file: &Path) -> Result<(), Failure> {
    let origin = &mut sample.set.origin;
    origin.at.clone_from(&measurement.at);
    origin.command.clone_from(&measurement.command);
    origin.kernel.clone_from(&measurement.conditions.kernel);
    origin.machine.clone_from(&measurement.conditions.machine);
    origin.swaptune.clone_from(&measurement.conditions.swaptune);
    let failed = |error: &dyn std::fmt::Display| Failure::new(1, format!("--save {}: {error}", file.display()));
    let text = sample.set.to_json().map_err(|error| failed(&error))?;
    fs::write(file, text + "\n").map_err(|error| failed(&error))
}

impl From<SampleError> for Failure {
    fn from(error: SampleError) -> Self {
        let hint = match &error {
            SampleError::NoneMatches(_) => "`systemctl status PID` names the unit of a process, `systemd-cgls` shows all groups",
            SampleError::Forbidden(_) => "as root: sudo swaptune sample",
            _ => "",
        };
        let code = if matches!(error, SampleError::NoneMatches(_)) { USAGE } else { 1 };
        Self::new(code, error).hint(hint)
    }
}
