//! One file per command. A command gathers facts, asks the core, and prints; it decides nothing.

pub mod apply;
pub mod bench;
pub mod change;
pub mod history;
pub mod inspect;
pub mod knobs;
pub mod plan;
pub mod rollback;
pub mod sample;
pub mod scratch;
pub mod service;
pub mod simulate;
pub mod status;
pub mod unfinished;
pub mod verify;

use swaptune_host::machine::Machine;

use crate::cli::Global;
use crate::failure::{Failure, USAGE};

/// What every command works on.
pub struct Context {
    /// The machine.
    pub machine: Machine,
    /// Print JSON.
    pub json: bool,
}

impl Context {
    /// The machine that the global flags name.
    pub fn new(global: &Global) -> Result<Self, Failure> {
        let machine = match &global.root {
            None => Machine::live(),
            Some(root) if root.is_dir() => Machine::at(root),
            Some(root) => {
                let message = format!("--root {}: not a folder", root.display());
                return Err(Failure::new(USAGE, message).hint("name the folder that holds etc, proc and sys"));
            }
        };
        Ok(Self { machine, json: global.json })
    }
}
