//! Words of the kernel command line set and removed in place.
//!
//! How a line is split, which names are equal and where the words of init begin is decided by
//! [`crate::parse::cmdline`], after `next_arg` (lib/cmdline.c) and `parse_args` (kernel/params.c).

use std::ops::Range;

use crate::parse::cmdline::words as split;
pub use crate::parse::cmdline::{get, parse, same_name};

/// The text with these words, and without other words whose name starts with one of `remove`.
///
/// A word that is already there is rewritten in its place when its value differs, and further words of its name go;
/// new words come last, but before `--`. An empty value gives a bare word; a value must not contain a double quote,
/// for which the kernel has no escape. Everything else stays byte for byte.
#[must_use]
pub fn set(text: &str, wanted: &[(&str, &str)], remove: &[&str]) -> String {
    let text_of = |piece: CmdlinePiece| match piece {
        CmdlinePiece::Kept(range) => text[range].to_owned(),
        CmdlinePiece::New(new) => new,
    };
    let unwanted = |name: &str| remove.iter().any(|prefix| starts_with(name, prefix));
    pieces(text, wanted, unwanted).into_iter().map(text_of).collect()
}

/// A word as it is written: quotes around a value with blanks.
#[must_use]
pub fn render(name: &str, value: &str) -> String {
    match value {
        "" => name.to_owned(),
        _ if value.contains(is_space) => format!("{name}=\"{value}\""),
        _ => format!("{name}={value}"),
    }
}

/// A piece of an edited text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CmdlinePiece {
    /// This range of the old text.
    Kept(Range<usize>),
    /// New text.
    New(String),
}

/// What [`set`] does, in pieces, for texts that are written in another quoting.
pub(super) fn pieces(text: &str, wanted: &[(&str, &str)], unwanted: impl Fn(&str) -> bool) -> Vec<CmdlinePiece> {
    let words = words(text);
    let mut there = vec![false; wanted.len()];
    let fates: Vec<Option<CmdlinePiece>> = words.iter().map(|word| fate(word, wanted, &unwanted, &mut there)).collect();
    let missing = wanted.iter().zip(&there).filter(|(_, there)| !**there);
    let mut added: Vec<String> = missing.map(|((name, value), _)| render(name, value)).collect();

    let lead = 0..words.first().map_or(0, |word| word.range.start);
    let tail = words.last().map_or(0, |word| word.range.end)..text.len();
    let mut out = vec![CmdlinePiece::Kept(lead)];
    let (mut previous_end, mut empty) = (0, true);
    for (word, fate) in words.iter().zip(fates) {
        if let Some(piece) = fate {
            if !empty {
                out.push(CmdlinePiece::Kept(previous_end..word.range.start));
            }
            // A quote that is never closed swallows everything behind it, so new words go before it.
            if is_open(text, word) && piece == CmdlinePiece::Kept(word.range.clone()) && !added.is_empty() {
                out.push(CmdlinePiece::New(added.join(" ") + " "));
                added.clear();
            }
            out.push(piece);
            empty = false;
        }
        previous_end = word.range.end;
    }
    if !added.is_empty() {
        let before = if empty { "" } else { " " };
        let after = if text[tail.clone()].starts_with('-') { " " } else { "" };
        out.push(CmdlinePiece::New(format!("{before}{}{after}", added.join(" "))));
    }
    out.push(CmdlinePiece::Kept(tail));
    out
}

/// What becomes of a word: kept, rewritten, or dropped with the blanks before it.
fn fate(
    word: &KernelWord,
    wanted: &[(&str, &str)],
    unwanted: &impl Fn(&str) -> bool,
    there: &mut [bool],
) -> Option<CmdlinePiece> {
    let kept = CmdlinePiece::Kept(word.range.clone());
    let Some(index) = wanted.iter().position(|(name, _)| same_name(name, &word.name)) else {
        return (!unwanted(&word.name)).then_some(kept);
    };
    let (name, value) = wanted[index];
    let first = !std::mem::replace(&mut there[index], true);
    first.then(|| if word.value.as_deref().unwrap_or("") == value { kept } else { CmdlinePiece::New(render(name, value)) })
}

/// One word that belongs to the kernel, with its place.
struct KernelWord {
    range: Range<usize>,
    name: String,
    value: Option<String>,
}

