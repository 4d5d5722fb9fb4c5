//! Programs from the registry that packages are made with, installed below target/ when they are asked for.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::succeed;

/// Where they are installed.
const ROOT: &str = "target/tools";

/// One of them.
pub struct Tool {
    name: &'static str,
    /// The series that the recipes here were written for.
    version: &'static str,
}

impl Tool {
    pub const DEB: Self = Self { name: "cargo-deb", version: "3" };
    pub const RPM: Self = Self { name: "cargo-generate-rpm", version: "0.21" };
    pub const BILL: Self = Self { name: "cargo-cyclonedx", version: "0.5" };

    /// Its file; installs it when it is missing.
    pub fn program(&self) -> anyhow::Result<PathBuf> {
        let file = std::env::current_dir()?.join(ROOT).join("bin").join(self.name);
        if !file.exists() {
            eprintln!("dist: {} is built first, which takes minutes", self.name);
            let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
            let version = format!("^{}", self.version);
            cargo.args(["install", "--quiet", "--locked", "--version", &version, "--root", ROOT, self.name]);
            // A folder of its own: the registry's lock file decides, and not the workspace's.
            cargo.arg("--target-dir").arg(Path::new(ROOT).join("build")).stdout(Stdio::null());
            succeed(&mut cargo)?;
        }
        Ok(file)
    }
}
