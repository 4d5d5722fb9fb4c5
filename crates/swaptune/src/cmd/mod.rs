//! One file per command. A command gathers facts, asks the core, and prints; it decides nothing.

pub mod apply;
pub mod bench;
pub mod change;
pub mod compare;
pub mod daemon;
pub mod device;
pub mod emit;
pub mod fleet;
pub mod history;
pub mod inspect;
pub mod knobs;
pub mod partial;
pub mod plan;
pub mod quickstart;
pub mod rollback;
pub mod sample;
pub mod service;
pub mod simulate;
pub mod status;
pub mod temporary;
pub mod unfinished;
pub mod verify;
pub mod watch;

use std::cell::OnceCell;
use std::path::Path;

use swaptune_host::aside::Aside;
use swaptune_host::machine::{self, Machine};

use crate::cli::Global;
use crate::failure::{Failure, USAGE};

/// What every command works on.
pub struct Context {
    /// The machine.
    pub machine: Machine,
    /// Print JSON.
    pub json: bool,
    /// Keeps a daemon from moving anything, once it was asked to.
    pub aside: OnceCell<Option<Aside>>,
}

impl Context {
    /// The machine that the global flags name.
    pub fn new(global: &Global) -> Result<Self, Failure> {
        let machine = match &global.root {
            None => Machine::live(),
            Some(root) => below(root)?,
        };
        Ok(Self { machine, json: global.json, aside: OnceCell::new() })
    }

    /// The folder that `--root` names.
    pub fn root(&self) -> Option<&Path> {
        (!self.machine.is_live()).then(|| self.machine.root())
    }
}

/// The machine below a folder. An empty folder is most often a mount that failed, and nothing is claimed about it.
fn below(root: &Path) -> Result<Machine, Failure> {
    let refused = |why: &str, hint: String| Err(Failure::new(USAGE, format!("--root {}: {why}", root.display())).hint(hint));
    if !root.is_dir() {
        return refused("not a folder", "name the folder that holds etc, proc and sys".into());
    }
    if root.canonicalize().is_ok_and(|real| real == Path::new("/")) {
        return refused("this is the running machine", "leave out --root".into());
    }
    let machine = Machine::at(root);
    if machine.is_one() {
        return Ok(machine);
    }
    let what = if root.read_dir().is_ok_and(|mut entries| entries.next().is_none()) { "an empty folder" } else { "no machine" };
    let why = format!("{what}: none of {} is in it", machine::MARKS.join(", "));
    refused(&why, format!("mount the image first (`findmnt {}` shows whether it is), or name its root folder", root.display()))
}
