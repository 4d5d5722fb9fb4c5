//! Canary pages of one class in our own memory: filled, pushed, waited for, read back, checked.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use swaptune_core::Bytes;
use swaptune_core::proof::{CanaryClass, Corruption};
use swaptune_core::stats::{Nanos, Quantiles};
use tracing::info;

use super::{ProveError, nanos, slots};
use crate::sys::{MadviseAdvice, OwnRegion};

/// Pages caught on a CPU's list of pages to be moved (31 at most), on up to two CPUs: they cannot
/// be pushed until that CPU drains its list, and waiting for it is not worth it.
const STRAGGLERS: u64 = 62;
/// The part of a class that they are at most: with pages of 64 KiB a class has fewer than 62.
const STRAGGLERS_PART: u64 = 20;
/// Calls that measure what a call costs when there is nothing to do.
const OVERHEAD_SAMPLES: usize = 64;
/// Loads that make a p99; a slow device gets this many even past its time budget, up to the second number times the budget.
const ENOUGH_LOADS: usize = 100;
const PATIENCE: u32 = 5;
/// Rounds to push pages that were not on a list yet.
const PUSH_ROUNDS: u32 = 3;

/// One class of pages.
#[derive(Debug)]
pub struct CanaryPages {
    /// What is in them.
    pub class: CanaryClass,
    /// How many.
    pub pages: u64,
    /// What pushing costs when there is nothing to push.
    pub overhead_store: Nanos,
    /// What bringing back costs when the page is there.
    pub overhead_load: Nanos,
    /// What could not be seen.
    pub blind: Vec<String>,
    region: OwnRegion,
    page: usize,
    seed: u64,
    unreadable: Vec<usize>,
}

impl CanaryPages {
    /// Maps and fills them.
    ///
    /// # Errors
    /// [`ProveError::Map`] when there is no memory for them.
    pub fn new(class: CanaryClass, pages: u64, page: Bytes, seed: u64) -> Result<Self, ProveError> {
        let size = Bytes(pages.saturating_mul(page.0));
        let map = |source| ProveError::Map { size, source };
        let length = usize::try_from(size.0).map_err(|_| map(io::ErrorKind::OutOfMemory.into()))?;
        let mut region = OwnRegion::new(length).map_err(map)?;
        // EINVAL from a kernel without huge pages, which then has none to avoid.
        let _ = region.advise(0, length, MadviseAdvice::NoHugePage);
        let _ = region.advise(0, length, MadviseAdvice::DontFork);
        let page = length / usize::try_from(pages).unwrap_or(usize::MAX).max(1);
        for (number, bytes) in (0..).zip(region.bytes_mut().chunks_mut(page)) {
            class.fill(bytes, number, seed);
        }
        Ok(Self {
            class,
            pages,
            overhead_store: Nanos::default(),
            overhead_load: Nanos::default(),
            blind: Vec::new(),
            region,
            page,
            seed,
            unreadable: Vec::new(),
        })
    }

    /// Bytes of a page.
    #[must_use]
    pub fn page_size(&self) -> usize {
        self.page
    }

    /// How many pages.
    #[must_use]
    pub fn count(&self) -> usize {
        self.region.bytes_len() / self.page
    }

    fn advise(&self, number: usize, advice: MadviseAdvice) -> io::Result<()> {
        self.region.advise(number * self.page, self.page, advice)
    }

    /// Pushes one page.
    ///
    /// # Errors
    /// What `MADV_PAGEOUT` says.
    pub fn push_page(&self, number: usize) -> io::Result<()> {
        self.advise(number, MadviseAdvice::PageOut)
    }

    /// Touches one page, as a program does.
    pub fn touch_page(&self, number: usize) {
        self.region.touch(number * self.page);
    }

    /// Writes to one page without changing what it holds: it must be stored anew when it is pushed again.
    pub fn dirty_page(&mut self, number: usize) {
        let at = number * self.page;
        let byte = std::hint::black_box(self.region.bytes()[at]);
        self.region.bytes_mut()[at] = byte;
    }

    /// Pushes page by page and times each call.
    ///
    /// # Errors
    /// What `MADV_PAGEOUT` says.
    pub fn push(&mut self) -> io::Result<Option<Quantiles>> {
        info!("canary: push {} pages of {:?}", self.count(), self.class);
        let mut samples = Vec::with_capacity(self.count());
        for number in 0..self.count() {
            let start = Instant::now();
            self.push_page(number)?;
            samples.push(nanos(start.elapsed()).0);
        }
        self.push_stragglers()?;
        self.overhead_store = self.overhead(|canary, number| canary.advise(number, MadviseAdvice::PageOut));
        Ok(Quantiles::of(&mut samples, self.overhead_store))
    }

