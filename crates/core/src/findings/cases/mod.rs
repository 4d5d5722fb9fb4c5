//! For every row of the table: facts that trigger it, and what must be different for it to stay silent.
//!
//! `but_not` changes one thing each, so that a condition that is deleted or turned round fails here; `also` changes one
//! thing with which the finding still has to come.

mod boot;
mod files;
mod logs;
mod residents;
mod rest;
mod swap;
mod zram;
mod zswap;
mod zswap_pool;
mod zswap_words;

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::facts::{
    Availability, BlockDevice, Compressor, Encryption, KernelArgStore, KernelLogLine, KnobWriter, Kubelet, Manager, Resident,
    SwapArea, SwapKind, SysctlSource, ThpFacts, Transport, WriterKind, ZramDevice, ZramMmStat, ZswapFacts,
};
use crate::settings::Settings;
use crate::{Bytes, Fact, KernelVersion};

/// A change of facts.
type Change = fn(&mut Facts);

/// What is expected of one row.
struct FindingCase {
    code: &'static str,
    base: Change,
    /// Texts that the sentence, the cure or an exhibit must hold.
    says: &'static [&'static str],
    but_not: &'static [(&'static str, Change)],
    also: &'static [(&'static str, Change, &'static str)],
}

fn cases() -> impl Iterator<Item = &'static FindingCase> {
    [
        zswap_words::CASES,
        zswap::CASES,
        zswap_pool::CASES,
        zram::CASES,
        swap::CASES,
        files::CASES,
        boot::CASES,
        rest::CASES,
        residents::CASES,
        logs::CASES,
    ]
    .into_iter()
    .flatten()
}

fn look(code: &str, changes: &[Change]) -> Option<Found> {
    let mut facts = Facts::default();
    changes.iter().for_each(|change| change(&mut facts));
    find(code).unwrap_or_else(|| panic!("no row {code}")).examine(&facts)
}

fn whole(found: &Found) -> String {
    let exhibits = found.evidence.iter().map(|e| format!("{}: {}", e.source, e.text));
    [found.what.clone(), found.cure.clone()].into_iter().chain(exhibits).collect::<Vec<_>>().join("\n")
}

/// What is wrong with one case.
fn faults(case: &FindingCase) -> Vec<String> {
    let code = case.code;
    let mut faults = Vec::new();
    let mut expect = |why: &str, found: Option<Found>, texts: &[&str]| match found {
        None => faults.push(format!("{code} does not come {why}")),
        Some(found) => {
            let missing = texts.iter().filter(|text| !whole(&found).contains(**text));
            faults.extend(missing.map(|text| format!("{code} {why} does not say {text:?}:\n{}", whole(&found))));
        }
    };
    expect("at all", look(code, &[case.base]), case.says);
    for (why, change, text) in case.also {
        expect(&format!("with {why}"), look(code, &[case.base, *change]), &[*text]);
    }
    for (why, change) in case.but_not {
        if let Some(found) = look(code, &[case.base, *change]) {
            faults.push(format!("{code} comes although {why}:\n{}", whole(&found)));
        }
    }
    faults
}

#[test]
fn every_row_comes_when_it_should_and_only_then() {
    let faults: Vec<String> = cases().flat_map(faults).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}

