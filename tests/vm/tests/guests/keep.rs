//! The daemon on real kernels: control groups of version 2, a pool above its threshold, groups that sleep, a zram device with idle pages.

use std::time::Duration;

use anyhow::{Context, Result};
use swaptune_vm::guest::Minimal;
use swaptune_vm::kernels::Kernel;
use swaptune_vm::{payload, swaptune, zram_module};

use crate::support::{asked, need_commands};

/// RAM, MiB: a percent of it is what the limit of the pool can be told apart by.
const MEMORY: u32 = 512;

/// Kernels that keep a group from the disk (Linux 6.8); on the others the daemon says why it drains nothing.
pub fn runs_on(kernel: Kernel) -> bool {
    kernel.name != "6.1"
}

/// Idle groups give memory, the pool is drained without a canary on the disk, a zram device writes idle pages back within its budget, no page
/// is lost, and everything is put back, also when the daemon is killed in a burst or while zram writes.
pub fn run(kernel: Kernel) -> Result<()> {
    need_commands(&["daemon"])?;
    Minimal::new(kernel.fetch()?, payload::KEEP)
        .memory(MEMORY)
        .disks(&[1024, 128])
        .file(swaptune::binary()?, "/usr/local/bin/swaptune")
        .file(swaptune::guest_tool()?, "/bin/guest-tool")
        .run()?
        .ensure_success()
}

/// Idle pages of a zram device are compressed again: a device with two compressors, which takes a module that Debian does not build.
pub fn recompress(kernel: Kernel) -> Result<()> {
    need_commands(&["daemon"])?;
    let tree = kernel.fetch()?;
    let module = zram_module::with_several_compressors(&tree)?;
    let outcome = Minimal::new(tree, payload::KEEP_RECOMPRESS)
        .memory(MEMORY)
        .file(module, "/zram.ko")
        .file(swaptune::binary()?, "/usr/local/bin/swaptune")
        .file(swaptune::guest_tool()?, "/bin/guest-tool")
        .run()?;
    println!("{}", outcome.output);
    outcome.ensure_success()
}

/// Limits of the pool, percent of RAM, and the law of the daemon that works beside them.
pub const DENSITIES: [(&str, u32, &str); 8] = [
    ("fixed-25", 25, "none"),
    ("fixed-47", 47, "none"),
    ("fixed-70", 70, "none"),
    ("fixed-85", 85, "none"),
    ("paced-70", 70, "pacing"),
    ("reclaims-70", 70, "reclaim"),
    ("moves-25", 25, "limit"),
    ("moves-47", 47, "limit"),
];
/// What moments and faults are drawn from, unless the environment says otherwise.
const SEED: (&str, &str) = ("SWAPTUNE_VM_SEED", "1");
/// What else of the load the environment may change: wakes a second, how unevenly they fall, numbers of services of 8 MiB from what fits with a
/// small pool to more than any holds.
const LOAD: [(&str, &str); 4] =
    [SEED, ("SWAPTUNE_VM_RATE", "1"), ("SWAPTUNE_VM_SKEW", "0"), ("SWAPTUNE_VM_NUMBERS", "64,88,104,120")];

/// How long faults go on, s, unless the environment says otherwise.
const SOAK: (&str, &str) = ("SWAPTUNE_VM_SOAK", "600");
/// What the guest may take for its start, its end, and the fault that it is at.
const AROUND: Duration = Duration::from_secs(1800);

/// Random faults, one after the other: nothing is stuck, no page is lost, and every setting is put back. Each fault and what came of it is on
/// standard output.
pub fn soak(kernel: Kernel) -> Result<()> {
    need_commands(&["daemon"])?;
    let text = asked(SOAK);
    let seconds = text.parse().with_context(|| format!("{}: found `{text}`, expected seconds", SOAK.0))?;
    let outcome = Minimal::new(kernel.fetch()?, payload::KEEP_SOAK)
        .memory(MEMORY)
        .disks(&[1024])
        .file(swaptune::binary()?, "/usr/local/bin/swaptune")
        .file(swaptune::guest_tool()?, "/bin/guest-tool")
        .text("/soak", format!("{seconds} {}\n", asked(SEED)))
        .limit(Duration::from_secs(seconds) + AROUND)
        .run()?;
    println!("{}", outcome.output);
    outcome.ensure_success()
}

