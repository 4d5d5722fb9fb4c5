//! `swaptune compare`.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

use swaptune_bench::compare::{
    CompareError, CompareFile, CompareGround, CompareHeader, CompareOptions, CompareProgress as Where, Helpers, KeptRun,
    ResumeError, SELF, Watchers, run as measure, spoken, try_command,
};
use swaptune_bench::results::Store;
use swaptune_bench::sample::fresh_seed;
use swaptune_bench::space::SpaceWish;
use swaptune_bench::variant::{NOW, Spec, Variant, VariantOutcome, pose, split};
use swaptune_bench::workload::{WORKLOADS, WorkloadFolder, workload};
use swaptune_core::Bytes;
use swaptune_core::facts::Facts;
use swaptune_core::measurement::{CompareFigures, Evidence, Measurement, ResultFigures};
use swaptune_core::units::BytesError;
use swaptune_host::inspect::{InspectScope, inspect};
use swaptune_host::stop::Stop;

use super::bench::{helper, needs_live, recorder, say_what_else_swaps, store, typed};
use super::{Context, temporary};
use crate::cli::{CompareArgs, LimitArg, WantedArgs};
use crate::configuration;
use crate::failure::{FINDINGS, Failure, REFUSED, USAGE};
use crate::output::progress::ProgressLine;
use crate::output::{self, compare, report};

/// Runs, keeps, judges and prints.
pub fn run(context: &Context, args: &CompareArgs) -> Result<u8, Failure> {
    needs_live(context)?;
    // What a killed run left must not be taken for the machine's own.
    if context.machine.is_root() {
        temporary::recover(context)?;
    }
    let facts = inspect(&context.machine, InspectScope::PLAN);
    check(context, &facts)?;
    let (evidence, _) = configuration::evidence(&context.machine, &WantedArgs::default())?;
    let mut recorder = recorder(context, &args.results, &typed())?;
    // Hours of runs must not end at a file that cannot be written.
    recorder.can_keep()?;
    args.html.as_deref().map_or(Ok(()), report::can_be_written)?;
    let (resumed, mut header) = match &args.resume {
        Some(path) => {
            let (journal, header, before) = CompareFile::resume(path)?;
            (Some((journal, before)), header)
        }
        None => (None, header(args, &facts)?),
    };
    let mut options = options(&header)?;
    let _folder = folder_of_workload(&mut options)?;
    let variants = variants(&header, &facts, &evidence)?;
    let folder = std::env::current_dir().map_err(|error| Failure::new(1, format!("the working directory: {error}")))?;
    let ground = CompareGround::of(&context.machine, (&facts, &evidence), &variants, &options, &folder);
    match &args.resume {
        Some(path) => same_ground(path, &header.ground, &ground)?,
        None => header.ground = ground,
    }
    if let Some(memory) = options.memory {
        say_what_else_swaps(&facts, memory, options.limit);
    }
    let helpers = Helpers { tether: helper("tethered"), holder: helper("memory-helper") };
    let said = args.output.as_ref().map(|path| said(path)).transpose()?;
    let stop = Stop::on_signals().map_err(|error| Failure::new(1, format!("signals: {error}")))?;
    let progress = ProgressLine::start();
    progress.show(&format!("{} once, to see that it works", spoken(&options.command)), 0, 1);
    if !try_command(&context.machine, &helpers, &options, &stop, said.as_ref())? {
        return Err(Failure::new(FINDINGS, "stopped before anything was changed"));
    }
    // An error until here leaves no file.
    let (mut journal, before) = match resumed {
        Some(resumed) => resumed,
        None => (CompareFile::create(&file(&store(context, &args.results), recorder.run()), &header)?, Vec::new()),
    };
    let mut is_any_kept = !before.is_empty();
    let measured = {
        let mut show = |now: &Where<'_>| progress.show(&compare::progress(now), now.done, now.of);
        let mut keep = |kept: &KeptRun| journal.keep(kept).inspect(|()| is_any_kept = true);
        let mut watchers = Watchers { show: &mut show, keep: &mut keep, output: said.as_ref() };
        measure(&context.machine, (&facts, &evidence), (&variants, &helpers), &options, before, &stop, &mut watchers)
    };
    drop(progress);
    let go_on = format!("go on with it: swaptune compare --resume {}", journal.path().display());
    if measured.is_err() && is_any_kept {
        output::message(&go_on);
    }
    let outcome = measured?;
    if let Some(what) = &outcome.recovered {
        output::message(what);
    }
    let measurements = recorder.measured(outcome.figures.iter().cloned().map(ResultFigures::Compare));
    // None of them is left out because another failed.
    let printed = print(context, &outcome, &options, &measurements);
    let kept = recorder.keep(&measurements).map_err(Failure::from);
    let page = || compare::html(&outcome, &options, &measurements);
    let reported = args.html.as_ref().map_or(Ok(()), |path| report::write(path, &page()));
    printed.and(kept).and(reported)?;
    // A configuration that was refused after some of its runs may be taken the next time.
    let is_refused = |row: &CompareFigures| outcome.skipped.iter().any(|skipped| skipped.variant == row.variant);
    if outcome.stopped || outcome.figures.iter().any(is_refused) {
        output::message(&go_on);
    }
    Ok(if outcome.stopped || outcome.figures.is_empty() { FINDINGS } else { 0 })
}

