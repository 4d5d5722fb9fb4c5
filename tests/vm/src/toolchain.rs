//! The compiler of Debian stable, in a root of its own: it proves that its users can build swaptune, and it has a standard library for
//! each of Debian's architectures, which ours may lack.
//!
//! The root is cached; the sources are mounted into it and the crates are vendored, so that nothing in it needs a network. Needs root.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result, anyhow, bail, ensure};

use crate::command::{command, run};
use crate::{apt, cache};

/// Debian stable.
const SUITE: &str = "trixie";

/// An architecture that swaptune is built for, on x86_64.
#[derive(Debug, Clone, Copy)]
pub struct Cross {
    /// As Debian calls it.
    pub debian: &'static str,
    /// As Rust calls it.
    target: &'static str,
    /// What the programs of its compiler begin with.
    prefix: &'static str,
    /// Runs its programs here.
    pub emulator: &'static str,
}

/// All of them.
pub const CROSS: [Cross; 1] = [Cross {
    debian: "arm64",
    target: "aarch64-unknown-linux-gnu",
    prefix: "aarch64-linux-gnu",
    emulator: "qemu-aarch64-static",
}];

/// How it is built.
#[derive(Debug, Clone, Copy)]
enum Profile {
    Dev,
    Release,
}

impl Profile {
    /// As cargo calls it.
    const fn name(self) -> &'static str {
        match self {
            Self::Dev => "dev",
            Self::Release => "release",
        }
    }

    /// Where cargo puts what it built.
    const fn folder(self) -> &'static str {
        match self {
            Self::Dev => "debug",
            Self::Release => "release",
        }
    }
}

/// What was built for another architecture.
#[derive(Debug, Clone)]
pub struct Programs {
    /// swaptune.
    pub swaptune: PathBuf,
    /// The helper of guests.
    pub guest_tool: PathBuf,
}

impl Cross {
    /// The one that Debian calls so.
    pub fn named(name: &str) -> Result<Self> {
        let all: Vec<&str> = CROSS.iter().map(|cross| cross.debian).collect();
        match CROSS.into_iter().find(|cross| cross.debian == name) {
            Some(cross) => Ok(cross),
            None => bail!("unknown architecture {name}; expected one of {}", all.join(", ")),
        }
    }

    /// The programs that tests need, built once a process, unoptimised, for that is built sooner: what another processor does otherwise
    /// does not hang on the optimizer.
    pub fn programs(&self) -> Result<Programs> {
        static BUILT: OnceLock<Result<Programs, String>> = OnceLock::new();
        // One architecture for now, so one cell.
        let built = BUILT.get_or_init(|| self.build(Profile::Dev).map_err(|error| format!("{error:#}")));
        built.clone().map_err(|error| anyhow!("{error}"))
    }

    /// swaptune as it is released.
    ///
    /// # Errors
    ///
    /// When the root of its compiler or the program cannot be made.
    pub fn release(&self) -> Result<PathBuf> {
        Ok(self.build(Profile::Release)?.swaptune)
    }

    /// Builds swaptune and the helper of guests, linked statically and stripped.
    fn build(&self, profile: Profile) -> Result<Programs> {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR"))
            .ancestors()
            .nth(2)
            .context("this package lies two folders below the workspace")?;
        vendor(workspace)?;
        let root = self.root()?;
        let built = format!("target/cross/{}/{}", self.target, profile.folder());
        // The mount goes with its namespace, whatever happens to the build.
        let script = r#"mkdir -p "$1/src" && mount --bind "$2" "$1/src" && exec chroot "$1" /bin/sh -ec "$3""#;
        let inside = format!(
            "cd /src\n\
             export HOME=/src/target/cross CARGO_HOME=/src/target/cross/home CARGO_TARGET_DIR=/src/target/cross\n\
             export CARGO_INCREMENTAL=0 RUSTFLAGS='-C target-feature=+crt-static -C linker={prefix}-gcc'\n\
             cargo build --quiet --profile {profile} --offline --locked --target {target} \
             --package swaptune --bin swaptune --package swaptune-vm --bin guest-tool \
             --config 'source.crates-io.replace-with=\"vendored\"' --config 'source.vendored.directory=\"/src/target/vendor\"'\n\
             for program in swaptune guest-tool; do {prefix}-strip --strip-unneeded -o {built}/$program.stripped {built}/$program; done",
            prefix = self.prefix,
            target = self.target,
            profile = profile.name(),
        );
        let mut build = command("unshare");
        build.args(["--mount", "--propagation", "private", "sh", "-ec", script, "sh"]).arg(&root).arg(workspace).arg(inside);
        run(&mut build).with_context(|| format!("build for {} with the compiler of Debian {SUITE}", self.debian))?;
        let program = |name: &str| workspace.join(format!("{built}/{name}.stripped"));
        Ok(Programs { swaptune: program("swaptune"), guest_tool: program("guest-tool") })
    }

    /// A Debian with its compiler and the standard library of the architecture.
    fn root(&self) -> Result<PathBuf> {
        let Self { debian, prefix, .. } = self;
        let packages = format!("rustc,cargo,gcc,libc6-dev,libstd-rust-dev:{debian},gcc-{prefix},libc6-dev-{debian}-cross");
        let key = cache::hash(&format!("{SUITE} {packages}"));
        let folder = cache::entry(&format!("debian/rust-{debian}-{key}"), |target| {
            apt::Tree::open(SUITE)?;
            let mut mmdebstrap = command("mmdebstrap");
            mmdebstrap.args(["--quiet", "--mode=root", "--variant=minbase", "--format=directory"]);
            mmdebstrap.arg(format!("--architectures=amd64,{debian}")).arg(format!("--include={packages}"));
            for option in apt::system_options() {
                mmdebstrap.arg(format!("--aptopt={option}"));
            }
            run(mmdebstrap.arg(SUITE).arg(target.join("root")).arg(apt::source_line(SUITE)?))?;
            Ok(())
        })?;
        Ok(folder.join("root"))
    }
}

/// Puts the sources of all crates below the target folder.
fn vendor(workspace: &Path) -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    run(Command::new(cargo).current_dir(workspace).args(["vendor", "--quiet", "--locked", "target/vendor"]))?;
    ensure!(workspace.join("target/vendor").is_dir(), "target/vendor was not filled");
    Ok(())
}
