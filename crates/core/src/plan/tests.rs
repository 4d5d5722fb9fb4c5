//! What the planner decides for machines built from facts.

mod guards;

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
        size: Bytes::from_gib(4),
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

pub(super) fn request<'a>(facts: &'a Facts, settings: &'a Settings, wipe: &'a [String]) -> Request<'a> {
    Request {
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
fn auto_puts_zswap_in_front_of_the_disk() {
    let plan = plan_with(&server(), "", &[]);
    assert_eq!(plan.refusals, []);
    assert_eq!(knob(&plan, "zswap.compressor"), Some(("lzo", "zstd")));
    assert_eq!(knob(&plan, "zswap.enabled"), Some(("N", "Y")));
    assert_eq!(knob(&plan, "zswap.max_pool_percent"), Some(("20", "56")), "2.3 : 1 is assumed of zstd");
    assert_eq!(knob(&plan, "zswap.shrinker_enabled"), None, "it is off, and stays off");
    assert_eq!(knob(&plan, "vm.swappiness"), Some(("60", "160")));
    assert_eq!(knob(&plan, "vm.page-cluster"), Some(("3", "0")));
    assert_eq!(knob(&plan, "transparent_hugepage.enabled"), Some(("always", "madvise")));
    assert!(plan.steps.iter().all(|step| !step.reason.is_empty() && !step.evidence.is_empty()), "every line has a reason");
}

#[test]
fn auto_turns_the_shrinker_off_and_the_counts_say_why() {
    for cgroups in [1, 2] {
        let mut facts = server();
        facts.system.cgroup_version = Fact::known(cgroups, "/sys/fs/cgroup");
        if let Fact::Known { value, .. } = &mut facts.zswap {
            value.parameters.insert("shrinker_enabled".into(), "Y".into());
        }
        let plan = plan_with(&facts, "", &[]);
        assert_eq!(knob(&plan, "zswap.shrinker_enabled"), Some(("Y", "N")));
        let step = plan.steps.iter().find(|step| step.change.target() == "zswap.shrinker_enabled").unwrap();
        assert!(step.reason.contains("while all of them still fit") && step.evidence.contains("256 MiB"), "{step:?}");
    }
    let mut old = server();
    if let Fact::Known { value, .. } = &mut old.zswap {
        value.parameters.remove("shrinker_enabled");
    }
    assert!(
        !plan_with(&old, "", &[]).notes.iter().any(|note| note.about == "zswap.shrinker_enabled"),
        "the settings do not name it"
    );
}

#[test]
fn enabled_is_the_last_parameter_of_zswap() {
    let plan = plan_with(&server(), "", &[]);
    let names: Vec<_> = targets(&plan).into_iter().filter(|name| name.starts_with("zswap.")).collect();
    assert_eq!(names.last(), Some(&"zswap.enabled"));
    let Change::Knob { fallbacks, .. } = &plan.steps.iter().find(|s| s.change.target() == "zswap.compressor").unwrap().change
    else {
        panic!()
    };
    assert_eq!(fallbacks, &["lz4", "lzo-rle", "lzo"]);
}

#[test]
fn a_virtual_disk_that_says_it_spins_is_corrected_between_swapoff_and_swapon() {
    let plan = plan_with(&server(), "", &[]);
    let at = |wanted: &dyn Fn(&Change) -> bool| plan.steps.iter().position(|step| wanted(&step.change)).unwrap();
    let off = at(&|change| matches!(change, Change::Swap { after: None, .. }));
    let flag = at(&|change| matches!(change, Change::Knob { path, .. } if path == "/sys/class/block/vda/queue/rotational"));
    let on = at(&|change| matches!(change, Change::Swap { after: Some(SwapState { priority: 10, .. }), .. }));
    assert!(off < flag && flag < on);
    assert!(file(&plan, "/etc/udev/rules.d/60-swaptune.rules").unwrap().contains("KERNEL==\"vda\""));
}

#[test]
fn with_huge_pages_always_on_an_old_kernel_keeps_the_disk_rotational() {
    let config = "[knobs]\n\"transparent_hugepage.enabled\" = \"always\"\n";
    let plan = plan_with(&server(), config, &[]);
    assert!(!targets(&plan).contains(&"block.rotational") && noted(&plan, "past zswap"));
    let mut facts = server();
    facts.kernel.version = Fact::known(v(6, 18), "t");
    assert!(targets(&plan_with(&facts, config, &[])).contains(&"block.rotational"));
}

#[test]
fn two_areas_of_one_disk_go_off_before_it_is_corrected_once() {
    let mut facts = server();
    facts.swaps.push(area("/dev/vdb", "vdb", 10, 0));
    facts.block_devices.iter_mut().filter(|device| device.name == "vdb").for_each(|device| device.parent = Some("vda".into()));
    let plan = plan_with(&facts, "", &[]);
    let kinds: Vec<&str> = plan
        .steps
        .iter()
        .filter_map(|step| match &step.change {
            Change::Swap { after: None, .. } => Some("off"),
            Change::Swap { .. } => Some("on"),
            Change::Knob { name, .. } if name == "block.rotational" => Some("flag"),
            _ => None,
        })
        .collect();
    assert_eq!(kinds, ["off", "off", "flag", "on", "on"]);
}

#[test]
fn an_area_in_use_is_not_moved_now() {
    let mut facts = server();
    facts.swaps[0].used = Bytes::from_mib(300);
    let plan = plan_with(&facts, "", &[]);
    assert!(!plan.steps.iter().any(|step| matches!(step.change, Change::Swap { .. })));
    assert!(noted(&plan, "holds 300 MiB") && noted(&plan, "until the next boot its priority is -2 and not 10"));
    carry_out(&mut facts, &plan);
    let again = plan_with(&facts, "", &[]);
    assert!(again.is_empty() && !again.is_in_effect(), "nothing is left to do, and it is not as wanted");
    let settings = resolved(&facts, "");
    let at_boot = Request { now: false, ..request(&facts, &settings, &[]) };
    assert!(super::plan(&at_boot).is_in_effect(), "for the next boot it is");
    facts.swaps[0].priority = 10;
    facts.block_devices.iter_mut().for_each(|device| device.rotational = Fact::known(false, "t"));
    assert!(plan_with(&facts, "", &[]).is_in_effect());
    assert!(file(&plan, "/etc/fstab").unwrap().contains("pri=10"));
}

#[test]
fn fstab_gets_one_line_by_uuid_that_cannot_hold_up_the_boot() {
    let plan = plan_with(&server(), "", &[]);
    assert_eq!(file(&plan, "/etc/fstab").unwrap(), "UUID=root / ext4 defaults 0 1\nUUID=5a5a none swap sw,pri=10,nofail 0 0\n");
}

#[test]
fn a_broken_fstab_is_refused_by_its_line() {
    let mut facts = server();
    facts.files.insert("/etc/fstab".into(), Fact::known("UUID=x\n".into(), "t"));
    assert!(refused(&plan_with(&facts, "", &[]), "line 1 is broken"));
}

#[test]
fn the_guide_gives_its_values_and_leaves_out_what_the_kernel_dropped() {
    let mut facts = server();
    facts.kernel.version = Fact::known(v(6, 18), "t");
    if let Fact::Known { value, .. } = &mut facts.zswap {
        value.parameters.remove("zpool");
    }
    let plan = plan_with(&facts, "profile = \"idle-guide\"", &[]);
    assert_eq!(knob(&plan, "zswap.max_pool_percent"), Some(("20", "38")));
    assert_eq!(knob(&plan, "zswap.compressor"), Some(("lzo", "lz4")));
    assert_eq!(knob(&plan, "zswap.zpool"), None);
    assert!(noted(&plan, "gone since Linux 6.18"));
    let disputed = |step: &Step| step.change.target() == "zswap.max_pool_percent" && step.reason.contains("not a working point");
    assert!(plan.steps.iter().any(disputed), "a disputed value says so");
    let words = file(&plan, "/etc/default/grub.d/99-swaptune.cfg").unwrap();
    assert!(
        words.contains("zswap.enabled=1 ") && words.contains("zswap.max_pool_percent=38") && !words.contains("zpool"),
        "{words}"
    );
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
fn without_zswap_the_plan_offers_zram_and_says_why() {
    let mut facts = server();
    facts.zswap = Fact::absent("/sys/module/zswap: not there");
    let plan = plan_with(&facts, "", &[]);
    assert!(targets(&plan).contains(&"zram0"));
    let zram = plan.steps.iter().find(|step| step.change.target() == "zram0").unwrap();
    assert!(zram.reason.contains("this kernel has no zswap"));
    let on = plan.steps.iter().rfind(|step| matches!(&step.change, Change::Swap { path, .. } if path == "/dev/zram0")).unwrap();
    assert!(matches!(&on.change, Change::Swap { after: Some(SwapState { priority: 100, .. }), .. }));
}

#[test]
fn zram_beside_zswap_goes_after_the_disk_is_on() {
    let mut facts = server();
    facts.swaps.push(area("/dev/zram0", "zram0", 100, 0));
    facts.zram.devices = vec![ZramDevice {
        name: "zram0".into(),
        disksize: Bytes::from_gib(4),
        algorithm: Fact::known("lz4".into(), "t"),
        ..Default::default()
    }];
    facts.system.managers =
        vec![Manager { name: "zram-generator".into(), evidence: "/usr/lib/systemd/zram-generator.conf".into(), active: true }];
    let conf = "/usr/lib/systemd/zram-generator.conf";
    facts.files.insert(conf.into(), Fact::known("[zram0]\nzram-size = ram / 2\n".into(), "t"));
    let plan = plan_with(&facts, "", &[]);
    let names = targets(&plan);
    let off = plan
        .steps
        .iter()
        .position(|step| matches!(&step.change, Change::Swap { path, after: None, .. } if path == "/dev/zram0"))
        .unwrap();
    assert!(off > names.iter().position(|name| *name == "zswap.enabled").unwrap());
    assert!(names.contains(&"/etc/systemd/zram-generator.conf.d/zz-swaptune.conf"));
}

#[test]
fn zram_alone_is_kept_and_zswap_taken_away_from_it() {
    let mut facts = server();
    facts.swaps = vec![area("/dev/zram0", "zram0", 100, 5)];
    if let Fact::Known { value, .. } = &mut facts.zswap {
        value.enabled = true;
        value.parameters.insert("enabled".into(), "Y".into());
    }
    let plan = plan_with(&facts, "", &[]);
    assert_eq!(knob(&plan, "zswap.enabled"), Some(("Y", "N")));
    assert!(!plan.steps.iter().any(|step| matches!(step.change, Change::Zram { .. } | Change::Swap { .. })));
}

#[test]
fn a_priority_that_inverts_the_tiers_is_raised() {
    let mut facts = server();
    facts.zswap = Fact::absent("none");
    facts.swaps = vec![area("/dev/zram0", "zram0", 5, 0), area("/dev/vda3", "vda3", 10, 0)];
    let plan = plan_with(&facts, "", &[]);
    let raised = |step: &Step| matches!(&step.change, Change::Swap { path, after: Some(SwapState { priority: 100, .. }), .. } if path == "/dev/zram0");
    assert!(plan.steps.iter().any(raised));
}

#[test]
fn a_device_with_contents_is_never_overwritten_unless_named() {
    let config = "[[swap]]\npath = \"/dev/vda4\"\n";
    assert!(refused(&plan_with(&server(), config, &[]), "it carries ext4"));
    let plan = plan_with(&server(), config, &["/dev/vda4".to_owned()]);
    assert_eq!(plan.refusals, []);
    let header = plan.steps.iter().find(|step| matches!(step.change, Change::SwapHeader { wipe: true, .. })).unwrap();
    assert!(!header.risk.is_empty());
    assert!(refused(&plan_with(&server(), "[[swap]]\npath = \"/dev/vda2\"\n", &["/dev/vda2".to_owned()]), "mounted at /"));
    assert!(refused(&plan_with(&server(), "[[swap]]\npath = \"/dev/vda\"\n", &[]), "partition table"));
}

fn place(path: &str, mib: u64, holds: Holds) -> SwapPlace {
    SwapPlace { path: path.into(), size: Bytes::from_mib(mib), holds: Fact::known(holds, path) }
}

fn swap_header() -> Holds {
    Holds::Swap { uuid: "f11e".into(), label: String::new() }
}

#[test]
fn a_device_that_holds_what_has_no_signature_is_not_overwritten_either() {
    let config = "[[swap]]\npath = \"/dev/vdb\"\n";
    let with = |holds: Holds, wipe: &[String]| {
        let facts = Facts { swap_places: vec![place("/dev/vdb", 4096, holds)], ..server() };
        plan_with(&facts, config, wipe)
    };
    assert!(refused(&with(Holds::Unknown, &[]), "it carries data without a known signature"));
    assert!(refused(&with(Holds::Other { kind: "gfs2".into() }, &[]), "it carries gfs2"));
    assert_eq!(with(Holds::Unknown, &["/dev/vdb".to_owned()]).refusals, []);
    assert_eq!(with(Holds::Blank, &[]).refusals, []);
    let on = with(swap_header(), &[]);
    assert!(!on.steps.iter().any(|step| matches!(step.change, Change::SwapHeader { .. })), "its header is as good as ours");
}

/// Steps that change the swap file itself.
fn of_the_file(plan: &Plan) -> Vec<String> {
    let steps = plan.steps.iter().filter(|step| step.change.target() == "/swapfile");
    steps.map(|step| step.change.to_string()).collect()
}

#[test]
fn a_file_that_is_there_is_never_written_to_unless_named() {
    let config = "[[swap]]\npath = \"/swapfile\"\nsize = \"48M\"\n";
    let with = |mib: u64, holds: Holds, wipe: &[String]| {
        plan_with(&Facts { swap_places: vec![place("/swapfile", mib, holds)], ..server() }, config, wipe)
    };
    for holds in [Holds::Unknown, Holds::Blank, Holds::Other { kind: "ext4".into() }] {
        for mib in [1, 48] {
            let plan = with(mib, holds.clone(), &[]);
            assert!(refused(&plan, "is there that is no swap file, and swaptune did not make it"), "{holds:?}");
            assert_eq!(of_the_file(&plan), [] as [&str; 0]);
        }
    }
    let named = with(48, Holds::Unknown, &["/swapfile".to_owned()]);
    assert_eq!(named.refusals, []);
    let steps = of_the_file(&named);
    assert_eq!(steps[..2], ["/swapfile: 48 MiB → no file", "/swapfile: no file → 48 MiB"], "{steps:?}");
    assert!(named.steps.iter().any(|step| step.risk.contains("what the file holds is lost")));
    let mut unread = place("/swapfile", 48, Holds::Blank);
    unread.holds = Fact::absent("/swapfile: permission denied");
    let plan = plan_with(&Facts { swap_places: vec![unread], ..server() }, config, &[]);
    assert!(refused(&plan, "what it holds is unknown: /swapfile: permission denied"));
}

#[test]
fn a_swap_file_that_is_off_is_switched_on_as_it_is() {
    let config = "[[swap]]\npath = \"/swapfile\"\nsize = \"48M\"\n";
    let with = |mib: u64, config: &str| {
        plan_with(&Facts { swap_places: vec![place("/swapfile", mib, swap_header())], ..server() }, config, &[])
    };
    let plan = with(48, config);
    assert_eq!((of_the_file(&plan), plan.refusals.len()), (vec!["/swapfile: off → on, priority 10".to_owned()], 0));
    assert!(file(&plan, "/etc/fstab").unwrap().contains("/swapfile none swap sw,pri=10,nofail 0 0"));
    assert!(refused(&with(32, config), "it is a swap file of 32 MiB, and 48 MiB are wanted"));
    assert_eq!(with(32, "[[swap]]\npath = \"/swapfile\"\n").refusals, []);
    // What a rule would make is not forced on a swap file that is there already.
    let mut facts = server();
    facts.swaps.clear();
    facts.swap_places = vec![place("/swapfile", 32, swap_header())];
    assert_eq!(of_the_file(&plan_with(&facts, "", &[])), ["/swapfile: off → on, priority 10"]);
}

#[test]
fn a_zram_device_that_is_off_is_taken_as_it_is_or_set_up_anew() {
    let config = "[zswap]\nenabled = false\n[[zram]]\nsize = \"1G\"\nalgorithm = \"lz4\"\n";
    let with = |mib: u64, holds: Holds| {
        let mut facts = server();
        facts.zram.driver = Fact::known(Availability::Loaded, "t");
        facts.zram.devices = vec![ZramDevice {
            name: "zram0".into(),
            disksize: Bytes::from_mib(mib),
            algorithm: Fact::known("lz4".into(), "t"),
            algorithms: vec!["lz4".into()],
            ..Default::default()
        }];
        facts.swap_places = vec![place("/dev/zram0", mib, holds)];
        plan_with(&facts, config, &[])
    };
    let zram = |plan: &Plan| {
        plan.steps.iter().map(|step| step.change.to_string()).filter(|step| step.contains("zram0")).collect::<Vec<_>>()
    };
    assert_eq!(zram(&with(1024, swap_header())), ["/dev/zram0: off → on, priority 100"]);
    assert_eq!(zram(&with(512, swap_header()))[0], "zram0: 512 MiB lz4 → 1 GiB lz4");
    assert!(refused(&with(1024, Holds::Other { kind: "ext4".into() }), "set up and holds something that is no swap"));
}

#[test]
fn a_plan_for_this_boot_alone_says_what_a_reboot_leaves() {
    let facts = server();
    let settings = resolved(&facts, "[[swap]]\npath = \"/swapfile\"\nsize = \"48M\"\n");
    let text = "a reboot switches it off, and the file stays until `swaptune rollback`";
    assert!(noted(&plan(&Request { boot: false, ..request(&facts, &settings, &[]) }), text));
    assert!(!noted(&plan(&request(&facts, &settings, &[])), text));
}

#[test]
fn a_missing_device_that_is_optional_is_skipped_and_the_rest_done() {
    let config =
        "[[swap]]\npath = \"/dev/vdz\"\noptional = true\n[[swap]]\npath = \"/dev/vdb\"\n[[swap]]\npath = \"UUID=5a5a\"\n";
    let plan = plan_with(&server(), config, &[]);
    assert_eq!(plan.refusals, []);
    assert!(noted(&plan, "/dev/vdz is not there: skipped"));
    let fstab = file(&plan, "/etc/fstab").unwrap();
    assert!(!fstab.contains("vdz") && fstab.matches("pri=10,nofail").count() == 2, "{fstab}");
    let strict = "[[swap]]\npath = \"/dev/vdz\"\noptional = false\n";
    assert!(refused(&plan_with(&server(), strict, &[]), "no device of this name is there"));
}

#[test]
fn a_machine_without_swap_gets_one_file() {
    let mut facts = server();
    facts.swaps.clear();
    let plan = plan_with(&facts, "", &[]);
    let names = targets(&plan);
    assert_eq!(names.iter().filter(|name| **name == "/swapfile").count(), 3, "file, header, on: {names:?}");
    assert!(file(&plan, "/etc/fstab").unwrap().contains("/swapfile none swap sw,pri=10,nofail 0 0"));
    facts.mounts = vec![root("overlay")];
    let plan = plan_with(&facts, "", &[]);
    assert!(targets(&plan).contains(&"zram0"), "no disk is fit: zram");
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

#[test]
fn a_compressor_that_nobody_has_is_refused() {
    assert!(refused(&plan_with(&server(), "[zswap]\ncompressor = \"snappy\"", &[]), "it has lzo, lzo-rle, lz4, zstd"));
}

/// Carries a plan out on the facts themselves, the way the write side does on a machine.
pub(super) fn carry_out(facts: &mut Facts, plan: &Plan) {
    for step in &plan.steps {
        match step.change.clone() {
            Change::Knob { name, after, .. } if name.starts_with("zswap.") => {
                if let Fact::Known { value, .. } = &mut facts.zswap {
                    value.enabled |= name == "zswap.enabled" && after == "Y";
                    value.parameters.insert(name["zswap.".len()..].to_owned(), after);
                }
            }
            Change::Knob { name, .. } if name == "block.rotational" => {
                facts.block_devices.iter_mut().for_each(|device| device.rotational = Fact::known(false, "t"));
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
    let cases: [(&str, Facts, &str); 5] = [
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