fn print(
    context: &Context,
    outcome: &VariantOutcome<CompareFigures>,
    options: &CompareOptions,
    measurements: &[Measurement],
) -> Result<(), Failure> {
    if context.json {
        let VariantOutcome { skipped, stopped, .. } = outcome;
        let json = serde_json::json!({ "measurements": measurements, "skipped": skipped, "stopped": stopped });
        return output::json_versioned(&json);
    }
    output::data(&compare::text(outcome, options))
}

/// Refuses a machine on which this would do harm or could not work.
fn check(context: &Context, facts: &Facts) -> Result<(), Failure> {
    if !context.machine.is_root() {
        let why = "swap is set up and taken down for each run, which only root may do";
        return Err(Failure::new(REFUSED, why).hint("put sudo before it"));
    }
    if facts.system.container.is_known() {
        return Err(
            Failure::new(REFUSED, "this is a container: its kernel's swap belongs to the host").hint("run it on the host")
        );
    }
    Ok(())
}

/// What is compared, as it was typed.
fn header(args: &CompareArgs, facts: &Facts) -> Result<CompareHeader, Failure> {
    let memory = args.memory.unwrap_or_else(|| facts.memory.total());
    let variants: Vec<String> = match args.variant.as_slice() {
        [] => vec![NOW.into(), "auto".into()],
        lists => lists.iter().flat_map(|list| split(list)).collect(),
    };
    if variants.len() < 2 {
        let hint = format!("for example --variant {NOW} --variant {}", variants.join(" --variant "));
        return Err(Failure::new(USAGE, "one configuration is compared with nothing").hint(hint));
    }
    let text = |word: &OsString| {
        let wrong =
            || Failure::new(USAGE, format!("the command {} is not UTF-8", word.to_string_lossy())).hint("put it into a script");
        word.to_str().map(str::to_owned).ok_or_else(wrong)
    };
    let seed = args.seed.unwrap_or_else(|| fresh_seed() >> 32);
    let command = match &args.workload {
        Some(asked) => built_in(asked, memory, seed, &args.dir)?,
        None => args.command.iter().map(text).collect::<Result<_, _>>()?,
    };
    Ok(CompareHeader {
        schema: CompareHeader::SCHEMA,
        command,
        variants,
        memory: args.memory.map(|memory| memory.0),
        limit: args.limit.name().into(),
        runs: args.runs,
        delta: args.delta,
        keep_caches: args.keep_caches,
        dir: args.dir.clone(),
        seed,
        ground: CompareGround::default(),
    })
}

/// Refuses to set runs of now against runs of other conditions.
fn same_ground(path: &Path, then: &CompareGround, now: &CompareGround) -> Result<(), Failure> {
    match then.difference(now) {
        None => Ok(()),
        Some(other) => Err(Failure::new(REFUSED, format!("--resume {}: {}", path.display(), other.what)).hint(other.hint)),
    }
}

