//! `swaptune bench codecs`.

use std::thread::available_parallelism;
use std::time::Duration;

use swaptune_bench::codec::{Setting, SettingError};
use swaptune_bench::codecs::{BenchError, Pages, PagesError, Plan, Source, SourceError, USUAL, measure, verdicts};
use swaptune_core::Bytes;
use swaptune_core::measurement::Figures;
use swaptune_host::inspect::{Scope, inspect};

use super::recorder;
use crate::cli::{CodecsArgs, ResultsArgs};
use crate::cmd::Context;
use crate::failure::{Failure, USAGE};
use crate::output::progress::Progress;
use crate::output::{self, codecs, text};

/// Codecs whose speed on several threads is shown when none are named.
const SCALED: &[&str] = &["memcpy", "lz4", "zstd"];

/// Only the parts that say which codecs the kernel has.
const SCOPE: Scope = Scope { log: false, config: true, boot: false, initramfs_contents: false, managers: false, files: false };

/// Measures, keeps, and prints a table.
pub fn run(context: &Context, results: &ResultsArgs, args: &CodecsArgs) -> Result<u8, Failure> {
    if !context.machine.is_live() {
        return Err(Failure::new(USAGE, "--root: a benchmark measures the machine that it runs on"));
    }
    let pool: Bytes = args.pool.parse().map_err(|error| Failure::new(USAGE, format!("--pool: {error}")))?;
    let plan = plan(args)?;
    let source: Source = args.pages_of.parse()?;
    let pages = Pages::load(&context.machine, &source, args.pages as usize, args.same_filled)?;
    let facts = inspect(&context.machine, SCOPE);
    let mut recorder = recorder(context, results, &command(args));
    let rows = {
        let progress = Progress::start();
        measure(&plan, &pages, &facts, |job, done, of| {
            progress.show(&format!("{} on {}", job.setting, text::count(job.threads, "thread")), done, of);
        })?
    };
    let measurements = recorder.record_all(rows.iter().map(|row| Figures::Codec(row.figures.clone())))?;
    let verdicts = verdicts(&rows[..plan.settings.len()]);
    if context.json {
        return output::json_versioned(&codecs::json(&pages, &measurements, &verdicts)).map(|()| 0);
    }
    output::data(&codecs::table(&pages, &rows, &verdicts, pool))?;
    Ok(0)
}

fn plan(args: &CodecsArgs) -> Result<Plan, Failure> {
    let asked: Vec<&str> = args.codec.iter().map(String::as_str).collect();
    let (names, scaled) = if asked.is_empty() { (USUAL, SCALED) } else { (asked.as_slice(), asked.as_slice()) };
    let time = Duration::try_from_secs_f64(args.seconds).ok().filter(|time| *time <= Duration::from_secs(3600));
    let no_time = || Failure::new(USAGE, format!("--seconds {}: expected 0 to 3600", args.seconds));
    let most = args.threads.map_or_else(|| available_parallelism().map_or(1, usize::from), |threads| threads as usize);
    Ok(Plan { settings: settings(names)?, threads: counts(most), scaled: settings(scaled)?, time: time.ok_or_else(no_time)? })
}

fn settings(names: &[&str]) -> Result<Vec<Setting>, Failure> {
    let parsed: Result<Vec<Setting>, SettingError> = names.iter().map(|name| name.parse()).collect();
    parsed.map_err(|error| Failure::new(USAGE, error).hint("a codec and its level are written lz4:17 or zstd:1"))
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
