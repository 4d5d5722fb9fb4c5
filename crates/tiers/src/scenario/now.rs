//! A machine as it is, as a tiering.

use toml::{Table, Value};

use crate::model::{Backing, DeviceTimes, NamedDevice, Settings};

/// Usual devices by their times.
const USUAL: [(&str, DeviceTimes); 3] = [("nvme", DeviceTimes::NVME), ("ssd", DeviceTimes::SSD), ("hdd", DeviceTimes::HDD)];
/// The largest share of RAM that a size can be.
const MOST: f64 = 100_000.0;

/// The swap of a machine as it is set up: what the tiering `now` stands for.
#[derive(Clone, Debug, PartialEq)]
pub struct Now {
    /// The machine with its zswap and its areas.
    pub settings: Settings,
    /// Its disks, in the order of [`Settings::devices`]. One whose times are not usual ones is known by its name to whoever runs it.
    pub disks: Vec<NamedDevice>,
}

impl Now {
    /// The `[[tiering]]`. Sizes are in proportion to RAM: beside other tierings RAM is what the question says.
    pub(super) fn tiering(&self, name: &str) -> Table {
        let mut table = Table::from_iter([("name".to_owned(), Value::from(name))]);
        if let Some(zswap) = &self.settings.zswap {
            let words = [
                ("compressor", Value::from(zswap.codec.name)),
                ("allocator", zswap.allocator.name().into()),
                ("limit", zswap.max_pool_percent.cast_signed().into()),
                ("accept", zswap.accept_threshold_percent.cast_signed().into()),
                ("policy", zswap.policy.name.into()),
            ];
            table.insert("zswap".into(), Table::from_iter(words.map(|(key, value)| (key.to_owned(), value))).into());
        }
        let areas: Vec<Value> = self.settings.areas.iter().map(|area| self.area(area).into()).collect();
        if !areas.is_empty() {
            table.insert("swap".into(), areas.into());
        }
        table
    }

    fn area(&self, area: &crate::model::AreaSettings) -> Table {
        let size = self.share(u64::from(area.slots));
        let mut table =
            Table::from_iter([("size".to_owned(), size), ("priority".to_owned(), Value::from(i64::from(area.priority)))]);
        match &area.backing {
            Backing::Disk { device, .. } => table.insert("disk".into(), self.disks[*device].name.as_str().into()),
            Backing::Zram { codec, mem_limit, .. } => {
                mem_limit.iter().for_each(|limit| _ = table.insert("mem-limit".into(), self.share(*limit)));
                table.insert("zram".into(), codec.name.into())
            }
        };
        table
    }

    fn share(&self, pages: u64) -> Value {
        Value::from(format!("{}%", (pages as f64 * 100.0 / self.settings.ram.max(1) as f64).min(MOST)))
    }

    /// `[device.NAME]` of each disk that has usual times.
    pub(super) fn devices(&self) -> impl Iterator<Item = (String, Value)> {
        self.disks.iter().filter_map(|disk| {
            let (like, _) = USUAL.iter().find(|(_, times)| *times == disk.times)?;
            let words = [("like", Value::from(*like)), ("rotational", disk.rotational.into())];
            Some((disk.name.clone(), Table::from_iter(words.map(|(key, value)| (key.to_owned(), value))).into()))
        })
    }
}

#[cfg(test)]
mod tests {
    use swaptune_kernel::v;

    use super::*;
    use crate::alloc::Allocator;
    use crate::model::{AreaSettings, Codec, ZswapSettings};
    use crate::scenario::{Changes, NoFiles, Scenario, Source, Typed};

    fn now() -> Now {
        let disk = |name: &str, times, rotational| NamedDevice { name: name.into(), times, rotational };
        let mut settings = Settings { kernel: v(6, 12), ..Settings::new(4096) };
        let zstd = Codec::named("zstd").unwrap();
        settings.zswap = Some(ZswapSettings { max_pool_percent: 35, ..ZswapSettings::new(zstd, Allocator::Zbud) });
        let zram = Backing::Zram { codec: zstd, allocator: Allocator::Zbud, mem_limit: Some(1024), upkeep: None };
        let area = |priority, slots, backing| AreaSettings { priority, slots, backing };
        settings.areas = vec![
            area(100, 2048, zram),
            area(-2, 8192, Backing::Disk { device: 1, rotational: true }),
            area(-3, 1111, Backing::Disk { device: 0, rotational: false }),
        ];
        settings.devices = vec![DeviceTimes::NVME, DeviceTimes::SSD];
        Now { settings, disks: vec![disk("nvme0n1", DeviceTimes::NVME, false), disk("vda", DeviceTimes::SSD, true)] }
    }

    fn typed(tierings: &[&str], now: Option<Now>, ram: &str) -> Typed {
        Typed {
            tierings: tierings.iter().map(|text| (*text).to_owned()).collect(),
            policies: Vec::new(),
            ram: Some(ram.into()),
            one_ram: false,
            source: Source::Generated("hold:pages=3000".into()),
            sleeps: false,
            machine: vec![("kernel", "6.12".to_owned())],
            now,
        }
    }

    #[test]
    fn what_is_read_again_is_the_machine() {
        let scenario = Scenario::typed(&typed(&["now", "disk"], Some(now()), "16M"), &Changes::default(), &NoFiles).unwrap();
        let (tiering, settings) = (&scenario.points[0].tierings[0], now().settings);
        assert_eq!((tiering.name.as_str(), scenario.points[0].tierings.len()), ("now", 2));
        assert_eq!(tiering.devices, ["vda", "nvme0n1"], "in the order of the areas");
        let areas: Vec<_> = tiering.settings.areas.iter().map(|area| (area.priority, area.slots)).collect();
        assert_eq!(areas, [(100, 2048), (-2, 8192), (-3, 1111)]);
        assert!(matches!(tiering.settings.areas[0].backing, Backing::Zram { mem_limit: Some(1024), .. }));
        assert!(matches!(tiering.settings.areas[1].backing, Backing::Disk { rotational: true, .. }));
        let zswap = |settings: &Settings| {
            settings.zswap.as_ref().map(|zswap| (zswap.max_pool_percent, zswap.allocator.name(), zswap.policy.name, zswap.codec))
        };
        assert_eq!(zswap(&tiering.settings), zswap(&settings));
        let half = Scenario::typed(&typed(&["as it is=now"], Some(now()), "8M"), &Changes::default(), &NoFiles).unwrap();
        let half = &half.points[0].tierings[0];
        assert_eq!((half.name.as_str(), half.settings.areas[1].slots), ("as it is", 4096), "half of RAM, half of the swap");
    }

    #[test]
    fn a_machine_without_swap_has_none() {
        let none = Now { settings: Settings::new(4096), disks: Vec::new() };
        let scenario = Scenario::typed(&typed(&["now"], Some(none), "16M"), &Changes::default(), &NoFiles).unwrap();
        assert!(scenario.points[0].tierings[0].settings.areas.is_empty());
    }

    #[test]
    fn now_stands_alone_and_needs_a_machine() {
        let says = |line: &str, now| typed(&[line], now, "16M").document().unwrap_err().to_string();
        assert!(says("now,disk", Some(now())).contains("found `now` beside other tiers, expected `now` alone"));
        assert!(says("now:8G", Some(now())).contains("expected `now` alone"));
        assert!(says("now", None).contains("expected a machine that was looked at"));
    }
}
