//! A Debian image that can be managed from outside: sshd, Python, a user who may become root, an address.
//!
//! Made from the image after its first boot, by apt in it while it is off, and cached; each copy gets keys of its own.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::apt;
use crate::cache;
use crate::command::{command, run};
use crate::debian::Release;
use crate::full::{Full, copy_sparse};
use crate::mounted::Mounted;

/// Who logs in.
pub const USER: &str = "manager";

/// Run in the image, between what the host's apt needs to reach its mirror and the removal of that.
///
/// Two emulated machines that boot at once are slower than the 90 s that systemd waits for the disk of a swap area.
const INSTALL: &str = "\
export DEBIAN_FRONTEND=noninteractive
apt-get -q update
apt-get -qy install --no-install-recommends openssh-server python3-apt sudo
rm -rf /var/lib/apt/lists/* /var/cache/apt/* /etc/ssh/ssh_host_*
useradd --create-home --shell /bin/sh manager
echo 'manager ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/manager
printf '[Match]\\nType=ether\\n\\n[Network]\\nAddress=10.0.2.15/24\\nIPv6AcceptRA=no\\nLinkLocalAddressing=no\\n' > /etc/systemd/network/lan.network
echo \"127.0.1.1 $(cat /etc/hostname)\" >> /etc/hosts
mkdir -p /etc/systemd/system.conf.d
printf '[Manager]\\nDefaultDeviceTimeoutSec=900\\n' > /etc/systemd/system.conf.d/emulated.conf
systemctl enable systemd-networkd
systemctl disable systemd-networkd-wait-online
systemctl mask sshd-keygen.service
";

/// Puts two keys, given beside the script, where sshd looks for them.
const KEYS: &str = "\
install -d -o manager -g manager -m 700 /home/manager/.ssh
install -o manager -g manager -m 600 /root/authorized /home/manager/.ssh/authorized_keys
install -m 600 /root/host /etc/ssh/ssh_host_ed25519_key
rm /root/authorized /root/host
";

/// A guest on a copy of the release's image that lets `authorized` (a public key) in and shows `host` (a private key), by this port.
pub fn guest(release: Release, port: u16, authorized: &Path, host: &Path) -> Result<Full> {
    let guest = Full::copy_of(&image(release)?, release.name, release.loader)?.reached_by(port);
    let mounted = guest.mount()?;
    for (file, name) in [(authorized, "root/authorized"), (host, "root/host")] {
        std::fs::copy(file, mounted.root().join(name)).with_context(|| format!("copy {} into the image", file.display()))?;
    }
    mounted.script(KEYS)?;
    mounted.close()?;
    Ok(guest)
}

fn image(release: Release) -> Result<PathBuf> {
    let settled = release.image()?;
    let key = cache::hash(&format!("{} {INSTALL}", settled.display()));
    let folder = cache::entry(&format!("debian/{}-reachable-{key}", release.name), |target| {
        // Tells a mirror that cannot be reached from packages that cannot be installed.
        apt::Tree::open(release.suite)?;
        let disk = target.join("disk");
        copy_sparse(&settled, &disk)?;
        let mounted = Mounted::of(&disk, release.loader)?;
        with_mirror(&mounted, INSTALL)?;
        mounted.close()
    })?;
    Ok(folder.join("disk"))
}

/// Runs a script in the image with the host's way to the mirror.
fn with_mirror(mounted: &Mounted, script: &str) -> Result<()> {
    let options = mounted.root().join("etc/apt/apt.conf.d/zz-host");
    let names = mounted.root().join("etc/resolv.conf");
    std::fs::write(&options, apt::system_options().join("\n")).context("options of apt in the image")?;
    run(command("cp").args(["--remove-destination", "/etc/resolv.conf"]).arg(&names))?;
    mounted.script(script)?;
    std::fs::remove_file(options)?;
    std::fs::remove_file(names)?;
    Ok(())
}
