//! `/proc/swaps` (`swap_show`, mm/swapfile.c): one line per active area, sizes in KiB.
//!
//! File names are escaped and may therefore hold anything; a deleted file ends in ` (deleted)`.

use crate::escape::unescape;
use crate::facts::SwapKind;
use crate::units::Bytes;

/// One active area as the kernel shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwapLine {
    /// Path, escapes resolved.
    pub path: String,
    /// Block device or file.
    pub kind: SwapKind,
    /// Usable size.
    pub size: Bytes,
    /// Slots in use.
    pub used: Bytes,
    /// Swap priority: higher is used first.
    pub priority: i32,
}

/// Reads the file; the header line is the one whose size is not a number.
#[must_use]
pub fn parse(text: &str) -> Vec<SwapLine> {
    text.lines().filter_map(line).collect()
}

fn line(line: &str) -> Option<SwapLine> {
    let mut words = line.split_whitespace();
    let path = unescape(words.next()?);
    let kind = match words.next()? {
        "partition" => SwapKind::Partition,
        "file" => SwapKind::File,
        _ => return None,
    };
    let mut kib = || Some(Bytes::from_kib(words.next()?.parse().ok()?));
    let (size, used) = (kib()?, kib()?);
    Some(SwapLine { path, kind, size, used, priority: words.next()?.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &[(&str, SwapKind, u64, u64, i32)]) {
        let got: Vec<_> = parse(text).into_iter().map(|a| (a.path, a.kind, a.size.0 >> 10, a.used.0 >> 10, a.priority)).collect();
        let expect: Vec<_> =
            expect.iter().map(|&(path, kind, size, used, pri)| (path.to_owned(), kind, size, used, pri)).collect();
        assert_eq!(got, expect);
    }

    #[test]
    fn areas_of_real_kernels() {
        check("Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n", &[]);
        check(
            "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n\
             /dev/vda3                               partition\t1000444\t\t0\t\t-2\n\
             /swap\\040file\\040(deleted)               file\t\t65532\t\t128\t\t10\n\
             /dev/zram0                              partition\t4066300\t\t12\t\t32767\n",
            &[
                ("/dev/vda3", SwapKind::Partition, 1_000_444, 0, -2),
                ("/swap file (deleted)", SwapKind::File, 65532, 128, 10),
                ("/dev/zram0", SwapKind::Partition, 4_066_300, 12, 32767),
            ],
        );
    }

    #[test]
    fn lines_that_are_cut_short_are_left_out() {
        check("/dev/vda3 partition 100", &[]);
        check("/dev/vda3 socket 1 1 1", &[]);
        check("", &[]);
    }
}
