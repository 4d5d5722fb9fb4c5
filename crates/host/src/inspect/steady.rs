//! A machine that is looked at again and again: what does not change is read once.

use swaptune_core::Facts;
use swaptune_core::facts::{BlockDevice, KernelFacts, SCHEMA};
use swaptune_core::parse::mountinfo::MountLine;

use super::compressors::Modules;
use super::{InspectScope, block, kernel, memory, mounts, swap, zram, zswap};
use crate::machine::Machine;

/// The kernel, its modules and the mounts of a machine.
#[derive(Debug)]
pub struct Steady {
    kernel: KernelFacts,
    modules: Modules,
    mounts: Vec<MountLine>,
    /// For swap files of a file system whose device number is anonymous (btrfs).
    devices: Vec<BlockDevice>,
}

impl Steady {
    /// Reads them.
    #[must_use]
    pub fn of(machine: &Machine) -> Self {
        let kernel = kernel::inspect(machine, InspectScope { log: false, ..InspectScope::STATUS });
        let mounts = mounts::lines(machine);
        Self { modules: Modules::of(machine, &kernel), devices: block::inspect(machine, &mounts, false), mounts, kernel }
    }

    /// What moves: memory, swap areas, zswap and zram. The other facts stay absent.
    #[must_use]
    pub fn look(&self, machine: &Machine) -> Facts {
        Facts {
            schema: SCHEMA,
            memory: memory::inspect(machine),
            swaps: swap::areas(machine, &self.devices, &self.mounts),
            zswap: zswap::inspect(machine, &self.kernel),
            zram: zram::inspect(machine, &self.modules),
            kernel: self.kernel.clone(),
            ..Facts::default()
        }
    }
}
