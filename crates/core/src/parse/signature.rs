//! What the first bytes of a block device say it holds: file systems, swap, LUKS, LVM, RAID, partition tables.
//!
//! For machines without udev's database, and as a second opinion before anything is written to a device. Names are
//! those of blkid(8). Signatures at the end of a device (md 0.90 and 1.0, the second GPT) are not seen here.

/// How many bytes from the start of the device [`probe`] wants to see.
pub const HEAD: usize = 256 << 10;

/// One signature.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Signature {
    /// blkid's name: `ext4`, `swap`, `crypto_LUKS`, `LVM2_member`, `linux_raid_member`, `gpt`, …
    pub kind: String,
    /// UUID, when there is one.
    pub uuid: Option<String>,
    /// Label, when there is one.
    pub label: Option<String>,
}

/// Every signature in the first [`HEAD`] bytes, contents first, partition tables last.
#[must_use]
pub fn probe(head: &[u8]) -> Vec<Signature> {
    let bytes = Head(head);
    let probes: [fn(&Head<'_>) -> Option<Signature>; 9] = [luks, swap, ext, xfs, btrfs, lvm, raid, bcache, f2fs];
    let mut found: Vec<Signature> = probes.iter().filter_map(|probe| probe(&bytes)).collect();
    found.extend(PLAIN.iter().filter(|(_, at, magic)| bytes.has(*at, magic)).map(|(kind, ..)| named(kind)));
    if (0..128).any(|slot| bytes.has((128 << 10) + slot * 1024, &0x00ba_b10c_u64.to_le_bytes())) {
        found.push(named("zfs_member"));
    }
    found.extend(table(&bytes, found.is_empty()));
    found
}

/// Signatures that are only a magic number: name, offset, magic.
const PLAIN: [(&str, usize, &[u8]); 9] = [
    ("vfat", 0x52, b"FAT32   "),
    ("vfat", 0x36, b"FAT16   "),
    ("vfat", 0x36, b"FAT12   "),
    ("exfat", 3, b"EXFAT   "),
    ("ntfs", 3, b"NTFS    "),
    ("BitLocker", 3, b"-FVE-FS-"),
    ("squashfs", 0, b"hsqs"),
    ("erofs", 1024, &[0xe2, 0xe1, 0xf5, 0xe0]),
    ("iso9660", 0x8001, b"CD001"),
];

struct Head<'a>(&'a [u8]);

impl<'a> Head<'a> {
    fn at(&self, offset: usize, length: usize) -> Option<&'a [u8]> {
        self.0.get(offset..offset.checked_add(length)?)
    }

    fn has(&self, offset: usize, magic: &[u8]) -> bool {
        self.at(offset, magic.len()) == Some(magic)
    }

    fn le32(&self, offset: usize) -> u32 {
        self.at(offset, 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_le_bytes)
    }

    fn text(&self, offset: usize, length: usize) -> Option<String> {
        let bytes = self.at(offset, length)?;
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(length);
        (end > 0).then(|| String::from_utf8_lossy(&bytes[..end]).into_owned())
    }

    fn uuid(&self, offset: usize) -> Option<String> {
        let bytes = self.at(offset, 16)?;
        if bytes.iter().all(|byte| *byte == 0) {
            return None;
        }
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Some([&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-"))
    }
}

fn named(kind: &str) -> Signature {
    Signature { kind: kind.to_owned(), uuid: None, label: None }
}

fn signature(kind: &str, uuid: Option<String>, label: Option<String>) -> Signature {
    Signature { kind: kind.to_owned(), uuid, label }
}

fn luks(head: &Head<'_>) -> Option<Signature> {
    let label = if head.has(6, &[0, 2]) { head.text(24, 48) } else { None };
    head.has(0, b"LUKS\xba\xbe").then(|| signature("crypto_LUKS", head.text(168, 40), label))
}

/// `union swap_header` (include/linux/swap.h): the magic ends the first page, whatever the page size.
fn swap(head: &Head<'_>) -> Option<Signature> {
    let magics: [(&str, &[u8]); 6] = [
        ("swap", b"SWAPSPACE2"),
        ("swap", b"SWAP-SPACE"),
        ("swsuspend", b"S1SUSPEND"),
        ("swsuspend", b"S2SUSPEND"),
        ("swsuspend", b"ULSUSPEND"),
        ("swsuspend", b"LINHIB0001"),
    ];
    [4096, 8192, 16384, 32768, 65536].iter().find_map(|page| {
        let (kind, _) = magics.iter().find(|(_, magic)| head.has(page - 10, magic))?;
        Some(signature(kind, head.uuid(1036), head.text(1052, 16)))
    })
}

fn ext(head: &Head<'_>) -> Option<Signature> {
    if !head.has(1080, &[0x53, 0xef]) {
        return None;
    }
    let (compat, incompat, ro_compat) = (head.le32(1116), head.le32(1120), head.le32(1124));
    // Features that ext3 does not know: libblkid's rule for telling ext4 apart.
    let kind = if incompat & !0x16 != 0 || ro_compat & !0x7 != 0 {
        "ext4"
    } else if compat & 0x4 != 0 {
        "ext3"
    } else {
        "ext2"
    };
    Some(signature(kind, head.uuid(1128), head.text(1144, 16)))
}

fn xfs(head: &Head<'_>) -> Option<Signature> {
    head.has(0, b"XFSB").then(|| signature("xfs", head.uuid(32), head.text(108, 12)))
}

fn btrfs(head: &Head<'_>) -> Option<Signature> {
    head.has(0x10040, b"_BHRfS_M").then(|| signature("btrfs", head.uuid(0x10020), head.text(0x1012b, 256)))
}

fn lvm(head: &Head<'_>) -> Option<Signature> {
    let label = |sector: usize| head.has(sector * 512, b"LABELONE") && head.has(sector * 512 + 24, b"LVM2 001");
    (0..4).any(label).then(|| named("LVM2_member"))
}

fn raid(head: &Head<'_>) -> Option<Signature> {
    let magic = 0xa92b_4efc_u32.to_le_bytes();
    [0, 4096].iter().find(|at| head.has(**at, &magic)).map(|at| signature("linux_raid_member", head.uuid(at + 16), None))
}

fn bcache(head: &Head<'_>) -> Option<Signature> {
    let bcache = [0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca, 0x82, 0x65, 0xf5, 0x7f, 0x48, 0xba, 0x6d, 0x81];
    let bcachefs = [0xc6, 0x85, 0x73, 0xf6, 0x66, 0xce, 0x90, 0xa9, 0xd9, 0x6a, 0x60, 0xcf, 0x80, 0x3d, 0xf7, 0xef];
    if head.has(4120, &bcachefs) {
        return Some(named("bcachefs"));
    }
    head.has(4120, &bcache).then(|| named("bcache"))
}

fn f2fs(head: &Head<'_>) -> Option<Signature> {
    head.has(1024, &0xf2f5_2010_u32.to_le_bytes()).then(|| signature("f2fs", head.uuid(1024 + 108), None))
}

fn table(head: &Head<'_>, nothing_else: bool) -> Option<Signature> {
    if head.has(512, b"EFI PART") || head.has(4096, b"EFI PART") {
        return Some(named("gpt"));
    }
    // FAT and NTFS boot sectors end in the same two bytes: a table needs a partition in it, and nothing else there.
    let used = (0..4).any(|entry| head.at(446 + entry * 16 + 4, 1).is_some_and(|kind| kind[0] != 0));
    (nothing_else && used && head.has(510, &[0x55, 0xaa])).then(|| named("dos"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(parts: &[(usize, &[u8])]) -> Vec<u8> {
        let mut bytes = vec![0; HEAD];
        for (at, part) in parts {
            bytes[*at..at + part.len()].copy_from_slice(part);
        }
        bytes
    }

    fn check(parts: &[(usize, &[u8])], expect: &[&str]) -> Vec<Signature> {
        let found = probe(&head(parts));
        assert_eq!(found.iter().map(|s| s.kind.as_str()).collect::<Vec<_>>(), expect);
        found
    }

    #[test]
    fn swap_of_several_page_sizes() {
        let uuid = [0x8f, 0x2a, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14];
        let found = check(&[(4086, b"SWAPSPACE2"), (1036, &uuid), (1052, b"my swap")], &["swap"]);
        assert_eq!(found[0].uuid.as_deref(), Some("8f2a0102-0304-0506-0708-090a0b0c0d0e"));
        assert_eq!(found[0].label.as_deref(), Some("my swap"));
        check(&[(16374, b"SWAPSPACE2")], &["swap"]);
        check(&[(4086, b"S1SUSPEND")], &["swsuspend"]);
    }

    #[test]
    fn file_systems_and_containers() {
        check(&[(1080, &[0x53, 0xef]), (1120, &[0x40])], &["ext4"]);
        check(&[(1080, &[0x53, 0xef]), (1116, &[0x4])], &["ext3"]);
        check(&[(0, b"XFSB")], &["xfs"]);
        check(&[(0x10040, b"_BHRfS_M")], &["btrfs"]);
        check(&[(512, b"LABELONE"), (536, b"LVM2 001")], &["LVM2_member"]);
        check(&[(4096, &[0xfc, 0x4e, 0x2b, 0xa9])], &["linux_raid_member"]);
        let luks = check(&[(0, b"LUKS\xba\xbe\x00\x02"), (24, b"vault"), (168, b"aa-bb")], &["crypto_LUKS"]);
        assert_eq!((luks[0].uuid.as_deref(), luks[0].label.as_deref()), (Some("aa-bb"), Some("vault")));
    }

    #[test]
    fn partition_tables_are_told_from_boot_sectors() {
        check(&[(512, b"EFI PART"), (510, &[0x55, 0xaa]), (450, &[0xee])], &["gpt"]);
        check(&[(510, &[0x55, 0xaa]), (450, &[0x83])], &["dos"]);
        check(&[(510, &[0x55, 0xaa]), (0x52, b"FAT32   "), (450, &[0x83])], &["vfat"]);
        check(&[(510, &[0x55, 0xaa])], &[]);
    }

    #[test]
    fn a_short_head_is_no_trouble() {
        assert!(probe(&[]).is_empty());
        assert!(probe(b"LUKS\xba\xbe").len() == 1);
    }

    #[test]
    fn two_signatures_are_both_named() {
        check(&[(4086, b"SWAPSPACE2"), (1080, &[0x53, 0xef])], &["swap", "ext2"]);
    }
}