#[test]
fn every_row_has_a_case_and_is_whole() {
    let tested: BTreeSet<&str> = cases().map(|case| case.code).collect();
    let mut codes = BTreeSet::new();
    for row in all() {
        assert!(codes.insert(row.code), "{} stands twice", row.code);
        assert!(tested.contains(row.code), "{} has no case", row.code);
        assert!(row.code.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-'), "{}", row.code);
        assert!(!row.title.ends_with('.') && row.title.len() > 10 && row.source.len() > 3, "{}", row.code);
    }
    assert!(cases().all(|case| codes.contains(case.code)));
    assert!(cases().all(|case| !case.but_not.is_empty() || case.code.starts_with("log-")), "a row that is never silent");
    assert!(codes.len() >= 90, "only {}", codes.len());
}

#[test]
fn a_cure_is_a_command_and_a_sentence_is_one() {
    let commands = [
        "swaptune",
        "swapoff",
        "swapon",
        "systemctl",
        "sed",
        "echo",
        "grep",
        "btrfs",
        "findmnt",
        "lsblk",
        "ls",
        "man",
        "editor",
        "zramctl",
        "systemd-analyze",
        "ausearch",
        "mv",
    ];
    for case in cases() {
        let found = look(case.code, &[case.base]).unwrap();
        for flag in found.cure.split("--set ").skip(1) {
            let flag = flag.split(' ').next().unwrap();
            assert!(Settings::from_flag(flag).is_ok(), "{}: --set {flag}", case.code);
        }
        let first = found.cure.split(' ').next().unwrap();
        assert!(commands.contains(&first), "{}: {}", case.code, found.cure);
        assert!(
            !found.what.contains(". ") && !found.what.ends_with('.') && !found.what.contains('\n'),
            "{}: {}",
            case.code,
            found.what
        );
        assert!(!found.evidence.is_empty(), "{} shows nothing", case.code);
        assert!(found.evidence.iter().all(|e| !e.source.is_empty() && !e.text.is_empty()), "{}: {:?}", case.code, found.evidence);
    }
}

#[test]
fn a_machine_of_which_nothing_is_known_has_no_swap_and_no_other_finding() {
    let found = examine(&Facts::default());
    assert_eq!(found.iter().map(|found| found.code).collect::<Vec<_>>(), ["swap-none"]);
}

/// A machine as the plan leaves it: zswap over one encrypted partition, huge pages on request.
fn right_machine(facts: &mut Facts) {
    kernel(facts, "6.12.1-amd64");
    facts.kernel.page_size = Bytes(4096);
    zswap(facts, &[("enabled", "Y"), ("compressor", "zstd"), ("zpool", "zsmalloc"), ("shrinker_enabled", "N")]);
    zswap(facts, &[("max_pool_percent", "25"), ("accept_threshold_percent", "90")]);
    with_zswap(facts, |zswap| zswap.loaded = Fact::known("lzo/zsmalloc".into(), "/dev/kmsg"));
    counters(
        facts,
        &[("pool_total_size", 300 << 20), ("stored_pages", 200_000), ("pool_limit_hit", 0), ("reject_compress_fail", 9)],
    );
    vmstat(facts, &[("pswpout", 1_200), ("zswpwb", 1_150), ("zswpout", 300_000), ("thp_swpout", 0)]);
    meminfo(facts, &[("MemTotal", 8192), ("SwapTotal", 8192), ("SwapFree", 6000), ("Zswap", 300), ("Zswapped", 900)]);
    facts.memory.pressure = Fact::known(crate::facts::Pressure::default(), "/proc/pressure/memory");
    thp(facts, "madvise");
    cmdline(facts, "root=UUID=1 ro quiet zswap.enabled=1 zswap.compressor=lzo zswap.max_pool_percent=25");
    configured(facts, "ro quiet zswap.enabled=1 zswap.compressor=lzo zswap.max_pool_percent=25");
    compressor(facts, "lzo", Availability::BuiltIn);
    compressor(facts, "zstd", Availability::Loaded);
    config(facts, &[("CONFIG_ZSWAP_COMPRESSOR_DEFAULT", "lzo"), ("CONFIG_MEMCG", "y"), ("CONFIG_PSI", "y")]);
    facts.initramfs.contents = Fact::known(vec!["lz4.ko.xz".into()], "/boot/initrd.img");
    disk(facts, "nvme0n1", Transport::Nvme, false);
    partition(facts, "nvme0n1p3", "nvme0n1");
    disk(facts, "dm-0", Transport::Dm, false);
    facts.block_devices.last_mut().unwrap().uuid = Some("ab".into());
    let mut swap = area("/dev/dm-0", 10);
    (swap.encryption, swap.size) = (Fact::known(Encryption::Luks { version: 2 }, "/sys/class/block/dm-0"), Bytes::from_gib(8));
    facts.swaps = vec![swap];
    file(facts, "/etc/fstab", "UUID=1 / ext4 rw 0 1\nUUID=ab none swap sw,pri=10,nofail 0 0\n");
    file(facts, "/etc/crypttab", "swap UUID=cd /etc/keys/swap luks,nofail\n");
    file(facts, "/etc/systemd/system/swaptune.service", "[Unit]\n");
    knob(facts, "vm.swappiness", "100");
    sysctl(facts, "vm.swappiness", "/etc/sysctl.d/10-vendor.conf", "60");
    sysctl(facts, "vm.swappiness", "/etc/sysctl.d/99-zz-swaptune.conf", "100");
    manager(facts, "systemd-oomd");
    log(facts, "zswap: loaded using pool lzo/zsmalloc");
    log(facts, "Adding 8388604k swap on /dev/dm-0.  Priority:10 extents:1 across:8388604k SS");
}

#[test]
fn a_machine_that_is_right_has_no_finding() {
    let mut facts = Facts::default();
    right_machine(&mut facts);
    assert_eq!(examine(&facts), []);
}

#[test]
fn a_machine_with_zram_that_is_right_has_no_finding() {
    let mut facts = Facts::default();
    right_machine(&mut facts);
    zswap(&mut facts, &[("enabled", "N")]);
    with_zswap(&mut facts, |zswap| zswap.loaded = Fact::absent("never enabled"));
    meminfo(&mut facts, &[("Zswap", 0), ("Zswapped", 0)]);
    cmdline(&mut facts, "root=UUID=1 zswap.enabled=0");
    configured(&mut facts, "root=UUID=1 zswap.enabled=0");
    zram_device(&mut facts);
    facts.swaps = vec![area("/dev/zram0", 100)];
    facts.files.remove("/etc/fstab");
    knob(&mut facts, "vm.swappiness", "150");
    facts.sysctl_sources.clear();
    manager(&mut facts, "zram-generator");
    file(&mut facts, "/etc/systemd/zram-generator.conf", "[zram0]\ncompression-algorithm = lzo-rle\n");
    assert_eq!(examine(&facts), []);
}

#[test]
fn the_worst_comes_first_and_the_order_is_the_same_each_time() {
    let mut facts = Facts::default();
    zswap(&mut facts, &[("enabled", "Y"), ("compressor", "lzo"), ("exclusive_loads", "Y"), ("shrinker_enabled", "N")]);
    kernel(&mut facts, "6.6.13");
    facts.swaps = vec![area("/dev/zram0", 100), area("/dev/vda3", 200)];
    let found = examine(&facts);
    assert!(found.is_sorted_by_key(|found| found.severity), "{found:?}");
    assert_eq!(found.first().map(|found| found.code), Some("zswap-exclusive-loads"));
    assert_eq!(found, examine(&facts));
    assert!(serde_json::to_string(&found).unwrap().contains("\"severity\":\"error\""));
}

// What follows builds facts as the host room would find them.

fn kernel(facts: &mut Facts, release: &str) {
    facts.kernel.release = Fact::known(release.into(), "/proc/sys/kernel/osrelease");
    facts.kernel.version = Fact::known(KernelVersion::from_release(release).unwrap(), "/proc/sys/kernel/osrelease");
}

fn zswap(facts: &mut Facts, parameters: &[(&str, &str)]) {
    let mut zswap = facts.zswap.value().cloned().unwrap_or_default();
    zswap.parameters.extend(parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    zswap.enabled = zswap.parameters.get("enabled").is_some_and(|value| value == "Y");
    facts.zswap = Fact::known(zswap, "/sys/module/zswap/parameters");
}

fn with_zswap(facts: &mut Facts, change: impl FnOnce(&mut ZswapFacts)) {
    let mut zswap = facts.zswap.value().cloned().unwrap_or_default();
    change(&mut zswap);
    facts.zswap = Fact::known(zswap, "/sys/module/zswap/parameters");
}

fn off(facts: &mut Facts) {
    zswap(facts, &[("enabled", "N")]);
}

fn no_zswap(facts: &mut Facts) {
    facts.zswap = Fact::absent("CONFIG_ZSWAP is not set");
}

fn no_swap(facts: &mut Facts) {
    facts.swaps.clear();
}

fn counters(facts: &mut Facts, counters: &[(&str, u64)]) {
    with_zswap(facts, |zswap| {
        let mut map = zswap.counters.value().cloned().unwrap_or_default();
        map.extend(counters.iter().map(|(name, count)| ((*name).to_owned(), *count)));
        zswap.counters = Fact::known(map, "/sys/kernel/debug/zswap");
    });
}

fn vmstat(facts: &mut Facts, counts: &[(&str, u64)]) {
    let mut map = facts.memory.vmstat.value().cloned().unwrap_or_default();
    map.extend(counts.iter().map(|(name, count)| ((*name).to_owned(), *count)));
    facts.memory.vmstat = Fact::known(map, "/proc/vmstat");
}

fn meminfo(facts: &mut Facts, mib: &[(&str, u64)]) {
    let mut map = facts.memory.meminfo.value().cloned().unwrap_or_default();
    map.extend(mib.iter().map(|(name, mib)| ((*name).to_owned(), Bytes::from_mib(*mib))));
    facts.memory.meminfo = Fact::known(map, "/proc/meminfo");
}

fn knob(facts: &mut Facts, name: &str, value: &str) {
    facts.knobs.insert(name.into(), Fact::known(value.into(), format!("live {name}")));
}

fn sysctl(facts: &mut Facts, name: &str, path: &str, value: &str) {
    let source = SysctlSource { path: path.into(), line: 3, value: value.into() };
    facts.sysctl_sources.entry(name.into()).or_default().push(source);
}

fn config(facts: &mut Facts, options: &[(&str, &str)]) {
    let map: BTreeMap<String, String> = options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    facts.kernel.config = Fact::known(map, "/boot/config");
}

fn cmdline(facts: &mut Facts, text: &str) {
    facts.kernel.cmdline = Fact::known(text.into(), "/proc/cmdline");
}

fn configured(facts: &mut Facts, text: &str) {
    let store = KernelArgStore {
        path: "/etc/default/grub".into(),
        configured: text.into(),
        reads_dropins: true,
        in_generated: Vec::new(),
        generated: Vec::new(),
        regenerate: Some(vec!["update-grub".into()]),
    };
    facts.boot.arguments = Fact::known(store, "/etc/default/grub");
}

fn compressor(facts: &mut Facts, name: &str, availability: Availability) {
    facts.compressors.retain(|compressor| compressor.name != name);
    facts.compressors.push(Compressor { name: name.into(), availability, source: "/proc/crypto".into() });
}

fn log(facts: &mut Facts, text: &str) {
    let mut lines = facts.kernel.log.value().cloned().unwrap_or_default();
    lines.push(KernelLogLine { at: "1.5".into(), text: text.into() });
    facts.kernel.log = Fact::known(lines, "/dev/kmsg");
}

fn file(facts: &mut Facts, path: &str, text: &str) {
    facts.files.insert(path.into(), Fact::known(text.into(), path));
}

fn manager(facts: &mut Facts, name: &str) {
    facts.system.managers.push(Manager { name: name.into(), evidence: format!("/etc/{name}"), active: true });
}

/// An area of 1 GiB with a tenth in use; its device has its name.
fn area(path: &str, priority: i32) -> SwapArea {
    let name = path.rsplit('/').next().unwrap();
    SwapArea {
        path: path.into(),
        kind: if path.starts_with("/dev/") { SwapKind::Partition } else { SwapKind::File },
        size: Bytes::from_gib(1),
        used: Bytes::from_mib(100),
        priority,
        device: Fact::known(name.into(), "/proc/swaps"),
        uuid: Fact::absent("unknown"),
        encryption: Fact::known(Encryption::None, "/sys/class/block"),
        filesystem: Fact::absent("a block device"),
    }
}

fn disk(facts: &mut Facts, name: &str, transport: Transport, rotational: bool) {
    facts.block_devices.retain(|device| device.name != name);
    let rotational = Fact::known(rotational, format!("/sys/block/{name}/queue/rotational"));
    facts.block_devices.push(BlockDevice { name: name.into(), transport, rotational, ..BlockDevice::default() });
}

fn partition(facts: &mut Facts, name: &str, of: &str) {
    let disk = facts.block_device(of).unwrap().clone();
    facts.block_devices.push(BlockDevice { name: name.into(), parent: Some(of.into()), ..disk });
}

/// zram0 with 1 GiB, 400 MiB of pages in 100 MiB.
fn zram_device(facts: &mut Facts) {
    facts.zram.devices = vec![ZramDevice {
        name: "zram0".into(),
        disksize: Bytes::from_gib(1),
        algorithm: Fact::known("lzo-rle".into(), "/sys/block/zram0/comp_algorithm"),
        algorithms: vec!["lzo".into(), "lzo-rle".into(), "zstd".into()],
        mm_stat: Fact::known(
            ZramMmStat { orig_data_size: Bytes::from_mib(400), mem_used_total: Bytes::from_mib(100), ..ZramMmStat::default() },
            "/sys/block/zram0/mm_stat",
        ),
        backing_dev: Fact::absent("CONFIG_ZRAM_WRITEBACK is not set"),
        ..ZramDevice::default()
    }];
}

fn mm_stat(facts: &mut Facts, change: impl FnOnce(&mut ZramMmStat)) {
    let mut stat = *facts.zram.devices[0].mm_stat.value().unwrap();
    change(&mut stat);
    facts.zram.devices[0].mm_stat = Fact::known(stat, "/sys/block/zram0/mm_stat");
}

fn thp(facts: &mut Facts, enabled: &str) {
    facts.memory.thp = Fact::known(ThpFacts { enabled: enabled.into(), defrag: "madvise".into() }, "/sys/kernel/mm");
}
