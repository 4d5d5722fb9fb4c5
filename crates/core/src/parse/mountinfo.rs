//! `/proc/self/mountinfo` (proc_pid_mountinfo(5)): what is mounted where, from which device number.
//!
//! The device number is the only reliable way from a file to its block device; btrfs shows an anonymous one
//! (major 0), and then only the source names the device.

use crate::escape::unescape;

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountLine {
    /// `major:minor` of the file system.
    pub device: (u32, u32),
    /// The folder inside the file system that is mounted here.
    pub root: String,
    /// Mount point.
    pub at: String,
    /// Options of this mount (`rw,relatime`).
    pub options: String,
    /// File system type.
    pub filesystem: String,
    /// Source (`/dev/vda2`).
    pub source: String,
    /// Options of the file system (`rw,discard`).
    pub super_options: String,
}

impl MountLine {
    /// Read-only here or as a whole.
    #[must_use]
    pub fn read_only(&self) -> bool {
        has_option(&self.options, "ro") || has_option(&self.super_options, "ro")
    }
}

/// Reads the file. Lines without the ` - ` separator are left out.
#[must_use]
pub fn parse(text: &str) -> Vec<MountLine> {
    text.lines().filter_map(line).collect()
}

/// The mount that holds `path`: the longest mount point above it, the last one when several are stacked there.
#[must_use]
pub fn holding<'a>(mounts: &'a [MountLine], path: &str) -> Option<&'a MountLine> {
    mounts.iter().filter(|mount| is_under(path, &mount.at)).max_by_key(|mount| mount.at.len())
}

/// True when `path` is `above` or lies below it.
#[must_use]
pub fn is_under(path: &str, above: &str) -> bool {
    let above = above.trim_end_matches('/');
    path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn line(line: &str) -> Option<MountLine> {
    let (mount, filesystem) = line.split_once(" - ")?;
    let mut words = mount.split(' ').skip(2);
    let (major, minor) = words.next()?.split_once(':')?;
    let mut text = || words.next().map(unescape);
    let (root, at, options) = (text()?, text()?, text()?);
    let mut words = filesystem.split(' ').map(unescape);
    Some(MountLine {
        device: (major.parse().ok()?, minor.parse().ok()?),
        root,
        at,
        options,
        filesystem: words.next()?,
        source: words.next()?,
        super_options: words.next().unwrap_or_default(),
    })
}

fn has_option(options: &str, name: &str) -> bool {
    options.split(',').any(|option| option == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "22 27 0:21 / /proc rw,relatime - proc proc rw\n\
        27 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda rw,discard\n\
        40 27 0:44 /@home /home rw,noatime shared:9 - btrfs /dev/mapper/luks-home rw,subvol=/@home\n\
        41 40 8:1 / /home/my\\040disk ro,relatime - ext4 /dev/sda1 rw\n\
        bad line\n";

    #[test]
    fn optional_fields_and_escapes() {
        let mounts = parse(TEXT);
        assert_eq!(mounts.len(), 4);
        assert_eq!(mounts[1].device, (254, 0));
        assert_eq!(mounts[1].filesystem, "ext4");
        assert_eq!(mounts[1].super_options, "rw,discard");
        assert_eq!(mounts[3].at, "/home/my disk");
        assert!(mounts[3].read_only() && !mounts[1].read_only());
    }

    #[test]
    fn the_longest_mount_point_holds_a_file() {
        let mounts = parse(TEXT);
        for (path, at) in [
            ("/swapfile", "/"),
            ("/home/x", "/home"),
            ("/home/my disk/swap", "/home/my disk"),
            ("/homes", "/"),
            ("/home", "/home"),
        ] {
            assert_eq!(holding(&mounts, path).map(|mount| mount.at.as_str()), Some(at), "{path}");
        }
    }
}
