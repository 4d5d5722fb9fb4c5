//! Configuration texts and flags.

use super::*;
use crate::knobs::{Knob, KnobKind};

const WHOLE: &str = r#"
profile = "idle-guide"
[zswap]
enabled = true
compressor = ["lz4", "zstd"]
pool = "3G"
shrinker_enabled = true
[[swap]]
path = "/dev/vdb"
priority = 10
optional = false
[[zram]]
size = "4G"
[knobs]
"vm.swappiness" = 80
"transparent_hugepage.enabled" = "madvise"
"#;

#[test]
fn a_whole_file_is_read_with_provenance() {
    let settings = read_toml("/etc/swaptune/config.toml", WHOLE, None).unwrap();
    assert_eq!(settings.zswap.pool().unwrap().value, PoolLimit::Size(Bytes::from_gib(3)));
    assert_eq!(settings.zswap.compressor().unwrap().value, ["lz4", "zstd"]);
    let swap = settings.swap.unwrap().value;
    assert!((swap[0].path.as_str(), swap[0].priority, swap[0].optional) == ("/dev/vdb", 10, Some(false)));
    let swappiness = &settings.knobs["vm.swappiness"];
    assert_eq!(swappiness.value, "80");
    assert_eq!(swappiness.provenance.to_string(), "/etc/swaptune/config.toml:15");
}

#[test]
fn bad_configurations_get_a_sentence_with_the_line() {
    let check = |text: &str, expect: &str| {
        let error = read_toml("c.toml", text, None).unwrap_err().to_string();
        assert!(error.contains(expect), "{text:?} gave: {error}");
    };
    check("[zswap]\ncompresser = \"lz4\"", "c.toml:2: unknown key `compresser` in [zswap]; did you mean `compressor`?");
    check("[zswap]\nenabled = \"yes\"", "c.toml:2: enabled: found \"yes\", expected true or false");
    check("[zswap]\nmax_pool_percent = 150", "found 150, expected a whole number from 0 to 100");
    check("[zswap]\npool = 3", "found 3, expected a size in quotes");
    check("[zswap]\npool = \"3G\"\nmax_pool_percent = 20", "keep one of them");
    check("[[swap]]\nsize = \"1G\"", "[[swap]] needs a path");
    check("swap = 3", "expected a list of tables: [[swap]]");
    check("[[zram]]\npriority = 5", "[[zram]] needs a size");
    check("[knobs]\n\"vm.swapiness\" = 3", "did you mean `vm.swappiness`?");
    check("[knobs]\n\"vm.swappiness\" = 300", "expected a whole number from 0 to 200");
    check("[knobs]\n\"zswap.enabled\" = true", "zswap.enabled is not a key of [knobs]: write enabled under [zswap]");
    check("[knobs]\n\"zram.disksize\" = \"1G\"", "write size under [[zram]]");
    check("[knobs]\n\"zram.idle\" = \"all\"", "zram.idle cannot be configured: it is a command");
    let both = "[knobs]\n\"vm.dirty_ratio\" = 10\n\"vm.dirty_bytes\" = 67108864";
    check(both, "vm.dirty_ratio and vm.dirty_bytes exclude each other");
    check("[[swap]]\npath = \"/x\"\npriority = 40000", "from 0 to 32767");
    check("[[swap]]\npath = \"/x\"\npriority = -1", "found -1, expected a whole number from 0 to 32767");
    check("[[zram]]\nsize = \"1G\"\npriority = 32768", "from 0 to 32767");
    check("[[swap]]\npath = \"/x\"\nsize = \"0\"", "c.toml:3: size: found \"0\", expected at least \"40K\"");
    check("[[zram]]\nsize = \"0\"", "size: found \"0\", expected at least \"40K\"");
    check("[[zram]]\nsize = \"4096\"", "c.toml:2: size: found \"4096\", expected at least \"40K\"");
    check("[zswap]\nzpool = \"foo\"", "zpool: found \"foo\", expected one of zsmalloc, zbud, z3fold");
    check("[[zram]]\nsize = \"99999999T\"", "expected a size such as");
    check("[[zram]]\nsize = \"1G\"\nrecomp_algorithm = [\"a\", \"b\", \"c\", \"d\"]", "expected at most three compressors");
    check("[[zram]]\nsize = \"1G\"\nbacking_dev = \"vdb\"", "found \"vdb\", expected a block device");
    check("[zswap]\npool = \"0\"", "expected a size above 0");
    check("[safety]\nkubelet = \"yes\"", "c.toml:2: kubelet: found \"yes\", expected \"refuse\" or \"allow\"");
    check("[safety]\nkublet = \"allow\"", "did you mean `kubelet`?");
    check("profile = ", "c.toml:1: not valid TOML");
    check("[machine]\nram = 4", "found 4, expected a size in quotes");
    check("[machine]\nram = \"4K\"", "expected at least \"16M\"");
    check("[machine]\ncpus = 0", "found 0, expected a whole number from 1 to 8192");
    check("[machine]\ndisk = \"nvme\"", "unknown key `disk` in [machine]; known are ram, cpus");
    check("colour = 1", "unknown key `colour`; known are profile");
}

