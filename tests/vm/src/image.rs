//! A bootable disk image without mounting, loop devices or partition support on the host.
//!
//! GPT with a BIOS boot partition, an ext4 root and three swap partitions of
//! 256 MiB: two of them in fstab with one priority, the third blank for the test.
//! mke2fs fills the root from a folder at an offset. GRUB is written by hand,
//! because grub-install wants a block device: its core image goes to the BIOS boot
//! partition, and the two sectors that hold addresses are patched.

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
const DISK_MEBIBYTES: u64 = 3300;
const CORE_START: u64 = 2048;
const ROOT_START: u64 = 4096;
const ROOT_SECTORS: u64 = 4_718_592;
const SWAP_START: u64 = ROOT_START + ROOT_SECTORS;
const SWAP_SECTORS: u64 = 524_288;

/// Where the root file system begins in the image, in bytes.
pub const ROOT_OFFSET: u64 = ROOT_START * SECTOR;
/// How long it is.
pub const ROOT_BYTES: u64 = ROOT_SECTORS * SECTOR;

/// UUID of the root file system.
pub const ROOT_UUID: &str = "5eaf00d0-0000-4000-8000-000000000002";
/// UUIDs of the swap areas /dev/vda3 and /dev/vda4.
pub const SWAP_UUIDS: [&str; 2] = ["5eaf00d0-0000-4000-8000-000000000003", "5eaf00d0-0000-4000-8000-000000000004"];

const TYPE_BIOS_BOOT: &str = "21686148-6449-6E6F-744E-656564454649";
const TYPE_ROOT: &str = "4F68BCE3-E8CD-4DB1-96E7-FBCAF984B709";
const TYPE_SWAP: &str = "0657FD6D-A4AB-43C4-84E5-0933C84B4F4F";

/// The guest's fstab.
pub fn fstab() -> String {
    let mut text = format!(
        "# <file system> <mount point> <type> <options> <dump> <pass>\n\
         UUID={ROOT_UUID} / ext4 errors=remount-ro 0 1\n"
    );
    for uuid in SWAP_UUIDS {
        text += &format!("UUID={uuid} none swap sw,pri=10 0 0\n");
    }
    text
}

/// Builds the image `disk` from an unpacked root; `work` takes scratch files.
pub fn build(root: &Path, work: &Path, disk: &Path) -> Result<()> {
    prepare_boot(root)?;
    sparse_disk(disk, DISK_MEBIBYTES)?;
    partition(disk)?;
    // A newer mke2fs turns on features that the GRUB of older releases cannot read.
    run(command("mkfs.ext4")
        .args(["-q", "-F", "-U", ROOT_UUID, "-L", "root", "-d"])
        .arg(root)
        .args(["-O", "^metadata_csum_seed,^orphan_file"])
        .arg("-E")
        .arg(format!("offset={},root_owner=0:0", ROOT_START * SECTOR))
        .arg(disk)
        .arg(format!("{}k", ROOT_SECTORS / 2)))?;
    let file = OpenOptions::new().read(true).write(true).open(disk)?;
    for (number, uuid) in SWAP_UUIDS.iter().enumerate() {
        let start = SWAP_START + number as u64 * SWAP_SECTORS;
        file.write_all_at(&swap_header(work, uuid)?, start * SECTOR)?;
    }
    write_grub(root, work, &file)
}

fn partition(disk: &Path) -> Result<()> {
    let mut table = format!(
        "label: gpt\n\
         start={CORE_START}, size=2048, type={TYPE_BIOS_BOOT}\n\
         start={ROOT_START}, size={ROOT_SECTORS}, type={TYPE_ROOT}\n"
    );
    for number in 0..3 {
        let start = SWAP_START + number * SWAP_SECTORS;
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

/// Puts GRUB's modules and a first configuration into the root; update-grub replaces the latter.
fn prepare_boot(root: &Path) -> Result<()> {
    let grub = root.join("boot/grub");
    let modules = grub.join("i386-pc");
    fs::create_dir_all(&modules)?;
    for entry in fs::read_dir(root.join("usr/lib/grub/i386-pc"))? {
        let file = entry?.path();
        if file.extension().is_some_and(|end| end == "mod" || end == "lst") {
            let name = file.file_name().context("a file has a name")?;
            fs::copy(&file, modules.join(name))?;
        }
    }
    fs::write(grub.join("device.map"), "(hd0) /dev/vda\n")?;
    let release = kernel_release(root)?;
    let entry = format!(
        "linux (hd0,gpt2)/boot/vmlinuz-{release} root=UUID={ROOT_UUID} ro console=ttyS0 quiet\n\
         initrd (hd0,gpt2)/boot/initrd.img-{release}\n\
         boot\n"
    );
    fs::write(grub.join("grub.cfg"), entry)?;
    Ok(())
}

fn kernel_release(root: &Path) -> Result<String> {
    for entry in fs::read_dir(root.join("boot"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if let Some(release) = name.strip_prefix("vmlinuz-") {
            return Ok(release.to_owned());
        }
    }
    anyhow::bail!("the root file system has no kernel in /boot")
}

fn write_grub(root: &Path, work: &Path, disk: &File) -> Result<()> {
    let core = work.join("core.img");
    let image = run_grub_mkimage(root, &core)?;
    let sectors = u16::try_from(image.len() as u64 / SECTOR)?;
    let mut image = image;
    // The block list of the first sector: where the rest lies, how long it is, where it is loaded.
    image[0x1f4..0x1fc].copy_from_slice(&(CORE_START + 1).to_le_bytes());
    image[0x1fc..0x1fe].copy_from_slice(&(sectors - 1).to_le_bytes());
    image[0x1fe..0x200].copy_from_slice(&0x820_u16.to_le_bytes());
    disk.write_all_at(&image, CORE_START * SECTOR)?;

    let mut boot = fs::read(root.join("usr/lib/grub/i386-pc/boot.img"))?;
    boot[0x5c..0x64].copy_from_slice(&CORE_START.to_le_bytes());
    // Two nops over the jump that would take the drive number from the BIOS for granted.
    boot[0x66..0x68].copy_from_slice(&[0x90, 0x90]);
    disk.write_all_at(&boot[..440], 0)?;
    Ok(())
}

/// The core image, padded to whole sectors.
fn run_grub_mkimage(root: &Path, core: &Path) -> Result<Vec<u8>> {
    run(command("chroot").arg(root).args([
        "grub-mkimage",
        "-O",
        "i386-pc",
        "-p",
        "(hd0,gpt2)/boot/grub",
        "-o",
        "/tmp/core.img",
        "biosdisk",
        "part_gpt",
        "ext2",
        "normal",
    ]))?;
    let inside = root.join("tmp/core.img");
    fs::copy(&inside, core)?;
    fs::remove_file(&inside)?;
    let mut image = fs::read(core)?;
    let whole = image.len().next_multiple_of(SECTOR as usize);
    image.resize(whole, 0);
    Ok(image)
}
