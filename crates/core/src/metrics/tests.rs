//! The table: its form, values of one sample, rates of two.

use std::collections::BTreeSet;

use super::*;
use crate::control::{DaemonReport, Mode, Totals};
use crate::facts::{Pressure, SwapArea, SwapKind, ZramDevice, ZramMmStat, ZswapFacts};
use crate::parse::block_stat::BlockStat;
use crate::parse::keyed;

/// A machine with zswap on a disk and a zram device; `step` tells moments apart.
fn sample(step: u64) -> Sample {
    let mut sample = Sample { unix_ms: 1000 * step, steady_us: 2_000_000 * step, ..Sample::default() };
    let facts = &mut sample.facts;
    facts.kernel.page_size = Bytes(4096);
    let meminfo = "MemTotal: 1048576 kB\nMemFree: 262144 kB\nAnonPages: 131072 kB\nZswap: 65536 kB\nZswapped: 196608 kB\n";
    facts.memory.meminfo = Fact::known(keyed::meminfo(meminfo), "/proc/meminfo");
    let vmstat = format!("pswpin {}\npswpout {}\nzswpin {}\nzswpout {}\n", 10 * step, 20, 512 * step, 100);
    facts.memory.vmstat = Fact::known(keyed::counts(&vmstat), "/proc/vmstat");
    facts.memory.pressure =
        Fact::known(Pressure { some_avg10: 12.5, some_total_us: 500_000 * step, ..Pressure::default() }, "psi");
    let parameters = [("max_pool_percent", "20"), ("accept_threshold_percent", "90")];
    facts.zswap = Fact::known(
        ZswapFacts {
            enabled: true,
            parameters: parameters.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            counters: Fact::known(
                [("reject_alloc_fail".to_owned(), 7 * step), ("written_back_pages".to_owned(), 4 * step)].into(),
                "/sys/kernel/debug/zswap",
            ),
            ..ZswapFacts::default()
        },
        "zswap",
    );
    let stat = ZramMmStat { orig_data_size: Bytes::from_mib(64), mem_used_total: Bytes::from_mib(16), ..ZramMmStat::default() };
    let device = ZramDevice {
        name: "zram0".into(),
        disksize: Bytes::from_mib(256),
        mm_stat: Fact::known(stat, "mm_stat"),
        ..ZramDevice::default()
    };
    facts.zram.devices.push(device);
    facts.swaps.push(SwapArea {
        path: "/dev/vda3".into(),
        kind: SwapKind::Partition,
        size: Bytes::from_gib(1),
        used: Bytes::from_mib(200),
        priority: 10,
        device: Fact::known("vda3".into(), "test"),
        uuid: Fact::default(),
        encryption: Fact::default(),
        filesystem: Fact::default(),
    });
    let stat = BlockStat { reads: 10 * step, read: Bytes(40_960 * step), read_ms: 30 * step, ..BlockStat::default() };
    sample.disks.insert("vda3".into(), stat);
    let totals = Totals { taken: Bytes::from_mib(step), bursts: 4 * step, decisions: 6 * step, ..Totals::default() };
    let daemon = DaemonReport { totals, limit_percent: 45, home_percent: 43, out: Some(Bytes(4096)), ..DaemonReport::default() };
    sample.daemon = Fact::known(daemon, "/run/swaptune/daemon.json");
    sample.units =
        Fact::known(vec![UnitUse { name: "a\"b.service".into(), swap: Some(Bytes(4096)), ..UnitUse::default() }], "test");
    sample
}

fn one(look: &SampleLook<'_>, name: &str) -> Reading {
    find(name).unwrap_or_else(|| panic!("no row {name}")).readings(look).remove(0)
}

fn of(look: &SampleLook<'_>, name: &str, label: &str) -> Reading {
    let readings = find(name).unwrap_or_else(|| panic!("no row {name}")).readings(look);
    readings.into_iter().find(|reading| reading.label == label).unwrap_or_else(|| panic!("{name} has no {label}"))
}

