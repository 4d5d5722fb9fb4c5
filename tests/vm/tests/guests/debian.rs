//! Whole Debian systems with systemd, GRUB and initramfs-tools.

use anyhow::{Context, Result};
use swaptune_vm::debian::Release;
use swaptune_vm::full::Full;
use swaptune_vm::{payload, swaptune};

use crate::support::need_commands;

const CONFIG: &str = r#"profile = "idle-guide"

[zswap]
compressor = "zstd"
max_pool_percent = 30

[[swap]]
path = "/dev/vda3"
priority = 10

[[swap]]
path = "/dev/vda4"
priority = 10

[[swap]]
path = "THIRD"
priority = 10
optional = true

[knobs]
"vm.swappiness" = 85
"#;

/// Two boots with nothing done between them look alike: a difference in the circle is swaptune's.
pub fn picture(release: Release) -> Result<()> {
    let guest = Full::new(release)?;
    for boot in ["first", "second"] {
        guest.boot(payload::PICTURE)?.ensure_success().with_context(|| format!("{boot} boot"))?;
    }
    Ok(())
}

/// Apply, reboot, prove, roll back, reboot: not one byte of `/etc` and `/boot` is changed.
pub fn circle(release: Release) -> Result<()> {
    need_commands(&["inspect", "plan", "apply", "verify", "rollback", "history"])?;
    let guest =
        Full::new(release)?.file(swaptune::binary()?, "swaptune").text("config.toml", &CONFIG.replace("THIRD", "/dev/vda5"))?;
    for (boot, script) in [
        ("boot 1, apply", payload::DEBIAN_APPLY),
        ("boot 2, verify and roll back", payload::DEBIAN_VERIFY),
        ("boot 3, as before", payload::DEBIAN_AFTER),
    ] {
        guest.boot(script)?.ensure_success().context(boot)?;
    }
    Ok(())
}

/// Benchmarks on a system that systemd manages: under a memory limit, of its disk, of its ciphers.
pub fn bench(release: Release) -> Result<()> {
    need_commands(&["bench"])?;
    Full::new(release)?.file(swaptune::binary()?, "swaptune").boot(payload::DEBIAN_BENCH)?.ensure_success()
}

/// A swap disk of the configuration is pulled out between two boots.
pub fn missing_disk(release: Release) -> Result<()> {
    need_commands(&["inspect", "plan", "apply", "verify", "history"])?;
    let mut guest =
        Full::new(release)?.file(swaptune::binary()?, "swaptune").text("config.toml", &CONFIG.replace("THIRD", "/dev/vdc"))?;
    guest.plug(256)?;
    guest.boot(payload::DEBIAN_APPLY)?.ensure_success().context("boot 1, apply with the disk")?;
    guest.unplug();
    guest.boot(payload::DEBIAN_MISSING)?.ensure_success().context("boot 2, without the disk")
}
