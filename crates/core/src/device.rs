//! How a device is prepared for swap: names, sizes, and what the programs that do it are told.
//!
//! `plan/device` decides; the room that has a kernel runs what is written down here.

use crate::change::{DeviceFormat, MappingKey, MappingState};
use crate::units::Bytes;

/// What of a volume is header and key slots. LUKS2 takes 16 MiB by default, for dozens of keys; ours has one, and what is captured of
/// it should be small.
pub const LUKS_HEADER: Bytes = Bytes::from_mib(2);
/// Where the first partition begins, and what stays free at the end for the second table.
pub const ALIGNMENT: Bytes = Bytes::from_mib(1);
/// Type of a partition for swap (Discoverable Partitions Specification).
pub const SWAP_TYPE: &str = "0657fd6d-a4ab-43c4-84e5-0933c84b4f4f";
/// Type of a partition for anything else of Linux.
pub const DATA_TYPE: &str = "0fc63daf-8483-4772-8e79-3d69d8477de4";
/// Where key files lie; on a file system that is itself not encrypted they are worth little against a thief of the whole machine.
pub const KEY_DIR: &str = "/etc/swaptune/keys";
/// What a boot waits at most for a device that may be missing.
pub const DEVICE_TIMEOUT: &str = "x-systemd.device-timeout=10s";

/// The node of a partition: `/dev/vdc` → `/dev/vdc1`, `/dev/nvme0n1` → `/dev/nvme0n1p1`.
#[must_use]
pub fn partition_name(disk: &str, number: usize) -> String {
    let separator = if disk.ends_with(|c: char| c.is_ascii_digit()) { "p" } else { "" };
    format!("{disk}{separator}{number}")
}

/// Name of the mapping over a partition: the same at each boot, and short enough for the label of a swap header, which has 16 bytes.
///
/// Partitions of a DOS table share the disk's eight digits and differ in the number behind them (`1234abcd-05`).
#[must_use]
pub fn mapping_name(partuuid: &str) -> String {
    let lower = partuuid.to_ascii_lowercase();
    match lower.split_once('-') {
        Some((disk, number)) if disk.len() == 8 && number.len() == 2 => format!("swap-{lower}"),
        _ => format!("swap-{}", lower.chars().filter(char::is_ascii_hexdigit).take(8).collect::<String>()),
    }
}

/// The key file of a mapping.
#[must_use]
pub fn key_file(mapping: &str) -> String {
    format!("{KEY_DIR}/{mapping}.key")
}

/// The unit that systemd has for what fstab or crypttab names, `ending` being `swap` or `device` (systemd.unit(5): escaping of paths).
#[must_use]
pub fn unit_of(spec: &str, ending: &str) -> String {
    let path = match spec.split_once('=') {
        Some((tag @ ("UUID" | "PARTUUID" | "LABEL" | "PARTLABEL"), value)) => {
            format!("dev/disk/by-{}/{value}", tag.to_ascii_lowercase())
        }
        _ => spec.trim_matches('/').to_owned(),
    };
    let escape = |c: char| match c {
        '/' => "-".to_owned(),
        c if c.is_ascii_alphanumeric() || matches!(c, ':' | '_' | '.') => c.to_string(),
        c => c.to_string().bytes().map(|byte| format!("\\x{byte:02x}")).collect(),
    };
    format!("{}.{ending}", path.chars().map(escape).collect::<String>())
}

/// Links that have systemd bring an area up whenever its partition or its mapping appears: late in a boot, or plugged in. Path and target.
///
/// A name in a folder needs no escaping of its own; udev's `SYSTEMD_WANTS` reads backslashes differently from version to version.
#[must_use]
pub fn arrival_links(partuuid: &str, spec: &str) -> Vec<(String, String)> {
    let swap = unit_of(spec, "swap");
    let partition = format!("PARTUUID={partuuid}");
    let devices = [partition.as_str(), spec].into_iter().take(if spec.starts_with("/dev/mapper/") { 2 } else { 1 });
    let link = |device| {
        let folder = format!("/etc/systemd/system/{}.wants", unit_of(device, "device"));
        (format!("{folder}/{swap}"), format!("/run/systemd/generator/{swap}"))
    };
    devices.map(link).collect()
}

/// The table as sfdisk(8) reads it; empty for what is no table.
#[must_use]
pub fn sfdisk_script(format: &DeviceFormat) -> String {
    let DeviceFormat::Gpt { uuid, partitions } = format else { return String::new() };
    let mut script = format!("label: gpt\nlabel-id: {uuid}\n");
    for part in partitions {
        let (start, size) = (part.start.mib(), part.size.mib());
        script += &format!("start={start}MiB, size={size}MiB, type={}, uuid={}, name=\"{}\"\n", part.guid, part.uuid, part.name);
    }
    script
}

/// What cryptsetup(8) is told to make a volume. A key of random bytes needs no stretching, and Argon2 would take memory at each boot.
#[must_use]
pub fn luks_format(format: &DeviceFormat, device: &str, header: Bytes) -> Vec<String> {
    let DeviceFormat::Luks { uuid, label, cipher, key_bits, key_file } = format else { return Vec::new() };
    let slots = header.0 / 1024 - 32;
    let (bits, offset) = (key_bits.to_string(), (header.0 / 512).to_string());
    let slots = format!("{slots}k");
    let words = [
        ["--batch-mode", "luksFormat"],
        ["--type", "luks2"],
        ["--uuid", uuid],
        ["--label", label],
        ["--cipher", cipher],
        ["--key-size", &bits],
        ["--luks2-metadata-size", "16k"],
        ["--luks2-keyslots-size", &slots],
        ["--offset", &offset],
        ["--pbkdf", "pbkdf2"],
        ["--pbkdf-force-iterations", "1000"],
        ["--key-file", key_file],
    ];
    words.as_flattened().iter().chain([&device]).map(|word| (*word).to_owned()).collect()
}