#[test]
fn rows_have_names_of_their_own_that_end_in_their_unit() {
    let mut names: Vec<&str> = all().map(|metric| metric.name).collect();
    for metric in all() {
        assert!(metric.name.ends_with(metric.unit.name()), "{}", metric.name);
        assert!(metric.name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'), "{}", metric.name);
        assert!(!metric.name.ends_with("_total"), "{}: the suffix of counters is of OpenMetrics", metric.name);
        assert!(!metric.help.ends_with('.') && metric.help.len() > 20, "{}", metric.name);
    }
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn gauges_and_what_is_derived() {
    let sample = sample(1);
    let look = SampleLook::new(&sample, None);
    let value = |name: &str| one(&look, name).value.value().copied().unwrap_or_else(|| panic!("{name}"));
    let mib = |count: f64| count * f64::from(1 << 20);
    for (name, expect) in [
        ("ram_total_bytes", mib(1024.0)),
        ("ram_compressed_pool_bytes", mib(80.0)),
        ("zswap_enabled", 1.0),
        ("zswap_pool_bytes", mib(64.0)),
        ("zswap_compression_ratio", 3.0),
        ("memory_stall_some_10s_ratio", 0.125),
        ("memory_stall_some_seconds", 0.5),
        ("compressed_original_bytes", mib(256.0)),
        // 192 MiB are 49 152 pages of 64 B in zswap; zram0 could hold 65 536 pages of 16 B.
        ("compressed_metadata_bytes", mib(4.0)),
        ("compressed_effective_ratio", 256.0 / 84.0),
        ("ram_saved_bytes", mib(256.0 - 84.0)),
        ("zswap_written_back_bytes", 4.0 * 4096.0),
        ("daemon_running", 1.0),
        ("daemon_paused", 0.0),
        ("daemon_pool_limit_ratio", 0.45),
        ("daemon_pool_limit_configured_ratio", 0.43),
        ("daemon_taken_bytes", mib(1.0)),
        ("daemon_still_swapped_bytes", 4096.0),
    ] {
        assert!((value(name) - expect).abs() < 1e-9, "{name}: {} is not {expect}", value(name));
    }
    assert!((value("zswap_pool_fill_ratio") - 64.0 / 204.8).abs() < 1e-6);
    assert_eq!(of(&look, "swap_resident_bytes", "zswap").value.value(), Some(&mib(192.0)));
    assert_eq!(of(&look, "zram_compression_ratio", "zram0").value.value(), Some(&4.0));
    assert_eq!(of(&look, "area_used_bytes", "/dev/vda3").value.value(), Some(&mib(200.0)));
}

#[test]
fn rates_are_differences_by_the_time_between() {
    let (first, second) = (sample(1), sample(2));
    let look = SampleLook::new(&second, Some(&first));
    let rate = |name: &str, label: &str| of(&look, name, label).per_second.unwrap();
    assert_eq!(look.seconds(), Some(2.0));
    assert_eq!(rate("zswap_in_bytes", "").value(), Some(&(512.0 * 4096.0 / 2.0)));
    assert_eq!(rate("swap_in_bytes", "device").value(), Some(&(10.0 * 4096.0 / 2.0)));
    assert_eq!(rate("zswap_out_bytes", "").value(), Some(&0.0));
    assert_eq!(rate("daemon_bursts", "").value(), Some(&2.0));
    assert_eq!(rate("zswap_rejected", "alloc_fail").value(), Some(&3.5));
    assert_eq!(rate("memory_stall_some_seconds", "").value(), Some(&0.25));
    assert_eq!(of(&look, "area_read_latency_seconds", "/dev/vda3").value.value(), Some(&0.003));
    assert_eq!(
        of(&look, "area_write_latency_seconds", "/dev/vda3").value.source().split(": ").last(),
        Some("no request ended between the two samples")
    );
    assert!(one(&look, "zswap_pool_bytes").per_second.is_none(), "a gauge has no rate");
}

#[test]
fn a_daemon_that_ended_keeps_its_sums_and_has_no_state() {
    let mut sample = sample(3);
    let Fact::Known { value, .. } = &mut sample.daemon else { panic!() };
    value.mode = Mode::Gone;
    let look = SampleLook::new(&sample, None);
    assert_eq!(one(&look, "daemon_running").value.value(), Some(&0.0));
    assert_eq!(one(&look, "daemon_bursts").value.value(), Some(&12.0));
    for name in ["daemon_paused", "daemon_pool_limit_ratio", "daemon_still_swapped_bytes", "daemon_idle_units"] {
        assert!(one(&look, name).value.source().ends_with("the daemon does not run"), "{name}");
    }
}

#[test]
fn a_counter_that_began_anew_has_no_rate_and_one_sample_has_none_either() {
    let (first, second) = (sample(1), sample(2));
    let back = SampleLook::new(&first, Some(&second));
    assert_eq!(back.seconds(), None, "the clock went back");
    let mut later = sample(1);
    later.steady_us = 10_000_000;
    let look = SampleLook::new(&later, Some(&second));
    let rate = of(&look, "zswap_in_bytes", "").per_second.unwrap();
    assert_eq!(rate.source(), "/proc/vmstat zswpin: it began anew between the two samples");
    let alone = SampleLook::new(&first, None);
    assert_eq!(of(&alone, "zswap_in_bytes", "").per_second.unwrap().source(), "a rate needs two samples");
}

#[test]
fn what_a_kernel_lacks_is_absent_with_its_reason_and_never_zero() {
    let nothing = Sample::default();
    let look = SampleLook::new(&nothing, None);
    for metric in all() {
        for reading in metric.readings(&look) {
            let zero_is_known = matches!((metric.name, reading.label.as_str()), ("swap_resident_bytes", "zram" | "disk"));
            assert!(zero_is_known || !reading.value.is_known(), "{} is known of nothing", metric.name);
            assert!(!reading.value.source().is_empty(), "{}", metric.name);
        }
    }
    let text = exposition(&look, Exposition::OpenMetrics);
    assert!(!text.contains("swaptune_zswap_pool_bytes 0"), "{text}");
    assert!(one(&SampleLook::new(&sample(1), None), "zswap_same_filled_bytes").value.source().contains("6.12"));
}

#[test]
fn openmetrics_has_type_unit_help_and_an_end() {
    let sample = sample(1);
    let text = exposition(&SampleLook::new(&sample, None), Exposition::OpenMetrics);
    for line in [
        "# TYPE swaptune_zswap_in_bytes counter\n# UNIT swaptune_zswap_in_bytes bytes\n# HELP swaptune_zswap_in_bytes Pages that were loaded from zswap (vmstat zswpin)\nswaptune_zswap_in_bytes_total 2097152\n",
        "swaptune_area_size_bytes{area=\"/dev/vda3\"} 1073741824\n",
        "swaptune_unit_swap_bytes{unit=\"a\\\"b.service\"} 4096\n",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    assert!(text.ends_with("\n# EOF\n"));
}

/// Reads OpenMetrics as strictly as its grammar is: families once, each with its lines together, names and units that fit.
fn strict(text: &str) -> Result<usize, String> {
    let body = text.strip_suffix("# EOF\n").ok_or("no end")?;
    let (mut families, mut samples) = (BTreeSet::new(), BTreeSet::new());
    let (mut family, mut kind) = ("", "");
    for line in body.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            (family, kind) = rest.split_once(' ').ok_or("no type")?;
            families.insert(family).then_some(()).ok_or(format!("{family} comes twice"))?;
        } else if let Some(rest) = line.strip_prefix("# UNIT ") {
            let (name, unit) = rest.split_once(' ').ok_or("no unit")?;
            (name == family && name.ends_with(&format!("_{unit}"))).then_some(()).ok_or(format!("{name} is not in {unit}"))?;
        } else if let Some(rest) = line.strip_prefix("# HELP ") {
            (rest.split(' ').next() == Some(family)).then_some(()).ok_or(format!("help of another: {line}"))?;
        } else {
            let (name, value) = line.rsplit_once(' ').ok_or("no value")?;
            let suffix = if kind == "counter" { "_total" } else { "" };
            let labels = name.strip_prefix(&format!("{family}{suffix}")).ok_or(format!("{name} is not of {family}"))?;
            let is_label = labels.is_empty() || labels.starts_with('{') && labels.ends_with("\"}") && labels.contains("=\"");
            is_label.then_some(()).ok_or(format!("labels {labels}"))?;
            value.parse::<f64>().map_err(|error| format!("{line}: {error}"))?;
            samples.insert(name).then_some(()).ok_or(format!("{name} comes twice"))?;
        }
    }
    Ok(samples.len())
}

#[test]
fn openmetrics_is_what_its_grammar_says() {
    let (first, second) = (sample(1), sample(2));
    let count = strict(&exposition(&SampleLook::new(&second, Some(&first)), Exposition::OpenMetrics)).unwrap();
    assert!(count > 40, "{count} samples");
    for wrong in
        ["", "# TYPE a gauge\na_total 1\n# EOF\n", "# TYPE a gauge\na 1\na 2\n# EOF\n", "# TYPE a gauge\n# UNIT a bytes\n# EOF\n"]
    {
        assert!(strict(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn the_older_form_has_the_suffix_in_every_line() {
    let text = exposition(&SampleLook::new(&sample(1), None), Exposition::Text);
    assert!(text.contains("# TYPE swaptune_zswap_in_bytes_total counter\n# HELP swaptune_zswap_in_bytes_total "), "{text}");
    assert!(!text.contains("# UNIT") && !text.contains("# EOF"), "{text}");
}

#[test]
fn csv_has_a_field_for_each_column_and_none_for_what_is_absent() {
    let (first, second) = (sample(1), sample(2));
    let look = SampleLook::new(&second, Some(&first));
    let (header, line) = (csv_header(), csv_line(&look));
    let fields: std::collections::BTreeMap<&str, &str> =
        header.trim_end().split(',').zip(line.trim_end_matches('\n').split(',')).collect();
    assert_eq!(header.matches(',').count(), line.matches(',').count());
    assert_eq!((fields["unix_ms"], fields["zswap_in_bytes_per_second"]), ("2000", "1048576"));
    assert_eq!(fields["zswap_same_filled_bytes"], "");
}

#[test]
fn json_has_a_source_or_a_reason_at_each_value() {
    let (first, second) = (sample(1), sample(2));
    let json = report(&SampleLook::new(&second, Some(&first)));
    let metric = |name: &str| json["metrics"][name].clone();
    assert_eq!(metric("zswap_in_bytes")["per_second"], 1_048_576);
    assert_eq!(metric("zswap_pool_bytes"), serde_json::json!({ "value": 67_108_864, "source": "/proc/meminfo Zswap" }));
    assert!(metric("zswap_same_filled_bytes")["absent"].is_string());
    assert_eq!(metric("area_used_bytes")["/dev/vda3"]["value"], 209_715_200);
    assert_eq!(json["seconds"], 2);
    assert_eq!((&json["daemon"]["mode"], &json["daemon"]["totals"]["bursts"]), (&"working".into(), &8.into()));
}

proptest::proptest! {
    #[test]
    fn a_sample_comes_back_from_json(step in 0_u64..1000) {
        let sample = sample(step);
        let text = serde_json::to_string(&sample).unwrap();
        proptest::prop_assert_eq!(serde_json::from_str::<Sample>(&text).unwrap(), sample);
    }
}
