//! fstab, crypttab, hibernation.

use super::*;
use crate::facts::Mount;

fn fstab(facts: &mut Facts, text: &str) {
    file(facts, "/etc/fstab", text);
}

fn crypttab(facts: &mut Facts, text: &str) {
    file(facts, "/etc/crypttab", text);
}

fn systemd(facts: &mut Facts) {
    facts.system.init = Fact::known(crate::facts::InitSystem::Systemd, "/run/systemd/system");
}

/// A disk vda with a swap partition vda3 of UUID 1-2, which is not on.
fn swap_partition(facts: &mut Facts) {
    disk(facts, "vda", Transport::Virtual, false);
    partition(facts, "vda3", "vda");
    let last = facts.block_devices.last_mut().unwrap();
    (last.uuid, last.label, last.dm_name) = (Some("1-2".into()), Some("swap".into()), Some("crypt".into()));
}

/// Names of the partition table and links of udev for [`swap_partition`].
fn links(facts: &mut Facts) {
    let last = facts.block_devices.last_mut().unwrap();
    (last.partuuid, last.partlabel) = (Some("8-a".into()), Some("p".into()));
    last.links = vec!["disk/by-id/virtio".into()];
}

fn mount(facts: &mut Facts, at: &str, filesystem: &str) {
    facts.mounts.push(Mount { at: at.into(), filesystem: filesystem.into(), ..Mount::default() });
}

