//! The swap header: written, read, and kept away from everything that may still be needed.
//!
//! The header is `union swap_header` of include/linux/swap.h: 1024 bytes that belong to boot loaders, then version, last
//! page, UUID and label in the byte order of the machine, and `SWAPSPACE2` as the last ten bytes of the page. A page
//! size other than the kernel's makes an area that the kernel does not take.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use swaptune_core::change::SwapHeaderState;
use swaptune_core::parse::signature;
use uuid::Uuid;
use uuid::fmt::Hyphenated;

/// Where the header's fields begin; what lies before belongs to boot loaders.
pub const INFO: usize = 1024;
const VERSION: u32 = 1;
const UUID: usize = 1036;
const LABEL: usize = 1052;
const LABEL_LENGTH: usize = 16;
const MAGIC: &[u8] = b"SWAPSPACE2";
/// An area smaller than this is refused by mkswap(8), and so here.
const PAGES_MIN: u64 = 10;
/// How much of both ends is looked at, and cleared when an overwrite is asked for: ZFS keeps two labels at each end.
pub const END: u64 = 512 << 10;
/// What [`kinds`] calls a boot sector that nothing else explains.
pub const BOOT_SECTOR: &str = "a boot sector";

/// How much is read between the ends to tell whether a device is blank: this many pieces of this size, evenly spread. With
/// both ends it is some MiB of a device of any size, so that data that begin in the middle are found, and in a moment.
const PIECES: (u64, u64) = (64, 64 << 10);
/// How much of each end is read for that.
const BLANK_END: u64 = 1 << 20;

/// Why no header can be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// Too small.
    #[error("{size} bytes are too small for swap, at least {least} are needed")]
    TooSmall {
        /// Size of the device or file.
        size: u64,
        /// Smallest size.
        least: u64,
    },
    /// Not a UUID.
    #[error("`{0}` is no UUID")]
    Uuid(String),
    /// The label does not fit.
    #[error("the label `{0}` is longer than {LABEL_LENGTH} bytes")]
    Label(String),
}

/// The first page of a swap area of `size` bytes, with zeros in place of the boot loader's part.
///
/// # Errors
/// [`HeaderError`].
pub fn page(uuid: &str, label: &str, size: u64, page_size: u64) -> Result<Vec<u8>, HeaderError> {
    let pages = size / page_size;
    if pages < PAGES_MIN {
        return Err(HeaderError::TooSmall { size, least: PAGES_MIN * page_size });
    }
    if label.len() > LABEL_LENGTH {
        return Err(HeaderError::Label(label.to_owned()));
    }
    let uuid = parse_uuid(uuid).ok_or_else(|| HeaderError::Uuid(uuid.to_owned()))?;
    // The field has 32 bits; what lies beyond is not used, as with mkswap.
    let last_page = u32::try_from(pages - 1).unwrap_or(u32::MAX);
    let mut page = vec![0; usize::try_from(page_size).unwrap_or(4096)];
    page[INFO..INFO + 4].copy_from_slice(&VERSION.to_ne_bytes());
    page[INFO + 4..INFO + 8].copy_from_slice(&last_page.to_ne_bytes());
    page[UUID..UUID + 16].copy_from_slice(uuid.as_bytes());
    page[LABEL..LABEL + label.len()].copy_from_slice(label.as_bytes());
    let magic = page.len() - MAGIC.len();
    page[magic..].copy_from_slice(MAGIC);
    Ok(page)
}

/// The header that a kernel with this page size would take, if there is one.
///
/// # Errors
/// When the file cannot be read.
pub fn read(file: &mut File, page_size: u64) -> io::Result<Option<SwapHeaderState>> {
    let head = range(file, 0, page_size)?;
    Ok(parse(&head, usize::try_from(page_size).unwrap_or(4096)))
}

/// True when these bytes begin with a header that a kernel with this page size takes.
#[must_use]
pub fn is_header(head: &[u8], page_size: u64) -> bool {
    parse(head, usize::try_from(page_size).unwrap_or(4096)).is_some()
}

fn parse(head: &[u8], page_size: usize) -> Option<SwapHeaderState> {
    let page = head.get(..page_size)?;
    if !page.ends_with(MAGIC) || page[INFO..INFO + 4] != VERSION.to_ne_bytes() {
        return None;
    }
    let uuid = Uuid::from_slice(&page[UUID..UUID + 16]).ok()?.to_string();
    let label = &page[LABEL..LABEL + LABEL_LENGTH];
    let end = label.iter().position(|byte| *byte == 0).unwrap_or(LABEL_LENGTH);
    Some(SwapHeaderState { uuid, label: String::from_utf8_lossy(&label[..end]).into_owned() })
}

/// Everything that the ends of a device say it holds, by blkid's names where it has one. Swap counts too.
///
/// # Errors
/// When it cannot be read.
pub fn probe(file: &mut File, size: u64) -> io::Result<Vec<String>> {
    let head = range(file, 0, END)?;
    let tail = range(file, size.saturating_sub(END), END)?;
    Ok(kinds(&head, &tail, size))
}

