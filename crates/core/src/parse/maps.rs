//! `/proc/PID/maps` and `/proc/PID/smaps` (Documentation/filesystems/proc.rst): the mappings of a process.

use crate::units::Bytes;

/// One mapping.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryMapping {
    /// First address.
    pub start: u64,
    /// Address behind the last.
    pub end: u64,
    /// `r`.
    pub read: bool,
    /// `p`: private, copied when written. False for memory that is shared with others.
    pub private: bool,
    /// File, or the kernel's name in brackets; empty for plain anonymous memory.
    pub name: String,
}

impl MemoryMapping {
    /// True when anonymous pages that can be swapped may be in it, and can be read from outside: it is private and
    /// readable, and neither made of huge pages of hugetlbfs nor something of the kernel's own.
    #[must_use]
    pub fn may_hold_pages(&self) -> bool {
        const NOT_SWAPPED: [&str; 5] = ["[vvar]", "[vvar_vclock]", "[vdso]", "[vsyscall]", "/anon_hugepage"];
        self.private && self.read && !NOT_SWAPPED.iter().any(|name| self.name.starts_with(name))
    }

    /// True when all pages in it are anonymous: it may hold pages, and none of a file.
    #[must_use]
    pub fn is_anonymous(&self) -> bool {
        let is_named = || ["[heap]", "[stack]"].contains(&self.name.as_str()) || self.name.starts_with("[anon:");
        self.may_hold_pages() && (self.name.is_empty() || is_named())
    }
}

/// A mapping and what of it is in RAM, from `smaps`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// The mapping.
    pub mapping: MemoryMapping,
    /// In RAM.
    pub rss: Bytes,
    /// Of it anonymous.
    pub anonymous: Bytes,
    /// Of what is in RAM, touched since the marks were cleared.
    pub referenced: Bytes,
}

/// Reads `maps`, in the order of addresses. Lines that are not understood are left out.
#[must_use]
pub fn parse(text: &str) -> Vec<MemoryMapping> {
    text.lines().filter_map(mapping).collect()
}

/// Reads `smaps`.
#[must_use]
pub fn usage(text: &str) -> Vec<Usage> {
    let mut all: Vec<Usage> = Vec::new();
    for line in text.lines() {
        if let Some(mapping) = mapping(line) {
            all.push(Usage { mapping, ..Usage::default() });
        } else if let (Some(usage), Some((key, value))) = (all.last_mut(), size(line)) {
            match key {
                "Rss" => usage.rss = value,
                "Anonymous" => usage.anonymous = value,
                "Referenced" => usage.referenced = value,
                _ => {}
            }
        }
    }
    all
}

/// `7f00-8f00 rw-p 00000000 00:00 0    [heap]`.
fn mapping(line: &str) -> Option<MemoryMapping> {
    let (range, rest) = line.split_once(' ')?;
    let (start, end) = range.split_once('-')?;
    let (start, end) = (u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?);
    let (access, rest) = rest.split_once(' ')?;
    let (read, private) = (access.starts_with('r'), access.ends_with('p'));
    // Offset, device, inode; what follows is the name, with blanks of its own.
    let name = rest.splitn(4, ' ').nth(3).unwrap_or_default().trim_start();
    (start < end && access.len() == 4).then(|| MemoryMapping { start, end, read, private, name: name.to_owned() })
}

fn size(line: &str) -> Option<(&str, Bytes)> {
    let (key, rest) = line.split_once(':')?;
    let kib = rest.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    Some((key, Bytes::from_kib(kib)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
55d0a8a00000-55d0a8a02000 r--p 00000000 fe:00 1311                       /usr/bin/with blank
55d0a8a02000-55d0a8a05000 rw-p 00002000 fe:00 1311                       /usr/bin/cat
7f1000000000-7f1000021000 rw-p 00000000 00:00 0
7f1000021000-7f1004000000 ---p 00000000 00:00 0
7f1004000000-7f1004200000 rw-p 00000000 00:0f 22                         /anon_hugepage (deleted)
7f2000000000-7f2000001000 rw-s 00000000 00:01 7                          /dev/shm/x
7ffd4d9f4000-7ffd4d9f8000 r--p 00000000 00:00 0                          [vvar]
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
";

    #[test]
    fn mappings_are_read_in_order() {
        let mappings = parse(MAPS);
        assert_eq!(mappings.len(), 8);
        assert_eq!(mappings[0].name, "/usr/bin/with blank");
        assert_eq!((mappings[2].start, mappings[2].end), (0x7f10_0000_0000, 0x7f10_0002_1000));
        assert!(mappings[2].name.is_empty());
        let may: Vec<bool> = mappings.iter().map(MemoryMapping::may_hold_pages).collect();
        assert_eq!(may, [true, true, true, false, false, false, false, false]);
        let anonymous: Vec<bool> = mappings.iter().map(MemoryMapping::is_anonymous).collect();
        assert_eq!(anonymous, [false, false, true, false, false, false, false, false]);
        for (name, is_anonymous) in [("[heap]", true), ("[stack]", true), ("[anon:pool]", true), ("[uprobes]", false)] {
            let mapping = MemoryMapping { start: 1, end: 2, read: true, private: true, name: name.into() };
            assert_eq!(mapping.is_anonymous(), is_anonymous, "{name}");
        }
    }

    #[test]
    fn smaps_says_what_was_touched() {
        let text = "00400000-00500000 rw-p 00000000 00:00 0          [heap]\nSize:               1024 kB\nRss:                 900 kB\n\
                    Anonymous:           896 kB\nReferenced:          400 kB\nNew:   7 kB\nVmFlags: rd wr mr mw me ac\n";
        let [usage] = &usage(text)[..] else { panic!("one mapping") };
        assert_eq!(usage.mapping.name, "[heap]");
        assert_eq!((usage.rss, usage.anonymous, usage.referenced), (Bytes(900 << 10), Bytes(896 << 10), Bytes(400 << 10)));
    }

    #[test]
    fn what_is_no_mapping_is_left_out() {
        for text in ["", "x", "1-2", "2-1 rw-p 0 0:0 0", "1-2 rw 0 0:0 0", "g-h rw-p 0 0:0 0", "Rss: 4 kB"] {
            assert!(parse(text).is_empty() && usage(text).is_empty(), "{text}");
        }
    }
}