#[test]
fn flags_are_settings_too() {
    let settings = Settings::from_flag("vm.swappiness=100").unwrap();
    assert_eq!(settings.knobs["vm.swappiness"].provenance.to_string(), "flag --set vm.swappiness=100");
    assert_eq!(Settings::from_flag("zswap.pool=3G").unwrap().zswap.pool().unwrap().value, PoolLimit::Size(Bytes::from_gib(3)));
    assert_eq!(Settings::from_flag("zswap.compressor=lz4").unwrap().zswap.compressor().unwrap().value, ["lz4"]);
    assert!(Settings::from_flag("zswap.enabled=N").unwrap().zswap.enabled().is_some_and(|on| !on.value));
    let allowed = Settings::from_flag("safety.kubelet=allow").unwrap();
    assert!(allowed.allows_kubelet() && !Settings::from_flag("safety.kubelet=refuse").unwrap().allows_kubelet());
    assert_eq!(allowed.safety.kubelet.unwrap().provenance.to_string(), "flag --set safety.kubelet=allow");
    for bad in [
        "safety.kubelet=maybe",
        "safety.node=allow",
        "vm.swappiness",
        "vm.swapiness=3",
        "vm.swappiness=900",
        "zswap.pol=3G",
        "zswap.enabled=maybe",
    ] {
        let error = Settings::from_flag(bad).unwrap_err();
        assert!(error.place.contains(bad), "{error}");
    }
}

#[test]
fn a_later_layer_wins_field_by_field() {
    let below = read_toml("a", "[zswap]\nenabled = true\npool = \"1G\"\n[knobs]\n\"vm.swappiness\" = 10", None).unwrap();
    let above = read_toml("b", "[zswap]\npool = \"2G\"\n[knobs]\n\"vm.page-cluster\" = 0", None).unwrap();
    let both = below.overlay(above);
    assert!(both.wants_zswap());
    assert_eq!(both.zswap.pool().unwrap().value, PoolLimit::Size(Bytes::from_gib(2)));
    assert_eq!(both.knobs.len(), 2);
}

#[test]
fn a_later_layer_takes_the_place_of_what_it_excludes() {
    let below = read_toml("a", "[knobs]\n\"vm.dirty_ratio\" = 15\n\"vm.dirty_background_ratio\" = 5", None).unwrap();
    let both = below.overlay(Settings::from_flag("vm.dirty_bytes=67108864").unwrap());
    assert_eq!(both.knobs.keys().collect::<Vec<_>>(), ["vm.dirty_background_ratio", "vm.dirty_bytes"]);
}

#[test]
fn every_row_of_zswap_is_a_key_of_its_section() {
    let value = |row: &Knob| match row.kind {
        KnobKind::Bool => "true".to_owned(),
        KnobKind::Integer { max, .. } => max.to_string(),
        KnobKind::Choice(words) => format!("{words:?}"),
        _ => "[\"a\", \"b\"]".to_owned(),
    };
    let lines: String = ZswapSettings::rows().map(|row| format!("{} = {}\n", row.parameter(), value(row))).collect();
    let settings = read_toml("c.toml", &format!("[zswap]\n{lines}"), None).unwrap();
    for row in ZswapSettings::rows() {
        let wanted = &settings.zswap.get(row.parameter()).unwrap().value;
        let text = wanted.text(Bytes::from_gib(1)).unwrap();
        assert_eq!(row.normalise(&text).unwrap(), text, "{}", row.name);
        let flag = Settings::from_flag(&format!("{}={text}", row.name)).unwrap();
        assert_eq!(flag.zswap.get(row.parameter()).unwrap().value.text(Bytes::from_gib(1)), Some(text));
    }
    let again = read_toml("c.toml", &to_toml(&settings), None).unwrap();
    let values = |settings: &Settings| {
        let value = |row: &'static Knob| settings.zswap.get(row.parameter()).map(|setting| setting.value.clone());
        ZswapSettings::rows().map(value).collect::<Vec<_>>()
    };
    assert_eq!(values(&again), values(&settings));
}
