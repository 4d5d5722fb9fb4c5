//! What each importer makes of files, and what it says of the rest.

use std::collections::BTreeMap;

use super::*;
use crate::Fact;
use crate::facts::{KnobWriter, Manager, SysctlSource, WriterKind, ZramDevice};
use crate::units::Bytes;

/// A machine of 1000 MiB with these managers and files.
fn machine(managers: &[&str], files: &[(&str, &str)]) -> Facts {
    let mut facts = Facts::default();
    facts.memory.meminfo = Fact::known(BTreeMap::from([("MemTotal".into(), Bytes::from_mib(1000))]), "/proc/meminfo");
    facts.kernel.page_size = Bytes(4096);
    let manager = |name: &&str| Manager { name: (*name).into(), evidence: "t".into(), active: true };
    facts.system.managers = managers.iter().map(manager).collect();
    facts.files = files.iter().map(|(path, text)| ((*path).to_owned(), Fact::known((*text).to_owned(), *path))).collect();
    facts
}

fn zram(taken: &Taken) -> (&ZramWanted, String) {
    let list = taken.settings.zram.as_ref().unwrap();
    (&list.value[0], list.provenance.to_string())
}

fn notes(taken: &Taken) -> String {
    taken.notes.iter().map(|note| format!("{} ({})\n", note.text, note.evidence)).collect()
}

#[test]
fn zram_generator_is_evaluated_on_this_machine() {
    let path = "/etc/systemd/zram-generator.conf";
    let text = "# c\n[zram0]\nzram-size = min(ram / 2, 4096)\ncompression-algorithm = zstd(level=3) lz4(type=idle)\nswap-priority=77\nwriteback-device=/dev/vdb\n";
    let taken = adopt(&machine(&["zram-generator"], &[(path, text)])).unwrap();
    let (device, place) = zram(&taken);
    assert_eq!((device.size, device.priority, device.algorithm.as_slice()), (Bytes::from_mib(500), 77, &["zstd".to_owned()][..]));
    assert_eq!(place, format!("{path}:3"));
    assert_eq!((device.recomp_algorithm.as_slice(), device.backing_dev.as_deref()), (&["lz4".to_owned()][..], Some("/dev/vdb")));
    assert!(notes(&taken).contains("the names are taken, without parameters"), "{}", notes(&taken));
    let idle = adopt(&machine(&[], &[(path, text)])).unwrap();
    assert!(idle.settings.zram.is_none() && notes(&idle).contains("nothing to take over"));
}

#[test]
fn what_cannot_be_evaluated_stays_with_the_generator() {
    let path = "/etc/systemd/zram-generator.conf";
    for (text, part) in [
        ("[zram0]\nzram-size = log(ram)\n", "`log` is not evaluated here"),
        ("[zram0]\nset!disks = @df\nzram-size = ram\n", "takes a variable from a program"),
        ("[zram0]\nzram-size = ram / 4\n[zram3]\n", "zram3 would become zram1"),
        ("[zram0]\nswap-priority = -1\n", "-1 leaves the order of areas to the kernel"),
    ] {
        let taken = adopt(&machine(&["zram-generator"], &[(path, text)])).unwrap();
        assert!(taken.settings.zram.is_none() && notes(&taken).contains(part), "{}", notes(&taken));
    }
    for (text, place, part) in [
        ("[zram0]\nzram-size = ram /\n", ":2", "column 6: found the end"),
        ("[zram0]\n\nswap-priority = high\n", ":3", "found \"high\", expected a priority from -1 to 32767"),
        ("[zram0]\nzram-fraction = x\n", ":2", "expected a number"),
    ] {
        let error = adopt(&machine(&["zram-generator"], &[(path, text)])).unwrap_err();
        assert!(error.place == format!("{path}{place}") && error.problem.contains(part), "{error}");
    }
}

#[test]
fn older_keys_of_the_generator_and_the_device_that_is_on() {
    let path = "/usr/lib/systemd/zram-generator.conf";
    let mut facts = machine(&["zram-generator"], &[(path, "[zram0]\nzram-fraction = 0.75\nmax-zram-size = 600\n")]);
    assert_eq!(zram(&adopt(&facts).unwrap()).0.size, Bytes::from_mib(600));
    let disksize = Bytes(Bytes::from_mib(600).0 + 4096);
    facts.zram.devices =
        vec![ZramDevice { name: "zram0".into(), disksize, algorithm: Fact::known("lz4".into(), "t"), ..ZramDevice::default() }];
    let taken = adopt(&facts).unwrap();
    assert_eq!((zram(&taken).0.size, zram(&taken).0.algorithm[0].as_str()), (disksize, "lz4"));
}

