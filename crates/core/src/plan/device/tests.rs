//! What is planned for a device: steps, lines, refusals, and the way back.

use super::super::tests::{carry_out, file, noted, plan_with, refused, request, resolved, server};
use super::*;
use crate::Fact;
use crate::change::{Change, DeviceFormat, MappingState};
use crate::device::partition_name;
use crate::facts::{BlockDevice, Facts, Holds, Kubelet, SwapPlace};
use crate::settings::Settings;

const ALL: Programs = Programs { sfdisk: true, cryptsetup: true, crypttab: true };

fn wish(device: &str) -> DeviceWish<'_> {
    DeviceWish {
        device,
        swap: None,
        cache: false,
        encrypt: EncryptRule::Random,
        optional: true,
        priority: 10,
        key_file: None,
        programs: ALL,
    }
}

fn prepared(facts: &Facts, wish: &DeviceWish<'_>, wipe: bool) -> Plan {
    let named = [wish.device.to_owned()];
    prepare(&request(facts, &Settings::default(), if wipe { &named } else { &[] }), wish)
}

fn shown(plan: &Plan) -> Vec<String> {
    plan.steps.iter().map(|step| step.change.to_string()).collect()
}

/// The facts as they are when the plan is carried out: partitions, mappings, areas and texts.
fn after(mut facts: Facts, plan: &Plan) -> Facts {
    for step in plan.steps.clone() {
        match step.change.clone() {
            Change::Format { path, after: Some(DeviceFormat::Gpt { partitions, .. }), .. } => {
                for (number, part) in partitions.iter().enumerate() {
                    let disk = path.trim_start_matches("/dev/");
                    facts.block_devices.push(BlockDevice {
                        name: partition_name(disk, number + 1),
                        size: part.size,
                        parent: Some(disk.into()),
                        partuuid: Some(part.uuid.clone()),
                        contents: Fact::absent("blank"),
                        ..BlockDevice::default()
                    });
                }
            }
            Change::Format { path, after: Some(DeviceFormat::Luks { uuid, .. }), .. } => {
                let device = facts.block_devices.iter_mut().find(|device| device.node() == path).unwrap();
                (device.contents, device.uuid) = (Fact::known("crypto_LUKS".into(), "t"), Some(uuid));
            }
            Change::Mapping { name, after: Some(MappingState { source, .. }), .. } => {
                let is_luks = facts.device_named(&source).unwrap().contents.is_known();
                facts.block_devices.push(BlockDevice {
                    name: "dm-0".into(),
                    lies_on: vec![source.trim_start_matches("/dev/").into()],
                    dm_uuid: Some(format!("CRYPT-{}-{name}", if is_luks { "LUKS2" } else { "PLAIN" })),
                    dm_name: Some(name),
                    ..BlockDevice::default()
                });
            }
            Change::Swap { path, after: Some(state), .. } => {
                let device = facts.device_named(&path).unwrap().name.clone();
                let mut area = super::super::tests::area(&format!("/dev/{device}"), &device, state.priority, 0);
                area.uuid = Fact::known(facts.device_named(&path).unwrap().uuid.clone().unwrap_or_default(), "t");
                facts.swaps.push(area);
            }
            _ => carry_out(&mut facts, &Plan { steps: vec![step], ..Plan::default() }),
        }
    }
    facts
}

#[test]
fn a_blank_disk_becomes_an_encrypted_area() {
    let plan = prepared(&server(), &wish("/dev/vdb"), false);
    assert!(plan.refusals.is_empty(), "{:?}", plan.refusals);
    let texts = shown(&plan);
    let table = texts.iter().position(|text| text.starts_with("format /dev/vdb: GPT with swaptune-swap ")).expect("a table");
    let name = texts[table + 1].strip_prefix("open /dev/mapper/").unwrap().split(':').next().unwrap().to_owned();
    assert_eq!(
        &texts[table + 1..table + 5],
        [
            format!("open /dev/mapper/{name}: /dev/vdb1 by a random key, aes-xts-plain64"),
            format!("/dev/mapper/{name}: off → on, priority 10"),
            "create /etc/crypttab".into(),
            "edit /etc/fstab".into(),
        ]
    );
    let crypttab = file(&plan, "/etc/crypttab").unwrap();
    let source = crypttab.split(' ').nth(1).unwrap();
    assert!(source.starts_with("PARTUUID=") && source.len() == 45, "{crypttab}");
    assert!(crypttab.contains("/dev/urandom plain,swap,cipher=aes-xts-plain64,size=512,nofail,"), "{crypttab}");
    let line = format!("/dev/mapper/{name} none swap sw,pri=10,nofail,x-systemd.device-timeout=10s 0 0\n");
    assert!(file(&plan, "/etc/fstab").unwrap().ends_with(&line));
    // Whenever its partition or its mapping appears, systemd brings it up.
    let links: Vec<_> = texts[table + 5..].iter().filter(|text| text.contains(".device.wants/dev-mapper-swap")).collect();
    assert!(links.len() == 2 && links[0].contains("by\\x2dpartuuid"), "{texts:?}");
    assert!(noted(&plan, "no integrity") && noted(&plan, "hibernation to it is impossible"));
    assert!(plan.steps.iter().all(|step| !step.reason.is_empty() && !step.evidence.is_empty()));
}

