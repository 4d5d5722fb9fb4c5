//! Knobs: every kernel setting that swaptune reads or turns, in one table.
//!
//! [`TABLE`] is the single origin of names, paths, ranges, kernel versions, the `knobs` command, the reference page and
//! the range checks of configuration files. To add a knob is to add a row to one of the files beside this one.

mod huge_pages;
mod vm;
mod zram;
mod zswap;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;

use swaptune_kernel::KernelVersion;

/// What values a knob takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnobKind {
    /// `Y`/`N`, also written `1`/`0`, `true`/`false`, `on`/`off`.
    Bool,
    /// A whole number within this range, both ends included.
    Integer {
        /// Smallest value, included.
        min: i64,
        /// Largest value, included.
        max: i64,
    },
    /// One word of these; in sysfs the kernel shows the chosen one in brackets.
    Choice(&'static [&'static str]),
    /// A name that only the kernel can check (a compressor, an allocator, a device).
    Name,
    /// Bytes, with an optional K, M or G.
    Size,
    /// A trigger: it takes a command and has no value to go back to.
    Trigger,
    /// Read-only.
    ReadOnly,
}

/// When a write takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// At once.
    Live,
    /// Only if written before the device is set up or the area is switched on.
    BeforeSetup,
}

/// How a configuration names a knob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnobKey {
    /// By the name of its row under `[knobs]`; a parameter of zswap by its own name under `[zswap]`.
    Own,
    /// By this key of a `[[zram]]` section.
    Zram(&'static str),
    /// Not at all, for this reason.
    None(&'static str),
}

/// How the build of a kernel decides a default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Built {
    /// It does not: the text of the default begins with the value.
    Always,
    /// The value beside the first of these options that is `y`, and the last one where none is.
    Options(&'static [(&'static str, &'static str)], &'static str),
    /// The text of this option.
    Text(&'static str),
}

/// One kernel setting.
#[derive(Clone, Copy, Debug)]
pub struct Knob {
    /// Name as it is written in configuration files: `vm.swappiness`, `zswap.compressor`.
    pub name: &'static str,
    /// Absolute path; a `*` stands for a device or a size.
    pub path: &'static str,
    /// How a configuration names it.
    pub key: KnobKey,
    /// Values it takes.
    pub kind: KnobKind,
    /// Smallest number beside 0, where the kernel refuses those between; 0 where the kind says it all.
    pub least: i64,
    /// Words that are taken for a number by their first letter, in either case.
    pub letters: &'static [(char, &'static str)],
    /// Unit of the value, empty for none.
    pub unit: &'static str,
    /// The upstream default, in words where it depends on the machine.
    pub default: &'static str,
    /// What of a build decides the default.
    pub built: Built,
    /// The knob that a write to this one sets to zero, and the other way round; empty for none. Zero cannot be written to get back
    /// (mm/page-writeback.c, mm/util.c).
    pub excludes: &'static str,
    /// First kernel version that has it, `None` when every supported kernel (5.10 and later) has.
    pub since: Option<KernelVersion>,
    /// First kernel version without it.
    pub gone: Option<KernelVersion>,
    /// What took its place, or why it went; empty while it lives.
    pub replaced_by: &'static str,
    /// When a write takes effect.
    pub effect: Effect,
    /// One sentence: what it does.
    pub doc: &'static str,
    /// The kernel document or source file that says so.
    pub source: &'static str,
}

/// The whole table, in the order in which it is shown.
pub static TABLE: &[&[Knob]] = &[zswap::ROWS, zram::ROWS, vm::ROWS, huge_pages::ROWS];

/// All rows.
pub fn all() -> impl Iterator<Item = &'static Knob> {
    TABLE.iter().flat_map(|rows| rows.iter())
}

/// The row with this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Knob> {
    all().find(|knob| knob.name == name)
}

/// Why a value was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KnobError {
    /// No row has this name.
    #[error("unknown knob `{name}`{}", nearest.as_ref().map(|n| format!("; did you mean `{n}`?")).unwrap_or_default())]
    Unknown {
        /// What was asked for.
        name: String,
        /// The row whose name is nearest.
        nearest: Option<String>,
    },
    /// The value is not of the knob's kind or out of its range.
    #[error("{name} = {found}: expected {expected}")]
    Value {
        /// The knob.
        name: String,
        /// What was given.
        found: String,
        /// What it takes.
        expected: String,
    },
}

