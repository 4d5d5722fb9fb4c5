//! `swaptune fleet`: many machines, from what was kept of each.

mod plan;
mod report;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use serde::de::DeserializeOwned;

use super::Context;
use crate::cli::{FleetArgs, FleetCommand};
use crate::failure::{Failure, USAGE};
use crate::output::fleet::Unread;
use crate::output::progress::ProgressLine;

/// Does what was asked for.
pub fn run(context: &Context, args: &FleetArgs) -> Result<u8, Failure> {
    match &args.what {
        FleetCommand::Plan(args) => plan::run(context, args),
        FleetCommand::Report(args) => report::run(context, args),
    }
}

/// The files that were named, and those in folders that were, by name.
fn files(named: &[PathBuf], hint: &str) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for path in named {
        let failed = |error: std::io::Error| Failure::new(USAGE, format!("{}: {error}", path.display()));
        if !fs::metadata(path).map_err(failed)?.is_dir() {
            files.push(path.clone());
            continue;
        }
        let entries = fs::read_dir(path).map_err(failed)?.collect::<Result<Vec<_>, _>>().map_err(failed)?;
        let is_kept = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "json");
        let before = files.len();
        files.extend(entries.into_iter().map(|entry| entry.path()).filter(is_kept));
        if files.len() == before {
            let failure = Failure::new(USAGE, format!("{}: no file NAME.json in this folder", path.display()));
            return Err(failure.hint(hint));
        }
    }
    files.sort();
    files.dedup();
    Ok(files)
}

/// Reasons that are told beside the first where no file can be read.
const OTHERS: usize = 4;

/// Makes something of every file on all processors, a file at a time in each thread, and adds it up; what could not be read is told of.
///
/// # Errors
/// When no file can be read: then it is wrong what was asked for.
fn sum<Sum: Default + Send, One>(
    files: &[PathBuf],
    what: &str,
    one: impl Fn(&Path) -> Result<One, String> + Sync,
    add: impl Fn(&mut Sum, &str, One) + Sync,
) -> Result<(Sum, Vec<Unread>), Failure> {
    let (next, progress) = (AtomicUsize::new(0), ProgressLine::start());
    let summed = Mutex::new((Sum::default(), Vec::<Unread>::new()));
    let work = || {
        while let Some(path) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            let found = one(path);
            let mut summed = summed.lock().unwrap_or_else(PoisonError::into_inner);
            match found {
                Ok(one) => add(&mut summed.0, &name(path, files), one),
                Err(why) => summed.1.push(Unread { file: path.clone(), why }),
            }
            progress.show(what, next.load(Ordering::Relaxed).min(files.len()), files.len());
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    let (sum, mut unread) = summed.into_inner().unwrap_or_else(PoisonError::into_inner);
    unread.sort_by(|a, b| a.file.cmp(&b.file));
    match &unread[..] {
        [first, others @ ..] if unread.len() == files.len() => {
            let differ = others.iter().filter(|other| other.why != first.why);
            let why = |other: &Unread| format!("; {}: {}", other.file.display(), other.why);
            let others: String = differ.take(OTHERS).map(why).collect();
            Err(Failure::new(USAGE, format!("{}: {}{others}", first.file.display(), first.why)))
        }
        _ => Ok((sum, unread)),
    }
}

/// What a file holds, or why it does not.
fn kept<T: DeserializeOwned>(path: &Path, what: &str) -> Result<T, String> {
    let text = fs::read(path).map_err(|error| error.to_string())?;
    serde_json::from_slice(&text).map_err(|error| format!("no {what}: {error}"))
}

/// A machine by the name of its file, with the folder where another one has that name too.
fn name(path: &Path, files: &[PathBuf]) -> String {
    let is_alone = files.iter().filter(|other| other.file_stem() == path.file_stem()).count() < 2;
    let name = if is_alone { path.file_stem().map(Path::new) } else { None };
    name.unwrap_or(&path.with_extension("")).display().to_string()
}
