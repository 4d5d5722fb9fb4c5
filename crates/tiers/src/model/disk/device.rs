//! A disk and its scheduler: one request at a time, time per request and per page, and a latency that overlaps with other requests.

use super::requests::{Requests, WriteRequest, Written};
use crate::model::page::NONE;
use crate::model::spec::DeviceTimes;

/// Requests of kswapd that a queue takes before it has to wait (block/blk-wbt.c: `RWB_DEF_DEPTH`; that the depth follows the latency of reads
/// is left out).
const QUEUE: usize = 16;
/// Ends of writes ahead at which the memory of a page is prefetched.
const PREFETCH: usize = 12;

/// A device at work, behind a scheduler such as mq-deadline: a read goes before all writes that wait, and a write joins a waiting
/// one that ends where it begins.
#[derive(Clone, Debug)]
pub(crate) struct DiskDevice {
    times: DeviceTimes,
    busy_until: u64,
    /// Before this time nothing begins and nothing ends.
    due: u64,
    /// Slot after the last one touched, and the round of reclaim that wrote it: writes of one round merge even into a request that
    /// has begun, because the kernel holds them back until the round is over (`blk_start_plug`).
    next_slot: u32,
    round: u64,
    /// Writes that have not ended, in the order in which they do.
    writes: Requests,
}

impl DiskDevice {
    pub(crate) fn new(times: DeviceTimes) -> Self {
        Self { times, busy_until: 0, due: u64::MAX, next_slot: NONE, round: 0, writes: Requests::new() }
    }

    /// Writes a page at a time to a slot. RAM is free again at the end.
    pub(crate) fn write(&mut self, at: u64, slot: u32, round: u64, written: Written) {
        self.begin_by(at);
        self.due = self.due.min(self.busy_until.max(at));
        let joins = slot == self.next_slot && round == self.round;
        if self.writes.waiting().is_none() && (joins || self.busy_until <= at) {
            self.work(at, slot, 1, !joins);
            self.round = round;
            self.writes.add_begun(slot, self.busy_until + self.times.write_latency, written);
        } else {
            self.writes.add(slot, at, round, written);
        }
    }

    /// Reads adjacent slots in one request and tells when they are there.
    pub(crate) fn read(&mut self, at: u64, slot: u32, count: u32) -> u64 {
        self.begin_by(at);
        self.work(at, slot, count, true);
        self.round = 0;
        self.busy_until + self.times.read_latency
    }

    /// Begins the writes whose turn comes by a time.
    #[inline(always)]
    pub(crate) fn begin_by(&mut self, time: u64) {
        if self.is_due(time) {
            self.begin_all(time);
        }
    }

    fn begin_all(&mut self, time: u64) {
        while let Some(&WriteRequest { slot, count, at, round, .. }) = self.writes.waiting() {
            if self.busy_until.max(at) > time {
                return;
            }
            self.work(at, slot, count, true);
            self.round = round;
            let after_first = self.times.page * u64::from(count - 1);
            self.writes.begin(self.busy_until - after_first + self.times.write_latency);
        }
    }

    #[inline]
    fn work(&mut self, at: u64, slot: u32, count: u32, request: bool) {
        let begin = if request { self.times.request + self.seek(slot) } else { 0 };
        self.busy_until = self.busy_until.max(at) + begin + self.times.page * u64::from(count);
        self.next_slot = slot + count;
    }

    /// What it takes to get to a slot. What lies a little ahead passes under the head as fast as it would be read; that is a seek only
    /// where it takes longer than one.
    #[inline]
    fn seek(&self, slot: u32) -> u64 {
        let ahead = slot.checked_sub(self.next_slot).map_or(u64::MAX, |slots| self.times.page * u64::from(slots));
        ahead.min(self.times.seek)
    }

    /// Whether something may have begun or ended by a time.
    #[inline(always)]
    pub(crate) const fn is_due(&self, by: u64) -> bool {
        self.due <= by
    }

    /// The next write that has ended by a time, and when; what can begin by then has to have begun ([`DiskDevice::begin_by`]).
    #[inline]
    pub(crate) fn ended(&mut self, by: u64) -> Option<(u64, Written)> {
        let end = self.writes.end().unwrap_or(u64::MAX);
        if end <= by {
            return Some((end, self.writes.take_ended(self.times.page)?));
        }
        let begin = self.writes.waiting().map_or(u64::MAX, |request| self.busy_until.max(request.at));
        self.due = begin.min(end);
        None
    }

    /// Whether another request has to wait for a place in the queue (`wbt_wait`).
    pub(crate) fn is_full(&self) -> bool {
        self.writes.len() >= QUEUE
    }

    /// Page of a write that ends soon: its memory is worth a prefetch.
    #[inline]
    pub(crate) fn ends_soon(&self) -> Option<u32> {
        match self.writes.peek(PREFETCH)? {
            Written::Page { page, .. } => Some(page),
            Written::Block { .. } | Written::Copy => None,
        }
    }