impl Knob {
    /// What most rows have in common: every supported kernel has it, a write takes effect at once, and the value has no unit.
    const LIVE: Self = Self {
        name: "",
        path: "",
        key: KnobKey::Own,
        kind: KnobKind::ReadOnly,
        least: 0,
        letters: &[],
        unit: "",
        default: "",
        built: Built::Always,
        excludes: "",
        since: None,
        gone: None,
        replaced_by: "",
        effect: Effect::Live,
        doc: "",
        source: "",
    };
}

impl Knob {
    /// True when this is a sysctl, and so can stand in a sysctl.d file.
    #[must_use]
    pub fn is_sysctl(&self) -> bool {
        self.path.starts_with("/proc/sys/")
    }

    /// The name without its family: `max_pool_percent` of `zswap.max_pool_percent`.
    #[must_use]
    pub fn parameter(&self) -> &'static str {
        self.name.split_once('.').map_or(self.name, |(_, parameter)| parameter)
    }

    /// True when the path stands for many files (`*`).
    #[must_use]
    pub fn is_pattern(&self) -> bool {
        self.path.contains('*')
    }

    /// The key of a configuration that sets it, and the section that it stands in.
    ///
    /// # Errors
    /// Why there is none.
    pub fn key(&self) -> Result<(&'static str, &'static str), &'static str> {
        match (self.kind, self.key) {
            (KnobKind::Trigger, _) => Err("it is a command"),
            (KnobKind::ReadOnly, _) => Err("it is read-only"),
            (_, KnobKey::None(why)) => Err(why),
            (_, KnobKey::Zram(key)) => Ok((key, "[[zram]]")),
            (_, KnobKey::Own) if self.name.starts_with("zswap.") => Ok((self.parameter(), "[zswap]")),
            (_, KnobKey::Own) => Ok((self.name, "[knobs]")),
        }
    }

    /// The same as one text.
    #[must_use]
    pub fn key_text(&self) -> String {
        self.key().map_or_else(|why| format!("none: {why}"), |(key, section)| format!("{key} under {section}"))
    }

    /// The knob that a write to this one sets to zero.
    #[must_use]
    pub fn excluded(&self) -> Option<&'static Self> {
        find(self.excludes)
    }

    /// Why a kernel of this version lacks it; `None` when it should be there.
    #[must_use]
    pub fn why_absent(&self, version: KernelVersion) -> Option<String> {
        if let Some(since) = self.since.filter(|since| version < *since) {
            return Some(format!("{} appears with Linux {since}; this is {version}", self.name));
        }
        let gone = self.gone.filter(|gone| version >= *gone)?;
        Some(format!("{} is gone since Linux {gone}: {}", self.name, self.replaced_by))
    }

    /// The value that a kernel of this build configuration starts with; `None` where that depends on the machine or is not known.
    #[must_use]
    pub fn default_of(&self, config: Option<&BTreeMap<String, String>>) -> Option<String> {
        let default = match self.built {
            Built::Always => self.default.split(' ').next().unwrap_or_default(),
            // An option that a configuration does not name is off.
            Built::Options(options, otherwise) => {
                let config = config?;
                let set = options.iter().find(|(option, _)| config.get(*option).is_some_and(|on| on == "y"));
                set.map_or(otherwise, |(_, value)| *value)
            }
            Built::Text(option) => config?.get(option)?,
        };
        self.normalise(default.trim_matches('"')).ok().map(Cow::into_owned)
    }

    /// What the knob takes, in words.
    #[must_use]
    pub fn expected(&self) -> String {
        match self.kind {
            KnobKind::Bool => "Y or N".into(),
            KnobKind::Integer { max, .. } if self.least > 0 => format!("0 or a whole number from {} to {max}", self.least),
            KnobKind::Integer { min, max } => format!("a whole number from {min} to {max}"),
            KnobKind::Choice(words) => format!("one of {}", words.join(", ")),
            KnobKind::Name => "a name that the kernel knows".into(),
            KnobKind::Size => "a size such as \"3G\"".into(),
            KnobKind::Trigger => "a command; it is not a setting".into(),
            KnobKind::ReadOnly => "nothing; it is read-only".into(),
        }
    }

    /// The value in the form in which the kernel shows it, so that two spellings compare equal.
    ///
    /// # Errors
    /// [`KnobError::Value`] when the value is not of the knob's kind or out of its range.
    pub fn normalise<'a>(&self, value: &'a str) -> Result<Cow<'a, str>, KnobError> {
        let error = || KnobError::Value { name: self.name.into(), found: value.into(), expected: self.expected() };
        let value = value.trim();
        match self.kind {
            KnobKind::Bool => match value.to_ascii_lowercase().as_str() {
                "y" | "1" | "true" | "on" | "yes" => Ok("Y".into()),
                "n" | "0" | "false" | "off" | "no" => Ok("N".into()),
                _ => Err(error()),
            },
            KnobKind::Integer { min, max } => {
                let number = self.whole_number(value).ok_or_else(error)?;
                let is_taken = (min..=max).contains(&number) && (number == 0 || number >= self.least);
                if is_taken { Ok(number.to_string().into()) } else { Err(error()) }
            }
            KnobKind::Choice(words) => words.iter().find(|word| **word == value).map(|word| (*word).into()).ok_or_else(error),
            KnobKind::Name if value.is_empty() || value.contains(char::is_whitespace) => Err(error()),
            KnobKind::Name => Ok(value.into()),
            KnobKind::Size => value.parse::<crate::Bytes>().map(|bytes| bytes.0.to_string().into()).map_err(|_| error()),
            KnobKind::Trigger | KnobKind::ReadOnly => Err(error()),
        }
    }

    /// A number as the kernel reads it: sysctls and module parameters that begin with 0 are octal (kstrtox.c, kernel/sysctl.c), and
    /// lru_gen/enabled is shown as a hexadecimal mask (0x0007).
    fn whole_number(&self, value: &str) -> Option<i64> {
        let first = value.chars().next().map(|letter| letter.to_ascii_lowercase());
        let value = self.letters.iter().find(|(letter, _)| Some(*letter) == first).map_or(value, |(_, number)| number);
        let takes_octal = ["/proc/sys/", "/sys/module/"].iter().any(|folder| self.path.starts_with(folder));
        let is_octal = |digits: &&str| takes_octal && digits.starts_with(|digit: char| digit.is_ascii_digit());
        let octal = value.strip_prefix('0').filter(is_octal).map(|digits| i64::from_str_radix(digits, 8));
        let hexadecimal = value.strip_prefix("0x").map(|digits| i64::from_str_radix(digits, 16));
        hexadecimal.or(octal).unwrap_or_else(|| value.parse()).ok()
    }
}

