//! The kernel command line, as `parse_args` (kernel/params.c) reads it.
//!
//! Double quotes keep spaces together, `-` and `_` are the same in names, the last of several equal names wins for
//! most parameters, and everything after ` -- ` belongs to init.

/// One argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// The part before `=`.
    pub name: String,
    /// The part after `=`, quotes removed.
    pub value: Option<String>,
    /// The argument exactly as it was written.
    pub raw: String,
}

impl Argument {
    /// True when this argument has that name, by the kernel's rule for dashes.
    #[must_use]
    pub fn is(&self, name: &str) -> bool {
        same_name(&self.name, name)
    }
}

/// All arguments before ` -- `, in order.
#[must_use]
pub fn parse(text: &str) -> Vec<Argument> {
    words(text).into_iter().take_while(|raw| *raw != "--").map(argument).collect()
}

/// The value that wins: that of the last argument with this name. `Some("")` for a bare word.
#[must_use]
pub fn get(text: &str, name: &str) -> Option<String> {
    parse(text).into_iter().rev().find(|argument| argument.is(name)).map(|argument| argument.value.unwrap_or_default())
}

/// True when an argument with this name is there.
#[must_use]
pub fn has(text: &str, name: &str) -> bool {
    get(text, name).is_some()
}

/// What the kernel's `kstrtobool` makes of a value; a bare word is yes.
#[must_use]
pub fn boolean(value: &str) -> Option<bool> {
    let mut letters = value.bytes();
    match letters.next().map(|c| c.to_ascii_lowercase()) {
        None | Some(b'y' | b't' | b'1') => Some(true),
        Some(b'n' | b'f' | b'0') => Some(false),
        Some(b'o') => match letters.next().map(|c| c.to_ascii_lowercase()) {
            Some(b'n') => Some(true),
            Some(b'f') => Some(false),
            _ => None,
        },
        Some(_) => None,
    }
}

/// Names are equal when they differ only in dashes and underscores (`parameq`).
#[must_use]
pub fn same_name(a: &str, b: &str) -> bool {
    let dash = |c: u8| if c == b'-' { b'_' } else { c };
    a.len() == b.len() && a.bytes().zip(b.bytes()).all(|(a, b)| dash(a) == dash(b))
}

/// Splits at white space outside double quotes.
#[must_use]
pub fn words(text: &str) -> Vec<&str> {
    let mut quoted = false;
    text.split(|c: char| {
        if c == '"' {
            quoted = !quoted;
        }
        !quoted && (c.is_ascii_whitespace() || c == '\x0b')
    })
    .filter(|word| !word.is_empty())
    .collect()
}

fn argument(raw: &str) -> Argument {
    let bare = unquote(raw);
    let (name, value) = match bare.split_once('=') {
        // `name="two words"`: the quotes are around the value only.
        Some((name, value)) => (name, Some(unquote(value).to_owned())),
        None => (bare, None),
    };
    Argument { name: name.to_owned(), value, raw: raw.to_owned() }
}

fn unquote(text: &str) -> &str {
    match text.strip_prefix('"') {
        Some(rest) => rest.strip_suffix('"').unwrap_or(rest),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_as_the_kernel_finds_them() {
        let text = "BOOT_IMAGE=/vmlinuz root=UUID=12 ro quiet zswap.enabled=0 dyndbg=\"file a.c +p\" \"odd name=x y\" \
                    zswap.enabled=1 transparent-hugepage=never -- zswap.compressor=zstd\n";
        for (name, expect) in [
            ("root", Some("UUID=12")),
            ("ro", Some("")),
            ("zswap.enabled", Some("1")),
            ("dyndbg", Some("file a.c +p")),
            ("odd name", Some("x y")),
            ("transparent_hugepage", Some("never")),
            ("zswap.compressor", None),
            ("zswap", None),
        ] {
            assert_eq!(get(text, name).as_deref(), expect, "{name}");
        }
    }

    #[test]
    fn booleans_are_the_kernels() {
        for (text, expect) in [
            ("", Some(true)),
            ("Y", Some(true)),
            ("1", Some(true)),
            ("on", Some(true)),
            ("Off", Some(false)),
            ("N", Some(false)),
            ("0", Some(false)),
            ("maybe", None),
            ("o", None),
        ] {
            assert_eq!(boolean(text), expect, "{text}");
        }
    }
}
