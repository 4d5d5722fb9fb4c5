//! What a running machine has that is not a file: who we are, free space, the kernel log, block device contents, and
//! debugfs when it is not mounted.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;

use rustix::fs::{Dir, Mode, OFlags, openat, statvfs};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use serde::{Deserialize, Serialize};
use swaptune_core::Bytes;
use swaptune_core::facts::KernelLogLine;
use swaptune_core::parse::klog;
use swaptune_core::parse::signature::{self, Signature};

use super::{Machine, ReadError};

/// Where debugfs belongs.
const DEBUGFS: &str = "/sys/kernel/debug";
/// More records than any kernel's buffer holds: a writer that is faster than the reader must not keep it busy.
const RECORD_LIMIT: usize = 100_000;

/// Space of one file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSystemSpace {
    /// Free for root.
    pub free: Bytes,
    /// Capacity of the file system, bytes.
    pub total: Bytes,
}

#[derive(Serialize, Deserialize)]
struct InspectingProcess {
    root: bool,
    page_size: u64,
}

impl Machine {
    /// True when the inspecting process is (or was, for a capture) root.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.process().is_some_and(|process| process.root)
    }

    /// The page size; 4 KiB where a folder does not say.
    #[must_use]
    pub fn page_size(&self) -> Bytes {
        Bytes(self.process().map_or(4096, |process| process.page_size))
    }

    fn process(&self) -> Option<InspectingProcess> {
        let text = self.derived("live.json", || {
            self.only_live("process")?;
            let process =
                InspectingProcess { root: rustix::process::geteuid().is_root(), page_size: rustix::param::page_size() as u64 };
            to_json("process", &process)
        });
        from_json("process", &text.ok()?).ok()
    }

    /// Free and total space of the file system mounted at `at`.
    ///
    /// # Errors
    /// [`ReadError`] when it cannot be asked, or in a folder that is no capture.
    pub fn space(&self, at: &str) -> Result<FileSystemSpace, ReadError> {
        let text = self.derived(&format!("statvfs/{}", file_name(at)), || {
            self.only_live(at)?;
            let space = statvfs(at).map_err(|error| ReadError::from_io(at, &error.into()))?;
            let bytes = |blocks: u64| Bytes(blocks.saturating_mul(space.f_frsize));
            to_json(at, &FileSystemSpace { free: bytes(space.f_bavail), total: bytes(space.f_blocks) })
        })?;
        from_json(at, &text)
    }

    /// The lines of the kernel log that are about swap.
    ///
    /// # Errors
    /// [`ReadError`] when the log may not be read (`kernel.dmesg_restrict`), or in a folder that is no capture.
    pub fn kernel_log(&self) -> Result<Vec<KernelLogLine>, ReadError> {
        let text = self.derived("kernel-log", || {
            self.only_live("/dev/kmsg")?;
            let lines = read_kmsg().map_err(|error| ReadError::from_io("/dev/kmsg", &error))?;
            Ok(lines.iter().map(klog::render).map(|line| format!("{}\n", line.replace('\n', " "))).collect())
        })?;
        Ok(klog::text(&text))
    }

    /// What the first bytes of a block device say it holds; needs root.
    ///
    /// # Errors
    /// [`ReadError`] when the device cannot be read, or in a folder that is no capture.
    pub fn signatures(&self, name: &str) -> Result<Vec<Signature>, ReadError> {
        let path = format!("/dev/{name}");
        let text = self.derived(&format!("signatures/{}", file_name(name)), || {
            self.only_live(&path)?;
            let mut head = Vec::with_capacity(signature::HEAD);
            let read = File::open(&path).and_then(|file| file.take(signature::HEAD as u64).read_to_end(&mut head));
            read.map_err(|error| ReadError::from_io(&path, &error))?;
            to_json(&path, &signature::probe(&head))
        })?;
        from_json(&path, &text)
    }

    /// The files of one folder of debugfs, by name.
    ///
    /// When debugfs is not mounted and we are root, a private instance is opened that has no mount point: nothing of it
    /// is seen by others, and it is gone when this function returns.
    ///
    /// # Errors
    /// [`ReadError`] when the folder does not exist or may not be read.
    pub fn debugfs(&self, folder: &str) -> Result<Vec<(String, String)>, ReadError> {
        let path = format!("{DEBUGFS}/{folder}");
        match self.list(&path) {
            Ok(names) => {
                let read = |name: String| Some((name.clone(), self.read_text(&format!("{path}/{name}")).ok()?));
                Ok(names.into_iter().filter_map(read).collect())
            }
            Err(error) if error.missing && self.live && self.is_root() && !is_mounted() => {
                let files = private_debugfs(folder).map_err(|error| ReadError::from_io(&path, &error))?;
                self.note(|record| {
                    record.folders.insert(path.clone(), files.iter().map(|(name, _)| name.clone()).collect());
                    let named = files.iter().map(|(name, text)| (format!("{path}/{name}"), text.clone().into_bytes()));
                    record.files.extend(named);
                });
                Ok(files)
            }
            Err(error) => Err(error),
        }
    }
}

