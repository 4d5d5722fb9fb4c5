//! Reads a recording frame by frame: one sample is in memory at a time.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::{Decompress, FlushDecompress};
use swaptune_core::metrics::Sample;

use super::{BEGINS, GOES_ON, HEAD, MAGIC, RecordError, crc};

/// No sample is longer, whatever a damaged length says.
const LONGEST: usize = 64 << 20;

/// How a recording ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With a whole frame.
    Whole,
    /// With a last frame that a kill cut short.
    Torn {
        /// Bytes that were left out.
        bytes: u64,
    },
    /// With something that cannot be read, and more behind it.
    Damaged {
        /// Where it begins.
        at: u64,
    },
}

/// The samples of a recording, oldest first, up to the first frame that is not whole.
#[derive(Debug)]
pub struct RecordReader {
    file: BufReader<File>,
    length: u64,
    at: u64,
    stream: Decompress,
    end: Option<End>,
    /// [`Sample::steady_us`] of the last sample, and what is added to those of this run.
    last: u64,
    shift: u64,
}

impl RecordReader {
    /// Opens a recording.
    ///
    /// # Errors
    /// [`RecordError`] when it cannot be read, or is no recording.
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        let failed = |source| RecordError::Io { path: path.to_owned(), source };
        let file = File::open(path).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        let mut reader = Self {
            file: BufReader::new(file),
            length,
            at: MAGIC.len() as u64,
            stream: Decompress::new(false),
            end: None,
            last: 0,
            shift: 0,
        };
        let mut first = Vec::new();
        (&mut reader.file).take(MAGIC.len() as u64).read_to_end(&mut first).map_err(failed)?;
        if first.is_empty() || !MAGIC.starts_with(&first) {
            return Err(RecordError::Other { path: path.to_owned() });
        }
        if first.len() < MAGIC.len() {
            (reader.at, reader.end) = (0, Some(End::Torn { bytes: length }));
        }
        Ok(reader)
    }

    /// Where the last frame that was read ends.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.at
    }

    /// How it ends; [`End::Whole`] as long as it has not ended.
    #[must_use]
    pub fn end(&self) -> End {
        self.end.unwrap_or(End::Whole)
    }

    fn frame(&mut self) -> Result<Sample, End> {
        let left = self.length - self.at;
        let torn = End::Torn { bytes: left };
        let damaged = End::Damaged { at: self.at };
        if left == 0 {
            return Err(End::Whole);
        }
        let mut head = [0; HEAD];
        self.file.read_exact(&mut head).map_err(|_| torn)?;
        // What a file that grew before its bytes were written has after a loss of power; a frame has a length.
        if head == [0; HEAD] {
            return Err(if self.is_all_zero() { torn } else { damaged });
        }
        let number = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (packed, length) = (number(1) as usize, number(5) as usize);
        if !matches!(head[0], GOES_ON | BEGINS) || packed > LONGEST || length > LONGEST {
            return Err(damaged);
        }
        let size = (HEAD + packed) as u64;
        if size > left {
            return Err(torn);
        }
        let mut bytes = vec![0; packed];
        self.file.read_exact(&mut bytes).map_err(|_| torn)?;
        // A machine that loses power may have the length of a last frame and not its bytes.
        let unreadable = if size == left { torn } else { damaged };
        if crc(&bytes) != number(9) {
            return Err(unreadable);
        }
        if head[0] == BEGINS {
            self.stream.reset(false);
        }
        let text = inflate(&mut self.stream, &bytes, length).map_err(|_| unreadable)?;
        let mut sample: Sample = serde_json::from_slice(&text).map_err(|_| unreadable)?;
        if head[0] == BEGINS && self.at > MAGIC.len() as u64 {
            self.shift = self.last.wrapping_sub(sample.steady_us);
        }
        // Each run has a clock of its own: it goes on from the last sample of the run before, so that no rate is made of two runs.
        sample.steady_us = sample.steady_us.wrapping_add(self.shift);
        self.last = sample.steady_us;
        self.at += size;
        Ok(sample)
    }

    /// Whether nothing but zeros follows.
    fn is_all_zero(&mut self) -> bool {
        loop {
            let Ok(rest) = self.file.fill_buf() else { return false };
            if rest.is_empty() {
                return true;
            }
            if rest.iter().any(|byte| *byte != 0) {
                return false;
            }
            let length = rest.len();
            self.file.consume(length);
        }
    }
}

impl Iterator for RecordReader {
    type Item = Sample;

    fn next(&mut self) -> Option<Sample> {
        if self.end.is_some() {
            return None;
        }
        match self.frame() {
            Ok(sample) => Some(sample),
            Err(end) => {
                self.end = Some(end);
                None
            }
        }
    }
}

fn inflate(stream: &mut Decompress, packed: &[u8], length: usize) -> io::Result<Vec<u8>> {
    // More room than the text takes: else the end of the flush stays unread, and the next frame begins inside of it.
    let mut text = Vec::with_capacity(length + 64);
    let before = stream.total_in();
    stream.decompress_vec(packed, &mut text, FlushDecompress::Sync)?;
    let is_all = stream.total_in() - before == packed.len() as u64 && text.len() == length;
    if is_all { Ok(text) } else { Err(io::Error::other("not as long as it says")) }
}
