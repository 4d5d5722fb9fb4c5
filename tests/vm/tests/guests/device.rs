//! Swap devices on real disks, through real dm-crypt and LUKS: prepared, searched while off, missing, damaged, back, retired.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use swaptune_vm::debian::Release;
use swaptune_vm::{payload, swaptune};

use crate::support::need_commands;

const CONFIG: &str = "profile = \"idle-guide\"\n\n[boot]\nkernel_arguments = false\n";
/// What the guest fills memory with; its script puts it together, so that it stands nowhere else.
const CANARY: &[u8] = b"canary-of-swap-0123456789";
/// The further disks: encrypted with a random key, a LUKS volume, in clear text.
const RANDOM: usize = 0;
const LUKS: usize = 1;
const CLEAR: usize = 2;
/// Where the volume begins on its disk, and how much of it is damaged.
const VOLUME: u64 = 1 << 20;
const DAMAGE: usize = 1 << 20;

/// Prepared and proved; nothing readable on the disks that are encrypted; a boot without one and with a damaged one; all back, retired.
pub fn prepared(release: Release) -> Result<()> {
    need_commands(&["device", "apply", "plan", "verify"])?;
    let mut guest = release.guest()?.file(swaptune::binary()?, "swaptune").text("config.toml", CONFIG)?;
    for _ in [RANDOM, LUKS, CLEAR] {
        guest.plug(96)?;
    }
    guest.boot(payload::DEVICE_PREPARE)?.ensure_success().context("boot 1, prepare")?;
    for (number, is_readable) in [(RANDOM, false), (LUKS, false), (CLEAR, true)] {
        let found = holds_canary(guest.spare(number))?;
        ensure!(found == is_readable, "further disk {number}: canary found {found}, wanted {is_readable}");
    }
    let header = damage(guest.spare(LUKS))?;
    guest.pull(RANDOM);
    guest.boot(payload::DEVICE_MISSING)?.ensure_success().context("boot 2, one gone, one damaged")?;
    guest.plug_back();
    write_at(guest.spare(LUKS), &header)?;
    guest.boot(payload::DEVICE_RETIRE)?.ensure_success().context("boot 3, all back, retired")?;
    ensure!(!holds_canary(guest.spare(CLEAR))?, "the area in clear text still holds the canary after it was retired");
    Ok(())
}

/// Whether the canary stands anywhere on a disk.
fn holds_canary(disk: &Path) -> Result<bool> {
    let mut file = File::open(disk).with_context(|| format!("open {}", disk.display()))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    ensure!(bytes.iter().any(|byte| *byte != 0), "{} is blank: nothing was written to it", disk.display());
    Ok(bytes.windows(CANARY.len()).any(|window| window == CANARY))
}

/// Overwrites the header of the volume; gives what was there.
fn damage(disk: &Path) -> Result<Vec<u8>> {
    let mut header = vec![0; DAMAGE];
    File::open(disk)?.read_exact_at(&mut header, VOLUME)?;
    ensure!(header.starts_with(b"LUKS"), "no volume on {}", disk.display());
    write_at(disk, &vec![0x5a; DAMAGE])?;
    Ok(header)
}

fn write_at(disk: &Path, bytes: &[u8]) -> Result<()> {
    fs::OpenOptions::new().write(true).open(disk)?.write_all_at(bytes, VOLUME).context("write to a disk of the guest")
}
