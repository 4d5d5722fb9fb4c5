//! The Debian package that goes into guests, made as a release makes it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use anyhow::{Context, Result, anyhow};

use crate::command::{command, run};

/// The package of this revision, for x86_64; made and checked once in a test run: guests side by side must not see it written anew.
pub fn deb(revision: u32) -> Result<PathBuf> {
    static MADE: Mutex<BTreeMap<u32, Result<PathBuf, String>>> = Mutex::new(BTreeMap::new());
    let mut made = MADE.lock().map_err(|_| anyhow!("a test panicked while it made the package"))?;
    let package = made.entry(revision).or_insert_with(|| make(revision).map_err(|error| format!("{error:#}")));
    package.clone().map_err(|error| anyhow!(error))
}

fn make(revision: u32) -> Result<PathBuf> {
    let workspace =
        Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).context("this package lies two folders below the workspace")?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut xtask = Command::new(cargo);
    xtask.current_dir(workspace).args(["xtask", "dist", "deb", &revision.to_string()]);
    let printed = run(&mut xtask).context("build the package")?;
    let name = printed.lines().last().context("`cargo xtask dist deb` prints the name of the package")?;
    let package = workspace.join(name);
    // Warnings stay: that a program is linked statically, and that its scripts ask systemd themselves, is meant.
    run(command("lintian").args(["--fail-on", "error", "--allow-root", "--tag-display-limit", "0"]).arg(&package))?;
    Ok(package)
}
