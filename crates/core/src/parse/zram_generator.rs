//! What zram-generator makes at boot: its configuration, put together as it does that (zram-generator.conf(5)).
//!
//! One main file counts, that of the first folder, also when it is empty. Drop-ins of all folders follow in the order of their names, where one name
//! in an earlier folder hides the same name in a later one. A key that comes again replaces the earlier one.

use std::collections::BTreeMap;

use super::ini;
use crate::facts::Facts;
use crate::units::Bytes;

/// The main file in each folder.
const MAIN: &str = "zram-generator.conf";
/// The folder of drop-ins beside it.
const DROPINS: &str = "zram-generator.conf.d/";
/// Folders, the first one wins: unlike systemd's own files, those in /run override those in /etc.
pub const FOLDERS: [&str; 4] = ["/run/systemd/", "/etc/systemd/", "/usr/local/lib/systemd/", "/usr/lib/systemd/"];

/// A key with where it was set last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratorKey {
    /// The file.
    pub path: String,
    /// Line, from 1.
    pub line: usize,
    /// What follows the `=`, blanks around it removed.
    pub value: String,
}

/// One device of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GeneratorDevice {
    /// Name of the section (`zram0`).
    pub name: String,
    /// The file that names it first.
    pub path: String,
    /// Keys after all files were read.
    pub keys: BTreeMap<String, GeneratorKey>,
}

impl GeneratorDevice {
    /// True for a swap area; the generator can make file systems on zram too.
    #[must_use]
    pub fn is_swap(&self) -> bool {
        !self.keys.contains_key("mount-point") && self.keys.get("fs-type").is_none_or(|key| key.value == "swap")
    }

    /// True when the generator leaves the device out on a machine with this much RAM.
    #[must_use]
    pub fn is_left_out(&self, ram: Bytes) -> bool {
        let limit = self.keys.get("host-memory-limit").or_else(|| self.keys.get("memory-limit"));
        let limit = limit.and_then(|key| key.value.parse::<f64>().ok());
        // The generator compares whole MiB of MemTotal.
        limit.is_some_and(|limit| ram.mib() as f64 > limit)
    }
}

/// Of these paths those that the generator reads, in its order.
#[must_use]
pub fn in_order<'a>(paths: &[&'a str]) -> Vec<&'a str> {
    let main = FOLDERS.iter().find_map(|folder| paths.iter().find(|path| path.strip_prefix(folder) == Some(MAIN)));
    let mut dropins = BTreeMap::new();
    for folder in FOLDERS {
        for path in paths {
            let name = path.strip_prefix(folder).and_then(|rest| rest.strip_prefix(DROPINS));
            if let Some(name) = name.filter(|name| name.ends_with(".conf") && !name.contains('/')) {
                dropins.entry(name).or_insert(*path);
            }
        }
    }
    main.copied().into_iter().chain(dropins.into_values()).collect()
}

/// The devices of these files, which are in the order of [`in_order`].
#[must_use]
pub fn devices(files: &[(&str, &str)]) -> Vec<GeneratorDevice> {
    let mut all: Vec<GeneratorDevice> = Vec::new();
    for (path, text) in files {
        for section in ini::sections(text).into_iter().filter(|section| is_device(&section.name)) {
            let index = all.iter().position(|device| device.name == section.name).unwrap_or_else(|| {
                all.push(GeneratorDevice { name: section.name.clone(), path: (*path).to_owned(), ..GeneratorDevice::default() });
                all.len() - 1
            });
            for key in section.keys {
                let set = GeneratorKey { path: (*path).to_owned(), line: key.line, value: key.value };
                all[index].keys.insert(key.name, set);
            }
        }
    }
    all
}

fn is_device(name: &str) -> bool {
    name.strip_prefix("zram").is_some_and(|number| !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit()))
}

/// What zram-generator is told to make on a machine, by its files among [`Facts::files`]; without the file of this name.
#[must_use]
pub fn devices_of(facts: &Facts, without: &str) -> Vec<GeneratorDevice> {
    let paths: Vec<&str> = facts.files.keys().map(String::as_str).filter(|path| *path != without).collect();
    // A drop-in that is listed and has no text is a link to /dev/null, which hides others of its name.
    let there = |path: &&str| path.contains(".conf.d/") || facts.file(path).is_some();
    let paths: Vec<&str> = paths.into_iter().filter(there).collect();
    let files: Vec<(&str, &str)> =
        in_order(&paths).into_iter().map(|path| (path, facts.file(path).unwrap_or_default())).collect();
    devices(&files)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_main_file_then_drop_ins_by_name() {
        let paths = [
            "/usr/lib/systemd/zram-generator.conf",
            "/etc/systemd/zram-generator.conf",
            "/run/systemd/zram-generator.conf",
            "/usr/lib/systemd/zram-generator.conf.d/50-x.conf",
            "/etc/systemd/zram-generator.conf.d/50-x.conf",
            "/etc/systemd/zram-generator.conf.d/60-y.conf",
            "/run/systemd/zram-generator.conf.d/60-y.conf",
            "/etc/systemd/zram-generator.conf.d/90-z.conf",
            "/run/systemd/zram-generator.conf.d/20-rpi.conf",
            "/etc/systemd/zram-generator.conf.d/README",
            "/etc/systemd/other.conf",
        ];
        let expect = [
            "/run/systemd/zram-generator.conf",
            "/run/systemd/zram-generator.conf.d/20-rpi.conf",
            "/etc/systemd/zram-generator.conf.d/50-x.conf",
            "/run/systemd/zram-generator.conf.d/60-y.conf",
            "/etc/systemd/zram-generator.conf.d/90-z.conf",
        ];
        assert_eq!(in_order(&paths), expect);
        assert!(in_order(&[]).is_empty());
    }

    #[test]
    fn later_keys_replace_earlier_ones() {
        let all = devices(&[
            ("a", "[zram0]\nzram-size = ram\n[zram1]\nmount-point = /var/log\n[zramx]\n[zram]\n"),
            ("b", "[zram0]\nzram-size = ram / 2\n\n[zram2]\nfs-type=swap\n[zram3]\nfs-type = ext2\n"),
        ]);
        let names: Vec<_> = all.iter().map(|device| (device.name.as_str(), device.path.as_str(), device.is_swap())).collect();
        assert_eq!(names, [("zram0", "a", true), ("zram1", "a", false), ("zram2", "b", true), ("zram3", "b", false)]);
        assert_eq!(all[0].keys["zram-size"], GeneratorKey { path: "b".into(), line: 2, value: "ram / 2".into() });
    }

    #[test]
    fn a_machine_above_the_limit_gets_no_device() {
        let ram = Bytes::from_mib(900);
        for (key, left_out) in [
            ("host-memory-limit = 0", true),
            ("host-memory-limit = 899", true),
            ("host-memory-limit = 900", false),
            ("memory-limit = 100", true),
            ("host-memory-limit = none", false),
            ("zram-size = 0", false),
        ] {
            let all = devices(&[("a", &format!("[zram0]\n{key}\n"))]);
            assert_eq!(all[0].is_left_out(ram), left_out, "{key}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_text_is_safe(text in "(?s)(.|\n|\\[zram0\\]|host-memory-limit=){0,30}") {
            for device in devices(&[("a", &text), ("b", &text)]) {
                let _ = (device.is_swap(), device.is_left_out(Bytes::from_gib(1)));
            }
            let _ = in_order(&text.lines().collect::<Vec<_>>());
        }
    }
}
