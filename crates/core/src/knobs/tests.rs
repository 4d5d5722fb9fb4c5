//! The table of knobs: whole rows, pairs, defaults, keys, values.

use std::collections::BTreeSet;

use super::*;
use swaptune_kernel::v;

#[test]
fn rows_are_whole_and_names_unique() {
    let mut names = BTreeSet::new();
    for knob in all() {
        assert!(names.insert(knob.name), "{} stands twice", knob.name);
        assert!(knob.path.starts_with("/sys/") || knob.path.starts_with("/proc/sys/"), "{}", knob.name);
        assert!(knob.doc.ends_with('.') && knob.source.len() > 3, "{}", knob.name);
        assert_eq!(knob.gone.is_some(), !knob.replaced_by.is_empty(), "{}", knob.name);
        if let (Some(since), Some(gone)) = (knob.since, knob.gone) {
            assert!(since < gone, "{}", knob.name);
        }
    }
    assert!(names.len() >= 60, "only {}", names.len());
}

#[test]
fn a_sysctl_is_named_after_its_path() {
    for knob in all().filter(|knob| knob.is_sysctl()) {
        assert_eq!(format!("/proc/sys/{}", knob.name.replace('.', "/")), knob.path);
    }
}

#[test]
fn a_key_of_its_own_is_for_a_knob_of_one_file() {
    assert!(all().all(|knob| (knob.key == KnobKey::Own) != knob.is_pattern()));
    for (name, place) in [
        ("vm.swappiness", "vm.swappiness under [knobs]"),
        ("zswap.compressor", "compressor under [zswap]"),
        ("zram.comp_algorithm", "algorithm under [[zram]]"),
        ("zram.mm_stat", "none: it is read-only"),
        ("vm.compact_memory", "none: it is a command"),
        ("block.rotational", "none: swaptune sets it for the disks of swap areas"),
    ] {
        assert_eq!(find(name).unwrap().key_text(), place);
    }
}

#[test]
fn what_excludes_a_knob_is_excluded_by_it() {
    let pairs = || all().filter(|knob| !knob.excludes.is_empty());
    assert!(pairs().all(|knob| knob.excluded().is_some_and(|other| other.excludes == knob.name && other.name != knob.name)));
    // Going back is a write to the one of the two whose default is not zero.
    assert!(pairs().all(|knob| (knob.default == "0") != (knob.excluded().unwrap().default == "0")));
    assert!(pairs().count() >= 6);
}

#[test]
fn a_build_decides_some_defaults() {
    let config = |options: &[(&str, &str)]| options.iter().map(|(name, on)| ((*name).into(), (*on).into())).collect();
    let default = |name: &str, options: &[(&str, &str)]| find(name).unwrap().default_of(Some(&config(options)));
    let text = |value: &str| Some(value.to_owned());
    assert_eq!(default("zswap.enabled", &[("CONFIG_ZSWAP_DEFAULT_ON", "y")]), text("Y"));
    assert_eq!(default("zswap.enabled", &[]), text("N"));
    assert_eq!(default("zswap.compressor", &[("CONFIG_ZSWAP_COMPRESSOR_DEFAULT", "\"zstd\"")]), text("zstd"));
    assert_eq!(default("zswap.compressor", &[]), None);
    assert_eq!(default("transparent_hugepage.enabled", &[("CONFIG_TRANSPARENT_HUGEPAGE_MADVISE", "y")]), text("madvise"));
    assert_eq!(default("transparent_hugepage.enabled", &[]), text("never"));
    assert_eq!(default("lru_gen.enabled", &[("CONFIG_LRU_GEN_ENABLED", "n")]), text("0"));
    assert_eq!(default("vm.swappiness", &[]), text("60"));
    assert_eq!(default("vm.min_free_kbytes", &[]), None, "it depends on the machine");
    assert_eq!(find("zswap.enabled").unwrap().default_of(None), None, "the build is not known");
}

