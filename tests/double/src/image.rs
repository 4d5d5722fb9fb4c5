//! A Debian tree that does not run.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

const CONFIG: &str = "CONFIG_MODULES=y\nCONFIG_ZSWAP=y\n# CONFIG_ZSWAP_DEFAULT_ON is not set\nCONFIG_ZSWAP_COMPRESSOR_DEFAULT=\"lzo\"\n\
    CONFIG_ZSWAP_ZPOOL_DEFAULT=\"zsmalloc\"\nCONFIG_ZSMALLOC=y\nCONFIG_CRYPTO_LZO=y\nCONFIG_CRYPTO_ZSTD=m\nCONFIG_ZRAM=m\n";

/// Makes, in an empty folder, what an installer leaves behind, as far as swaptune looks at it: two kernels, of which only the newer
/// one has zswap, GRUB, systemd, initramfs-tools. Its programs are no programs.
///
/// # Errors
/// What the file system says.
pub fn debian_image(root: &Path, swap_line: &str) -> io::Result<()> {
    let fstab = format!("UUID=5eaf / ext4 errors=remount-ro 0 1\n{swap_line}");
    let grub = "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\nGRUB_CMDLINE_LINUX=\"\"\n";
    for (path, text) in [
        ("etc/os-release", "ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\n"),
        ("etc/fstab", fstab.as_str()),
        ("etc/default/grub", grub),
        ("etc/initramfs-tools/initramfs.conf", "MODULES=most\n"),
        ("usr/sbin/grub-mkconfig", "for x in ${sysconfdir}/default/grub.d/*.cfg ; do\n"),
        ("usr/sbin/update-grub", "#!/bin/sh\n"),
        ("usr/sbin/update-initramfs", "#!/bin/sh\n"),
        ("usr/sbin/mkinitramfs", "#!/bin/sh\n"),
        ("usr/local/bin/swaptune", ""),
        ("boot/grub/grub.cfg", "linux /boot/vmlinuz-6.12.9-amd64 root=UUID=5eaf ro quiet\n"),
        ("boot/vmlinuz-6.12.9-amd64", ""),
        ("boot/vmlinuz-6.1.0-30-amd64", ""),
        ("boot/initrd.img-6.12.9-amd64", ""),
        ("boot/config-6.12.9-amd64", CONFIG),
        ("boot/config-6.1.0-30-amd64", "# CONFIG_ZSWAP is not set\n"),
        ("usr/lib/modules/6.12.9-amd64/modules.dep", "kernel/drivers/block/zram/zram.ko.xz:\nkernel/crypto/zstd.ko.xz:\n"),
        ("usr/lib/modules/6.12.9-amd64/modules.builtin", "kernel/crypto/lzo.ko\n"),
        ("usr/lib/modules/6.1.0-30-amd64/modules.dep", ""),
    ] {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap_or(root))?;
        fs::write(path, text)?;
    }
    symlink("usr/lib", root.join("lib"))?;
    symlink("usr/sbin", root.join("sbin"))?;
    symlink("../lib/systemd/systemd", root.join("usr/sbin/init"))
}
