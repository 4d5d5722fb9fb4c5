//! A codec with its level: what is typed, printed and kept.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::{CODECS, Codec, CodecError, Levels, PageCodec};

/// A codec at a level. Its text is the codec's name, with `:` and the level unless that is the kernel's own (`zstd`, `zstd:1`).
#[derive(Clone, Copy, Debug)]
pub struct CodecSetting {
    codec: &'static Codec,
    level: i32,
}

/// Text that names no setting.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SettingError {
    /// No such codec.
    #[error("no codec is called `{name}`; there are {}", names())]
    Unknown {
        /// What was asked for.
        name: String,
    },
    /// The codec has no such level.
    #[error("{codec} has no level `{level}`; {}", levels(*.has))]
    Level {
        /// The codec.
        codec: &'static str,
        /// What was asked for.
        level: String,
        /// What there is.
        has: Levels,
    },
}

fn names() -> String {
    CODECS.iter().map(|codec| codec.name).collect::<Vec<_>>().join(", ")
}

fn levels(has: Levels) -> String {
    match has {
        Levels::One => "it has none at all".into(),
        Levels::Level { min, max, .. } => format!("its levels go from {min} to {max}"),
        Levels::Acceleration { max, .. } => format!("its acceleration goes from 1 to {max}"),
    }
}

impl CodecSetting {
    /// The codec as the kernel has it.
    #[must_use]
    pub fn of(codec: &'static Codec) -> Self {
        Self { codec, level: codec.levels.default_level() }
    }

    /// The codec.
    #[must_use]
    pub fn codec(&self) -> &'static Codec {
        self.codec
    }

    /// Level or acceleration; 0 for a codec that has none.
    #[must_use]
    pub fn level(&self) -> i32 {
        self.level
    }

    /// Whether the level is the kernel's own. zswap has no other; zram takes others.
    #[must_use]
    pub fn is_default(&self) -> bool {
        self.level == self.codec.levels.default_level()
    }

    /// A compressor of pages of this size (4096 where nothing else is known).
    ///
    /// # Errors
    /// [`CodecError::Context`] when the library gives none.
    pub fn open(&self, page_size: usize) -> Result<Box<dyn PageCodec>, CodecError> {
        (self.codec.open)(self.level, page_size)
    }
}

impl PartialEq for CodecSetting {
    fn eq(&self, other: &Self) -> bool {
        self.codec.name == other.codec.name && self.level == other.level
    }
}

impl Eq for CodecSetting {}

impl fmt::Display for CodecSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_default() { f.pad(self.codec.name) } else { f.pad(&format!("{}:{}", self.codec.name, self.level)) }
    }
}

impl FromStr for CodecSetting {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        let (name, level) = text.split_once(':').map_or((text, None), |(name, level)| (name, Some(level)));
        let found = CODECS.iter().find(|codec| codec.name == name);
        let codec = found.ok_or_else(|| SettingError::Unknown { name: name.to_owned() })?;
        let Some(text) = level else { return Ok(Self::of(codec)) };
        let level = text.parse().ok().filter(|level| codec.levels != Levels::One && codec.levels.contains(*level));
        let no_such = || SettingError::Level { codec: codec.name, level: text.to_owned(), has: codec.levels };
        Ok(Self { codec, level: level.ok_or_else(no_such)? })
    }
}
