//! What tests put in the place of a kernel, and of a power cut.
//!
//! [`FixtureKernel`] makes a folder behave like a running machine, and [`KILL_AT`] names a checkpoint at which the process kills
//! itself. Nothing of this is in the program: a test links it and calls [`install`]; no flag, file or variable of the environment
//! can bring it into a program that was built without it. `swaptune/tests/release.rs` looks for its words in the program.

mod checkpoints;
mod image;
mod kernel;

use std::path::Path;

use swaptune_host::{checkpoint, kernel as host};

pub use checkpoints::{KILL_AT, KILL_GUARDIAN_AT, passed};
pub use image::debian_image;
pub use kernel::FixtureKernel;

/// From here on every folder is a running machine to this process, and a checkpoint may kill it.
pub fn install() {
    host::play_folders_in_tests(|root: &Path| Box::new(FixtureKernel::new(root)));
    checkpoint::watch_in_tests(checkpoints::pass);
}
