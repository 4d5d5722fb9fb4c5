//! What the planner decides for machines built from facts.

mod areas;
mod guards;
mod zram_upkeep;
mod zswap;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::*;
use crate::Fact;
use crate::change::SwapState;
use crate::facts::*;
use crate::measurement::Evidence;
use crate::profiles;
use crate::settings::{Settings, read_toml};
use crate::units::Bytes;
use swaptune_kernel::v;

/// A Debian 13 server: 8 GiB of RAM, one virtual disk with a swap partition, systemd, GRUB, zswap off.
pub(super) fn server() -> Facts {
    let known = |text: &str| Fact::known(text.to_owned(), "test");
    let mut facts = Facts::default();
    facts.kernel.release = known("6.12.107+deb13-amd64");
    facts.kernel.version = Fact::known(v(6, 12), "test");
    facts.kernel.cpus = Fact::known(2, "test");
    facts.kernel.page_size = Bytes(4096);
    facts.system.init = Fact::known(InitSystem::Systemd, "/proc/1/comm");
    facts.system.os_id = known("debian");
    facts.memory.meminfo = Fact::known(BTreeMap::from([("MemTotal".into(), Bytes::from_gib(8))]), "/proc/meminfo");
    facts.zswap = Fact::known(zswap_off(), "/sys/module/zswap/parameters");
    facts.zram.driver = Fact::known(Availability::Module, "modules.dep");
    facts.compressors = ["lzo:BuiltIn", "lzo-rle:BuiltIn", "lz4:Module", "zstd:Module"].map(compressor).to_vec();
    facts.block_devices = disks();
    facts.mounts = vec![root("ext4")];
    facts.swaps = vec![area("/dev/vda3", "vda3", -2, 0)];
    facts.boot.loader = Fact::known(BootLoader::Grub, "/etc/default/grub");
    facts.boot.arguments = Fact::known(grub_store("quiet"), "/etc/default/grub");
    facts.initramfs.tool = Fact::known(InitramfsTool::InitramfsTools, "/usr/sbin/update-initramfs");
    facts.initramfs.image = known("/boot/initrd.img-6.12.107+deb13-amd64");
    facts.initramfs.contents = Fact::known(vec!["zstd.ko.xz".into(), "lz4.ko.xz".into()], "initrd");
    for (name, value) in [
        ("vm.swappiness", "60"),
        ("vm.page-cluster", "3"),
        ("vm.watermark_scale_factor", "10"),
        ("transparent_hugepage.enabled", "always"),
    ] {
        facts.knobs.insert(name.into(), known(value));
    }
    facts.files.insert("/etc/fstab".into(), known("UUID=root / ext4 defaults 0 1\nUUID=5a5a none swap sw 0 0\n"));
    facts.files.insert("/etc/default/grub".into(), known("GRUB_TIMEOUT=5\nGRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\n"));
    facts
}

fn zswap_off() -> ZswapFacts {
    let parameters = [
        ("enabled", "N"),
        ("compressor", "lzo"),
        ("zpool", "zsmalloc"),
        ("max_pool_percent", "20"),
        ("accept_threshold_percent", "90"),
        ("shrinker_enabled", "N"),
    ];
    ZswapFacts { parameters: parameters.map(|(k, v)| (k.to_owned(), v.to_owned())).into(), ..ZswapFacts::default() }
}

pub(super) fn compressor(spec: &str) -> Compressor {
    let (name, state) = spec.split_once(':').unwrap();
    let availability = match state {
        "BuiltIn" => Availability::BuiltIn,
        "Module" => Availability::Module,
        _ => Availability::Absent,
    };
    Compressor { name: name.into(), availability, source: "modules.builtin".into() }
}

fn disks() -> Vec<BlockDevice> {
    let disk = BlockDevice {
        name: "vda".into(),
        size: Bytes::from_gib(40),
        transport: Transport::Virtual,
        rotational: Fact::known(true, "t"),
        ..Default::default()
    };
    let part = |name: &str, contents: &str, uuid: &str| BlockDevice {
        name: name.into(),
        // As much swap as the plan wants for 8 GiB of RAM.
        size: Bytes::from_gib(16),
        parent: Some("vda".into()),
        contents: Fact::known(contents.to_owned(), "udev"),
        uuid: Some(uuid.into()),
        ..disk.clone()
    };
    let mut root = part("vda2", "ext4", "root");
    root.mounted_at = Some("/".into());
    let empty = BlockDevice {
        name: "vdb".into(),
        size: Bytes::from_gib(4),
        parent: None,
        contents: Fact::absent("no signature"),
        uuid: None,
        ..disk.clone()
    };
    vec![disk.clone(), root, part("vda3", "swap", "5a5a"), part("vda4", "ext4", "data"), empty]
}

