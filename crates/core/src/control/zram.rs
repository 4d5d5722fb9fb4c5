//! The law of zram: what has lain in a zram device for long takes less RAM, or none.
//!
//! zram does nothing by itself about pages that are not read: they stay in RAM, compressed as they came, while the pages that are swapped
//! out when the device is full, the hottest, go to the disk. The kernel has the means and waits to be asked
//! (Documentation/admin-guide/blockdev/zram.rst). So in rounds, in quiet times, one small part a tick
//!
//! 1. pages that were not used for an age are **marked** idle. Where the kernel notes no times it takes no age: then all are marked, and
//!    what is still marked an age later was not used since;
//! 2. marked pages are **written back** to the backing device where there is one, those that do not compress first, for they free most RAM
//!    for each page written. The kernel's own limit bounds each part, and a budget each day;
//! 3. what is still marked is **compressed again** where the device has a secondary compressor.
//!
//! All wait while some task waits for memory or I/O, or while pages are swapped. Nothing of it needs to be undone but that limit.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use swaptune_kernel::{KernelVersion, behaviours};

use super::budget::Budget;
use super::figures::Figures;
use super::ground::Ground;
use super::limit::{share, share_of};
use super::moment::{Moment, Span};
use crate::units::Bytes;

/// A part begins only with this much of the budget: the largest page of Linux.
const LEAST: Bytes = Bytes::from_kib(64);
/// What the attributes of zram count in.
pub const BLOCK: u64 = 4096;

/// What a zram device that is swap can do. It changes seldom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceGround {
    /// `zram0`.
    pub name: String,
    /// Where pages may be written, or why they may not.
    pub backing: Result<String, String>,
    /// Number of the compressor that takes pages again, or why none does.
    pub secondary: Result<u32, String>,
}

/// What is read of a device below `/sys/block/zramN`; `None` for a file that is not there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// `backing_dev`.
    pub backing_dev: Option<String>,
    /// Whether the disk behind it spins, where that is known.
    pub spins: Option<bool>,
    /// `recomp_algorithm`.
    pub recomp_algorithm: Option<String>,
}

impl DeviceGround {
    /// What a device with these attributes can do.
    #[must_use]
    pub fn of(name: &str, read: &Attributes, kernel: Option<KernelVersion>) -> Self {
        Self { name: name.to_owned(), backing: backing(read), secondary: secondary(read, kernel) }
    }
}

fn backing(read: &Attributes) -> Result<String, String> {
    match (read.backing_dev.as_deref().map(str::trim), read.spins) {
        (None, _) => Err("this kernel writes nothing of zram back (CONFIG_ZRAM_WRITEBACK)".into()),
        (Some("" | "none"), _) => Err("it has no backing device".into()),
        (Some(device), Some(true)) => Err(format!("its backing device {device} spins")),
        (Some(device), None) => Err(format!("whether its backing device {device} spins is not known")),
        (Some(device), Some(false)) => Ok(device.to_owned()),
    }
}

fn secondary(read: &Attributes, kernel: Option<KernelVersion>) -> Result<u32, String> {
    let Some(text) = &read.recomp_algorithm else {
        return Err("this kernel compresses nothing again (Linux 6.2, CONFIG_ZRAM_MULTI_COMP)".into());
    };
    let number = |line: &str| line.trim().strip_prefix('#')?.split(':').next()?.parse().ok();
    let Some(number) = text.lines().find_map(number) else {
        return Err("it has no secondary compressor (recomp_algorithm)".into());
    };
    match kernel {
        Some(kernel) if behaviours::ZRAM_RECOMPRESS_PAGES.is_in(kernel) => Ok(number),
        _ => Err("this kernel does not bound how much it compresses again (Linux 6.10)".into()),
    }
}

/// One device at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceMoment {
    /// `zram0`.
    pub name: String,
    /// Inode of its folder: a device that was removed and made again is another one.
    pub id: u64,
    /// RAM that it takes (mm_stat).
    pub used: Bytes,
    /// What was written to the backing device since it was set up (bd_stat).
    pub written: Bytes,
    /// `writeback_limit_enable` is set: another program has a budget of its own.
    pub limited: bool,
}

/// What is to be done to one device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Chore {
    /// `zram0`.
    pub device: String,
    /// Inode of its folder; another device of this name is left alone.
    pub id: u64,
    /// What.
    pub work: UpkeepWork,
    /// Why, as one sentence.
    pub why: String,
}

/// One part of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "work")]
pub enum UpkeepWork {
    /// Pages are marked idle: those not used for this many seconds, or all.
    Mark {
        /// Their age, s.
        age_s: Option<u64>,
    },
    /// Marked pages are written back.
    WriteBack {
        /// Only those that do not compress.
        huge: bool,
        /// At most.
        bytes: Bytes,
    },
    /// Marked pages are compressed again.
    Recompress {
        /// Number of the compressor.
        priority: u32,
        /// At most, before they were compressed.
        bytes: Bytes,
    },
}

