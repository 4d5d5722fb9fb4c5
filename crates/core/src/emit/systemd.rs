//! Files that systemd reads at boot: sysctl.d(5), tmpfiles.d(5), systemd.swap(5), and zram-generator.conf(5).

use std::fmt::Write;

use super::{Emitted, EmittedValues, HEADER, path_of, zram_generator};
use crate::edit::sysctl;
use crate::settings::{EncryptRule, SwapWanted};
use crate::units::Bytes;

pub(super) fn write(values: &EmittedValues<'_>, emitted: &mut Emitted) {
    for UnitFile { name, path, size } in files(values, emitted) {
        emitted.note(match size {
            Some(size) => {
                format!("{path} is a file to be made first ({}), then `systemctl enable --now '{name}'`", size.compact())
            }
            None => format!("`systemctl enable --now '{name}'` switches {path} on; its line in fstab goes"),
        });
    }
}

/// A unit that was written for an area.
pub(super) struct UnitFile {
    pub(super) name: String,
    pub(super) path: String,
    /// Size of a swap file that has to be made.
    pub(super) size: Option<Bytes>,
}

/// The files, and the units among them.
pub(super) fn files(values: &EmittedValues<'_>, emitted: &mut Emitted) -> Vec<UnitFile> {
    if !values.sysctls.is_empty() {
        let rows: Vec<(&str, &str, &str)> = values.sysctls.iter().map(|(name, value)| (*name, value.as_str(), "")).collect();
        let text = sysctl::dropin(HEADER.trim_start_matches(['#', ' ']).trim_end(), &rows);
        emitted.file("/etc/sysctl.d/99-zz-swaptune.conf", text);
    }
    let rules = rules(values);
    if !rules.is_empty() {
        let text = HEADER.to_owned() + &rules.iter().map(|rule| format!("{rule}\n")).collect::<String>();
        emitted.file("/etc/tmpfiles.d/swaptune.conf", text);
    }
    let units = values.areas.iter().filter_map(|area| unit(area, emitted)).collect();
    note_encrypted(values.areas, emitted);
    if !values.zrams.is_empty() {
        zram_generator::devices(values, emitted);
        emitted.note("zram devices are made by zram-generator, which must be installed");
    }
    units
}

/// Lines of tmpfiles.d that write zswap's parameters, with `enabled` last, and other knobs. Through the command line a compressor that is
/// a module would not be there in time; a line is written when modules can be loaded.
pub(super) fn rules(values: &EmittedValues<'_>) -> Vec<String> {
    values
        .zswap
        .iter()
        .chain(&values.sysfs)
        .map(|(path, value)| format!("w {path} - - - - {}", value.replace('%', "%%")))
        .collect()
}

/// A mapping is named, and something else has to open it at each boot.
pub(super) fn note_encrypted(areas: &[SwapWanted], emitted: &mut Emitted) {
    let is_encrypted = |area: &&SwapWanted| area.encrypt.is_some_and(|rule| rule != EncryptRule::None);
    for area in areas.iter().filter(is_encrypted) {
        emitted.note(format!(
            "{} has to be encrypted: its line in crypttab, or what opens it at boot, is not in this form",
            area.path
        ));
    }
}

fn unit(area: &SwapWanted, emitted: &mut Emitted) -> Option<UnitFile> {
    let Some(path) = path_of(&area.path) else {
        emitted.note(format!("{:?} is left out: a swap unit needs the path of a device or a file", area.path));
        return None;
    };
    let what = path.replace('%', "%%");
    let mut text = format!("{HEADER}[Unit]\nDescription=Swap on {what}\n\n[Swap]\nWhat={what}\nPriority={}\n", area.priority);
    let mut options = Vec::new();
    if area.boots_without() {
        options.push("nofail");
    }
    if area.discard_once {
        options.push("discard=once");
    }
    if !options.is_empty() {
        let _ = writeln!(text, "Options={}", options.join(","));
    }
    // An area that may be missing is not required by what a boot waits for.
    let wanted_by = if area.boots_without() { "WantedBy" } else { "RequiredBy" };
    let _ = write!(text, "\n[Install]\n{wanted_by}=swap.target\n");
    let name = format!("{}.swap", escape_path(&path));
    emitted.file(format!("/etc/systemd/system/{name}"), text);
    Some(UnitFile { name, path, size: area.size })
}

/// The name of a path's unit (`systemd-escape --path`).
fn escape_path(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let mut name = String::new();
    for (index, byte) in parts.join("/").bytes().enumerate() {
        match byte {
            b'/' => name.push('-'),
            b'.' if index == 0 => name.push_str("\\x2e"),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b':' | b'_' | b'.' => name.push(char::from(byte)),
            _ => _ = write!(name, "\\x{byte:02x}"),
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_named_as_systemd_escape_names_it() {
        assert_eq!(escape_path("/dev/disk/by-uuid/0b8c"), "dev-disk-by\\x2duuid-0b8c");
        assert_eq!(escape_path("/var//.swap file"), "var-.swap\\x20file");
        assert_eq!(escape_path("/.swap"), "\\x2eswap");
    }
}