/// The same of ends that were read: the first and the last [`END`] bytes of a device of this size, or less where it is smaller.
#[must_use]
pub fn kinds(head: &[u8], tail: &[u8], size: u64) -> Vec<String> {
    let tail_at = size.saturating_sub(tail.len() as u64);
    let mut found: Vec<String> = signature::probe(head).into_iter().map(|signature| signature.kind).collect();
    let magic = |bytes: &[u8], at: u64, magic: &[u8]| {
        usize::try_from(at).is_ok_and(|at| bytes.get(at..).is_some_and(|rest| rest.starts_with(magic)))
    };
    let also = HEAD.iter().filter(|(_, at, bytes)| magic(head, *at, bytes)).map(|(name, ..)| *name);
    let ends = TAIL.iter().filter(|(_, at, bytes)| at(size) >= tail_at && magic(tail, at(size) - tail_at, bytes));
    let names = also.chain(ends.map(|(name, ..)| *name)).chain(zfs(tail).then_some("zfs_member"));
    found.extend(names.map(str::to_owned));
    // A boot sector that nothing else explains: perhaps an empty partition table, perhaps a boot loader.
    if found.is_empty() && magic(head, 510, &[0x55, 0xaa]) {
        found.push(BOOT_SECTOR.to_owned());
    }
    found.dedup();
    found
}