impl Chore {
    /// What is done, beginning with the verb.
    #[must_use]
    pub fn words(&self) -> String {
        let device = &self.device;
        match self.work {
            UpkeepWork::Mark { age_s: Some(age) } => format!("mark pages of {device} that were not used for {age} s"),
            UpkeepWork::Mark { age_s: None } => format!("mark all pages of {device}, to see which are used"),
            UpkeepWork::WriteBack { huge: true, bytes } => {
                format!("write {bytes} of idle pages of {device} back that do not compress")
            }
            UpkeepWork::WriteBack { huge: false, bytes } => format!("write {bytes} of idle pages of {device} back"),
            UpkeepWork::Recompress { bytes, .. } => format!("compress {bytes} of idle pages of {device} again"),
        }
    }
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpkeepOutcome {
    /// Pages are marked.
    Marked {
        /// By age; otherwise all of them.
        by_age: bool,
    },
    /// Written, bytes; nothing when no page was left to write.
    Wrote(Bytes),
    /// By how much less RAM is taken; nothing when no page was left, or none shrank.
    Recompressed(Bytes),
    /// The backing device has no room.
    Full,
    /// The device was busy, is gone, or is another one: it is looked at again in the next round.
    Left,
}

/// Where the round of a device is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Mark,
    Huge,
    Idle,
    Recompress,
}

/// What is known of one device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct KnownDevice {
    id: u64,
    written: Bytes,
    stage: Stage,
    /// Not before.
    next_ms: u64,
    /// Its kernel takes no age.
    ageless: bool,
}

impl KnownDevice {
    /// Goes on to the next stage; after the last one it rests.
    fn advance(&mut self, figures: &Figures, at_ms: u64) {
        self.stage = match self.stage {
            Stage::Mark => Stage::Huge,
            Stage::Huge => Stage::Idle,
            Stage::Idle => Stage::Recompress,
            Stage::Recompress => return self.rest(figures, at_ms),
        };
    }

    fn rest(&mut self, figures: &Figures, at_ms: u64) {
        (self.stage, self.next_ms) = (Stage::Mark, at_ms + figures.zram_every_s * 1000);
    }
}

/// What the law remembers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UpkeepState {
    devices: BTreeMap<String, KnownDevice>,
    hold_until_ms: u64,
    budget: Budget,
}

impl UpkeepState {
    /// Takes over the budget of an earlier run in the same boot.
    #[must_use]
    pub fn with_budget(budget: Budget) -> Self {
        Self { budget, ..Self::default() }
    }

    /// What was written to backing devices, by hour.
    #[must_use]
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Learns what became of devices, and counts what was written to backing devices against the budget, whoever asked for it. To be
    /// called at each moment.
    pub fn learn(&mut self, now: &Moment) {
        let mut known = std::mem::take(&mut self.devices);
        for found in &now.zram {
            // One that was reset counts from nothing again.
            let was = known.remove(&found.name).filter(|was| was.id == found.id && was.written <= found.written);
            let mut device = was.unwrap_or(KnownDevice { id: found.id, written: found.written, ..KnownDevice::default() });
            self.budget.spend(now.at_ms, Bytes(found.written.0 - device.written.0));
            device.written = found.written;
            self.devices.insert(found.name.clone(), device);
        }
    }

    /// The machine slept: the kernel counts that as age, and so would a round that waits for marks to go. Time begins anew.
    pub fn slept(&mut self, figures: &Figures, before: &Moment, now: &Moment) {
        for device in self.devices.values_mut() {
            if device.stage == Stage::Mark || device.next_ms > before.at_ms {
                device.next_ms = device.next_ms.max(now.at_ms + figures.zram_idle_s * 1000);
            }
        }
    }

    /// What is done to which device at this moment; `Err` says why nothing is.
    pub fn decide(&mut self, figures: &Figures, ground: &Ground, span: &Span, now: &Moment) -> Result<Chore, String> {
        if let Some(noise) = noise(figures, span) {
            self.hold_until_ms = now.at_ms + figures.zram_hold_ms;
            return Err(noise);
        }
        if now.at_ms < self.hold_until_ms {
            return Err(format!("left alone for {} ms after a busy moment", figures.zram_hold_ms));
        }
        let left = self.budget.left(now.at_ms, Bytes(figures.zram_budget));
        let (mut due, mut resting) = (Vec::new(), Vec::new());
        for found in &now.zram {
            let can = ground.zram.iter().find(|can| can.name == found.name);
            let Some((can, known)) = can.zip(self.devices.get_mut(&found.name)) else {
                resting.push(format!("{}: it is new, and is looked at in a moment", found.name));
                continue;
            };
            match next(figures, can, known, found, left, now.at_ms) {
                Ok((work, why)) => due.push((known.next_ms, chore(found, work, why))),
                Err(why) => resting.push(format!("{}: {why}", found.name)),
            }
        }
        // The one that has waited longest.
        due.sort_by_key(|(since, _)| *since);
        let first = due.into_iter().next().map(|(_, chore)| chore);
        first.ok_or_else(|| if resting.is_empty() { "no zram device is swap any more".into() } else { resting.join("; ") })
    }

