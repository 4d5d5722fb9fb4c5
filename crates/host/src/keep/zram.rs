//! zram devices that are swap: what they can do, what they hold, and one part of a round carried out.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::time::Instant;

use swaptune_core::Bytes;
use swaptune_core::change::Change;
use swaptune_core::control::zram::{Attributes, BLOCK, DeviceGround, DeviceMoment, UpkeepOutcome, UpkeepWork};
use swaptune_core::control::{Chore, Moment};
use swaptune_core::facts::{Facts, ZramMmStat};
use swaptune_core::parse::{mm_stat, swaps};

use super::Keeper;
use crate::error_chain;
use crate::kernel;
use crate::machine::Machine;
use crate::temporary::{TemporaryError, TemporarySettings};

const LAW: &str = "zram";

/// What the devices can do.
pub(super) fn ground(machine: &Machine, facts: &Facts) -> Vec<DeviceGround> {
    let kernel = facts.kernel.version.value().copied();
    let device = |name: String| {
        let text = |file: &str| read(machine, &name, file);
        let backing_dev = text("backing_dev");
        let spins = backing_dev.as_deref().and_then(|path| spins(machine, facts, path));
        let read = Attributes { spins, backing_dev, recomp_algorithm: text("recomp_algorithm") };
        DeviceGround::of(&name, &read, kernel)
    };
    names(machine).into_iter().map(device).collect()
}

/// How they are at this moment.
pub(super) fn moments(machine: &Machine) -> Vec<DeviceMoment> {
    let device = |name: String| {
        Some(DeviceMoment {
            id: id(machine, &name)?,
            used: stat(machine, &name)?.mem_used_total,
            written: Bytes(blocks_written(machine, &name) * BLOCK),
            limited: read(machine, &name, "writeback_limit_enable").is_some_and(|text| text != "0"),
            name,
        })
    };
    names(machine).into_iter().filter_map(device).collect()
}

/// Devices that are swap, by name.
fn names(machine: &Machine) -> Vec<String> {
    let areas = swaps::parse(&machine.read_text("/proc/swaps").unwrap_or_default());
    let name = |area: swaps::SwapLine| area.path.strip_prefix("/dev/").filter(|name| name.starts_with("zram")).map(str::to_owned);
    areas.into_iter().filter_map(name).collect()
}

fn file(name: &str, attribute: &str) -> String {
    format!("/sys/block/{name}/{attribute}")
}

fn read(machine: &Machine, name: &str, attribute: &str) -> Option<String> {
    machine.read_text(&file(name, attribute)).ok().map(|text| text.trim().to_owned())
}

fn id(machine: &Machine, name: &str) -> Option<u64> {
    let folder = machine.resolve(&format!("/sys/block/{name}")).ok()?;
    std::fs::metadata(folder).ok().map(|folder| folder.ino())
}

fn stat(machine: &Machine, name: &str) -> Option<ZramMmStat> {
    mm_stat::parse(&read(machine, name, "mm_stat")?)
}

