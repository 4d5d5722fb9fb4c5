//! Kernels of Debian's archive, unpacked and ready to boot.
//!
//! A [`Kernel`] is a row of a table: suite and package. [`Kernel::fetch`] brings
//! it into the cache once and gives a [`Tree`]: where its image is, where its
//! modules are, its release. Contents of suites move, so no row names a full
//! version: the metapackage's candidate decides, or the newest package whose
//! name starts with a series (backports keeps old ones around).

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::apt;
use crate::architecture::{AMD64, ARM64, Architecture};
use crate::cache;
use crate::command::{command, run};

/// One row of the table of kernels.
#[derive(Debug, Clone, Copy)]
pub struct Kernel {
    /// Short name, used in test names.
    pub name: &'static str,
    /// Debian suite.
    pub suite: &'static str,
    /// Metapackage of the flavour, and the fall-back when the series is gone.
    pub metapackage: &'static str,
    /// Start of the names of the images that are preferred to the metapackage's.
    pub series: Option<&'static str>,
    /// Whether the flavour is built with zswap.
    pub zswap: bool,
    /// The processors that it is for.
    pub architecture: Architecture,
    /// When a run takes it.
    pub run: Run,
}

/// When a kernel is part of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Run {
    /// Always: its suite stays.
    Default,
    /// With `SWAPTUNE_VM_NEWEST` set: its suite moves every day.
    Newest,
    /// Only when it is asked for (`--ignored`): it shows little that the others do not.
    OnRequest,
}

/// What an image of 6.19 and later depends on: binary, modules, and its configuration.
const PARTS: [&str; 3] = ["linux-binary-", "linux-modules-", "linux-base-"];

const GENERIC: &str = "linux-image-amd64";
const CLOUD: &str = "linux-image-cloud-amd64";

const fn stable(name: &'static str, suite: &'static str, metapackage: &'static str) -> Kernel {
    Kernel { name, suite, metapackage, series: None, zswap: true, architecture: AMD64, run: Run::Default }
}

/// All kernels that the tests know.
pub const KERNELS: [Kernel; 9] = [
    stable("6.1", "bookworm", GENERIC),
    stable("6.12", "trixie", GENERIC),
    Kernel { series: Some("linux-image-6.18."), ..stable("6.18", "trixie-backports", GENERIC) },
    // Debian's cloud flavour has no zswap up to 6.18: the natural guest for "this kernel has none".
    Kernel { zswap: false, ..stable("6.1-cloud", "bookworm", CLOUD) },
    Kernel { zswap: false, run: Run::OnRequest, ..stable("6.12-cloud", "trixie", CLOUD) },
    Kernel { run: Run::OnRequest, ..stable("5.10", "bullseye", GENERIC) },
    Kernel { run: Run::Newest, ..stable("backports", "trixie-backports", GENERIC) },
    Kernel { run: Run::Newest, ..stable("sid-cloud", "sid", CLOUD) },
    Kernel { run: Run::Newest, ..stable("experimental-cloud", "experimental", CLOUD) },
];

/// Pages of 16 KiB, as a Raspberry Pi 5 has them, and another processor.
pub const LARGE_PAGES: Kernel = Kernel { architecture: ARM64, ..stable("6.12-arm64-16k", "trixie", "linux-image-arm64-16k") };

/// An unpacked kernel.
#[derive(Debug, Clone)]
pub struct Tree {
    /// The row it came from.
    pub kernel: Kernel,
    /// The release, as `uname -r` says it.
    pub release: String,
    /// The bootable image.
    pub image: PathBuf,
    /// What `depmod -b` and `modprobe -d` want: the folder that holds `lib/modules`.
    pub base: PathBuf,
    /// The build configuration.
    pub config: PathBuf,
}

impl Kernel {
    /// Looks a row up by its short name.
    pub fn named(name: &str) -> Result<Self> {
        KERNELS.into_iter().find(|kernel| kernel.name == name).with_context(|| format!("no kernel is named {name}"))
    }

    /// Whether this run leaves the kernel out unless ignored tests are asked for.
    pub fn left_out(&self) -> bool {
        match self.run {
            Run::Default => false,
            Run::Newest => std::env::var_os("SWAPTUNE_VM_NEWEST").is_none(),
            Run::OnRequest => true,
        }
    }

    /// Brings the kernel into the cache, unless it is there, and locates its parts.
    pub fn fetch(&self) -> Result<Tree> {
        let folder = cache::entry(&format!("kernels/{}", self.name), |target| {
            let tree = apt::Tree::open_for(self.suite, self.architecture.debian)?;
            let packages = self.packages(&tree)?;
            tree.unpack(&packages, target)?;
            let found = locate(*self, target)?;
            index_modules(&found.base, &found.release)
        })?;
        locate(*self, &folder)
    }

    /// The packages to unpack: the image and, for split kernels, its binary and its modules.
    fn packages(&self, tree: &apt::Tree) -> Result<Vec<String>> {
        for image in self.candidates(tree)? {
            let mut packages = vec![image.clone()];
            packages.extend(tree.depends(&image)?.into_iter().filter(|name| PARTS.iter().any(|start| name.starts_with(start))));
            let mut whole = true;
            for package in &packages {
                whole &= tree.has_candidate(package)?;
            }
            if whole {
                return Ok(packages);
            }
        }
        bail!("{}: {} has no kernel with modules", self.name, self.suite)
    }

    /// Images in order of preference.
    fn candidates(&self, tree: &apt::Tree) -> Result<Vec<String>> {
        let mut images = match self.series {
            Some(series) => tree.names(series, "-amd64")?,
            None => Vec::new(),
        };
        images.retain(|name| !name.contains("-cloud-") && !name.contains("-rt-"));
        images.extend(tree.depends(self.metapackage)?.into_iter().filter(|name| name.starts_with("linux-image-")));
        Ok(images)
    }
}

impl Tree {
    /// Major and minor version, for expectations that depend on it.
    pub fn version(&self) -> (u32, u32) {
        let mut numbers = self.release.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok());
        (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default())
    }
}

/// Writes modules.dep and its companions, which the packages leave to the installation.
pub fn index_modules(base: &Path, release: &str) -> Result<()> {
    run(command("depmod").arg("-b").arg(base).arg(release))?;
    Ok(())
}

/// Finds image, modules and configuration; split kernels (6.19+) keep all three in /usr/lib/modules.
fn locate(kernel: Kernel, folder: &Path) -> Result<Tree> {
    for base in [folder.to_path_buf(), folder.join("usr")] {
        let Ok(entries) = fs::read_dir(base.join("lib/modules")) else {
            continue;
        };
        for entry in entries.flatten() {
            let release = entry.file_name().to_string_lossy().into_owned();
            let first = |files: [PathBuf; 2]| files.into_iter().find(|file| file.exists());
            let image = first([folder.join(format!("boot/vmlinuz-{release}")), entry.path().join("vmlinuz")]);
            let config = first([folder.join(format!("boot/config-{release}")), entry.path().join("config")]);
            if let (Some(image), Some(config), true) = (image, config, entry.path().join("kernel").is_dir()) {
                return Ok(Tree { kernel, release, image, base, config });
            }
        }
    }
    bail!("{}: no bootable kernel in {}", kernel.name, folder.display())
}