impl Knob {
    /// The spelling in which a value that [`Knob::normalise`] accepted is written to the kernel.
    ///
    /// Module parameters take `Y`; plain sysfs flags are parsed as numbers and take only `1`.
    #[must_use]
    pub fn spelling(&self, normalised: &str) -> String {
        match (self.kind, normalised) {
            (KnobKind::Bool, "Y") if !self.path.starts_with("/sys/module/") => "1".into(),
            (KnobKind::Bool, "N") if !self.path.starts_with("/sys/module/") => "0".into(),
            _ => normalised.into(),
        }
    }

    /// True when two spellings mean the same value; values that the knob does not take are compared as text.
    #[must_use]
    pub fn same(&self, a: &str, b: &str) -> bool {
        match (self.normalise(a), self.normalise(b)) {
            (Ok(a), Ok(b)) => a == b,
            _ => a.trim() == b.trim(),
        }
    }
}

/// The row with this name, or an error that names the nearest one.
///
/// # Errors
/// [`KnobError::Unknown`].
pub fn get(name: &str) -> Result<&'static Knob, KnobError> {
    find(name).ok_or_else(|| KnobError::Unknown {
        name: name.into(),
        nearest: swaptune_kernel::nearest(name, all().map(|knob| knob.name)).map(str::to_owned),
    })
}

/// The word in brackets of `always [madvise] never`, or the text itself when there are none.
#[must_use]
pub fn chosen(text: &str) -> &str {
    let text = text.trim();
    match (text.find('['), text.find(']')) {
        (Some(open), Some(close)) if open < close => &text[open + 1..close],
        _ => text,
    }
}
