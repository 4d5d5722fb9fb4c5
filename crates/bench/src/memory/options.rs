//! What is measured: patterns, sizes, pressure, and whether this machine has room for it.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use swaptune_core::Bytes;
use swaptune_core::measurement::{MemoryData, MemoryOrder};

use super::MemoryError;
use super::cell::PAGE;
use super::work::Pattern;

/// A limit below this leaves the helper itself no room.
const LEAST_LIMIT: Bytes = Bytes::from_mib(8);
/// What stays free beside a hog and beside memory that is meant to fit: this, or 1/32 of RAM if that is more.
const FLOOR: Bytes = Bytes::from_mib(64);
/// Of MemAvailable, what a hog takes when it is not told (seed row E13).
const HOG_PERCENT: u64 = 95;
/// More swap than what must go there: the helper's own pages, and slots that the kernel keeps for pages that came back.
const SPARE: Bytes = Bytes::from_mib(32);

/// What was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryOptions {
    /// Size of the memory; `None` for what suits.
    pub size: Option<Bytes>,
    /// Contents of the pages; each makes a row.
    pub data: Vec<MemoryData>,
    /// Orders of access; each makes a row.
    pub orders: Vec<MemoryOrder>,
    /// Write instead of read.
    pub write: bool,
    /// 1 for byte by byte, else sizes of blocks.
    pub blocks: Vec<Bytes>,
    /// Numbers of threads.
    pub threads: Vec<u32>,
    /// Memory limit of the measuring process.
    pub limit: Option<Bytes>,
    /// Hold other memory meanwhile.
    pub hog: Option<Hog>,
    /// How long each pattern is accessed.
    pub time: Duration,
    /// Swap to make for as long as it runs.
    pub swap: Option<TemporarySwap>,
    /// Where a temporary swap file lies.
    pub swap_folder: PathBuf,
}

/// How much a hog takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hog {
    /// 95 % of what is available.
    Most,
    /// This much.
    Size(Bytes),
}

/// Swap for as long as the benchmark runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TemporarySwap {
    /// A swap file with zswap in front of it.
    Zswap {
        /// The compressor, by the kernel's name.
        compressor: String,
        /// Allocator, where the kernel has several.
        zpool: Option<String>,
    },
    /// A zram device.
    Zram {
        /// The compressor, as `comp_algorithm` names it.
        algorithm: String,
    },
    /// A swap file alone.
    Disk,
}

impl FromStr for TemporarySwap {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        match (kind, rest) {
            ("disk", "") => Ok(Self::Disk),
            ("zram", algorithm) if !algorithm.is_empty() => Ok(Self::Zram { algorithm: algorithm.to_owned() }),
            ("zswap", rest) if !rest.is_empty() => {
                let (compressor, zpool) =
                    rest.split_once('/').map_or((rest, None), |(name, zpool)| (name, Some(zpool.to_owned())));
                Ok(Self::Zswap { compressor: compressor.to_owned(), zpool })
            }
            _ => Err("expected zswap:COMPRESSOR, zswap:COMPRESSOR/ZPOOL, zram:ALGORITHM or disk".into()),
        }
    }
}

/// Memory of the machine before anything begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryRoom {
    /// `MemTotal`.
    pub total: Bytes,
    /// `MemAvailable`.
    pub available: Bytes,
    /// `SwapFree`.
    pub swap_free: Bytes,
}

impl MemoryRoom {
    /// What stays free whatever is asked for.
    fn floor(self) -> Bytes {
        FLOOR.max(Bytes(self.total.0 / 32))
    }

    /// What may be taken without swapping.
    fn free(self) -> Bytes {
        Bytes(self.available.0.saturating_sub(self.floor().0))
    }

    /// How much a hog takes here; never so much that the floor is not left.
    #[must_use]
    pub fn hog(self, asked: Hog) -> Bytes {
        let wanted = match asked {
            Hog::Most => self.available.percent(HOG_PERCENT),
            Hog::Size(size) => size,
        };
        wanted.min(self.free())
    }
}

