//! The initramfs of a minimal guest: a busybox, some modules, some files, an init.
//!
//! Modules are picked by name with their dependencies and decompressed, because
//! busybox reads no xz. A name that the kernel does not have as a module
//! (built in, or gone) is skipped: one list serves all versions. The module
//! copy is cached per kernel and list; the archive itself is built per guest.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::apt;
use crate::architecture::{AMD64, Architecture};
use crate::cache;
use crate::command::{command, find_program, run};
use crate::kernels::{Tree, index_modules};

/// Modules that every minimal guest carries.
pub const MODULES: [&str; 31] = [
    "virtio_pci",
    "virtio_console",
    "virtio_blk",
    "zsmalloc",
    "z3fold",
    "zbud",
    "zram",
    "lz4",
    "lz4hc",
    "zstd",
    "lzo",
    "lzo-rle",
    "842",
    "deflate",
    "lz4_compress",
    "lz4hc_compress",
    "zstd_compress",
    "crypto_zstd",
    "crypto_lz4",
    "loop",
    "dm-crypt",
    "xts",
    "aes_generic",
    "essiv",
    "authenc",
    "ext4",
    "crc32c_generic",
    "algif_skcipher",
    "xfs",
    "btrfs",
    "crc32c-cryptoapi",
];

/// What goes into one initramfs.
pub struct Contents<'a> {
    /// The kernel whose modules are taken.
    pub tree: &'a Tree,
    /// Further modules beside [`MODULES`].
    pub modules: &'a [String],
    /// Files from the host: source and absolute path in the guest.
    pub files: &'a [(PathBuf, String)],
    /// Scripts and other texts: absolute path in the guest and text; all executable.
    pub texts: &'a [(String, String)],
}

impl Contents<'_> {
    /// Builds the archive `target`, using `work` for the files before they are packed.
    pub fn build(&self, work: &Path, target: &Path) -> Result<()> {
        let root = work.join("root");
        for folder in ["bin", "sbin", "usr/bin", "usr/sbin", "etc", "boot", "lib", "root"] {
            fs::create_dir_all(root.join(folder))?;
        }
        place(&root, &busybox(self.tree.kernel.architecture)?, "/bin/busybox")?;
        place(&root, &self.tree.config, &format!("/boot/config-{}", self.tree.release))?;
        for (source, path) in self.files {
            place(&root, source, path)?;
        }
        for (path, text) in self.texts {
            write_executable(&inside(&root, path), text)?;
        }
        run(command("cp").args(["-a", "--"]).arg(self.modules()?.join("lib/modules")).arg(root.join("lib/")))?;
        archive(&root, target)
    }

    /// The decompressed modules of this kernel, indexed; cached by list.
    fn modules(&self) -> Result<PathBuf> {
        let mut names: Vec<&str> = MODULES.to_vec();
        names.extend(self.modules.iter().map(String::as_str));
        let key = cache::hash(&format!("{} {}", self.tree.release, names.join(" ")));
        let name = format!("modules/{}-{key}", self.tree.kernel.name);
        cache::entry(&name, |target| copy_modules(self.tree, &names, target))
    }
}

/// A static busybox: this machine's own, or one of Debian stable.
fn busybox(architecture: Architecture) -> Result<PathBuf> {
    if architecture == AMD64 {
        return find_program("busybox").context("busybox is missing");
    }
    let folder = cache::entry(&format!("programs/busybox-{}", architecture.debian), |target| {
        apt::Tree::open_for("trixie", architecture.debian)?.unpack(&["busybox-static".to_owned()], target)
    })?;
    let places = ["usr/bin/busybox", "bin/busybox"].map(|place| folder.join(place));
    places.into_iter().find(|file| file.exists()).context("busybox-static has no busybox")
}

fn copy_modules(tree: &Tree, names: &[&str], target: &Path) -> Result<()> {
    let relative = Path::new("lib/modules").join(&tree.release);
    fs::create_dir_all(target.join(&relative))?;
    let files: BTreeSet<PathBuf> = names.iter().flat_map(|name| module_files(tree, name)).collect();
    for file in &files {
        let copy = target.join(file.strip_prefix(&tree.base)?);
        let parent = copy.parent().context("a module lies in a folder")?;
        fs::create_dir_all(parent)?;
        decompress(file, &copy)?;
    }
    for list in ["modules.builtin", "modules.order", "modules.builtin.modinfo"] {
        let source = tree.base.join(&relative).join(list);
        if source.exists() {
            fs::copy(source, target.join(&relative).join(list))?;
        }
    }
    index_modules(target, &tree.release)
}

/// A module and what it needs, in load order; nothing when the kernel does not have it.
fn module_files(tree: &Tree, name: &str) -> Vec<PathBuf> {
    let listing = run(command("modprobe").arg("-d").arg(&tree.base).args(["-S", &tree.release, "--show-depends", name]));
    listing
        .unwrap_or_default()
        .lines()
        .filter_map(|line| line.strip_prefix("insmod "))
        .filter_map(|rest| rest.split_whitespace().next())
        .map(PathBuf::from)
        .collect()
}

fn decompress(module: &Path, copy: &Path) -> Result<()> {
    let (program, plain) = match module.extension().and_then(|end| end.to_str()) {
        Some("xz") => ("xz", copy.with_extension("")),
        Some("zst") => ("zstd", copy.with_extension("")),
        _ => {
            fs::copy(module, copy)?;
            return Ok(());
        }
    };
    let output = File::create(&plain)?;
    let status = command(program)
        .args(["-q", "-d", "-c", "--"])
        .arg(module)
        .stdout(output)
        .status()
        .with_context(|| format!("start {program}"))?;
    ensure!(status.success(), "could not unpack {}", module.display());
    Ok(())
}

/// Packs a folder as an uncompressed newc archive: it is built faster than it would be compressed.
fn archive(root: &Path, target: &Path) -> Result<()> {
    let names = run(Command::new("find").arg(".").current_dir(root))?;
    let mut cpio = command("cpio")
        .args(["--quiet", "-o", "-H", "newc", "-R", "0:0"])
        .current_dir(root)
        .stdin(Stdio::piped())
        .stdout(File::create(target)?)
        .spawn()
        .context("start cpio")?;
    cpio.stdin.take().context("cpio has an input")?.write_all(names.as_bytes())?;
    ensure!(cpio.wait()?.success(), "cpio failed");
    Ok(())
}

fn place(root: &Path, source: &Path, path: &str) -> Result<()> {
    let target = inside(root, path);
    let parent = target.parent().context("a file lies in a folder")?;
    fs::create_dir_all(parent)?;
    fs::copy(source, &target).with_context(|| format!("copy {} to {path}", source.display()))?;
    Ok(())
}

fn write_executable(file: &Path, text: &str) -> Result<()> {
    let parent = file.parent().context("a file lies in a folder")?;
    fs::create_dir_all(parent)?;
    fs::write(file, text)?;
    fs::set_permissions(file, fs::Permissions::from_mode(0o755))?;
    Ok(())
}

fn inside(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}