/// The third number of `bd_stat`: pages of 4 KiB that were written.
fn blocks_written(machine: &Machine, name: &str) -> u64 {
    let text = read(machine, name, "bd_stat").unwrap_or_default();
    text.split_whitespace().nth(2).and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// Whether the disk of a backing device spins; a partition has no queue of its own.
fn spins(machine: &Machine, facts: &Facts, path: &str) -> Option<bool> {
    let real = machine.real_path(path).ok()?;
    let name = real.rsplit('/').next()?;
    match facts.block_device(name) {
        Some(_) => facts.spins_below(name),
        None => read(machine, name, "queue/rotational").map(|text| text != "0"),
    }
}

impl Keeper<'_> {
    /// Carries out one part of a round.
    pub(super) fn upkeep(&mut self, chore: &Chore, now: &Moment) {
        if self.dry_run {
            self.report.log(LAW, format!("would {}", chore.words()), &chore.why);
            // As if nothing was left to write, so that it says what comes next.
            let played = match chore.work {
                UpkeepWork::Mark { age_s } => UpkeepOutcome::Marked { by_age: age_s.is_some() },
                UpkeepWork::WriteBack { .. } => UpkeepOutcome::Wrote(Bytes(0)),
                UpkeepWork::Recompress { .. } => UpkeepOutcome::Recompressed(Bytes(0)),
            };
            return self.laws.zram.did(&self.laws.figures, chore, now.at_ms, played);
        }
        let used = |keeper: &Self| stat(keeper.machine, &chore.device).unwrap_or_default().mem_used_total;
        let (began, before) = (Instant::now(), used(self));
        let done = self.part(chore);
        if matches!(chore.work, UpkeepWork::WriteBack { .. }) {
            self.ours_io_us += u64::try_from(began.elapsed().as_micros()).unwrap_or(0);
        }
        let freed = Bytes(before.0.saturating_sub(used(self).0));
        match done {
            Ok(outcome) => {
                self.laws.zram.did(&self.laws.figures, chore, now.at_ms, outcome);
                self.tell_upkeep(chore, outcome, freed);
            }
            Err(why) => {
                self.laws.zram.did(&self.laws.figures, chore, now.at_ms, UpkeepOutcome::Left);
                self.failed(LAW, &chore.words(), &why);
            }
        }
    }

    fn part(&mut self, chore: &Chore) -> Result<UpkeepOutcome, String> {
        let device = UpkeepDevice { machine: self.machine, name: &chore.device };
        if id(self.machine, &chore.device) != Some(chore.id) {
            return Ok(UpkeepOutcome::Left);
        }
        match chore.work {
            UpkeepWork::Mark { age_s } => device.mark(age_s),
            UpkeepWork::Recompress { priority, bytes } => device.recompress(priority, bytes),
            UpkeepWork::WriteBack { huge, bytes } => {
                let settings = self.settings().map_err(|error| error_chain(&error))?;
                device.write_back(settings, huge, bytes)
            }
        }
    }

    /// Counts it, and says what was done; that nothing was left to do is no decision.
    fn tell_upkeep(&mut self, chore: &Chore, outcome: UpkeepOutcome, freed: Bytes) {
        let (totals, name) = (&mut self.report.totals, &chore.device);
        let did = match outcome {
            UpkeepOutcome::Wrote(Bytes(0)) => return,
            UpkeepOutcome::Marked { by_age: true } => {
                totals.zram_rounds += 1;
                format!("marked what is idle in {name}")
            }
            UpkeepOutcome::Marked { by_age: false } => {
                totals.zram_rounds += 1;
                format!("marked all pages of {name}: its kernel notes no times, so what is still marked an age later is idle")
            }
            UpkeepOutcome::Wrote(bytes) => {
                totals.zram_written.0 += bytes.0;
                totals.zram_freed.0 += freed.0;
                format!("{name} wrote back {bytes}, {freed} less in RAM")
            }
            UpkeepOutcome::Recompressed(bytes) => {
                totals.zram_recompressed += 1;
                totals.zram_freed.0 += freed.0;
                format!("{name} compressed idle pages again, {bytes} smaller, {freed} less in RAM")
            }
            UpkeepOutcome::Full => format!("left {name} alone: its backing device is full"),
            UpkeepOutcome::Left => format!("left {name} alone: it is busy, or not as it was"),
        };
        self.report.log(LAW, did, &chore.why);
    }
}

/// One device that is worked on.
struct UpkeepDevice<'a> {
    machine: &'a Machine,
    name: &'a str,
}

