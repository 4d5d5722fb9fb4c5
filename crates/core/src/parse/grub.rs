//! `/etc/default/grub` and its drop-ins: the kernel arguments in a quoted shell variable.
//!
//! The file is shell code that `grub-mkconfig` sources. An edit changes words inside one pair of quotes and leaves
//! every other byte alone; a value whose quoting is not that simple is refused, with the reason.

use super::cmdline;
use super::shell;

/// Arguments of every entry, the rescue entry included.
pub const ALL_ENTRIES: &str = "GRUB_CMDLINE_LINUX";
/// Arguments of normal entries, added after [`ALL_ENTRIES`].
pub const NORMAL_ENTRIES: &str = "GRUB_CMDLINE_LINUX_DEFAULT";

/// Why a value cannot be edited.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GrubError {
    /// Pieces with different quotes, or a command in the value.
    #[error("{variable} is quoted in a way that cannot be edited safely: {value}")]
    Quoting {
        /// The variable.
        variable: String,
        /// Its value as written.
        value: String,
    },
    /// A word that the quotes around it would change.
    #[error("`{word}` cannot be written between the quotes of {variable}")]
    Word {
        /// The variable.
        variable: String,
        /// The word.
        word: String,
    },
}

/// The kernel arguments of normal entries after all files were sourced in this order.
#[must_use]
pub fn arguments<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let variables = shell::evaluate(texts);
    let part = |name: &str| variables.get(name).map(|value| value.trim()).filter(|value| !value.is_empty());
    // 10_linux writes GRUB_CMDLINE_LINUX first, then the default ones.
    [part(ALL_ENTRIES), part(NORMAL_ENTRIES)].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// The text with the arguments removed from `variable` whose name `unwanted` picks, and `added` at its end.
///
/// Only the last assignment counts and is edited. Without one, a line is added at the end of the text.
pub fn edit(text: &str, variable: &str, unwanted: impl Fn(&str) -> bool, added: &[String]) -> Result<String, GrubError> {
    let Some(assignment) = shell::assignments(text).into_iter().rev().find(|assignment| assignment.name == variable) else {
        return append(text, variable, added);
    };
    let value = &text[assignment.span.clone()];
    let (quote, inner) =
        split_quotes(value).ok_or_else(|| GrubError::Quoting { variable: variable.to_owned(), value: value.to_owned() })?;
    let kept = without(inner, unwanted);
    if kept == inner && added.is_empty() {
        return Ok(text.to_owned());
    }
    // A bare word needs quotes as soon as it becomes several.
    let quote = quote.unwrap_or('"');
    check_words(variable, quote, added)?;
    let content = with(&kept, added);
    Ok(format!("{}{quote}{content}{quote}{}", &text[..assignment.span.start], &text[assignment.span.end..]))
}

fn append(text: &str, variable: &str, added: &[String]) -> Result<String, GrubError> {
    if added.is_empty() {
        return Ok(text.to_owned());
    }
    check_words(variable, '"', added)?;
    let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    Ok(format!("{text}{newline}{variable}=\"{}\"\n", added.join(" ")))
}

/// The quote around a value and what is between; `None` when it is not one simple piece.
fn split_quotes(value: &str) -> Option<(Option<char>, &str)> {
    let simple = match value.chars().next() {
        Some(quote @ ('"' | '\'')) => {
            let inner = value.strip_prefix(quote)?.strip_suffix(quote)?;
            let closed_early = if quote == '"' { has_unescaped_quote(inner) } else { inner.contains(quote) };
            (!closed_early && value.len() > 1).then_some((Some(quote), inner))
        }
        _ => (!value.contains(['"', '\'', '\\'])).then_some((None, value)),
    };
    simple.filter(|(_, inner)| !inner.contains('`') && !inner.contains("$("))
}

fn has_unescaped_quote(inner: &str) -> bool {
    let mut escaped = false;
    inner.chars().any(|c| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    }) || escaped
}

fn check_words(variable: &str, quote: char, words: &[String]) -> Result<(), GrubError> {
    let forbidden: &[char] = if quote == '"' { &['"', '$', '`', '\\', '\n'] } else { &['\'', '\n'] };
    match words.iter().find(|word| word.contains(forbidden)) {
        Some(word) => Err(GrubError::Word { variable: variable.to_owned(), word: word.clone() }),
        None => Ok(()),
    }
}

