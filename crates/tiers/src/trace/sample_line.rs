//! A line that `perf script` prints for a sample: what comes before its time, the time, the event, and the rest.
//!
//! perf prints fields in one order, whichever are asked for: name and numbers of the process, `[processor]`, `SECONDS.FRACTION:`,
//! the number of events that the sample stands for, `EVENT:`, and what the event has. `trace-cmd report` and the kernel's own
//! `trace` file write the same with `NAME-NUMBER` in front. Source: perf-script(1), and what perf 6.1 prints.

use super::digits::{decimal, whole};

/// Nanoseconds of a second.
const SECOND: u64 = 1_000_000_000;

/// The parts of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SampleLine<'a> {
    head: &'a [u8],
    /// Time stamp, nanoseconds.
    pub(super) time: u64,
    /// Empty when perf was not asked for it.
    pub(super) event: &'a [u8],
    /// What stands behind the event.
    pub(super) rest: &'a [u8],
}

impl<'a> SampleLine<'a> {
    /// `None` for a line without a time.
    pub(super) fn split(line: &'a [u8]) -> Option<Self> {
        for colon in memchr::memchr_iter(b':', line) {
            let before = &line[..colon];
            let start = before.iter().rposition(|&byte| byte == b' ').map_or(0, |blank| blank + 1);
            let number = &before[start..];
            if !number.first().is_some_and(u8::is_ascii_digit) || !number.contains(&b'.') {
                continue;
            }
            if let Some(time) = decimal(number, SECOND) {
                let (event, rest) = event(&line[colon + 1..]);
                return Some(Self { head: &line[..start], time, event, rest });
            }
        }
        None
    }

    /// The number of the process, or of the thread when perf was not asked for the process; `None` when for neither.
    pub(super) fn process(&self) -> Option<u64> {
        tokens(self.head).rev().take(3).find_map(|token| match token.first()? {
            b'[' => None,
            b'0'..=b'9' => whole(token.split(|&byte| byte == b'/').next()?),
            _ => whole(&token[token.iter().rposition(|&byte| byte == b'-')? + 1..]),
        })
    }
}

/// Words between blanks and tabs.
pub(super) fn tokens(text: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> + Clone {
    text.split(|byte| matches!(byte, b' ' | b'\t')).filter(|token| !token.is_empty())
}

/// The name of the event and what follows it. A number in front of it says for how many events the sample stands.
fn event(text: &[u8]) -> (&[u8], &[u8]) {
    let mut rest = text.trim_ascii();
    for _ in 0..2 {
        let end = rest.iter().position(|byte| matches!(byte, b' ' | b'\t')).unwrap_or(rest.len());
        let (token, after) = rest.split_at(end);
        if let [name @ .., b':'] = token {
            return (name, after.trim_ascii_start());
        }
        if whole(token).is_none() {
            break;
        }
        rest = after.trim_ascii_start();
    }
    (&[], text.trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(line: &str) -> Option<(Option<u64>, u64, &str, &str)> {
        let text = |bytes| std::str::from_utf8(bytes).unwrap();
        SampleLine::split(line.as_bytes()).map(|l| (l.process(), l.time, text(l.event), text(l.rest)))
    }

    #[test]
    fn lines_of_perf_and_of_the_kernel_are_split() {
        let time = 694_896_969_000;
        for (line, expected) in [
            ("  python3 28962/28970   694.896969: page-faults:     7fc7e0afb318", (Some(28962), "page-faults", "7fc7e0afb318")),
            ("  python3 28962 [001]   694.896969:          1 page-faults:u: 7f", (Some(28962), "page-faults:u", "7f")),
            (
                "Web Content 7 [001] 694.896969000: exceptions:page_fault_user: address=0x7f",
                (Some(7), "exceptions:page_fault_user", "address=0x7f"),
            ),
            ("  kworker/0:1-9   [003] d..1.  694.896969: page_fault_user: a", (Some(9), "page_fault_user", "a")),
            ("kdamond.x xxxx xxxx 694.896969: damon:damon_aggregated: t", (None, "damon:damon_aggregated", "t")),
            ("694.896969:     7f486be5bb70", (None, "", "7f486be5bb70")),
            ("a 1 694.896969:      10000 \tcpu_core/mem-loads,ldlat=30/:  7f ", (Some(1), "cpu_core/mem-loads,ldlat=30/", "7f")),
        ] {
            let (process, event, rest) = expected;
            assert_eq!(parts(line), Some((process, time, event, rest)), "{line}");
        }
        for line in ["", "5", "10.5,3", "a 1 page-faults: 7f", "1.2.3: 4", "99999999999.5: 4"] {
            assert_eq!(parts(line), None, "{line}");
        }
    }
}
