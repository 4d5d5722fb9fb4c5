//! GRUB for a BIOS, written by hand, because grub-install wants a block device: its core image goes to the BIOS boot partition, and the
//! two sectors that hold addresses are patched.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

use anyhow::{Context, Result};

use super::{FIRST_START, ROOT_UUID, SECTOR, kernel_release};
use crate::command::{command, run};

/// Size of the BIOS boot partition.
pub const SECTORS: u64 = 2048;
/// Its GPT type.
pub const PARTITION_TYPE: &str = "21686148-6449-6E6F-744E-656564454649";

/// Puts GRUB's modules and a first configuration into the root; update-grub replaces the latter.
pub fn prepare(root: &Path) -> Result<()> {
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

/// Writes the core image and the boot sector.
pub fn write(root: &Path, work: &Path, disk: &File) -> Result<()> {
    let core = work.join("core.img");
    let image = run_grub_mkimage(root, &core)?;
    let sectors = u16::try_from(image.len() as u64 / SECTOR)?;
    let mut image = image;
    // The block list of the first sector: where the rest lies, how long it is, where it is loaded.
    image[0x1f4..0x1fc].copy_from_slice(&(FIRST_START + 1).to_le_bytes());
    image[0x1fc..0x1fe].copy_from_slice(&(sectors - 1).to_le_bytes());
    image[0x1fe..0x200].copy_from_slice(&0x820_u16.to_le_bytes());
    disk.write_all_at(&image, FIRST_START * SECTOR)?;

    let mut boot = fs::read(root.join("usr/lib/grub/i386-pc/boot.img"))?;
    boot[0x5c..0x64].copy_from_slice(&FIRST_START.to_le_bytes());
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
