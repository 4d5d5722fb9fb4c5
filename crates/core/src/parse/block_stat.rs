//! `/sys/class/block/NAME/stat` (Documentation/block/stat.rst): what a block device has done since it appeared.
//!
//! At least eleven numbers; later kernels append discards and flushes. Sectors are of 512 bytes whatever the device has.

use serde::{Deserialize, Serialize};

use crate::units::Bytes;

/// Bytes of a sector in this file.
const SECTOR: u64 = 512;

/// Counters of one device or partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockStat {
    /// Reads that ended.
    pub reads: u64,
    /// What they read.
    pub read: Bytes,
    /// Milliseconds that reads took, each from its start to its end, added up.
    pub read_ms: u64,
    /// Writes that ended.
    pub writes: u64,
    /// What they wrote.
    pub written: Bytes,
    /// Milliseconds that writes took, added up.
    pub write_ms: u64,
}

/// Reads the line.
#[must_use]
pub fn parse(text: &str) -> Option<BlockStat> {
    let numbers: Vec<u64> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    let &[reads, _, sectors_read, read_ms, writes, _, sectors_written, write_ms, _, _, _, ..] = numbers.as_slice() else {
        return None;
    };
    let bytes = |sectors: u64| Bytes(sectors.saturating_mul(SECTOR));
    Some(BlockStat { reads, read: bytes(sectors_read), read_ms, writes, written: bytes(sectors_written), write_ms })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_old_and_new_kernels() {
        let stat = BlockStat { reads: 9, read: Bytes(512 * 72), read_ms: 4, writes: 5, written: Bytes(512 * 40), write_ms: 7 };
        assert_eq!(parse("  9 0 72 4 5 1 40 7 0 8 11\n"), Some(stat));
        assert_eq!(parse("  9 0 72 4 5 1 40 7 0 8 11 0 0 0 0 3 2\n"), Some(stat));
    }

    #[test]
    fn anything_else_is_none() {
        for text in ["", "1 2 3", "1 2 3 4 5 6 7 8 9 10", "a b c d e f g h i j k", "-1 0 72 4 5 1 40 7 0 8 11"] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(parse(&[u64::MAX; 11].map(|n| n.to_string()).join(" ")).unwrap().read, Bytes(u64::MAX));
    }
}
