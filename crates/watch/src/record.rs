//! Recordings: samples in a file that only grows.
//!
//! A file is a first line, then frames. A frame is a flag, three numbers (compressed length, length, CRC-32 of the compressed bytes;
//! 32 bits, little endian) and the sample as JSON, deflated. One stream of deflate goes through all frames of one run and is flushed at
//! the end of each, so that a frame costs what changed; a later run that appends begins a stream of its own, which the flag says. A frame
//! is one write. What a kill cuts short is the last frame: a reader leaves it out and says so, and the next run cuts it off.

mod read;
#[cfg(test)]
mod tests;

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use flate2::{Compress, Compression, Crc, FlushCompress};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use swaptune_core::metrics::Sample;
use thiserror::Error;

pub use read::{End, RecordReader};

/// What a recording begins with.
const MAGIC: &[u8] = b"swaptune watch 1\n";
/// Flag, compressed length, length, CRC.
const HEAD: usize = 13;
/// Flags: this frame goes on with the stream, or begins a new one.
const GOES_ON: u8 = 0;
const BEGINS: u8 = 1;

/// Why a recording cannot be read or written.
#[derive(Debug, Error)]
pub enum RecordError {
    /// The file system says no.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file holds something else, and nothing is written to it.
    #[error("{}: not a recording of swaptune watch", path.display())]
    Other {
        /// The file.
        path: PathBuf,
    },
    /// The file is damaged before its end: nothing is appended behind that.
    #[error("{}: damaged at byte {at}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where the first frame begins that cannot be read.
        at: u64,
    },
    /// Two would write over each other's samples.
    #[error("{}: another process is recording to it", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
}

/// Appends samples to a file.
#[derive(Debug)]
pub struct SampleRecorder {
    path: PathBuf,
    file: File,
    stream: Compress,
    flag: u8,
    /// Bytes of a frame that an earlier run left half written, and that were cut off.
    pub cut: u64,
}

impl SampleRecorder {
    /// Opens a recording to append to, or makes a new one.
    ///
    /// # Errors
    /// [`RecordError`]; a file that is no recording, or a damaged one, is left as it is.
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        let failed = |source| RecordError::Io { path: path.to_owned(), source };
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(failed)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|error| match error {
            Errno::WOULDBLOCK => RecordError::Busy { path: path.to_owned() },
            error => failed(error.into()),
        })?;
        let length = file.metadata().map_err(failed)?.len();
        let whole = if length < MAGIC.len() as u64 { begin(path, &mut file)? } else { whole(path)? };
        file.set_len(whole).and_then(|()| file.seek(SeekFrom::Start(whole))).map_err(failed)?;
        Ok(Self {
            path: path.to_owned(),
            file,
            stream: Compress::new(Compression::default(), false),
            flag: BEGINS,
            cut: length.saturating_sub(whole),
        })
    }

    /// Appends one sample.
    ///
    /// # Errors
    /// [`RecordError::Io`] when it cannot be written; what is half written is the reader's last frame then.
    pub fn append(&mut self, sample: &Sample) -> Result<(), RecordError> {
        let failed = |source| RecordError::Io { path: self.path.clone(), source };
        let text = serde_json::to_vec(sample).map_err(|error| failed(error.into()))?;
        let packed = deflate(&mut self.stream, &text).map_err(failed)?;
        let frame = frame(self.flag, &packed, text.len()).map_err(failed)?;
        self.file.write_all(&frame).map_err(failed)?;
        self.flag = GOES_ON;
        Ok(())
    }

    /// Where it is written.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Begins a file that is empty, or in which a kill cut the first line short.
fn begin(path: &Path, file: &mut File) -> Result<u64, RecordError> {
    let failed = |source| RecordError::Io { path: path.to_owned(), source };
    let mut there = Vec::new();
    file.read_to_end(&mut there).map_err(failed)?;
    if !MAGIC.starts_with(&there) {
        return Err(RecordError::Other { path: path.to_owned() });
    }
    file.seek(SeekFrom::Start(0)).and_then(|_| file.write_all(MAGIC)).map_err(failed)?;
    Ok(MAGIC.len() as u64)
}

/// Where the last whole frame of a recording ends.
fn whole(path: &Path) -> Result<u64, RecordError> {
    let mut reader = RecordReader::open(path)?;
    while reader.next().is_some() {}
    match reader.end() {
        End::Damaged { at } => Err(RecordError::Damaged { path: path.to_owned(), at }),
        End::Whole | End::Torn { .. } => Ok(reader.position()),
    }
}

fn frame(flag: u8, packed: &[u8], length: usize) -> io::Result<Vec<u8>> {
    let number = |length: usize| u32::try_from(length).map_err(|_| io::Error::other("a sample of more than 4 GiB"));
    let mut frame = Vec::with_capacity(HEAD + packed.len());
    frame.push(flag);
    frame.extend(number(packed.len())?.to_le_bytes());
    frame.extend(number(length)?.to_le_bytes());
    frame.extend(crc(packed).to_le_bytes());
    frame.extend(packed);
    Ok(frame)
}

fn crc(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

fn deflate(stream: &mut Compress, bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut packed = Vec::new();
    let before = stream.total_in();
    loop {
        packed.reserve(bytes.len() / 4 + 256);
        let used = usize::try_from(stream.total_in() - before).unwrap_or(usize::MAX);
        stream.compress_vec(bytes.get(used..).unwrap_or_default(), &mut packed, FlushCompress::Sync)?;
        // Room that is left says that the flush is through.
        if stream.total_in() - before == bytes.len() as u64 && packed.len() < packed.capacity() {
            return Ok(packed);
        }
    }
}
