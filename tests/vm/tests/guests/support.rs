//! What a machine needs to run a guest, and how the lack of it is told.

use std::sync::OnceLock;
use std::time::Instant;

use anyhow::{Result, bail};
use swaptune_trials::{Trial, is_asked_for, lacks, trial_or_fail};
use swaptune_vm::command::{find_program, is_root};
use swaptune_vm::debian::Release;
use swaptune_vm::kernels::Kernel;
use swaptune_vm::outcome::EmulatorFault;

/// A test in a minimal guest of one kernel.
pub fn minimal(group: &str, kernel: Kernel, test: impl Fn(Kernel) -> Result<()> + Send + 'static) -> Trial {
    trial(format!("minimal::{group}::{}", kernel.name), &MINIMAL_PROGRAMS, move || test(kernel))
        .with_ignored_flag(kernel.left_out())
}

/// A test of the runner itself.
pub fn runner(name: &str, test: fn() -> Result<()>) -> Trial {
    trial(format!("runner::{name}"), &MINIMAL_PROGRAMS, test)
}

/// A test in a whole Debian.
pub fn full(group: &str, release: Release, test: fn(Release) -> Result<()>) -> Trial {
    trial(format!("{}::{group}", release.name), &FULL_PROGRAMS, move || {
        if !is_root() {
            bail!(Missing("building a Debian root needs root".to_owned()));
        }
        test(release)
    })
}

/// A test of what the compiler of Debian stable builds for other architectures.
pub fn cross(name: &str, test: impl Fn() -> Result<()> + Send + 'static) -> Trial {
    trial(format!("cross::{name}"), &CROSS_PROGRAMS, move || {
        if !is_root() {
            bail!(Missing("building a Debian root needs root".to_owned()));
        }
        test()
    })
}

/// A test of whole Debians that are managed over ssh from this machine, by the given program.
pub fn managed(name: &str, by: &'static str, test: fn() -> Result<()>) -> Trial {
    trial(name.to_owned(), &FULL_PROGRAMS, move || {
        present(&[by, "ssh", "ssh-keygen"])?;
        if !is_root() {
            bail!(Missing("building a Debian root needs root".to_owned()));
        }
        test()
    })
}

/// What a variable of the environment says, or the usual value.
pub fn asked((name, usual): (&str, &str)) -> String {
    std::env::var(name).unwrap_or_else(|_| usual.into())
}

/// The test is ignored while swaptune has not all of these commands.
pub fn need_commands(commands: &[&str]) -> Result<()> {
    for command in commands {
        if !swaptune_vm::swaptune::knows(command)? {
            bail!(Missing(format!("swaptune has no command {command}")));
        }
    }
    Ok(())
}

/// What another architecture needs on the host.
const CROSS_PROGRAMS: [&str; 9] =
    ["mmdebstrap", "apt-config", "unshare", "chroot", "mount", "qemu-aarch64-static", "qemu-system-aarch64", "cpio", "depmod"];

/// What a full guest needs on the host.
const FULL_PROGRAMS: [&str; 17] = [
    "lintian",
    "qemu-system-x86_64",
    "mmdebstrap",
    "sfdisk",
    "mkfs.ext4",
    "mkfs.vfat",
    "mmd",
    "mcopy",
    "mkswap",
    "chroot",
    "tar",
    "apt-config",
    "flock",
    "setpriv",
    "losetup",
    "mount",
    "umount",
];

/// What a minimal guest needs on the host.
const MINIMAL_PROGRAMS: [&str; 11] =
    ["mkfs.ext4", "qemu-system-x86_64", "busybox", "cpio", "depmod", "modprobe", "xz", "apt-get", "dpkg-deb", "flock", "setpriv"];

/// Set to anything but nothing and 0, it makes what cannot run fail.
const REQUIRE: &str = "SWAPTUNE_VM_REQUIRE";

/// When the first test of this run began: what all of them take is bounded, so that it is told where the time goes.
static FIRST: OnceLock<Instant> = OnceLock::new();

/// Wraps a test: ignored with the reason when the machine cannot run it, failed where guests are required.
fn trial(name: String, programs: &'static [&'static str], test: impl Fn() -> Result<()> + Send + 'static) -> Trial {
    let is_required = is_asked_for(std::env::var_os(REQUIRE).as_deref());
    let shown = name.clone();
    trial_or_fail(name, is_required, move || {
        let (first, began) = (*FIRST.get_or_init(Instant::now), Instant::now());
        let result = present(programs).and_then(|()| once_more_after_a_fault(&shown, &test));
        eprintln!("{shown}: {} s, ended {} s after the first began", began.elapsed().as_secs(), first.elapsed().as_secs());
        result.or_else(|error| match lack(&error) {
            Some(reason) => lacks(reason),
            None => Err(format!("{error:#}").into()),
        })
    })
}

/// A test that the emulator ended begins anew, once, with everything made anew; one that failed does not.
fn once_more_after_a_fault(name: &str, test: &impl Fn() -> Result<()>) -> Result<()> {
    test().or_else(|error| match error.downcast_ref::<EmulatorFault>() {
        Some(fault) => {
            eprintln!("{name} begins once more: {fault}");
            test()
        }
        None => Err(error),
    })
}

/// What the machine lacks, if that is what the error says.
fn lack(error: &anyhow::Error) -> Option<String> {
    let missing = error.downcast_ref::<Missing>().map(ToString::to_string);
    let unreachable = error.chain().map(ToString::to_string).find(|cause| cause.starts_with("could not fetch "));
    // The first complaint of apt says why; the rest of its output would bury it.
    let why = format!("{error:#}").lines().find(|line| line.starts_with("E: ")).unwrap_or_default().to_owned();
    missing.or(unreachable.map(|what| format!("{what} {why}")))
}

/// Something that this machine lacks, as opposed to something that went wrong.
#[derive(Debug)]
struct Missing(String);

impl std::fmt::Display for Missing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Missing {}

fn present(programs: &[&str]) -> Result<()> {
    let missing: Vec<&str> = programs.iter().copied().filter(|name| find_program(name).is_none()).collect();
    if !missing.is_empty() {
        bail!(Missing(format!("{} not found; scripts/setup-tests.sh installs what guests need", missing.join(", "))));
    }
    Ok(())
}
