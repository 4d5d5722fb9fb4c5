//! The command line: what was typed. Nothing here does anything.

use std::cell::OnceCell;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use swaptune_core::Bytes;
use swaptune_core::emit::{EmitFormat, FORMATS};
use swaptune_core::settings::Settings;

mod bench;
mod compare;
mod daemon;
mod device;
mod exit;
mod fleet;
mod sample;
mod simulate;
mod storage;
mod watch;

pub use bench::*;
pub use compare::*;
pub use daemon::*;
pub use device::*;
pub use exit::*;
pub use fleet::*;
pub use sample::*;
pub use simulate::*;
pub use storage::*;
pub use watch::*;

/// Compressed swap that is measured, planned, applied, proved and reversible.
///
/// Start with `swaptune status` (what this machine's memory really is) and `swaptune plan` (what would make it hold more,
/// with a reason for every line). Both only read.
#[derive(Debug, Parser)]
#[command(
    name = "swaptune",
    version,
    max_term_width = 100,
    after_help = exit_codes_help()
)]
pub struct Cli {
    /// Flags of every command.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Flags of every command.
#[derive(Debug, Args)]
pub struct Global {
    /// Print JSON for programs instead of text for people
    #[arg(long, global = true)]
    pub json: bool,
    /// Work on the machine below DIR (an image, a captured folder) instead of this one
    #[arg(long, global = true, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Log to standard error: -v writes, commands and measurements; -vv also files read; -vvv everything; or set RUST_LOG
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub verbose: u8,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show what this machine is: every fact with its source, or why it is absent
    #[command(
        after_help = "Examples:\n  swaptune inspect --json | jq .zswap\n  sudo swaptune inspect --capture my-machine      a folder to attach to a bug report\n  swaptune inspect --root my-machine              what that folder says, on any machine"
    )]
    Inspect(InspectArgs),
    /// Show what memory really is: applications, compressed pool, swap, capacity
    #[command(
        after_help = "Works without root; with root it also reads zswap's counters. Ratios say whether they are measured or assumed."
    )]
    Status,
    /// Watch memory, pools, swap traffic and pressure: a screen, lines, a recording, metrics for Prometheus
    #[command(
        after_help = "Examples:\n  sudo swaptune watch                        the screen; `?` there explains each word on it\n  swaptune watch --once                      every value now, or why there is none\n  swaptune watch --csv --interval 10s        a line each ten seconds\n  swaptune watch --record a.swrec            the screen, and each sample in a file\n  swaptune watch --replay a.swrec            the screen again\n  sudo swaptune watch --listen               http://127.0.0.1:9877/metrics\n\nWith root it also reads zswap's counters. It changes nothing and writes only the FILE that it is given."
    )]
    Watch(WatchArgs),
    /// Look, choose, try, prove, keep: from nothing to a configuration in one sitting
    #[command(
        after_help = "Examples:\n  sudo swaptune quickstart          asks before it changes anything, and before it keeps it\n  sudo swaptune quickstart --yes    for scripts: takes the plan, proves it, keeps it\n\nSamples the pages of all processes, simulates how many idle applications fit with each alternative, and offers the best. What you choose is\napplied live and proved by pages that go through the kernel's swap; then you say whether it stays. Ctrl-C at any point leaves the\nmachine as it was."
    )]
    Quickstart(QuickstartArgs),
    /// List every kernel setting that swaptune knows, with its live value
    #[command(
        after_help = "Examples:\n  swaptune knobs\n  swaptune knobs zswap            all that start with it\n  swaptune knobs vm.swappiness    one, with its source and who sets it\n  swaptune knobs --behaviours     what this kernel does that no knob changes"
    )]
    Knobs(KnobsArgs),
    /// Show what would change, when, and why; changes nothing
    #[command(
        after_help = "Examples:\n  swaptune plan --explain\n  swaptune plan --profile idle-guide\n  swaptune plan --set zswap.pool=3G --set vm.swappiness=100\n  swaptune plan --simulate --page-set pages.json     what the model makes of the alternatives\n  swaptune plan --adopt                              what zram-generator, fstab or zswap-cli do here, done by swaptune\n  swaptune plan --out plan.json                      for review; then `apply --plan plan.json`\n\nExit code 3: the plan cannot be applied, and says why."
    )]
    Plan(PlanArgs),
    /// Apply the plan: journalled, checked, reversible
    #[command(
        after_help = "Examples:\n  sudo swaptune apply --now       try it; `swaptune rollback` undoes it\n  sudo swaptune apply             now and for every boot\n  sudo swaptune apply --root /mnt/image --boot --yes\n\nEach change is journalled before it is made and read back after it. An apply that fails half-way is undone."
    )]
    Apply(ApplyArgs),
    /// Check that what was applied is in effect, and find what else is wrong
    #[command(
        after_help = "Examples:\n  swaptune verify || mail -s \"swap of $(hostname)\" root\n  sudo swaptune verify --prove\n\nExit code 0: nothing is wrong. Terms are explained in docs/reference/glossary.md."
    )]
    Verify(VerifyArgs),
    /// Undo an apply: files, live values, swap areas and boot entries
    #[command(
        after_help = "Examples:\n  sudo swaptune rollback                        the newest apply\n  sudo swaptune rollback 20260102-030405-a1b2   one that `swaptune history` shows\n  sudo swaptune rollback --skip 5               all but step 5, which cannot be undone\n  sudo swaptune rollback --all                  as if swaptune had never changed anything"
    )]
    Rollback(RollbackArgs),
    /// List the applies and rollbacks of this machine
    History,
    /// Sample how well the pages of running processes compress, and which of them are cold
    #[command(
        after_help = "Examples:\n  sudo swaptune sample                             every process, a line for each unit\n  sudo swaptune sample --unit nginx --cold 60      which of its pages stay untouched for a minute\n  swaptune sample --pid 4711 --pages 20000         more pages, narrower intervals\n  sudo swaptune sample --save pages.json           for a simulation: sizes and classes, no contents\n  sudo swaptune sample --record a.swtrace --for 5m  which pages are used when: a trace to simulate\n\nDraws anonymous pages in RAM at random, reads them and keeps only what they compress to. Reading marks these few pages as accessed and changes nothing else. Processes that end meanwhile or may not be read are counted. The result is kept like that of a benchmark, and `swaptune plan` uses one of all processes. LZO and LZO-RLE can only be measured in the kernel: `swaptune bench codecs --kernel`."
    )]
    Sample(SampleArgs),
    /// Measure what this machine's codecs, disks, ciphers and swap paths really do
    #[command(
        after_help = "Every result is kept as a line of JSON with the conditions it was measured under, and `swaptune plan` uses it. Temporary settings are put back, also on Ctrl-C."
    )]
    Bench(BenchArgs),
    /// Run your own command under several configurations, and say which is better if the data can tell
    #[command(after_help = compare::examples())]
    Compare(CompareArgs),
    /// Drain zswap's pool before it fills, reclaim idle units, write back idle zram pages; optionally move the pool limit with the load
    #[command(
        after_help = "Examples:\n  sudo swaptune daemon --dry-run          what it would do, and why, line by line\n  sudo systemctl enable --now swaptuned   now and after each boot, where a package is installed\n  swaptune daemon status                  what it has done, and what each law says now\n  sudo swaptune daemon pause              everything as it was, until `swaptune daemon resume` or a boot\n\nIt changes zswap's limit and threshold, reclaims idle units, and writes back or recompresses idle zram pages, all within bounds. Settings\nare restored however it ends. Figures are under [keep] of /etc/swaptune/config.toml; docs/reference/keep.md lists them."
    )]
    Daemon(DaemonArgs),
    /// Ask a model: which tiering is best for a workload, how many applications fit, what a trace misses
    #[command(
        after_help = "Examples:\n  swaptune simulate fit                                         how many idle applications fit: disk, zram, zswap\n  swaptune simulate run --generate compile --tiering disk --tiering zswap:zstd,disk\n  swaptune simulate run scenarios/c2-write-through.toml         several policies, beside published figures\n  swaptune simulate replay --trace web.csv --columns page=2     misses of bare memory of several sizes\n\nA simulation reads what it is given and changes nothing. Trust signs and ratios, not seconds."
    )]
    Simulate(SimulateArgs),
    /// One swap device: prepared (partitioned, encrypted, on at each boot, allowed to be missing), adopted, retired
    Device(DeviceArgs),
    /// Many machines at once, from their facts: which plans they get and what those bring
    Fleet(FleetArgs),
    /// Write the plan down for another program: NixOS, Ansible, cloud-init, systemd, dracut, zram-generator
    #[command(
        after_help = "Examples:\n  swaptune emit nixos > swaptune.nix                    a module for configuration.nix\n  swaptune emit systemd --out files                     sysctl.d, tmpfiles.d and swap units, to be looked at and copied\n  swaptune emit cloud-init --root my-machine            user data for machines like one that was captured\n  swaptune emit zram-generator --set vm.swappiness=180\n\nValues are those of `swaptune plan` with the same flags, resolved for this machine. Nothing is changed. What a format cannot say is\na note on standard error."
    )]
    Emit(EmitArgs),
    /// Switch the applied configuration on or off; called by swaptune.service
    #[command(hide = true)]
    Service(ServiceArgs),
    /// Offer pages to zswap that ask for write-back; started by the daemon itself
    #[command(hide = true, name = "keep_canary")]
    KeepCanary,
    /// Put temporary settings back when the benchmark that made them is killed; started by the benchmark itself
    #[command(hide = true, name = "temporary_guardian")]
    TemporaryGuardian,
}

