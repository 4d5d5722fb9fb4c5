//! THE table of processors that a guest can have.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::command::find_program;
use crate::{apt, cache};

/// A kind of processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Architecture {
    /// As Debian calls it.
    pub debian: &'static str,
    /// What emulates a whole machine of it.
    pub emulator: &'static str,
    /// Machine and processor, as the emulator calls them.
    pub machine: [&'static str; 4],
    /// Words of the kernel's command line that only it has.
    pub words: &'static str,
    /// How the script's output leaves the guest, beside the console.
    pub output: Output,
}

/// The device that takes what the script says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// A second serial port.
    Serial,
    /// A virtio console: the machine has one serial port.
    Virtio,
}

/// What this project's machines have.
pub const AMD64: Architecture = Architecture {
    debian: "amd64",
    emulator: "qemu-system-x86_64",
    machine: ["-M", "q35", "-cpu", "max"],
    words: "console=ttyS0 mitigations=off tsc=reliable no_timer_check",
    output: Output::Serial,
};

/// Its pointers are not signed: the emulator would spend half of its time on that.
pub const ARM64: Architecture = Architecture {
    debian: "arm64",
    emulator: "qemu-system-aarch64",
    machine: ["-M", "virt", "-cpu", "max,pauth=off"],
    words: "console=ttyAMA0",
    output: Output::Virtio,
};

impl Architecture {
    /// A static busybox: this machine's own, or one of Debian stable.
    pub fn busybox(self) -> Result<PathBuf> {
        if self == AMD64 {
            return find_program("busybox").context("busybox is missing");
        }
        let name = format!("programs/busybox-{}", self.debian);
        let folder = cache::entry(&name, |target| {
            apt::Tree::open_for("trixie", self.debian)?.unpack(&["busybox-static".to_owned()], target)
        })?;
        let places = ["usr/bin/busybox", "bin/busybox"].map(|place| folder.join(place));
        places.into_iter().find(|file| file.exists()).context("busybox-static has no busybox")
    }
}