#[test]
fn a_virtual_disk_is_corrected_before_its_mapping_is_made() {
    let plan = prepared(&server(), &wish("/dev/vdb"), false);
    let at = |words: &str| shown(&plan).iter().position(|text| text.contains(words)).unwrap_or_else(|| panic!("{words}"));
    assert!(at("block.rotational: 1 → 0") < at("open /dev/mapper"));
    assert!(file(&plan, "/etc/udev/rules.d/60-swaptune.rules").unwrap().contains("vdb"));
}

#[test]
fn a_disk_is_divided() {
    let sizes = |wish: &DeviceWish<'_>| {
        let plan = prepared(&server(), wish, false);
        let table = plan.steps.iter().find_map(|step| match &step.change {
            Change::Format { after: Some(DeviceFormat::Gpt { partitions, .. }), .. } => Some(partitions.clone()),
            _ => None,
        });
        table.unwrap_or_default().iter().map(|part| (part.name.clone(), part.start.mib(), part.size.mib())).collect::<Vec<_>>()
    };
    let (swap, cache) = ("swaptune-swap".to_owned(), "swaptune-cache".to_owned());
    let divided = DeviceWish { cache: true, ..wish("/dev/vdb") };
    // 4096 MiB less one at either end: 60 % of 4094.
    assert_eq!(sizes(&divided), [(swap.clone(), 1, 2456), (cache.clone(), 2457, 1638)]);
    let half = DeviceWish { swap: Some(DiskShare::Percent(50)), ..divided.clone() };
    assert_eq!(sizes(&half), [(swap.clone(), 1, 2047), (cache, 2048, 2047)]);
    let sized = DeviceWish { swap: Some(DiskShare::Size(Bytes::from_gib(1))), ..wish("/dev/vdb") };
    assert_eq!(sizes(&sized), [(swap, 1, 1024)]);
}

#[test]
fn a_volume_gets_a_key_that_no_line_shows() {
    let plan = prepared(&server(), &DeviceWish { encrypt: EncryptRule::Luks, optional: false, ..wish("/dev/vdb") }, false);
    let texts = shown(&plan).join("\n");
    assert!(
        texts.contains(".key: a random key, for root only\nformat /dev/vdb1: LUKS2, aes-xts-plain64, 512 bits\nopen "),
        "{texts}"
    );
    let crypttab = file(&plan, "/etc/crypttab").unwrap();
    assert!(crypttab.contains(".key luks,headless=true,nofail") && !crypttab.contains("timeout"), "{crypttab}");
    assert!(!file(&plan, "/etc/fstab").unwrap().contains("timeout"));
}