pub(super) fn root(filesystem: &str) -> Mount {
    Mount {
        at: "/".into(),
        filesystem: filesystem.into(),
        source: "/dev/vda2".into(),
        device: Fact::known("vda2".into(), "t"),
        free: Fact::known(Bytes::from_gib(30), "statvfs"),
        total: Fact::known(Bytes::from_gib(40), "statvfs"),
        read_only: false,
    }
}

pub(super) fn area(path: &str, device: &str, priority: i32, used_mib: u64) -> SwapArea {
    SwapArea {
        path: path.into(),
        kind: SwapKind::Partition,
        size: Bytes::from_gib(4),
        used: Bytes::from_mib(used_mib),
        priority,
        device: Fact::known(device.into(), "t"),
        uuid: Fact::known("5a5a".into(), "udev"),
        encryption: Fact::known(Encryption::None, "t"),
        filesystem: Fact::absent("not a file"),
    }
}

pub(super) fn grub_store(configured: &str) -> KernelArgStore {
    KernelArgStore {
        path: "/etc/default/grub".into(),
        configured: configured.into(),
        reads_dropins: true,
        generated: vec!["/boot/grub/grub.cfg".into()],
        in_generated: Vec::new(),
        regenerate: Some(vec!["update-grub".into()]),
    }
}

static NOTHING_MEASURED: LazyLock<Evidence> = LazyLock::new(Evidence::default);

pub(super) fn plan_with(facts: &Facts, config: &str, wipe: &[String]) -> Plan {
    let settings = resolved(facts, config);
    plan(&request(facts, &settings, wipe))
}

pub(super) fn request<'a>(facts: &'a Facts, settings: &'a Settings, wipe: &'a [String]) -> PlanRequest<'a> {
    PlanRequest {
        facts,
        settings,
        evidence: &NOTHING_MEASURED,
        forecast: None,
        now: true,
        boot: true,
        record: true,
        wipe,
        binary: "/usr/local/bin/swaptune",
        installed: true,
        seed: 7,
    }
}

pub(super) fn resolved(facts: &Facts, config: &str) -> Settings {
    profiles::resolve(vec![read_toml("c.toml", config, None).unwrap()], facts, &NOTHING_MEASURED, None).unwrap()
}

pub(super) fn knob<'a>(plan: &'a Plan, name: &str) -> Option<(&'a str, &'a str)> {
    plan.steps.iter().find_map(|step| match &step.change {
        Change::Knob { name: n, before, after, .. } if n == name => Some((before.as_str(), after.as_str())),
        _ => None,
    })
}

pub(super) fn file<'a>(plan: &'a Plan, path: &str) -> Option<&'a str> {
    plan.steps.iter().find_map(|step| match &step.change {
        Change::File { path: p, after, .. } if p == path => after.as_deref(),
        _ => None,
    })
}

pub(super) fn targets(plan: &Plan) -> Vec<&str> {
    plan.steps.iter().map(|step| step.change.target()).collect()
}

pub(super) fn noted(plan: &Plan, words: &str) -> bool {
    plan.notes.iter().any(|note| note.text.contains(words))
}

pub(super) fn refused(plan: &Plan, words: &str) -> bool {
    plan.refusals.iter().any(|refusal| refusal.why.contains(words))
}

#[test]
fn on_debian_13_the_command_line_names_a_compressor_that_is_there_at_boot() {
    let plan = plan_with(&server(), "profile = \"idle-guide\"", &[]);
    assert!(file(&plan, "/etc/default/grub.d/99-swaptune.cfg").unwrap().contains("zswap.compressor=lzo-rle"));
    assert!(noted(&plan, "the service writes lz4 once modules are loaded"));
    let mut facts = server();
    facts.initramfs.contents = Fact::known(vec!["lz4.ko.xz".into(), "liblzma.so.5".into()], "initrd");
    let plan = plan_with(&facts, "profile = \"idle-guide\"", &[]);
    assert!(file(&plan, "/etc/default/grub.d/99-swaptune.cfg").unwrap().contains("zswap.compressor=lz4 "));
}

#[test]
fn older_zswap_words_are_replaced_not_duplicated() {
    let mut facts = server();
    let old = "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet zswap.enabled=1 zswap.zpool=z3fold\"\n";
    facts.files.insert("/etc/default/grub".into(), Fact::known(old.into(), "t"));
    facts.boot.arguments = Fact::known(grub_store("quiet zswap.enabled=1 zswap.zpool=z3fold"), "t");
    let plan = plan_with(&facts, "", &[]);
    assert_eq!(file(&plan, "/etc/default/grub").unwrap(), "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\n");
    assert!(file(&plan, "/etc/default/grub.d/99-swaptune.cfg").unwrap().contains("zswap.zpool=zsmalloc"));
    assert!(targets(&plan).contains(&"boot loader configuration"));
}

