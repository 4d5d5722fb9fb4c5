//! systemd-boot for EFI firmware: an EFI system partition as `bootctl install` and `kernel-install` leave it, filled without a mount.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use anyhow::{Context, Result};

use super::{FIRST_START, ROOT_UUID, SECTOR, kernel_release};
use crate::command::{command, run};

/// Size of the EFI system partition: two kernels with their initramfs, and room.
pub const SECTORS: u64 = 524_288;
/// Its GPT type (Discoverable Partitions Specification).
pub const PARTITION_TYPE: &str = "C12A7328-F81F-11D2-BA4B-00A0C93EC93B";
/// Its line in the guest's fstab.
pub const FSTAB: &str = "LABEL=ESP /efi vfat umask=0077 0 2\n";

/// Names the folder of the kernel on the partition, so it must not change with the first boot.
const MACHINE_ID: &str = "5eaf00d0000040008000000000000001";
const PROGRAM: &str = "usr/lib/systemd/boot/efi/systemd-bootx64.efi.signed";

/// Gives the root what kernel-install goes by.
pub fn prepare(root: &Path) -> Result<()> {
    let write = |path: &str, text: &str| {
        let file = root.join(path);
        let written = fs::create_dir_all(file.parent().unwrap_or(root)).and_then(|()| fs::write(&file, text));
        written.with_context(|| format!("write {path}"))
    };
    fs::create_dir_all(root.join("efi"))?;
    write("etc/machine-id", &format!("{MACHINE_ID}\n"))?;
    write("etc/kernel/cmdline", &format!("{}\n", arguments()))?;
    write("etc/kernel/install.conf", "layout=bls\n")
}

fn arguments() -> String {
    format!("root=UUID={ROOT_UUID} ro console=ttyS0 quiet")
}

/// Writes the partition.
pub fn write(root: &Path, work: &Path, disk: &File) -> Result<()> {
    let file = work.join("esp");
    File::create(&file)?.set_len(SECTORS * SECTOR)?;
    run(command("mkfs.vfat").args(["-F", "32", "-n", "ESP"]).arg(&file))?;
    fill(root, work, &file)?;
    copy_data(&file, disk, FIRST_START * SECTOR)?;
    fs::remove_file(&file).with_context(|| format!("remove {}", file.display()))
}

/// The loader, its configuration, and one entry as kernel-install writes it (Boot Loader Specification, type 1).
fn fill(root: &Path, work: &Path, partition: &Path) -> Result<()> {
    let release = kernel_release(root)?;
    let kernels = format!("{MACHINE_ID}/{release}");
    let entry = format!(
        "title Debian\nversion {release}\nmachine-id {MACHINE_ID}\nsort-key debian\noptions {}\n\
         linux /{kernels}/linux\ninitrd /{kernels}/initrd.img-{release}\n",
        arguments()
    );
    fs::write(work.join("entry"), entry)?;
    fs::write(work.join("loader.conf"), "timeout 0\n")?;
    let folders = ["EFI", "EFI/BOOT", "EFI/systemd", "loader", "loader/entries", MACHINE_ID, &kernels];
    run(command("mmd").arg("-i").arg(partition).args(folders.map(|folder| format!("::/{folder}"))))?;
    for (from, to) in [
        (root.join(PROGRAM), "EFI/BOOT/BOOTX64.EFI".to_owned()),
        (root.join(PROGRAM), "EFI/systemd/systemd-bootx64.efi".to_owned()),
        (work.join("loader.conf"), "loader/loader.conf".to_owned()),
        (work.join("entry"), format!("loader/entries/{MACHINE_ID}-{release}.conf")),
        (root.join(format!("boot/vmlinuz-{release}")), format!("{kernels}/linux")),
        (root.join(format!("boot/initrd.img-{release}")), format!("{kernels}/initrd.img-{release}")),
    ] {
        run(command("mcopy").arg("-i").arg(partition).arg(&from).arg(format!("::/{to}")))?;
    }
    Ok(())
}

/// Copies what is not zero, so that holes stay holes.
fn copy_data(from: &Path, to: &File, offset: u64) -> io::Result<()> {
    const PIECE: usize = 1 << 20;
    let source = File::open(from)?;
    let mut piece = vec![0; PIECE];
    for at in (0..source.metadata()?.len()).step_by(PIECE) {
        let length = source.read_at(&mut piece, at)?;
        if piece[..length].iter().any(|byte| *byte != 0) {
            to.write_all_at(&piece[..length], offset + at)?;
        }
    }
    Ok(())
}
