//! What a capture keeps of an inspection, and how it comes back.
//!
//! Files and links lie at their own paths. What a folder cannot hold lies in `.swaptune/`: texts that were computed
//! (`kernel-log`, `live.json`, …) and an index of reads that failed and of folders that were empty.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::ReadError;

/// Folder of a capture for what is not a file of the machine.
pub(crate) const DATA: &str = ".swaptune";

/// Everything that one inspection touched. Paths are those inside the machine, links resolved.
#[derive(Debug, Default)]
pub(crate) struct Record {
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
        let index = fs::read_to_string(data.join("index.json")).ok().and_then(|text| serde_json::from_str(&text).ok());
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
        fs::read_to_string(root.join(DATA).join(name)).ok().map(Ok)
    }
}