/// `inspect`.
#[derive(Debug, Args)]
pub struct InspectArgs {
    /// Copy the files that were read, and no others, into DIR: for a bug report or a test fixture
    #[arg(long, value_name = "DIR")]
    pub capture: Option<PathBuf>,
}

/// `quickstart`.
#[derive(Debug, Args)]
pub struct QuickstartArgs {
    /// Ask nothing: take the plan, prove it, keep it for every boot
    #[arg(long, short)]
    pub yes: bool,
}

/// `knobs`.
#[derive(Debug, Args)]
pub struct KnobsArgs {
    /// A knob (vm.swappiness) or the start of names (zswap)
    pub name: Option<String>,
    /// List what kernels do by themselves, since and until when, and whether this one does
    #[arg(long, conflicts_with = "name")]
    pub behaviours: bool,
}

/// What is wanted: profile, configuration, single values.
#[derive(Debug, Clone, Default, Args)]
pub struct WantedArgs {
    /// Start from this profile: auto, idle-guide, none (nothing is derived) or off [default: as configured, else auto]
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    /// Read this file instead of /etc/swaptune/config.toml and config.d/*.toml
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// What that file said: it may be a pipe, which says it once.
    #[arg(skip)]
    pub config_read: OnceCell<Settings>,
    /// Set one value over everything else, for example vm.swappiness=100, zswap.pool=3G or safety.kubelet=allow
    #[arg(long = "set", value_name = "KNOB=VALUE")]
    pub set: Vec<String>,
    /// Take over what other files configure here: zram-generator, zram-tools, rpi-swap, zswap-cli, fstab, sysctl.d, kernel arguments.
    /// Nothing is derived; each value keeps its file and line
    #[arg(long, conflicts_with = "profile")]
    pub adopt: bool,
    /// Use figures measured on this machine; fail if there are none [default: use them if there are any]
    #[arg(long, conflicts_with = "no_measured")]
    pub measured: bool,
    /// Use assumed figures only
    #[arg(long)]
    pub no_measured: bool,
}