#[test]
fn a_grub_file_that_only_a_shell_understands_is_refused() {
    let mut facts = server();
    facts.files.insert("/etc/default/grub".into(), Fact::known("GRUB_CMDLINE_LINUX_DEFAULT=\"$(cat /x)\"\n".into(), "t"));
    let plan = plan_with(&facts, "profile = \"idle-guide\"", &[]);
    assert!(plan.refusals.iter().any(|refusal| refusal.what == "/etc/default/grub"), "{:?}", plan.refusals);
}

#[test]
fn a_plan_for_this_boot_alone_says_what_a_reboot_leaves() {
    let facts = server();
    let settings = resolved(&facts, "[[swap]]\npath = \"/swapfile\"\nsize = \"48M\"\n");
    let text = "a reboot switches it off, and the file stays until `swaptune rollback`";
    assert!(noted(&plan(&PlanRequest { boot: false, ..request(&facts, &settings, &[]) }), text));
    assert!(!noted(&plan(&request(&facts, &settings, &[])), text));
}

#[test]
fn a_container_is_left_to_its_host() {
    let mut facts = server();
    facts.system.container = Fact::known(Container { kind: "lxc".into() }, "/proc/1/environ");
    let plan = plan_with(&facts, "", &[]);
    assert!(plan.is_empty() && refused(&plan, "lxc container"));
}

#[test]
fn a_later_sysctl_file_loses_its_line() {
    let mut facts = server();
    let path = "/etc/sysctl.d/zz-local.conf";
    facts.files.insert(path.into(), Fact::known("vm.swappiness = 1\nvm.laptop_mode = 5\n".into(), "t"));
    facts.sysctl_sources.insert("vm.swappiness".into(), vec![SysctlSource { path: path.into(), line: 1, value: "1".into() }]);
    let plan = plan_with(&facts, "", &[]);
    let text = file(&plan, path).unwrap();
    assert!(text.contains("vm.laptop_mode = 5\n") && text.lines().all(|line| !line.starts_with("vm.swappiness")), "{text}");
}

#[test]
fn a_binary_that_is_not_installed_is_said() {
    let facts = server();
    let settings = resolved(&facts, "");
    let mut request = request(&facts, &settings, &[]);
    request.installed = false;
    assert!(noted(&plan(&request), "sudo make install"));
    request.boot = false;
    assert!(!noted(&plan(&request), "sudo make install"));
}

/// Carries a plan out on the facts themselves, the way the write side does on a machine.
fn place(path: &str, mib: u64, holds: Holds) -> SwapPlace {
    SwapPlace { path: path.into(), size: Bytes::from_mib(mib), holds: Fact::known(holds, path) }
}

fn swap_header() -> Holds {
    Holds::Swap { uuid: "f11e".into(), label: String::new() }
}

pub(super) fn carry_out(facts: &mut Facts, plan: &Plan) {
    for step in &plan.steps {
        match step.change.clone() {
            Change::Knob { name, after, .. } if name.starts_with("zswap.") => {
                if let Fact::Known { value, .. } = &mut facts.zswap {
                    value.enabled |= name == "zswap.enabled" && after == "Y";
                    value.parameters.insert(name["zswap.".len()..].to_owned(), after);
                }
            }
            Change::Knob { name, path, .. } if name == "block.rotational" => {
                let disk = path.split('/').nth(4).unwrap();
                let of_disk = facts.block_devices.iter_mut().filter(|device| device.name.starts_with(disk));
                of_disk.for_each(|device| device.rotational = Fact::known(false, "t"));
            }
            Change::Knob { name, after, .. } => drop(facts.knobs.insert(name, Fact::known(after, "t"))),
            Change::File { path, after, .. } | Change::Link { path, after, .. } => {
                match after {
                    Some(text) => facts.files.insert(path, Fact::known(text, "t")),
                    None => facts.files.remove(&path),
                };
            }
            Change::Swap { path, after, .. } => {
                facts.swaps.retain(|area| area.path != path);
                if let Some(state) = after {
                    let device = path.strip_prefix("/dev/").unwrap_or("vda2").to_owned();
                    let mut on = area(&path, &device, state.priority, 0);
                    on.kind = if path.starts_with("/dev/") { SwapKind::Partition } else { SwapKind::File };
                    on.size = if on.kind == SwapKind::File { Bytes(Bytes::from_gib(7).0 + (1 << 29) - 4096) } else { on.size };
                    let header = facts.block_devices.iter().find(|known| known.name == device);
                    if let Some(uuid) = header.and_then(|known| known.uuid.clone()).filter(|_| on.kind == SwapKind::Partition) {
                        on.uuid = Fact::known(uuid, "t");
                    }
                    facts.swaps.push(on);
                }
            }
            Change::SwapHeader { path, after, .. } => {
                if let (Some(device), Some(header)) = (facts.block_devices.iter_mut().find(|d| path.ends_with(&d.name)), after) {
                    device.contents = Fact::known("swap".into(), "t");
                    device.uuid = Some(header.uuid);
                }
            }
            Change::Zram { name, after, .. } => {
                facts.zram.devices =
                    after.map(|state| ZramDevice { name, disksize: state.disksize, ..Default::default() }).into_iter().collect();
            }
            Change::Generated { .. } => {
                let text = facts.file("/etc/default/grub.d/99-swaptune.cfg").unwrap_or_default();
                let words = text.split('"').nth(1).unwrap_or_default().replace("$GRUB_CMDLINE_LINUX_DEFAULT", "quiet");
                facts.boot.arguments = Fact::known(grub_store(&words), "t");
            }
            // What devices are made of is played by the tests of `plan/device`.
            Change::Format { .. } | Change::KeyFile { .. } | Change::Mapping { .. } => {}
            Change::SwapFile { .. } | Change::Module { .. } => {}
        }
    }
}

