//! From the package to a machine as before, with swap devices on real disks, through real dm-crypt and LUKS: prepared, searched while off,
//! missing, damaged, back, retired.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use swaptune_vm::debian::Release;
use swaptune_vm::{package, payload};

/// It lists areas, so that `prepare` adds those that it makes: otherwise the profile gives every area one priority.
const CONFIG: &str = r#"profile = "idle-guide"

[zswap]
compressor = "zstd"

[[swap]]
path = "/dev/vda3"
priority = 10

[[swap]]
path = "/dev/vda4"
priority = 10
"#;
/// What the guest fills memory with; its script puts it together, so that it stands nowhere else.
const CANARY: &[u8] = b"canary-of-swap-0123456789";
/// What the guest writes to the first disk before it is prepared with `--wipe`.
const FORMER: &[u8] = b"something that is needed";
/// The further disks: encrypted with a random key, a LUKS volume, in clear text.
const RANDOM: usize = 0;
const LUKS: usize = 1;
const CLEAR: usize = 2;
/// Where the volume begins on its disk, and how much of it is damaged.
const VOLUME: u64 = 1 << 20;
const DAMAGE: usize = 1 << 20;

/// Installed, applied, prepared and proved; nothing readable on the disks that are encrypted; a boot without one and with a damaged one; all back, retired, purged.
pub fn prepared(release: Release) -> Result<()> {
    let mut guest = release.guest()?.file(package::deb(1)?, "swaptune-1.deb").text("config.toml", CONFIG)?;
    for _ in [RANDOM, LUKS, CLEAR] {
        guest.plug(96)?;
    }
    guest.boot(payload::DEVICE_PREPARE)?.ensure_success().context("boot 1, install, apply, prepare")?;
    for (number, is_readable) in [(RANDOM, false), (LUKS, false), (CLEAR, true)] {
        let bytes = contents(guest.spare(number))?;
        ensure!(bytes.iter().any(|byte| *byte != 0), "further disk {number} is blank: nothing was written to it");
        let found = holds_canary(&bytes);
        ensure!(found == is_readable, "further disk {number}: canary found {found}, wanted {is_readable}");
    }
    let header = damage(guest.spare(LUKS))?;
    guest.pull(RANDOM);
    guest.boot(payload::DEVICE_MISSING)?.ensure_success().context("boot 2, one gone, one damaged")?;
    guest.plug_back();
    write_at(guest.spare(LUKS), &header)?;
    guest.boot(payload::DEVICE_RETIRE)?.ensure_success().context("boot 3, all back, retired, purged")?;
    ensure!(!holds_canary(&contents(guest.spare(CLEAR))?), "the area in clear text still holds the canary after it was retired");
    // The tables are gone with what the package had applied.
    ensure!(contents(guest.spare(RANDOM))?.starts_with(FORMER), "what --wipe overwrote on the first disk is not back");
    for number in [LUKS, CLEAR] {
        let head = &contents(guest.spare(number))?[..DAMAGE];
        ensure!(head.iter().all(|byte| *byte == 0), "further disk {number} was blank and begins with something");
    }
    Ok(())
}

fn contents(disk: &Path) -> Result<Vec<u8>> {
    fs::read(disk).with_context(|| format!("read {}", disk.display()))
}

/// Whether the canary stands anywhere on a disk.
fn holds_canary(bytes: &[u8]) -> bool {
    bytes.windows(CANARY.len()).any(|window| window == CANARY)
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
