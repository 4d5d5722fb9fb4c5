//! `swap.conf` of rpi-swap (Raspberry Pi OS): which kind of swap its generator makes at boot.
//!
//! One main file counts, that of the first folder; drop-ins of all folders follow in the order of their names, where one in an earlier
//! folder hides the same name in a later one. An empty value is no value.

use std::collections::BTreeMap;

use super::ini;
use super::zram_generator::GeneratorKey;
use crate::facts::Facts;
use crate::units::Bytes;

/// Folders, the first one wins.
pub const FOLDERS: [&str; 4] = ["/etc/rpi/", "/run/rpi/", "/usr/local/lib/rpi/", "/usr/lib/rpi/"];
/// What the generator takes where the size of a file or device has no limit of its own.
const MAX_SIZE: Bytes = Bytes::from_mib(2048);

/// What it makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RpiSwapMechanism {
    /// A swap file.
    Swapfile,
    /// zram.
    Zram,
    /// zram that writes idle pages to a file.
    ZramFile,
    /// Nothing, and the file is removed.
    None,
}

/// The keys that count, by `Section::Key`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RpiSwap(BTreeMap<String, GeneratorKey>);

/// A value that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}: found \"{found}\", expected {expected}")]
pub struct RpiSwapError {
    /// File and line.
    pub place: String,
    /// `Section::Key`.
    pub name: &'static str,
    /// The value.
    pub found: String,
    /// What it may be.
    pub expected: &'static str,
}

impl RpiSwap {
    /// A key that is set.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&GeneratorKey> {
        self.0.get(name)
    }

    /// What it makes; `auto`, the default, is zram with a file.
    ///
    /// # Errors
    /// [`RpiSwapError`] for another word: the generator takes it for `auto` without a word.
    pub fn mechanism(&self) -> Result<RpiSwapMechanism, RpiSwapError> {
        const NAME: &str = "Main::Mechanism";
        match self.get(NAME).map(|key| key.value.as_str()) {
            None | Some("auto" | "zram+file") => Ok(RpiSwapMechanism::ZramFile),
            Some("swapfile") => Ok(RpiSwapMechanism::Swapfile),
            Some("zram") => Ok(RpiSwapMechanism::Zram),
            Some("none") => Ok(RpiSwapMechanism::None),
            Some(_) => Err(self.wrong(NAME, "auto, swapfile, zram, zram+file or none")),
        }
    }

    /// The size that `[File]` or `[Zram]` asks for on a machine with this much RAM.
    ///
    /// # Errors
    /// [`RpiSwapError`] for what is no number.
    pub fn size(&self, section: RpiSwapSection, ram: Bytes) -> Result<Bytes, RpiSwapError> {
        let [fixed, factor, most] = section.keys();
        if let Some(mib) = self.number(fixed, "a whole number of MiB")? {
            return Ok(Bytes::from_mib(mib as u64));
        }
        let factor = self.number(factor, "a number, for example 1 or 0.5")?.unwrap_or(1.0);
        let size = Bytes::from_mib((ram.mib() as f64 * factor).round() as u64);
        let most = self.number(most, "a whole number of MiB")?.map_or(MAX_SIZE, |mib| Bytes::from_mib(mib as u64));
        Ok(size.min(most))
    }

    fn number(&self, name: &'static str, expected: &'static str) -> Result<Option<f64>, RpiSwapError> {
        let Some(key) = self.get(name) else { return Ok(None) };
        let plain = key.value.bytes().all(|c| c.is_ascii_digit() || c == b'.');
        match key.value.parse::<f64>() {
            Ok(number) if plain && number <= 1e12 => Ok(Some(number)),
            _ => Err(self.wrong(name, expected)),
        }
    }

    fn wrong(&self, name: &'static str, expected: &'static str) -> RpiSwapError {
        let key = self.get(name);
        let place = key.map(|key| format!("{}:{}", key.path, key.line)).unwrap_or_default();
        RpiSwapError { place, name, found: key.map(|key| key.value.clone()).unwrap_or_default(), expected }
    }
}

