//! `swaptune bench memory`.

use std::io::{self, IsTerminal};
use std::time::Duration;

use swaptune_bench::memory::{self, HelperProgram, Hog, MemoryError, MemoryEvent, MemoryOptions, MemoryTurn};
use swaptune_core::measurement::{Measurement, MemoryData, MemoryOrder, ResultFigures};

use super::{needs_live, recorder, typed};
use crate::cli::{DataArg, MemoryArgs, MemoryHelperArgs, OrderArg, ResultsArgs};
use crate::cmd::Context;
use crate::failure::{FINDINGS, Failure, REFUSED, USAGE};
use crate::output;

/// Measures every pattern that was asked for, keeps each result, and prints a table.
pub fn run(context: &Context, results: &ResultsArgs, args: &MemoryArgs) -> Result<u8, Failure> {
    needs_live(context)?;
    let options = options(args)?;
    let mut recorder = recorder(context, results, &typed())?;
    let (mut measured, mut killed): (Vec<Measurement>, _) = (Vec::new(), 0);
    memory::run(&context.machine, &options, &program(), &mut |event| {
        match event {
            MemoryEvent::Begin { number, of, turn } => progress(number, of, turn),
            MemoryEvent::Measured(figures) => measured.push(recorder.record(ResultFigures::Memory(*figures))?),
            MemoryEvent::Killed { turn, why } => {
                killed += 1;
                output::message(&format!("warning: {}: {why}", words(turn)));
            }
        }
        Ok(())
    })?;
    if context.json {
        output::json_versioned(&serde_json::json!({ "measurements": measured }))?;
    } else {
        output::data(&output::memory::table(&measured))?;
    }
    if killed > 0 {
        let message = format!("{} not measured", output::text::count(killed, "pattern"));
        return Err(
            Failure::new(FINDINGS, message).hint("give it more swap or a smaller --size; vm.page-cluster=0 reads nothing ahead")
        );
    }
    Ok(0)
}

/// The process that accesses or holds memory.
pub fn helper(args: &MemoryHelperArgs) -> Result<u8, Failure> {
    memory::serve(args.parent, io::stdin().lock(), io::stdout().lock()).map_err(|error| Failure::new(1, error))?;
    Ok(0)
}

/// This program again; the link stands for it even when its file was replaced.
fn program() -> HelperProgram {
    HelperProgram { path: "/proc/self/exe".into(), arguments: vec!["bench".into(), "memory-helper".into()] }
}

fn options(args: &MemoryArgs) -> Result<MemoryOptions, Failure> {
    let swap = args.swap.as_deref().map(str::parse).transpose();
    let seconds = Duration::try_from_secs_f64(args.seconds).ok().filter(|time| !time.is_zero());
    Ok(MemoryOptions {
        size: args.size,
        data: args.data.iter().map(|data| (*data).into()).collect(),
        orders: args.order.iter().map(|order| (*order).into()).collect(),
        write: args.write,
        blocks: args.block.clone(),
        threads: args.threads.clone(),
        limit: args.limit,
        hog: args.hog.map(|size| size.map_or(Hog::Most, Hog::Size)),
        time: seconds.ok_or_else(|| Failure::new(USAGE, format!("--seconds {}: not a time to measure", args.seconds)))?,
        swap: swap.map_err(|why: String| Failure::new(USAGE, format!("--swap: {why}")))?,
        swap_folder: args.swap_dir.clone(),
    })
}

fn progress(number: usize, of: usize, turn: &MemoryTurn) {
    if io::stderr().is_terminal() {
        output::message(&format!("{number}/{of}  {}", words(turn)));
    }
}

fn words(turn: &MemoryTurn) -> String {
    let (pattern, how) = (&turn.pattern, if turn.pressed { "under pressure" } else { "in RAM" });
    let access = if pattern.write { "writes" } else { "reads" };
    let (data, order, block) = (output::memory::data(pattern.data), output::memory::order(pattern.order), pattern.block);
    format!("{order} {access} of {data} data, {block} at a time, {how}")
}

impl From<DataArg> for MemoryData {
    fn from(data: DataArg) -> Self {
        match data {
            DataArg::High => Self::High,
            DataArg::Low => Self::Low,
            DataArg::Zero => Self::Zero,
        }
    }
}

impl From<OrderArg> for MemoryOrder {
    fn from(order: OrderArg) -> Self {
        match order {
            OrderArg::Sequential => Self::Sequential,
            OrderArg::Random => Self::Random,
        }
    }
}

impl From<MemoryError> for Failure {
    fn from(error: MemoryError) -> Self {
        match &error {
            MemoryError::Usage { hint, .. } => Self::new(USAGE, &error).hint(hint),
            MemoryError::Refused { hint, .. } => Self::new(REFUSED, &error).hint(hint),
            MemoryError::Group(group) => Self::new(REFUSED, &error).hint(group.hint()),
            MemoryError::Temporary(temporary) => Self::new(temporary.exit_code(), &error).hint(temporary.hint()),
            MemoryError::Killed(_) => Self::new(FINDINGS, format!("the hog: {error}")).hint("name a smaller --hog=SIZE"),
            MemoryError::Helper(_) => Self::new(FINDINGS, &error),
            MemoryError::Store(_) => Self::new(1, &error).hint("--results FILE keeps results elsewhere, --no-save not at all"),
        }
    }
}
