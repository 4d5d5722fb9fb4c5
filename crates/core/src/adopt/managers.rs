//! zram-tools, rpi-swap and zswap-cli.

use super::parameters::want;
use super::zram_generator::kernels_own;
use super::{Taken, at, is_active};
use crate::facts::Facts;
use crate::parse::rpi_swap::{self, RpiSwap, RpiSwapError, RpiSwapMechanism, RpiSwapSection};
use crate::parse::zramswap::{self, ZramswapSize};
use crate::parse::zswap_cli;
use crate::settings::{Provenance, SettingsError, SwapWanted, ZramWanted};
use crate::units::Bytes;

const ZRAMSWAP: &str = "/etc/default/zramswap";
/// The priority that zram-generator, by which rpi-swap makes its device, gives to it.
const RPI_ZRAM_PRIORITY: i32 = 100;
/// rpi-swap leaves the priority of its file to the kernel, which puts it below every area that has one.
const RPI_FILE_PRIORITY: i32 = 0;

pub(super) fn zram_tools(facts: &Facts, taken: &mut Taken) -> Result<(), SettingsError> {
    if !is_active(facts, "zram-tools") {
        return Ok(());
    }
    let read = zramswap::read(facts.file(ZRAMSWAP).unwrap_or_default());
    let read = read.map_err(|error| SettingsError { place: format!("{ZRAMSWAP}:{}", error.line), problem: error.to_string() })?;
    let place = at(ZRAMSWAP, read.size.line.max(1));
    let ram = facts.memory.total();
    let size = match read.size.value {
        ZramswapSize::Fixed(size) => size,
        ZramswapSize::Percent(_) if ram == Bytes(0) => {
            taken.note("zram stays with zram-tools: its share of RAM has no size here, for RAM is unknown", place.to_string());
            return Ok(());
        }
        ZramswapSize::Percent(percent) => ram.percent(percent),
    };
    // The kernel rounds up to pages.
    let page = facts.kernel.page_size.0.max(1);
    let size = Bytes(size.0.div_ceil(page).saturating_mul(page));
    let (algorithm, priority) = (vec![read.algorithm.value], read.priority.value);
    let device = ZramWanted { size, algorithm, priority, ..ZramWanted::default() };
    taken.zram("zram-tools", vec![device], place)
}

pub(super) fn rpi_swap(facts: &Facts, taken: &mut Taken) -> Result<(), SettingsError> {
    if !is_active(facts, "rpi-swap") {
        return Ok(());
    }
    let swap = rpi_swap::of(facts);
    let place = place(&swap, "Main::Mechanism");
    let wrong = |error: RpiSwapError| SettingsError { place: error.place.clone(), problem: error.to_string() };
    match swap.mechanism().map_err(wrong)? {
        RpiSwapMechanism::None => {}
        RpiSwapMechanism::Swapfile => {
            let area = file(facts, taken, &swap).map_err(wrong)?;
            taken.areas(vec![area], place);
        }
        how @ (RpiSwapMechanism::Zram | RpiSwapMechanism::ZramFile) => {
            if how == RpiSwapMechanism::ZramFile {
                let text = "zram is taken over without the file that rpi-swap writes idle pages to: backing_dev under [[zram]] takes a block device";
                taken.note(text, place.to_string());
            }
            let live = facts.zram.devices.iter().find(|live| live.name == "zram0" && live.disksize > Bytes(0));
            // Its versions differ in the size that they take by themselves; what is on is what this one took.
            let size = match live {
                Some(live) => live.disksize,
                None => swap.size(RpiSwapSection::Zram, facts.memory.total()).map_err(wrong)?,
            };
            let algorithm = kernels_own(facts, live);
            let device = ZramWanted { size, algorithm, priority: RPI_ZRAM_PRIORITY, ..ZramWanted::default() };
            return taken.zram("rpi-swap", vec![device], place);
        }
    }
    Ok(())
}

fn place(swap: &RpiSwap, name: &str) -> Provenance {
    swap.get(name).map_or_else(|| at("/etc/rpi/swap.conf", 1), |key| at(&key.path, key.line))
}

/// The swap file; where it is not on yet its size is what rpi-swap would make of it, less what the disk may say to that.
fn file(facts: &Facts, taken: &mut Taken, swap: &RpiSwap) -> Result<SwapWanted, RpiSwapError> {
    let path = swap.get("File::Path").map_or_else(|| "/var/swap".to_owned(), |key| key.value.clone());
    let is_on = facts.swaps.iter().any(|area| area.path == path);
    let size = if is_on { None } else { Some(swap.size(RpiSwapSection::File, facts.memory.total())?) };
    if size.is_some() {
        let text =
            format!("{path} is not on: its size is taken from RamMultiplier and MaxSizeMiB, and MaxDiskPercent is left out");
        taken.note(text, place(swap, "Main::Mechanism").to_string());
    }
    Ok(SwapWanted { path, size, priority: RPI_FILE_PRIORITY, optional: None, discard_once: false, encrypt: None })
}

pub(super) fn zswap_cli(facts: &Facts, taken: &mut Taken) -> Result<(), SettingsError> {
    if !is_active(facts, "zswap-cli") {
        return Ok(());
    }
    let Some((path, text)) = zswap_cli::PATHS.iter().find_map(|path| Some((*path, facts.file(path)?))) else {
        taken.note("zswap-cli starts at boot, and none of its files is there", zswap_cli::PATHS[0]);
        return Ok(());
    };
    let error =
        |error: zswap_cli::ZswapCliError| SettingsError { place: format!("{path}:{}", error.line), problem: error.problem };
    for set in zswap_cli::read(text).map_err(error)? {
        want(taken, set.row, &set.value, at(path, set.line))?;
    }
    Ok(())
}
