//! Pages to compress, and where they come from.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use swaptune_core::measurement::CodecFigures;
use swaptune_host::machine::Machine;
use swaptune_host::processes::ProcessChoice;
use thiserror::Error;

use super::synthetic::Content;
use super::walk::{self, WalkError};
use crate::codec::same_filled;
use crate::sample::{self, SampleError};

/// Where pages come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageSource {
    /// Anonymous memory of all processes that may be read.
    Live,
    /// Made up.
    Synthetic(Content),
    /// A file, or all files below a folder.
    Path(PathBuf),
}

impl fmt::Display for PageSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Live => f.write_str(CodecFigures::LIVE),
            Self::Synthetic(content) => write!(f, "synthetic {content}"),
            Self::Path(path) => path.display().fmt(f),
        }
    }
}

/// Text that names no source.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SourceError {
    /// No such content.
    #[error("no synthetic pages are called `{0}`; there are zero, text, compressible and random")]
    Content(String),
    /// Neither a word that is known nor a file.
    #[error("`{0}` is neither `live`, `synthetic`, `synthetic:CLASS` nor a file or folder")]
    Unknown(String),
}

impl FromStr for PageSource {
    type Err = SourceError;

    fn from_str(text: &str) -> Result<Self, SourceError> {
        match text.split_once(':') {
            None if text == "live" => Ok(Self::Live),
            None if text == "synthetic" => Ok(Self::Synthetic(Content::Text)),
            Some(("synthetic", name)) => {
                let named = Content::ALL.into_iter().find(|content| content.to_string() == name);
                named.map(Self::Synthetic).ok_or_else(|| SourceError::Content(name.to_owned()))
            }
            _ if PathBuf::from(text).exists() => Ok(Self::Path(text.into())),
            _ => Err(SourceError::Unknown(text.to_owned())),
        }
    }
}

/// Pages that cannot be had.
#[derive(Debug, Error)]
pub enum PagesError {
    /// A file or folder.
    #[error(transparent)]
    Walk(#[from] WalkError),
    /// The processes of this machine.
    #[error(transparent)]
    Sample(#[from] SampleError),
    /// There is nothing to compress.
    #[error("{of}: no page to compress ({same_filled} same-filled, which no compressor sees)")]
    Empty {
        /// The source.
        of: String,
        /// Pages that were left out.
        same_filled: u64,
    },
}

/// Pages in memory, for the time of one benchmark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BenchPages {
    /// What they are, as results say it.
    pub of: String,
    /// Same-filled pages that were left out: no compressor sees them.
    pub same_filled: u64,
    /// Files or processes that could not be read.
    pub unread: u64,
    page_size: usize,
    bytes: Vec<u8>,
}

impl BenchPages {
    /// At most `count` pages from a source; of a larger one a random choice, which of files and made-up pages is always the same.
    ///
    /// Same-filled pages are left out unless they are `wanted`, or are all that is asked for.
    ///
    /// # Errors
    /// [`PagesError`] when there is nothing to read, or nothing left.
    pub fn load(machine: &Machine, source: &PageSource, count: usize, same_filled_wanted: bool) -> Result<Self, PagesError> {
        let (of, page_size) = (source.to_string(), usize::try_from(machine.page_size().0).unwrap_or(4096));
        match source {
            PageSource::Live => {
                let (bytes, tally) = sample::contents(machine, &ProcessChoice::default(), count as u64, sample::fresh_seed())?;
                let pages = Self::of_bytes(of, bytes, page_size, same_filled_wanted)?;
                Ok(Self { unread: tally.unread(), ..pages })
            }
            PageSource::Synthetic(content) => {
                let mut bytes = vec![0; count * page_size];
                bytes.chunks_exact_mut(page_size).zip(0..).for_each(|(page, number)| content.fill(page, number));
                Self::of_bytes(of, bytes, page_size, same_filled_wanted || *content == Content::Zero)
            }
            PageSource::Path(path) => {
                let walked = walk::pages(path, count, page_size)?;
                let pages = Self::of_bytes(of, walked.bytes, page_size, same_filled_wanted)?;
                Ok(Self { unread: walked.unread, ..pages })
            }
        }
    }