#[test]
fn parameters_are_born_and_die_where_the_kernel_sources_say() {
    for (name, there, absent) in [
        ("zswap.zpool", v(6, 17), v(6, 18)),
        ("zswap.shrinker_enabled", v(6, 8), v(6, 6)),
        ("zswap.exclusive_loads", v(6, 5), v(6, 9)),
        ("zswap.same_filled_pages_enabled", v(6, 9), v(6, 10)),
        ("zswap.non_same_filled_pages_enabled", v(5, 18), v(5, 15)),
        ("lru_gen.enabled", v(6, 1), v(5, 15)),
        ("zram.recomp_algorithm", v(6, 2), v(6, 1)),
    ] {
        let knob = find(name).unwrap();
        assert_eq!(knob.why_absent(there), None, "{name} in {there}");
        assert!(knob.why_absent(absent).is_some(), "{name} in {absent}");
    }
}

#[test]
fn values_are_normalised_and_checked() {
    let check = |name: &str, value: &str, expect: Option<&str>| {
        let result = find(name).unwrap().normalise(value);
        assert_eq!(result.as_deref().ok(), expect, "{name} = {value}");
    };
    check("zswap.enabled", "1", Some("Y"));
    check("zswap.enabled", "maybe", None);
    check("vm.swappiness", "200", Some("200"));
    check("vm.swappiness", "201", None);
    check("vm.swappiness", "-1", None);
    check("zswap.max_pool_percent", "101", None);
    check("transparent_hugepage.enabled", "madvise", Some("madvise"));
    check("transparent_hugepage.enabled", "sometimes", None);
    check("zswap.compressor", "two words", None);
    check("zram.disksize", "1G", Some("1073741824"));
    check("lru_gen.enabled", "0x0007", Some("7"));
}

#[test]
fn numbers_are_read_as_the_kernel_reads_them() {
    let read = |name: &str, value: &str| find(name).unwrap().normalise(value).ok().map(std::borrow::Cow::into_owned);
    for (name, value, expect) in [
        ("vm.vfs_cache_pressure", "0144", Some("100")),
        ("vm.vfs_cache_pressure", "00", Some("0")),
        ("vm.vfs_cache_pressure", "089", None),
        ("vm.vfs_cache_pressure", "0x64", Some("100")),
        ("zswap.max_pool_percent", "024", Some("20")),
        ("lru_gen.min_ttl_ms", "0100", Some("100")),
        ("lru_gen.enabled", "y", Some("7")),
        ("lru_gen.enabled", "No", Some("0")),
        ("lru_gen.enabled", "0x0003", Some("3")),
        ("lru_gen.enabled", "x", None),
        ("vm.dirty_bytes", "0", Some("0")),
        ("vm.dirty_bytes", "8191", None),
        ("vm.dirty_bytes", "8192", Some("8192")),
        ("vm.dirty_background_bytes", "1", Some("1")),
        ("vm.dirty_expire_centisecs", "2147483648", None),
        ("vm.dirty_writeback_centisecs", "2147483648", None),
        ("vm.watermark_boost_factor", "2147483648", None),
    ] {
        assert_eq!(read(name, value).as_deref(), expect, "{name} = {value}");
    }
    let expected = find("vm.dirty_bytes").unwrap().expected();
    assert_eq!(expected, "0 or a whole number from 8192 to 9223372036854775807");
}

#[test]
fn an_unknown_name_gets_its_nearest() {
    let error = get("vm.swapiness").unwrap_err();
    assert_eq!(error.to_string(), "unknown knob `vm.swapiness`; did you mean `vm.swappiness`?");
}

#[test]
fn the_chosen_word_stands_in_brackets() {
    for (text, word) in [("always [madvise] never\n", "madvise"), ("60\n", "60"), ("lzo [lz4]", "lz4"), ("] [", "] [")] {
        assert_eq!(chosen(text), word);
    }
}