/// The command of a built-in workload: this program again, whatever became of its file.
fn built_in(asked: &str, memory: Bytes, seed: u64, folder: &Path) -> Result<Vec<String>, Failure> {
    let (name, size) = asked.split_once(':').map_or((asked, None), |(name, size)| (name, Some(size)));
    let names = || WORKLOADS.iter().map(|row| row.name).collect::<Vec<_>>().join(", ");
    let unknown = || Failure::new(USAGE, format!("--workload: no workload `{name}`; expected {}", names()));
    let row = workload(name).ok_or_else(unknown)?;
    let wrong = |error: BytesError| Failure::new(USAGE, format!("--workload {asked}: {error}")).hint("for example alloc:2G");
    let size = size.map(str::parse::<Bytes>).transpose().map_err(wrong)?.unwrap_or_else(|| memory.percent(row.percent));
    let words = [row.name, "--size", &size.0.to_string(), "--seed", &seed.to_string(), "--dir"];
    Ok(WORKLOAD.into_iter().chain(words).map(str::to_owned).chain([folder.display().to_string()]).collect())
}

/// Has a built-in workload write into a folder of this run, which goes with it.
fn folder_of_workload(options: &mut CompareOptions) -> Result<Option<WorkloadFolder>, Failure> {
    let (true, Some(place)) = (options.command.iter().take(3).eq(WORKLOAD.iter()), options.command.last_mut()) else {
        return Ok(None);
    };
    let parent = Path::new(place.as_os_str());
    let folder = WorkloadFolder::make(parent)
        .map_err(|error| Failure::new(1, format!("{}: {error}", parent.display())).hint("--dir names another folder"))?;
    *place = folder.path().into();
    Ok(Some(folder))
}

/// How the command of a built-in workload begins; it ends with the folder that it may write to.
const WORKLOAD: [&str; 3] = [SELF, "bench", "workload"];

/// Beside the results.
fn file(store: &Store, run: &str) -> PathBuf {
    store.path().with_file_name(format!("compare-{run}.jsonl"))
}

fn options(header: &CompareHeader) -> Result<CompareOptions, Failure> {
    let limit = LimitArg::named(&header.limit)
        .ok_or_else(|| Failure::new(USAGE, format!("the file of the comparison has an unknown limit `{}`", header.limit)))?;
    Ok(CompareOptions {
        command: header.command.iter().map(OsString::from).collect(),
        memory: header.memory.map(Bytes),
        limit: SpaceWish::from(limit),
        blocks: header.runs,
        delta: header.delta / 100.0,
        drops_caches: !header.keep_caches,
        folder: header.dir.clone(),
        seed: header.seed,
    })
}

fn variants(header: &CompareHeader, facts: &Facts, evidence: &Evidence) -> Result<Vec<Variant>, Failure> {
    let memory = header.memory.map_or_else(|| facts.memory.total(), Bytes);
    let (posed, area) = (pose(facts, memory), header.dir.join("swaptune-compare.swap"));
    header.variants.iter().map(|name| Ok(Spec::read(name)?.resolve(&posed, evidence, &area)?)).collect()
}

/// Where what the command says goes.
fn said(path: &Path) -> Result<File, Failure> {
    let failed = |error| Failure::new(USAGE, format!("--output {}: {error}", path.display()));
    OpenOptions::new().create(true).append(true).open(path).map_err(failed)
}

impl From<ResumeError> for Failure {
    fn from(error: ResumeError) -> Self {
        Self::new(USAGE, format!("--resume {error}")).hint("it takes the file that a comparison named when it was stopped")
    }
}

impl From<CompareError> for Failure {
    fn from(error: CompareError) -> Self {
        match error {
            CompareError::Temporary(error) => error.into(),
            CompareError::Space(error) => error.into(),
            CompareError::Group(ref group) => Self::new(REFUSED, &error).hint(group.hint()),
            CompareError::Fails { .. } => Self::new(USAGE, error)
                .hint("nothing was changed; --output FILE shows what it says, and a shell runs a script: -- sh -c '…'"),
            CompareError::Nothing(_) => Self::new(USAGE, error),
            other => Self::new(1, other),
        }
    }
}
