//! Lines of a source, each a view into what was read: no line is copied unless it lies across two reads.

use super::error::{TraceError, TracePlace};
use super::source::TraceSource;

/// Longest line that is read.
const LINE_MAX: usize = 4096;
/// Bytes read at once.
const BUFFER: usize = 1 << 18;

/// The lines of a source, numbered from 1.
pub(super) struct Lines<'a> {
    source: TraceSource<'a>,
    buffer: Vec<u8>,
    /// What of the buffer is read but not given out.
    from: usize,
    to: usize,
    number: u64,
    ended: bool,
}

impl<'a> Lines<'a> {
    pub(super) fn new(source: TraceSource<'a>) -> Self {
        Self { source, buffer: vec![0; BUFFER], from: 0, to: 0, number: 0, ended: false }
    }

    /// The next line without its line feed, and where it stands; `None` after the last.
    pub(super) fn next(&mut self) -> Result<Option<(TracePlace, &[u8])>, TraceError> {
        self.number += 1;
        let mut seen = 0;
        let length = loop {
            if let Some(length) = memchr::memchr(b'\n', &self.buffer[self.from + seen..self.to]) {
                break seen + length;
            }
            seen = self.to - self.from;
            if self.ended || seen > LINE_MAX {
                break seen;
            }
            self.more()?;
        };
        if length > LINE_MAX {
            return Err(TraceError::malformed(
                TracePlace::Line(self.number),
                "a line without end",
                format!("at most {LINE_MAX} bytes"),
            ));
        }
        if self.from == self.to {
            return Ok(None);
        }
        let start = self.from;
        self.from = (start + length + 1).min(self.to);
        Ok(Some((TracePlace::Line(self.number), &self.buffer[start..start + length])))
    }

    /// Moves what is left to the front and fills the rest.
    fn more(&mut self) -> Result<(), TraceError> {
        self.buffer.copy_within(self.from..self.to, 0);
        self.to -= self.from;
        self.from = 0;
        let place = TracePlace::Line(self.number);
        let room = &mut self.buffer[self.to..];
        let count = self.source.fill(room).map_err(|source| TraceError::Read { place, source })?;
        self.ended = count < room.len();
        self.to += count;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &[u8]) -> Vec<Vec<u8>> {
        let mut lines = Lines::new(TraceSource::new(text).unwrap());
        let mut all = Vec::new();
        while let Some((_, line)) = lines.next().unwrap() {
            all.push(line.to_vec());
        }
        all
    }

    #[test]
    fn lines_are_those_of_a_split_wherever_reads_end() {
        for text in ["", "\n", "a", "a\n", "\n\nb", "a\nb\n\n"] {
            let expected: Vec<&str> = text.lines().collect();
            assert_eq!(all(text.as_bytes()), expected.iter().map(|line| line.as_bytes()).collect::<Vec<_>>(), "{text:?}");
        }
        let long: String = (0..40_000).map(|i| format!("line {i} {}\n", "x".repeat(i % 50))).collect();
        assert!(long.len() > 3 * BUFFER);
        assert!(all(long.as_bytes()).iter().eq(long.lines().map(|line| line.as_bytes().to_vec()).collect::<Vec<_>>().iter()));
    }

    #[test]
    fn a_line_may_be_so_long_and_no_longer() {
        let text = ["1\n".to_owned(), "x".repeat(LINE_MAX), "\n2".to_owned()].concat();
        assert_eq!(all(text.as_bytes()).len(), 3);
        for end in ["", "\n2"] {
            let text = ["1\n".to_owned(), "x".repeat(LINE_MAX + 1), end.to_owned()].concat();
            let mut lines = Lines::new(TraceSource::new(text.as_bytes()).unwrap());
            assert!(lines.next().unwrap().is_some());
            assert_eq!(lines.next().unwrap_err().to_string(), "line 2: found a line without end, expected at most 4096 bytes");
        }
    }
}
