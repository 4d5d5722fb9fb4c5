//! systemd-boot for EFI firmware: an EFI system partition as `bootctl install` and `kernel-install` leave it.

use std::fs::{self, File};
use std::path::Path;

use anyhow::{Context, Result};

use super::{ROOT_UUID, esp, kernel_release};

/// The partition's line in the guest's fstab.
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

/// Writes the partition: the loader, its configuration, and one entry as kernel-install writes it (Boot Loader Specification, type 1).
pub fn write(root: &Path, work: &Path, disk: &File) -> Result<()> {
    let release = kernel_release(root)?;
    let kernels = format!("{MACHINE_ID}/{release}");
    let entry = format!(
        "title Debian\nversion {release}\nmachine-id {MACHINE_ID}\nsort-key debian\noptions {}\n\
         linux /{kernels}/linux\ninitrd /{kernels}/initrd.img-{release}\n",
        arguments()
    );
    fs::write(work.join("entry"), entry)?;
    fs::write(work.join("loader.conf"), "timeout 0\n")?;
    let files = [
        (root.join(PROGRAM), esp::FALLBACK.to_owned()),
        (root.join(PROGRAM), "EFI/systemd/systemd-bootx64.efi".to_owned()),
        (work.join("loader.conf"), "loader/loader.conf".to_owned()),
        (work.join("entry"), format!("loader/entries/{MACHINE_ID}-{release}.conf")),
        (root.join(format!("boot/vmlinuz-{release}")), format!("{kernels}/linux")),
        (root.join(format!("boot/initrd.img-{release}")), format!("{kernels}/initrd.img-{release}")),
    ];
    esp::write(work, disk, &["EFI/systemd", "loader", "loader/entries", MACHINE_ID, &kernels], &files)
}
