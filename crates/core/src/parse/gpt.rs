//! Which partition table a disk has: the UUID of the disk in a GPT (UEFI specification, 5.3.2).

use uuid::Uuid;

/// The header lies in the second logical sector.
const SECTORS: [usize; 2] = [512, 4096];
const SIGNATURE: &[u8] = b"EFI PART";
const DISK_GUID: usize = 56;

/// The UUID of the disk, from its first bytes; `None` without a GPT.
#[must_use]
pub fn disk_uuid(head: &[u8]) -> Option<String> {
    let header = SECTORS.iter().find_map(|at| head.get(*at..).filter(|header| header.starts_with(SIGNATURE)))?;
    Some(Uuid::from_slice_le(header.get(DISK_GUID..DISK_GUID + 16)?).ok()?.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_uuid_of_a_disk_is_read_in_the_order_of_the_table() {
        for at in SECTORS {
            let mut head = vec![0; 8192];
            head[at..at + 8].copy_from_slice(SIGNATURE);
            head[at + 56..at + 72].copy_from_slice(&[0x33, 0x22, 0x11, 0, 0x55, 0x44, 0x77, 0x66, 8, 9, 10, 11, 12, 13, 14, 15]);
            assert_eq!(disk_uuid(&head).as_deref(), Some("00112233-4455-6677-0809-0a0b0c0d0e0f"));
            assert_eq!(disk_uuid(&head[..at + 60]), None);
        }
        assert_eq!(disk_uuid(&[]), None);
    }
}
