//! zram: a pool behind a swap area, and its upkeep (drivers/block/zram/zram_drv.c).

mod device;
mod visits;

pub(super) use device::Zram;
pub(super) use visits::{Due, Stored, Visits};

use super::spec::ModelSettings;

/// The zram devices of a machine, by the number of their area.
#[derive(Clone, Debug)]
pub(super) struct Zrams {
    devices: Vec<Option<Zram>>,
    /// Whether one of them has upkeep.
    pub(super) have_upkeep: bool,
}

impl Zrams {
    /// Blocks of backing devices are numbered behind all slots.
    pub(super) fn new(settings: &ModelSettings) -> Self {
        let mut block = settings.areas.iter().map(|area| area.slots).sum();
        let mut devices = Vec::new();
        for area in &settings.areas {
            devices.push(Zram::build(&area.backing, area.slots, block, settings.kernel));
            block += area.backing.blocks();
        }
        Self { devices, have_upkeep: settings.areas.iter().any(|area| area.backing.upkeep().is_some()) }
    }

    /// Whether an area is on zram.
    #[inline]
    pub(super) fn has(&self, area: usize) -> bool {
        self.devices[area].is_some()
    }

    #[inline]
    pub(super) fn get_mut(&mut self, area: usize) -> Option<&mut Zram> {
        self.devices[area].as_mut()
    }

    /// Upkeep of an area's device.
    pub(super) fn visits(&mut self, area: usize) -> Option<&mut Visits> {
        self.devices[area].as_mut()?.visits.as_mut()
    }

    /// All devices with the numbers of their areas.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Zram> {
        self.devices.iter().flatten()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (usize, &mut Zram)> {
        self.devices.iter_mut().enumerate().filter_map(|(area, zram)| Some((area, zram.as_mut()?)))
    }

    /// Pages of RAM in all pools.
    #[inline]
    pub(super) fn pages(&self) -> u64 {
        self.iter().map(Zram::pages).sum()
    }
}
