//! Processors that a release is for, and how the program is built for each: linked statically with glibc, so that one file runs on every
//! distribution, in an initramfs and in a rescue system. Not with musl: no compiler that Debian packages has a standard library for it.
//! What glibc cannot do statically, looking up hosts and users by their names, the program does not need.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::succeed;

/// A kind of processor.
pub struct Architecture {
    /// As `uname -m` and rpm call it.
    pub name: &'static str,
    /// As Debian calls it.
    pub debian: &'static str,
    /// As Rust calls it.
    pub target: &'static str,
}

/// All of them; the first is the one that tests run on.
pub const ARCHITECTURES: [Architecture; 2] = [
    Architecture { name: "x86_64", debian: "amd64", target: "x86_64-unknown-linux-gnu" },
    Architecture { name: "aarch64", debian: "arm64", target: "aarch64-unknown-linux-gnu" },
];

impl Architecture {
    /// Builds the program, stripped.
    pub fn build(&self, program: &Path) -> anyhow::Result<()> {
        if self.name != std::env::consts::ARCH {
            return self.cross(program);
        }
        succeed(Command::new("strip").args(["--strip-unneeded", "-o"]).arg(program).arg(self.native()?))
    }

    /// In a target folder of its own, for other flags would build everything in the usual one anew; the guests run the same file.
    fn native(&self) -> anyhow::Result<PathBuf> {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["build", "--quiet", "--release", "--locked", "--target", self.target, "--package", "swaptune"]);
        cargo.args(["--bin", "swaptune", "--target-dir", "target/static"]);
        succeed(cargo.env("RUSTFLAGS", "-C target-feature=+crt-static").env_remove("CARGO_ENCODED_RUSTFLAGS"))?;
        Ok(Path::new("target/static").join(self.target).join("release/swaptune"))
    }

    /// By the compiler of Debian stable, which has a standard library for every architecture of Debian.
    fn cross(&self, program: &Path) -> anyhow::Result<()> {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["run", "--quiet", "--package", "swaptune-vm", "--bin", "cross-build", "--", self.debian]).arg(program);
        succeed(&mut cargo)
    }
}
