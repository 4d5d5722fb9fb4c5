//! Files that show all choices on one line with the chosen one in brackets: `always [madvise] never`.
//!
//! Transparent huge pages, `queue/scheduler` and zram's `comp_algorithm` are written like this.

/// The choices of such a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BracketedChoice {
    /// The word in brackets; none when nothing is chosen.
    pub chosen: Option<String>,
    /// All words, brackets removed.
    pub all: Vec<String>,
}

/// Reads one such line.
#[must_use]
pub fn parse(text: &str) -> BracketedChoice {
    let mut choice = BracketedChoice { chosen: None, all: Vec::new() };
    for word in text.split_whitespace() {
        let bare = word.strip_prefix('[').and_then(|word| word.strip_suffix(']'));
        if let Some(bare) = bare {
            choice.chosen = Some(bare.to_owned());
        }
        choice.all.push(bare.unwrap_or(word).to_owned());
    }
    choice
}

/// The chosen words of a file with a line for each number, zram's `recomp_algorithm`: `#1: lzo lz4 [zstd]`.
#[must_use]
pub fn numbered(text: &str) -> Vec<String> {
    text.lines().filter_map(|line| parse(line.strip_prefix('#')?.split_once(':')?.1).chosen).collect()
}

/// The value of a setting file: the bracketed word when there is one, else the text without its newline.
#[must_use]
pub fn value(text: &str) -> String {
    let trimmed = text.trim();
    if !trimmed.contains('[') {
        return trimmed.to_owned();
    }
    parse(trimmed).chosen.unwrap_or_else(|| trimmed.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_in_brackets_is_the_value() {
        for (text, expect) in [
            ("always [madvise] never\n", "madvise"),
            ("always defer defer+madvise [madvise] never", "madvise"),
            ("[lz4] lz4hc zstd deflate", "lz4"),
            ("60\n", "60"),
            ("", ""),
            ("odd [ brackets ]", "odd [ brackets ]"),
        ] {
            assert_eq!(value(text), expect);
        }
    }

    #[test]
    fn each_number_has_its_choice() {
        assert_eq!(numbered("#1: lzo lzo-rle lz4 [zstd] \n#2: lzo [deflate]\n"), ["zstd", "deflate"]);
        assert!(numbered("").is_empty() && numbered("none\n#: \n#1 zstd\n").is_empty());
    }

    #[test]
    fn all_choices_are_listed() {
        let choice = parse("lzo [lzo-rle] lz4 lz4hc 842 zstd \n");
        assert_eq!(choice.chosen.as_deref(), Some("lzo-rle"));
        assert_eq!(choice.all, ["lzo", "lzo-rle", "lz4", "lz4hc", "842", "zstd"]);
    }
}
