//! `sysctl.d` files: single settings put out of action, drop-ins written.
//!
//! What a setting is, in which spellings a key comes and what is a remark is decided by [`crate::parse::sysctl`]; here
//! lines are only marked or made. A setting is never deleted: it becomes a remark under the reason.

use std::collections::BTreeSet;

use super::lines;
use crate::parse::sysctl::{normal_key, parse};

/// The text with every setting of this key turned into a remark, and the reason above it.
///
/// Patterns (`net.ipv4.conf.*`) are left alone: they set other keys as well.
#[must_use]
pub fn comment_out(text: &str, key: &str, why: &str) -> String {
    let key = normal_key(key);
    let settings = parse(text).into_iter().filter(|setting| setting.key == key);
    let numbers: BTreeSet<usize> = settings.map(|setting| setting.line).collect();
    let mut out = String::with_capacity(text.len());
    for line in lines(text) {
        if numbers.contains(&line.number) {
            let ending = if line.ending.is_empty() { "\n" } else { line.ending };
            out.push_str(&format!("{}{ending}#", remark(why)));
        }
        out.push_str(line.content);
        out.push_str(line.ending);
    }
    out
}

/// A whole drop-in: the header as remarks, then each setting under its reason.
#[must_use]
pub fn dropin(header: &str, settings: &[(&str, &str, &str)]) -> String {
    let mut out: String = header.lines().map(|line| remark(line) + "\n").collect();
    for (key, value, reason) in settings {
        out.push('\n');
        if !reason.is_empty() {
            out.push_str(&(remark(reason) + "\n"));
        }
        out.push_str(&format!("{key} = {value}\n"));
    }
    out
}

fn remark(text: &str) -> String {
    format!("# {}", text.replace(['\n', '\r'], " ")).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_key_is_put_out_of_action() {
        for (text, expect) in [
            ("a.b=1\nvm/swappiness = 10\r\nc.d=2", "a.b=1\n# why not\r\n#vm/swappiness = 10\r\nc.d=2"),
            ("-vm.swappiness=1", "# why not\n#-vm.swappiness=1"),
            ("vm.swappiness_x=1\n#vm.swappiness=1\n", "vm.swappiness_x=1\n#vm.swappiness=1\n"),
        ] {
            let once = comment_out(text, "vm.swappiness", "why\nnot");
            assert_eq!(once, expect);
            assert_eq!(comment_out(&once, "vm.swappiness", "why\nnot"), once);
        }
    }

    #[test]
    fn a_dropin_reads_back() {
        let text = dropin("Written by swaptune.\n\nDo not edit.", &[("vm.swappiness", "80", "cheap swap"), ("-vm.x", "1", "")]);
        assert_eq!(text, "# Written by swaptune.\n#\n# Do not edit.\n\n# cheap swap\nvm.swappiness = 80\n\n-vm.x = 1\n");
        assert_eq!(parse(&text).len(), 2);
    }

    proptest! {
        #[test]
        fn commenting_out_touches_no_other_setting(text in "(?s)[ab./=\\-#; \r\n1é]{0,60}") {
            let once = comment_out(&text, "a.b", "r");
            prop_assert_eq!(comment_out(&once, "a.b", "r"), once.clone());
            let others: Vec<_> = parse(&text).into_iter().filter(|s| s.key != "a.b").map(|s| (s.key, s.value)).collect();
            let after: Vec<_> = parse(&once).into_iter().map(|s| (s.key, s.value)).collect();
            prop_assert_eq!(others, after);
        }
    }
}
