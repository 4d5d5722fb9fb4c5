//! A bootable disk image without mounting, loop devices or partition support on the host.
//!
//! GPT with what the loader needs, an ext4 root and three swap partitions of
//! 256 MiB: two of them in fstab with one priority, the third blank for the test.
//! mke2fs fills the root from a folder at an offset; the loader goes into the first
//! partition (`grub`, `systemd_boot`; with EFI firmware `esp`).

mod esp;
mod grub;
mod systemd_boot;

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};

use crate::command::{command, run};
use crate::qemu::sparse_disk;

/// Changes whenever the image would; part of the cache's key.
pub const RECIPE: &str = "image 1";

const SECTOR: u64 = 512;
/// Where the first partition begins.
const FIRST_START: u64 = 2048;
const ROOT_SECTORS: u64 = 4_718_592;
const SWAP_SECTORS: u64 = 524_288;
const SWAPS: u64 = 3;
/// The second table of a GPT, and some room.
const END_SECTORS: u64 = 32_768;

/// How long the root file system is, in bytes.
pub const ROOT_BYTES: u64 = ROOT_SECTORS * SECTOR;

/// UUID of the root file system.
pub const ROOT_UUID: &str = "5eaf00d0-0000-4000-8000-000000000002";
/// UUIDs of the swap areas /dev/vda3 and /dev/vda4.
pub const SWAP_UUIDS: [&str; 2] = ["5eaf00d0-0000-4000-8000-000000000003", "5eaf00d0-0000-4000-8000-000000000004"];

const TYPE_ROOT: &str = "4F68BCE3-E8CD-4DB1-96E7-FBCAF984B709";
const TYPE_SWAP: &str = "0657FD6D-A4AB-43C4-84E5-0933C84B4F4F";

/// What starts the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loader {
    /// GRUB, started by a BIOS.
    Grub,
    /// GRUB, started by EFI firmware.
    GrubEfi,
    /// systemd-boot, started by EFI firmware.
    SystemdBoot,
}

impl Loader {
    /// Debian's package of it.
    pub const fn package(self) -> &'static str {
        match self {
            Self::Grub => "grub-pc",
            Self::GrubEfi => "grub-efi-amd64",
            Self::SystemdBoot => "systemd-boot",
        }
    }

    /// Size of the partition that it is in.
    const fn sectors(self) -> u64 {
        match self {
            Self::Grub => grub::SECTORS,
            Self::GrubEfi | Self::SystemdBoot => esp::SECTORS,
        }
    }

    /// GPT type of that partition.
    const fn partition_type(self) -> &'static str {
        match self {
            Self::Grub => grub::PARTITION_TYPE,
            Self::GrubEfi | Self::SystemdBoot => esp::PARTITION_TYPE,
        }
    }

    const fn root_start(self) -> u64 {
        FIRST_START + self.sectors()
    }

    /// Where the root file system begins in the image, in bytes.
    pub const fn root_offset(self) -> u64 {
        self.root_start() * SECTOR
    }

    const fn swap_start(self, number: u64) -> u64 {
        self.root_start() + ROOT_SECTORS + number * SWAP_SECTORS
    }
}

/// The guest's fstab.
pub fn fstab(loader: Loader) -> String {
    let mut text = format!(
        "# <file system> <mount point> <type> <options> <dump> <pass>\n\
         UUID={ROOT_UUID} / ext4 errors=remount-ro 0 1\n"
    );
    text += match loader {
        Loader::Grub => "",
        Loader::GrubEfi => grub::FSTAB,
        Loader::SystemdBoot => systemd_boot::FSTAB,
    };
    for uuid in SWAP_UUIDS {
        text += &format!("UUID={uuid} none swap sw,pri=10 0 0\n");
    }
    text
}

/// Builds the image `disk` from an unpacked root; `work` takes scratch files.
pub fn build(root: &Path, work: &Path, disk: &Path, loader: Loader) -> Result<()> {
    match loader {
        Loader::Grub => grub::prepare(root, grub::BIOS)?,
        Loader::GrubEfi => grub::prepare(root, grub::EFI)?,
        Loader::SystemdBoot => systemd_boot::prepare(root)?,
    }
    sparse_disk(disk, ((loader.swap_start(SWAPS) + END_SECTORS) * SECTOR) >> 20)?;
    partition(disk, loader)?;
    // A newer mke2fs turns on features that the GRUB of older releases cannot read.
    run(command("mkfs.ext4")
        .args(["-q", "-F", "-U", ROOT_UUID, "-L", "root", "-d"])
        .arg(root)
        .args(["-O", "^metadata_csum_seed,^orphan_file"])
        .arg("-E")
        .arg(format!("offset={},root_owner=0:0", loader.root_offset()))
        .arg(disk)
        .arg(format!("{}k", ROOT_SECTORS / 2)))?;
    let file = OpenOptions::new().read(true).write(true).open(disk)?;
    for (number, uuid) in SWAP_UUIDS.iter().enumerate() {
        file.write_all_at(&swap_header(work, uuid)?, loader.swap_start(number as u64) * SECTOR)?;
    }
    match loader {
        Loader::Grub => grub::write(root, work, &file),
        Loader::GrubEfi => grub::write_efi(root, work, &file),
        Loader::SystemdBoot => systemd_boot::write(root, work, &file),
    }
}

fn partition(disk: &Path, loader: Loader) -> Result<()> {
    let mut table = format!(
        "label: gpt\n\
         start={FIRST_START}, size={}, type={}\n\
         start={}, size={ROOT_SECTORS}, type={TYPE_ROOT}\n",
        loader.sectors(),
        loader.partition_type(),
        loader.root_start()
    );
    for number in 0..SWAPS {
        let start = loader.swap_start(number);
        table += &format!(
            "start={start}, size={SWAP_SECTORS}, type={TYPE_SWAP}, \
             uuid=5EAF00D0-0000-4000-8000-00000000001{number}\n"
        );
    }
    let script = disk.with_extension("sfdisk");
    fs::write(&script, table)?;
    let status = command("sfdisk")
        .arg("--quiet")
        .arg(disk)
        .stdin(File::open(&script)?)
        .stderr(Stdio::inherit())
        .status()
        .context("start sfdisk")?;
    fs::remove_file(&script)?;
    ensure!(status.success(), "sfdisk failed");
    Ok(())
}

/// The first page of a swap area as mkswap writes it; the rest of an area is never read unwritten.
fn swap_header(work: &Path, uuid: &str) -> Result<Vec<u8>> {
    let area = work.join("area");
    let file = File::create(&area)?;
    file.set_len(SWAP_SECTORS * SECTOR)?;
    fs::set_permissions(&area, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    run(command("mkswap").args(["-U", uuid]).arg(&area))?;
    let mut header = vec![0; 4096];
    File::open(&area)?.read_exact_at(&mut header, 0)?;
    fs::remove_file(&area)?;
    Ok(header)
}

/// The kernel that is installed in the root.
fn kernel_release(root: &Path) -> Result<String> {
    for entry in fs::read_dir(root.join("boot"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if let Some(release) = name.strip_prefix("vmlinuz-") {
            return Ok(release.to_owned());
        }
    }
    anyhow::bail!("the root file system has no kernel in /boot")
}