#[test]
fn what_may_be_needed_is_refused() {
    let place = |holds| SwapPlace { path: "/dev/vdb".into(), size: Bytes::from_gib(4), holds: Fact::known(holds, "t") };
    type Case = (&'static str, fn(&mut Facts), &'static str, bool);
    let cases: [Case; 9] = [
        ("/dev/nothing", |_| (), "no block device of this name", false),
        ("/dev/vda", |_| (), "/dev/vda2 is mounted at /", false),
        ("/dev/vda3", |_| (), "in use as swap", false),
        ("/dev/vda4", |f| f.block_devices[3].partuuid = Some("4".into()), "it carries ext4", true),
        ("/dev/vdb", |f| f.block_devices[4].contents = Fact::known("crypto_LUKS".into(), "t"), "crypto_LUKS", true),
        (
            "/dev/vdb",
            |f| {
                let part = BlockDevice { name: "vdb1".into(), parent: Some("vdb".into()), ..BlockDevice::default() };
                f.block_devices.push(part);
            },
            "it has a partition table",
            true,
        ),
        (
            "/dev/vdb",
            |f| {
                let pv = BlockDevice { name: "dm-3".into(), lies_on: vec!["vdb".into()], ..BlockDevice::default() };
                f.block_devices.push(pv);
            },
            "/dev/dm-3 lies on /dev/vdb",
            false,
        ),
        (
            "/dev/vdb",
            |f| {
                f.files.insert("/etc/fstab".into(), Fact::known("/dev/vdb /data ext4\n".into(), "t"));
            },
            "/etc/fstab lists /dev/vdb",
            false,
        ),
        ("/dev/vdb", |f| f.block_devices[4].size = Bytes::from_mib(8), "too little", false),
    ];
    for (device, change, why, lifted) in cases {
        let mut facts = server();
        change(&mut facts);
        let plan = prepared(&facts, &wish(device), false);
        assert!(refused(&plan, why), "{device}: {why}: {:?}", plan.refusals);
        assert!(plan.steps.is_empty(), "{device}: {:?}", shown(&plan));
        let wiped = prepared(&facts, &wish(device), true);
        assert_eq!(wiped.refusals.is_empty(), lifted, "--wipe {device}: {:?}", wiped.refusals);
        let is_told = |step: &crate::plan::Step| !matches!(step.change, Change::Format { .. }) || !step.risk.is_empty();
        assert!(wiped.steps.iter().all(is_told));
    }
    for (holds, is_fine) in [(Holds::Blank, true), (Holds::Unknown, false), (Holds::Other { kind: "gpt".into() }, false)] {
        let mut facts = server();
        facts.swap_places = vec![place(holds.clone())];
        assert_eq!(prepared(&facts, &wish("/dev/vdb"), false).refusals.is_empty(), is_fine, "{holds:?}");
    }
}

#[test]
fn what_is_missing_to_do_it_with_is_named() {
    for (programs, encrypt, why) in [
        (Programs { sfdisk: false, ..ALL }, EncryptRule::None, "sfdisk"),
        (Programs { cryptsetup: false, ..ALL }, EncryptRule::Luks, "cryptsetup is not there"),
        (Programs { crypttab: false, ..ALL }, EncryptRule::Random, "systemd-cryptsetup-generator"),
    ] {
        let plan = prepared(&server(), &DeviceWish { programs, encrypt, ..wish("/dev/vdb") }, false);
        assert!(refused(&plan, why) && plan.steps.is_empty(), "{why}: {:?}", plan.refusals);
    }
    let none = Programs { sfdisk: true, cryptsetup: false, crypttab: false };
    let plan = prepared(&server(), &DeviceWish { programs: none, encrypt: EncryptRule::None, ..wish("/dev/vdb") }, false);
    assert!(plan.refusals.is_empty(), "{:?}", plan.refusals);
}

#[test]
fn a_node_of_kubernetes_is_asked_first() {
    let mut facts = server();
    facts.system.kubelets = vec![Kubelet { name: "kubelet".into(), ..Kubelet::default() }];
    assert!(!prepared(&facts, &wish("/dev/vdb"), false).refusals.is_empty());
}