    /// When the next write ends, if no read comes before it.
    pub(crate) fn next_end(&self) -> Option<u64> {
        self.writes.end().or_else(|| {
            let next = self.writes.waiting()?;
            let begin = self.busy_until.max(next.at);
            Some(begin + self.times.request + self.seek(next.slot) + self.times.page + self.times.write_latency)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: DeviceTimes = DeviceTimes { request: 10, page: 3, seek: 100, read_latency: 7, write_latency: 5 };

    fn ended(device: &mut DiskDevice, by: u64) -> Option<(u64, Written)> {
        device.begin_by(by);
        device.ended(by)
    }

    #[test]
    fn adjacent_writes_of_a_round_merge() {
        let mut device = DiskDevice::new(TIMES);
        let page = |page| Written::Page { page, write: 0 };
        device.write(1000, 4, 1, page(50));
        device.write(1000, 5, 1, page(51));
        device.write(1000, 6, 2, Written::Copy);
        assert_eq!(device.next_end(), Some(1000 + 110 + 3 + 5));
        assert_eq!((ended(&mut device, 1117), ended(&mut device, 1118)), (None, Some((1118, page(50)))));
        assert_eq!((ended(&mut device, 1121), device.next_end()), (Some((1121, page(51))), Some(1000 + 113 + 3 + 13 + 5)));
    }

    #[test]
    fn a_queue_is_full_at_16_requests() {
        let mut device = DiskDevice::new(TIMES);
        (0..15).for_each(|request| device.write(0, 10 * request, 1, Written::Copy));
        (0..100).for_each(|page| device.write(0, 141 + page, 1, Written::Copy));
        assert!(!device.is_full(), "what is adjacent is one request");
        device.write(0, 500, 1, Written::Copy);
        assert!(device.is_full());
        let end = device.next_end().unwrap();
        assert!(ended(&mut device, end).is_some() && !device.is_full());
    }

    #[test]
    fn a_short_way_ahead_is_no_seek() {
        let after = |slot| {
            let mut device = DiskDevice::new(TIMES);
            device.write(0, 40, 1, Written::Copy);
            device.read(1000, slot, 1) - 1000 - 10 - 3 - 7
        };
        assert_eq!([41, 42, 61, 74, 75].map(after), [0, 3, 60, 99, 100], "three for each page that is passed");
        assert_eq!([40, 0].map(after), [100, 100], "nothing passes backwards");
    }

    #[test]
    fn writes_of_a_round_to_other_places_are_requests_of_their_own() {
        let mut device = DiskDevice::new(TIMES);
        [4, 50].into_iter().for_each(|slot| device.write(1000, slot, 1, Written::Copy));
        assert_eq!(ended(&mut device, 1118), Some((1118, Written::Copy)));
        assert_eq!(device.next_end(), Some(1113 + 110 + 3 + 5));
    }

    #[test]
    fn reads_wait_for_what_has_begun() {
        let mut device = DiskDevice::new(TIMES);
        device.write(0, 4, 1, Written::Copy);
        assert_eq!(device.read(20, 5, 2), 113 + 10 + 6 + 7);
        assert_eq!(device.read(10_000, 90, 1), 10_000 + 110 + 3 + 7);
    }

    #[test]
    fn reads_go_before_writes_that_wait() {
        let mut device = DiskDevice::new(TIMES);
        device.write(0, 4, 1, Written::Copy);
        device.write(1, 50, 2, Written::Copy);
        assert_eq!(device.read(20, 5, 2), 113 + 10 + 6 + 7, "after the first write, before the second");
        assert_eq!(ended(&mut device, 118), Some((118, Written::Copy)));
        assert_eq!(device.next_end(), Some(129 + 110 + 3 + 5));
        assert_eq!((ended(&mut device, 246), ended(&mut device, 247)), (None, Some((247, Written::Copy))));
    }

    #[test]
    fn adjacent_writes_that_wait_are_one_request_whoever_sent_them() {
        let mut device = DiskDevice::new(TIMES);
        device.write(0, 4, 1, Written::Copy);
        for (slot, round) in [(50, 2), (90, 3), (51, 4), (91, 5)] {
            device.write(1, slot, round, Written::Copy);
        }
        let ends: Vec<u64> = (0..5)
            .map(|_| {
                let end = device.next_end().unwrap();
                assert_eq!(ended(&mut device, end), Some((end, Written::Copy)));
                end
            })
            .collect();
        assert_eq!(ends, [118, 231, 234, 347, 350]);
        assert_eq!(device.next_end(), None);
    }

    #[test]
    fn a_request_has_an_end() {
        let mut device = DiskDevice::new(TIMES);
        device.write(0, 4, 1, Written::Copy);
        (0..257).for_each(|page| device.write(1, 1000 + page, 2, Written::Copy));
        let ends: Vec<u64> = std::iter::from_fn(|| device.next_end().inspect(|&end| _ = ended(&mut device, end))).collect();
        assert_eq!((ends.len(), ends[257]), (258, 113 + 257 * 3 + 110 + 2 * 10 + 5), "two of 128 and one of one");
    }
}
