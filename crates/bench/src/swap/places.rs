//! What lies below a tier: whole disks, and what zswap is set to.

use std::collections::BTreeSet;

use swaptune_core::Facts;
use swaptune_host::temporary::TOP_PRIORITY;

/// Whole disks below the areas of highest priority.
pub(super) fn disks(facts: &Facts) -> Vec<String> {
    let ours = facts.swaps.iter().filter(|area| area.priority == TOP_PRIORITY);
    let mut found = BTreeSet::new();
    for device in ours.filter_map(|area| area.device.value()) {
        collect(facts, device, &mut found, 0);
    }
    found.into_iter().collect()
}

/// Follows partitions and mappings down; eight levels are more than anybody stacks.
fn collect(facts: &Facts, name: &str, found: &mut BTreeSet<String>, depth: u32) {
    let device = facts.block_devices.iter().find(|device| device.name == name);
    let below: Vec<&String> = device.map(|device| device.parent.iter().chain(&device.lies_on).collect()).unwrap_or_default();
    if below.is_empty() || depth > 8 {
        found.insert(name.to_owned());
    }
    below.into_iter().for_each(|name| collect(facts, name, found, depth + 1));
}

/// Compressor and allocator that zswap stores with now.
pub(super) fn zswap(facts: &Facts) -> (String, String) {
    let parameter = |name| facts.zswap.value().and_then(|zswap| zswap.parameter(name));
    // Since 6.18 there is only one allocator, and no parameter for it.
    (parameter("compressor").unwrap_or("").into(), parameter("zpool").unwrap_or("zsmalloc").into())
}

#[cfg(test)]
mod tests {
    use swaptune_core::facts::BlockDevice;

    use super::*;

    #[test]
    fn disks_are_found_below_partitions_and_mappings() {
        let device = |name: &str, parent: Option<&str>, lies_on: &[&str]| BlockDevice {
            name: name.into(),
            parent: parent.map(Into::into),
            lies_on: lies_on.iter().map(|name| (*name).into()).collect(),
            ..BlockDevice::default()
        };
        let block_devices = vec![
            device("vda", None, &[]),
            device("vda3", Some("vda"), &[]),
            device("sdb", None, &[]),
            device("dm-0", None, &["vda3", "sdb"]),
        ];
        let facts = Facts { block_devices, ..Facts::default() };
        for (name, expected) in
            [("vda3", vec!["vda"]), ("dm-0", vec!["sdb", "vda"]), ("sdb", vec!["sdb"]), ("nvme9", vec!["nvme9"])]
        {
            let mut found = BTreeSet::new();
            collect(&facts, name, &mut found, 0);
            assert_eq!(found.into_iter().collect::<Vec<_>>(), expected, "{name}");
        }
    }
}
