//! Pages of a file, or of all files below a folder.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::choice::choose;

/// A file or folder whose pages cannot be had.
#[derive(Debug, Error)]
pub enum WalkError {
    /// It cannot be read.
    #[error("{path}: {source}")]
    Read {
        /// The file or folder.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// Nothing in it fills a page.
    #[error("{path}: no regular file with a whole page of {page_size} bytes")]
    Short {
        /// The file or folder.
        path: String,
        /// Bytes of a page.
        page_size: usize,
    },
}

/// What was read.
#[derive(Debug)]
pub struct Walked {
    /// Pages, one after the other.
    pub bytes: Vec<u8>,
    /// Files and folders that could not be read.
    pub unread: u64,
}

/// A regular file and the whole pages in it.
struct FoundFile {
    path: PathBuf,
    pages: u64,
}

/// At most `count` whole pages of a file or of the regular files below a folder: all, or a random and repeatable choice among all.
///
/// Links are not followed. A file that cannot be read is counted; only a file that was named is an error.
pub fn pages(path: &Path, count: usize, page_size: usize) -> Result<Walked, WalkError> {
    let read = |source| WalkError::Read { path: path.display().to_string(), source };
    let (mut files, mut unread) = (Vec::new(), 0);
    if fs::metadata(path).map_err(read)?.is_dir() {
        fs::read_dir(path).map_err(read)?;
        walk(path, page_size as u64, &mut files, &mut unread);
        files.sort_by(|a, b| a.path.cmp(&b.path));
    } else {
        File::open(path).map_err(read)?;
        files.push(found(path.to_owned(), page_size as u64).map_err(read)?);
    }
    let total = files.iter().map(|file| file.pages).sum();
    let mut walked = Walked { bytes: Vec::with_capacity(count.min(total as usize) * page_size), unread };
    read_chosen(&files, &choose(total, count), page_size, &mut walked);
    if walked.bytes.is_empty() {
        return Err(WalkError::Short { path: path.display().to_string(), page_size });
    }
    Ok(walked)
}

fn found(path: PathBuf, page_size: u64) -> io::Result<FoundFile> {
    let metadata = fs::metadata(&path)?;
    let pages = if metadata.is_file() { metadata.len() / page_size } else { 0 };
    Ok(FoundFile { path, pages })
}

fn walk(folder: &Path, page_size: u64, files: &mut Vec<FoundFile>, unread: &mut u64) {
    let Ok(entries) = fs::read_dir(folder) else {
        *unread += 1;
        return;
    };
    for entry in entries.flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => walk(&entry.path(), page_size, files, unread),
            Ok(kind) if kind.is_file() => match found(entry.path(), page_size) {
                Ok(file) => files.push(file),
                Err(_) => *unread += 1,
            },
            _ => {}
        }
    }
}

/// Reads the pages with these numbers, counted through all files; the numbers ascend.
fn read_chosen(files: &[FoundFile], chosen: &[u64], page_size: usize, walked: &mut Walked) {
    let (mut first, mut rest) = (0, chosen);
    for file in files {
        let (mine, others) = rest.split_at(rest.partition_point(|number| *number < first + file.pages));
        if !mine.is_empty() && read_file(file, first, mine, page_size, &mut walked.bytes).is_err() {
            walked.unread += 1;
        }
        (first, rest) = (first + file.pages, others);
    }
}

fn read_file(file: &FoundFile, first: u64, numbers: &[u64], page_size: usize, bytes: &mut Vec<u8>) -> io::Result<()> {
    let opened = File::open(&file.path)?;
    for number in numbers {
        let end = bytes.len();
        bytes.resize(end + page_size, 0);
        if let Err(error) = opened.read_exact_at(&mut bytes[end..], (number - first) * page_size as u64) {
            bytes.truncate(end);
            return Err(error);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("sub")).unwrap();
        let numbered = |from: u8, pages: u8| (from..from + pages).flat_map(|number| [number; 64]).collect::<Vec<u8>>();
        fs::write(folder.path().join("a"), numbered(0, 100)).unwrap();
        fs::write(folder.path().join("sub/b"), [numbered(100, 100), vec![1; 63]].concat()).unwrap();
        fs::write(folder.path().join("short"), "x").unwrap();
        std::os::unix::fs::symlink(folder.path().join("a"), folder.path().join("link")).unwrap();
        folder
    }

    fn first_bytes(walked: &Walked) -> Vec<u8> {
        walked.bytes.chunks_exact(64).map(|page| page[0]).collect()
    }

    #[test]
    fn all_whole_pages_are_read_once_and_links_are_not_followed() {
        let folder = folder();
        let walked = pages(folder.path(), 1000, 64).unwrap();
        assert_eq!(first_bytes(&walked), (0..200).collect::<Vec<u8>>());
        assert_eq!(walked.unread, 0);
    }

    #[test]
    fn of_more_pages_a_choice_from_all_files_is_read() {
        let folder = folder();
        let chosen = first_bytes(&pages(folder.path(), 50, 64).unwrap());
        assert_eq!(chosen.len(), 50);
        assert!(chosen.windows(2).all(|pair| pair[0] < pair[1]), "{chosen:?}");
        assert!((10..=40).contains(&chosen.iter().filter(|number| **number < 100).count()), "{chosen:?}");
        assert_eq!(chosen, first_bytes(&pages(folder.path(), 50, 64).unwrap()));
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let folder = folder();
        assert!(matches!(pages(Path::new("/no/such"), 1, 64), Err(WalkError::Read { .. })));
        assert!(matches!(pages(&folder.path().join("short"), 1, 64), Err(WalkError::Short { .. })));
    }
}
