//! Numbers as damo prints them: plain, with commas between thousands, and times with units.

/// Units of times, in nanoseconds.
const UNITS: [(&str, f64); 8] =
    [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9), ("sec", 1e9), ("m", 6e10), ("h", 3.6e12), ("d", 8.64e13)];

/// `4294967296` or `4,294,967,296`.
pub(super) fn count(text: &str) -> Option<u64> {
    let text = text.trim();
    if text.contains(',') { text.replace(',', "").parse().ok() } else { text.parse().ok() }
}

/// Nanoseconds of `5225172333`, `104.599 ms` or `14 m 4 s 979 ms`; a number alone is nanoseconds.
pub(super) fn nanoseconds(text: &str) -> Option<u64> {
    if let Some(whole) = count(text) {
        return Some(whole);
    }
    let (mut words, mut sum) = (text.split_ascii_whitespace().peekable(), 0.0);
    words.peek()?;
    while let Some(word) = words.next() {
        let amount = word.replace(',', "").parse::<f64>().ok().filter(|amount| amount.is_finite() && *amount >= 0.0)?;
        let unit = words.next().unwrap_or("ns");
        sum += amount * UNITS.iter().find(|(name, _)| *name == unit)?.1;
    }
    // Above 2^53 the sum is not exact to a nanosecond, which is half the age of a machine that ran for a hundred days.
    (sum < u64::MAX as f64).then_some(sum as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_of_all_kinds_are_read() {
        assert_eq!((count("4,294,967,296"), count("7"), count("7 B"), count("")), (Some(1 << 32), Some(7), None, None));
        for (text, nanos) in [
            ("0", 0),
            ("5225172333", 5_225_172_333),
            ("0 ns", 0),
            ("104.599 ms", 104_599_000),
            ("14 m 4 s 979 ms 123 us 666.667 ns", 844_979_123_666),
            ("1 h", 3_600_000_000_000),
            ("844979123666.7", 844_979_123_666),
        ] {
            assert_eq!(nanoseconds(text), Some(nanos), "{text}");
        }
        for text in ["", "x", "1 parsec", "-1 s", "inf s", "1e30 d", "5 s 3 x"] {
            assert_eq!(nanoseconds(text), None, "{text}");
        }
    }
}
