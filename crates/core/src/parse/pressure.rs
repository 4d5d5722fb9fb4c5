//! `/proc/pressure/memory` (Documentation/accounting/psi.rst).
//!
//! Both lines must be there: a kernel that accounts no memory stalls shows no file at all, or refuses to read it.

use crate::facts::Pressure;

/// Reads the `some` and the `full` line.
#[must_use]
pub fn parse(text: &str) -> Option<Pressure> {
    let line = |kind: &str| text.lines().find_map(|line| line.strip_prefix(kind)?.strip_prefix(' '));
    let (some, full) = (line("some")?, line("full")?);
    Some(Pressure {
        some_avg10: field(some, "avg10")?,
        some_avg60: field(some, "avg60")?,
        some_total_us: field(some, "total")?,
        full_avg10: field(full, "avg10")?,
        full_avg60: field(full, "avg60")?,
        full_total_us: field(full, "total")?,
    })
}

fn field<T: std::str::FromStr>(line: &str, name: &str) -> Option<T> {
    line.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('=')).and_then(|value| value.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_lines_are_read() {
        let text = "some avg10=1.50 avg60=0.25 avg300=0.05 total=123456\nfull avg10=0.50 avg60=0.00 avg300=0.00 total=999\n";
        let pressure = parse(text).unwrap();
        assert_eq!((pressure.some_avg10, pressure.some_avg60, pressure.some_total_us), (1.5, 0.25, 123_456));
        assert_eq!((pressure.full_avg10, pressure.full_total_us), (0.5, 999));
        assert_eq!(parse("some avg10=1.50 avg60=0.25 avg300=0.05 total=1\n"), None);
        assert_eq!(parse(""), None);
    }
}
