//! Fixtures of real machines: what `swaptune inspect --capture` copies in a guest.
//!
//! A fixture is a folder of the files that swaptune reads. Each row here is a
//! machine to take one from: a minimal guest brought into some state first, or a
//! whole Debian as it is after installation. The folder comes out of the guest
//! through the serial port, so that no further disk shows up in the fixture.

use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::debian::Release;
use crate::guest::Minimal;
use crate::kernels::Kernel;
use crate::outcome::Outcome;
use crate::{payload, swaptune};

/// A machine to capture.
#[derive(Debug, Clone, Copy)]
pub struct Host {
    /// Name of the fixture: distribution, kernel, state.
    pub name: &'static str,
    machine: Machine,
}

#[derive(Debug, Clone, Copy)]
enum Machine {
    /// A kernel's short name, words for its command line, shell lines to run first.
    Minimal(&'static str, &'static str, &'static str),
    Debian(Release),
}

const DEBIAN12: Release = crate::debian::RELEASES[0];
const DEBIAN13: Release = crate::debian::RELEASES[1];

const SWAPS: &str = "for d in vda vdb vdc vdd; do mkswap /dev/$d; guest-tool swapon 10 /dev/$d; done";
const ZSWAP: &str = "echo zstd > $ZSWAP/compressor; echo Y > $ZSWAP/enabled
for d in vda vdb; do mkswap /dev/$d; guest-tool swapon 10 /dev/$d; done
echo +memory > /sys/fs/cgroup/cgroup.subtree_control; swap_round before-capture c";
const ZRAM: &str = "modprobe zram; echo zstd > /sys/block/zram0/comp_algorithm
echo 256M > /sys/block/zram0/disksize; mkswap /dev/zram0; guest-tool swapon 100 /dev/zram0";
const BOTH: &str = "echo Y > $ZSWAP/enabled; modprobe zram
echo 256M > /sys/block/zram0/disksize; mkswap /dev/zram0; guest-tool swapon 100 /dev/zram0
mkswap /dev/vda; guest-tool swapon 10 /dev/vda";

/// All machines that can be captured.
pub const HOSTS: [Host; 11] = [
    minimal("busybox-6.1", "6.1", "", ""),
    minimal("busybox-6.1-swaps", "6.1", "", SWAPS),
    minimal("busybox-6.1-zswap-at-boot", "6.1", "zswap.enabled=1 zswap.compressor=zstd", SWAPS),
    minimal("busybox-6.12-zswap", "6.12", "", ZSWAP),
    minimal("busybox-6.12-zram", "6.12", "", ZRAM),
    minimal("busybox-6.18", "6.18", "", ""),
    minimal("busybox-6.18-zswap", "6.18", "", ZSWAP),
    minimal("busybox-6.18-both", "6.18", "", BOTH),
    minimal("busybox-6.1-cloud", "6.1-cloud", "", ""),
    Host { name: "debian12-6.1", machine: Machine::Debian(DEBIAN12) },
    Host { name: "debian13-6.12", machine: Machine::Debian(DEBIAN13) },
];

const fn minimal(name: &'static str, kernel: &'static str, words: &'static str, prelude: &'static str) -> Host {
    Host { name, machine: Machine::Minimal(kernel, words, prelude) }
}

impl Host {
    /// Looks a machine up by its fixture's name.
    pub fn named(name: &str) -> Result<Self> {
        let Some(host) = HOSTS.into_iter().find(|host| host.name == name) else {
            let names: Vec<&str> = HOSTS.iter().map(|host| host.name).collect();
            bail!("no host is named {name}; there are: {}", names.join(", "));
        };
        Ok(host)
    }

    /// Boots the machine and writes its capture to `target`, which is replaced.
    pub fn capture(&self, target: &Path) -> Result<()> {
        let outcome = self.boot()?;
        outcome.ensure_success()?;
        if target.exists() {
            std::fs::remove_dir_all(target)?;
        }
        outcome.unpack("capture", target).with_context(|| format!("write {}", target.display()))
    }

    fn boot(&self) -> Result<Outcome> {
        match self.machine {
            Machine::Minimal(kernel, words, prelude) => Minimal::new(Kernel::named(kernel)?.fetch()?, payload::CAPTURE)
                .command_line(words)
                .text("/prelude", prelude)
                .file(swaptune::binary()?, "/usr/local/bin/swaptune")
                .file(swaptune::guest_tool()?, "/bin/guest-tool")
                .run(),
            Machine::Debian(release) => release.guest()?.file(swaptune::binary()?, "swaptune").boot(payload::CAPTURE),
        }
    }
}
