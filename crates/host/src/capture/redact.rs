//! Blanks out what looks like a secret in files that people edit: a mount option with a password, a token on the kernel
//! command line. The rest of the line stays, because the fault may be in it.

use crate::machine::InspectionRecord;

/// Beginnings of values that are private.
const KEYS: [&str; 7] = ["password=", "passwd=", "passphrase=", "pass=", "secret=", "token=", "apikey="];
/// What stands in their place.
const BLANK: &str = "REDACTED";

/// Goes through the files that may hold such values; returns the paths of those that did.
pub fn all(record: &mut InspectionRecord) -> Vec<String> {
    let mut changed = Vec::new();
    for (path, bytes) in &mut record.files {
        if !path.starts_with("/etc/") && path != "/proc/cmdline" && path != "/proc/cpuinfo" && !path.starts_with("/boot/") {
            continue;
        }
        let Ok(text) = std::str::from_utf8(bytes) else { continue };
        let blanked: String = text.split_inclusive('\n').map(line).collect();
        if blanked != text {
            *bytes = blanked.into_bytes();
            changed.push(path.clone());
        }
    }
    changed
}

fn line(line: &str) -> String {
    // Processors of small boards carry their serial number as a line of /proc/cpuinfo.
    if let Some((key, _)) = line.split_once(':').filter(|(key, _)| key.trim_end() == "Serial") {
        return format!("{key}: {BLANK}\n");
    }
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(end) = next_value(rest) {
        let value = rest[end..].find([' ', '\t', ',', '"', '\'', '\r', '\n']).map_or(rest.len(), |at| end + at);
        out.push_str(&rest[..end]);
        if value > end {
            out.push_str(BLANK);
        }
        rest = &rest[value..];
    }
    out + rest
}

/// Where the first value of such a key begins.
fn next_value(text: &str) -> Option<usize> {
    let lower = text.to_ascii_lowercase();
    KEYS.iter().filter_map(|key| lower.find(key).map(|at| at + key.len())).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_go_and_the_line_stays() {
        for (text, expect) in [
            ("//srv/x /mnt cifs user=a,Password=geheim,uid=1 0 0\n", "//srv/x /mnt cifs user=a,Password=REDACTED,uid=1 0 0\n"),
            ("quiet ds.token=abc zswap.enabled=1\n", "quiet ds.token=REDACTED zswap.enabled=1\n"),
            ("Serial\t\t: 00000000abcd\n", "Serial\t\t: REDACTED\n"),
            ("password= next\n", "password= next\n"),
            ("vm.swappiness = 10\n", "vm.swappiness = 10\n"),
        ] {
            assert_eq!(line(text), expect);
            assert_eq!(line(&line(text)), expect);
        }
    }
}
