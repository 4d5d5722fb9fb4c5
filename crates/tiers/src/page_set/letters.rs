//! Columns of words as one letter a page: a tenth of the file.

use serde::{Deserialize, Deserializer, Serializer};

use super::{PageClass, Touch};

/// A word that is one letter in the file.
pub trait Letter: Copy + Sized + 'static {
    /// Every word and its letter.
    const LETTERS: &'static [(Self, char)];
    /// Whether two are the same.
    fn is(self, other: Self) -> bool;
}

impl Letter for PageClass {
    const LETTERS: &'static [(Self, char)] = &[(Self::Zero, 'z'), (Self::SameFilled, 's'), (Self::Data, 'd')];

    fn is(self, other: Self) -> bool {
        self == other
    }
}

impl Letter for Touch {
    const LETTERS: &'static [(Self, char)] = &[(Self::Touched, 't'), (Self::Cold, 'c'), (Self::Unknown, '?')];

    fn is(self, other: Self) -> bool {
        self == other
    }
}

fn to_text<T: Letter>(column: &[T]) -> String {
    column.iter().filter_map(|word| T::LETTERS.iter().find(|(known, _)| known.is(*word))).map(|(_, letter)| letter).collect()
}

fn from_text<T: Letter>(text: &str) -> Result<Vec<T>, String> {
    let known = || T::LETTERS.iter().map(|(_, letter)| format!("`{letter}`")).collect::<Vec<_>>().join(", ");
    let word = |(page, letter): (usize, char)| {
        let found = T::LETTERS.iter().find(|(_, known)| *known == letter);
        found.map(|(word, _)| *word).ok_or_else(|| format!("page {page} is `{letter}`, expected one of {}", known()))
    };
    text.chars().enumerate().map(word).collect()
}

pub fn serialize<T: Letter, S: Serializer>(column: &[T], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&to_text(column))
}

pub fn deserialize<'de, T: Letter, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    from_text(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
}

/// The same for a column that may be missing.
pub mod optional {
    use super::{Deserialize, Deserializer, Letter, Serializer, from_text, to_text};

    pub fn serialize<T: Letter, S: Serializer>(column: &Option<Vec<T>>, serializer: S) -> Result<S::Ok, S::Error> {
        match column {
            Some(column) => serializer.serialize_some(&to_text(column)),
            None => serializer.serialize_none(),
        }
    }

    pub fn deserialize<'de, T: Letter, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<T>>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        text.map(|text| from_text(&text)).transpose().map_err(serde::de::Error::custom)
    }
}