impl UpkeepDevice<'_> {
    fn mark(&self, age_s: Option<u64>) -> Result<UpkeepOutcome, String> {
        if let Some(age) = age_s {
            match self.ask("idle", &age.to_string()) {
                Ok(()) => return Ok(UpkeepOutcome::Marked { by_age: true }),
                // Without CONFIG_ZRAM_TRACK_ENTRY_ACTIME, as with a device that is not set up.
                Err(error) if errno(&error) == libc::EINVAL => {}
                Err(error) => return self.refused("idle", &error),
            }
        }
        match self.ask("idle", "all") {
            Ok(()) => Ok(UpkeepOutcome::Marked { by_age: false }),
            Err(error) => self.refused("idle", &error),
        }
    }

    fn recompress(&self, priority: u32, bytes: Bytes) -> Result<UpkeepOutcome, String> {
        let size = || stat(self.machine, self.name).unwrap_or_default().compr_data_size.0;
        let (before, pages) = (size(), bytes.0 / self.machine.page_size().0);
        match self.ask("recompress", &format!("type=idle priority={priority} max_pages={pages}")) {
            Ok(()) => Ok(UpkeepOutcome::Recompressed(Bytes(before.saturating_sub(size())))),
            Err(error) => self.refused("recompress", &error),
        }
    }

    /// Asks for write-back within the kernel's own limit, which is as before when this returns; a kill leaves it to the guardian.
    fn write_back(&self, settings: &mut TemporarySettings, huge: bool, bytes: Bytes) -> Result<UpkeepOutcome, String> {
        let chain = |error: TemporaryError| error_chain(&error);
        let mark = settings.mark().map_err(chain)?;
        let Some(limits) = self.limits(bytes.0 / BLOCK) else { return Ok(UpkeepOutcome::Left) };
        let before = blocks_written(self.machine, self.name);
        settings.make(limits).map_err(chain)?;
        let asked = self.ask("writeback", if huge { "huge_idle" } else { "idle" });
        let is_spent = self.text("writeback_limit").as_deref() == Some("0");
        settings.back_to(mark).map_err(chain)?;
        let wrote = Bytes(blocks_written(self.machine, self.name).saturating_sub(before) * BLOCK);
        match asked {
            Err(error) if errno(&error) == libc::EIO && is_spent => Ok(UpkeepOutcome::Wrote(wrote)),
            Err(error) if errno(&error) == libc::ENOSPC => Ok(UpkeepOutcome::Full),
            // Before Linux 5.16 it has no word for idle pages that do not compress.
            Err(error) if errno(&error) == libc::EINVAL && huge => Ok(UpkeepOutcome::Wrote(Bytes(0))),
            Err(error) => self.refused("writeback", &error),
            Ok(()) => Ok(UpkeepOutcome::Wrote(wrote)),
        }
    }

    /// The limit, then what makes it count. What another program has switched on meanwhile is its own.
    fn limits(&self, blocks: u64) -> Option<Vec<Change>> {
        let (limit, enable) = (self.text("writeback_limit")?, self.text("writeback_limit_enable")?);
        if enable != "0" {
            return None;
        }
        // A value that stands there already would be no change, and so not put back when the kernel has counted it down.
        let page = self.machine.page_size().0 / BLOCK;
        let blocks = if limit == blocks.to_string() { blocks.saturating_sub(page) } else { blocks };
        let change = |attribute: &str, before: String, after: String| Change::Knob {
            name: format!("zram.{attribute}"),
            path: file(self.name, attribute),
            before,
            after,
            fallbacks: Vec::new(),
        };
        Some(vec![change("writeback_limit", limit, blocks.to_string()), change("writeback_limit_enable", enable, "1".into())])
    }

    fn text(&self, attribute: &str) -> Option<String> {
        read(self.machine, self.name, attribute)
    }

    /// Asks the driver to do something, which is no setting.
    fn ask(&self, attribute: &str, words: &str) -> io::Result<()> {
        let path = self.machine.resolve(&file(self.name, attribute)).map_err(|error| io::Error::other(error.to_string()))?;
        kernel::of(self.machine).set(&path, words)
    }

    /// One that is busy, was reset, or is gone is left alone; anything else is an error.
    fn refused(&self, attribute: &str, error: &io::Error) -> Result<UpkeepOutcome, String> {
        let is_set_up = self.text("initstate").is_some_and(|text| text != "0");
        match errno(error) {
            libc::EBUSY | libc::EAGAIN | libc::EINTR | libc::ENOENT | libc::ENODEV => Ok(UpkeepOutcome::Left),
            libc::EINVAL if !is_set_up => Ok(UpkeepOutcome::Left),
            _ => Err(format!("{}: {error}", file(self.name, attribute))),
        }
    }
}

fn errno(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(0)
}