/// When to change: both by default.
#[derive(Debug, Clone, Default, Args)]
pub struct WhenArgs {
    /// Change only the running system: a reboot undoes all except a new swap file or swap header, which `swaptune rollback` removes
    #[arg(long, conflicts_with = "boot")]
    pub now: bool,
    /// Change only what takes effect at the next boot
    #[arg(long)]
    pub boot: bool,
}

/// Whether candidates are simulated first.
#[derive(Debug, Clone, Default, Args)]
pub struct SimulatedArgs {
    /// First simulate alternatives: how many idle applications fit with each. One that is clearly better than the rules is planned,
    /// and the plan cites the result. Takes seconds
    #[arg(long)]
    pub simulate: bool,
    /// Simulate pages with the compressed sizes in FILE, written by `swaptune sample --save` [default: shares and ratios of the newest
    /// sample]
    #[arg(long, value_name = "FILE", requires = "simulate")]
    pub page_set: Option<PathBuf>,
    /// Simulate applications of this size, kept within 1/256 and 1/16 of RAM [default: the mean process of the newest sample]
    #[arg(long, value_name = "SIZE", requires = "simulate", value_parser = some)]
    pub app_size: Option<Bytes>,
    /// Number of seeds to simulate with; their range is the uncertainty
    #[arg(long, value_name = "N", default_value_t = 3, requires = "simulate", value_parser = clap::value_parser!(u32).range(2..=50))]
    pub seeds: u32,
}

