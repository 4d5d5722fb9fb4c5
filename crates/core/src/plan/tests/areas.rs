//! Areas: devices, files, fstab, priorities.

use super::*;

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
fn an_area_that_goes_off_and_on_keeps_its_discard() {
    for (option, once, pages) in
        [("sw", false, false), ("discard", true, true), ("discard=once", true, false), ("discard=pages", false, true)]
    {
        let mut facts = server();
        facts.files.insert("/etc/fstab".into(), Fact::known(format!("UUID=5a5a none swap {option} 0 0\n"), "t"));
        let plan = plan_with(&facts, "", &[]);
        let sides: Vec<SwapState> = plan
            .steps
            .iter()
            .filter_map(|step| match &step.change {
                Change::Swap { path, before, after } if path == "/dev/vda3" => Some([*before, *after]),
                _ => None,
            })
            .flatten()
            .flatten()
            .collect();
        assert_eq!(sides.len(), 2, "{option}: {sides:?}");
        assert!(sides.iter().all(|side| (side.discard_once, side.discard_pages) == (once, pages)), "{option}: {sides:?}");
    }
}

#[test]
fn a_disk_that_is_corrected_already_keeps_its_rule_when_another_is() {
    let mut facts = server();
    let first = plan_with(&facts, "", &[]);
    carry_out(&mut facts, &first);
    let both = "[[swap]]\npath = \"UUID=5a5a\"\n[[swap]]\npath = \"/dev/vdb\"\n";
    let second = plan_with(&facts, both, &[]);
    let rules = file(&second, "/etc/udev/rules.d/60-swaptune.rules").unwrap();
    assert!(rules.contains("KERNEL==\"vda\"") && rules.contains("KERNEL==\"vdb\""), "{rules}");
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
fn an_area_is_recorded_by_a_name_that_lasts() {
    let name = |facts: &Facts| resolved(facts, "").swap.unwrap().value[0].path.clone();
    let device = |facts: &mut Facts, wanted: &str, change: &dyn Fn(&mut BlockDevice)| {
        facts.block_devices.iter_mut().filter(|device| device.name == wanted).for_each(change);
    };
    let mut facts = server();
    assert_eq!(name(&facts), "UUID=5a5a");
    device(&mut facts, "vda3", &|device| device.partuuid = Some("p-03".into()));
    assert_eq!(name(&facts), "PARTUUID=p-03");
    let recorded = file(&plan_with(&facts, "", &[]), APPLIED_FILE).unwrap().to_owned();
    // A boot that finds the disks in another order: what was vda3 is vdb3 now.
    let mut other = facts.clone();
    device(&mut other, "vda3", &|device| device.name = "vdb3".into());
    other.swaps = vec![area("/dev/vdb3", "vdb3", 10, 0)];
    let plan = plan_with(&other, &recorded.replace("profile = \"auto\"", "profile = \"none\""), &[]);
    assert!(plan.refusals.is_empty() && !plan.steps.iter().any(|step| matches!(step.change, Change::Swap { .. })), "{plan:?}");
    // A disk and its copy have the same names; the header of one was made anew.
    device(&mut facts, "vda4", &|device| device.partuuid = Some("P-03".into()));
    assert_eq!(name(&facts), "UUID=5a5a");
    device(&mut facts, "vda4", &|device| device.uuid = Some("5a5a".into()));
    assert_eq!(name(&facts), "/dev/vda3");
    device(&mut facts, "vda3", &|device| device.dm_name = Some("swap".into()));
    assert_eq!(name(&facts), "/dev/mapper/swap");
}

#[test]
fn areas_are_recorded_in_one_order_whatever_order_they_came_up_in() {
    let mut facts = server();
    facts.swaps.push(SwapArea {
        kind: SwapKind::File,
        device: Fact::known("vda2".into(), "t"),
        ..area("/swapfile", "vda2", 10, 0)
    });
    let recorded = |facts: &Facts| file(&plan_with(facts, "", &[]), APPLIED_FILE).map(str::to_owned);
    let one = recorded(&facts);
    facts.swaps.reverse();
    assert_eq!(recorded(&facts), one);
}

/// The server with a second area, on a disk with heads.
fn with_a_hard_disk(priority: i32) -> Facts {
    let mut facts = server();
    facts.swaps.push(area("/dev/sda1", "sda1", priority, 0));
    let disk = BlockDevice {
        name: "sda".into(),
        size: Bytes::from_gib(4),
        transport: Transport::Scsi,
        rotational: Fact::known(true, "t"),
        ..Default::default()
    };
    let part = BlockDevice { name: "sda1".into(), parent: Some("sda".into()), ..disk.clone() };
    facts.block_devices.extend([disk, part]);
    facts
}

#[test]
fn an_area_on_a_hard_disk_is_not_filled_in_turn_with_a_quicker_one() {
    for (quick, slow, expect) in [(100, 1, [100, 1]), (-2, -3, [10, 9]), (-1, -1, [10, 9]), (5, -2, [5, 4])] {
        let mut facts = with_a_hard_disk(slow);
        facts.swaps[0].priority = quick;
        let planned = |facts: &Facts| {
            let areas = resolved(facts, "").swap.unwrap().value;
            let of = |slow| areas.iter().find(|area| (area.path == "/dev/sda1") == slow).unwrap().priority;
            [of(false), of(true)]
        };
        assert_eq!(planned(&facts), expect);
        let plan = plan_with(&facts, "", &[]);
        carry_out(&mut facts, &plan);
        assert_eq!(planned(&facts), expect, "and it stays");
    }
}

#[test]
fn a_file_beside_a_hard_disk_is_filled_before_it() {
    let mut facts = with_a_hard_disk(-2);
    facts.swaps.remove(0);
    let plan = plan_with(&facts, "", &[]);
    let on = |plan: &Plan, wanted: &str| {
        plan.steps.iter().find_map(|step| match &step.change {
            Change::Swap { path, after: Some(state), .. } if path == wanted => Some(state.priority),
            _ => None,
        })
    };
    assert_eq!((on(&plan, "/swapfile"), on(&plan, "/dev/sda1")), (Some(11), Some(10)), "heads do not go back and forth");
    // The other way round: / has heads, the area that is on has none.
    let mut facts = with_a_hard_disk(-2);
    facts.swaps.truncate(1);
    facts.block_devices.iter_mut().filter(|device| device.name == "vda3").for_each(|device| device.size = Bytes::from_gib(8));
    assert_eq!(on(&plan_with(&facts, "", &[]), "/swapfile"), Some(10));
    facts.mounts[0].device = Fact::known("sda1".into(), "t");
    let plan = plan_with(&facts, "", &[]);
    assert_eq!(on(&plan, "/swapfile"), None);
    assert!(noted(&plan, "the disk of /, which spins"), "{:?}", plan.notes);
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
    let at_boot = PlanRequest { now: false, ..request(&facts, &settings, &[]) };
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
fn a_line_keeps_what_the_plan_does_not_speak_of() {
    let mut facts = server();
    let line = "UUID=5a5a none swap sw,pri=3,noauto,_netdev,x-systemd.requires=iscsid.service,discard=once,noatime 0 0\n";
    facts.files.insert("/etc/fstab".into(), Fact::known(line.into(), "t"));
    let kept = "UUID=5a5a none swap sw,pri=10,nofail,noauto,_netdev,x-systemd.requires=iscsid.service,discard=once 0 0\n";
    let plan = plan_with(&facts, "", &[]);
    assert_eq!(file(&plan, "/etc/fstab"), Some(kept));
    let step = plan.steps.iter().find(|step| step.change.target() == "/etc/fstab").unwrap();
    assert!(step.reason.contains("but for UUID=5a5a with noauto"), "{}", step.reason);
}

#[test]
fn a_broken_fstab_is_refused_by_its_line() {
    let mut facts = server();
    facts.files.insert("/etc/fstab".into(), Fact::known("UUID=x\n".into(), "t"));
    assert!(refused(&plan_with(&facts, "", &[]), "line 1 is broken"));
}

#[test]
fn a_priority_that_inverts_the_tiers_is_raised() {
    let mut facts = server();
    facts.zswap = Fact::absent("none");
    facts.swaps = vec![area("/dev/zram0", "zram0", 5, 0), area("/dev/vda3", "vda3", 10, 0)];
    facts.zram.driver = Fact::known(Availability::Loaded, "t");
    let algorithm = Fact::known("zstd".into(), "t");
    facts.zram.devices = vec![ZramDevice { name: "zram0".into(), disksize: Bytes::from_gib(4), algorithm, ..Default::default() }];
    let raised = |step: &Step| matches!(&step.change, Change::Swap { path, after: Some(SwapState { priority: 100, .. }), .. } if path == "/dev/zram0");
    let plan = plan_with(&facts, "", &[]);
    assert!(plan.steps.iter().any(raised));
    assert!(file(&plan, APPLIED_FILE).unwrap().contains("priority = 100\n"), "the next boot does not invert them again");
    let mut after = facts.clone();
    carry_out(&mut after, &plan);
    assert!(plan_with(&after, "", &[]).is_in_effect(), "{:?}", plan_with(&after, "", &[]));
    // That of a manager is raised for this boot: the manager sets it up again at the next.
    let manager = Manager { name: "zram-generator".into(), evidence: "/etc".into(), active: true };
    let managed = |priority: i32, used: u64| {
        let mut facts = facts.clone();
        facts.system.managers = vec![manager.clone()];
        facts.swaps = vec![area("/dev/zram0", "zram0", priority, used), area("/dev/vda3", "vda3", 200, 0)];
        plan_with(&facts, "", &[])
    };
    assert!(managed(5, 0).steps.iter().any(raised));
    assert!(noted(&managed(5, 1), "its priority 5 is not above the disk's 10"));
    let high = managed(150, 0);
    assert!(!targets(&high).contains(&"/dev/zram0"), "above what the disk gets: {:?}", high.steps);
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
    let is_written = |step: &Step| matches!(&step.change, Change::SwapHeader { path, .. } if path == "/dev/vdb");
    assert!(!on.steps.iter().any(is_written), "its header is as good as ours");
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
            assert!(refused(&plan, "is there; it is not a swap file, and swaptune did not make it"), "{holds:?}");
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
fn a_file_on_btrfs_is_made_only_where_the_user_names_it() {
    let mut facts = server();
    facts.swaps.clear();
    facts.mounts = vec![root("btrfs")];
    let plan = plan_with(&facts, "", &[]);
    assert!(!targets(&plan).contains(&"/swapfile"), "a snapshot of / would fail");
    let device = plan.steps.iter().find(|step| matches!(step.change, Change::Zram { .. })).unwrap();
    assert!(device.reason.contains("btrfs subvolume create /swap"), "{device:?}");
    let named = plan_with(&facts, "[[swap]]\npath = \"/swap/file\"\nsize = \"4G\"\n", &[]);
    assert_eq!(named.refusals, []);
    assert!(targets(&named).contains(&"/swap/file"));
}
