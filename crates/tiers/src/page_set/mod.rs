//! A sample of real pages of real processes: what they compress to, and never what they hold.
//!
//! It is kept as JSON by `swaptune sample --save` and read back here, with everything checked: a column that is too short or a
//! size that no page has would make a simulation wrong without a word.

mod letters;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Version of the form; raised when a field changes its meaning.
pub const SCHEMA: u32 = 1;

/// What a page holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageClass {
    /// Nothing but zeros.
    Zero,
    /// One word over and over, which is not zero.
    SameFilled,
    /// Anything else.
    Data,
}

/// Whether a page was touched while it was sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// It was.
    Touched,
    /// It was not.
    Cold,
    /// It moved or vanished meanwhile.
    Unknown,
}

/// Where a sample comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleOrigin {
    /// What was sampled: `all processes`, `unit nginx.service`.
    pub of: String,
    /// When, RFC 3339 in UTC.
    pub at: String,
    /// What to type to do it again.
    pub command: String,
    /// `uname -r`.
    pub kernel: String,
    /// A hash that names the machine.
    pub machine: String,
    /// Version of swaptune.
    pub swaptune: String,
    /// Seed of the draw.
    pub seed: u64,
    /// For how many seconds pages were watched; `None` when they were not.
    pub cold_seconds: Option<u64>,
}

/// What the pages of a sample are grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GroupKind {
    /// One process.
    Process,
    /// All processes of a systemd unit.
    Unit,
}

/// Pages that were watched, and those of them that were not touched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchedPages {
    /// Pages that were watched.
    pub pages: u64,
    /// Of them not touched.
    pub cold: u64,
}

/// Where pages of the sample belong, and how many there are of which it is a sample.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageGroup {
    /// `nginx.service`, or `nginx[42]` for a process.
    pub name: String,
    /// What it is.
    pub kind: GroupKind,
    /// How many processes.
    pub processes: u32,
    /// Anonymous pages in RAM when the sample was drawn.
    pub present: u64,
    /// Anonymous pages in swap at that moment.
    pub swapped: u64,
    /// How many were watched and not touched, where whole groups are watched.
    pub watched: Option<WatchedPages>,
}

/// A simple random sample of the pages of some processes: each present page had the same chance. One row a page, in columns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageSet {
    /// Version of the form.
    pub schema: u32,
    /// Where it comes from.
    pub origin: SampleOrigin,
    /// Bytes of a page.
    pub page_size: u16,
    /// Where pages belong.
    pub groups: Vec<PageGroup>,
    /// For each page the index of its group.
    pub group: Vec<u32>,
    /// For each page what it holds: `z` zero, `s` same-filled, `d` data.
    #[serde(with = "letters")]
    pub class: Vec<PageClass>,
    /// For each page whether it was touched, where single pages are watched: `t` touched, `c` cold, `?` unknown.
    #[serde(with = "letters::optional", default, skip_serializing_if = "Option::is_none")]
    pub touch: Option<Vec<Touch>>,
    /// By codec, for each page its compressed size in bytes, at most that of a page. 0 for a page of zeros, which no supported
    /// kernel compresses.
    pub sizes: BTreeMap<String, Vec<u16>>,
}

/// What is wrong with a page set.
#[derive(Debug, Error)]
pub enum PageSetError {
    /// No JSON of this form.
    #[error("not a page set: {0}")]
    Form(#[from] serde_json::Error),
    /// Of another version.
    #[error("version {found} of the form, expected {SCHEMA}")]
    Schema {
        /// What it says.
        found: u32,
    },
    /// Without pages there is none that a page of a workload could be like.
    #[error("found no pages, expected one or more")]
    Empty,
    /// A column that is too short or too long.
    #[error("column `{column}` has {found} pages, expected {expected}")]
    Length {
        /// Its name.
        column: String,
        /// Its pages.
        found: usize,
        /// Pages of the others.
        expected: usize,
    },
    /// A page of a group that does not exist.
    #[error("page {page} is of group {group}, and there are {groups}")]
    Group {
        /// Its row, from 0.
        page: usize,
        /// What it says.
        group: u32,
        /// How many there are.
        groups: usize,
    },
    /// A size that no such page has.
    #[error("page {page} takes {size} bytes under {codec}, expected {expected}")]
    Size {
        /// Its row, from 0.
        page: usize,
        /// The codec.
        codec: String,
        /// What it says.
        size: u16,
        /// What it may be.
        expected: String,
    },
    /// More pages drawn from a group than it has.
    #[error("{sampled} pages of `{group}`, which has {present}")]
    Population {
        /// Its name.
        group: String,
        /// Pages of the sample.
        sampled: u64,
        /// Pages that there were.
        present: u64,
    },
}

impl PageSet {
    /// How many pages.
    #[must_use]
    pub fn len(&self) -> usize {
        self.group.len()
    }

