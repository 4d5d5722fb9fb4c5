//! `/proc/PID/stat` (proc_pid_stat(5)): when a process began, which tells it from a later one of the same number, and what it did since.

/// The fields that matter here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// Who started it, or took it over: field 4.
    pub parent: u32,
    /// Faults that had to wait for a page to be read or decompressed, its own and those of children that it has waited for: fields 12
    /// and 13.
    pub major_faults: u64,
    /// Clock ticks of processor time, its own and those of children that it has waited for: fields 14 to 17.
    pub cpu_ticks: u64,
    /// Clock ticks from the boot to its start: field 22.
    pub started: u64,
}

/// Reads the whole file; `None` when a field is not there.
#[must_use]
pub fn parse(text: &str) -> Option<Stat> {
    // The name in field 2 may hold blanks and brackets of its own: what follows its last bracket counts from field 3.
    let (_, rest) = text.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().take(22 - 2).collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    let sum = |numbers: std::ops::RangeInclusive<usize>| {
        numbers.map(field).try_fold(0_u64, |sum, next| Some(sum.saturating_add(next?)))
    };
    let parent = u32::try_from(field(4)?).ok()?;
    Some(Stat { parent, major_faults: sum(12..=13)?, cpu_ticks: sum(14..=17)?, started: field(22)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_moves_nothing() {
        let text = "42 (a) b (c) S 1 42 42 0 -1 4194304 118 9 3 4 50 60 7 8 20 0 1 0 8671 5595136 448 18446744073709551615\n";
        assert_eq!(parse(text), Some(Stat { parent: 1, major_faults: 7, cpu_ticks: 125, started: 8671 }));
        for cut in [
            "",
            "42 (sh) S 1",
            "42 sh S 1 42 42 0 -1 4194304 118 0 0 0 0 0 0 0 20 0 1 0 8671",
            "42 (sh) S 1 42 42 0 -1 4194304 118 0 0 0 0 0 0 0 20 0 1 0 x",
        ] {
            assert_eq!(parse(cut), None, "{cut}");
        }
    }
}
