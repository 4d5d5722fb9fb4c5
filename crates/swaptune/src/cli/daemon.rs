//! What can be typed behind `daemon`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// `daemon`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct DaemonArgs {
    /// Look at one that runs instead of running one.
    #[command(subcommand)]
    pub action: Option<DaemonAction>,
    /// Say what would be done, and do nothing; works beside a daemon that runs
    #[arg(long)]
    pub dry_run: bool,
    /// Decide once, from two looks a second apart, and end; everything is put back then
    #[arg(long)]
    pub once: bool,
    /// Take the section `keep` from FILE instead of the machine's configuration
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// What is asked of a daemon that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Subcommand)]
pub enum DaemonAction {
    /// Show what it has done and what each law says now; exit code 1 when none runs
    Status,
    /// Put everything back and move nothing until `resume`, or the next boot
    Pause,
    /// Go on after a pause
    Resume,
    /// Put back what a daemon that was killed has left; called by swaptuned.service
    #[command(hide = true)]
    Restore,
}
