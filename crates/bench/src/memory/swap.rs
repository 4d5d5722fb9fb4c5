//! Swap for as long as the benchmark runs.

use swaptune_core::Bytes;
use swaptune_host::machine::Machine;
use swaptune_host::temporary::{TOP_PRIORITY, TemporaryError, TemporarySettings};

use super::options::{MemoryOptions, TemporarySwap};

/// Makes it; all is put back when the result is closed or dropped.
pub fn make(
    machine: &Machine,
    swap: &TemporarySwap,
    options: &MemoryOptions,
    size: Bytes,
) -> Result<TemporarySettings, TemporaryError> {
    let mut temporary = TemporarySettings::open(machine, "bench memory")?;
    match swap {
        TemporarySwap::Zram { algorithm } => {
            without_zswap(machine, &mut temporary)?;
            temporary.zram(algorithm, size, Some(TOP_PRIORITY))?;
        }
        TemporarySwap::Disk => {
            without_zswap(machine, &mut temporary)?;
            temporary.swap_file(&options.swap_folder, size, TOP_PRIORITY)?;
        }
        TemporarySwap::Zswap { compressor, zpool } => {
            temporary.swap_file(&options.swap_folder, size, TOP_PRIORITY)?;
            // On before the rest: until it was on once, the kernel takes any name.
            temporary.knob("zswap.enabled", "Y")?;
            if let Some(zpool) = zpool {
                temporary.knob("zswap.zpool", zpool)?;
            }
            temporary.knob("zswap.compressor", compressor)?;
        }
    }
    Ok(temporary)
}

/// zswap would stand in front of whatever is measured.
fn without_zswap(machine: &Machine, temporary: &mut TemporarySettings) -> Result<(), TemporaryError> {
    if machine.exists("/sys/module/zswap/parameters/enabled") {
        temporary.knob("zswap.enabled", "N")?;
    }
    Ok(())
}