/// What cryptsetup(8) is told to open a mapping.
#[must_use]
pub fn mapping_open(name: &str, state: &MappingState) -> Vec<String> {
    let mut words: Vec<String> = ["--batch-mode", "open"].map(str::to_owned).to_vec();
    let mut add = |more: &[&str]| words.extend(more.iter().map(|word| (*word).to_owned()));
    match &state.key {
        MappingKey::Random { cipher, key_bits } => {
            let bits = key_bits.to_string();
            add(&["--type", "plain", "--cipher", cipher, "--key-size", &bits, "--key-file", "/dev/urandom"]);
        }
        MappingKey::File { path } => add(&["--type", "luks", "--key-file", path]),
    }
    if state.discard {
        add(&["--allow-discards"]);
    }
    add(&[&state.source, name]);
    words
}

/// What cryptsetup(8) is told to find out whether a key opens a volume; nothing is opened by it.
#[must_use]
pub fn key_test(key_file: &str, device: &str) -> Vec<String> {
    ["--batch-mode", "open", "--test-passphrase", "--type", "luks", "--key-file", key_file, device].map(str::to_owned).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::{PartitionState, SwapHeaderState};

    #[test]
    fn nodes_and_names() {
        for (disk, expect) in [("/dev/vdc", "/dev/vdc2"), ("/dev/nvme0n1", "/dev/nvme0n1p2"), ("/dev/mmcblk0", "/dev/mmcblk0p2")]
        {
            assert_eq!(partition_name(disk, 2), expect);
        }
        assert_eq!(mapping_name("AB12cd34-5678"), "swap-ab12cd34");
        assert!(mapping_name("ab12cd34-5678").len() <= 16, "a label has 16 bytes");
        for (partuuid, name) in [("1234ABCD-02", "swap-1234abcd-02"), ("1234abcd-05", "swap-1234abcd-05")] {
            assert_eq!(mapping_name(partuuid), name, "partitions of a DOS table");
            assert!(name.len() <= 16, "a label has 16 bytes");
        }
    }

    #[test]
    fn units_are_named_as_systemd_names_them() {
        for (spec, unit) in [
            ("/dev/mapper/swap-1a2b3c4d", "dev-mapper-swap\\x2d1a2b3c4d.swap"),
            ("UUID=7d9-1", "dev-disk-by\\x2duuid-7d9\\x2d1.swap"),
            ("/dev/vdb1", "dev-vdb1.swap"),
        ] {
            assert_eq!(unit_of(spec, "swap"), unit);
        }
        let links = arrival_links("ab-1", "/dev/mapper/swap-1");
        assert_eq!(links[0].0, "/etc/systemd/system/dev-disk-by\\x2dpartuuid-ab\\x2d1.device.wants/dev-mapper-swap\\x2d1.swap");
        assert!(links[1].0.contains("/dev-mapper-swap\\x2d1.device.wants/") && links.len() == 2, "{links:?}");
        assert_eq!(arrival_links("ab-1", "UUID=2").len(), 1);
    }

    #[test]
    fn a_table_is_told_to_sfdisk() {
        let part = |name: &str, start, size| PartitionState {
            uuid: format!("{name}-uuid"),
            name: name.into(),
            guid: SWAP_TYPE.into(),
            start: Bytes::from_mib(start),
            size: Bytes::from_mib(size),
        };
        let gpt = DeviceFormat::Gpt { uuid: "disk".into(), partitions: vec![part("a", 1, 60), part("b", 61, 38)] };
        assert_eq!(
            sfdisk_script(&gpt),
            "label: gpt\nlabel-id: disk\n\
             start=1MiB, size=60MiB, type=0657fd6d-a4ab-43c4-84e5-0933c84b4f4f, uuid=a-uuid, name=\"a\"\n\
             start=61MiB, size=38MiB, type=0657fd6d-a4ab-43c4-84e5-0933c84b4f4f, uuid=b-uuid, name=\"b\"\n"
        );
    }

    #[test]
    fn volumes_are_told_to_cryptsetup() {
        let luks = DeviceFormat::Luks {
            uuid: "u".into(),
            label: "l".into(),
            cipher: "aes-xts-plain64".into(),
            key_bits: 512,
            key_file: "/k e y".into(),
        };
        let words = luks_format(&luks, "/dev/vdc1", LUKS_HEADER);
        assert_eq!(&words[words.len() - 3..], ["--key-file", "/k e y", "/dev/vdc1"]);
        assert!(words.join(" ").contains("--luks2-keyslots-size 2016k --offset 4096 --pbkdf pbkdf2"));
        let state = |key, discard| MappingState {
            source: "/dev/vdc1".into(),
            key,
            discard,
            swap: SwapHeaderState { uuid: "s".into(), label: "l".into() },
        };
        let random = MappingKey::Random { cipher: "aes-xts-plain64".into(), key_bits: 512 };
        assert_eq!(
            mapping_open("m", &state(random, true)).join(" "),
            "--batch-mode open --type plain --cipher aes-xts-plain64 --key-size 512 --key-file /dev/urandom --allow-discards /dev/vdc1 m"
        );
        let file = MappingKey::File { path: "/k".into() };
        assert_eq!(mapping_open("m", &state(file, false)).join(" "), "--batch-mode open --type luks --key-file /k /dev/vdc1 m");
    }
}