    /// Pushes those that did not go at the first try, and says which they were.
    ///
    /// # Errors
    /// What `MADV_PAGEOUT` says.
    pub fn push_stragglers(&self) -> io::Result<Vec<usize>> {
        let late = self.in_page_table().unwrap_or_default();
        // A page that was still on some CPU's list of new pages is not found by the first try.
        for round in 0..PUSH_ROUNDS {
            let here = self.in_page_table().unwrap_or_default();
            if here.is_empty() {
                break;
            }
            std::thread::sleep(Duration::from_millis(u64::from(round)));
            for number in here {
                self.advise(number, MadviseAdvice::PageOut)?;
            }
        }
        Ok(late)
    }

    /// Median time of a call on the first pages, which has nothing left to do by now.
    fn overhead(&self, call: impl Fn(&Self, usize) -> io::Result<()>) -> Nanos {
        let mut samples: Vec<u64> = (0..self.count().min(OVERHEAD_SAMPLES))
            .filter_map(|number| {
                let start = Instant::now();
                call(self, number).ok()?;
                Some(nanos(start.elapsed()).0)
            })
            .collect();
        Quantiles::of(&mut samples, Nanos(0)).map_or(Nanos(0), |quantiles| quantiles.p50)
    }

    /// Our page table entries, one per page.
    fn entries(&self) -> io::Result<Vec<u64>> {
        let mut bytes = vec![0; self.count() * 8];
        let offset = self.region.address() / self.page * 8;
        File::open("/proc/self/pagemap")?.read_exact_at(&mut bytes, offset as u64)?;
        Ok(bytes.chunks_exact(8).map(|entry| u64::from_ne_bytes(entry.try_into().unwrap_or_default())).collect())
    }

    /// Pages that our page table still has in RAM.
    fn in_page_table(&self) -> io::Result<Vec<usize>> {
        Ok(self.entries()?.iter().enumerate().filter(|(_, entry)| slots::is_present(**entry)).map(|(number, _)| number).collect())
    }

    /// Pages with a copy in RAM, in the page table or in the swap cache.
    ///
    /// # Errors
    /// [`ProveError::Resident`].
    pub fn resident(&self) -> Result<Vec<usize>, ProveError> {
        let mut pages = vec![0; self.count()];
        let length = self.region.bytes_len();
        self.region.resident(0, length, self.page, &mut pages).map_err(ProveError::Resident)?;
        Ok(pages.iter().enumerate().filter(|(_, flags)| **flags & 1 != 0).map(|(number, _)| number).collect())
    }

    /// How many pages are swapped, and their slots where they can be seen.
    ///
    /// # Errors
    /// [`ProveError::Resident`].
    pub fn where_are_they(&mut self) -> Result<(u64, Vec<slots::AreaSlot>), ProveError> {
        match self.entries() {
            Ok(entries) => {
                let swapped: Vec<_> = entries.into_iter().filter(|entry| slots::is_swapped(*entry)).collect();
                let slots: Vec<_> = swapped.iter().filter_map(|entry| slots::AreaSlot::of(*entry)).collect();
                if slots.is_empty() && !swapped.is_empty() {
                    self.blind.push("the swap area of each page: page table entries show it to CAP_SYS_ADMIN only".into());
                }
                Ok((swapped.len() as u64, slots))
            }
            Err(error) => {
                self.blind.push(format!("page table entries: /proc/self/pagemap: {error}"));
                Ok((self.pages - self.resident()?.len() as u64, Vec::new()))
            }
        }
    }

