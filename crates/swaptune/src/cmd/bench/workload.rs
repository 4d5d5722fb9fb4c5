//! `swaptune bench workload`: what `compare --workload` runs.

use swaptune_bench::workload::{Ask, workload};

use crate::cli::WorkloadArgs;
use crate::failure::{Failure, USAGE};

/// Does its work.
pub fn run(args: &WorkloadArgs) -> Result<u8, Failure> {
    let row = workload(&args.name).ok_or_else(|| Failure::new(USAGE, format!("no workload `{}`", args.name)))?;
    let ask = Ask { size: args.size, seed: args.seed, folder: args.dir.clone() };
    (row.run)(&ask).map_err(|error| Failure::new(1, format!("{}: {error}", row.name)))?;
    Ok(0)
}
