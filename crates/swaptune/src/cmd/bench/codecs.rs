//! `swaptune bench codecs`.

use std::thread::available_parallelism;
use std::time::Duration;

use serde::Serialize;
use swaptune_bench::codec::{CODECS, CodecSetting, SettingError};
use swaptune_bench::codecs::{
    BenchError, BenchPages, CodecsPlan, KernelError, KernelOutcome, KernelPlan, NAMES, PageSource, PagesError, SourceError,
    USUAL, measure, measure_kernel, open_kernel, verdicts,
};
use swaptune_core::measurement::ResultFigures;
use swaptune_core::{Bytes, Facts};
use swaptune_host::inspect::{InspectScope, inspect};
use swaptune_host::temporary::TemporarySettings;

use super::recorder;
use crate::cli::{CodecsArgs, ResultsArgs};
use crate::cmd::{Context, temporary};
use crate::failure::{Failure, REFUSED, USAGE};
use crate::output::progress::ProgressLine;
use crate::output::{self, codecs, codecs_kernel, text};

/// Codecs whose speed on several threads is shown when none are named.
const SCALED: &[&str] = &["memcpy", "lz4", "zstd"];

/// Only the parts that say which codecs the kernel has.
const SCOPE: InspectScope = InspectScope { log: false, config: true, ..InspectScope::STATUS };

/// Measures, keeps, and prints a table.
pub fn run(context: &Context, results: &ResultsArgs, args: &CodecsArgs) -> Result<u8, Failure> {
    if !context.machine.is_live() {
        return Err(Failure::new(USAGE, "--root: a benchmark measures the machine that it runs on"));
    }
    if args.kernel && !context.machine.is_root() {
        let message = "--kernel: zram and zswap can only be set up by root";
        return Err(Failure::new(REFUSED, message).hint("`sudo swaptune bench codecs --kernel`"));
    }
    let pool: Bytes = args.pool.parse().map_err(|error| Failure::new(USAGE, format!("--pool: {error}")))?;
    let (plan, kernel_plan) = (plan(args)?, kernel_plan(args)?);
    // What refuses it does so before a minute of measuring.
    let kernel_plan = kernel_plan.map(|plan| opened(context).map(|temporary| (plan, temporary))).transpose()?;
    let source: PageSource = args.pages_of.parse()?;
    let pages = BenchPages::load(&context.machine, &source, args.pages as usize, args.same_filled)?;
    let facts = inspect(&context.machine, SCOPE);
    let mut recorder = recorder(context, results, &command(args))?;
    let rows = {
        let progress = ProgressLine::start();
        measure(&plan, &pages, &facts, |job, done, of| {
            progress.show(&format!("{} on {}", job.setting, text::count(job.threads, "thread")), done, of);
        })?
    };
    let measurements = recorder.record_all(rows.iter().map(|row| ResultFigures::Codec(row.figures.clone())))?;
    let verdicts = verdicts(&rows[..plan.settings.len()]);
    let kernel = kernel_plan.map(|(plan, temporary)| in_kernel(context, temporary, &facts, &pages, &plan));
    let kernel_rows = kernel.iter().flat_map(|outcome| &outcome.rows);
    let of_kernel = kernel_rows.map(|row| (ResultFigures::Codec(row.figures.clone()), row.parameters.clone()));
    let kernel_measurements = recorder.record_under(of_kernel)?;
    if context.json {
        let library = codecs::json(&pages, &measurements, &verdicts);
        let json = |outcome| codecs_kernel::json(outcome, &kernel_measurements);
        output::json_versioned(&CodecBenchJson { library, kernel: kernel.as_ref().map(json) })?;
    } else {
        let kernel = kernel.as_ref().map_or_else(String::new, codecs_kernel::table);
        output::data(&(codecs::table(&pages, &rows, &verdicts, pool) + &kernel))?;
    }
    // What was measured before is printed and kept; then why there is no more.
    kernel.and_then(|outcome| outcome.failed).map_or(Ok(0), |error| Err(error.into()))
}

/// What is printed for programs.
#[derive(Serialize)]
struct CodecBenchJson<'a> {
    #[serde(flatten)]
    library: codecs::CodecsJson<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel: Option<codecs_kernel::KernelCodecsJson<'a>>,
}

fn opened(context: &Context) -> Result<TemporarySettings, Failure> {
    temporary::recover(context)?;
    Ok(open_kernel(&context.machine)?)
}

fn in_kernel(
    context: &Context,
    temporary: TemporarySettings,
    facts: &Facts,
    pages: &BenchPages,
    plan: &KernelPlan,
) -> KernelOutcome {
    let progress = ProgressLine::start();
    let tell = |what: &str, done, of| progress.show(&format!("{what} in the kernel"), done, of);
    measure_kernel(&context.machine, temporary, facts, pages, plan, tell)
}