/// RAM, MiB, and limits of the pool at which nothing may be killed, unless the environment says otherwise.
const BURST: [(&str, &str); 2] = [("SWAPTUNE_VM_MEMORY", "1024"), ("SWAPTUNE_VM_LIMITS", "70 80")];

/// A program that writes twice what RAM holds: evidence that the limit a plan sets kills nothing.
pub fn burst(kernel: Kernel) -> Result<()> {
    need_commands(&["bench"])?;
    let [memory, limits] = BURST.map(asked);
    let memory: u32 = memory.parse().with_context(|| format!("{}: found `{memory}`, expected MiB", BURST[0].0))?;
    let outcome = Minimal::new(kernel.fetch()?, payload::KEEP_BURST)
        .memory(memory)
        .disks(&[4096])
        .file(swaptune::binary()?, "/usr/local/bin/swaptune")
        .file(swaptune::guest_tool()?, "/bin/guest-tool")
        .text("/burst", format!("{} {limits}\n", u64::from(memory) << 21))
        .run()?;
    println!("{}", outcome.output);
    outcome.ensure_success()
}

/// MiB that are allocated, rounds, and variants, unless the environment says otherwise.
const ALLOCATE: [(&str, &str); 3] =
    [("SWAPTUNE_VM_ALLOCATE", "2048"), ("SWAPTUNE_VM_ROUNDS", "3"), ("SWAPTUNE_VM_VARIANTS", "off on paced paced-low")];
/// MiB a second that the disk may do, 0 for as many as it can: emulation makes compressing some ten times as dear, and a disk not at all.
const DISK_RATE: (&str, &str) = ("SWAPTUNE_VM_DISK_RATE", "0");

/// What allocating costs beside idle services, with a pool at its limit and with one that the daemon has drained; evidence, no test of speed.
pub fn allocate(kernel: Kernel) -> Result<()> {
    need_commands(&["bench", "daemon"])?;
    let text = asked(DISK_RATE);
    let rate: u64 = text.parse().with_context(|| format!("{}: found `{text}`, expected MiB a second", DISK_RATE.0))?;
    let outcome = Minimal::new(kernel.fetch()?, payload::KEEP_ALLOCATE)
        .memory(1024)
        .disks(&[4096])
        .disk_rate(Some(rate << 20).filter(|rate| *rate > 0))
        .file(swaptune::binary()?, "/usr/local/bin/swaptune")
        .file(swaptune::guest_tool()?, "/bin/guest-tool")
        .text("/allocate", format!("{}\n", ALLOCATE.map(asked).join(" ")))
        .limit(Duration::from_secs(7200))
        .run()?;
    println!("{}", outcome.output);
    outcome.ensure_success()
}

/// How many idle services fit: evidence, with the figures on standard output. Every service must answer, and the daemon leave
/// everything as it was.
pub fn density(kernel: Kernel, limit: u32, law: &str) -> Result<()> {
    need_commands(&["bench", "daemon"])?;
    let load = LOAD.map(asked).join(" ");
    let outcome = Minimal::new(kernel.fetch()?, payload::KEEP_DENSITY)
        .memory(MEMORY)
        .disks(&[2048])
        .file(swaptune::binary()?, "/usr/local/bin/swaptune")
        .file(swaptune::guest_tool()?, "/bin/guest-tool")
        .text("/density", format!("{limit} {law} {load}\n"))
        .run()?;
    println!("{}", outcome.output);
    outcome.ensure_success()
}
