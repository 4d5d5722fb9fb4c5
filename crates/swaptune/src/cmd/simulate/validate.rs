//! `simulate --validate`: the simulator beside the running kernel.

use swaptune_bench::process::Program;
use swaptune_bench::validate::{self, Options, SCOPE, ValidateError, WORKLOADS, Workload, cases, check};
use swaptune_host::inspect::inspect;
use swaptune_host::stop::Stop;
use swaptune_kernel::nearest;

use crate::cli::{SimulateArgs, ValidateArgs};
use crate::cmd::Context;
use crate::failure::{FINDINGS, Failure, REFUSED, USAGE};
use crate::output::progress::Progress;
use crate::output::{self, validate as page};

/// Plays, compares, prints. A bound that is missed is a finding about the simulator, not about this machine: it is printed, and the
/// exit code is 0.
pub fn run(context: &Context, args: &SimulateArgs) -> Result<u8, Failure> {
    let asked = &args.validate;
    let workloads = workloads(asked)?;
    let facts = inspect(&context.machine, SCOPE);
    let options = Options { limit: asked.limit, rounds: asked.rounds, folder: asked.swap_dir.clone(), seed: asked.seed };
    check(&context.machine, &facts, &options)?;
    let cases = cases(&workloads, &asked.compressor, &facts);
    let stop = Stop::on_signals().map_err(|error| Failure::new(1, format!("signals: {error}")))?;
    let report = {
        let progress = Progress::start();
        let mut show = |what: &str, done, of| progress.show(what, done, of);
        validate::run(&context.machine, cases, &options, &program(), &stop, &mut show)?
    };
    if let Some(what) = &report.recovered {
        output::talk(what);
    }
    if context.json {
        output::json_versioned(&report)?;
    } else if args.csv {
        output::data(&page::csv(&report))?;
    } else {
        output::data(&page::tables(&report))?;
    }
    Ok(if report.stopped || report.rows.is_empty() { FINDINGS } else { 0 })
}

/// This program again; the link stands for it even when its file was replaced.
fn program() -> Program {
    Program { path: "/proc/self/exe".into(), arguments: vec!["bench".into(), "replay-helper".into()] }
}

fn workloads(asked: &ValidateArgs) -> Result<Vec<&'static Workload>, Failure> {
    static ALL: [Workload; WORKLOADS.len()] = WORKLOADS;
    if asked.workload.is_empty() {
        return Ok(ALL.iter().filter(|workload| workload.is_quick()).collect());
    }
    let find = |name: &String| {
        Workload::named(name).ok_or_else(|| {
            let failure = Failure::new(USAGE, format!("--workload: there is no workload `{name}`"));
            match nearest(name, ALL.iter().map(|workload| workload.name)) {
                Some(near) => failure.hint(format!("did you mean `{near}`?")),
                None => failure.hint(format!("there are {}", ALL.map(|workload| workload.name).join(", "))),
            }
        })
    };
    asked.workload.iter().map(find).collect()
}

impl From<ValidateError> for Failure {
    fn from(error: ValidateError) -> Self {
        match &error {
            ValidateError::Refused { hint, .. } => Self::new(REFUSED, &error).hint(hint),
            ValidateError::Group(group) => Self::new(REFUSED, &error).hint(group.hint()),
            ValidateError::Temporary(temporary) => Self::new(temporary.exit_code(), &error).hint(temporary.hint()),
            ValidateError::Corrupt { .. } => {
                Self::new(1, &error).hint("memory, disk or kernel of this machine lost data: look into its log")
            }
            _ => Self::new(1, &error),
        }
    }
}
