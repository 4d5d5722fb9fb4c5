//! Whole Debian systems with systemd, GRUB and initramfs-tools.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use swaptune_vm::command::{command, run};
use swaptune_vm::debian::Release;
use swaptune_vm::full::Full;
use swaptune_vm::image::ROOT_UUID;
use swaptune_vm::{package, payload, swaptune};

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
    let guest = release.guest()?;
    for boot in ["first", "second"] {
        guest.boot(payload::PICTURE)?.ensure_success().with_context(|| format!("{boot} boot"))?;
    }
    Ok(())
}

/// Apply, reboot, prove, roll back, reboot: not one byte of `/etc` and `/boot` is changed.
pub fn circle(release: Release) -> Result<()> {
    need_commands(&["inspect", "plan", "apply", "verify", "rollback", "history"])?;
    let guest =
        release.guest()?.file(swaptune::binary()?, "swaptune").text("config.toml", &CONFIG.replace("THIRD", "/dev/vda5"))?;
    there_and_back(&guest, [payload::DEBIAN_APPLY, payload::DEBIAN_VERIFY, payload::DEBIAN_AFTER])
}

/// Three boots: applied, verified and rolled back, as before.
fn there_and_back(guest: &Full, scripts: [&str; 3]) -> Result<()> {
    for (boot, script) in ["boot 1, apply", "boot 2, verify and roll back", "boot 3, as before"].into_iter().zip(scripts) {
        guest.boot(script)?.ensure_success().context(boot)?;
    }
    Ok(())
}

/// The same from the package and with a disk that is pulled out before the second boot and back in the third: the package goes without it.
pub fn circle_of_package(release: Release) -> Result<()> {
    let config = CONFIG.replace("THIRD", "/dev/vda5");
    let mut guest = release.guest()?.file(package::deb(1)?, "swaptune-1.deb").text("config.toml", &config)?;
    guest.plug(96)?;
    guest.boot(payload::DEBIAN_APPLY)?.ensure_success().context("boot 1, install, apply, prepare")?;
    guest.pull(0);
    guest.boot(payload::DEBIAN_VERIFY)?.ensure_success().context("boot 2, without the disk, purge")?;
    guest.plug_back();
    guest.boot(payload::DEBIAN_AFTER)?.ensure_success().context("boot 3, as before")
}

const IMAGE_CONFIG: &str = r#"profile = "idle-guide"

[machine]
ram = "1G"
cpus = 1

[zswap]
compressor = "zstd"
max_pool_percent = 30

[boot]
kernel_arguments = true
initramfs = true

[knobs]
"vm.swappiness" = 85
"#;

/// Configured on the host while it does not run, with its own update-initramfs and update-grub, so that its kernel takes zstd from its command
/// line; booted, proved; taken back on the host, booted: not one byte of `/etc` and `/boot` is changed.
pub fn image(release: Release) -> Result<()> {
    need_commands(&["plan", "apply", "verify", "rollback", "history"])?;
    let guest = release.guest()?;
    let swaptune = |root: &Path, words: &[&str]| run(Command::new(swaptune::binary()?).arg("--root").arg(root).args(words));
    let mounted = guest.mount()?;
    let root = mounted.root();
    fs::create_dir_all(root.join("etc/swaptune")).context("etc/swaptune of the image")?;
    fs::write(root.join("etc/swaptune/config.toml"), IMAGE_CONFIG).context("config.toml of the image")?;
    run(command("install").args(["-m", "755"]).arg(swaptune::binary()?).arg(root.join("usr/local/bin/swaptune")))?;
    let picture = format!("{}\nmkdir -p /var/lib/guest-test; file_state > /var/lib/guest-test/files", payload::LIBRARY);
    mounted.script(&picture)?;
    let applied = swaptune(root, &["apply", "--boot", "--yes"])?;
    for done in ["done: boot loader configuration: run update-grub", "done: initramfs: run update-initramfs -u -k"] {
        ensure!(applied.contains(done), "{applied}");
    }
    let cfg = fs::read_to_string(root.join("boot/grub/grub.cfg")).context("grub.cfg of the image")?;
    ensure!(cfg.contains(&format!("root=UUID={ROOT_UUID}")) && cfg.contains("zswap.compressor=zstd"), "{cfg}");
    let again = swaptune(root, &["plan"])?;
    ensure!(again.starts_with("Nothing to do"), "{again}");
    mounted.close()?;
    guest.boot(payload::IMAGE_VERIFY)?.ensure_success().context("boot 1, as configured")?;
    let mounted = guest.mount()?;
    let back = swaptune(mounted.root(), &["rollback", "--yes"])?;
    for restored in ["restored: boot loader configuration", "restored: initramfs"] {
        ensure!(back.contains(restored), "{back}");
    }
    mounted.close()?;
    guest.boot(payload::IMAGE_AFTER)?.ensure_success().context("boot 2, as before")
}

