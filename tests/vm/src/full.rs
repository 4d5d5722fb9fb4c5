//! The full guest: a real Debian on its own disk, booted as often as a test wants.
//!
//! Every boot is a fresh QEMU on the same image: a "reboot" is a clean power-off
//! and the next [`Full::boot`]. The payload of a boot (a script and files) comes in
//! as a tar on the second disk. About 45 s from QEMU's start to the script.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use tempfile::TempDir;

use crate::architecture::AMD64;
use crate::cache;
use crate::command::{command, run};
use crate::image::Loader;
use crate::mounted::Mounted;
use crate::outcome::Outcome;
use crate::qemu::{Boot, Drive, Limits, Machine, Running, sparse_disk};

/// A guest with a disk that keeps its content from boot to boot.
pub struct Full {
    disk: PathBuf,
    loader: Loader,
    work: TempDir,
    files: Vec<(PathBuf, String)>,
    spares: Vec<PathBuf>,
    pulled: Vec<usize>,
    ssh: Option<u16>,
    limits: Limits,
}

impl Full {
    /// A guest that works on a copy of the image.
    pub fn copy_of(image: &Path, name: &str, loader: Loader) -> Result<Self> {
        let work = cache::work_folder(name)?;
        let disk = work.path().join("disk");
        copy_sparse(image, &disk)?;
        Ok(Self::with(disk, loader, work))
    }

    /// A guest that works on the image itself.
    pub fn on(disk: PathBuf, name: &str, loader: Loader) -> Result<Self> {
        Ok(Self::with(disk, loader, cache::work_folder(name)?))
    }

    fn with(disk: PathBuf, loader: Loader, work: TempDir) -> Self {
        Self {
            disk,
            loader,
            work,
            files: Vec::new(),
            spares: Vec::new(),
            pulled: Vec::new(),
            ssh: None,
            limits: Limits { boot: Duration::from_secs(600), total: Duration::from_secs(1800) },
        }
    }

    /// Adds a file to every payload; the script finds it by this name in its working folder.
    pub fn file(mut self, source: impl Into<PathBuf>, name: &str) -> Self {
        self.files.push((source.into(), name.to_owned()));
        self
    }

    /// Adds a text to every payload.
    pub fn text(self, name: &str, text: &str) -> Result<Self> {
        let source = self.work.path().join(format!("text-{name}"));
        fs::write(&source, text)?;
        Ok(self.file(source, name))
    }

    /// Plugs a further blank disk in for the boots to come: /dev/vdc and on.
    pub fn plug(&mut self, mebibytes: u64) -> Result<()> {
        let file = self.work.path().join(format!("spare{}", self.spares.len()));
        sparse_disk(&file, mebibytes)?;
        self.spares.push(file);
        Ok(())
    }

    /// Pulls the further disks out.
    pub fn unplug(&mut self) {
        self.spares.clear();
    }

    /// Pulls one further disk out for the boots to come; those behind it get other names.
    pub fn pull(&mut self, number: usize) {
        self.pulled.push(number);
    }

    /// Plugs all that were pulled in again, as they were.
    pub fn plug_back(&mut self) {
        self.pulled.clear();
    }

    /// The image of a further disk on the host, to be looked at or damaged while the guest is off.
    pub fn spare(&self, number: usize) -> &Path {
        &self.spares[number]
    }

    /// Mounts the root file system on the host; the guest must be off until it is closed.
    pub fn mount(&self) -> Result<Mounted> {
        Mounted::of(&self.disk, self.loader)
    }

    /// Gives it a network of its own, whose sshd this port of the host's loopback leads to.
    pub fn reached_by(mut self, port: u16) -> Self {
        self.ssh = Some(port);
        self
    }

    /// Boots the guest with this script and waits until it is off.
    pub fn boot(&self, script: &str) -> Result<Outcome> {
        self.machine(script)?.run(self.work.path())
    }

    /// Boots the guest with this script and does not wait.
    pub fn start(&self, script: &str) -> Result<Running> {
        self.machine(script)?.start(self.work.path())
    }

    fn machine(&self, script: &str) -> Result<Machine> {
        let payload = self.work.path().join("payload.tar");
        self.pack(script, &payload)?;
        let mut drives = vec![drive(&self.disk, "system", false), drive(&payload, "payload", true)];
        for (number, file) in self.spares.iter().enumerate().filter(|(number, _)| !self.pulled.contains(number)) {
            drives.push(drive(file, &format!("spare{number}"), false));
        }
        let boot = match self.loader {
            Loader::Grub => Boot::FirstDrive,
            Loader::GrubEfi | Loader::SystemdBoot => Boot::Efi,
        };
        let (ssh, limits) = (self.ssh, self.limits);
        Ok(Machine { architecture: AMD64, memory: 1024, cpus: 1, translation_cache: 512, boot, drives, ssh, limits })
    }

    /// A raw tar is a block device's content as it is: no file system, no mount.
    fn pack(&self, script: &str, payload: &Path) -> Result<()> {
        let folder = self.work.path().join("payload");
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir(&folder)?;
        fs::write(folder.join("run.sh"), script)?;
        for (source, name) in &self.files {
            fs::copy(source, folder.join(name)).with_context(|| format!("copy {}", source.display()))?;
        }
        run(command("tar").arg("-cf").arg(payload).args(["--owner=0", "--group=0", "-C"]).arg(&folder).arg("."))?;
        Ok(())
    }
}

fn drive(file: &Path, serial: &str, read_only: bool) -> Drive {
    Drive { file: file.to_path_buf(), serial: serial.to_owned(), read_only, rate: None }
}

/// Copies a disk image without writing out its holes.
pub fn copy_sparse(from: &Path, to: &Path) -> Result<()> {
    run(command("cp").arg("--sparse=always").arg(from).arg(to))?;
    Ok(())
}