fn words(text: &str) -> Vec<KernelWord> {
    let place = |raw: &str| {
        let start = raw.as_ptr() as usize - text.as_ptr() as usize;
        start..start + raw.len()
    };
    let arguments = parse(text).into_iter().zip(split(text));
    arguments.map(|(argument, raw)| KernelWord { range: place(raw), name: argument.name, value: argument.value }).collect()
}

fn is_open(text: &str, word: &KernelWord) -> bool {
    text[word.range.clone()].matches('"').count() % 2 == 1
}

fn starts_with(name: &str, prefix: &str) -> bool {
    let dash = |c: u8| if c == b'-' { b'_' } else { c };
    name.len() >= prefix.len() && name.bytes().zip(prefix.bytes()).all(|(a, b)| dash(a) == dash(b))
}

/// White space of the kernel's `isspace`, as far as it is ASCII.
fn is_space(c: char) -> bool {
    c.is_ascii_whitespace() || c == '\x0b'
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_are_set_in_place_and_the_rest_stays() {
        let wanted = [("zswap.enabled", "1"), ("zswap.max_pool_percent", "38")];
        let both = "zswap.enabled=1 zswap.max_pool_percent=38";
        for (text, expect) in [
            ("", both.to_owned()),
            ("\n", format!("{both}\n")),
            ("quiet", format!("quiet {both}")),
            ("  ro  quiet \n", format!("  ro  quiet {both} \n")),
            ("a zswap.enabled=0  b", "a zswap.enabled=1  b zswap.max_pool_percent=38".into()),
            ("zswap.max-pool-percent=38 zswap.enabled=1", "zswap.max-pool-percent=38 zswap.enabled=1".into()),
            ("zswap.enabled=0 x zswap.enabled=0 zswap.zpool=zbud", "zswap.enabled=1 x zswap.max_pool_percent=38".into()),
            ("zswap.zpool=zbud  ro", format!("ro {both}")),
            ("zswap.zpool=zbud", both.into()),
            ("ro -- zswap.zpool=x", format!("ro {both} -- zswap.zpool=x")),
            ("-- single", format!("{both} -- single")),
            (" --", format!("{both} --")),
            ("a=\"b  c\" dyndbg=\"open x", format!("a=\"b  c\" {both} dyndbg=\"open x")),
            ("zswapped=1", format!("zswapped=1 {both}")),
        ] {
            let once = set(text, &wanted, &["zswap."]);
            assert_eq!(once, expect, "{text:?}");
            assert_eq!(set(&once, &wanted, &["zswap."]), once, "{text:?} twice");
        }
    }

    #[test]
    fn bare_words_and_blanks_in_values() {
        assert_eq!(set("quiet", &[("psi", ""), ("dyndbg", "a b")], &[]), "quiet psi dyndbg=\"a b\"");
        assert_eq!(set("psi=0 quiet", &[("psi", "")], &[]), "psi quiet");
        assert_eq!(set("a  b\tc", &[], &["b"]), "a\tc");
        assert_eq!(set(" a b", &[], &["a"]), " b");
    }

    proptest! {
        #[test]
        fn setting_twice_is_setting_once(text in "(?s)[ \\t\n\"a=.z_é-]{0,40}", value in "[a-z0-9 ]{0,5}") {
            let wanted = [("z.a", value.as_str()), ("zz", "1")];
            let once = set(&text, &wanted, &["z."]);
            prop_assert_eq!(set(&once, &wanted, &["z."]), once.clone());
            prop_assert_eq!(get(&once, "z.a"), Some(value.clone()));
            prop_assert_eq!(get(&once, "zz"), Some("1".to_owned()));
        }

        #[test]
        fn other_words_stay_in_order(text in "(?s)[ \\t\n\"a=.z_é-]{0,40}") {
            let other = |text: &str| -> Vec<String> {
                let all = words(text).into_iter().filter(|word| !starts_with(&word.name, "z"));
                all.map(|word| text[word.range].to_owned()).collect()
            };
            prop_assert_eq!(set(&text, &[], &[]), text.clone());
            prop_assert_eq!(other(&set(&text, &[("z.a", "2")], &["z"])), other(&text));
        }
    }
}
