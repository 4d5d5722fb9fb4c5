//! `/proc/PID/stat` (proc_pid_stat(5)): when a process began, which tells it from a later one of the same number.

/// Clock ticks from the boot to the start of the process, field 22; `None` when that is not there.
#[must_use]
pub fn started(text: &str) -> Option<u64> {
    // The name in field 2 may hold blanks and brackets of its own: what follows its last bracket counts from field 3.
    let (_, rest) = text.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(22 - 3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_moves_nothing() {
        let text = "42 (a) b (c) S 1 42 42 0 -1 4194304 118 0 0 0 0 0 0 0 20 0 1 0 8671 5595136 448 18446744073709551615\n";
        assert_eq!(started(text), Some(8671));
        for cut in [
            "",
            "42 (sh) S 1",
            "42 sh S 1 42 42 0 -1 4194304 118 0 0 0 0 0 0 0 20 0 1 0 8671",
            "42 (sh) S 1 42 42 0 -1 4194304 118 0 0 0 0 0 0 0 20 0 1 0 x",
        ] {
            assert_eq!(started(cut), None, "{cut}");
        }
    }
}
