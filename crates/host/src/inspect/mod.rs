//! Inspection: everything that is known about one machine at one moment, as [`Facts`].
//!
//! It never fails. What a kernel lacks or a user may not read is absent with its reason, and nothing here starts a
//! process or changes anything: the whole costs a few milliseconds of file reads.

mod block;
mod boot;
mod compressors;
mod files;
mod image;
mod initramfs;
mod kernel;
mod knobs;
mod kubelet;
mod managers;
mod memory;
mod mounts;
mod places;
mod residents;
mod steady;
mod swap;
mod sysctl;
mod system;
#[cfg(test)]
mod tests;
mod writers;
mod zram;
mod zswap;

use swaptune_core::Facts;
use swaptune_core::facts::SCHEMA;
use tracing::info;

use crate::machine::Machine;

pub(crate) use block::kernel_name;
pub(crate) use initramfs::names as initramfs_names;
pub(crate) use memory::{BOOT_ID, COUNTERS};
pub use places::look_at_places;
pub use steady::Steady;
pub use system::{container, hypervisor};

/// Which parts to look at. What is left out stays absent ("not looked for") or empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InspectScope {
    /// Without udev's database, the first bytes of each device: opening one keeps its disk awake.
    pub signatures: bool,
    /// Kernel log: what zswap said it loaded.
    pub log: bool,
    /// Build configuration of the kernel: unpacks some hundred KiB.
    pub config: bool,
    /// Boot loader, its arguments, which initramfs tool.
    pub boot: bool,
    /// What the initramfs contains: decompresses it, which takes much longer than everything else together.
    pub initramfs_contents: bool,
    /// Other managers, and who sets which sysctl.
    pub managers: bool,
    /// Texts of the configuration files that a plan may edit.
    pub files: bool,
}

impl InspectScope {
    /// Everything: `inspect`.
    pub const FULL: Self =
        Self { signatures: true, log: true, config: true, boot: true, initramfs_contents: true, managers: true, files: true };
    /// Everything but the contents of the initramfs: `plan`, `apply`, `verify`. See [`look_into_initramfs`].
    pub const PLAN: Self = Self { initramfs_contents: false, ..Self::FULL };
    /// What memory is right now: `status`.
    pub const STATUS: Self =
        Self { log: true, config: false, boot: false, initramfs_contents: false, managers: false, files: false, ..Self::FULL };
}

/// Looks at a machine.
#[must_use]
pub fn inspect(machine: &Machine, scope: InspectScope) -> Facts {
    info!("inspect {}", machine.root().display());
    let kernel = kernel::inspect(machine, scope);
    let mount_lines = mounts::lines(machine);
    let system = system::inspect(machine, &kernel, &mount_lines);
    let block_devices = block::inspect(machine, &mount_lines, scope.signatures);
    let modules = compressors::Modules::of(machine, &kernel);
    let mut facts = Facts {
        schema: SCHEMA,
        memory: memory::inspect(machine),
        swaps: swap::areas(machine, &block_devices, &mount_lines),
        swap_signatures: swap::signatures(&block_devices),
        zswap: zswap::inspect(machine, &kernel),
        image: image::inspect(machine),
        zram: zram::inspect(machine, &modules),
        compressors: compressors::inspect(machine, &modules),
        mounts: mounts::inspect(machine, &mount_lines, &block_devices),
        knobs: knobs::inspect(machine),
        block_devices,
        kernel,
        system,
        ..Facts::default()
    };
    if scope.boot {
        facts.boot = boot::inspect(machine, &facts.kernel, &facts.system);
        facts.initramfs = initramfs::inspect(machine, &facts.kernel);
    }
    if scope.initramfs_contents {
        look_into_initramfs(machine, &mut facts);
    }
    if scope.managers {
        facts.system.managers = managers::inspect(machine, facts.memory.total());
        let running = residents::RunningResidents::look(machine);
        facts.system.kubelets = kubelet::inspect(machine, &running);
        facts.system.residents = residents::inspect(machine, &running);
        facts.system.writers = writers::inspect(machine);
        facts.sysctl_sources = sysctl::inspect(machine, &facts.system);
    }
    if scope.files {
        facts.files = files::inspect(machine, &facts);
    }
    facts
}

/// Fills in which kubelets are here, for advice on swap.
pub fn look_for_kubelets(machine: &Machine, facts: &mut Facts) {
    facts.system.kubelets = kubelet::inspect(machine, &residents::RunningResidents::look(machine));
}

/// Id of the running boot, empty when unknown.
#[must_use]
pub fn boot_id(machine: &Machine) -> String {
    machine.read_text(BOOT_ID).unwrap_or_default().trim().to_owned()
}

/// Fills in what the initramfs contains, for a plan that turns out to depend on it.
pub fn look_into_initramfs(machine: &Machine, facts: &mut Facts) {
    if !facts.initramfs.image.is_known() {
        facts.initramfs.image = initramfs::image(machine, &facts.kernel);
    }
    facts.initramfs.contents = initramfs::contents(machine, &facts.initramfs.image);
}