/// Takes unwanted words out, each with the blanks before it.
fn without(inner: &str, unwanted: impl Fn(&str) -> bool) -> String {
    let mut out = String::with_capacity(inner.len());
    let mut from = 0;
    for word in cmdline::words(inner) {
        let start = word.as_ptr() as usize - inner.as_ptr() as usize;
        let end = start + word.len();
        let name = word.trim_start_matches(['\\', '"']).split('=').next().unwrap_or_default();
        if !unwanted(name) {
            // What follows a removed first word must not start with its blank.
            let gap = &inner[from..start];
            out.push_str(if out.is_empty() && from > 0 { gap.trim_start() } else { gap });
            out.push_str(word);
        }
        from = end;
    }
    out.push_str(&inner[from..]);
    out
}

fn with(kept: &str, added: &[String]) -> String {
    let content = kept.trim_end();
    let tail = &kept[content.len()..];
    let gap = if content.is_empty() || added.is_empty() { "" } else { " " };
    format!("{content}{gap}{}{}", added.join(" "), if content.is_empty() { "" } else { tail })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: &str, expect: &str) {
        let text = format!("# head\nGRUB_TIMEOUT=5\n{NORMAL_ENTRIES}={value}\n# tail 'x\n");
        let added = ["zswap.enabled=1".to_owned(), "zswap.compressor=lz4".to_owned()];
        let got = edit(&text, NORMAL_ENTRIES, |name| name.starts_with("zswap."), &added).unwrap();
        assert_eq!(got, format!("# head\nGRUB_TIMEOUT=5\n{NORMAL_ENTRIES}={expect}\n# tail 'x\n"), "{value}");
    }

    #[test]
    fn words_change_and_the_rest_stays() {
        check("\"quiet\"", "\"quiet zswap.enabled=1 zswap.compressor=lz4\"");
        check("'quiet  splash '", "'quiet  splash zswap.enabled=1 zswap.compressor=lz4 '");
        check("\"zswap.enabled=0 quiet zswap.zpool=z3fold\"", "\"quiet zswap.enabled=1 zswap.compressor=lz4\"");
        check("\"\"", "\"zswap.enabled=1 zswap.compressor=lz4\"");
        check("", "\"zswap.enabled=1 zswap.compressor=lz4\"");
        check("quiet", "\"quiet zswap.enabled=1 zswap.compressor=lz4\"");
        check("\"$X dyndbg=\\\"file a +p\\\"\"", "\"$X dyndbg=\\\"file a +p\\\" zswap.enabled=1 zswap.compressor=lz4\"");
        check("\"quiet\" # why", "\"quiet zswap.enabled=1 zswap.compressor=lz4\" # why");
    }

    #[test]
    fn odd_quoting_is_refused() {
        for value in ["\"a\"'b'", "\"a\"b", "a\\ b", "\"`x`\"", "\"$(x)\"", "\"open"] {
            let text = format!("{NORMAL_ENTRIES}={value}\n");
            assert!(matches!(edit(&text, NORMAL_ENTRIES, |_| false, &["x".into()]), Err(GrubError::Quoting { .. })), "{value}");
        }
        let text = format!("{NORMAL_ENTRIES}=\"\"\n");
        assert!(matches!(edit(&text, NORMAL_ENTRIES, |_| false, &["$x".into()]), Err(GrubError::Word { .. })));
    }

    #[test]
    fn a_missing_variable_is_added() {
        assert_eq!(edit("A=1", "B", |_| false, &["x".into(), "y".into()]).unwrap(), "A=1\nB=\"x y\"\n");
        assert_eq!(edit("A=1", "B", |_| false, &[]).unwrap(), "A=1");
    }

    #[test]
    fn only_the_last_assignment_is_edited() {
        let text = "A=\"one\"\nA=\"two\"\n";
        assert_eq!(edit(text, "A", |_| false, &["x".into()]).unwrap(), "A=\"one\"\nA=\"two x\"\n");
    }

    #[test]
    fn arguments_of_all_files_together() {
        let main = "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\nGRUB_CMDLINE_LINUX=\"root=x\"\n";
        let dropin = "GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT zswap.enabled=1\"\n";
        assert_eq!(arguments([main, dropin]), "root=x quiet zswap.enabled=1");
    }
}