    /// Goes on after something was done.
    pub fn did(&mut self, figures: &Figures, chore: &Chore, at_ms: u64, outcome: UpkeepOutcome) {
        let Some(device) = self.devices.get_mut(&chore.device).filter(|device| device.id == chore.id) else { return };
        device.next_ms = at_ms;
        match outcome {
            UpkeepOutcome::Marked { by_age } => {
                device.advance(figures, at_ms);
                device.ageless = !by_age;
                device.next_ms += if by_age { 0 } else { figures.zram_idle_s * 1000 };
            }
            UpkeepOutcome::Wrote(Bytes(0)) | UpkeepOutcome::Recompressed(Bytes(0)) => device.advance(figures, at_ms),
            UpkeepOutcome::Wrote(_) | UpkeepOutcome::Recompressed(_) => {}
            UpkeepOutcome::Full => device.stage = Stage::Recompress,
            UpkeepOutcome::Left => device.rest(figures, at_ms),
        }
    }
}

fn chore(found: &DeviceMoment, work: UpkeepWork, why: String) -> Chore {
    Chore { device: found.name.clone(), id: found.id, work, why }
}

/// What is next for a device, and why; `Err` says why nothing is.
fn next(
    figures: &Figures,
    can: &DeviceGround,
    known: &mut KnownDevice,
    found: &DeviceMoment,
    left: Bytes,
    at_ms: u64,
) -> Result<(UpkeepWork, String), String> {
    if found.used < Bytes(figures.zram_floor) {
        return Err(format!("it takes {} of RAM, from {} on it is worth a look", found.used, Bytes(figures.zram_floor)));
    }
    let may_write = may_write(figures, can, found, left);
    if let (Err(why), Err(too)) = (&may_write, &can.secondary) {
        return Err(format!("{why}; {too}"));
    }
    let why = format!("it takes {} of RAM, and nothing is paged", found.used);
    while at_ms >= known.next_ms {
        let size = |bytes: u64| Bytes(bytes / LEAST.0 * LEAST.0);
        let bytes = size(figures.zram_chunk.min(left.0));
        let work = match (known.stage, &may_write, &can.secondary) {
            (Stage::Mark, ..) => Some(UpkeepWork::Mark { age_s: (!known.ageless).then_some(figures.zram_idle_s) }),
            (Stage::Huge, Ok(()), _) => Some(UpkeepWork::WriteBack { huge: true, bytes }),
            (Stage::Idle, Ok(()), _) => Some(UpkeepWork::WriteBack { huge: false, bytes }),
            (Stage::Recompress, _, Ok(priority)) => {
                Some(UpkeepWork::Recompress { priority: *priority, bytes: size(figures.zram_recompress_chunk) })
            }
            _ => None,
        };
        match work {
            Some(work) => return Ok((work, why)),
            None => known.advance(figures, at_ms),
        }
    }
    let seconds = (known.next_ms - at_ms) / 1000;
    Err(format!("it takes {} of RAM, and is looked at again in {seconds} s", found.used))
}

/// Whether pages may be written now.
fn may_write(figures: &Figures, can: &DeviceGround, found: &DeviceMoment, left: Bytes) -> Result<(), String> {
    can.backing.as_ref().map_err(Clone::clone)?;
    if found.limited {
        return Err("another program has set its writeback_limit_enable, and writes it back within a budget of its own".into());
    }
    if left < LEAST {
        return Err(format!("{} were written in 24 hours, as much as is allowed", Bytes(figures.zram_budget)));
    }
    Ok(())
}

/// What speaks against work now.
fn noise(figures: &Figures, span: &Span) -> Option<String> {
    let Some(stall) = span.memory_stall else {
        return Some("the kernel does not say how long tasks wait for memory (/proc/pressure/memory)".into());
    };
    let io = span.io_stall.unwrap_or_default();
    let (most, most_io, pages) = (figures.zram_stall_us, figures.zram_io_stall_us, figures.zram_pages as f64);
    if stall > most as f64 {
        Some(format!("some task waits for memory {} of the time, more than {}", share(stall), share_of(most)))
    } else if io > most_io as f64 {
        Some(format!("some task waits for I/O {} of the time, more than {}", share(io), share_of(most_io)))
    } else if span.swapped_in > pages {
        Some(format!("{:.0} pages a second come from swap", span.swapped_in))
    } else if span.past_zswap > pages {
        Some(format!("{:.0} pages a second go to swap", span.past_zswap))
    } else {
        None
    }
}

#[cfg(test)]
#[path = "zram_tests.rs"]
mod tests;