#[test]
fn zram_tools_and_two_managers_at_once() {
    let files = [("/etc/default/zramswap", "ALGO=zstd\nPERCENT=60\n")];
    let taken = adopt(&machine(&["zram-tools"], &files)).unwrap();
    let (device, place) = zram(&taken);
    assert_eq!((device.size, device.priority, place.as_str()), (Bytes::from_mib(600), 100, "/etc/default/zramswap:2"));
    let error = adopt(&machine(&["zram-tools"], &[("/etc/default/zramswap", "PERCENT=much\n")])).unwrap_err();
    assert_eq!(error.place, "/etc/default/zramswap:1");
    let both = [files[0], ("/etc/systemd/zram-generator.conf", "[zram0]\n")];
    let error = adopt(&machine(&["zram-tools", "zram-generator"], &both)).unwrap_err();
    assert!(error.to_string().contains("zram-tools sets up zram, and so does /etc/systemd/zram-generator.conf:1"), "{error}");
}

#[test]
fn rpi_swap_is_a_file_or_zram() {
    let main = ("/etc/rpi/swap.conf", "[Main]\n#Mechanism=auto\n");
    let taken = adopt(&machine(&["rpi-swap"], &[main])).unwrap();
    assert_eq!(zram(&taken).0.size, Bytes::from_mib(1000));
    assert!(notes(&taken).contains("backing_dev under [[zram]] takes a block device"), "{}", notes(&taken));
    let dropin = ("/etc/rpi/swap.conf.d/80-x.conf", "[Main]\nMechanism=swapfile\n[File]\nFixedSizeMiB=700\n");
    let taken = adopt(&machine(&["rpi-swap"], &[main, dropin])).unwrap();
    let areas = taken.settings.swap.unwrap();
    assert_eq!((areas.value[0].path.as_str(), areas.value[0].size), ("/var/swap", Some(Bytes::from_mib(700))));
    assert_eq!(areas.provenance.to_string(), "/etc/rpi/swap.conf.d/80-x.conf:2");
    let wrong = ("/etc/rpi/swap.conf.d/90-y.conf", "[Main]\nMechanism=zswap\n");
    assert_eq!(adopt(&machine(&["rpi-swap"], &[main, wrong])).unwrap_err().place, "/etc/rpi/swap.conf.d/90-y.conf:2");
}

#[test]
fn zswap_cli_has_the_last_word_on_zswap() {
    let conf = ("/etc/zswap-cli/zswap-cli.conf", "[zswap]\nenabled=Y\nmax_pool_percent=60\ncompressor=zstd\n");
    let mut facts = machine(&["zswap-cli"], &[conf]);
    facts.kernel.cmdline = Fact::known("quiet zswap.enabled=1 zswap.max_pool_percent=25 zswap.odd=1".into(), "/proc/cmdline");
    let taken = adopt(&facts).unwrap();
    let pool = taken.settings.zswap.get("max_pool_percent").unwrap();
    assert_eq!((&pool.value, pool.provenance.to_string().as_str()), (&60.into(), "/etc/zswap-cli/zswap-cli.conf:3"));
    assert!(notes(&taken).contains("zswap.odd is no parameter"), "{}", notes(&taken));
    assert!(taken.settings.boot.kernel_arguments.is_none(), "no boot loader is known that would keep them");
}

#[test]
fn fstab_keeps_its_order() {
    let text = "UUID=1 / ext4 defaults 0 1\nUUID=2 none swap sw,pri=5,discard=once 0 0\n/swapfile none swap sw,nofail 0 0\n\
                /dev/vdb none swap discard 0 0\n/dev/zram0 none swap sw 0 0\nLABEL=x none swap noauto 0 0\n";
    let taken = adopt(&machine(&[], &[("/etc/fstab", text)])).unwrap();
    let list = taken.settings.swap.as_ref().unwrap();
    let seen: Vec<_> =
        list.value.iter().map(|area| (area.path.as_str(), area.priority, area.optional, area.discard_once)).collect();
    assert_eq!(seen, [("UUID=2", 5, None, true), ("/swapfile", 4, Some(true), false), ("/dev/vdb", 3, None, true)]);
    assert_eq!(list.provenance.to_string(), "/etc/fstab:2");
    assert!(notes(&taken).contains("write a [[zram]] section") && notes(&taken).contains("discards freed slots too"));
    let error = adopt(&machine(&[], &[("/etc/fstab", "\n/dev/vdb none swap pri=much 0 0\n")])).unwrap_err();
    assert_eq!(error.to_string(), "/etc/fstab:2: pri: found \"much\", expected a whole number from 0 to 32767");
}

#[test]
fn areas_without_a_priority_stay_below_all_others() {
    let order = |fstab: &str, zram: Option<&str>| {
        let files: Vec<(&str, &str)> =
            [("/etc/fstab", fstab)].into_iter().chain(zram.map(|text| ("/etc/systemd/zram-generator.conf", text))).collect();
        let taken = adopt(&machine(if zram.is_some() { &["zram-generator"] } else { &[] }, &files)).unwrap();
        let areas = taken.settings.swap.as_ref().map_or(Vec::new(), |list| list.value.iter().map(|area| area.priority).collect());
        let devices = taken.settings.zram.as_ref().map_or(Vec::new(), |list| list.value.iter().map(|one| one.priority).collect());
        (areas, devices, notes(&taken))
    };
    let two = "/dev/vdb none swap sw 0 0\n/dev/vdc none swap sw 0 0\n";
    let (areas, zram, _) = order(two, Some("[zram0]\nzram-size = 512\nswap-priority = 5\n"));
    assert_eq!((areas, zram), (vec![4, 3], vec![5]), "below zram");
    let (areas, zram, text) = order(two, Some("[zram0]\nzram-size = 512\nswap-priority = 1\n"));
    assert_eq!((areas, zram), (vec![1, 0], vec![2]), "zram is raised");
    assert!(text.contains("priorities are 1 higher than configured"), "{text}");
    let (areas, ..) = order(&format!("/dev/vda none swap sw,pri=0 0 0\n{two}"), None);
    assert_eq!(areas, [2, 1, 0], "the one that was first still is");
    assert_eq!(order(two, None).0, [10, 9]);
}