/// One measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryTurn {
    /// The pattern.
    pub pattern: Pattern,
    /// Under the limit and beside the hog, or in RAM that is free.
    pub pressed: bool,
}

/// All measurements in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnSchedule {
    /// Size of the memory.
    pub size: Bytes,
    /// Swap that a temporary area must have.
    pub swap_size: Bytes,
    /// Whether memory of this size fits into RAM that is free, so that there is something to compare with.
    pub fits: bool,
    /// Each pattern free and under pressure, one right after the other; with a hog, all free ones first.
    pub turns: Vec<MemoryTurn>,
}

impl MemoryOptions {
    /// Decides what is measured.
    ///
    /// # Errors
    /// [`MemoryError::Usage`] for what makes no sense, [`MemoryError::Refused`] for what this machine has no room for.
    pub fn schedule(&self, room: &MemoryRoom) -> Result<TurnSchedule, MemoryError> {
        let size = self.size.unwrap_or_else(|| self.usual_size(room));
        let size = Bytes(size.0 / PAGE as u64 * PAGE as u64);
        self.check(size)?;
        let fits = size <= room.free();
        let pressed = self.limit.is_some() || self.hog.is_some();
        if self.swap.is_some() && fits && !pressed {
            let what = format!("--swap: {size} fit into RAM, and nothing would be swapped");
            return Err(usage(&what, "add --limit, --hog, or a larger --size"));
        }
        let swapped = self.swapped(size, room);
        if swapped > Bytes(0) && self.swap.is_none() && room.swap_free < swapped {
            return Err(no_swap(swapped, room.swap_free));
        }
        let patterns = self.patterns();
        let kinds: Vec<bool> = if fits && pressed { vec![false, true] } else { vec![!fits || pressed] };
        let mut turns: Vec<MemoryTurn> = patterns
            .iter()
            .flat_map(|pattern| kinds.iter().map(|pressed| MemoryTurn { pattern: *pattern, pressed: *pressed }))
            .collect();
        if self.hog.is_some() {
            turns.sort_by_key(|turn| turn.pressed);
        }
        // Under half full: beyond that the kernel gives up the slots of pages that came back, and in a small area it may
        // find none in time (seen on 6.18 with zswap and readahead: the group's process was killed beside free slots).
        let swap_size = Bytes(2 * (swapped.0 + size.0 / 8) + SPARE.0);
        Ok(TurnSchedule { size, swap_size, fits, turns })
    }

    /// Twice the limit, so that half of it is swapped; else 1 GiB or a quarter of what is free.
    fn usual_size(&self, room: &MemoryRoom) -> Bytes {
        match self.limit {
            Some(limit) => Bytes(limit.0.saturating_mul(2)),
            None => Bytes::from_gib(1).min(Bytes(room.available.0 / 4)),
        }
    }

    /// How much must go to swap, with something to spare; nothing when all fits.
    fn swapped(&self, size: Bytes, room: &MemoryRoom) -> Bytes {
        let beside_hog = Bytes(room.free().0.saturating_sub(self.hog.map_or(Bytes(0), |hog| room.hog(hog)).0));
        let stays = beside_hog.min(self.limit.unwrap_or(beside_hog));
        match size.0.saturating_sub(stays.0) {
            0 => Bytes(0),
            over => Bytes(over + SPARE.0),
        }
    }

    fn patterns(&self) -> Vec<Pattern> {
        let mut patterns = Vec::new();
        for block in &self.blocks {
            for threads in &self.threads {
                for data in &self.data {
                    for order in &self.orders {
                        let (data, order, block, threads) = (*data, *order, *block, *threads);
                        patterns.push(Pattern { data, order, write: self.write, block, threads });
                    }
                }
            }
        }
        patterns
    }

