//! The scripts that run inside guests, compiled into the library.
//!
//! Every script starts with the shared functions of `lib.sh`: checks that are
//! counted, commands whose exit status is expected, snapshots of what swaptune
//! may touch. They are plain POSIX shell, for busybox and for dash alike.

macro_rules! payloads {
    ($($(#[$doc:meta])* $name:ident = $($file:literal),+;)*) => {$(
        $(#[$doc])*
        pub const $name: &str = concat!(
            include_str!("../payloads/lib.sh"),
            $(include_str!(concat!("../payloads/", $file)),)+
        );
    )*};
}

payloads! {
    /// What the kernel offers: parameters, compressors, zpools, and how it takes wrong names.
    PROBE = "probe.sh";
    /// Four equal areas, zswap with lz4 and zstd, pages out and back; needs the helper program.
    SWAPPING = "swapping.sh";
    /// What became of zswap's words on the kernel command line.
    BOOT_WORDS = "boot-words.sh";
    /// First boot of a Debian image.
    SETTLE = "settle.sh";
    /// A picture of files and live state, compared with the last boot's.
    PICTURE = "picture.sh";
    /// swaptune in a minimal guest: apply, prove, roll back, for each line of `/rounds`.
    APPLY_LIVE = "apply-live.sh";
    /// The benchmarks: rows, restored settings, pools as predicted for each line of `/pools`.
    MEASURE = "measure.sh";
    /// The daemon: drains the pool, reclaims idle groups, puts everything back.
    KEEP = "keep-lib.sh", "keep.sh";
    /// The daemon under random faults, for the seconds and with the seed that `/soak` names.
    KEEP_SOAK = "keep-lib.sh", "keep-soak.sh";
    /// The daemon compresses pages of a zram device again, by the module `/zram.ko`.
    KEEP_RECOMPRESS = "keep-lib.sh", "keep-recompress.sh";
    /// Twice of what RAM holds is written at once, with each limit of the pool that `/burst` names.
    KEEP_BURST = "keep-burst.sh";
    /// What allocating costs beside idle services; `/allocate` holds MiB, rounds and variants.
    KEEP_ALLOCATE = "keep-lib.sh", "keep-allocate.sh";
    /// How many idle services fit, at a fixed limit or with the daemon.
    KEEP_DENSITY = "keep-density.sh";
    /// Idle services as the model's scenario has them, with the tiering and the load that `/services` names.
    SERVICES = "services.sh";
    /// swaptune on a kernel without zswap.
    NO_ZSWAP = "no-zswap.sh";
    /// Brings out the folder that `swaptune inspect --capture` makes.
    CAPTURE = "capture.sh";
    /// Debian, first boot: picture, apply.
    DEBIAN_APPLY = "debian-apply.sh";
    /// Debian, second boot: verify, service, rollback; of the package, purge.
    DEBIAN_VERIFY = "purge.sh", "debian-verify.sh";
    /// Debian, third boot: everything as in the picture.
    DEBIAN_AFTER = "debian-after.sh";
    /// Debian, first boot after it was configured as an image.
    IMAGE_VERIFY = "image-verify.sh";
    /// Debian, booted after that was taken back in the image.
    IMAGE_AFTER = "image-after.sh";
    /// Debian with dracut, or MODULES=dep of initramfs-tools, first boot: applied, the compressor in the initramfs.
    INITRAMFS_APPLY = "initramfs-apply.sh";
    /// The same, second boot: taken by the kernel, proved, rolled back.
    INITRAMFS_VERIFY = "initramfs-verify.sh";
    /// The same, third boot: as before.
    INITRAMFS_AFTER = "initramfs-after.sh";
    /// Debian: `quickstart --yes`, and taken back.
    DEBIAN_QUICKSTART = "debian-quickstart.sh";
    /// Debian: the package installed, upgraded, removed, purged.
    DEBIAN_PACKAGE = "debian-package.sh";
    /// Debian: benchmarks on a whole system.
    DEBIAN_BENCH = "debian-bench.sh";
    /// Debian, first boot with three further disks: the package, apply, prepared, proved, filled with a canary.
    DEVICE_PREPARE = "device-prepare.sh";
    /// Debian, booted with one of them gone and one damaged.
    DEVICE_MISSING = "device-missing.sh";
    /// Debian, booted with all of them back: on again, retired, the package purged.
    DEVICE_RETIRE = "purge.sh", "device-retire.sh";
    /// Debian, booted without a disk that the configuration calls optional.
    DEBIAN_MISSING = "debian-missing.sh";
}

/// The functions that all scripts share, for use in an image that is mounted on the host.
pub const LIBRARY: &str = include_str!("../payloads/lib.sh");

/// The init of a minimal guest.
pub const MINIMAL_INIT: &str = include_str!("../payloads/minimal-init.sh");

/// The program that a Debian guest starts: runs the payload of the boot.
pub const DEBIAN_RUNNER: &str = include_str!("../payloads/debian-runner.sh");
