//! Who has a block device open without holding it.
//!
//! O_EXCL is refused to us only where another holder asked for it too: a mount, swap, an array, a mapping. QEMU does not ask for its
//! disks, nor does a loop device, nor a program that copies one.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{major, makedev, minor};

/// udev looks into a device whenever it was written to.
const PATIENCE: Duration = Duration::from_secs(3);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(100);

/// What is known of who has a device open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenBy {
    /// The first that was found, in words: `qemu-system-x86 (process 4711)`, `loop3`.
    pub who: Option<String>,
    /// True when some processes could not be looked into.
    pub unseen: bool,
}

/// Who else has this device open, a partition of it, or the disk that it is a part of, and keeps it so for longer than udev looks.
///
/// # Errors
/// When the device or `/proc` cannot be read.
pub fn open_by(device: &Path) -> io::Result<OpenBy> {
    let begin = Instant::now();
    loop {
        let found = look(device)?;
        if found.who.is_none() || begin.elapsed() > PATIENCE {
            return Ok(found);
        }
        sleep(PAUSE);
    }
}

fn look(device: &Path) -> io::Result<OpenBy> {
    let family = family(Path::new("/sys/dev/block"), fs::metadata(device)?.rdev());
    let is_one = |path: &Path| {
        let metadata = fs::metadata(path).ok().filter(|metadata| metadata.file_type().is_block_device());
        metadata.is_some_and(|metadata| family.contains(&metadata.rdev()))
    };
    let by_process = processes(Path::new("/proc"), std::process::id(), &is_one)?;
    let loops = || loop_over(Path::new("/sys/block"), &is_one);
    Ok(OpenBy { who: by_process.who.clone().or_else(loops), ..by_process })
}

/// The numbers of a device, its partitions, and the disk that it is a part of.
fn family(devices: &Path, number: u64) -> Vec<u64> {
    let name = format!("{}:{}", major(number), minor(number));
    let Ok(folder) = fs::canonicalize(devices.join(name)) else { return vec![number] };
    let parent = folder.parent().filter(|_| folder.join("partition").exists()).map(Path::to_owned);
    let parts = fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let parts = parts.filter(|path| path.join("partition").exists());
    let number_of = |path: PathBuf| {
        let text = fs::read_to_string(path.join("dev")).ok()?;
        let (major, minor) = text.trim().split_once(':')?;
        Some(makedev(major.parse().ok()?, minor.parse().ok()?))
    };
    std::iter::once(number).chain(parent.into_iter().chain(parts).filter_map(number_of)).collect()
}

/// The first process but ours that has one of them open.
fn processes(proc: &Path, own: u32, is_one: &dyn Fn(&Path) -> bool) -> io::Result<OpenBy> {
    let mut found = OpenBy::default();
    for entry in fs::read_dir(proc)?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()).filter(|pid| *pid != own) else {
            continue;
        };
        let files = match fs::read_dir(entry.path().join("fd")) {
            Ok(files) => files,
            Err(error) => {
                found.unseen |= error.kind() == io::ErrorKind::PermissionDenied;
                continue;
            }
        };
        if files.flatten().any(|file| is_one(&file.path())) {
            let name = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
            found.who = Some(format!("{} (process {pid})", name.trim()));
            return Ok(found);
        }
    }
    Ok(found)
}

/// The first loop device over one of them: it has no process.
fn loop_over(blocks: &Path, is_one: &dyn Fn(&Path) -> bool) -> Option<String> {
    let names = fs::read_dir(blocks).ok()?.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let over = |name: &String| {
        let file = fs::read_to_string(blocks.join(name).join("loop/backing_file"));
        file.is_ok_and(|file| is_one(Path::new(file.trim_end_matches('\n'))))
    };
    names.filter(|name| name.starts_with("loop")).find(over)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::testing::tree;

    /// Any file stands for the device here.
    fn is_vda(path: &Path) -> bool {
        fs::canonicalize(path).is_ok_and(|path| path.ends_with("dev/vda"))
    }

    #[test]
    fn a_process_that_only_opened_it_is_found() {
        let dir = tree(&[("dev/vda", ""), ("dev/null", ""), ("proc/7/comm", "bash\n"), ("proc/12/comm", "qemu-system-x86\n")]);
        let open = |pid: u32, number: u32, what: &str| {
            let folder = dir.path().join(format!("proc/{pid}/fd"));
            fs::create_dir_all(&folder).unwrap();
            symlink(dir.path().join(what), folder.join(number.to_string())).unwrap();
        };
        fs::create_dir_all(dir.path().join("proc/self")).unwrap();
        open(7, 0, "dev/null");
        open(12, 0, "dev/null");
        let look = |own| processes(&dir.path().join("proc"), own, &is_vda).unwrap();
        assert_eq!(look(1), OpenBy::default());
        open(12, 9, "dev/vda");
        assert_eq!(look(1).who.as_deref(), Some("qemu-system-x86 (process 12)"));
        assert_eq!(look(12), OpenBy::default(), "it is open here too");
    }

    #[test]
    fn a_loop_device_over_it_is_found() {
        let dir = tree(&[("dev/vda", ""), ("block/loop0/size", "0"), ("block/loop1/size", "8"), ("block/vda/size", "8")]);
        fs::create_dir_all(dir.path().join("block/loop1/loop")).unwrap();
        let backing = dir.path().join("block/loop1/loop/backing_file");
        fs::write(&backing, "/none\n").unwrap();
        assert_eq!(loop_over(&dir.path().join("block"), &is_vda), None);
        fs::write(&backing, format!("{}\n", dir.path().join("dev/vda").display())).unwrap();
        assert_eq!(loop_over(&dir.path().join("block"), &is_vda).as_deref(), Some("loop1"));
    }

    #[test]
    fn a_disk_is_open_when_a_part_of_it_is_and_a_part_when_the_disk_is() {
        let dir = tree(&[
            ("block/vda/dev", "254:0\n"),
            ("block/vda/queue/rotational", "0\n"),
            ("block/vda/vda1/dev", "254:1\n"),
            ("block/vda/vda1/partition", "1\n"),
            ("block/vda/vda2/dev", "254:2\n"),
            ("block/vda/vda2/partition", "2\n"),
        ]);
        let devices = dir.path().join("dev");
        fs::create_dir_all(&devices).unwrap();
        for (number, path) in [("254:0", "block/vda"), ("254:2", "block/vda/vda2")] {
            symlink(dir.path().join(path), devices.join(number)).unwrap();
        }
        let minors = |of| {
            let mut found: Vec<_> = family(&devices, makedev(254, of)).into_iter().map(minor).collect();
            found.sort_unstable();
            found
        };
        assert_eq!(minors(0), [0, 1, 2]);
        assert_eq!(minors(2), [0, 2]);
        assert_eq!(minors(9), [9], "nothing is known of it");
    }
}
