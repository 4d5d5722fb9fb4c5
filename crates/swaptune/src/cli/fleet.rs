//! `fleet`: what was typed.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// `fleet`.
#[derive(Debug, Args)]
pub struct FleetArgs {
    /// What to do.
    #[command(subcommand)]
    pub what: FleetCommand,
}

/// What can be done for many machines.
#[derive(Debug, Subcommand)]
pub enum FleetCommand {
    /// Plan for machines whose facts were kept with `swaptune inspect --json`, and group those that get the same plan
    #[command(
        after_help = "Examples:\n  ssh web1 swaptune inspect --json > facts/web1.json     on each machine; as root it sees more\n  swaptune fleet plan facts/*.json\n  swaptune fleet plan facts/ --profile idle-guide --set vm.swappiness=100\n  swaptune fleet plan facts/ --json | jq '.groups[] | {machines, what}'\n\nNothing is changed, here or there. A group with fewer than one of 100 machines is an outlier. What a plan brings is simulated for one\nmachine of each of the largest groups. Exit code 1: a plan is refused, or facts cannot be read."
    )]
    Plan(FleetPlanArgs),
    /// Sum up what machines hold, from `swaptune status --json` of each: RAM saved, who needs a hand, who gains most
    #[command(
        after_help = "Examples:\n  ssh web1 sudo swaptune status --json > status/web1.json     on each machine\n  swaptune fleet report status/*.json\n  swaptune fleet report status/ --html fleet.html             with pictures, one file that needs no other"
    )]
    Report(FleetReportArgs),
}

/// `fleet report`.
#[derive(Debug, Args)]
pub struct FleetReportArgs {
    /// Files with a status, a machine each, named after it; or folders of such files
    #[arg(required = true, value_name = "FILE|DIR")]
    pub status: Vec<PathBuf>,
    /// Write a report with pictures, one file that needs no other
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// `fleet plan`.
#[derive(Debug, Args)]
pub struct FleetPlanArgs {
    /// Files with facts, a machine each, named after it; or folders of such files
    #[arg(required = true, value_name = "FILE|DIR")]
    pub facts: Vec<PathBuf>,
    /// Start from this profile: auto, idle-guide, none (nothing is derived) or off
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    /// Configuration for all of them: a machine's own is not among its facts
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Set one value over everything else, for example vm.swappiness=100
    #[arg(long = "set", value_name = "KNOB=VALUE")]
    pub set: Vec<String>,
}
