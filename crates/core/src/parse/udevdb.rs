//! udev's database, `/run/udev/data/bMAJ:MIN`: what udev found on a block device, readable without root.
//!
//! Lines are `LETTER:value`; the properties are the `E:` lines. The format is private to systemd but has been the
//! same since 2013, and lsblk(8) reads it through libudev.

use std::collections::BTreeMap;

/// The properties (`ID_FS_TYPE`, `ID_FS_UUID`, …), escapes of udev (`\x20`) resolved.
#[must_use]
pub fn parse(text: &str) -> BTreeMap<String, String> {
    text.lines()
        .filter_map(|line| {
            let (key, value) = line.strip_prefix("E:")?.split_once('=')?;
            Some((key.to_owned(), value.to_owned()))
        })
        .collect()
}

/// The links below `/dev` that udev made to the device (`disk/by-id/…`), as they are written.
#[must_use]
pub fn links(text: &str) -> Vec<String> {
    text.lines().filter_map(|line| line.strip_prefix("S:")).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_are_the_e_lines() {
        let map = parse("S:disk/by-uuid/1234\nI:2000\nE:ID_FS_TYPE=swap\nE:ID_FS_UUID=8f2a\nE:ODD=a=b\nE:none\nG:systemd\n");
        assert_eq!(map["ID_FS_TYPE"], "swap");
        assert_eq!(map["ODD"], "a=b");
        assert_eq!(map.len(), 3);
    }

    #[test]
    fn links_are_the_s_lines() {
        let text = "S:disk/by-partlabel/my\\x20swap\nE:A=S:b\nS:vg/swap\nI:1\n";
        assert_eq!(links(text), ["disk/by-partlabel/my\\x20swap", "vg/swap"]);
    }
}
