//! The EFI system partition, filled without a mount.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::{FIRST_START, SECTOR};
use crate::command::{command, run};

/// Its size: two kernels with their initramfs, and room.
pub const SECTORS: u64 = 524_288;
/// Its GPT type (Discoverable Partitions Specification).
pub const PARTITION_TYPE: &str = "C12A7328-F81F-11D2-BA4B-00A0C93EC93B";
/// What firmware starts from a disk that it knows nothing of.
pub const FALLBACK: &str = "EFI/BOOT/BOOTX64.EFI";

/// Writes the partition with these folders and files, host's first.
pub fn write(work: &Path, disk: &File, folders: &[&str], files: &[(PathBuf, String)]) -> Result<()> {
    let partition = work.join("esp");
    File::create(&partition)?.set_len(SECTORS * SECTOR)?;
    run(command("mkfs.vfat").args(["-F", "32", "-n", "ESP"]).arg(&partition))?;
    run(command("mmd")
        .arg("-i")
        .arg(&partition)
        .args(["EFI", "EFI/BOOT"].iter().chain(folders).map(|folder| format!("::/{folder}"))))?;
    for (from, to) in files {
        run(command("mcopy").arg("-i").arg(&partition).arg(from).arg(format!("::/{to}")))?;
    }
    copy_data(&partition, disk, FIRST_START * SECTOR)?;
    fs::remove_file(&partition).with_context(|| format!("remove {}", partition.display()))
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