/// True when the device or file looks unused: wherever it is read there are only zeros, or only ones as some flash has them
/// after a discard. Read are 1 MiB at either end and 64 pieces of 64 KiB evenly spread between.
///
/// # Errors
/// When it cannot be read.
pub fn is_blank(file: &File, size: u64) -> io::Result<bool> {
    let (count, length) = PIECES;
    let between = size.saturating_sub(BLANK_END);
    let step = (between / (count + 1)).max(length) & !4095;
    let pieces = (1..=count).map(|piece| (piece * step, length)).filter(|(at, _)| *at < between);
    for (at, length) in [(0, BLANK_END), (between, BLANK_END)].into_iter().chain(pieces) {
        let bytes = range(file, at, length)?;
        let first = bytes.first().copied().unwrap_or(0);
        if !matches!(first, 0 | 0xff) || bytes.iter().any(|byte| *byte != first) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// At most `length` bytes from `at`; fewer at the end of the file.
///
/// # Errors
/// When it cannot be read.
pub fn range(file: &File, at: u64, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
    let mut read = 0;
    while read < bytes.len() {
        match file.read_at(&mut bytes[read..], at + read as u64) {
            Ok(0) => break,
            Ok(count) => read += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(read);
    Ok(bytes)
}

/// Only the form with hyphens: what is read back from a header has it, and both are compared as text.
fn parse_uuid(text: &str) -> Option<Uuid> {
    Uuid::try_parse(text).ok().filter(|_| text.len() == Hyphenated::LENGTH)
}

/// Uberblocks of the two labels at the end, in either byte order.
fn zfs(tail: &[u8]) -> bool {
    let magic = 0x00ba_b10c_u64;
    let is_uberblock = |block: &&[u8]| block.starts_with(&magic.to_le_bytes()) || block.starts_with(&magic.to_be_bytes());
    tail.chunks(1024).any(|block| is_uberblock(&block))
}

/// What `signature::probe` does not know and must not be overwritten: name, offset, magic.
const HEAD: [(&str, u64, &[u8]); 22] = [
    ("crypto_LUKS", 0x4000, b"SKUL\xba\xbe"),
    ("crypto_LUKS", 0x8000, b"SKUL\xba\xbe"),
    ("crypto_LUKS", 0x1_0000, b"SKUL\xba\xbe"),
    ("jfs", 32768, b"JFS1"),
    ("reiserfs", 65588, b"ReIsEr"),
    ("nilfs2", 1030, &[0x34, 0x34]),
    ("udf", 32769, b"BEA01"),
    ("gfs2", 65536, &[0x01, 0x16, 0x19, 0x70]),
    ("ocfs2", 8192, b"OCFSV2"),
    ("apfs", 32, b"NXSB"),
    ("hfsplus", 1024, b"H+"),
    ("hfsplus", 1024, b"HX"),
    ("vdo", 0, b"dmvdo001"),
    ("stratis", 516, b"!Stra0tis\x86\xff\x02^\x41rh"),
    ("DM_integrity", 0, b"integrt\0"),
    ("DM_verity_hash", 0, b"verity\0\0"),
    ("zfs_member", 0x4000, &[1, 1, 0, 0]),
    ("cramfs", 0, &[0x45, 0x3d, 0xcd, 0x28]),
    ("romfs", 0, b"-rom1fs-"),
    ("ufs", 9564, &[0x19, 0x54, 0x01, 0x19]),
    ("swap", 32768 - 10, b"SWAPSPACE2"),
    ("swsuspend", 0, b"\xed\xc3\x02\xe9\x98\x56\xe5\x0c"),
];

/// A signature whose place depends on the size of the device.
type TailRow = (&'static str, fn(u64) -> u64, &'static [u8]);

/// Signatures at the end: the second GPT, md of formats 1.0 and 0.90, DRBD's metadata.
const TAIL: [TailRow; 5] = [
    ("gpt", |size| size.saturating_sub(512), b"EFI PART"),
    ("gpt", |size| size.saturating_sub(4096), b"EFI PART"),
    ("linux_raid_member", |size| (size.saturating_sub(8192)) & !4095, &[0xfc, 0x4e, 0x2b, 0xa9]),
    ("linux_raid_member", |size| (size & !65535).saturating_sub(65536), &[0xfc, 0x4e, 0x2b, 0xa9]),
    ("drbd", |size| size.saturating_sub(4096) + 60, &[0x83, 0x74, 0x02, 0x6b]),
];

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "8f2a0102-0304-0506-0708-090a0b0c0d0e";

    fn image(parts: &[(usize, &[u8])]) -> File {
        let file = tempfile::tempfile().unwrap();
        file.set_len(4 << 20).unwrap();
        for (at, part) in parts {
            file.write_all_at(part, *at as u64).unwrap();
        }
        file
    }

    #[test]
    fn what_is_written_is_read() {
        for page_size in [4096, 16384, 65536] {
            let bytes = page(ID, "sixteen-bytes-ok", 4 << 20, page_size).unwrap();
            let mut file = image(&[(0, &bytes)]);
            let header = read(&mut file, page_size).unwrap().unwrap();
            assert_eq!((header.uuid.as_str(), header.label.as_str()), (ID, "sixteen-bytes-ok"));
            assert_eq!(probe(&mut file, 4 << 20).unwrap(), ["swap"]);
        }
    }

    #[test]
    fn the_kernels_page_size_decides() {
        let mut file = image(&[(0, &page(ID, "", 4 << 20, 16384).unwrap())]);
        assert_eq!(read(&mut file, 4096).unwrap(), None);
        assert_eq!(probe(&mut file, 4 << 20).unwrap(), ["swap"]);
    }

    #[test]
    fn bad_headers_are_not_made() {
        assert!(matches!(page(ID, "", 8 * 4096, 4096), Err(HeaderError::TooSmall { .. })));
        assert!(matches!(page(ID, "seventeen-bytes-x", 1 << 20, 4096), Err(HeaderError::Label(_))));
        for uuid in ["", "8f2a", "8f2a0102-0304-0506-0708-090a0b0c0d0g", "8f2a01020304050607-08-090a0b0c0d0e-"] {
            assert!(matches!(page(uuid, "", 1 << 20, 4096), Err(HeaderError::Uuid(_))), "{uuid}");
        }
    }

    #[test]
    fn everything_that_is_needed_is_seen() {
        let size = 4 << 20;
        let check = |parts: &[(usize, &[u8])], name: &str| {
            let found = probe(&mut image(parts), size).unwrap();
            assert!(found.iter().any(|found| found == name), "{name}: {found:?}");
        };
        for (name, at, magic) in HEAD {
            check(&[(usize::try_from(at).unwrap(), magic)], name);
        }
        for (name, at, magic) in TAIL {
            check(&[(usize::try_from(at(size)).unwrap(), magic)], name);
        }
        check(&[(1080, &[0x53, 0xef])], "ext2");
        check(&[(0, b"LUKS\xba\xbe")], "crypto_LUKS");
        check(&[((4 << 20) - (256 << 10) + (128 << 10), &0x00ba_b10c_u64.to_le_bytes())], "zfs_member");
        check(&[(510, &[0x55, 0xaa])], "a boot sector");
        check(&[(4086, b"S1SUSPEND")], "swsuspend");
    }

    #[test]
    fn blank_is_what_has_nothing_at_its_ends_nor_between() {
        let size = 256 << 20;
        let blank = |parts: &[(u64, u8)]| {
            let file = tempfile::tempfile().unwrap();
            file.set_len(size).unwrap();
            for (at, byte) in parts {
                file.write_all_at(&vec![*byte; 64 << 10], *at).unwrap();
            }
            is_blank(&file, size).unwrap()
        };
        assert!(blank(&[]));
        for at in [0, 900 << 10, size - (64 << 10), 128 << 20] {
            // Random data of a few MiB anywhere are hit by a piece; so is a single block at the ends.
            let run: Vec<(u64, u8)> = (0..64).map(|n| (at.saturating_sub(2 << 20) + (n * (64 << 10)), 7)).collect();
            assert!(!blank(&run), "{at}");
        }
        assert!(is_blank(&tempfile::tempfile().unwrap(), 0).unwrap());
        let ones = image(&[(0, &vec![0xff; 4 << 20])]);
        assert!(is_blank(&ones, 4 << 20).unwrap());
        assert!(!is_blank(&image(&[(4095, &[1])]), 4 << 20).unwrap());
    }

    #[test]
    fn nothing_is_seen_in_zeros() {
        assert!(probe(&mut image(&[]), 4 << 20).unwrap().is_empty());
        assert!(probe(&mut tempfile::tempfile().unwrap(), 0).unwrap().is_empty());
    }
}
