use super::*;
use crate::facts::BootLoader;

fn initramfs(facts: &mut Facts, names: &[&str]) {
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    facts.initramfs.contents = Fact::known(names, "/boot/initrd.img");
}

pub(super) const CASES: &[FindingCase] = &[
    FindingCase {
        code: "boot-compressor-not-loadable",
        base: |f| {
            zswap(f, &[("enabled", "Y")]);
            compressor(f, "zstd", Availability::Loaded);
            configured(f, "zswap.compressor=zstd");
            initramfs(f, &["lz4.ko.xz", "zstd.ko.xz"]);
        },
        says: &[
            "zswap.compressor=zstd will silently become",
            "not the liblzma",
            "/etc/default/grub: zswap.compressor=zstd",
            "swaptune apply --boot",
        ],
        but_not: &[
            ("the library is there", |f| initramfs(f, &["zstd.ko.xz", "liblzma.so.5"])),
            ("the module is plain", |f| initramfs(f, &["zstd.ko"])),
            ("the other library is there", |f| initramfs(f, &["zstd.ko.zst", "libzstd.so.1"])),
            ("it is built in", |f| compressor(f, "zstd", Availability::BuiltIn)),
            ("the kernel lacks it altogether", |f| compressor(f, "zstd", Availability::Absent)),
            ("it is not asked for", |f| configured(f, "quiet")),
            ("the image is not known", |f| f.initramfs.contents = Fact::default()),
            ("there is no zswap", no_zswap),
        ],
        also: &[
            ("no module", |f| initramfs(f, &["lz4.ko"]), "zstd is not in /boot/initrd.img"),
            ("a namesake", |f| initramfs(f, &["zstd_compress.ko"]), "zstd is not in /boot/initrd.img"),
            (
                "few modules",
                |f| {
                    initramfs(f, &[]);
                    f.initramfs.modules_setting = Fact::known("dep".into(), "initramfs.conf");
                },
                "because MODULES=dep",
            ),
            (
                "most modules",
                |f| {
                    initramfs(f, &["lz4.ko"]);
                    f.initramfs.modules_setting = Fact::known("most".into(), "initramfs.conf");
                },
                "not in /boot/initrd.img\n",
            ),
            ("a module packed otherwise", |f| initramfs(f, &["zstd.ko.zst"]), "not the libzstd"),
            ("a module that is not loaded", |f| compressor(f, "zstd", Availability::Module), "liblzma"),
            (
                "no known loader",
                |f| {
                    f.boot.arguments = Fact::absent("none");
                    cmdline(f, "zswap.compressor=zstd");
                },
                "/proc/cmdline: zswap.compressor=zstd",
            ),
        ],
    },
    FindingCase {
        code: "boot-zpool-not-loadable",
        base: |f| {
            kernel(f, "6.1.176");
            zswap(f, &[("zpool", "zbud")]);
            configured(f, "zswap.zpool=z3fold");
            config(f, &[("CONFIG_Z3FOLD", "m")]);
            initramfs(f, &["zsmalloc.ko"]);
        },
        says: &["zswap.zpool=z3fold will silently become", "z3fold is not in /boot/initrd.img", "CONFIG_Z3FOLD=m"],
        but_not: &[
            ("it is in the image", |f| initramfs(f, &["z3fold.ko"])),
            ("it is built in", |f| config(f, &[("CONFIG_Z3FOLD", "y")])),
            ("it is not asked for", |f| configured(f, "quiet")),
            ("this kernel has no choice", |f| with_zswap(f, |z| z.parameters.clear())),
            ("the kernel ignores the word", |f| kernel(f, "6.18.0")),
            ("there is no zswap", no_zswap),
        ],
        also: &[("the last kernel that reads the word", |f| kernel(f, "6.17.9"), "z3fold")],
    },
    FindingCase {
        code: "boot-words-pending",
        base: |f| {
            cmdline(f, "quiet zswap.enabled=0");
            configured(f, "zswap.enabled=1 zswap.max_pool_percent=30");
        },
        says: &["zswap.enabled, zswap.max_pool_percent in /etc/default/grub", "systemctl reboot"],
        but_not: &[
            ("they are the same", |f| configured(f, "zswap.enabled=0")),
            ("the loader is not known", |f| f.boot.arguments = Fact::absent("none")),
            ("the running one is not known", |f| f.kernel.cmdline = Fact::absent("none")),
            ("only other words differ", |f| configured(f, "zswap.enabled=0 splash")),
        ],
        also: &[("one that goes", |f| configured(f, "quiet"), "zswap.enabled in /etc/default/grub")],
    },
    FindingCase {
        code: "boot-grub-not-plain",
        base: |f| {
            f.boot.loader = Fact::known(BootLoader::Grub, "/etc/default/grub");
            file(f, "/etc/default/grub", "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\n");
            file(f, "/etc/default/grub.d/x.cfg", "A=1\nGRUB_CMDLINE_LINUX=\"$(cat /x)\"\n");
        },
        says: &["line 2 of /etc/default/grub.d/x.cfg has a command substitution", "editor +2 /etc/default/grub.d/x.cfg"],
        but_not: &[
            ("it is plain", |f| file(f, "/etc/default/grub.d/x.cfg", "GRUB_CMDLINE_LINUX=\n")),
            ("the loader is another", |f| f.boot.loader = Fact::known(BootLoader::Bls, "x")),
            ("the file is no business of GRUB", |f| {
                f.files.remove("/etc/default/grub.d/x.cfg");
                file(f, "/etc/default/zramswap", "GRUB_CMDLINE_LINUX=\"$(cat /x)\"\n");
            }),
        ],
        also: &[(
            "the main file",
            |f| file(f, "/etc/default/grub", "GRUB_CMDLINE_LINUX=\"\n"),
            "line 1 of /etc/default/grub has",
        )],
    },
];