    /// True without pages.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.group.is_empty()
    }

    /// Present pages of all groups: the population.
    #[must_use]
    pub fn present(&self) -> u64 {
        self.groups.iter().map(|group| group.present).sum()
    }

    /// The size of a page under a codec as an allocator sees it: 0 for one that takes no object. Pages of zeros never take one;
    /// `same_filled_free` says whether other same-filled pages do not either (zram, and zswap until 6.11). `None` without that
    /// codec or page.
    #[must_use]
    pub fn stored(&self, codec: &str, page: usize, same_filled_free: bool) -> Option<u16> {
        let size = self.sizes.get(codec)?.get(page)?;
        let is_free = same_filled_free && self.class.get(page) == Some(&PageClass::SameFilled);
        Some(if is_free { 0 } else { *size })
    }

    /// Reads what [`PageSet::to_json`] wrote.
    ///
    /// # Errors
    /// [`PageSetError`], which names what is wrong.
    pub fn from_json(text: &str) -> Result<Self, PageSetError> {
        #[derive(Deserialize)]
        struct PageSetVersion {
            schema: u32,
        }
        // The version first: another one may have other fields.
        let PageSetVersion { schema } = serde_json::from_str(text)?;
        if schema != SCHEMA {
            return Err(PageSetError::Schema { found: schema });
        }
        let set: Self = serde_json::from_str(text)?;
        set.check()?;
        Ok(set)
    }

    /// Writes it on one line.
    ///
    /// # Errors
    /// [`PageSetError`] for a set that could not be read back.
    pub fn to_json(&self) -> Result<String, PageSetError> {
        self.check()?;
        Ok(serde_json::to_string(self)?)
    }

    /// Whether it is one.
    ///
    /// # Errors
    /// [`PageSetError`], which names what is wrong.
    pub fn check(&self) -> Result<(), PageSetError> {
        if self.is_empty() {
            return Err(PageSetError::Empty);
        }
        let expected = self.len();
        let touch = self.touch.iter().map(|touch| ("touch", touch.len()));
        let sizes = self.sizes.iter().map(|(codec, sizes)| (codec.as_str(), sizes.len()));
        for (column, found) in touch.chain(sizes).chain([("class", self.class.len())]) {
            if found != expected {
                return Err(PageSetError::Length { column: column.to_owned(), found, expected });
            }
        }
        self.check_groups()?;
        self.sizes.iter().try_for_each(|(codec, sizes)| self.check_sizes(codec, sizes))
    }

    fn check_groups(&self) -> Result<(), PageSetError> {
        let mut sampled = vec![0; self.groups.len()];
        for (page, group) in self.group.iter().enumerate() {
            match sampled.get_mut(*group as usize) {
                Some(count) => *count += 1,
                None => return Err(PageSetError::Group { page, group: *group, groups: self.groups.len() }),
            }
        }
        for (group, sampled) in self.groups.iter().zip(sampled) {
            if sampled > group.present {
                return Err(PageSetError::Population { group: group.name.clone(), sampled, present: group.present });
            }
        }
        Ok(())
    }

    fn check_sizes(&self, codec: &str, sizes: &[u16]) -> Result<(), PageSetError> {
        for (page, (size, class)) in sizes.iter().zip(&self.class).enumerate() {
            let is_zero = *class == PageClass::Zero;
            if *size > self.page_size || (*size == 0) != is_zero {
                let expected = if is_zero { "0: it holds zeros".into() } else { format!("1 to {}", self.page_size) };
                return Err(PageSetError::Size { page, codec: codec.to_owned(), size: *size, expected });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
