//! Lines of the log that name a known trouble word for word.
//!
//! They stay in the log until the next boot, so a finding here may be about something that was cured since; the
//! sentence says what the line means, and the exhibits carry its time. Lines of user space count when the log that was
//! read has them.

use super::ask::log;
use super::{Finding, FindingEvidence, Severity};
use crate::facts::Facts;

/// A row for a signature, with a detector of its own that looks for these texts.
macro_rules! signatures {
    ($($name:ident: $code:literal, $severity:ident, $title:literal, [$($text:literal),+], $meaning:literal, $cure:literal, $source:literal;)+) => {
        pub(super) static ROWS: &[Finding] = &[$(Finding {
            code: $code,
            severity: Severity::$severity,
            title: $title,
            source: $source,
            detect: $name,
        }),+];
        $(fn $name(facts: &Facts) -> Option<FindingEvidence> {
            signature(facts, &[$($text),+], $meaning, $cure)
        })+
    };
}

signatures! {
    zram_backend: "log-zram-backend", Error, "zram could not get its compressor",
        ["Cannot initialise + compressing backend", "Can't allocate a compression stream", "Error creating compression"],
        "zram was set up with a compressor that this kernel does not have or could not load: the device has no size and cannot be swap",
        "swaptune apply", "drivers/block/zram/zcomp.c";
    zram_busy: "log-zram-busy", Warning, "two programs set up one zram device",
        ["Cannot change disksize for initialized device", "Can't change algorithm for initialized device", "zram + Device or resource busy"],
        "a zram device was set up twice: a second program or a second start of one found it in use",
        "zramctl", "drivers/block/zram/zram_drv.c: disksize_store";
    zram_corruption: "log-zram-corruption", Error, "zram could not decompress a page",
        ["Decompression failed! err="],
        "a page in zram could not be decompressed: memory or the compressor is suspect",
        "swaptune plan --explain", "drivers/block/zram/zram_drv.c";
    btrfs_swap_file: "log-btrfs-swap-file", Error, "btrfs refused a swap file",
        ["swapfile must not be", "swapfile must have", "swapfile must be"],
        "btrfs refused a swap file: it must be made without copy-on-write, checksums, compression and holes, on a single device",
        "swaptune apply", "fs/btrfs/inode.c: btrfs_swap_activate";
    snapshot_busy: "log-snapshot-swap-file", Warning, "a snapshot failed because of a swap file",
        ["Text file busy", "cannot snapshot subvolume with active swapfile"],
        "a snapshot of a subvolume with an active swap file was refused: the swap file needs a subvolume of its own",
        "btrfs subvolume create /swap", "fs/btrfs/ioctl.c: create_snapshot";
    device_timeout: "log-device-timeout", Error, "the boot timed out waiting for a swap device",
        ["Timed out waiting for device + zram", "Timed out waiting for device + swap", "Dependency failed for + swap"],
        "the boot waited for a swap device that never came: it is missing, or udev did not announce it",
        "swaptune apply --boot", "systemd.swap(5); systemd.device(5)";
    makefs_refused: "log-makefs-refused", Error, "swap was not made because the device looked used",
        ["is not empty (contains file system of type + ! swap)"],
        "mkswap at boot refused a device whose random content looked like a file system: wipe its first megabyte once",
        "lsblk --fs", "systemd-makefs@.service(8)";
    page_size: "log-swap-page-size", Error, "a swap header does not fit this kernel",
        ["swap format pagesize does not match", "Unable to find swap-space signature"],
        "a swap area has no header of this kernel's page size: it was made on another kernel, or never",
        "swaptune apply", "mm/swapfile.c: read_swap_header; swapon(8)";
    oomd_blind: "log-oomd-no-swap", Warning, "systemd-oomd started before swap was on",
        ["memory pressure usage will be degraded"],
        "systemd-oomd found no swap when it started, and does not look again",
        "systemctl restart systemd-oomd", "systemd-oomd.service(8)";
    hibernation_space: "log-hibernation-space", Warning, "hibernation found no room",
        ["Not enough suitable swap space for hibernation", "Specified resume device is missing or is not an active swap device"],
        "hibernation was refused: zram does not count, and the rest is too small or not the resume device",
        "swapon --show", "systemd-sleep(8)";
    hibernation_denied: "log-hibernation-denied", Warning, "SELinux keeps hibernation from the swap file",
        ["avc: + denied + systemd_logind + swap"],
        "the security policy denied access to the swap file: its label is not swapfile_t",
        "ausearch -m avc -ts boot -c systemd-logind", "selinux(8)";
    unknown_zpool: "log-unknown-zpool", Warning, "something sets zswap's allocator, which is gone",
        ["unknown parameter + zpool", "parameters/zpool: No such file", "parameters/zpool: Permission denied"],
        "a program still writes zswap.zpool, which is gone since 6.18",
        "grep -rln zpool /etc/systemd /etc/tmpfiles.d /etc/default /etc/zswap-cli", "mm/zswap.c: zpool layer removed in 6.18";
    ordering_cycle: "log-ordering-cycle", Error, "systemd broke an ordering cycle around swap",
        ["ordering cycle + swap", "swap + ordering cycle"],
        "systemd found a cycle around swap and dropped a job to break it: some unit did not start",
        "systemd-analyze verify swap.target", "systemd.unit(5): DefaultDependencies";
    io_error: "log-swap-io-error", Error, "reading or writing swap failed",
        ["Write-error on swap-device", "Read-error on swap-device", "Write error + on dio swapfile", "Read error + on dio swapfile"],
        "a swap device failed to read or write: pages on it are lost to their programs, or zram is at its limit",
        "swaptune status", "mm/page_io.c";
    bad_entry: "log-bad-swap-entry", Error, "page tables name swap slots that do not exist",
        ["Bad swap file entry", "Bad swap offset entry", "Unused swap offset entry"],
        "the kernel met swap entries that make no sense: memory is corrupted, by hardware or by a kernel bug",
        "swaptune inspect", "mm/swapfile.c";
}

/// The newest lines that carry one of the texts; parts separated by ` + ` must follow each other, and what comes after a `!` must
/// not follow at once.
fn signature(facts: &Facts, texts: &[&str], meaning: &str, cure: &str) -> Option<FindingEvidence> {
    let carries = |line: &str, text: &str| {
        let mut rest = line;
        text.split(" + ").all(|part| match (part.strip_prefix('!'), rest.find(part)) {
            (Some(other), _) => !rest.starts_with(other),
            (None, Some(at)) => {
                rest = &rest[at + part.len()..];
                true
            }
            (None, None) => false,
        })
    };
    let mut lines = log(facts, |line| texts.iter().any(|text| carries(line, text)));
    let count = lines.len();
    let last = lines.pop()?;
    let times = if count == 1 { String::new() } else { format!(" ({count} lines)") };
    Some(FindingEvidence::new(format!("{meaning}{times}"), cure).seen_all([last]))
}
