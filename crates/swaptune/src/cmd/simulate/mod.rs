//! `swaptune simulate`: one file per subcommand.

mod convert;
mod fit;
mod items;
mod jobs;
mod measured;
mod replay;
mod request;
mod run;
mod trace_file;
mod traces;

use swaptune_tiers::generate::GENERATORS;
use swaptune_tiers::replay::REPLAYS;
use swaptune_tiers::trace::FORMATS;

use super::Context;
use crate::cli::{SimulateArgs, SimulateCommand};
use crate::failure::Failure;
use crate::output;

/// What a hint names where a name or a tiering is wrong.
const LIST: &str = "`swaptune simulate list` shows how tierings are written, and all names";

/// Answers one question.
pub fn run(context: &Context, args: &SimulateArgs) -> Result<u8, Failure> {
    match &args.what {
        SimulateCommand::Run(args) => run::run(context, args),
        SimulateCommand::Fit(args) => fit::run(context, args),
        SimulateCommand::Replay(args) => replay::run(context, args),
        SimulateCommand::Convert(args) => convert::run(context, args),
        SimulateCommand::Merge(args) => items::merge(context, args),
        SimulateCommand::List if context.json => {
            output::json_versioned(&output::simulate::names(&REPLAYS, &GENERATORS, &FORMATS)).map(|()| 0)
        }
        SimulateCommand::List => output::data(&output::simulate::list(&REPLAYS, &GENERATORS, &FORMATS)).map(|()| 0),
    }
}
