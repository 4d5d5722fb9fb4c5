//! The kernel log: records of `/dev/kmsg`, and lines as dmesg(1) prints them.
//!
//! Only lines about swap are kept: the rest of a kernel log may hold serial numbers and names, and a capture is
//! something that people send to strangers.

use crate::escape;
use crate::facts::KernelLogLine;

/// One record of `/dev/kmsg` (Documentation/ABI/testing/dev-kmsg): `prio,seq,µs,flags;text`, then lines of properties.
#[must_use]
pub fn record(text: &str) -> Option<KernelLogLine> {
    let (prefix, message) = text.split_once(';')?;
    let micros: u64 = prefix.split(',').nth(2)?.parse().ok()?;
    let first = message.lines().next().unwrap_or_default();
    Some(KernelLogLine { at: format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000), text: escape::unescape_hex(first) })
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
    // The command line is a fact of its own.
    let is_own_fact = message.starts_with("Command line:") || message.starts_with("Kernel command line:");
    // A log has thousands of lines: words are compared in place, nothing is built.
    !is_own_fact && message.split(|c: char| !c.is_ascii_alphanumeric()).any(is_wanted)
        || ["Unknown kernel command line", "Out of memory", "Memory cgroup out of memory"]
            .iter()
            .any(|start| message.starts_with(start))
        || message.ends_with("Text file busy")
        || message.contains(" is not empty (contains file system")
}

fn is_wanted(word: &str) -> bool {
    const WHOLE: [&str; 7] = ["swap", "swapon", "swapoff", "swapfile", "swaps", "zswap", "oom"];
    const START: [&str; 5] = ["zram", "zsmalloc", "zbud", "z3fold", "zpool"];
    let starts = |start: &str| word.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start));
    match word.as_bytes().first().map(u8::to_ascii_lowercase) {
        Some(b's' | b'z' | b'o') => {
            WHOLE.iter().any(|whole| word.eq_ignore_ascii_case(whole)) || START.iter().any(|start| starts(start))
        }
        _ => false,
    }
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
        assert!(concerns_swap("oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null)"));
        assert!(concerns_swap("Out of memory: Killed process 1 (x)"));
        assert!(concerns_swap("systemd[1]: dev-zram0.device: Job timed out"));
        assert!(concerns_swap("zram1: detected capacity change from 0 to 131072"));
        assert!(!concerns_swap("usb 1-1: SerialNumber: 0123"));
        assert!(!concerns_swap("Spectre V1 : Mitigation: usercopy/swapgs barriers"));
        assert!(!concerns_swap("CPU: 0 PID: 0 Comm: swapper/0"));
        assert!(!concerns_swap("Kernel command line: zswap.enabled=1 secret=x"));
    }
}