#[test]
fn knobs_keep_file_and_line_and_the_last_one_wins() {
    let source = |path: &str, line, value: &str| SysctlSource { path: path.into(), line, value: value.into() };
    let mut facts = machine(&[], &[]);
    let swappiness = vec![source("/usr/lib/sysctl.d/50.conf", 1, "60"), source("/etc/sysctl.d/99-mine.conf", 3, "133")];
    facts.sysctl_sources.insert("vm.swappiness".into(), swappiness);
    facts.sysctl_sources.insert("vm.page-cluster".into(), vec![source("/usr/lib/sysctl.d/50.conf", 2, "0")]);
    let writer = |value: Option<&str>| KnobWriter {
        knob: "transparent_hugepage.enabled".into(),
        value: value.map(str::to_owned),
        path: "/etc/tmpfiles.d/thp.conf".into(),
        line: 4,
        kind: WriterKind::Tmpfiles,
        by: "tmpfiles".into(),
    };
    facts.system.writers = vec![writer(Some("madvise"))];
    let taken = adopt(&facts).unwrap();
    let knob = |name: &str| taken.settings.knobs.get(name).map(|set| (set.value.as_str(), set.provenance.to_string()));
    assert_eq!(knob("vm.swappiness"), Some(("133", "/etc/sysctl.d/99-mine.conf:3".into())));
    assert_eq!(knob("transparent_hugepage.enabled"), Some(("madvise", "/etc/tmpfiles.d/thp.conf:4".into())));
    assert_eq!(knob("vm.page-cluster"), None, "what a distribution sets stays with it");
    facts.system.writers = vec![writer(None)];
    assert!(notes(&adopt(&facts).unwrap()).contains("only running it would tell"));
    let pair = [("vm.dirty_ratio", "0", "10"), ("vm.dirty_bytes", "67108864", "67108864")];
    for (name, live, written) in pair {
        facts.knobs.insert(name.into(), Fact::known(live.into(), name));
        facts.sysctl_sources.insert(name.into(), vec![source("/etc/sysctl.conf", 8, written)]);
    }
    let of_pair = adopt(&facts).unwrap();
    assert!(of_pair.settings.knobs.contains_key("vm.dirty_bytes") && !of_pair.settings.knobs.contains_key("vm.dirty_ratio"));
    assert!(of_pair.notes.iter().any(|note| note.text == "vm.dirty_ratio is 0 now: vm.dirty_bytes counts"));
    facts.sysctl_sources.insert("vm.swappiness".into(), vec![source("/etc/sysctl.conf", 7, "999")]);
    assert_eq!(adopt(&facts).unwrap_err().place, "/etc/sysctl.conf:7");
}

#[test]
fn words_are_found_where_the_loader_reads_them() {
    let mut facts = machine(
        &[],
        &[
            ("/etc/default/grub", "# zswap.enabled=1\nGRUB_CMDLINE_LINUX_DEFAULT=\"quiet zswap.enabled=1\"\n"),
            ("/etc/default/grub.d/50-x.cfg", "\nGRUB_CMDLINE_LINUX=\"zswap.compressor=zstd\"\n"),
        ],
    );
    let store = crate::facts::KernelArgStore {
        path: "/etc/default/grub".into(),
        configured: "zswap.compressor=zstd quiet zswap.enabled=1".into(),
        reads_dropins: true,
        generated: Vec::new(),
        in_generated: Vec::new(),
        regenerate: None,
    };
    facts.boot.arguments = Fact::known(store, "/etc/default/grub");
    let taken = adopt(&facts).unwrap();
    let place = |name: &str| taken.settings.zswap.get(name).unwrap().provenance.to_string();
    assert_eq!((place("enabled"), place("compressor")), ("/etc/default/grub:2".into(), "/etc/default/grub.d/50-x.cfg:2".into()));
    assert!(taken.settings.boot.kernel_arguments.is_some());
}

#[test]
fn what_swaptune_applied_is_not_adopted() {
    let error = adopt(&machine(&[], &[(APPLIED_FILE, "profile = \"auto\"\n")])).unwrap_err();
    assert!(error.problem.contains("rollback"), "{error}");
}

#[test]
fn every_manager_among_the_importers_is_one_that_is_found() {
    for name in ["zram-generator", "zram-tools", "rpi-swap", "zswap-cli"] {
        assert!(IMPORTERS.iter().any(|importer| importer.name == name) && crate::plan::treats_manager(name));
    }
}
