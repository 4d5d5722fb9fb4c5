//! Escapes of paths and names: octal in `/proc/swaps`, mountinfo and fstab, hexadecimal in what udev and the kernel's log write.
//!
//! Names that any user may choose, of a control group or a process, are made visible before root's terminal shows them.
//!
//! The kernel writes space, tab, newline and backslash as `\040`, `\011`, `\012`, `\134` (`mangle_path`,
//! fs/seq_file.c); fstab(5) reads the same form.

use std::borrow::Cow;

/// Resolves `\ooo`. A backslash that starts no such escape stays as it is.
#[must_use]
pub fn unescape(text: &str) -> String {
    if !text.contains('\\') {
        return text.to_owned();
    }
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        match octal(bytes.get(at..at + 4)) {
            Some(byte) => {
                out.push(byte);
                at += 4;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Resolves `\xNN`, which udev writes into `*_ENC` properties and link names under `/dev/disk/by-label`.
#[must_use]
pub fn unescape_hex(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escape = bytes.get(at..at + 4).filter(|group| group.starts_with(b"\\x"));
        let byte =
            escape.and_then(|group| std::str::from_utf8(&group[2..]).ok()).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        out.push(byte.unwrap_or(bytes[at]));
        at += if byte.is_some() { 4 } else { 1 };
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// A text of lines, so that a terminal shows it and does nothing else: control characters but newline and tab as `\xNN`.
#[must_use]
pub fn visible_lines(text: &str) -> Cow<'_, str> {
    let acts = |c: char| c.is_control() && c != '\n' && c != '\t';
    if !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    text.chars().map(|c| if acts(c) { format!("\\x{:02x}", u32::from(c)) } else { c.to_string() }).collect::<String>().into()
}

/// A name that its owner chose, so that a terminal shows it and does nothing else: control characters as `\xNN`, as systemd writes them.
#[must_use]
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_control() {
            true => out.push_str(&format!("\\x{:02x}", u32::from(c))),
            false => out.push(c),
        }
    }
    out
}

/// A word as it is typed to a shell: quoted where the shell would read it otherwise, and with what a terminal or UTF-8 does not show as
/// `\xNN`, in quotes that bash and zsh resolve.
#[must_use]
pub fn shell_word(word: &[u8]) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_@%+=:,./-".contains(byte);
    let shown = std::str::from_utf8(word).ok().filter(|text| !text.chars().any(char::is_control));
    match shown {
        Some(text) if !text.is_empty() && word.iter().all(is_plain) => text.to_owned(),
        Some(text) => format!("'{}'", text.replace('\'', r"'\''")),
        None => {
            let byte = |byte: &u8| match byte {
                b'\\' | b'\'' => format!("\\{}", char::from(*byte)),
                b' '..=b'~' => char::from(*byte).to_string(),
                other => format!("\\x{other:02x}"),
            };
            format!("$'{}'", word.iter().map(byte).collect::<String>())
        }
    }
}

/// Writes a path so that fstab(5) reads it as one field.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            ' ' => out.push_str("\\040"),
            '\t' => out.push_str("\\011"),
            '\n' => out.push_str("\\012"),
            '\\' => out.push_str("\\134"),
            _ => out.push(c),
        }
    }
    out
}

fn octal(group: Option<&[u8]>) -> Option<u8> {
    let [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7'] = group? else { return None };
    Some((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_as_a_shell_reads_them() {
        let table: [(&[u8], &str); 9] = [
            (b"--limit=1G", "--limit=1G"),
            (b"./a-b_c,d:e@f%", "./a-b_c,d:e@f%"),
            (b"", "''"),
            (b"two words", "'two words'"),
            (b"$HOME; rm *", "'$HOME; rm *'"),
            (b"it's", r"'it'\''s'"),
            ("Größe".as_bytes(), "'Größe'"),
            (b"a\xff'b\\", r"$'a\xff\'b\\'"),
            (b"a\x1b[2J\n", r"$'a\x1b[2J\x0a'"),
        ];
        for (word, typed) in table {
            assert_eq!(shell_word(word), typed);
        }
    }

    #[test]
    fn lines_keep_their_ends_and_nothing_else_that_acts() {
        assert_eq!(visible_lines("a\tä\n"), "a\tä\n");
        assert_eq!(visible_lines("a\u{1b}[2J\r\u{9b}1m\u{7f}\n"), "a\\x1b[2J\\x0d\\x9b1m\\x7f\n");
    }

    #[test]
    fn escapes_are_resolved_and_written() {
        for (escaped, plain) in
            [("/swap\\040file", "/swap file"), ("/a\\011b\\012c\\134d", "/a\tb\nc\\d"), ("/plain", "/plain"), ("", "")]
        {
            assert_eq!(unescape(escaped), plain);
            assert_eq!(escape(plain), escaped);
        }
    }

    #[test]
    fn what_is_no_escape_stays() {
        for text in ["\\", "\\04", "\\999", "a\\x", "\\é"] {
            assert_eq!(unescape(text), text);
        }
    }

    #[test]
    fn control_characters_are_shown_and_do_nothing() {
        for (text, shown) in
            [("user\x1b[31m", "user\\x1b[31m"), ("a\nb\u{9b}", "a\\x0ab\\x9b"), ("plain é.service", "plain é.service")]
        {
            assert_eq!(visible(text), shown);
        }
    }

    #[test]
    fn escapes_in_labels() {
        for (text, plain) in [("my\\x20swap", "my swap"), ("\\x", "\\x"), ("\\xzz", "\\xzz"), ("plain", "plain")] {
            assert_eq!(unescape_hex(text), plain);
        }
    }
}
