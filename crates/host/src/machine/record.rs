//! What a capture keeps of an inspection, and how it comes back.
//!
//! Files and links lie at their own paths. What a folder cannot hold lies in `.swaptune/`: texts that were computed
//! (`kernel-log`, `live.json`, …) and an index of reads that failed and of folders that were empty.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{ReadError, TEXT_LIMIT};

/// Folder of a capture for what is not a file of the machine.
pub(crate) const DATA: &str = ".swaptune";

/// Everything that one inspection touched. Paths are those inside the machine, links resolved.
#[derive(Debug, Default)]
pub(crate) struct InspectionRecord {
    /// Files by content.
    pub files: BTreeMap<String, Vec<u8>>,
    /// Links by target.
    pub links: BTreeMap<String, String>,
    /// Folders by the names in them.
    pub folders: BTreeMap<String, BTreeSet<String>>,
    /// Paths of which only the existence was asked.
    pub seen: BTreeSet<String>,
    /// Computed texts by name.
    pub derived: BTreeMap<String, String>,
    /// What goes into the index.
    pub index: Index,
}

/// `.swaptune/index.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Index {
    /// Reads that failed for another reason than that nothing was there.
    pub failed: BTreeMap<String, ReadError>,
    /// Folders that were there and empty: version control does not keep those.
    pub empty_folders: BTreeSet<String>,
}

/// What a folder brings along beside its files.
#[derive(Clone, Debug, Default)]
pub(super) struct Offline {
    index: Index,
    is_capture: bool,
}

impl Offline {
    pub fn load(root: &Path) -> Self {
        let data = root.join(DATA);
        let index = read_regular(&data.join("index.json")).ok().and_then(|text| serde_json::from_str(&text).ok());
        Self { index: index.unwrap_or_default(), is_capture: data.is_dir() }
    }

    pub fn is_capture(&self) -> bool {
        self.is_capture
    }

    pub fn failure(&self, inside: &str) -> Option<&ReadError> {
        self.index.failed.get(inside)
    }

    pub fn is_empty_dir(&self, inside: &str) -> bool {
        self.index.empty_folders.contains(inside)
    }

    /// A computed text: from the capture, or its recorded failure; `None` when nothing is known and it may be computed.
    pub fn derived(&self, root: &Path, name: &str) -> Option<Result<String, ReadError>> {
        if !self.is_capture {
            return None;
        }
        if let Some(error) = self.index.failed.get(name) {
            return Some(Err(error.clone()));
        }
        match read_regular(&root.join(DATA).join(name)) {
            Ok(text) => Some(Ok(text)),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => Some(Err(ReadError::from_io(&format!("{DATA}/{name}"), &error))),
        }
    }
}

/// A text of a capture. A folder may come from anywhere: a pipe or a device in it must neither block the reader nor feed it for ever.
fn read_regular(path: &Path) -> std::io::Result<String> {
    let file = fs::OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(std::io::Error::other("not a regular file"));
    }
    let mut text = String::new();
    file.take(TEXT_LIMIT).read_to_string(&mut text).map(|_| text)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::super::Machine;

    /// The pipe has no writer: an ordinary open for reading waits for ever.
    #[test]
    fn pipes_and_devices_in_a_capture_are_refused_and_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join(super::DATA);
        std::fs::create_dir(&data).unwrap();
        for name in ["index.json", "live.json", "kernel-log"] {
            let mode = rustix::fs::Mode::from_raw_mode(0o600);
            rustix::fs::mknodat(rustix::fs::CWD, data.join(name), rustix::fs::FileType::Fifo, mode, 0).unwrap();
        }
        std::fs::create_dir(data.join("statvfs")).unwrap();
        symlink("/dev/zero", data.join("statvfs/%2f")).unwrap();
        let machine = Machine::at(dir.path());
        assert!(!machine.is_root());
        assert_eq!(machine.kernel_log().unwrap_err().to_string(), ".swaptune/kernel-log: not a regular file");
        assert_eq!(machine.space("/").unwrap_err().to_string(), ".swaptune/statvfs/%2f: not a regular file");
    }
}