pub(super) const CASES: &[FindingCase] = &[
    FindingCase {
        code: "fstab-broken-line",
        base: |f| fstab(f, "# ok\n/dev/vda1 /\n"),
        says: &["line 2 of /etc/fstab has 2 of the three fields", "findmnt --verify"],
        but_not: &[("all is well", |f| fstab(f, "/dev/vda1 / ext4\n")), ("there is no file", |f| f.files.clear())],
        also: &[],
    },
    FindingCase {
        code: "fstab-missing-device",
        base: |f| {
            swap_partition(f);
            systemd(f);
            fstab(f, "/dev/vda1 / ext4\nUUID=9 none swap sw 0 0\n");
        },
        says: &[
            "UUID=9 is listed as swap and is not there: without nofail each boot waits 90 s",
            "sed -i '2s/^/#/' /etc/fstab",
            "line 2: UUID=9",
        ],
        but_not: &[
            ("it is there", |f| fstab(f, "UUID=1-2 none swap sw\n")),
            ("it is there by label", |f| fstab(f, "LABEL=swap none swap sw\n")),
            ("it is there by name", |f| fstab(f, "/dev/vda3 none swap sw\n")),
            ("it is there by mapping", |f| fstab(f, "/dev/mapper/crypt none swap sw\n")),
            ("it is there by link", |f| fstab(f, "/dev/disk/by-uuid/1-2 none swap sw\n")),
            ("it is not used at boot", |f| fstab(f, "UUID=9 none swap noauto\n")),
            ("it may be missing", |f| fstab(f, "UUID=9 none swap nofail,x-systemd.device-timeout=10s\n")),
            ("it is no swap", |f| fstab(f, "UUID=9 /x ext4\n")),
            ("its kind of name is not known here", |f| fstab(f, "PARTUUID=9 none swap sw\n/dev/disk/by-id/x none swap sw\n")),
            ("it is there by any name", |f| {
                links(f);
                fstab(
                    f,
                    "PARTUUID=8-A none swap sw\nPARTLABEL=\"p\" none swap sw\n/dev/disk/by-id/virtio none swap sw\nID=virtio none swap\n",
                );
            }),
            ("it is a file", |f| fstab(f, "/swapfile none swap sw\n")),
            ("no device is known", |f| f.block_devices.clear()),
            ("it is on", |f| {
                f.swaps = vec![area("/dev/vdz", 1)];
                f.swaps[0].uuid = Fact::known("9".into(), "x");
            }),
        ],
        also: &[
            ("a mapping", |f| fstab(f, "/dev/mapper/gone none swap sw\n"), "/dev/mapper/gone is listed"),
            ("a link", |f| fstab(f, "/dev/disk/by-uuid/9 none swap sw\n"), "by-uuid/9 is listed"),
            ("a label", |f| fstab(f, "LABEL=gone none swap sw\n"), "LABEL=gone is listed"),
            ("nofail", |f| fstab(f, "UUID=9 none swap sw,nofail\n"), "goes on without it"),
            ("another init", |f| f.system.init = Fact::absent("busybox"), "goes on without it"),
            ("a shorter wait", |f| fstab(f, "UUID=9 none swap x-systemd.device-timeout=5\n"), "waits 5 s for it"),
            ("a path", |f| fstab(f, "/dev/vdz none swap sw\n"), "/dev/vdz is listed"),
            (
                "the name of a partition, where those are known",
                |f| {
                    links(f);
                    fstab(f, "PARTUUID=9 none swap sw\n");
                },
                "PARTUUID=9 is listed",
            ),
        ],
    },
    FindingCase {
        code: "fstab-optional-missing",
        base: |f| {
            swap_partition(f);
            fstab(f, "/dev/mapper/swap-9 none swap sw,nofail,x-systemd.device-timeout=10s\n");
        },
        says: &["/dev/mapper/swap-9 may be missing", "give it up after 10 s", "swaptune device retire /dev/mapper/swap-9"],
        but_not: &[
            ("it is there", |f| fstab(f, "UUID=1-2 none swap nofail,x-systemd.device-timeout=10s\n")),
            ("boots wait for it", |f| fstab(f, "/dev/mapper/swap-9 none swap x-systemd.device-timeout=10s\n")),
            ("boots wait long for it", |f| fstab(f, "/dev/mapper/swap-9 none swap nofail\n")),
        ],
        also: &[],
    },
    FindingCase {
        code: "fstab-no-nofail",
        base: |f| {
            systemd(f);
            fstab(f, "UUID=1-2 none swap sw 0 0\n");
        },
        says: &["UUID=1-2 has no nofail", "waits 90 s", "swaptune apply --boot"],
        but_not: &[
            ("another init waits for nothing", |f| f.system.init = Fact::absent("busybox")),
            ("it has", |f| fstab(f, "UUID=1-2 none swap sw,nofail\n")),
            ("it is not used at boot", |f| fstab(f, "UUID=1-2 none swap noauto\n")),
            ("it is a file", |f| fstab(f, "/swapfile none swap sw\n")),
            ("it is no swap", |f| fstab(f, "UUID=1-2 / ext4 rw\n")),
        ],
        also: &[
            ("a shorter wait", |f| fstab(f, "UUID=1-2 none swap x-systemd.device-timeout=5s\n"), "waits 5 s for it"),
            ("a wait in minutes", |f| fstab(f, "UUID=1-2 none swap x-systemd.device-timeout=2min\n"), "waits 2min for it"),
            ("a wait without end", |f| fstab(f, "UUID=1-2 none swap x-systemd.device-timeout=0\n"), "waits without end for it"),
        ],
    },
    FindingCase {
        code: "fstab-duplicate",
        base: |f| {
            swap_partition(f);
            fstab(f, "UUID=1-2 none swap sw\n/dev/vda3 none swap sw\n");
        },
        says: &["lines 1 and 2 of /etc/fstab are the same swap area"],
        but_not: &[
            ("they are two", |f| fstab(f, "UUID=1-2 none swap sw\n/dev/vdb none swap sw\n")),
            ("neither is known", |f| f.block_devices.clear()),
        ],
        also: &[
            ("the same words", |f| fstab(f, "/x none swap sw\n/y none swap sw\n/x none swap pri=1\n"), "lines 1 and 3"),
            (
                "two kinds of names",
                |f| {
                    links(f);
                    fstab(f, "UUID=1-2 none swap sw\nPARTUUID=8-a none swap pri=7\n");
                },
                "lines 1 and 2",
            ),
        ],
    },
    FindingCase {
        code: "fstab-swap-off",
        base: |f| {
            swap_partition(f);
            fstab(f, "UUID=1-2 none swap sw\n");
        },
        says: &["UUID=1-2 is listed as swap, is there, and is not on", "swapon -a"],
        but_not: &[
            ("it is on", |f| f.swaps = vec![area("/dev/vda3", 1)]),
            ("it is on under another path", |f| {
                f.swaps = vec![area("/dev/disk/by-id/x", 1)];
                f.swaps[0].device = Fact::known("vda3".into(), "x");
            }),
            ("it is not there", |f| f.block_devices.clear()),
            ("it is not used at boot", |f| fstab(f, "UUID=1-2 none swap noauto\n")),
            ("it is a file that is on", |f| {
                fstab(f, "/swapfile none swap sw 0 0\n");
                f.swaps = vec![area("/swapfile", 1)];
            }),
            ("it is a file that its file system may refuse", |f| {
                mount(f, "/", "btrfs");
                fstab(f, "/swapfile none swap sw 0 0\n");
            }),
            ("it is a file of a container", |f| {
                fstab(f, "/swapfile none swap sw 0 0\n");
                f.system.container = Fact::known(crate::facts::Container { kind: "lxc".into() }, "x");
            }),
            ("it is a file of an image", |f| {
                fstab(f, "/swapfile none swap sw 0 0\n");
                f.image = Some(crate::facts::ImageFacts::default());
            }),
        ],
        also: &[
            (
                "a swap file on that device",
                |f| {
                    f.swaps = vec![area("/data/swap", 1)];
                    f.swaps[0].device = Fact::known("vda3".into(), "x");
                },
                "is not on",
            ),
            (
                "a swap file",
                |f| {
                    mount(f, "/", "ext4");
                    fstab(f, "/swapfile none swap sw 0 0\n");
                },
                "/swapfile is listed as swap and is not on",
            ),
        ],
    },
    FindingCase {
        code: "fstab-file-copy-on-write",
        base: |f| {
            mount(f, "/", "ext4");
            mount(f, "/var", "btrfs");
            fstab(f, "/swapfile none swap sw\n/var/swapfile none swap sw\n");
        },
        says: &["/var/swapfile lies on btrfs and is not on", "btrfs filesystem mkswapfile /var/swapfile"],
        but_not: &[
            ("it is on", |f| f.swaps = vec![area("/var/swapfile", 1)]),
            ("it lies elsewhere", |f| fstab(f, "/various/swapfile none swap sw\n")),
            ("a nearer mount holds it", |f| {
                mount(f, "/var/lib", "ext4");
                fstab(f, "/var/lib/swapfile none swap sw\n");
            }),
        ],
        also: &[(
            "an overlay",
            |f| {
                mount(f, "/live", "overlay");
                fstab(f, "/live/swap none swap sw\n");
            },
            "lies on overlay",
        )],
    },
    FindingCase {
        code: "crypttab-random-key-by-uuid",
        base: |f| crypttab(f, "cryptswap UUID=1-2 /dev/urandom swap,plain\n"),
        says: &["cryptswap is found by UUID=1-2", "lsblk"],
        but_not: &[
            ("it is found by its partition", |f| crypttab(f, "cryptswap PARTUUID=1-2 /dev/urandom swap\n")),
            ("its key stays", |f| crypttab(f, "cryptswap UUID=1-2 none luks\n")),
            ("the header is left alone", |f| crypttab(f, "cryptswap UUID=1-2 /dev/urandom swap,offset=2048\n")),
        ],
        also: &[
            ("a label", |f| crypttab(f, "c LABEL=x /dev/random swap\n"), "LABEL=x"),
            ("a link", |f| crypttab(f, "c /dev/disk/by-uuid/1 /dev/urandom swap\n"), "by-uuid"),
            ("a link by label", |f| crypttab(f, "c /dev/disk/by-label/1 /dev/urandom swap\n"), "by-label"),
        ],
    },
    FindingCase {
        code: "crypttab-random-key-by-name",
        base: |f| crypttab(f, "cryptswap /dev/sda3 /dev/urandom swap\n"),
        says: &["cryptswap formats /dev/sda3 at each boot"],
        but_not: &[
            ("it is an array", |f| crypttab(f, "cryptswap /dev/md0 /dev/urandom swap\n")),
            ("the name stays", |f| crypttab(f, "cryptswap /dev/disk/by-id/x /dev/urandom swap\n")),
            ("it is a volume", |f| crypttab(f, "cryptswap /dev/mapper/vg-swap /dev/urandom swap\n")),
            ("its key stays", |f| crypttab(f, "cryptswap /dev/sda3 none luks\n")),
        ],
        also: &[("NVMe", |f| crypttab(f, "c /dev/nvme0n1p3 /dev/urandom swap\n"), "nvme0n1p3")],
    },
    FindingCase {
        code: "crypttab-random-key-without-swap",
        base: |f| crypttab(f, "cryptswap PARTUUID=1 /dev/urandom plain\n"),
        says: &["lacks the option swap", "sed -i '/^cryptswap[[:blank:]]/s/[[:blank:]]*$/,swap/' /etc/crypttab"],
        but_not: &[
            ("it has", |f| crypttab(f, "cryptswap PARTUUID=1 /dev/urandom plain,swap\n")),
            ("it is for temporary files", |f| crypttab(f, "t PARTUUID=1 /dev/urandom tmp=ext4\n")),
            ("its key stays", |f| crypttab(f, "cryptswap PARTUUID=1 none plain\n")),
            ("fstab makes the header", |f| fstab(f, "/dev/mapper/cryptswap none swap sw,x-systemd.makefs\n")),
        ],
        also: &[
            ("no options", |f| crypttab(f, "cryptswap PARTUUID=1 /dev/urandom\n"), "s/[[:blank:]]*$/ swap/'"),
            ("another line of fstab", |f| fstab(f, "/dev/mapper/other none swap x-systemd.makefs\n"), "lacks the option"),
            ("a line that makes nothing", |f| fstab(f, "/dev/mapper/cryptswap none swap sw\n"), "lacks the option"),
        ],
    },
    FindingCase {
        code: "crypttab-random-key-luks",
        base: |f| crypttab(f, "cryptswap PARTUUID=1 /dev/urandom luks,swap\n"),
        says: &["can never be opened"],
        but_not: &[
            ("it is plain", |f| crypttab(f, "cryptswap PARTUUID=1 /dev/urandom plain,swap\n")),
            ("its key stays", |f| crypttab(f, "cryptswap PARTUUID=1 /key luks\n")),
        ],
        also: &[],
    },
    FindingCase {
        code: "hibernation-only-zram",
        base: |f| {
            cmdline(f, "resume=UUID=7");
            f.swaps = vec![area("/dev/zram0", 100)];
        },
        says: &["resume=UUID=7", "only /dev/zram0"],
        but_not: &[
            ("there is a disk", |f| f.swaps.push(area("/dev/vda3", 1))),
            ("there is nothing", no_swap),
            ("nobody hibernates", |f| cmdline(f, "quiet")),
            ("the word is empty", |f| cmdline(f, "resume=")),
            ("it is switched off", |f| cmdline(f, "resume=UUID=7 noresume")),
        ],
        also: &[],
    },
    FindingCase {
        code: "hibernation-random-key",
        base: |f| {
            cmdline(f, "resume=/dev/mapper/cryptswap");
            crypttab(f, "cryptswap PARTUUID=1 /dev/urandom swap\n");
        },
        says: &["can never be read again", "/etc/crypttab: cryptswap"],
        but_not: &[
            ("the key stays", |f| crypttab(f, "cryptswap PARTUUID=1 /key swap\n")),
            ("it is another mapping", |f| cmdline(f, "resume=/dev/mapper/other")),
            ("it is switched off", |f| cmdline(f, "noresume resume=/dev/mapper/cryptswap")),
            ("nobody hibernates", |f| cmdline(f, "quiet")),
        ],
        also: &[(
            "a known loader",
            |f| configured(f, "x"),
            "sed -i 's/ *resume=\\/dev\\/mapper\\/cryptswap//' /etc/default/grub",
        )],
    },
    FindingCase {
        code: "hibernation-device-missing",
        base: |f| {
            swap_partition(f);
            cmdline(f, "resume=UUID=7");
        },
        says: &["resume=UUID=7 names a device that is not there"],
        but_not: &[
            ("it is there", |f| cmdline(f, "resume=UUID=1-2")),
            ("it is switched off", |f| cmdline(f, "resume=UUID=7 noresume")),
            ("it is there by label", |f| cmdline(f, "resume=LABEL=swap")),
            ("it is there by name", |f| cmdline(f, "resume=/dev/vda3")),
            ("it is there by mapping", |f| cmdline(f, "resume=/dev/mapper/crypt")),
            ("its kind of name is not known here", |f| cmdline(f, "resume=PARTUUID=7")),
            ("it is a link", |f| cmdline(f, "resume=/dev/disk/by-id/x")),
            ("it is a volume", |f| cmdline(f, "resume=/dev/vg/swap")),
            ("no device is known", |f| f.block_devices.clear()),
            ("nobody hibernates", |f| cmdline(f, "quiet")),
        ],
        also: &[
            ("a path", |f| cmdline(f, "resume=/dev/sdz9"), "/dev/sdz9"),
            ("a mapping", |f| cmdline(f, "resume=/dev/mapper/gone"), "gone"),
            ("a label", |f| cmdline(f, "resume=LABEL=gone"), "gone"),
        ],
    },
];
