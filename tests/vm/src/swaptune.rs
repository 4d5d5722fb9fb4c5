//! The programs that go into guests, linked statically.
//!
//! Guests have no libraries that could be relied on: a busybox, or a Debian
//! older or newer than the host. They are built by cargo with a static
//! C library into a target folder of their own, because other flags would
//! otherwise rebuild everything in the usual one.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result, anyhow, ensure};

use crate::command::{last_lines, run};

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// The swaptune program; `SWAPTUNE_VM_BINARY` names one that is ready.
pub fn binary() -> Result<PathBuf> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    if let Some(ready) = std::env::var_os("SWAPTUNE_VM_BINARY") {
        return Ok(ready.into());
    }
    once(&BUILT, "swaptune", Kind::Program("swaptune"))
}

/// The helper program of the guests (`guest-tool`).
pub fn guest_tool() -> Result<PathBuf> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    once(&BUILT, "swaptune-vm", Kind::Program("guest-tool"))
}

/// The program that compares the simulator with a kernel.
pub fn validate() -> Result<PathBuf> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    once(&BUILT, "swaptune-validate", Kind::Program("swaptune-validate"))
}

/// The program that compares the pool of zswap with its prediction (`pool_size`, an example of `crates/bench`).
pub fn pool_size() -> Result<PathBuf> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    once(&BUILT, "swaptune-bench", Kind::Example("pool_size"))
}

/// Whether the program already knows a command: guests for a missing one are ignored by name.
pub fn knows(command: &str) -> Result<bool> {
    let program = binary()?;
    let output =
        Command::new(&program).args([command, "--help"]).output().with_context(|| format!("start {}", program.display()))?;
    // A program that ignores its arguments succeeds as well, but says nothing.
    let help = String::from_utf8_lossy(&output.stdout);
    Ok(output.status.success() && help.contains("Usage:"))
}

/// What of a package is built.
#[derive(Clone, Copy)]
enum Kind {
    Program(&'static str),
    Example(&'static str),
}

fn once(cell: &OnceLock<Result<PathBuf, String>>, package: &str, kind: Kind) -> Result<PathBuf> {
    cell.get_or_init(|| build(package, kind).map_err(|error| format!("{error:#}")))
        .clone()
        .map_err(|error| anyhow!("{}", last_lines(&error, 40)))
}

fn build(package: &str, kind: Kind) -> Result<PathBuf> {
    let (flag, program, folder) = match kind {
        Kind::Program(name) => ("--bin", name, "release"),
        Kind::Example(name) => ("--example", name, "release/examples"),
    };
    let workspace =
        Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).context("this package lies two folders below the workspace")?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace.join("target"), PathBuf::from).join("static");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    run(Command::new(cargo)
        // As a release is built (`cargo xtask dist`), so that guests run what is shipped, built once.
        .args(["build", "--quiet", "--release", "--locked", "--target", TARGET])
        .args(["--package", package, flag, program])
        .current_dir(workspace)
        .env("CARGO_TARGET_DIR", &target)
        .env("RUSTFLAGS", "-C target-feature=+crt-static")
        .env_remove("CARGO_ENCODED_RUSTFLAGS"))
    .with_context(|| format!("build the static {program}"))?;
    let file = target.join(TARGET).join(folder).join(program);
    ensure!(file.exists(), "{} was not built", file.display());
    Ok(file)
}