#[test]
fn after_an_apply_there_is_nothing_to_do() {
    let no_swap = || {
        let mut facts = server();
        facts.swaps.clear();
        facts
    };
    let cloud = || {
        let mut facts = server();
        facts.zswap = Fact::absent("none");
        facts
    };
    // Areas with slots for zswap, not for all that is planned for, and the zram that a guide put before them.
    let zram_before_a_disk = || {
        let mut facts = server();
        facts.block_devices.iter_mut().filter(|device| device.name == "vda3").for_each(|device| device.size = Bytes::from_gib(8));
        facts.zram.driver = Fact::known(Availability::Loaded, "t");
        facts.zram.devices = vec![ZramDevice { name: "zram0".into(), disksize: Bytes::from_gib(4), ..Default::default() }];
        facts.swaps.push(area("/dev/zram0", "zram0", 100, 0));
        facts
    };
    let cases: [(&str, Facts, &str); 6] = [
        ("zram before a disk", zram_before_a_disk(), ""),
        ("auto", server(), ""),
        ("guide", server(), "profile = \"idle-guide\""),
        ("no swap", no_swap(), ""),
        ("cloud", cloud(), ""),
        ("new area", server(), "[[swap]]\npath = \"/dev/vdb\"\npriority = 3\n"),
    ];
    for (name, mut facts, config) in cases {
        let first = plan_with(&facts, config, &[]);
        assert!(!first.is_empty() && first.refusals.is_empty(), "{name}: {:?}", first.refusals);
        carry_out(&mut facts, &first);
        let second = plan_with(&facts, config, &[]);
        assert!(second.is_empty(), "{name}: {:#?}", second.steps);
    }
}

#[test]
fn off_leaves_bytes_by_the_ratio_that_they_cleared() {
    let mut facts = server();
    facts.files.insert(owned::APPLIED_FILE.into(), Fact::known("[knobs]\n\"vm.dirty_bytes\" = 67108864\n".into(), "file"));
    for (name, live) in [("vm.dirty_bytes", "67108864"), ("vm.dirty_ratio", "0")] {
        facts.knobs.insert(name.into(), Fact::known(live.into(), name));
    }
    let off = plan_with(&facts, "profile = \"off\"", &[]);
    assert_eq!((knob(&off, "vm.dirty_ratio"), knob(&off, "vm.dirty_bytes")), (Some(("0", "20")), None));
}

#[test]
fn off_takes_back_what_an_apply_set() {
    let mut facts = server();
    let first = plan_with(&facts, "profile = \"idle-guide\"", &[]);
    carry_out(&mut facts, &first);
    let off = plan_with(&facts, "profile = \"off\"", &[]);
    assert_eq!(knob(&off, "zswap.enabled"), Some(("Y", "N")));
    assert_eq!(knob(&off, "vm.swappiness"), Some(("80", "60")));
    assert_eq!(knob(&off, "zswap.max_pool_percent"), Some(("38", "20")));
    carry_out(&mut facts, &off);
    assert!(!facts.files.keys().any(|path| path.contains("swaptune")), "no owned file stays");
    assert!(
        plan_with(&facts, "profile = \"off\"", &[]).steps.iter().all(|step| step.change.target().starts_with("zswap.c")),
        "nothing is left to do"
    );
}
