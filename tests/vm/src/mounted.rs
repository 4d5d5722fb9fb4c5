//! The root file system of a disk image, mounted on the host for as long as something is done to it.

use std::path::Path;

use anyhow::{Context, Result};
use tempfile::TempDir;

use crate::command::{command, run};
use crate::image::{Loader, ROOT_BYTES};

/// A mounted root file system; it is unmounted when this is dropped.
pub struct Mounted {
    device: String,
    place: TempDir,
    is_on: bool,
}

impl Mounted {
    /// Mounts the root file system of a disk image that no guest uses.
    pub fn of(disk: &Path, loader: Loader) -> Result<Self> {
        let place = tempfile::tempdir()?;
        let mut attach = command("losetup");
        attach.args(["--find", "--show", "--offset"]).arg(loader.root_offset().to_string());
        let device = run(attach.arg("--sizelimit").arg(ROOT_BYTES.to_string()).arg(disk))?.trim().to_owned();
        let mut mounted = Self { device, place, is_on: false };
        run(command("mount").arg(&mounted.device).arg(mounted.root()))?;
        mounted.is_on = true;
        Ok(mounted)
    }

    /// Where it is.
    pub fn root(&self) -> &Path {
        self.place.path()
    }

    /// Runs a shell script in it.
    pub fn script(&self, text: &str) -> Result<String> {
        run(command("chroot").arg(self.root()).args(["sh", "-ec", text]))
    }

    /// Unmounts it; an error tells that something still uses it.
    pub fn close(mut self) -> Result<()> {
        self.off().context("unmount the image")
    }

    fn off(&mut self) -> Result<()> {
        if std::mem::take(&mut self.is_on) {
            run(command("umount").arg(self.root()))?;
        }
        run(command("losetup").args(["--detach", &self.device])).map(|_| ())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // After `close` there is nothing left to do, and that is an error here.
        let _ = self.off();
    }
}
