//! The file names in a cpio archive of the kernel's kind (Documentation/driver-api/early-userspace/buffer-format.rst).
//!
//! An initramfs is a row of such archives, some plain and some compressed, with zeros between them. The scanner takes
//! the bytes in pieces of any size, so that a decompressed image of several hundred MiB is never held in memory.

/// Length of a `newc` header: magic and 13 fields of eight hexadecimal digits.
const HEADER: usize = 110;
/// Names longer than a path can be mean that this is no archive.
const LONGEST_NAME: u64 = 4096;

/// Reads names out of a stream of archives.
#[derive(Clone, Debug, Default)]
pub struct Scanner {
    state: CpioState,
    partial: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default)]
enum CpioState {
    #[default]
    Header,
    Name {
        length: usize,
        padded: usize,
        data: u64,
    },
    Data {
        left: u64,
    },
}

/// What became of the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fed {
    /// All were read; more may follow.
    All,
    /// From this byte of the piece on it is no cpio archive: compressed data, or garbage.
    Foreign {
        /// Index into the piece.
        at: usize,
    },
}

impl Scanner {
    /// Reads one piece and calls `found` for each name in it.
    pub fn feed(&mut self, piece: &[u8], mut found: impl FnMut(&str)) -> Fed {
        let mut at = 0;
        while at < piece.len() {
            let rest = &piece[at..];
            match self.state {
                CpioState::Header => {
                    if self.partial.is_empty() && rest[0] == 0 {
                        at += rest.iter().take_while(|byte| **byte == 0).count();
                        continue;
                    }
                    let before = self.partial.len();
                    at += self.collect(rest, HEADER);
                    if !starts_as_archive(&self.partial) {
                        return Fed::Foreign { at: at.saturating_sub(self.partial.len() - before) };
                    }
                    if self.partial.len() == HEADER && !self.take_header() {
                        return Fed::Foreign { at: at.saturating_sub(HEADER - before) };
                    }
                }
                CpioState::Name { length, padded, data } => {
                    at += self.collect(rest, padded);
                    if self.partial.len() == padded {
                        found(&String::from_utf8_lossy(&self.partial[..length]));
                        self.partial.clear();
                        self.state = if data == 0 { CpioState::Header } else { CpioState::Data { left: data } };
                    }
                }
                CpioState::Data { left } => {
                    let here = usize::try_from(left).unwrap_or(usize::MAX).min(rest.len());
                    at += here;
                    let left = left - here as u64;
                    self.state = if left == 0 { CpioState::Header } else { CpioState::Data { left } };
                }
            }
        }
        Fed::All
    }

    /// Moves bytes into the partial buffer until it holds `whole`; returns how many.
    fn collect(&mut self, rest: &[u8], whole: usize) -> usize {
        let take = (whole - self.partial.len()).min(rest.len());
        self.partial.extend_from_slice(&rest[..take]);
        take
    }

    fn take_header(&mut self) -> bool {
        let (Some(data), Some(length)) = (self.field(6), self.field(11)) else { return false };
        if !(1..=LONGEST_NAME).contains(&length) {
            return false;
        }
        // The name ends in a zero byte; header and name together, and the data, are padded to four bytes.
        let padded = (HEADER as u64 + length).next_multiple_of(4) - HEADER as u64;
        self.partial.clear();
        self.state = CpioState::Name { length: length as usize - 1, padded: padded as usize, data: data.next_multiple_of(4) };
        true
    }

    fn field(&self, index: usize) -> Option<u64> {
        let digits = self.partial.get(6 + index * 8..14 + index * 8)?;
        u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    }
}

fn starts_as_archive(bytes: &[u8]) -> bool {
    bytes.iter().zip(b"07070").all(|(a, b)| a == b) && bytes.get(5).is_none_or(|kind| matches!(kind, b'1' | b'2'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(name: &str, data: &[u8]) -> Vec<u8> {
        let mut out = b"070701".to_vec();
        for index in 0..13 {
            let value = match index {
                6 => data.len(),
                11 => name.len() + 1,
                _ => 0,
            };
            out.extend(format!("{value:08X}").bytes());
        }
        out.extend(name.bytes());
        out.push(0);
        out.resize(out.len().next_multiple_of(4), 0);
        out.extend(data);
        out.resize(out.len().next_multiple_of(4), 0);
        out
    }

    fn archive() -> Vec<u8> {
        let mut bytes = member("kernel/x86/microcode/GenuineIntel.bin", &[7; 33]);
        bytes.extend(member("TRAILER!!!", &[]));
        bytes.resize(bytes.len().next_multiple_of(512), 0);
        bytes.extend(member("usr/lib/modules/6.12/kernel/crypto/zstd.ko.xz", b"data"));
        bytes.extend(member("TRAILER!!!", &[]));
        bytes
    }

    fn names(bytes: &[u8], piece: usize) -> (Vec<String>, Fed) {
        let (mut scanner, mut names, mut fed) = (Scanner::default(), Vec::new(), Fed::All);
        for chunk in bytes.chunks(piece) {
            fed = scanner.feed(chunk, |name| names.push(name.to_owned()));
        }
        (names, fed)
    }

    #[test]
    fn names_of_two_archives_in_pieces_of_any_size() {
        let expect = [
            "kernel/x86/microcode/GenuineIntel.bin",
            "TRAILER!!!",
            "usr/lib/modules/6.12/kernel/crypto/zstd.ko.xz",
            "TRAILER!!!",
        ];
        for piece in [1, 3, 64, 4096] {
            assert_eq!(names(&archive(), piece), (expect.map(str::to_owned).to_vec(), Fed::All), "{piece}");
        }
    }

    #[test]
    fn compressed_data_after_an_archive_is_pointed_at() {
        let mut bytes = archive();
        let end = bytes.len();
        bytes.extend([0x28, 0xb5, 0x2f, 0xfd, 1, 2, 3]);
        assert_eq!(names(&bytes, bytes.len()).1, Fed::Foreign { at: end });
        assert_eq!(names(b"0707", 4).1, Fed::All);
        assert_eq!(names(b"garbage", 7).1, Fed::Foreign { at: 0 });
    }
}
