//! Disks: what they are asked to write and to read, and when that is done.

mod device;
mod requests;

pub(super) use requests::Written;

use super::spec::DeviceTimes;
use device::DiskDevice;

/// The disks of a machine.
#[derive(Clone, Debug)]
pub(super) struct Disks {
    devices: Vec<DiskDevice>,
    /// Number of the plug (`blk_start_plug`): what is written under one is sent together.
    plug: u64,
    /// Number of the last write of a page.
    writes: u32,
}

impl Disks {
    pub(super) fn new(times: &[DeviceTimes]) -> Self {
        Self { devices: times.iter().map(|&times| DiskDevice::new(times)).collect(), plug: 0, writes: 0 }
    }

    /// Begins a round of writes that are sent together.
    pub(super) const fn start_plug(&mut self) {
        self.plug += 1;
    }

    /// The number of a new write.
    pub(super) const fn number(&mut self) -> u32 {
        self.writes = self.writes.wrapping_add(1);
        self.writes
    }

    /// Writes a page at a time to a slot of a device; `written` says who waits for the end.
    #[inline]
    pub(super) fn write(&mut self, device: usize, at: u64, slot: u32, written: Written) {
        self.devices[device].write(at, slot, self.plug, written);
    }

    /// Reads adjacent slots of a device in one request and tells when they are there.
    pub(super) fn read(&mut self, device: usize, at: u64, slot: u32, count: u32) -> u64 {
        self.devices[device].read(at, slot, count)
    }

    /// Numbers of all devices.
    #[inline(always)]
    pub(super) fn all(&self) -> std::ops::Range<usize> {
        0..self.devices.len()
    }

    /// Whether something of a device may have begun or ended by a time.
    #[inline(always)]
    pub(super) fn is_due(&self, device: usize, by: u64) -> bool {
        self.devices[device].is_due(by)
    }

    /// Begins the writes of a device whose turn comes by a time.
    pub(super) fn begin_by(&mut self, device: usize, by: u64) {
        self.devices[device].begin_by(by);
    }

    /// The next write of a device that has ended by a time, and when; after [`Disks::begin_by`].
    #[inline]
    pub(super) fn ended(&mut self, device: usize, by: u64) -> Option<(u64, Written)> {
        self.devices[device].ended(by)
    }

    /// Page of a write that ends soon.
    #[inline]
    pub(super) fn ends_soon(&self, device: usize) -> Option<u32> {
        self.devices[device].ends_soon()
    }

    /// Whether the queue of a device is full.
    pub(super) fn is_full(&self) -> bool {
        self.devices.iter().any(DiskDevice::is_full)
    }

    /// When the next write of a device ends, if no read comes before it.
    pub(super) fn next_end_of(&self, device: usize) -> Option<u64> {
        self.devices[device].next_end()
    }

    /// When the next write of all ends.
    pub(super) fn next_end(&self) -> Option<u64> {
        self.devices.iter().filter_map(DiskDevice::next_end).min()
    }
}

#[cfg(test)]
impl Disks {
    /// Rounds of writes so far.
    pub(super) const fn plugs(&self) -> u64 {
        self.plug
    }
}
