//! Idle services on a real kernel, counted as scenarios/idle-services.toml counts them in the model.

use std::time::Duration;

use anyhow::{Context, Result};
use swaptune_vm::guest::Minimal;
use swaptune_vm::kernels::Kernel;
use swaptune_vm::{payload, swaptune};

use crate::support::asked;

/// RAM, MiB; numbers of services and pages of each; tierings, a shrinker's switch and a limit in percent of RAM; processors; seeds; and whether
/// histograms of reclaim are taken and what a page takes is measured before, unless the environment says otherwise.
const RAM: (&str, &str) = ("SWAPTUNE_VM_MEMORY", "264");
const NUMBERS: (&str, &str) = ("SWAPTUNE_VM_NUMBERS", "34,46,62");
const PAGES: (&str, &str) = ("SWAPTUNE_VM_PAGES", "2048");
const WAKES: (&str, &str) = ("SWAPTUNE_VM_WAKES", "150");
const TIERINGS: (&str, &str) = ("SWAPTUNE_VM_TIERINGS", "disk 0,N 43,Y 43");
const PROCESSORS: (&str, &str) = ("SWAPTUNE_VM_PROCESSORS", "1");
const SEEDS: (&str, &str) = ("SWAPTUNE_VM_SEEDS", "1");
const HISTOGRAMS: (&str, &str) = ("SWAPTUNE_VM_HISTOGRAMS", "no");
const COSTS: (&str, &str) = ("SWAPTUNE_VM_COSTS", "no");
/// MiB a second that the disk may do, 0 for as many as it can.
const DISK_RATE: (&str, &str) = ("SWAPTUNE_VM_DISK_RATE", "0");

/// Boots a guest for each seed, tiering and number of services: evidence, with the counts on standard output. All wakes must be answered.
pub fn run(kernel: Kernel) -> Result<()> {
    let memory = number(RAM)?;
    let processors = number(PROCESSORS)?;
    let rate = Some(u64::from(number(DISK_RATE)?) << 20).filter(|&rate| rate > 0);
    for seed in asked(SEEDS).split(',') {
        for tiering in asked(TIERINGS).split(',') {
            for apps in asked(NUMBERS).split(',') {
                let load = format!("{tiering} {apps} {} {} 30 20 {seed}\n", asked(PAGES), asked(WAKES));
                let mut guest = Minimal::new(kernel.fetch()?, payload::SERVICES)
                    .memory(memory)
                    .cpus(processors)
                    .disks(&[1024])
                    .disk_rate(rate)
                    .file(swaptune::guest_tool()?, "/bin/guest-tool")
                    .text("/services", load)
                    // What the guest itself needs stays in RAM: nothing but services is swapped.
                    .command_line("rootfstype=ramfs")
                    .limit(Duration::from_secs(3600));
                if asked(HISTOGRAMS) == "yes" {
                    guest = guest.text("/histograms", "");
                }
                if asked(COSTS) == "yes" {
                    guest = guest.text("/costs", "");
                }
                let outcome = guest.run()?;
                println!("{}", outcome.output);
                outcome.ensure_success()?;
            }
        }
    }
    Ok(())
}

fn number(name: (&'static str, &str)) -> Result<u32> {
    let text = asked(name);
    text.parse().with_context(|| format!("{}: found `{text}`, expected a number", name.0))
}
