//! `/sys/block/zramN/mm_stat` (Documentation/admin-guide/blockdev/zram.rst).
//!
//! Eight numbers in 5.10, nine from 5.15 or 6.1 on. Fewer than eight is no kernel that is supported here.

use crate::facts::ZramMmStat;
use crate::units::Bytes;

/// Reads the line.
#[must_use]
pub fn parse(text: &str) -> Option<ZramMmStat> {
    let numbers: Vec<u64> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    let &[orig, compr, used, limit, max, same, compacted, huge, ref since @ ..] = numbers.as_slice() else { return None };
    Some(ZramMmStat {
        orig_data_size: Bytes(orig),
        compr_data_size: Bytes(compr),
        mem_used_total: Bytes(used),
        mem_limit: Bytes(limit),
        mem_used_max: Bytes(max),
        same_pages: same,
        pages_compacted: compacted,
        huge_pages: huge,
        huge_pages_since: since.first().copied(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nine_fields_and_eight() {
        let nine = parse("  4096       74    12288        0    12288        1        2        3        4\n").unwrap();
        assert_eq!((nine.orig_data_size, nine.mem_used_total), (Bytes(4096), Bytes(12288)));
        assert_eq!((nine.same_pages, nine.pages_compacted, nine.huge_pages), (1, 2, 3));
        assert_eq!(nine.huge_pages_since, Some(4));
        assert_eq!(parse("1 2 3 4 5 6 7 8").unwrap().huge_pages_since, None);
    }

    #[test]
    fn anything_else_is_no_mm_stat() {
        for text in ["", "1 2 3", "1 2 3 4 5 6 7 x", "-1 2 3 4 5 6 7 8"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