    fn check(&self, size: Bytes) -> Result<(), MemoryError> {
        let threads = self.threads.iter().copied().max().unwrap_or(1);
        let part = Bytes(size.0 / u64::from(threads.max(1)));
        if self.threads.contains(&0) {
            return Err(usage("--threads: found 0, expected 1 or more", "for example --threads 1,2,4"));
        }
        if part.0 < PAGE as u64 {
            let what = format!("--size {}: less than a page for each of {threads} threads", size.compact());
            return Err(usage(&what, "name a larger size"));
        }
        if let Some(block) = self.blocks.iter().find(|block| block.0 != 1 && (block.0 == 0 || block.0 % 8 != 0)) {
            return Err(usage(
                &format!("--block {}: neither 1 nor a multiple of 8", block.0),
                "1 is byte by byte; blocks are 4K, 1M, …",
            ));
        }
        if let Some(block) = self.blocks.iter().find(|block| **block > part) {
            let what = format!("--block {}: larger than the {part} of a thread", block.compact());
            return Err(usage(&what, &format!("--size {} or more", Bytes(block.0 * u64::from(threads)).compact())));
        }
        self.check_limit(size)
    }

    fn check_limit(&self, size: Bytes) -> Result<(), MemoryError> {
        let Some(limit) = self.limit else { return Ok(()) };
        if limit < LEAST_LIMIT {
            let what = format!("--limit {}: the measuring process itself needs some", limit.compact());
            return Err(usage(&what, &format!("--limit {} or more", LEAST_LIMIT.compact())));
        }
        if limit >= size {
            let what = format!("--limit {}: nothing of {size} would be swapped", limit.compact());
            return Err(usage(&what, &format!("--size {}, or a smaller limit", Bytes(limit.0.saturating_mul(2)).compact())));
        }
        Ok(())
    }
}

fn usage(what: &str, hint: &str) -> MemoryError {
    MemoryError::Usage { what: what.to_owned(), hint: hint.to_owned() }
}

