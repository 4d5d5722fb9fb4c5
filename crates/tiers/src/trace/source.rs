//! Bytes of a trace, from wherever they come, packed or not: by zstd, or by zlib as damo packs its JSON.

use std::io::{self, BufRead, BufReader, Chain, Cursor, Read};

use flate2::bufread::ZlibDecoder;
use zstd::stream::read::Decoder as ZstdDecoder;

use super::error::EVENTS_MAX;

/// The magic number of a zstd frame, RFC 8878 section 3.1.1.
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// What packs otherwise: how such a file begins (RFC 1952, the formats of xz, of bzip2 behind its digit, and of frames of LZ4), what it is
/// called and what unpacks it.
const PACKERS: [(&[u8], &str, &str); 4] = [
    (&[0x1f, 0x8b, 8], "gzip", "zcat"),
    (&[0xfd, b'7', b'z', b'X', b'Z', 0], "xz", "xzcat"),
    (b"BZh", "bzip2", "bzcat"),
    (&[0x04, 0x22, 0x4d, 0x18], "lz4", "lz4cat"),
];
/// How a block of bzip2 begins, behind the mark of the file and a digit.
const BZIP2_BLOCK: &[u8] = b"1AY&SY";
/// A frame may ask for at most 128 MiB of memory: what `zstd --ultra -22` needs. A power of two.
const WINDOW_LOG_MAX: u32 = 27;
/// Bytes read at once; readers that ask for more read past this buffer, which saves a copy.
const BUFFER: usize = 1 << 16;
/// Bytes that can be looked at before anything is taken.
const HEAD: usize = 4096;

/// A source whose first bytes have been looked at.
pub struct TraceSource<'a> {
    input: Box<dyn BufRead + 'a>,
    /// Most events that are taken from it: a source without end must not take all memory.
    most: u64,
}

impl<'a> TraceSource<'a> {
    /// Looks at the start of `input` and unpacks it if it is packed.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn new(input: impl Read + 'a) -> io::Result<Self> {
        let mut input = with_head(input)?;
        if input.fill_buf()?.starts_with(&ZSTD_MAGIC) {
            let mut frames = ZstdDecoder::with_buffer(input)?;
            frames.window_log_max(WINDOW_LOG_MAX)?;
            return Ok(Self::of(with_head(frames)?));
        }
        if unpacks_to_json(input.fill_buf()?) {
            return Ok(Self::of(with_head(ZlibDecoder::new(input))?));
        }
        Ok(Self::of(input))
    }

    fn of(input: impl BufRead + 'a) -> Self {
        Self { input: Box::new(input), most: EVENTS_MAX }
    }

    /// The same, of which no more events than these are taken.
    #[must_use]
    pub fn at_most(self, events: u64) -> Self {
        Self { most: events.min(EVENTS_MAX), ..self }
    }

    /// Most events that a reader takes from it.
    pub(super) const fn most(&self) -> u64 {
        self.most
    }

    /// What comes next, without taking it; empty at the end. Of a fresh source, at least the first 4096 bytes.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn peek(&mut self) -> io::Result<&[u8]> {
        self.input.fill_buf()
    }

    /// Fills `buffer` as far as the source goes; says how far that is.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn fill(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.input.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }

    /// All that is left, at most `limit` bytes.
    ///
    /// # Errors
    /// When it cannot be read, or is longer.
    pub fn rest(&mut self, limit: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        (&mut self.input).take(limit).read_to_end(&mut bytes)?;
        if !self.peek()?.is_empty() {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("longer than {limit} bytes")));
        }
        Ok(bytes)
    }
}

/// What packed bytes that begin so, where they are not unpacked here: its name, and the program that unpacks them.
pub(super) fn packer(head: &[u8]) -> Option<(&'static str, &'static str)> {
    let begins = |mark: &[u8]| {
        head.starts_with(mark) && (mark != b"BZh" || head.get(4..).is_some_and(|rest| rest.starts_with(BZIP2_BLOCK)))
    };
    PACKERS.iter().find(|(mark, ..)| begins(mark)).map(|&(_, by, unpack)| (by, unpack))
}

/// Whether text that begins so is JSON.
pub(super) fn is_json(head: &[u8]) -> bool {
    matches!(head.trim_ascii_start().first(), Some(b'[' | b'{'))
}

/// Whether bytes that begin so are JSON in zlib's form, RFC 1950. Its mark is short enough to be a number of another format by chance.
fn unpacks_to_json(head: &[u8]) -> bool {
    let [method, flags, ..] = *head else { return false };
    let marked = method & 15 == 8 && (u16::from(method) << 8 | u16::from(flags)) % 31 == 0;
    let mut first = [0; 16];
    marked && ZlibDecoder::new(head).read(&mut first).is_ok_and(|count| is_json(&first[..count]))
}

/// The first bytes of a source, and the rest: however little a pipe gives at once, the beginning can be looked at.
fn with_head<R: Read>(mut input: R) -> io::Result<Chain<Cursor<Vec<u8>>, BufReader<R>>> {
    let mut head = Vec::with_capacity(HEAD);
    (&mut input).take(HEAD as u64).read_to_end(&mut head)?;
    Ok(Cursor::new(head).chain(BufReader::with_capacity(BUFFER, input)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        zstd::encode_all(bytes, 1).unwrap()
    }

    fn read(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut source = TraceSource::new(bytes)?;
        let mut out = vec![0; 1 << 20];
        let count = source.fill(&mut out)?;
        out.truncate(count);
        Ok(out)
    }

    #[test]
    fn plain_and_packed_bytes_are_the_same() {
        let bytes: Vec<u8> = (0..300_000u32).map(|i| (i % 251) as u8).collect();
        assert_eq!(read(&bytes).unwrap(), bytes);
        assert_eq!(read(&packed(&bytes)).unwrap(), bytes);
        assert!(read(&[]).unwrap().is_empty());
    }

    #[test]
    fn frames_follow_each_other_and_skippable_ones_are_left_out() {
        let skippable = [&[0x51, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"xyz"].concat();
        let file = [packed(b"one "), skippable, packed(b"two")].concat();
        assert_eq!(read(&file).unwrap(), b"one two");
    }

    #[test]
    fn what_is_cut_off_or_foreign_is_an_error() {
        let whole = packed(&[7; 5000]);
        assert!(read(&whole[..whole.len() - 3]).is_err());
        assert!(read(&[whole.clone(), b"junk".to_vec()].concat()).is_err());
        assert!(read(&[whole, vec![0x50, 0x2a, 0x4d, 0x18, 9, 0, 0, 0, 1]].concat()).is_err());
    }

    #[test]
    fn a_frame_that_asks_for_too_much_memory_is_an_error() {
        // A header (RFC 8878, 3.1.1.1) without content size or checksum, and its window: 2^(10 + exponent) bytes.
        let asks = |exponent: u8| [&ZSTD_MAGIC[..], &[0, exponent << 3], &[0x01, 0, 0]].concat();
        assert!(read(&asks(17)).unwrap().is_empty(), "128 MiB, and one empty block");
        assert!(read(&asks(18)).is_err());
    }
}
