//! Whether disk swap has slots for the demand that is planned for, and why a plan adds none.

use super::areas::{self, DiskArea, demand};
use super::assume::ASSUMED;
use super::unfit;
use crate::facts::{BlockDevice, Facts};
use crate::settings::SwapWanted;
use crate::units::Bytes;

/// Why the areas that are wanted, and not the pool, limit what fits, as one sentence; `None` where they have slots enough. A page in zswap's
/// pool keeps its slot, so that no setting of zswap makes up for it. `zram` is what the device before them holds, nothing where there is none: it needs no slots, and counts beside them.
#[must_use]
pub fn shortage(facts: &Facts, wanted: &[SwapWanted], zram: Bytes) -> Option<String> {
    // Of an image neither RAM nor areas are known.
    if facts.image.is_some() || wanted.is_empty() {
        return None;
    }
    let size = Bytes(wanted.iter().filter_map(|area| areas::size_of(facts, area)).sum());
    let demand = demand(facts);
    let held = size.0.saturating_add(zram.0);
    // What is less than a step of sizes is no shortage.
    if areas::in_steps(Bytes(demand.0.saturating_sub(held))) == Bytes(0) {
        return None;
    }
    let why = why_no_more(facts, wanted).map_or_else(String::new, |why| format!(" ({why})"));
    if zram > Bytes(0) && facts.zswap.is_known() {
        return Some(format!(
            "{size} of slots are behind zram; with the {demand} that are planned for, zswap in front of them lets more fit{why}"
        ));
    }
    Some(format!("{size} of slots are the limit, {demand} are planned for: a larger area lets more fit{why}"))
}

/// Why no swap file makes up for it; `None` where the user chose the areas.
fn why_no_more(facts: &Facts, wanted: &[SwapWanted]) -> Option<String> {
    let on: Vec<DiskArea> = areas::active_areas(facts);
    if wanted.iter().any(|area| on.iter().all(|on| on.path != area.path && on.name != area.path) && area.size.is_none()) {
        return None;
    }
    if areas::root_disk(facts).is_some_and(BlockDevice::spins) {
        return Some("none is put beside them on the disk of /, which spins: its heads would go back and forth".into());
    }
    if let Some(why) = areas::too_plain(facts) {
        return Some(why);
    }
    let root = areas::root(facts)?;
    let unfit = areas::root_disk(facts)
        .and_then(unfit::disk)
        .map(|why| format!("the disk of / is {why}"))
        .or_else(|| unfit::root(facts, root));
    unfit.or_else(|| {
        let (free, percent) = (root.free.value()?, ASSUMED.swap_file.free_percent);
        wanted
            .iter()
            .any(|area| area.path == ASSUMED.swap_file.path)
            .then(|| format!("{percent} % of {free} free on / are taken"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Fact;
    use crate::facts::{Encryption, Mount, SwapArea, SwapKind, Transport, ZswapFacts};

    fn machine(free: Bytes, encryption: Encryption) -> Facts {
        let mut facts = Facts::default();
        let meminfo = [("MemTotal".to_owned(), Bytes::from_gib(1))].into();
        facts.memory.meminfo = Fact::known(meminfo, "/proc/meminfo");
        let disk = |name: &str, parent: Option<&str>| BlockDevice {
            name: name.into(),
            size: Bytes::from_mib(512),
            transport: Transport::Nvme,
            parent: parent.map(str::to_owned),
            ..BlockDevice::default()
        };
        facts.block_devices = vec![disk("nvme0n1", None), disk("nvme0n1p1", Some("nvme0n1")), disk("nvme0n1p2", Some("nvme0n1"))];
        facts.mounts = vec![Mount {
            at: "/".into(),
            filesystem: "ext4".into(),
            device: Fact::known("nvme0n1p1".into(), "mountinfo"),
            free: Fact::known(free, "statvfs"),
            ..Mount::default()
        }];
        facts.swaps = vec![SwapArea {
            path: "/dev/nvme0n1p2".into(),
            kind: SwapKind::Partition,
            size: Bytes::from_mib(512),
            used: Bytes(0),
            priority: 10,
            device: Fact::known("nvme0n1p2".into(), "/proc/swaps"),
            uuid: Fact::absent("/dev/disk/by-uuid"),
            encryption: Fact::known(encryption, "dm"),
            filesystem: Fact::absent("a device"),
        }];
        facts
    }

    fn area(path: &str, size: Option<Bytes>) -> SwapWanted {
        SwapWanted { path: path.into(), size, priority: 10, optional: None, discard_once: false, encrypt: None }
    }

    #[test]
    fn too_few_slots_are_told_with_why_there_are_no_more() {
        let on = area("/dev/nvme0n1p2", None);
        let told = |facts: &Facts, wanted: &[SwapWanted]| shortage(facts, wanted, Bytes(0)).unwrap_or_default();
        let start = "512 MiB of slots are the limit, 4 GiB are planned for: a larger area lets more fit";
        let little = machine(Bytes::from_gib(1), Encryption::None);
        let said = told(&little, std::slice::from_ref(&on));
        let no_more = "(/ has 1 GiB free, and 1 GiB in 25 % of it need 4 GiB)";
        assert_eq!(said, format!("{start} {no_more}"));
        let with_zswap = Facts { zswap: Fact::known(ZswapFacts::default(), "/sys/module/zswap"), ..little.clone() };
        let behind = |facts: &Facts, zram| shortage(facts, std::slice::from_ref(&on), zram);
        assert_eq!(
            behind(&with_zswap, Bytes::from_gib(2)).unwrap(),
            format!(
                "512 MiB of slots are behind zram; with the 4 GiB that are planned for, zswap in front of them lets more fit {no_more}"
            )
        );
        assert_eq!(behind(&little, Bytes::from_gib(2)).unwrap(), said, "there is no zswap");
        assert_eq!(behind(&with_zswap, Bytes::from_mib(3584)), None, "zram and the area hold what is planned for");
        assert!(behind(&with_zswap, Bytes::from_mib(3328)).is_some(), "a step less");
        let encrypted = machine(Bytes::from_gib(40), Encryption::Plain);
        assert_eq!(
            told(&encrypted, std::slice::from_ref(&on)),
            format!("{start} (none that is plain is put beside an encrypted one)")
        );
        let mut unknown = machine(Bytes::from_gib(40), Encryption::None);
        unknown.swaps[0].encryption = Fact::absent("no such file");
        assert_eq!(
            told(&unknown, std::slice::from_ref(&on)),
            format!("{start} (none is made: whether /dev/nvme0n1p2 is encrypted, and a plain one not wanted, is unknown)")
        );
        let plenty = machine(Bytes::from_gib(40), Encryption::None);
        assert_eq!(shortage(&plenty, &[on.clone(), area("/swapfile", Some(Bytes::from_gib(4)))], Bytes(0)), None);
        // The user chose an area of their own.
        assert_eq!(told(&plenty, &[area("/dev/nvme0n1p2", Some(Bytes::from_mib(512)))]), start);
        assert_eq!(shortage(&Facts { image: Some(Default::default()), ..plenty }, &[on], Bytes(0)), None, "an image");
        assert_eq!(shortage(&little, &[], Bytes::from_gib(2)), None, "zram");
    }
}
