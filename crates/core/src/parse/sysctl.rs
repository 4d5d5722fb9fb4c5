//! sysctl.d(5) and sysctl.conf(5): `key = value` lines.
//!
//! Both programs accept `.` or `/` between the parts of a key; the first separator decides which of the two it is.
//! A leading `-` ignores errors, and without a value it takes the key out of a pattern.

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SysctlSetting {
    /// Line number, from 1.
    pub line: usize,
    /// The key with dots (`vm.swappiness`).
    pub key: String,
    /// The value, white space around it removed.
    pub value: String,
    /// True for a line that starts with `-`.
    pub ignore_errors: bool,
}

/// Reads the file; lines without `=` are left out.
#[must_use]
pub fn parse(text: &str) -> Vec<SysctlSetting> {
    text.lines().enumerate().filter_map(|(index, text)| line(index + 1, text)).collect()
}

/// The key with dots as separators, as sysctl(8) prints it.
#[must_use]
pub fn normal_key(key: &str) -> String {
    match key.find(['.', '/']) {
        Some(at) if key.as_bytes()[at] == b'/' => key
            .chars()
            .map(|c| match c {
                '/' => '.',
                '.' => '/',
                other => other,
            })
            .collect(),
        _ => key.to_owned(),
    }
}

fn line(number: usize, text: &str) -> Option<SysctlSetting> {
    let text = text.trim();
    if text.starts_with(['#', ';']) {
        return None;
    }
    let (key, value) = text.split_once('=')?;
    let (key, ignore_errors) = match key.trim().strip_prefix('-') {
        Some(key) => (key.trim(), true),
        None => (key.trim(), false),
    };
    let key = normal_key(key.strip_prefix("/proc/sys/").unwrap_or(key));
    (!key.is_empty()).then(|| SysctlSetting { line: number, key, value: value.trim().to_owned(), ignore_errors })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_in_several_spellings() {
        let text = "# comment\n; also\nvm.swappiness = 10\n-vm/page-cluster=0\n\n/proc/sys/vm/dirty_ratio= 5 \nvm.swappiness\n\
                    net/ipv4/conf/eth0.1/forwarding=1\n-net.ipv4.conf.all\n=3\n";
        let got: Vec<_> = parse(text).into_iter().map(|s| (s.line, s.key, s.value, s.ignore_errors)).collect();
        let expect = [
            (3, "vm.swappiness", "10", false),
            (4, "vm.page-cluster", "0", true),
            (6, "vm.dirty_ratio", "5", false),
            (8, "net.ipv4.conf.eth0/1.forwarding", "1", false),
        ];
        assert_eq!(got, expect.map(|(line, key, value, ignore)| (line, key.to_owned(), value.to_owned(), ignore)));
    }
}
