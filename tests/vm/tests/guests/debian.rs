//! Whole Debian systems with systemd, GRUB and initramfs-tools.

use anyhow::Result;
use swaptune_vm::debian::Release;
use swaptune_vm::full::Full;
use swaptune_vm::payload;

/// The image boots through its own GRUB with the two swap areas of its fstab.
pub fn boots(release: Release) -> Result<()> {
    let out = Full::new(release)?.boot(payload::SETTLE)?;
    println!("{out}");
    out.ensure_success()
}
