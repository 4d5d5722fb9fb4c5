//! Signatures: each text of each row, and a line that only looks like one.

use super::*;

macro_rules! signature {
    ($code:literal, $line:literal $(, also $other:literal)* $(, not $near:literal)*) => {
        FindingCase {
            code: $code,
            base: |f| log(f, $line),
            says: &["kernel log at 1.5 s: ", $line],
            but_not: &[$(($near, |f| f.kernel.log = Fact::known(vec![KernelLogLine { at: String::new(), text: $near.into() }], "x"))),*],
            also: &[$(($other, |f| f.kernel.log = Fact::known(vec![KernelLogLine { at: String::new(), text: $other.into() }], "x"), $other)),*],
        }
    };
}

pub(super) const CASES: &[FindingCase] = &[
    signature!(
        "log-zram-backend",
        "zram: Cannot initialise zstd compressing backend",
        also "zram: Can't allocate a compression stream",
        also "zram: Error creating compression: -12",
        not "zram: Cannot initialise",
        not "zram: compressing backend, Cannot initialise"
    ),
    signature!(
        "log-zram-busy",
        "zram: Cannot change disksize for initialized device",
        also "zram: Can't change algorithm for initialized device",
        also "zramctl: /dev/zram0: failed to set: zram0: Device or resource busy",
        not "mount: Device or resource busy"
    ),
    signature!("log-zram-corruption", "zram: Decompression failed! err=-22, page=17", not "zram: Decompression"),
    signature!(
        "log-btrfs-swap-file",
        "BTRFS warning (device vda): swapfile must not be copy-on-write",
        also "BTRFS warning (device vda): swapfile must not have holes, swapfile must be on one device",
        also "BTRFS warning (device vda): swapfile must have single data profile",
        not "BTRFS info (device vda): swapfile is fine"
    ),
    signature!(
        "log-snapshot-swap-file",
        "BTRFS warning (device vda): cannot snapshot subvolume with active swapfile",
        also "ERROR: cannot snapshot '/': Text file busy",
        not "BTRFS info: snapshot"
    ),
    signature!(
        "log-device-timeout",
        "systemd[1]: dev-zram0.device: Job timed out: Timed out waiting for device /dev/zram0",
        also "systemd[1]: Timed out waiting for device /dev/mapper/cryptswap",
        also "systemd[1]: Dependency failed for swap.target - Swaps",
        not "systemd[1]: Timed out waiting for device /dev/sdz1",
        not "systemd[1]: Dependency failed for home.mount"
    ),
    signature!(
        "log-makefs-refused",
        "systemd-makefs[7]: /dev/mapper/swap is not empty (contains file system of type jbd), exiting",
        not "/dev/mapper/swap is not empty",
        not "systemd-makefs[7]: /dev/vda3 is not empty (contains file system of type swap), exiting."
    ),
    signature!(
        "log-swap-page-size",
        "swapon: /swapfile: swap format pagesize does not match.",
        also "Unable to find swap-space signature",
        not "swapon: /swapfile: found"
    ),
    signature!(
        "log-oomd-no-swap",
        "systemd-oomd[9]: No swap; memory pressure usage will be degraded",
        also "Swap is currently not detected; memory pressure usage will be degraded",
        not "No swap"
    ),
    signature!(
        "log-hibernation-space",
        "Call to Hibernate failed: Not enough suitable swap space for hibernation available",
        also "Call to Hibernate failed: Specified resume device is missing or is not an active swap device",
        not "Call to Hibernate failed: Access denied"
    ),
    signature!(
        "log-hibernation-denied",
        "audit: avc:  denied  { getattr } comm=systemd-logind scontext=system_u:system_r:systemd_logind_t path=/swapfile",
        not "audit: avc:  denied  { read } comm=cat path=/swapfile",
        not "audit: avc:  granted systemd_logind swap"
    ),
    signature!(
        "log-unknown-zpool",
        "zswap-cli: unknown parameter zpool",
        also "sh: /sys/module/zswap/parameters/zpool: Permission denied",
        also "cat: /sys/module/zswap/parameters/zpool: No such file or directory",
        not "zswap: unknown parameter colour"
    ),
    signature!(
        "log-ordering-cycle",
        "systemd[1]: sysinit.target: Found ordering cycle on swap.target/start",
        also "systemd[1]: swap.target: Found ordering cycle on local-fs.target/start",
        not "systemd[1]: a.service: Found ordering cycle on b.service/start"
    ),
    signature!(
        "log-swap-io-error",
        "Write-error on swap-device (254:0:7545984)",
        also "Read-error on swap-device (7:0:8)",
        also "Write error -5 on dio swapfile (4096)",
        also "Read error -5 on dio swapfile (4096)",
        not "Write error on disk"
    ),
    signature!(
        "log-bad-swap-entry",
        "get_swap_device: Bad swap file entry 3ffffffffffff",
        also "_swap_info_get: Bad swap offset entry 12",
        also "swap_free: Unused swap offset entry 12",
        not "swap_free: entry 12"
    ),
];

#[test]
fn the_newest_line_is_shown_and_the_others_are_counted() {
    let found = look(
        "log-swap-io-error",
        &[|f| {
            log(f, "Write-error on swap-device (1:0:1)");
            log(f, "Write-error on swap-device (2:0:2)");
        }],
    )
    .unwrap();
    assert!(found.what.ends_with("(2 lines)"), "{}", found.what);
    assert_eq!(found.evidence.len(), 1);
    assert!(found.evidence[0].text.contains("(2:0:2)"));
}

#[test]
fn the_log_reader_keeps_the_lines_that_are_looked_for() {
    for case in CASES {
        let mut facts = Facts::default();
        (case.base)(&mut facts);
        let lines = facts.kernel.log.value().unwrap();
        assert!(lines.iter().all(|line| crate::parse::klog::concerns_swap(&line.text)), "{}: {:?}", case.code, lines);
    }
}
