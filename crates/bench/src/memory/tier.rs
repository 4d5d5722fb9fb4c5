//! Where a page that does not fit into RAM goes first, told from facts.

use swaptune_core::Facts;
use swaptune_core::facts::SwapArea;
use swaptune_core::measurement::SwapTier;

/// The tier of the areas of the highest priority; `None` without swap.
#[must_use]
pub fn first(facts: &Facts) -> Option<SwapTier> {
    let highest = facts.swaps.iter().filter(|area| area.used < area.size).map(|area| area.priority).max()?;
    let areas: Vec<&SwapArea> = facts.swaps.iter().filter(|area| area.priority == highest).collect();
    if let Some(zswap) = facts.zswap.value().filter(|zswap| zswap.enabled) {
        let parameter = |name: &str, otherwise: &str| zswap.parameter(name).unwrap_or(otherwise).to_owned();
        // A kernel without the parameter has one allocator.
        return Some(SwapTier::Zswap { compressor: parameter("compressor", ""), zpool: parameter("zpool", "zsmalloc") });
    }
    if let Some(zram) = areas.iter().find(|area| area.is_zram()) {
        return Some(SwapTier::Zram { algorithm: algorithm(facts, &zram.path) });
    }
    let mut disks: Vec<String> = areas.iter().flat_map(|area| area.device.value()).flat_map(|name| disks(facts, name)).collect();
    disks.sort_unstable();
    disks.dedup();
    Some(SwapTier::Disk { disks, areas: u32::try_from(areas.len()).unwrap_or(u32::MAX) })
}

fn algorithm(facts: &Facts, path: &str) -> String {
    let devices = facts.zram.devices.iter();
    let device =
        devices.filter(|device| path.trim_start_matches("/dev/") == device.name).find_map(|device| device.algorithm.value());
    device.cloned().unwrap_or_default()
}

/// The whole disks that a device lies on.
fn disks(facts: &Facts, name: &str) -> Vec<String> {
    let Some(device) = facts.block_devices.iter().find(|device| device.name == name) else { return vec![name.to_owned()] };
    let below: Vec<&String> = device.parent.iter().chain(&device.lies_on).collect();
    if below.is_empty() { vec![name.to_owned()] } else { below.into_iter().flat_map(|name| disks(facts, name)).collect() }
}
