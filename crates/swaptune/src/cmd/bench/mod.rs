//! `swaptune bench`: one file per benchmark, and the results that are kept.

mod cipher;
mod codecs;
mod density;
mod disk;
mod list;
mod memory;
mod swap;
mod workload;

use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use swaptune_bench::conditions::other_swappable;
use swaptune_bench::process::HelperProgram;
use swaptune_bench::results::{ResultRecorder, Store, StoreError};
use swaptune_bench::space::SpaceWish;
use swaptune_core::escape::shell_word;
use swaptune_core::{Bytes, Facts};
use swaptune_host::child;

use super::Context;
use crate::cli::{BenchArgs, BenchCommand, ResultsArgs, TetheredArgs};
use crate::failure::{Failure, USAGE};
use crate::output;

/// Runs one benchmark, or shows what was measured.
pub fn run(context: &Context, args: &BenchArgs) -> Result<u8, Failure> {
    match &args.what {
        BenchCommand::Codecs(what) => codecs::run(context, &args.results, what),
        BenchCommand::Cipher => cipher::run(context, &args.results),
        BenchCommand::Disk(disk) => disk::run(context, &args.results, disk),
        BenchCommand::Memory(what) => memory::run(context, &args.results, what),
        BenchCommand::MemoryHelper(what) => memory::helper(what),
        BenchCommand::Density(what) => density::run(context, &args.results, what),
        BenchCommand::Tethered(what) => Err(become_command(what)),
        BenchCommand::Workload(what) => workload::run(what),
        BenchCommand::Swap(what) => swap::run(context, &args.results, what),
        BenchCommand::List => list::list(context, &args.results),
        BenchCommand::Show(which) => list::show(context, &args.results, which),
    }
}

/// The file of results that the flags name.
pub fn store(context: &Context, args: &ResultsArgs) -> Store {
    args.results.as_ref().map_or_else(|| Store::usual(&context.machine), Store::at)
}

/// A run that keeps its results as the flags say; `command` is what to type to repeat it.
pub fn recorder<'a>(context: &'a Context, args: &ResultsArgs, command: &str) -> Result<ResultRecorder<'a>, Failure> {
    let store = (!args.no_save).then(|| store(context, args));
    store.as_ref().map_or(Ok(()), Store::has_a_place)?;
    Ok(ResultRecorder::start(&context.machine, store, command, env!("SWAPTUNE_VERSION")))
}

/// Refuses a folder in the place of a machine.
pub fn needs_live(context: &Context) -> Result<(), Failure> {
    let refused = || Failure::new(USAGE, "a benchmark measures the machine that it runs on").hint("leave --root away");
    if context.machine.is_live() { Ok(()) } else { Err(refused()) }
}

/// Says before the work what else of this machine is swapped, where its memory is made small by holding the rest.
pub fn say_what_else_swaps(facts: &Facts, memory: Bytes, limit: SpaceWish) {
    if let Some(other) = other_swappable(facts, memory).filter(|_| limit != SpaceWish::Group) {
        output::message(&format!(
            "{other} of other memory (processes, tmpfs) can be swapped out: if the whole machine is made small, what is measured finds that much \
             more room than {memory}, and that much less swap"
        ));
    }
}

/// This program again with a hidden command; the link stands for it even when its file was replaced.
pub fn helper(what: &str) -> HelperProgram {
    HelperProgram { path: "/proc/self/exe".into(), arguments: vec!["bench".into(), what.into()] }
}

/// Becomes a command that dies with its parent and goes first when memory ends, once its parent says so; why it could not.
fn become_command(args: &TetheredArgs) -> Failure {
    let failed = |error: std::io::Error| Failure::new(1, error);
    // What it starts before it is in its group would stay outside of the limit.
    let ready = child::tether(args.parent).and_then(|()| child::wait_for_parent());
    if let Err(error) = ready.and_then(|()| if args.no_input { child::read_nothing() } else { Ok(()) }) {
        return failed(error);
    }
    let Some((program, arguments)) = args.command.split_first() else { return Failure::new(USAGE, "no command") };
    failed(Command::new(program).args(arguments).exec())
}

/// How a program that is missing is installed, package by package.
fn install(program: &str, debian: &str, fedora: &str, arch: &str) -> String {
    format!("install {program}: apt install {debian} (Debian, Ubuntu), dnf install {fedora} (Fedora), pacman -S {arch} (Arch)")
}

/// What was typed, to be typed again.
pub fn typed() -> String {
    // Not `args`, which ends the program at a name that is no UTF-8.
    let words = std::env::args_os().skip(1).map(|word| shell_word(word.as_bytes()));
    std::iter::once("swaptune".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::new(1, error).hint("--results FILE keeps results elsewhere, --no-save not at all")
    }
}
