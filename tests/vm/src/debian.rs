//! A whole Debian on a disk image, ready to boot through its own loader.
//!
//! Three cached steps: the root file system as mmdebstrap makes it, the disk
//! image ([`crate::image`]), and the same image after one first boot. The first
//! boot writes a machine id and runs the real update-grub or kernel-install, so that a snapshot
//! of `/etc` and `/boot` taken later differs only by what a test did. Each step
//! is keyed by a hash of everything that went into it. Needs root.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::apt;
use crate::cache;
use crate::command::{command, run};
use crate::full::{Full, copy_sparse};
use crate::image::{self, Loader};
use crate::payload;

/// Packages of the guest beside mmdebstrap's minimal set, what makes its initramfs and its loader.
const PACKAGES: &str = "systemd,systemd-sysv,udev,dbus,linux-image-amd64,INITRAMFS,\
                        util-linux,fdisk,e2fsprogs,kmod,procps,zstd,busybox,cryptsetup-bin,fio";

/// dracut looks for drivers at the machine that it runs on; the first one is made on another. The image itself has its own settings.
const ANY_MACHINE: &str = "etc/dracut.conf.d/any-machine.conf";
const DRACUT_HOOK: &str = "mkdir -p \"$1/etc/dracut.conf.d\" && echo 'hostonly=no' > \"$1/etc/dracut.conf.d/any-machine.conf\"";

/// Where the test program is in the guest.
const RUNNER: &str = "usr/local/lib/guest-test";

const UNIT: &str = "\
[Unit]
Description=Payload of the test
ConditionPathExists=/dev/vdb
After=swap.target local-fs.target systemd-modules-load.service systemd-sysctl.service swaptune.service

[Service]
Type=simple
ExecStart=/usr/local/lib/guest-test

[Install]
WantedBy=multi-user.target
";

const GRUB_DEFAULTS: &str = "\
GRUB_DEFAULT=0
GRUB_TIMEOUT=0
GRUB_DISTRIBUTOR=Debian
GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"
GRUB_CMDLINE_LINUX=\"console=ttyS0\"
GRUB_TERMINAL=console
GRUB_DISABLE_OS_PROBER=true
";

/// Timers that would take the only processor at a bad moment.
const MASKED: [&str; 4] = ["apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer"];

/// A Debian release that the full guests run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Release {
    /// Short name, used in test names.
    pub name: &'static str,
    /// Debian suite.
    pub suite: &'static str,
    /// What reads crypttab, where that is a package of its own.
    crypttab: &'static str,
    /// Package of what makes its initramfs.
    pub initramfs: &'static str,
    /// What starts its kernel.
    pub loader: Loader,
}

/// The releases under test.
pub const RELEASES: [Release; 5] = [
    Release { name: "debian12", suite: "bookworm", crypttab: "", initramfs: "initramfs-tools", loader: Loader::Grub },
    Release {
        name: "debian13",
        suite: "trixie",
        crypttab: ",systemd-cryptsetup",
        initramfs: "initramfs-tools",
        loader: Loader::Grub,
    },
    Release { name: "debian13-efi", suite: "trixie", crypttab: "", initramfs: "initramfs-tools", loader: Loader::SystemdBoot },
    Release { name: "debian13-grub-efi", suite: "trixie", crypttab: "", initramfs: "initramfs-tools", loader: Loader::GrubEfi },
    Release { name: "debian13-dracut", suite: "trixie", crypttab: "", initramfs: DRACUT, loader: Loader::Grub },
];

/// The other maker of an initramfs that Debian has.
pub const DRACUT: &str = "dracut";

impl Release {
    /// A guest of this release on a copy of its image.
    pub fn guest(&self) -> Result<Full> {
        Full::copy_of(&self.image()?, self.name, self.loader)
    }

