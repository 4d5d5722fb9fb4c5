//! What every step needs: the machine, its kernel, and how to look at both.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use swaptune_core::parse::swaps::{self, SwapLine};
use tracing::trace;

use super::error::StepError;
use crate::checkpoint::Faults;
use crate::inspect::{BOOT_ID, kernel_name};
use crate::kernel::{Kernel, WriteProgress};
use crate::machine::Machine;

/// One machine at work. Writing is in `write.rs`, and nowhere else.
#[derive(Clone, Copy)]
pub(crate) struct Run<'a> {
    pub machine: &'a Machine,
    pub kernel: &'a dyn Kernel,
    pub faults: &'a dyn Faults,
    pub progress: &'a dyn Fn(WriteProgress),
}

impl Run<'_> {
    /// The path with all links followed, as seen from inside the machine.
    pub fn real(&self, path: &str) -> Result<String, StepError> {
        let real = self.machine.real_path(path);
        real.map_err(|error| StepError::io("follow", path, io::Error::other(error.to_string())))
    }

    /// The path with all links but the last followed: the place of a link itself.
    pub fn place(&self, path: &str) -> Result<String, StepError> {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        let parent = self.real(if parent.is_empty() { "/" } else { parent })?;
        Ok(format!("{}/{name}", parent.trim_end_matches('/')))
    }

    /// Where a path of the machine lies on this host. Links must have been followed already.
    pub fn host(&self, real: &str) -> PathBuf {
        self.machine.root().join(real.trim_start_matches('/'))
    }

    /// The bytes of a file; `None` when there is none. Anything else than a regular file is refused.
    pub fn read(&self, real: &str) -> Result<Option<Vec<u8>>, StepError> {
        let path = self.host(real);
        trace!("read {real}");
        match fs::metadata(&path) {
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(StepError::io("read", real, error)),
            Ok(found) if !found.is_file() => Err(StepError::Refused {
                what: real.to_owned(),
                why: "it is not a regular file".into(),
                hint: "a masked unit or a device must be taken away by hand".into(),
            }),
            Ok(_) => fs::read(&path).map(Some).map_err(|error| StepError::io("read", real, error)),
        }
    }

    /// A short text of the kernel, without the space around it; `None` when there is no such file.
    pub fn read_setting(&self, path: &str) -> Result<Option<String>, StepError> {
        let bytes = self.read(&self.real(path)?)?;
        Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned()))
    }

    pub fn exists(&self, real: &str) -> bool {
        self.host(real).exists()
    }

    /// Like [`Run::exists`] for a path whose links are not followed yet.
    pub fn exists_inside(&self, path: &str) -> bool {
        self.real(path).is_ok_and(|real| self.exists(&real))
    }

    /// Whether the kernel has the block device of this path, be it seen below `/dev` or, as in a service without devices, not.
    pub fn has_device(&self, path: &str) -> bool {
        kernel_name(self.machine, path).is_some_and(|name| self.machine.exists(&format!("/sys/class/block/{name}")))
    }

    /// Active swap areas.
    pub fn areas(&self) -> Result<Vec<SwapLine>, StepError> {
        Ok(swaps::parse(&self.read_setting("/proc/swaps")?.unwrap_or_default()))
    }

    /// The active area at this path.
    pub fn area(&self, real: &str) -> Result<Option<SwapLine>, StepError> {
        Ok(self.areas()?.into_iter().find(|area| area.path == real))
    }

    /// Folders above a path that do not exist, outermost first.
    pub fn missing_folders(&self, real: &str) -> Vec<String> {
        let above = Path::new(real).ancestors().skip(1);
        let missing = above.take_while(|path| !self.host(&path.to_string_lossy()).exists());
        let mut missing: Vec<String> = missing.map(|path| path.to_string_lossy().into_owned()).collect();
        missing.reverse();
        missing
    }

    /// The nearest folder above a path that exists.
    pub fn nearest_folder(&self, real: &str) -> PathBuf {
        let above = Path::new(real).ancestors().skip(1).map(|path| self.host(&path.to_string_lossy()));
        above.into_iter().find(|path| path.exists()).unwrap_or_else(|| self.machine.root().to_owned())
    }

    /// A zram device that is set up, if there is one.
    pub fn zram_that_is_set_up(&self) -> Option<String> {
        let devices = self.machine.list("/sys/block").unwrap_or_default();
        let size = |name: &String| self.machine.read_text(&format!("/sys/block/{name}/disksize")).unwrap_or_default();
        devices.into_iter().filter(|name| name.starts_with("zram")).find(|name| !matches!(size(name).trim(), "" | "0"))
    }

    /// Id of the running boot, empty when unknown.
    pub fn boot_id(&self) -> String {
        self.read_setting(BOOT_ID).ok().flatten().unwrap_or_default()
    }

    /// A number of kB from `/proc/meminfo`, in bytes.
    pub fn meminfo(&self, key: &str) -> Result<Option<u64>, StepError> {
        let text = self.read_setting("/proc/meminfo")?.unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
        Ok(line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok()).map(|kib| kib << 10))
    }
}

/// Nothing there: no file, or something in the way that is no folder.
pub(crate) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// The temporary name beside a path. It is the same after a crash, so that what is left over is found.
pub(crate) fn temporary(real: &str, tag: &str) -> String {
    let (parent, name) = real.rsplit_once('/').unwrap_or(("", real));
    format!("{parent}/.{name}.swaptune-{tag}")
}

/// Mode, owner and attributes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileAttributes {
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
    pub xattrs: Vec<(String, Vec<u8>)>,
}

impl FileAttributes {
    /// Of a file that is created by root.
    pub fn new(mode: u32) -> Self {
        let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        Self { mode, uid, gid, xattrs: Vec::new() }
    }

    /// Of a file that is there.
    pub fn of(path: &Path) -> io::Result<Self> {
        let found = fs::metadata(path)?;
        let xattrs = xattrs(path)?;
        Ok(Self { mode: found.mode() & 0o7777, uid: found.uid(), gid: found.gid(), xattrs })
    }
}

/// Attributes that vouch for a file's content (IMA, EVM) would lie about a changed one and are left out.
fn xattrs(path: &Path) -> io::Result<Vec<(String, Vec<u8>)>> {
    use rustix::io::Errno;
    let mut names = vec![0; 64 << 10];
    let length = match rustix::fs::listxattr(path, &mut names) {
        Ok(length) => length,
        Err(Errno::NOTSUP | Errno::NOSYS | Errno::PERM | Errno::ACCESS) => 0,
        Err(error) => return Err(error.into()),
    };
    let mut found = Vec::new();
    for name in names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let name = String::from_utf8_lossy(name).into_owned();
        let mut value = vec![0; 64 << 10];
        if name == "security.ima" || name == "security.evm" {
            continue;
        }
        if let Ok(length) = rustix::fs::getxattr(path, name.as_str(), &mut value) {
            value.truncate(length);
            found.push((name, value));
        }
    }
    found.sort();
    Ok(found)
}
