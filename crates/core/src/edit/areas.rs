//! `[[swap]]` sections of a configuration of our own: added behind the last one, and taken out again; every other byte stays.

use crate::settings::read_toml;

/// The text with one more section behind the last one, and a blank line before it.
#[must_use]
pub fn add(text: &str, section: &str) -> String {
    let end = sections(text).last().map_or(text.len(), |last| last.1);
    let (before, after) = text.split_at(end);
    let body = before.trim_end_matches('\n');
    let gap = &before[body.len()..];
    let lead = if body.is_empty() { "" } else { "\n\n" };
    // What stood between the last section and the next one stands behind the new one.
    format!("{body}{lead}{}{}{after}", section.trim_matches('\n'), if gap.is_empty() { "\n" } else { gap })
}

/// The text without the sections whose path is one of these.
#[must_use]
pub fn remove(text: &str, is_it: impl Fn(&str) -> bool) -> String {
    let mut out = text.to_owned();
    for (start, end) in sections(text).into_iter().rev() {
        if !path(&text[start..end]).is_some_and(|path| is_it(&path)) {
            continue;
        }
        let before = out[..start].trim_end_matches('\n').len();
        let section = out[start..end].trim_end_matches('\n').len();
        out.replace_range(before..start + section, "");
    }
    if out.trim().is_empty() { String::new() } else { out }
}

/// True when a text has such a section.
#[must_use]
pub fn has_any(text: &str) -> bool {
    !sections(text).is_empty()
}

/// Where each section begins and ends.
fn sections(text: &str) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    let (mut at, mut open) = (0, false);
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with('[') {
            open = line.trim_start().starts_with("[[swap]]");
            if open {
                found.push((at, at));
            }
        }
        at += line.len();
        if let Some(last) = found.last_mut().filter(|_| open) {
            last.1 = at;
        }
    }
    found
}

fn path(section: &str) -> Option<String> {
    let settings = read_toml("", section, None).ok()?;
    settings.swap?.value.pop().map(|area| area.path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW: &str = "\n[[swap]]\npath = \"/dev/mapper/s\"\npriority = 10\n";

    #[test]
    fn a_section_is_added_behind_the_last_and_taken_out_again() {
        let old = "[[swap]]\npath = \"/a\"\n";
        for text in [
            old.to_owned(),
            format!("profile = \"auto\"\n\n{old}\n[knobs]\n\"vm.swappiness\" = 100\n"),
            format!("{old}\n\n[[zram]]\nsize = \"1G\"\n"),
        ] {
            let added = add(&text, NEW);
            let settings = read_toml("", &added, None).unwrap();
            let paths: Vec<String> = settings.swap.unwrap().value.into_iter().map(|area| area.path).collect();
            assert_eq!(paths, ["/a", "/dev/mapper/s"], "{added}");
            assert_eq!(remove(&added, |path| path == "/dev/mapper/s"), text);
            assert_eq!(remove(&text, |path| path == "/dev/mapper/s"), text);
        }
        assert!(!has_any("# [[swap]]\n") && has_any(old));
    }

    #[test]
    fn a_section_is_written_as_settings_are() {
        let added = add("profile = \"auto\"\n", NEW);
        assert_eq!(added, "profile = \"auto\"\n\n[[swap]]\npath = \"/dev/mapper/s\"\npriority = 10\n");
    }
}