    /// The disk image after its first boot; made when it is not in the cache.
    pub fn image(&self) -> Result<PathBuf> {
        let raw = self.raw_image()?;
        let key = cache::hash(&format!("{} {}", raw.display(), payload::SETTLE));
        let folder = cache::entry(&format!("debian/{}-settled-{key}", self.name), |target| {
            let disk = target.join("disk");
            copy_sparse(&raw, &disk)?;
            Full::on(disk, self.name, self.loader)?.boot(payload::SETTLE)?.ensure_success()
        })?;
        Ok(folder.join("disk"))
    }

    fn raw_image(&self) -> Result<PathBuf> {
        let root = self.root()?;
        let loader = format!("{:?}", self.loader);
        let recipe =
            [&root.display().to_string(), &loader, UNIT, GRUB_DEFAULTS, payload::DEBIAN_RUNNER, &MASKED.join(" "), image::RECIPE];
        let key = cache::hash(&recipe.join("\n"));
        let folder = cache::entry(&format!("debian/{}-image-{key}", self.name), |target| {
            let unpacked = cache::work_folder(&format!("{}-root", self.name))?;
            let folder = unpacked.path().join("root");
            fs::create_dir(&folder)?;
            run(command("tar").args(["--numeric-owner", "-xpf"]).arg(&root).arg("-C").arg(&folder))?;
            customise(&folder, self)?;
            image::build(&folder, unpacked.path(), &target.join("disk"), self.loader)
        })?;
        Ok(folder.join("disk"))
    }

    /// The root file system as a tar.
    fn root(&self) -> Result<PathBuf> {
        let packages = PACKAGES.replace("INITRAMFS", self.initramfs);
        let packages = format!("{packages},{}{}", self.loader.package(), self.crypttab);
        let key = cache::hash(&format!("{} {packages}", self.suite));
        let folder = cache::entry(&format!("debian/{}-root-{key}", self.name), |target| {
            // Tells a mirror that cannot be reached from a root that cannot be made.
            apt::Tree::open(self.suite)?;
            let mut mmdebstrap = command("mmdebstrap");
            mmdebstrap.args(["--quiet", "--mode=root", "--variant=minbase", "--format=tar"]).arg(format!("--include={packages}"));
            if self.initramfs == DRACUT {
                mmdebstrap.arg(format!("--essential-hook={DRACUT_HOOK}"));
            }
            for option in apt::system_options() {
                mmdebstrap.arg(format!("--aptopt={option}"));
            }
            run(mmdebstrap.arg(self.suite).arg(target.join("root.tar")).arg(apt::source_line(self.suite)?))?;
            Ok(())
        })?;
        Ok(folder.join("root.tar"))
    }
}

fn customise(root: &Path, release: &Release) -> Result<()> {
    let write = |path: &str, text: &str| -> Result<()> {
        let file = root.join(path);
        fs::create_dir_all(file.parent().context("a file lies in a folder")?)?;
        fs::write(&file, text).with_context(|| format!("write {path}"))
    };
    write("etc/hostname", &format!("{}\n", release.name))?;
    write("etc/fstab", &image::fstab(release.loader))?;
    if release.loader != Loader::SystemdBoot {
        write("etc/default/grub", GRUB_DEFAULTS)?;
    }
    if release.initramfs == DRACUT {
        fs::remove_file(root.join(ANY_MACHINE)).context(ANY_MACHINE)?;
    }
    write("etc/systemd/system/guest-test.service", UNIT)?;
    write(RUNNER, payload::DEBIAN_RUNNER)?;
    fs::set_permissions(root.join(RUNNER), fs::Permissions::from_mode(0o755))?;
    let units = root.join("etc/systemd/system");
    let wants = units.join("multi-user.target.wants");
    fs::create_dir_all(&wants)?;
    symlink("/etc/systemd/system/guest-test.service", wants.join("guest-test.service"))?;
    for timer in MASKED {
        symlink("/dev/null", units.join(timer))?;
    }
    // For looking around by hand on the console; nothing listens on a network.
    run(command("chroot").arg(root).args(["sh", "-c", "echo root:root | chpasswd"]))?;
    Ok(())
}