fn no_swap(needed: Bytes, free: Bytes) -> MemoryError {
    MemoryError::Refused {
        what: format!("{needed} must go to swap, and {free} of swap is free: the measuring process would be killed"),
        hint: "--swap zswap:lzo (or zram:lzo-rle, or disk) makes swap for as long as it runs".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> MemoryOptions {
        MemoryOptions {
            size: None,
            data: vec![MemoryData::High, MemoryData::Low],
            orders: vec![MemoryOrder::Sequential, MemoryOrder::Random],
            write: false,
            blocks: vec![Bytes(1)],
            threads: vec![1],
            limit: None,
            hog: None,
            time: Duration::from_secs(1),
            swap: None,
            swap_folder: "/var/tmp".into(),
        }
    }

    fn room(swap_free: u64) -> MemoryRoom {
        MemoryRoom { total: Bytes::from_gib(8), available: Bytes::from_gib(6), swap_free: Bytes::from_mib(swap_free) }
    }

    #[test]
    fn without_pressure_each_pattern_is_measured_once() {
        let schedule = options().schedule(&room(0)).unwrap();
        assert_eq!((schedule.size, schedule.fits, schedule.turns.len()), (Bytes::from_gib(1), true, 4));
        assert!(schedule.turns.iter().all(|turn| !turn.pressed));
        let small = MemoryRoom { available: Bytes::from_mib(400), ..room(0) };
        assert_eq!(options().schedule(&small).unwrap().size, Bytes::from_mib(100));
    }

    #[test]
    fn under_a_limit_each_pattern_is_measured_both_ways_at_once() {
        let options = MemoryOptions { limit: Some(Bytes::from_mib(64)), ..options() };
        let schedule = options.schedule(&room(128)).unwrap();
        assert_eq!(schedule.size, Bytes::from_mib(128), "twice the limit");
        let pressed: Vec<bool> = schedule.turns.iter().map(|turn| turn.pressed).collect();
        assert_eq!(pressed, [false, true, false, true, false, true, false, true]);
        assert!(schedule.turns.chunks(2).all(|pair| pair[0].pattern == pair[1].pattern));
        assert!(schedule.swap_size > Bytes::from_mib(96));
    }

    #[test]
    fn what_would_be_killed_is_refused() {
        let limited = MemoryOptions { limit: Some(Bytes::from_mib(64)), ..options() };
        for swap in [0, 64, 95] {
            assert!(matches!(limited.schedule(&room(swap)), Err(MemoryError::Refused { .. })), "{swap} MiB");
        }
        assert!(limited.schedule(&room(96)).is_ok());
        let swap = Some(TemporarySwap::Disk);
        assert!(MemoryOptions { swap, ..limited }.schedule(&room(0)).is_ok());
        let huge = MemoryOptions { size: Some(Bytes::from_gib(16)), ..options() };
        assert!(matches!(huge.schedule(&room(0)), Err(MemoryError::Refused { .. })));
        let schedule = huge.schedule(&room(20 << 10)).unwrap();
        assert!(!schedule.fits && schedule.turns.len() == 4 && schedule.turns.iter().all(|turn| turn.pressed));
    }

    #[test]
    fn a_hog_leaves_the_floor_and_comes_last() {
        let room = room(4096);
        assert_eq!(room.hog(Hog::Size(Bytes::from_mib(10))), Bytes::from_mib(10));
        assert_eq!(room.hog(Hog::Most), Bytes::from_gib(6).percent(95));
        for asked in [Hog::Most, Hog::Size(Bytes::from_gib(100))] {
            for available in [0, 50, 100, 1000, 6000] {
                let room = MemoryRoom { available: Bytes::from_mib(available), ..room };
                assert!(room.hog(asked).0 + (256 << 20) <= room.available.0.max(256 << 20), "{available}");
            }
        }
        let schedule = MemoryOptions { hog: Some(Hog::Most), ..options() }.schedule(&room).unwrap();
        let pressed: Vec<bool> = schedule.turns.iter().map(|turn| turn.pressed).collect();
        assert_eq!(pressed, [false, false, false, false, true, true, true, true]);
        assert!(schedule.swap_size > Bytes::from_mib(700), "1 GiB beside a hog that leaves 0.3 GiB");
    }

    #[test]
    fn nonsense_is_named() {
        let wrong = |change: fn(&mut MemoryOptions)| {
            let mut options = options();
            change(&mut options);
            match options.schedule(&room(0)) {
                Err(MemoryError::Usage { what, .. }) => what,
                other => panic!("{other:?}"),
            }
        };
        assert!(wrong(|o| o.threads = vec![1, 0]).starts_with("--threads: found 0"));
        assert!(wrong(|o| o.size = Some(Bytes(100))).starts_with("--size 0"));
        assert!(wrong(|o| o.blocks = vec![Bytes(7)]).starts_with("--block 7"));
        assert!(wrong(|o| o.blocks = vec![Bytes::from_gib(2)]).starts_with("--block 2G"));
        assert!(wrong(|o| o.limit = Some(Bytes::from_mib(1))).starts_with("--limit 1M"));
        assert!(wrong(|o| (o.limit, o.size) = (Some(Bytes::from_gib(1)), Some(Bytes::from_gib(1)))).starts_with("--limit 1G"));
    }

    #[test]
    fn temporary_swap_is_read() {
        let zswap = |compressor: &str, zpool: Option<&str>| TemporarySwap::Zswap {
            compressor: compressor.into(),
            zpool: zpool.map(str::to_owned),
        };
        assert_eq!("zswap:lzo".parse(), Ok(zswap("lzo", None)));
        assert_eq!("zswap:lz4/z3fold".parse(), Ok(zswap("lz4", Some("z3fold"))));
        assert_eq!("zram:lzo-rle".parse(), Ok(TemporarySwap::Zram { algorithm: "lzo-rle".into() }));
        assert_eq!("disk".parse(), Ok(TemporarySwap::Disk));
        for wrong in ["", "zswap", "zswap:", "zram:", "disk:vda", "tape"] {
            assert!(wrong.parse::<TemporarySwap>().is_err(), "{wrong}");
        }
    }
}
