//! The kernel log: records of `/dev/kmsg`, and lines as dmesg(1) prints them.
//!
//! Only lines about swap are kept: the rest of a kernel log may hold serial numbers and names, and a capture is
//! something that people send to strangers.

use super::udevdb;
use crate::facts::KernelLogLine;

/// Texts that make a line worth keeping, in lower case.
const WANTED: [&str; 12] = [
    "zswap",
    "zram",
    "swap",
    "zsmalloc",
    "zbud",
    "z3fold",
    "out of memory",
    "oom-kill",
    "unknown kernel command line",
    "text file busy",
    "timed out waiting for device",
    "page allocation stall",
];

/// One record of `/dev/kmsg` (Documentation/ABI/testing/dev-kmsg): `prio,seq,µs,flags;text`, then lines of properties.
#[must_use]
pub fn record(text: &str) -> Option<KernelLogLine> {
    let (prefix, message) = text.split_once(';')?;
    let micros: u64 = prefix.split(',').nth(2)?.parse().ok()?;
    let first = message.lines().next().unwrap_or_default();
    Some(KernelLogLine { at: format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000), text: udevdb::unescape(first) })
}

/// A log as text: `[   12.345678] message`, or bare messages.
#[must_use]
pub fn text(text: &str) -> Vec<KernelLogLine> {
    text.lines().filter(|line| !line.is_empty()).map(line).collect()
}

/// The line as [`text`] reads it.
#[must_use]
pub fn render(line: &KernelLogLine) -> String {
    if line.at.is_empty() { line.text.clone() } else { format!("[{:>12}] {}", line.at, line.text) }
}

/// True when the line is about what this tool looks after.
#[must_use]
pub fn concerns_swap(message: &str) -> bool {
    let lower = message.to_ascii_lowercase();
    // The command line is a fact of its own, and a long one.
    !lower.starts_with("command line:")
        && !lower.starts_with("kernel command line:")
        && WANTED.iter().any(|word| lower.contains(word))
}

/// What zswap said it loaded: the last `zswap: loaded using pool zstd/zsmalloc`.
#[must_use]
pub fn zswap_loaded(lines: &[KernelLogLine]) -> Option<&str> {
    lines.iter().rev().find_map(|line| line.text.strip_prefix("zswap: loaded using pool ")).map(str::trim)
}

/// What zswap complained about: compressors and allocators that it could not get.
#[must_use]
pub fn zswap_complaints(lines: &[KernelLogLine]) -> Vec<String> {
    let complaint = |text: &str| text.starts_with("zswap: ") && (text.contains("not available") || text.contains("failed"));
    lines.iter().filter(|line| complaint(&line.text)).map(|line| line.text.clone()).collect()
}

fn line(line: &str) -> KernelLogLine {
    let stamped = line.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    match stamped {
        Some((at, text)) if is_seconds(at.trim()) => {
            KernelLogLine { at: at.trim().to_owned(), text: text.strip_prefix(' ').unwrap_or(text).to_owned() }
        }
        _ => KernelLogLine { at: String::new(), text: line.to_owned() },
    }
}

fn is_seconds(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit() || c == b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(at: &str, text: &str) -> KernelLogLine {
        KernelLogLine { at: at.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn records_of_kmsg() {
        assert_eq!(
            record("6,339,5140900,-;zswap: loaded using pool lzo/zbud\n SUBSYSTEM=x\n"),
            Some(at("5.140900", "zswap: loaded using pool lzo/zbud"))
        );
        assert_eq!(record("6,1,0,-;a\\x0ab"), Some(at("0.000000", "a\nb")));
        assert_eq!(record("garbage"), None);
        assert_eq!(record("6,1;x"), None);
    }

    #[test]
    fn text_reads_back_what_render_wrote() {
        for line in [at("12.345678", "zswap: x"), at("", "bare"), at("1.0", "[odd] text")] {
            assert_eq!(text(&render(&line)), [line]);
        }
        assert_eq!(text("[note] not a time\n"), [at("", "[note] not a time")]);
    }

    #[test]
    fn what_zswap_said() {
        let log = text(
            "[    0.5] zswap: compressor zstd not available, using default lzo\n[    0.6] zswap: zpool z3fold not available, using default zbud\n\
             [    0.7] zswap: loaded using pool lzo/zbud\n[   99.0] zswap: loaded using pool zstd/zsmalloc\n",
        );
        assert_eq!(zswap_loaded(&log), Some("zstd/zsmalloc"));
        assert_eq!(zswap_complaints(&log).len(), 2);
        assert_eq!(zswap_loaded(&[]), None);
    }

    #[test]
    fn the_rest_of_the_log_is_not_ours() {
        assert!(concerns_swap("Adding 1000444k swap on /dev/vda3.  Priority:-2 extents:1 across:1000444k"));
        assert!(concerns_swap("BTRFS warning (device vda): swapfile must not be copy-on-write"));
        assert!(!concerns_swap("usb 1-1: SerialNumber: 0123"));
        assert!(!concerns_swap("Kernel command line: zswap.enabled=1 secret=x"));
    }
}
