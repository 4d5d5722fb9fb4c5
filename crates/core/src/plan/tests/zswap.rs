//! zswap and zram: parameters, and one beside the other.

use super::*;

#[test]
fn auto_puts_zswap_in_front_of_the_disk() {
    let plan = plan_with(&server(), "", &[]);
    assert_eq!(plan.refusals, []);
    assert_eq!(knob(&plan, "zswap.compressor"), Some(("lzo", "zstd")));
    assert_eq!(knob(&plan, "zswap.enabled"), Some(("N", "Y")));
    assert_eq!(knob(&plan, "zswap.max_pool_percent"), Some(("20", "80")));
    assert_eq!(knob(&plan, "zswap.shrinker_enabled"), None, "it is off, and stays off");
    assert_eq!(knob(&plan, "vm.swappiness"), Some(("60", "160")));
    assert_eq!(knob(&plan, "vm.page-cluster"), Some(("3", "0")));
    assert_eq!(knob(&plan, "transparent_hugepage.enabled"), Some(("always", "madvise")));
    assert!(plan.steps.iter().all(|step| !step.reason.is_empty() && !step.evidence.is_empty()), "every line has a reason");
}

#[test]
fn the_reason_for_zswap_says_what_becomes_of_a_full_pool() {
    let reason = |facts: &Facts, config: &str| {
        let plan = plan_with(facts, config, &[]);
        plan.steps.iter().find(|step| step.change.target() == "zswap.enabled").unwrap().reason.clone()
    };
    let on = |version, memory_controller| {
        let mut facts = server();
        facts.kernel.version = Fact::known(version, "t");
        facts.system.memory_controller = Fact::known(memory_controller, "t");
        facts
    };
    for (version, controller, says) in [
        (v(6, 1), true, "before Linux 6.2 a full pool of zsmalloc is not written back, so that past that new ones go straight"),
        (v(6, 2), true, "before Linux 6.5 little of a full pool is written back"),
        (v(6, 7), false, "writes the coldest to the disk"),
        (v(6, 8), false, "memory cgroups are disabled, without which Linux 6.8 to 7.1 writes nothing back"),
        (v(6, 8), true, "writes the coldest to the disk"),
        (v(7, 1), false, "memory cgroups are disabled"),
        (v(7, 2), false, "writes the coldest to the disk"),
    ] {
        let said = reason(&on(version, controller), "");
        assert!(said.contains(says), "{version}: {said}");
    }
    let named = reason(&on(v(6, 1), true), "[zswap]\nzpool = \"zbud\"\n");
    assert!(named.contains("before Linux 6.5 little"), "{named}");
    assert!(reason(&server(), "").contains("writes the coldest"), "what is not known is not said");
}

#[test]
fn groups_of_version_1_keep_their_swappiness_and_the_plan_says_so() {
    let told = |version: u8, controller: bool| {
        let mut facts = server();
        facts.system.cgroup_version = Fact::known(version, "/sys/fs/cgroup");
        facts.system.memory_controller = Fact::known(controller, "/proc/cgroups");
        let plan = plan_with(&facts, "", &[]);
        plan.notes.iter().any(|note| note.about == "vm.swappiness" && note.text.contains("memory.swappiness"))
    };
    assert_eq!([told(1, true), told(1, false), told(2, true)], [true, false, false]);
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
    let other = with(1024, Holds::Other { kind: "ext4".into() });
    assert!(refused(&other, "set up and holds something other than swap"));
    assert!(other.refusals[0].hint.contains("zramctl --reset"));
    // What is mounted is not to be reset.
    let mut facts = server();
    facts.zram.driver = Fact::known(Availability::Loaded, "t");
    facts.zram.devices = vec![ZramDevice { name: "zram0".into(), disksize: Bytes::from_mib(64), ..Default::default() }];
    facts.mounts.push(Mount { at: "/var/log".into(), device: Fact::known("zram0".into(), "mountinfo"), ..root("ext4") });
    facts.swap_places = vec![place("/dev/zram0", 64, Holds::Other { kind: "ext4".into() })];
    let mounted = plan_with(&facts, config, &[]);
    assert!(refused(&mounted, "mounted at /var/log"), "{:?}", mounted.refusals);
    assert!(!mounted.refusals[0].hint.contains("reset"));
}

#[test]
fn a_compressor_that_no_kernel_has_is_refused() {
    assert!(refused(&plan_with(&server(), "[zswap]\ncompressor = \"snappy\"", &[]), "it has lzo, lzo-rle, lz4, zstd"));
}
