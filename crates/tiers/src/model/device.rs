//! A disk: one queue, time per request and per page, and a latency that overlaps with other requests.

use std::collections::VecDeque;

use super::page::NONE;

/// Times of a device, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceTimes {
    /// The device is busy so long with each request, however small: one by its limit of requests a second.
    pub request: u64,
    /// The device is busy so long with each page of a request: 4096 by its bandwidth.
    pub page: u64,
    /// Added for a request that does not begin where the last one ended.
    pub seek: u64,
    /// From the end of its work to the answer of a read.
    pub read_latency: u64,
    /// From the end of its work to the answer of a write.
    pub write_latency: u64,
}

impl DeviceTimes {
    /// A usual NVMe drive: 250 000 requests and 2 GB a second, read in 80 µs, write in 20 µs.
    pub const NVME: Self = Self { request: 4_000, page: 2_050, seek: 0, read_latency: 80_000, write_latency: 20_000 };
    /// A usual SATA solid state drive: 60 000 requests and 500 MB a second, read in 150 µs, write in 60 µs.
    pub const SSD: Self = Self { request: 16_000, page: 8_200, seek: 0, read_latency: 150_000, write_latency: 60_000 };
    /// A usual hard disk: 8 ms to another place, 150 MB a second.
    pub const HDD: Self = Self { request: 100_000, page: 27_300, seek: 8_000_000, read_latency: 0, write_latency: 0 };
}

/// Who waits for the end of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// A page leaves RAM, unless it was accessed again: then its number of writes is no longer this.
    Page {
        /// The page.
        page: u32,
        /// Number of its write.
        write: u32,
    },
    /// A copy, of a page that is already elsewhere.
    Copy,
}

/// A device at work.
#[derive(Clone, Debug)]
pub(super) struct Device {
    times: DeviceTimes,
    busy_until: u64,
    /// Slot after the last one touched, and the round of reclaim that wrote it: writes of one round merge.
    next_slot: u32,
    round: u64,
    /// Writes under way, in order of their end.
    writes: VecDeque<(u64, Written)>,
}

impl Device {
    pub(super) const fn new(times: DeviceTimes) -> Self {
        Self { times, busy_until: 0, next_slot: NONE, round: 0, writes: VecDeque::new() }
    }

    /// Writes a page at a time to a slot. Adjacent slots written in one round are one request. RAM is free again at the end.
    pub(super) fn write(&mut self, at: u64, slot: u32, round: u64, written: Written) {
        let merged = slot == self.next_slot && round == self.round;
        self.work(at, slot, 1, !merged);
        self.round = round;
        self.writes.push_back((self.busy_until + self.times.write_latency, written));
    }

    /// Reads adjacent slots in one request and tells when they are there.
    pub(super) fn read(&mut self, at: u64, slot: u32, count: u32) -> u64 {
        self.work(at, slot, count, true);
        self.round = 0;
        self.busy_until + self.times.read_latency
    }

    fn work(&mut self, at: u64, slot: u32, count: u32, request: bool) {
        let seek = if slot == self.next_slot { 0 } else { self.times.seek };
        let begin = if request { self.times.request + seek } else { 0 };
        self.busy_until = self.busy_until.max(at) + begin + self.times.page * u64::from(count);
        self.next_slot = slot + count;
    }

    /// The next write that has ended by a time.
    pub(super) fn ended(&mut self, by: u64) -> Option<Written> {
        let &(end, written) = self.writes.front()?;
        (end <= by).then(|| {
            self.writes.pop_front();
            written
        })
    }

    /// When the next write ends.
    pub(super) fn next_end(&self) -> Option<u64> {
        self.writes.front().map(|&(end, _)| end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: DeviceTimes = DeviceTimes { request: 10, page: 3, seek: 100, read_latency: 7, write_latency: 5 };

    #[test]
    fn adjacent_writes_of_a_round_merge() {
        let mut device = Device::new(TIMES);
        let page = |page| Written::Page { page, write: 0 };
        device.write(1000, 4, 1, page(50));
        device.write(1000, 5, 1, page(51));
        device.write(1000, 6, 2, Written::Copy);
        assert_eq!(device.next_end(), Some(1000 + 110 + 3 + 5));
        assert_eq!((device.ended(1117), device.ended(1118)), (None, Some(page(50))));
        assert_eq!((device.ended(1121), device.next_end()), (Some(page(51)), Some(1000 + 113 + 3 + 13 + 5)));
    }

    #[test]
    fn reads_wait_for_what_is_queued() {
        let mut device = Device::new(TIMES);
        device.write(0, 4, 1, Written::Copy);
        assert_eq!(device.read(20, 5, 2), 113 + 10 + 6 + 7);
        assert_eq!(device.read(10_000, 90, 1), 10_000 + 110 + 3 + 7);
    }
}
