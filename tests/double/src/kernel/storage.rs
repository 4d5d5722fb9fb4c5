//! Partition tables, volumes and mappings of a folder: files play the devices, and sysfs shows what they hold.
//!
//! What is written is written in two pieces, as a program that is killed would leave it. A mapping is blank each time it is opened.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};

use swaptune_core::change::{DeviceFormat, MappingKey, MappingState};
use swaptune_core::device::{LUKS_HEADER, partition_name};
use swaptune_core::parse::gpt;
use swaptune_host::checkpoint;
use uuid::Uuid;

use super::FixtureKernel;

/// Where the emulated table keeps its partitions, as JSON.
const PARTITIONS: u64 = 1024;
const GUID: u64 = 568;
const LUKS_UUID: u64 = 168;

pub(super) fn format(kernel: &FixtureKernel, path: &Path, format: &DeviceFormat) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(path)?;
    match format {
        DeviceFormat::Gpt { uuid, partitions } => {
            file.write_all_at(&serde_json::to_vec(partitions)?, PARTITIONS)?;
            checkpoint::pass(&kernel.machine);
            let uuid = Uuid::parse_str(uuid).map_err(io::Error::other)?;
            file.write_all_at(&uuid.to_bytes_le(), GUID)?;
            file.write_all_at(b"EFI PART", 512)?;
            checkpoint::pass(&kernel.machine);
            reread_partitions(kernel, path)
        }
        DeviceFormat::Luks { uuid, key_file, .. } => {
            if fs::metadata(kernel.path(key_file))?.len() != 64 {
                return Err(io::Error::other("no key"));
            }
            file.write_all_at(&[1; 4096], LUKS_HEADER.0 - 4096)?;
            checkpoint::pass(&kernel.machine);
            file.write_all_at(uuid.as_bytes(), LUKS_UUID)?;
            file.write_all_at(b"LUKS\xba\xbe\0\x02", 0)
        }
        DeviceFormat::Swap { .. } => Err(io::Error::other("made by a header")),
    }
}

/// The nodes of the partitions that the table names, and no others.
pub(super) fn reread_partitions(kernel: &FixtureKernel, path: &Path) -> io::Result<()> {
    let disk = kernel.inside(path);
    let wanted = table(path)?;
    let block = kernel.path("/sys/class/block");
    let own = block.join(disk.trim_start_matches("/dev/"));
    for number in 1..=4 {
        let node = partition_name(&disk, number);
        let name = node.trim_start_matches("/dev/");
        let (shown, device) = (own.join(name), kernel.path(&node));
        let Some(size) = wanted.get(number - 1) else {
            for folder in [&shown, &block.join(name)] {
                remove(fs::remove_dir_all(folder))?;
            }
            remove(fs::remove_file(device))?;
            continue;
        };
        if !device.exists() {
            OpenOptions::new().write(true).create_new(true).open(&device)?.set_len(*size)?;
        }
        fs::create_dir_all(block.join(name))?;
        fs::create_dir_all(&shown)?;
        fs::write(shown.join("partition"), format!("{number}\n"))?;
    }
    if wanted.is_empty() {
        remove(fs::remove_dir(own))?;
        remove(fs::remove_dir(block))?;
    }
    Ok(())
}

/// Sizes of the partitions in the table of a device.
fn table(path: &Path) -> io::Result<Vec<u64>> {
    let bytes = fs::read(path)?;
    if gpt::disk_uuid(&bytes).is_none() {
        return Ok(Vec::new());
    }
    let text = bytes[PARTITIONS as usize..].split(|byte| *byte == 0).next().unwrap_or_default();
    let all: Vec<swaptune_core::change::PartitionState> = serde_json::from_slice(text)?;
    Ok(all.iter().map(|part| part.size.0).collect())
}

pub(super) fn open_mapping(kernel: &FixtureKernel, name: &str, state: &MappingState) -> io::Result<()> {
    let source = kernel.path(&state.source);
    let size = fs::metadata(&source)?.len();
    let (kind, size) = match &state.key {
        MappingKey::Random { .. } => ("PLAIN", size),
        MappingKey::File { path } => {
            fs::metadata(kernel.path(path))?;
            ("LUKS2", size - LUKS_HEADER.0)
        }
    };
    let folder = kernel.path("/sys/class/block/dm-0");
    let device = kernel.path("/dev/dm-0");
    if folder.exists() {
        return Err(io::Error::other("one mapping is enough for tests"));
    }
    // The device-mapper makes it whole or not at all. Here a kill may leave half of it, and taking that half back must work: what a mapping is known
    // by comes first and goes last.
    let beside = beside(kernel);
    remove(fs::remove_dir_all(&beside))?;
    fs::create_dir_all(beside.join("dm"))?;
    fs::create_dir_all(beside.join("slaves").join(state.source.trim_start_matches("/dev/")))?;
    fs::write(beside.join("dm/name"), format!("{name}\n"))?;
    fs::write(beside.join("dm/uuid"), format!("CRYPT-{kind}-{name}\n"))?;
    fs::create_dir_all(kernel.path("/sys/class/block"))?;
    fs::rename(beside, folder)?;
    remove(fs::remove_file(&device))?;
    OpenOptions::new().write(true).create_new(true).open(&device)?.set_len(size)?;
    fs::create_dir_all(kernel.path("/dev/mapper"))?;
    let link = kernel.path("/dev/mapper").join(name);
    remove(fs::remove_file(&link))?;
    symlink("../dm-0", link)
}

pub(super) fn close_mapping(kernel: &FixtureKernel, name: &str) -> io::Result<()> {
    if kernel.swaps().iter().any(|area| area.path == "/dev/dm-0") {
        return Err(io::Error::from_raw_os_error(libc::EBUSY));
    }
    remove(fs::remove_file(kernel.path("/dev/mapper").join(name)))?;
    remove(fs::remove_dir(kernel.path("/dev/mapper")))?;
    remove(fs::remove_file(kernel.machine.root().join("dev/dm-0")))?;
    let (folder, beside) = (kernel.path("/sys/class/block/dm-0"), beside(kernel));
    remove(fs::remove_dir_all(&beside))?;
    fs::rename(folder, &beside)?;
    fs::remove_dir_all(beside)?;
    remove(fs::remove_dir(kernel.path("/sys/class/block")))
}

/// Where a mapping is made and taken apart, with no need of room on a disk.
fn beside(kernel: &FixtureKernel) -> PathBuf {
    kernel.machine.root().join("run/swaptune-dm")
}

/// It is as good when there was nothing to remove, or when something else is in the folder.
fn remove(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::DirectoryNotEmpty) => Ok(()),
        result => result,
    }
}
