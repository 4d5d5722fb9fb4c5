//! GRUB, written by hand, because grub-install wants a block device: for a BIOS its core image goes to the BIOS boot partition, and the
//! two sectors that hold addresses are patched; for EFI firmware it is a file on the EFI system partition.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

use anyhow::{Context, Result};

use super::{FIRST_START, ROOT_UUID, SECTOR, esp, kernel_release};
use crate::command::{command, run};

/// Size of the BIOS boot partition.
pub const SECTORS: u64 = 2048;
/// Its GPT type.
pub const PARTITION_TYPE: &str = "21686148-6449-6E6F-744E-656564454649";
/// Line of the EFI system partition in the guest's fstab.
pub const FSTAB: &str = "LABEL=ESP /boot/efi vfat umask=0077 0 1\n";

/// What GRUB is built for.
#[derive(Debug, Clone, Copy)]
pub struct Platform {
    /// GRUB's name of it.
    name: &'static str,
    /// Modules of the core image that only it needs.
    module: &'static str,
}

/// A BIOS.
pub const BIOS: Platform = Platform { name: "i386-pc", module: "biosdisk" };
/// EFI firmware.
pub const EFI: Platform = Platform { name: "x86_64-efi", module: "fat" };

/// Puts GRUB's modules and a first configuration into the root; update-grub replaces the latter.
pub fn prepare(root: &Path, platform: Platform) -> Result<()> {
    let grub = root.join("boot/grub");
    let modules = grub.join(platform.name);
    fs::create_dir_all(&modules)?;
    for entry in fs::read_dir(root.join("usr/lib/grub").join(platform.name))? {
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

/// Writes the core image where EFI firmware looks for one.
pub fn write_efi(root: &Path, work: &Path, disk: &File) -> Result<()> {
    let core = work.join("core.img");
    run_grub_mkimage(root, &core, EFI)?;
    esp::write(work, disk, &[], &[(core, esp::FALLBACK.to_owned())])
}

/// Writes the core image and the boot sector.
pub fn write(root: &Path, work: &Path, disk: &File) -> Result<()> {
    let core = work.join("core.img");
    let image = run_grub_mkimage(root, &core, BIOS)?;
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
fn run_grub_mkimage(root: &Path, core: &Path, platform: Platform) -> Result<Vec<u8>> {
    run(command("chroot").arg(root).args([
        "grub-mkimage",
        "-O",
        platform.name,
        "-p",
        "(hd0,gpt2)/boot/grub",
        "-o",
        "/tmp/core.img",
        platform.module,
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
