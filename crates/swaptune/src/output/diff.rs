//! Differences of small text files, line by line.

/// The lines that go (`-`) and come (`+`), without the common ones, each behind `indent` blanks.
pub fn lines(before: &str, after: &str, indent: usize) -> String {
    let (a, b): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let common = common_lengths(&a, &b);
    let pad = " ".repeat(indent);
    let (mut i, mut j) = (0, 0);
    let mut out = String::new();
    while i < a.len() || j < b.len() {
        if i < a.len() && j < b.len() && a[i] == b[j] {
            (i, j) = (i + 1, j + 1);
        } else if j == b.len() || (i < a.len() && common[i + 1][j] >= common[i][j + 1]) {
            out += &format!("{pad}- {}\n", a[i]);
            i += 1;
        } else {
            out += &format!("{pad}+ {}\n", b[j]);
            j += 1;
        }
    }
    out
}

/// Length of the longest common subsequence of every pair of tails.
fn common_lengths(a: &[&str], b: &[&str]) -> Vec<Vec<usize>> {
    let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            table[i][j] = if a[i] == b[j] { table[i + 1][j + 1] + 1 } else { table[i + 1][j].max(table[i][j + 1]) };
        }
    }
    table
}

#[cfg(test)]
mod tests {
    #[test]
    fn only_what_differs_is_shown() {
        assert_eq!(super::lines("a\nb\nc\n", "a\nx\nc\nd\n", 2), "  - b\n  + x\n  + d\n");
        assert_eq!(super::lines("same\n", "same\n", 2), "");
    }
}
