//! `/etc/default/zramswap` of zram-tools: shell variables that its script sources.
//!
//! The script computes, so a variable may hold anything that the shell makes a number of; a plain number is what people write, and all
//! that is taken here.

use super::shell;
use crate::units::Bytes;

/// What the script does where nothing is set (zram-tools 0.3.3.1 of Debian 12).
const DEFAULT: (&str, u64, i32) = ("lz4", 256, 100);

/// A value with its line; zero for a default of the script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZramswapValue<T> {
    /// Line, from 1.
    pub line: usize,
    /// The value.
    pub value: T,
}

/// How large the device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZramswapSize {
    /// A share of `MemTotal`, in percent; it may be above 100.
    Percent(u64),
    /// A size.
    Fixed(Bytes),
}

/// What the script makes of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zramswap {
    /// Compressor.
    pub algorithm: ZramswapValue<String>,
    /// Uncompressed capacity.
    pub size: ZramswapValue<ZramswapSize>,
    /// Swap priority.
    pub priority: ZramswapValue<i32>,
}

/// A line that holds no number.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}: found \"{found}\", expected {expected}")]
pub struct ZramswapError {
    /// Line, from 1.
    pub line: usize,
    /// The variable.
    pub name: &'static str,
    /// Its value.
    pub found: String,
    /// What it may be.
    pub expected: &'static str,
}

/// Reads the file.
///
/// # Errors
/// [`ZramswapError`] for a value that is no plain number in its range.
pub fn read(text: &str) -> Result<Zramswap, ZramswapError> {
    let (algorithm, mib, priority) = DEFAULT;
    let percent = number(text, "PERCENT", "a whole number of percent above 0", 1..=100_000)?;
    let fixed = number(text, "SIZE", "a whole number of MiB above 0", 1..=1 << 40)?;
    let size = match (percent, fixed) {
        (Some(set), _) => ZramswapValue { line: set.line, value: ZramswapSize::Percent(set.value) },
        (None, Some(set)) => ZramswapValue { line: set.line, value: ZramswapSize::Fixed(Bytes::from_mib(set.value)) },
        (None, None) => ZramswapValue { line: 0, value: ZramswapSize::Fixed(Bytes::from_mib(mib)) },
    };
    let wanted = number(text, "PRIORITY", "a whole number from 0 to 32767", 0..=32767)?;
    let priority = wanted
        .map_or(ZramswapValue { line: 0, value: priority }, |set| ZramswapValue { line: set.line, value: set.value as i32 });
    let algorithm = variable(text, "ALGO").unwrap_or_else(|| ZramswapValue { line: 0, value: algorithm.to_owned() });
    Ok(Zramswap { algorithm, size, priority })
}

/// A variable that is set to something.
fn variable(text: &str, name: &str) -> Option<ZramswapValue<String>> {
    let value = shell::get(text, name).filter(|value| !value.is_empty())?;
    let sets = |line: &str| {
        let line = line.trim_start();
        line.strip_prefix("export ").unwrap_or(line).trim_start().strip_prefix(name).is_some_and(|rest| rest.starts_with('='))
    };
    let line = text.lines().zip(1..).filter(|(line, _)| sets(line)).last().map_or(1, |(_, number)| number);
    Some(ZramswapValue { line, value })
}

fn number(
    text: &str,
    name: &'static str,
    expected: &'static str,
    range: std::ops::RangeInclusive<u64>,
) -> Result<Option<ZramswapValue<u64>>, ZramswapError> {
    let Some(ZramswapValue { line, value }) = variable(text, name) else { return Ok(None) };
    match value.parse() {
        Ok(number) if range.contains(&number) => Ok(Some(ZramswapValue { line, value: number })),
        _ => Err(ZramswapError { line, name, found: value, expected }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn percent_wins_over_size() {
        let read = read("# zram\nALGO=zstd\nSIZE=512\nexport PERCENT=\"60\"\n#PRIORITY=5\n").unwrap();
        assert_eq!(read.algorithm, ZramswapValue { line: 2, value: "zstd".into() });
        assert_eq!(read.size, ZramswapValue { line: 4, value: ZramswapSize::Percent(60) });
        assert_eq!(read.priority, ZramswapValue { line: 0, value: 100 });
    }

    #[test]
    fn an_empty_file_is_what_the_script_does_by_itself() {
        let read = read("#ALGO=lz4\nPERCENT=\n").unwrap();
        assert_eq!((read.algorithm.value.as_str(), read.size.value), ("lz4", ZramswapSize::Fixed(Bytes::from_mib(256))));
    }

    #[test]
    fn what_is_no_number_is_named_with_its_line() {
        for (text, line, expect) in [
            ("\nPERCENT=half\n", 2, "PERCENT: found \"half\", expected a whole number of percent above 0"),
            ("PERCENT=0\n", 1, "PERCENT: found \"0\", expected a whole number of percent above 0"),
            ("SIZE=$((256*2))\n", 1, "SIZE: found \"$((256*2))\", expected a whole number of MiB above 0"),
            ("A=1\nPRIORITY=-3\n", 2, "PRIORITY: found \"-3\", expected a whole number from 0 to 32767"),
        ] {
            let error = read(text).unwrap_err();
            assert_eq!((error.line, error.to_string().as_str()), (line, expect), "{text}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_text_is_safe(text in "(ALGO=|SIZE=|PERCENT=|PRIORITY=|export |[0-9$\"'\n]|\\PC){0,30}") {
            let _ = read(&text);
        }
    }
}