/// After it the plan of a machine has nothing to say of the area, and after it is retired no line is left.
#[test]
fn the_plan_stays_empty_and_retiring_leaves_no_line() {
    let applied = |facts: &mut Facts| {
        let plan = plan_with(facts, "profile = \"idle-guide\"", &[]);
        carry_out(facts, &plan);
    };
    for encrypt in EncryptRule::ALL {
        let mut before = server();
        applied(&mut before);
        let wish = DeviceWish { encrypt, priority: 77, ..wish("/dev/vdb") };
        let plan = prepared(&before, &wish, false);
        assert!(plan.refusals.is_empty(), "{encrypt:?}: {:?}", plan.refusals);
        let there = after(before.clone(), &plan);
        let record = there.file("/etc/swaptune/applied.toml").unwrap();
        assert!(record.contains("priority = 77\noptional = true\n"), "{record}");
        let next = plan_with(&there, "profile = \"idle-guide\"", &[]);
        assert!(
            !next.steps.iter().any(|step| ["/etc/fstab", "/etc/crypttab"].contains(&step.change.target())),
            "{:?}",
            shown(&next)
        );
        let recorded = resolved(&there, record);
        assert!(recorded.swap.unwrap().value.iter().any(|area| area.priority == 77 && area.may_be_missing()));

        let settings = Settings::default();
        let out = retire(&request(&there, &settings, &[]), &wish);
        assert!(out.refusals.is_empty(), "{encrypt:?}: {:?}", out.refusals);
        for path in ["/etc/fstab", "/etc/swaptune/applied.toml", "/etc/udev/rules.d/60-swaptune.rules"] {
            let found = out.steps.iter().rev().find(|step| step.change.target() == path).map(|step| step.change.clone());
            let text = match found {
                Some(Change::File { after, .. }) => after,
                _ => there.file(path).map(str::to_owned),
            };
            assert_eq!(text.as_deref(), before.file(path), "{encrypt:?}: {path}");
        }
        assert_eq!(file(&out, "/etc/crypttab"), None);
        let links = |plan: &Plan| plan.steps.iter().filter(|step| matches!(step.change, Change::Link { .. })).count();
        assert!(links(&plan) > 0 && links(&out) == links(&plan), "{:?}", shown(&out));
        let destroys = shown(&out).iter().filter(|text| text.starts_with("destroy")).count();
        let wanted = match encrypt {
            EncryptRule::Random => 0,
            EncryptRule::Luks => 2,
            EncryptRule::None => 1,
        };
        assert_eq!(destroys, wanted, "{:?}", shown(&out));
    }
}

#[test]
fn one_that_is_not_there_any_more_is_retired_by_its_name() {
    let mut facts = server();
    let known = |text: &str| Fact::known(text.to_owned(), "t");
    facts.files.insert("/etc/crypttab".into(), known("swap-1 PARTUUID=9 /dev/urandom plain,swap,nofail\n"));
    facts.files.insert("/etc/fstab".into(), known("/dev/mapper/swap-1 none swap sw,nofail 0 0\n/dev/vda2 / ext4\n"));
    for name in ["/dev/mapper/swap-1", "PARTUUID=9", "swap-1"] {
        let settings = Settings::default();
        let plan = retire(&request(&facts, &settings, &[]), &wish(name));
        assert_eq!(shown(&plan), ["edit /etc/fstab", "delete /etc/crypttab"], "{name}");
        assert!(noted(&plan, "the device is not there"));
    }
    let settings = Settings::default();
    let plan = retire(&request(&facts, &settings, &[]), &wish("/dev/vdb"));
    assert!(refused(&plan, "nothing of it is swap here"), "{:?}", shown(&plan));
}

/// The kernel's name is another disk's by now, or the disk has another use.
#[test]
fn a_volume_that_no_line_opens_as_swap_keeps_its_header() {
    let lines = [
        ("/etc/fstab", "/dev/vdb none swap sw 0 0\n/dev/vda2 / ext4\n"),
        ("/etc/crypttab", "swap-1 /dev/vdb /dev/urandom plain,swap,nofail\n"),
    ];
    for (path, text) in lines {
        let mut facts = server();
        facts.files.insert(path.into(), Fact::known(text.into(), "t"));
        let device = facts.block_devices.iter_mut().find(|device| device.name == "vdb").unwrap();
        (device.contents, device.uuid) = (Fact::known("crypto_LUKS".into(), "t"), Some("7e7e".into()));
        let settings = Settings::default();
        let plan = retire(&request(&facts, &settings, &[]), &wish("/dev/vdb"));
        assert!(plan.refusals.is_empty() && !plan.steps.is_empty(), "{:?}", plan.refusals);
        assert!(plan.steps.iter().all(|step| step.change.target() == path), "{:?}", shown(&plan));
        assert!(noted(&plan, "a volume of LUKS that no line opens as swap"));
    }
}

