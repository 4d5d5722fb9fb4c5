//! `swaptune-validate`: the simulator beside the running kernel, counter by counter. For whoever changes the model; it is not installed.

mod table;

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use swaptune::failure::{FINDINGS, Failure, REFUSED, USAGE};
use swaptune::progress::ProgressLine;
use swaptune_bench::process::HelperProgram;
use swaptune_core::Bytes;
use swaptune_host::inspect::inspect;
use swaptune_host::machine::Machine;
use swaptune_host::stop::Stop;
use swaptune_host::temporary::guardian;
use swaptune_kernel::nearest;
use swaptune_validate::{PlayedWorkload, SCOPE, ValidateError, ValidationOptions, WORKLOADS, cases, check, run, serve};

/// Play workloads on this kernel and in the simulator, and compare what both count.
///
/// Sets up swap files and zswap for a moment and puts them back, also on Ctrl-C and when it is killed. Needs root.
#[derive(Debug, Parser)]
#[command(
    name = "swaptune-validate",
    version,
    max_term_width = 100,
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  sudo swaptune-validate                                    some minutes\n  sudo swaptune-validate --workload paced                   a pool that fills and is drained: half a minute each tiering\n  sudo swaptune-validate --workload zipf --rounds 9 --limit 128M\n  sudo swaptune-validate --compressor zstd,lz4 --csv > validated.csv\n\nA missed bound is a finding about the simulator, not about this machine: it is printed, and the exit code is 0."
)]
struct ValidateCli {
    #[command(subcommand)]
    process: Option<HelperProcess>,
    #[command(flatten)]
    args: ValidateArgs,
}

/// Processes of this program that it starts itself.
#[derive(Debug, Subcommand)]
enum HelperProcess {
    /// Play a sequence of accesses
    #[command(hide = true)]
    Play {
        /// The process that starts it.
        parent: u32,
    },
    /// Put temporary settings back when their maker is killed
    #[command(hide = true, name = "temporary_guardian")]
    TemporaryGuardian,
}

#[derive(Debug, clap::Args)]
struct ValidateArgs {
    /// Only these workloads: sequential, zipf, idle, poor, same, full, paced [default: all but full and paced]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    workload: Vec<String>,
    /// Only these compressors of zswap [default: all that this kernel has]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    compressor: Vec<String>,
    /// RAM of the control group that the workloads run in; they are larger
    #[arg(long, value_name = "SIZE", default_value = "32M")]
    limit: Bytes,
    /// How often each is played on the kernel; signs of differences need three
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Start of the random numbers of the workloads
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Folder of the temporary swap files
    #[arg(long, value_name = "DIR", default_value = "/var/tmp")]
    swap_dir: PathBuf,
    /// Print JSON
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print comma-separated values
    #[arg(long)]
    csv: bool,
}

fn main() -> ExitCode {
    let cli = ValidateCli::parse();
    let done = match cli.process {
        Some(HelperProcess::Play { parent }) => {
            serve(parent, io::stdin().lock(), io::stdout().lock()).map(|()| 0).map_err(|error| Failure::new(1, error))
        }
        Some(HelperProcess::TemporaryGuardian) => Ok(if guardian::play_and_tell() { 0 } else { FINDINGS }),
        None => validate(&cli.args),
    };
    ExitCode::from(done.unwrap_or_else(|failure| {
        swaptune::message(&failure.text());
        failure.code
    }))
}

/// Plays, compares, prints.
fn validate(args: &ValidateArgs) -> Result<u8, Failure> {
    let workloads = workloads(&args.workload)?;
    let machine = Machine::live();
    let facts = inspect(&machine, SCOPE);
    let options = ValidationOptions { limit: args.limit, rounds: args.rounds, folder: args.swap_dir.clone(), seed: args.seed };
    check(&machine, &facts, &options).map_err(failure)?;
    let cases = cases(&workloads, &args.compressor, &facts);
    let stop = Stop::on_signals().map_err(|error| Failure::new(1, format!("signals: {error}")))?;
    let report = {
        let progress = ProgressLine::start();
        let mut show = |what: &str, done, of| progress.show(what, done, of);
        run(&machine, cases, &options, &program(), &stop, &mut show).map_err(failure)?
    };
    report.recovered.iter().for_each(|what| swaptune::message(what));
    if args.json {
        swaptune::json_versioned(&report)?;
    } else {
        swaptune::data(&if args.csv { table::csv(&report) } else { table::tables(&report) })?;
    }
    Ok(if report.stopped || report.rows.is_empty() { FINDINGS } else { 0 })
}

/// This program again; the link stands for it even when its file was replaced.
fn program() -> HelperProgram {
    HelperProgram { path: "/proc/self/exe".into(), arguments: vec!["play".into()] }
}

fn workloads(asked: &[String]) -> Result<Vec<&'static PlayedWorkload>, Failure> {
    static ALL: [PlayedWorkload; WORKLOADS.len()] = WORKLOADS;
    if asked.is_empty() {
        return Ok(ALL.iter().filter(|workload| workload.is_quick()).collect());
    }
    let find = |name: &String| {
        PlayedWorkload::named(name).ok_or_else(|| {
            let known = ALL.map(|workload| workload.name);
            let failure =
                Failure::new(USAGE, format!("--workload: unknown workload `{name}`; expected one of {}", known.join(", ")));
            match nearest(name, known.into_iter()) {
                Some(near) => failure.hint(format!("did you mean `{near}`?")),
                None => failure,
            }
        })
    };
    asked.iter().map(find).collect()
}

fn failure(error: ValidateError) -> Failure {
    match &error {
        ValidateError::Refused { hint, .. } => Failure::new(REFUSED, &error).hint(hint),
        ValidateError::Group(group) => Failure::new(REFUSED, &error).hint(group.hint()),
        ValidateError::Temporary(temporary) => Failure::new(temporary.exit_code(), &error).hint(temporary.hint()),
        ValidateError::Corrupt { .. } => {
            Failure::new(1, &error).hint("memory, disk or kernel of this machine lost data: look into its log")
        }
        _ => Failure::new(1, &error),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn helpers_are_found_by_their_arguments() {
        let cli = ValidateCli::command();
        cli.clone().debug_assert();
        for name in [guardian::ARGUMENT.to_owned(), program().arguments[0].to_string_lossy().into_owned()] {
            assert!(cli.find_subcommand(&name).is_some_and(clap::Command::is_hide_set), "{name}");
        }
    }

    #[test]
    fn every_example_of_help_can_be_typed() {
        let help = ValidateCli::command().get_after_help().map(ToString::to_string).unwrap_or_default();
        let examples = help.lines().filter_map(|line| line.trim().strip_prefix("sudo "));
        for line in examples {
            let end = ["  ", " > "].iter().filter_map(|end| line.find(end)).min().unwrap_or(line.len());
            ValidateCli::try_parse_from(line[..end].split_whitespace()).unwrap_or_else(|error| panic!("{line}: {error}"));
        }
    }
}