/// True for a codec that only the kernel has.
fn only_in_kernel(name: &str) -> bool {
    NAMES.contains(&name) && CODECS.iter().all(|codec| codec.name != name)
}

fn plan(args: &CodecsArgs) -> Result<CodecsPlan, Failure> {
    let asked: Vec<&str> = args.codec.iter().map(String::as_str).filter(|name| !only_in_kernel(name)).collect();
    if let Some(name) = args.codec.iter().find(|name| only_in_kernel(name)).filter(|_| !args.kernel) {
        let message = format!("--codec {name}: only the kernel has it");
        return Err(Failure::new(USAGE, message).hint("add --kernel, as root"));
    }
    let (names, scaled) = if args.codec.is_empty() { (USUAL, SCALED) } else { (asked.as_slice(), asked.as_slice()) };
    let time = Duration::try_from_secs_f64(args.seconds).ok().filter(|time| *time <= Duration::from_secs(3600));
    let no_time = || Failure::new(USAGE, format!("--seconds {}: expected 0 to 3600", args.seconds));
    let most = args.threads.map_or_else(|| available_parallelism().map_or(1, usize::from), |threads| threads as usize);
    Ok(CodecsPlan {
        settings: settings(names)?,
        threads: counts(most),
        scaled: settings(scaled)?,
        time: time.ok_or_else(no_time)?,
    })
}

fn settings(names: &[&str]) -> Result<Vec<CodecSetting>, Failure> {
    let parsed: Result<Vec<CodecSetting>, SettingError> = names.iter().map(|name| name.parse()).collect();
    parsed.map_err(|error| Failure::new(USAGE, error).hint("a codec and its level are written lz4:17 or zstd:1"))
}

/// The kernel's codecs among those that were asked for; it has them at its own levels only.
fn kernel_plan(args: &CodecsArgs) -> Result<Option<KernelPlan>, Failure> {
    if !args.kernel {
        return Ok(None);
    }
    let own = |name: &String| match name.parse::<CodecSetting>() {
        Ok(setting) => setting.is_default().then(|| setting.codec().zswap.or(setting.codec().zram)).flatten().map(str::to_owned),
        Err(_) => Some(name.clone()),
    };
    let only: Vec<String> = args.codec.iter().filter_map(own).collect();
    if only.is_empty() && !args.codec.is_empty() {
        let message = format!("--kernel: the kernel has none of {} at its own level", args.codec.join(", "));
        return Err(Failure::new(USAGE, message).hint(format!("it may have {}", NAMES.join(", "))));
    }
    Ok(Some(KernelPlan { only, folder: args.dir.clone() }))
}

/// 1, 2, 4, … and the number itself.
fn counts(most: usize) -> Vec<usize> {
    let doubled = std::iter::successors(Some(1_usize), |threads| threads.checked_mul(2));
    doubled.take_while(|threads| *threads < most).chain([most]).collect()
}

/// What to type to measure the same again.
fn command(args: &CodecsArgs) -> String {
    let mut words = format!("swaptune bench codecs --pages-of {} --pages {}", args.pages_of, args.pages);
    if !args.codec.is_empty() {
        words += &format!(" --codec {}", args.codec.join(","));
    }
    if let Some(threads) = args.threads {
        words += &format!(" --threads {threads}");
    }
    if args.same_filled {
        words += " --same-filled";
    }
    if args.kernel {
        words += &format!(" --kernel --dir {}", args.dir.display());
    }
    words + &format!(" --seconds {}", args.seconds)
}

impl From<SourceError> for Failure {
    fn from(error: SourceError) -> Self {
        Self::new(USAGE, format!("--pages-of: {error}"))
            .hint("for example --pages-of live, --pages-of synthetic:text, or --pages-of /usr/lib")
    }
}

impl From<PagesError> for Failure {
    fn from(error: PagesError) -> Self {
        Self::new(USAGE, format!("--pages-of: {error}"))
    }
}

impl From<KernelError> for Failure {
    fn from(error: KernelError) -> Self {
        match error {
            KernelError::Temporary(error) => error.into(),
            error => Self::new(1, error),
        }
    }
}

impl From<BenchError> for Failure {
    fn from(error: BenchError) -> Self {
        Self::new(1, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_threads_double_up_to_the_last() {
        assert_eq!(counts(1), [1]);
        assert_eq!(counts(2), [1, 2]);
        assert_eq!(counts(6), [1, 2, 4, 6]);
        assert_eq!(counts(8), [1, 2, 4, 8]);
    }
}
