//! The Debian package that goes into guests, made as a release makes it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::command::{command, run};

/// The package of this revision, for x86_64.
pub fn deb(revision: u32) -> Result<PathBuf> {
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
