//! One test per guest: real kernels first, then whole distributions.
//!
//! Every guest is a named test, so one can be run alone
//! (`cargo test -p swaptune-vm --test guests -- minimal::probe::6.1`), and a
//! machine that cannot run a guest reports it by name as ignored, with the
//! reason. `SWAPTUNE_VM_REQUIRE=1` turns these into failures, as `make test`
//! does, so that no guest is lost unnoticed.

mod ansible;
mod cross;
mod debian;
mod device;
mod keep;
mod live;
mod measure;
mod probe;
mod runner;
mod services;
mod support;
mod swapping;

use libtest_mimic::{Arguments, Trial};
use support::{cross, full, managed, minimal, runner};
use swaptune_vm::debian::{DRACUT, RELEASES};
use swaptune_vm::image::Loader;
use swaptune_vm::kernels::{KERNELS, LARGE_PAGES};

/// Two processors are plenty for two guests; more only slow each other down.
const PARALLEL: usize = 2;

fn main() -> std::process::ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(PARALLEL);
    libtest_mimic::run(&arguments, all()).exit_code()
}

fn all() -> Vec<Trial> {
    let mut trials = vec![
        runner("status", runner::status),
        runner("panic", runner::panic),
        runner("standing-panic", runner::standing_panic),
        runner("endless", runner::endless),
    ];
    trials.push(cross("same_answers", cross::same_answers));
    // Two machines at once, for a quarter of an hour and more: on request.
    trials.push(managed("ansible::roll_out", ansible::PLAYBOOK, ansible::roll_out).with_ignored_flag(true));
    for kernel in KERNELS {
        trials.push(minimal("probe", kernel, probe::run));
        if !kernel.zswap {
            trials.push(minimal("no-zswap", kernel, live::without_zswap));
        } else if kernel.name != "5.10" {
            // memory.reclaim, which these scripts drive, came with 5.19.
            trials.push(minimal("boot-words", kernel, probe::boot_words));
            trials.push(minimal("swapping", kernel, swapping::run));
            trials.push(minimal("apply", kernel, live::circle));
            // Six minutes each: the newest always; those with a choice of allocators on request, worth it when a prediction changed.
            let is_older = ["6.1", "6.12"].contains(&kernel.name);
            trials.push(minimal("measure", kernel, measure::run).with_ignored_flag(is_older || kernel.left_out()));
            if keep::runs_on(kernel) {
                trials.push(minimal("keep", kernel, keep::run));
                // Builds the module of zram anew; worth its minutes when that law was changed.
                trials.push(minimal("recompress", kernel, keep::recompress).with_ignored_flag(true));
                // Whether the limit that a plan sets kills; worth it when that rule was changed.
                trials.push(minimal("burst", kernel, keep::burst).with_ignored_flag(true));
                // Figures for docs/evidence/keep.md.
                trials.push(minimal("allocate", kernel, keep::allocate).with_ignored_flag(true));
                // Figures for docs/evidence/simulations.md, a minute for each guest that the environment names.
                trials.push(minimal("services", kernel, services::run).with_ignored_flag(true));
                // As long as it is asked for.
                trials.push(minimal("soak", kernel, keep::soak).with_ignored_flag(true));
                // Figures for docs/evidence/keep.md, a quarter of an hour each.
                trials.extend(keep::DENSITIES.map(|(name, limit, law)| {
                    let test = minimal(&format!("density-{name}"), kernel, move |kernel| keep::density(kernel, limit, law));
                    test.with_ignored_flag(true)
                }));
            }
        }
    }
    for release in RELEASES {
        if release.initramfs == DRACUT {
            // Emulated, dracut takes minutes.
            trials.push(full("initramfs", release, debian::initramfs).with_ignored_flag(true));
            continue;
        }
        if release.loader == Loader::GrubEfi {
            // What swaptune does differs in nothing from GRUB on a BIOS; on request.
            trials.push(full("circle", release, debian::circle).with_ignored_flag(true));
            continue;
        }
        if release.loader == Loader::SystemdBoot {
            trials.push(full("circle", release, debian::circle_of_package));
            continue;
        }
        // Six minutes and more each. On the older release the circle, on the newer one what holds more than it: three boots with
        // devices, one of them missing. The rest by the same code, on request.
        let is_newest = release.name == "debian13";
        trials.push(full("circle", release, debian::circle).with_ignored_flag(is_newest));
        trials.push(full("missing-disk", release, debian::missing_disk).with_ignored_flag(true));
        trials.push(full("device", release, device::prepared).with_ignored_flag(!is_newest));
        trials.push(full("package", release, debian::package).with_ignored_flag(!is_newest));
        if is_newest {
            trials.push(full("bench", release, debian::bench));
            trials.push(full("image", release, debian::image));
            trials.push(full("quickstart", release, debian::quickstart));
            trials.push(full("initramfs", release, debian::initramfs).with_ignored_flag(true));
        }
        // Judges the comparison itself; worth its two boots only when that was changed.
        let picture = full("picture", release, debian::picture);
        trials.push(picture.with_ignored_flag(true));
    }
    // Last: both wait for one compiler, and the first of them has long been here.
    trials.push(cross("circle", || cross::circle(LARGE_PAGES)));
    trials
}