    /// Whole pages of these bytes.
    ///
    /// # Errors
    /// [`PagesError::Empty`] when nothing is left.
    pub fn of_bytes(of: String, mut bytes: Vec<u8>, page_size: usize, same_filled_wanted: bool) -> Result<Self, PagesError> {
        bytes.truncate(bytes.len() / page_size * page_size);
        let before = bytes.len();
        if !same_filled_wanted {
            drop_same_filled(&mut bytes, page_size);
        }
        let same_filled = ((before - bytes.len()) / page_size) as u64;
        if bytes.is_empty() {
            return Err(PagesError::Empty { of, same_filled });
        }
        Ok(Self { of, same_filled, unread: 0, page_size, bytes })
    }

    /// The pages that are `wanted`, and in their name how many of how many; `None` when there is none.
    pub(super) fn only(&self, wanted: impl FnMut(&[u8]) -> bool) -> Option<Self> {
        let mut wanted = wanted;
        let bytes: Vec<u8> = self.iter().filter(|page| wanted(page)).flatten().copied().collect();
        let of = format!("{}, {} of {} pages", self.of, bytes.len() / self.page_size, self.count());
        (!bytes.is_empty()).then_some(Self { of, bytes, same_filled: 0, unread: 0, page_size: self.page_size })
    }

    /// Size of each.
    #[must_use]
    pub fn page_size(&self) -> usize {
        self.page_size
    }

    /// How many; at least one.
    #[must_use]
    pub fn count(&self) -> usize {
        self.bytes.len() / self.page_size
    }

    /// One after the other.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Each page's bytes, in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes.chunks_exact(self.page_size)
    }
}

/// Moves the pages that stay to the front, in order.
fn drop_same_filled(bytes: &mut Vec<u8>, page_size: usize) {
    let mut kept = 0;
    for start in (0..bytes.len()).step_by(page_size) {
        if same_filled(&bytes[start..start + page_size]).is_none() {
            bytes.copy_within(start..start + page_size, kept);
            kept += page_size;
        }
    }
    bytes.truncate(kept);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_read_as_they_are_typed() {
        assert_eq!("live".parse(), Ok(PageSource::Live));
        assert_eq!("synthetic".parse(), Ok(PageSource::Synthetic(Content::Text)));
        assert_eq!("synthetic:random".parse(), Ok(PageSource::Synthetic(Content::Random)));
        assert_eq!("/".parse(), Ok(PageSource::Path("/".into())));
        assert_eq!("synthetic:x".parse::<PageSource>(), Err(SourceError::Content("x".into())));
        assert_eq!("/no/such".parse::<PageSource>(), Err(SourceError::Unknown("/no/such".into())));
    }

    #[test]
    fn same_filled_pages_are_left_out_and_counted() {
        let mut bytes = vec![0; 4 * 64 + 5];
        bytes[64] = 1;
        bytes[3 * 64] = 2;
        let pages = BenchPages::of_bytes("x".into(), bytes.clone(), 64, false).unwrap();
        assert_eq!((pages.count(), pages.same_filled), (2, 2));
        assert_eq!(pages.iter().map(|page| page[0]).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(BenchPages::of_bytes("x".into(), bytes, 64, true).unwrap().count(), 4);
        let error = BenchPages::of_bytes("x".into(), vec![0; 128], 64, false).unwrap_err();
        assert_eq!(error.to_string(), "x: no page to compress (2 same-filled, which no compressor sees)");
    }

    #[test]
    fn pages_of_live_processes_can_be_had() {
        // Our own process can be read by anybody.
        let own = [1_u8, 2, 3, 4].repeat(1 << 20);
        let pages = BenchPages::load(&Machine::live(), &PageSource::Live, 200, true).unwrap();
        assert_eq!((pages.of.as_str(), pages.page_size()), ("live processes", 4096));
        assert!((1..=200).contains(&pages.count()), "{}", pages.count());
        drop(own);
    }

    #[test]
    fn synthetic_pages_are_as_many_as_asked_for() {
        for content in Content::ALL {
            let pages = BenchPages::load(&Machine::live(), &PageSource::Synthetic(content), 10, false).unwrap();
            assert_eq!((pages.count(), pages.same_filled), (10, 0), "{content}");
        }
    }
}
