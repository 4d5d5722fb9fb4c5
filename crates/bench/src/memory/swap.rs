//! Swap for as long as the benchmark runs.

use swaptune_core::Bytes;
use swaptune_host::machine::Machine;
use swaptune_host::scratch::{Scratch, ScratchError, TOP_PRIORITY};

use super::options::{Options, TemporarySwap};

/// Makes it; all is put back when the result is closed or dropped.
pub fn make(machine: &Machine, swap: &TemporarySwap, options: &Options, size: Bytes) -> Result<Scratch, ScratchError> {
    let mut scratch = Scratch::open(machine, "bench memory")?;
    match swap {
        TemporarySwap::Zram { algorithm } => {
            without_zswap(machine, &mut scratch)?;
            scratch.zram(algorithm, size, Some(TOP_PRIORITY))?;
        }
        TemporarySwap::Disk => {
            without_zswap(machine, &mut scratch)?;
            scratch.swap_file(&options.swap_folder, size, TOP_PRIORITY)?;
        }
        TemporarySwap::Zswap { compressor, zpool } => {
            scratch.swap_file(&options.swap_folder, size, TOP_PRIORITY)?;
            // On before the rest: until it was on once, the kernel takes any name.
            scratch.knob("zswap.enabled", "Y")?;
            if let Some(zpool) = zpool {
                scratch.knob("zswap.zpool", zpool)?;
            }
            scratch.knob("zswap.compressor", compressor)?;
        }
    }
    Ok(scratch)
}

/// zswap would stand in front of whatever is measured.
fn without_zswap(machine: &Machine, scratch: &mut Scratch) -> Result<(), ScratchError> {
    if machine.exists("/sys/module/zswap/parameters/enabled") {
        scratch.knob("zswap.enabled", "N")?;
    }
    Ok(())
}
