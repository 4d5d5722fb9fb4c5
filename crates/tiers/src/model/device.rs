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

/// Streams of writes that the queue keeps apart: a write next to the end of any of them joins it.
const STREAMS: usize = 4;

/// A device at work.
#[derive(Clone, Debug)]
pub(super) struct Device {
    times: DeviceTimes,
    busy_until: u64,
    /// Slot after the last one touched.
    head: u32,
    /// Slots after the last write of each stream, the youngest first, and the round of reclaim that wrote the youngest.
    tails: [u32; STREAMS],
    round: u64,
    /// Writes under way, in order of their end.
    writes: VecDeque<(u64, Written)>,
}

impl Device {
    pub(super) const fn new(times: DeviceTimes) -> Self {
        Self { times, busy_until: 0, head: NONE, tails: [NONE; STREAMS], round: 0, writes: VecDeque::new() }
    }

    /// Writes a page at a time to a slot. RAM is free again at the end.
    ///
    /// A slot next to the last one written joins its request when that is of the same round (the block layer's plug); next to
    /// one of the last few writes it does when those still wait in the queue (merging there).
    pub(super) fn write(&mut self, at: u64, slot: u32, round: u64, written: Written) {
        let waiting = self.busy_until > at;
        let stream =
            self.tails.iter().position(|&tail| tail == slot).filter(|&stream| waiting || (stream == 0 && round == self.round));
        let end = if stream.is_none() { self.begin(at, slot) } else { self.busy_until.max(at) };
        self.busy_until = end + self.times.page;
        self.tails[..=stream.unwrap_or(STREAMS - 1)].rotate_right(1);
        self.tails[0] = slot + 1;
        (self.head, self.round) = (slot + 1, round);
        self.writes.push_back((self.busy_until + self.times.write_latency, written));
    }

    /// Reads adjacent slots in one request and tells when they are there.
    pub(super) fn read(&mut self, at: u64, slot: u32, count: u32) -> u64 {
        self.busy_until = self.begin(at, slot) + self.times.page * u64::from(count);
        self.head = slot + count;
        self.round = 0;
        self.busy_until + self.times.read_latency
    }

    /// When a request that begins at a slot is ready to move pages.
    fn begin(&self, at: u64, slot: u32) -> u64 {
        let seek = if slot == self.head { 0 } else { self.times.seek };
        self.busy_until.max(at) + self.times.request + seek
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
    fn adjacent_writes_of_a_round_or_in_the_queue_merge() {
        let mut device = Device::new(TIMES);
        let page = |page| Written::Page { page, write: 0 };
        device.write(1000, 4, 1, page(50));
        device.write(1000, 5, 1, page(51));
        device.write(1115, 6, 2, Written::Copy);
        device.write(1120, 7, 3, Written::Copy);
        assert_eq!(device.next_end(), Some(1000 + 110 + 3 + 5));
        assert_eq!((device.ended(1117), device.ended(1118)), (None, Some(page(50))));
        assert_eq!((device.ended(1121), device.next_end()), (Some(page(51)), Some(1000 + 110 + 9 + 5)), "it waited in the queue");
        assert_eq!(device.ended(1124), Some(Written::Copy));
        assert_eq!(device.next_end(), Some(1120 + 10 + 3 + 5), "the queue was empty");
    }

    #[test]
    fn streams_that_alternate_in_the_queue_merge_each_for_itself() {
        let mut device = Device::new(TIMES);
        for step in 0..10 {
            device.write(0, 100 + step, u64::from(step), Written::Copy);
            device.write(0, 500 + step, u64::from(step), Written::Copy);
        }
        assert_eq!(device.busy_until, 2 * 110 + 20 * 3);
        device.write(10_000, 110, 77, Written::Copy);
        assert_eq!(device.busy_until, 10_000 + 113, "nothing waits any more");
    }

    #[test]
    fn reads_wait_for_what_is_queued() {
        let mut device = Device::new(TIMES);
        device.write(0, 4, 1, Written::Copy);
        assert_eq!(device.read(20, 5, 2), 113 + 10 + 6 + 7);
        assert_eq!(device.read(10_000, 90, 1), 10_000 + 110 + 3 + 7);
    }
}