/// A section with a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RpiSwapSection {
    /// `[File]`.
    File,
    /// `[Zram]`.
    Zram,
}

impl RpiSwapSection {
    fn keys(self) -> [&'static str; 3] {
        match self {
            Self::File => ["File::FixedSizeMiB", "File::RamMultiplier", "File::MaxSizeMiB"],
            Self::Zram => ["Zram::FixedSizeMiB", "Zram::RamMultiplier", "Zram::MaxSizeMiB"],
        }
    }
}

/// What these files come to, which are in the order in which they are read.
#[must_use]
pub fn read(files: &[(&str, &str)]) -> RpiSwap {
    let mut all = BTreeMap::new();
    for (path, text) in files {
        for section in ini::sections(text) {
            for key in section.keys {
                let name = format!("{}::{}", section.name, key.name);
                if key.value.is_empty() {
                    all.remove(&name);
                } else {
                    all.insert(name, GeneratorKey { path: (*path).to_owned(), line: key.line, value: key.value });
                }
            }
        }
    }
    RpiSwap(all)
}

/// What the files among [`Facts::files`] come to.
#[must_use]
pub fn of(facts: &Facts) -> RpiSwap {
    let main = FOLDERS.iter().map(|folder| format!("{folder}swap.conf")).find(|path| facts.file(path).is_some());
    let mut dropins = BTreeMap::new();
    for folder in FOLDERS {
        for path in facts.files.keys() {
            let name = path.strip_prefix(folder).and_then(|rest| rest.strip_prefix("swap.conf.d/"));
            if let Some(name) = name.filter(|name| name.ends_with(".conf")) {
                dropins.entry(name).or_insert(path);
            }
        }
    }
    let paths = main.iter().chain(dropins.into_values());
    let files: Vec<(&str, &str)> = paths.map(|path| (path.as_str(), facts.file(path).unwrap_or_default())).collect();
    read(&files)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn drop_ins_replace_and_sizes_have_limits() {
        let swap = read(&[
            ("/etc/rpi/swap.conf", "[Main]\n#Mechanism=auto\n[File]\nFixedSizeMiB=100\nMaxSizeMiB=4096\n"),
            ("/etc/rpi/swap.conf.d/80-x.conf", "[Main]\nMechanism=swapfile\n[File]\nFixedSizeMiB=\nRamMultiplier=1.5\n"),
        ]);
        assert_eq!(swap.mechanism(), Ok(RpiSwapMechanism::Swapfile));
        assert_eq!(swap.size(RpiSwapSection::File, Bytes::from_gib(1)), Ok(Bytes::from_mib(1536)));
        assert_eq!(swap.size(RpiSwapSection::File, Bytes::from_gib(8)), Ok(Bytes::from_gib(4)));
        assert_eq!(swap.size(RpiSwapSection::Zram, Bytes::from_gib(8)), Ok(Bytes::from_gib(2)));
        assert_eq!(read(&[]).mechanism(), Ok(RpiSwapMechanism::ZramFile));
    }

    #[test]
    fn errors_name_file_and_line() {
        let swap = read(&[("a.conf", "[Main]\nMechanism=zswap\n[Zram]\nRamMultiplier=half\n")]);
        let error = swap.mechanism().unwrap_err();
        assert_eq!(
            format!("{}: {error}", error.place),
            "a.conf:2: Main::Mechanism: found \"zswap\", expected auto, swapfile, zram, zram+file or none"
        );
        assert_eq!(swap.size(RpiSwapSection::Zram, Bytes::from_gib(1)).unwrap_err().place, "a.conf:4");
    }

    proptest! {
        #[test]
        fn arbitrary_text_is_safe(text in "(\\[Main\\]\n|\\[Zram\\]\n|RamMultiplier=|Mechanism=|[0-9.\n]|\\PC){0,30}") {
            let swap = read(&[("a", &text), ("b", &text)]);
            let _ = (swap.mechanism(), swap.size(RpiSwapSection::Zram, Bytes::from_gib(1)), swap.size(RpiSwapSection::File, Bytes(u64::MAX)));
        }
    }
}