fn read_kmsg() -> std::io::Result<Vec<KernelLogLine>> {
    let mut file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open("/dev/kmsg")?;
    // One read gives one record; the kernel's longest is 8 KiB with its properties.
    let mut buffer = vec![0; 16 << 10];
    let mut lines = Vec::new();
    for _ in 0..RECORD_LIMIT {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => {
                let text = String::from_utf8_lossy(&buffer[..length]);
                // Most records are about something else: they are only looked at, not taken apart.
                let message = text.split_once(';').and_then(|(_, rest)| rest.lines().next()).unwrap_or_default();
                lines.extend(if klog::concerns_swap(message) { klog::record(&text) } else { None });
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            // EPIPE: records were overwritten while we read; the next read goes on with the oldest that is left.
            Err(error) if error.kind() == ErrorKind::BrokenPipe || error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(lines)
}

/// An empty folder is what sysfs offers as mount point; debugfs always has entries.
fn is_mounted() -> bool {
    std::fs::read_dir(DEBUGFS).is_ok_and(|mut entries| entries.next().is_some())
}

fn private_debugfs(folder: &str) -> std::io::Result<Vec<(String, String)>> {
    let context = fsopen("debugfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_RDONLY | MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    let root: OwnedFd = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
    let open = |path: &str, flags: OFlags| openat(&root, path, OFlags::RDONLY | OFlags::CLOEXEC | flags, Mode::empty());
    let mut files = Vec::new();
    for entry in Dir::new(open(folder, OFlags::DIRECTORY)?)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let mut text = String::new();
        let opened = open(&format!("{folder}/{name}"), OFlags::NONBLOCK).map(File::from);
        if name != "." && name != ".." && opened.is_ok_and(|mut file| file.read_to_string(&mut text).is_ok()) {
            files.push((name, text));
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// A mount point or device name as one file name.
fn file_name(path: &str) -> String {
    path.replace('%', "%25").replace('/', "%2f")
}

fn to_json(path: &str, value: &impl Serialize) -> Result<String, ReadError> {
    serde_json::to_string(value).map_err(|error| ReadError::new(path, &error.to_string()))
}

fn from_json<T: for<'a> Deserialize<'a>>(path: &str, text: &str) -> Result<T, ReadError> {
    serde_json::from_str(text).map_err(|error| ReadError::new(path, &error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_data_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let machine = Machine::at(dir.path());
        assert_eq!(machine.kernel_log().unwrap_err().to_string(), "/dev/kmsg: not kept in this folder");
        assert_eq!(machine.space("/").unwrap_err().to_string(), "/: not kept in this folder");
        assert!(!machine.is_root());
        assert_eq!(machine.page_size(), Bytes(4096));
    }

    #[test]
    fn reading_debugfs_leaves_nothing_mounted() {
        let mounts = || {
            let text = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
            text.lines().filter(|line| line.contains("debugfs")).map(str::to_owned).collect::<Vec<_>>()
        };
        let before = mounts();
        let found = Machine::live().debugfs("zswap");
        assert_eq!(mounts(), before);
        // From 6.3 on the folder is there only once zswap was enabled: what counts is that a reason is given otherwise.
        assert!(
            found.is_ok_and(|files| files.iter().any(|(name, _)| name == "stored_pages"))
                || Machine::live().debugfs("zswap").is_err()
        );
    }

    #[test]
    fn a_capture_brings_them_back() {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join(".swaptune");
        std::fs::create_dir_all(data.join("statvfs")).unwrap();
        std::fs::write(data.join("live.json"), r#"{"root":true,"page_size":16384}"#).unwrap();
        std::fs::write(data.join("kernel-log"), "[    1.000000] zswap: loaded using pool lzo/zbud\n").unwrap();
        std::fs::write(data.join("statvfs/%2fhome"), r#"{"free":1,"total":2}"#).unwrap();
        let machine = Machine::at(dir.path());
        assert!(machine.is_root());
        assert_eq!(machine.page_size(), Bytes(16384));
        assert_eq!(machine.kernel_log().unwrap()[0].text, "zswap: loaded using pool lzo/zbud");
        assert_eq!(machine.space("/home").unwrap().total, Bytes(2));
    }
}