const INITRAMFS_CONFIG: &str = r#"profile = "idle-guide"

[zswap]
compressor = "zstd"
max_pool_percent = 30

[boot]
kernel_arguments = true
initramfs = true
"#;

/// The compressor in an initramfs that the machine makes itself, by dracut or by initramfs-tools with MODULES=dep; booted, proved, taken back,
/// booted.
pub fn initramfs(release: Release) -> Result<()> {
    need_commands(&["plan", "apply", "verify", "rollback"])?;
    let guest = release.guest()?.file(swaptune::binary()?, "swaptune").text("config.toml", INITRAMFS_CONFIG)?;
    there_and_back(&guest, [payload::INITRAMFS_APPLY, payload::INITRAMFS_VERIFY, payload::INITRAMFS_AFTER])
}

/// From nothing to a proved configuration in one sitting, and back.
pub fn quickstart(release: Release) -> Result<()> {
    need_commands(&["quickstart", "verify", "status", "plan", "rollback"])?;
    let guest = release.guest()?.file(swaptune::binary()?, "swaptune").file(swaptune::guest_tool()?, "guest-tool");
    guest.boot(payload::DEBIAN_QUICKSTART)?.ensure_success()
}

const PACKAGE_CONFIG: &str = r#"profile = "idle-guide"

[zswap]
compressor = "zstd"

[boot]
kernel_arguments = false

[keep]
reclaim_idle_s = 5
reclaim_pause_s = 1
reclaim_probe_percent = 30
reclaim_floor = "2M"
# Under emulation the services' own start is a stall that lasts.
reclaim_stall_us = 100000
"#;

/// The package: installed, upgraded with its work in effect, its daemon beside thirty idle services, removed with all of it taken back, purged,
/// and kept where asked.
pub fn package(release: Release) -> Result<()> {
    let mut guest = release.guest()?.file(swaptune::guest_tool()?, "guest-tool").text("config.toml", PACKAGE_CONFIG)?;
    for revision in [1, 2] {
        guest = guest.file(package::deb(revision)?, &format!("swaptune-{revision}.deb"));
    }
    // Backs a zram device.
    guest.plug(128)?;
    guest.boot(payload::DEBIAN_PACKAGE)?.ensure_success()
}

/// Benchmarks on a system that systemd manages: under a memory limit, of its disk, of its ciphers.
pub fn bench(release: Release) -> Result<()> {
    need_commands(&["bench"])?;
    release.guest()?.file(swaptune::binary()?, "swaptune").boot(payload::DEBIAN_BENCH)?.ensure_success()
}

/// A swap disk of the configuration is pulled out between two boots.
pub fn missing_disk(release: Release) -> Result<()> {
    need_commands(&["inspect", "plan", "apply", "verify", "history"])?;
    let mut guest =
        release.guest()?.file(swaptune::binary()?, "swaptune").text("config.toml", &CONFIG.replace("THIRD", "/dev/vdc"))?;
    guest.plug(256)?;
    guest.boot(payload::DEBIAN_APPLY)?.ensure_success().context("boot 1, apply with the disk")?;
    guest.unplug();
    guest.boot(payload::DEBIAN_MISSING)?.ensure_success().context("boot 2, without the disk")
}