/// A size that is not 0.
fn some(text: &str) -> Result<Bytes, String> {
    let size: Bytes = text.parse().map_err(|error: swaptune_core::units::BytesError| error.to_string())?;
    if size == Bytes(0) { Err("expected a size above 0, for example 100M".to_owned()) } else { Ok(size) }
}

/// `plan`.
#[derive(Debug, Args)]
pub struct PlanArgs {
    /// What is wanted.
    #[command(flatten)]
    pub wanted: WantedArgs,
    /// When.
    #[command(flatten)]
    pub when: WhenArgs,
    /// What is simulated first.
    #[command(flatten)]
    pub simulated: SimulatedArgs,
    /// Show each change with its reason, evidence and origin, and files as diffs; docs/reference/glossary.md explains the terms
    #[arg(long)]
    pub explain: bool,
    /// Plan mkswap on DEVICE even if it holds data; `swaptune apply --wipe` does it
    #[arg(long, value_name = "DEVICE")]
    pub wipe: Vec<String>,
    /// Also write the plan to FILE, for review: `swaptune apply --plan FILE` applies exactly this plan
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// End with exit code 1 when there is something to do
    #[arg(long)]
    pub detailed_exitcode: bool,
}

/// `apply`.
#[derive(Debug, Args)]
pub struct ApplyArgs {
    /// What is wanted.
    #[command(flatten)]
    pub wanted: WantedArgs,
    /// When.
    #[command(flatten)]
    pub when: WhenArgs,
    /// What is simulated first.
    #[command(flatten)]
    pub simulated: SimulatedArgs,
    /// Do not ask
    #[arg(long, short)]
    pub yes: bool,
    /// Make swap of the device or file PATH even if it holds data
    #[arg(long, value_name = "PATH")]
    pub wipe: Vec<String>,
    /// Finish an apply that was interrupted, or go on with a rollback that was
    #[arg(long)]
    pub resume: bool,
    /// Apply exactly the plan that `swaptune plan --out FILE` wrote, if the machine is still as it was then
    #[arg(long, value_name = "FILE", conflicts_with_all = [
        "profile", "adopt", "config", "set", "measured", "no_measured", "now", "boot", "simulate", "wipe", "resume",
    ])]
    pub plan: Option<PathBuf>,
}

/// The formats by their names, each with what it is for.
fn formats() -> impl TypedValueParser<Value = &'static EmitFormat> {
    let names = FORMATS.iter().map(|format| PossibleValue::new(format.name).help(format.about));
    PossibleValuesParser::new(names).try_map(|name| FORMATS.iter().find(|format| format.name == name).ok_or("unknown format"))
}

/// `emit`.
#[derive(Debug, Args)]
pub struct EmitArgs {
    /// What to write it for
    #[arg(value_parser = formats())]
    pub format: &'static EmitFormat,
    /// What is wanted.
    #[command(flatten)]
    pub wanted: WantedArgs,
    /// Write the files below DIR instead of printing them; never over one that is there
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// `verify`.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// What is wanted [default: what the last apply resolved].
    #[command(flatten)]
    pub wanted: WantedArgs,
    /// Push a few MiB of known pages through the kernel's swap and read where they went
    #[arg(long)]
    pub prove: bool,
}

/// `rollback`.
#[derive(Debug, Args)]
pub struct RollbackArgs {
    /// The apply to undo, as `history` shows it [default: the newest]
    pub id: Option<String>,
    /// Undo every apply, newest first; stop at one that cannot be undone completely
    #[arg(long, conflicts_with_all = ["id", "skip"])]
    pub all: bool,
    /// Leave this step as it is and undo the rest; `swaptune history` numbers the steps
    #[arg(long, value_name = "STEP")]
    pub skip: Vec<usize>,
    /// Do not ask
    #[arg(long, short)]
    pub yes: bool,
}

/// `service`.
#[derive(Debug, Args)]
pub struct ServiceArgs {
    /// What to do.
    pub action: ServiceAction,
}

/// What the boot service does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ServiceAction {
    /// Switch the applied configuration on.
    Start,
    /// Switch it off until the next start.
    Stop,
}
