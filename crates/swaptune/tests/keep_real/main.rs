//! `swaptune daemon` where no control groups of version 2 are, on the running kernel with real swap: idle processes give memory, those
//! that are named or locked do not, and the pool is drained.
//!
//! All of it happens in mounts and process numbers of its own, so that the daemon sees no processes but ours, and its state folder is not
//! the machine's. Needs root and a machine without active swap; says so and is ignored otherwise.

mod pool;
mod processes;
mod world;

use std::path::Path;
use std::process::ExitCode;

use libtest_mimic::Failed;
use swaptune_trials::{TestResult, lacks, needing, run_one_by_one, swap_lock};

use world::{PLACE, ROLE, ready};

fn main() -> ExitCode {
    let folder = std::env::var(PLACE).unwrap_or_default();
    let folder = Path::new(&folder);
    match std::env::var(ROLE).as_deref() {
        Ok(processes::SLEEPER) => processes::sleep(),
        Ok(processes::NAME) => ended(processes::inside(folder)),
        Ok(pool::NAME) => ended(pool::inside(folder)),
        _ => {
            // What other tests of this project have on is not this machine's.
            let lock = swap_lock();
            let is_ours = lock.is_ok();
            let needs = move |more: fn() -> TestResult| {
                if is_ours { ready().and_then(|()| more()) } else { lacks("other tests of swap cannot be kept out") }
            };
            run_one_by_one(vec![
                needing(processes::NAME, move || needs(|| Ok(())), processes::outside),
                needing(pool::NAME, move || needs(pool::ready), pool::outside),
            ])
        }
    }
}

fn ended(result: Result<(), Failed>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failed) => {
            eprintln!("{}", failed.message().unwrap_or("failed"));
            ExitCode::FAILURE
        }
    }
}