#[test]
fn an_area_that_is_there_is_adopted_as_it_is() {
    let mut facts = server();
    facts.files.insert("/etc/fstab".into(), Fact::known("/dev/vda2 / ext4\n".into(), "t"));
    let settings = Settings::default();
    let plan = adopt(&request(&facts, &settings, &[]), &wish("/dev/vda3"));
    assert_eq!(shown(&plan), ["/dev/vda3: on, priority -2 → on, priority 10", "edit /etc/fstab"]);
    let line = "UUID=5a5a none swap sw,pri=10,nofail,x-systemd.device-timeout=10s 0 0\n";
    assert!(file(&plan, "/etc/fstab").unwrap().ends_with(line));
    let other = adopt(&request(&facts, &settings, &[]), &wish("/dev/vda4"));
    assert!(refused(&other, "it is no swap area") && other.refusals[0].hint.contains("device prepare /dev/vda4"));
}

/// The server with a volume on vda4 that holds swap, opened by hand.
fn volume(kind: &str) -> Facts {
    let mut facts = server();
    facts.block_devices[3].partuuid = Some("4-4".into());
    facts.block_devices.push(BlockDevice {
        name: "dm-0".into(),
        dm_name: Some("vault".into()),
        dm_uuid: Some(format!("CRYPT-{kind}-vault")),
        lies_on: vec!["vda4".into()],
        uuid: Some("5e5e".into()),
        contents: Fact::known("swap".into(), "t"),
        discard: Fact::known(true, "t"),
        ..BlockDevice::default()
    });
    facts
}

fn key(unfit: Option<&str>) -> Option<KeyFile> {
    Some(KeyFile { path: "/root/swap.key".into(), unfit: unfit.map(str::to_owned) })
}

#[test]
fn a_volume_that_nothing_opens_is_adopted_with_its_key() {
    let facts = volume("LUKS2");
    let settings = Settings::default();
    let plan = adopt(&request(&facts, &settings, &[]), &DeviceWish { key_file: key(None), ..wish("/dev/mapper/vault") });
    assert!(plan.refusals.is_empty(), "{:?}", plan.refusals);
    let line = "vault PARTUUID=4-4 /root/swap.key luks,headless=true,nofail,discard,x-systemd.device-timeout=10s\n";
    assert_eq!(file(&plan, "/etc/crypttab"), Some(line));
    assert!(file(&plan, "/etc/fstab").unwrap().contains("/dev/mapper/vault none swap sw,pri=10,nofail,"), "{:?}", shown(&plan));
    let by_uuid = |facts: &mut Facts| (facts.block_devices[3].partuuid, facts.block_devices[3].uuid) = (None, Some("v-1".into()));
    let mut facts = facts;
    by_uuid(&mut facts);
    let plan = adopt(&request(&facts, &settings, &[]), &DeviceWish { key_file: key(None), ..wish("/dev/mapper/vault") });
    assert!(file(&plan, "/etc/crypttab").unwrap().starts_with("vault UUID=v-1 "));
}

#[test]
fn a_key_that_does_not_fit_changes_nothing() {
    let listed = |facts: &mut Facts| {
        facts.files.insert("/etc/crypttab".into(), Fact::known("vault PARTUUID=4-4 /k luks\n".into(), "t"));
    };
    type Case = (&'static str, &'static str, bool, Option<KeyFile>, &'static str, &'static str);
    let cases: [Case; 6] = [
        ("LUKS2", "/dev/mapper/vault", false, None, "no line of /etc/crypttab", "--key-file FILE"),
        ("LUKS2", "/dev/mapper/vault", false, key(Some("others can read it")), "others can read it", "chmod 600 /root/swap.key"),
        ("LUKS2", "/dev/mapper/vault", true, key(None), "opens it already", "leave out"),
        ("PLAIN", "/dev/mapper/vault", false, key(None), "no line of /etc/crypttab", "crypttab(5)"),
        ("LUKS2", "/dev/vda3", false, key(None), "not encrypted", "leave out"),
        ("LUKS2", "/dev/vda4", false, key(None), "it is no swap area", "swaptune device adopt /dev/mapper/vault"),
    ];
    for (kind, device, is_listed, key_file, why, hint) in cases {
        let mut facts = volume(kind);
        if is_listed {
            listed(&mut facts);
        }
        let settings = Settings::default();
        let plan = adopt(&request(&facts, &settings, &[]), &DeviceWish { key_file, ..wish(device) });
        assert!(refused(&plan, why) && plan.refusals[0].hint.contains(hint), "{kind} {device}: {:?}", plan.refusals);
        assert!(plan.steps.is_empty(), "{kind} {device}: {:?}", shown(&plan));
    }
}