    /// Waits until no copy is left in RAM, and returns how many are.
    ///
    /// A page on its way to a disk stays in the swap cache, and nothing but memory pressure takes it out when it is
    /// written. But a clean page that is mapped again and advised again goes at once, without another write. That
    /// works only while a read fault keeps the slot: when swap is less than half full.
    ///
    /// # Errors
    /// [`ProveError::Resident`].
    pub fn settle(&mut self, limit: Duration, keeps_slots: bool) -> Result<u64, ProveError> {
        info!("canary: wait until no copy is left in RAM, {limit:?} at most");
        let deadline = Instant::now() + limit;
        let mut wait = Duration::from_micros(250);
        let mut stuck = 0;
        let mut resident = self.resident()?;
        while !resident.is_empty() && keeps_slots && Instant::now() < deadline {
            std::thread::sleep(wait);
            wait = (wait * 2).min(Duration::from_millis(50));
            for number in &resident {
                // A page that cannot be read is found and reported when it is loaded.
                if self.bring_back(*number).is_ok() {
                    let _ = self.advise(*number, MadviseAdvice::PageOut);
                }
            }
            let left = self.resident()?;
            stuck = if left.len() < resident.len() { 0 } else { stuck + 1 };
            resident = left;
            if stuck >= 1 && resident.len() as u64 <= STRAGGLERS.min(self.pages / STRAGGLERS_PART) {
                break;
            }
        }
        if !resident.is_empty() && !keeps_slots {
            self.blind.push(
                "loads from the disk: swap is more than half full, so written pages cannot be freed without another write".into(),
            );
        }
        Ok(resident.len() as u64)
    }

    /// Reads a page in, by a call that can fail instead of a signal where the kernel has it.
    fn bring_back(&self, number: usize) -> io::Result<()> {
        match self.advise(number, MadviseAdvice::PopulateRead) {
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                self.region.touch(number * self.page);
                Ok(())
            }
            result => result,
        }
    }

    /// Reads all pages back, timing those that are not in RAM, and says how many could not be read.
    ///
    /// # Errors
    /// [`ProveError::Resident`].
    pub fn load(&mut self, budget: Duration) -> Result<(Option<Quantiles>, u64), ProveError> {
        info!("canary: load them again");
        let begun = Instant::now();
        let mut samples = Vec::with_capacity(self.count());
        let mut order = scattered(self.count());
        for number in order.by_ref() {
            let mut flags = [0];
            self.region.resident(number * self.page, self.page, self.page, &mut flags).map_err(ProveError::Resident)?;
            if flags[0] & 1 != 0 {
                continue;
            }
            let start = Instant::now();
            let result = self.bring_back(number);
            samples.push(nanos(start.elapsed()).0);
            if result.is_err() {
                self.unreadable.push(number);
            }
            let over = start.saturating_duration_since(begun);
            if over > budget && samples.len() >= ENOUGH_LOADS || over > budget * PATIENCE {
                break;
            }
        }
        // The rest in bulk: the kernel reads ahead as far as it likes.
        let rest: Vec<usize> = order.collect();
        if !rest.is_empty() {
            let _ = self.region.advise(0, self.region.bytes_len(), MadviseAdvice::WillNeed);
        }
        for number in 0..self.count() {
            if !self.unreadable.contains(&number) && self.bring_back(number).is_err() {
                self.unreadable.push(number);
            }
        }
        self.overhead_load = self.overhead(Self::bring_back);
        Ok((Quantiles::of(&mut samples, self.overhead_load), self.unreadable.len() as u64))
    }

    /// Compares every byte with what was written, but those of pages that cannot be read.
    #[must_use]
    pub fn check(&self) -> Option<Corruption> {
        info!("canary: compare every byte");
        let mut expected = vec![0; self.page];
        let pages = (0..).zip(self.region.bytes().chunks(self.page));
        let mut readable = pages.filter(|(number, _)| !self.unreadable.contains(&(*number as usize)));
        readable.find_map(|(number, found)| {
            self.class.fill(&mut expected, number, self.seed);
            Corruption::find(number, &expected, found)
        })
    }
}

/// All numbers below `count`, neighbours far apart: a stride that has no divisor in common with it.
fn scattered(count: usize) -> impl Iterator<Item = usize> {
    let stride = [67, 71, 73, 79, 83].into_iter().find(|prime| count % *prime != 0).unwrap_or(1);
    (0..count).map(move |step| step * stride % count)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_scattered_order_is_complete() {
        for count in [1, 2, 67, 67 * 71, 500, 2048] {
            let seen: BTreeSet<_> = scattered(count).collect();
            assert_eq!(seen.len(), count);
        }
        assert_eq!(scattered(0).count(), 0);
    }

    #[test]
    fn a_page_that_changed_is_found() {
        let mut canary = CanaryPages::new(CanaryClass::Text, 4, Bytes(rustix::param::page_size() as u64), 1).unwrap();
        assert_eq!(canary.check(), None);
        let offset = 2 * canary.page + 100;
        canary.region.bytes_mut()[offset] ^= 0x40;
        let found = canary.check().unwrap();
        assert_eq!((found.page, found.offset, found.expected ^ found.found), (2, 100, 0x40));
        canary.unreadable.push(2);
        assert_eq!(canary.check(), None);
    }
}
