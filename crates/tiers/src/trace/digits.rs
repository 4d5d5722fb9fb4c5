//! Numbers in text, from bytes.

/// What a byte is as a hexadecimal digit; 16 and more for none.
const HEXADECIMAL: [u8; 256] = {
    let (mut values, mut digit) = ([16; 256], 0);
    while digit < 16 {
        values[b"0123456789abcdef"[digit] as usize] = digit as u8;
        values[b"0123456789ABCDEF"[digit] as usize] = digit as u8;
        digit += 1;
    }
    values
};
/// Powers of ten, up to the decimals of a second that count.
const POWERS: [u64; 10] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];
/// Decimal digits that are always below 2^64.
const SURE: usize = 19;

/// A number of decimal digits.
#[inline]
pub(super) fn whole(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    let digit = |byte: u8| Some(byte.wrapping_sub(b'0')).filter(|digit| *digit < 10).map(u64::from);
    if text.len() <= SURE {
        return text.iter().try_fold(0, |value, &byte| Some(value * 10 + digit(byte)?));
    }
    text.iter().try_fold(0u64, |value, &byte| value.checked_mul(10)?.checked_add(digit(byte)?))
}

/// A number of hexadecimal digits, without 0x.
#[inline]
pub(super) fn hexadecimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u64, |value, &byte| {
        let digit = HEXADECIMAL[usize::from(byte)];
        (digit < 16 && value >> 60 == 0).then(|| value << 4 | u64::from(digit))
    })
}

/// A whole number, decimal or hexadecimal after 0x.
#[inline]
pub(super) fn integer(text: &[u8]) -> Option<u64> {
    match text {
        [b'0', b'x' | b'X', digits @ ..] => hexadecimal(digits),
        _ => whole(text),
    }
}

/// A number with or without decimals, times `unit`, exactly: what is below a whole one is dropped, and so are
/// decimals beyond the ninth. The unit is at most 10⁹.
#[inline]
pub(super) fn decimal(text: &[u8], unit: u64) -> Option<u64> {
    let point = text.iter().position(|&byte| byte == b'.').unwrap_or(text.len());
    let whole_part = whole(&text[..point])?.checked_mul(unit)?;
    let fraction = text.get(point + 1..).unwrap_or_default();
    let (kept, dropped) = fraction.split_at(fraction.len().min(POWERS.len() - 1));
    if kept.is_empty() {
        return Some(whole_part);
    }
    let part = whole(kept)? * unit / POWERS[kept.len()];
    dropped.iter().all(u8::is_ascii_digit).then(|| whole_part.checked_add(part))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_digits_and_fit() {
        assert_eq!((whole(b"12"), whole(b""), whole(b"1a"), whole(b"-1"), whole(b"/")), (Some(12), None, None, None, None));
        assert_eq!((whole(b"18446744073709551615"), whole(b"18446744073709551616")), (Some(u64::MAX), None));
        assert_eq!(whole(b"0000000000000000000000000000005"), Some(5));
        assert_eq!((hexadecimal(b"ffffffffffffffff"), hexadecimal(b"FfaB09")), (Some(u64::MAX), Some(0xffab09)));
        assert_eq!((hexadecimal(b"10000000000000000"), hexadecimal(b"0x1"), hexadecimal(b"g")), (None, None, None));
        assert_eq!((integer(b"0x1F"), integer(b"31"), integer(b"0x"), integer(b"0x+1")), (Some(31), Some(31), None, None));
    }

    #[test]
    fn decimals_are_exact_to_the_last_whole_unit() {
        let second = 1_000_000_000;
        for (text, nanos) in [
            ("5", Some(5 * second)),
            ("693.207416", Some(693_207_416_000)),
            ("0.1234567899", Some(123_456_789)),
            ("7.", Some(7 * second)),
            ("18446744073.709551615", Some(u64::MAX)),
            ("18446744073.709551616", None),
            ("18446744074", None),
            (".5", None),
            ("1.2.3", None),
            ("1.x", None),
            ("", None),
        ] {
            assert_eq!(decimal(text.as_bytes(), second), nanos, "{text}");
        }
        assert_eq!((decimal(b"5.9", 1), decimal(b"5.95", 10)), (Some(5), Some(59)));
    }
}
