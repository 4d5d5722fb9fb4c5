//! Which disk has a name now.

use swaptune_core::Bytes;
use swaptune_core::measurement::DiskIdentity;
use swaptune_host::machine::Machine;

use crate::conditions::hash;

/// Below the folder of a block device: NVMe, SCSI, virtio.
const IDS: &[&str] = &["wwid", "device/wwid", "serial"];
/// What `size` counts in (Documentation/ABI/stable/sysfs-block).
const SECTOR: u64 = 512;

/// What the kernel says of the disk of this name; `None` where it has none such.
#[must_use]
pub fn identity(machine: &Machine, name: &str) -> Option<DiskIdentity> {
    let read = |file: &str| {
        let text = machine.read_text(&format!("/sys/block/{name}/{file}")).ok()?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    let size = read("size")?.parse().ok().map(|sectors: u64| Bytes(sectors.saturating_mul(SECTOR)));
    let id = IDS.iter().find_map(|file| read(file)).map(|id| hash(&id));
    Some(DiskIdentity { id, size, model: read("device/model") })
}

/// The same for several; empty unless all are known.
pub(super) fn identities(machine: &Machine, names: &[String]) -> Vec<DiskIdentity> {
    names.iter().map(|name| identity(machine, name)).collect::<Option<Vec<_>>>().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_told_by_what_it_says_of_itself() {
        let root = tempfile::tempdir().unwrap();
        let machine = Machine::at(root.path());
        let write = |file: &str, text: &str| {
            let path = root.path().join("sys/block/sda").join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        assert_eq!(identity(&machine, "sda"), None);
        write("size", "2048\n");
        let plain = identity(&machine, "sda").unwrap();
        assert_eq!(plain, DiskIdentity { id: None, size: Some(Bytes::from_mib(1)), model: None });
        write("device/model", "QEMU HARDDISK   \n");
        write("device/wwid", "t10.ATA     QEMU HARDDISK   QM00001\n");
        let one = identity(&machine, "sda").unwrap();
        assert_eq!(one.model.as_deref(), Some("QEMU HARDDISK"));
        assert!(one.id.as_deref().is_some_and(|id| id.len() == 16 && !id.contains("QM")), "nothing is given away: {one:?}");
        write("device/wwid", "t10.ATA     QEMU HARDDISK   QM00002\n");
        assert!(identity(&machine, "sda").unwrap().is_another(&one) && !one.is_another(&plain));
        assert_eq!(identities(&machine, &["sda".into(), "sdb".into()]), []);
    }
}
