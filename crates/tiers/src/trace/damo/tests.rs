use proptest::prelude::*;

use super::*;
use crate::trace::TraceReading;

const JSON: &str = include_str!("../../../tests/traces/damo.json");
const PACKED: &[u8] = include_bytes!("../../../tests/traces/damo-packed.json.z");
const LINES: &str = include_str!("../../../tests/traces/damo-perf-script.txt");
const RAW: &str = include_str!("../../../tests/traces/damo-raw.txt");
const RAW_UNITS: &str = include_str!("../../../tests/traces/damo-raw-units.txt");

fn parse(bytes: &[u8]) -> Result<Trace, TraceError> {
    read(TraceSource::new(bytes).unwrap(), KeptColumns::Everything)
}

fn events(text: &str) -> Vec<(u64, u32, u16)> {
    parse(text.as_bytes()).unwrap().iter().map(|event| (event.time, event.page, event.cgroup)).collect()
}

fn say(text: &str) -> String {
    parse(text.as_bytes()).unwrap_err().to_string()
}

#[test]
fn a_record_is_the_same_trace_in_all_forms() {
    let trace = parse(JSON.as_bytes()).unwrap();
    // Accesses times pages of the regions of four snapshots.
    let seen = 10 * 2 + 10 + 6 + 5 * 3 + (10 * 2 + 10 + 5 + 5 * 3) + (5 * 2 + 5 + 5 + 5 * 3) + (6 * 2 + 5 + 5 + 5 * 3);
    assert_eq!((trace.len(), trace.page_count()), (seen, 7));
    assert!(trace.end() < 20_900_689_333 && trace.end() > 20_000_000_000, "{}", trace.end());
    assert_eq!(parse(PACKED).unwrap(), trace);
    let guess = TraceReading { format: None, layout: None, keep: KeptColumns::Everything };
    for bytes in [JSON.as_bytes(), PACKED, LINES.as_bytes(), RAW.as_bytes(), RAW_UNITS.as_bytes()] {
        let other = crate::trace::read(bytes, &guess).unwrap();
        assert_eq!(other.pages(), trace.pages());
        // Times with units are rounded to a millisecond, and in seconds from the start of the machine to one too.
        let off = other.iter().zip(trace.iter()).map(|(a, b)| a.time.abs_diff(b.time)).max();
        assert!(off <= Some(2_000_000), "{off:?}");
    }
}

/// damo writes a target's head when a process has ended meanwhile, and no region below it.
#[test]
fn a_target_without_regions_has_no_accesses() {
    let head = "base_time_absolute: 100 ns\nmonitoring_start: 0 ns\nmonitoring_end: 80 ns\ntarget_id: 5\n";
    assert!(parse(head.as_bytes()).unwrap().is_empty());
    let two = format!("{head}target_id: 6\nnr_regions: 1\n1000-2000 (4 KiB) 3 0\n");
    let trace = parse(two.as_bytes()).unwrap();
    assert_eq!((trace.len(), trace.get(0).cgroup), (3, 1));
}

#[test]
fn accesses_are_spread_over_the_interval_and_often_used_pages_come_again_first() {
    let text = "base_time_absolute: 100 ns\nmonitoring_start: 0 ns\nmonitoring_end: 80 ns\ntarget_id: 5\nnr_regions: 3\n\
                1000-3000 (8 KiB) 4 0\n3000-4000(4 KiB):   2\n4000-5000 (4 KiB) 0 9\n";
    let step = |time: u64, pages: &[u32]| pages.iter().map(|&page| (time, page, 0)).collect::<Vec<_>>();
    let expected = [step(0, &[0, 1, 2]), step(20, &[0, 1]), step(40, &[0, 1, 2]), step(60, &[0, 1])].concat();
    assert_eq!(events(text), expected);
}

#[test]
fn what_does_not_fit_is_refused_before_it_is_made() {
    let text = "base_time_absolute: 100 ns\nmonitoring_start: 0 ns\nmonitoring_end: 80 ns\ntarget_id: 5\nnr_regions: 1\n1000-2000 (4 KiB) 9 0\n";
    let at_most = |events| read(TraceSource::new(text.as_bytes()).unwrap().at_most(events), KeptColumns::Everything);
    assert_eq!(at_most(9).unwrap().len(), 9);
    assert!(matches!(at_most(8), Err(TraceError::TooLong { most: 8 })));
    let empty = "monitoring_end: 80 ns\ntarget_id: 5\nnr_regions: 0\n";
    let many = |count| format!("base_time_absolute: 100 ns\n{}", empty.repeat(count));
    assert!(parse(many(SNAPSHOTS_MAX).as_bytes()).unwrap().is_empty());
    assert!(say(&many(SNAPSHOTS_MAX + 1)).starts_with("trace: found more snapshots, expected at most 1024"));
    let snapshot = r#"{"start_time": 0, "end_time": 1, "regions": []}"#;
    let json = |count| format!(r#"[{{"snapshots": [{}]}}]"#, vec![snapshot; count].join(","));
    assert!(parse(json(SNAPSHOTS_MAX).as_bytes()).unwrap().is_empty());
    assert!(say(&json(SNAPSHOTS_MAX + 1)).starts_with("trace: found more snapshots"));
}

#[test]
fn in_how_many_steps_a_region_is_accessed_is_its_number_of_accesses() {
    for (accesses, steps) in (1..=20u16).flat_map(|steps| (1..=steps).map(move |accesses| (accesses, steps))) {
        let region = DamonRegion::new(0, 4096, accesses).unwrap();
        let hit: Vec<u64> = (0..u64::from(steps)).filter(|&step| region.in_step(step, u64::from(steps))).collect();
        assert_eq!(hit.len(), usize::from(accesses));
        let gaps: Vec<u64> = hit.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.iter().max().unwrap_or(&1) - gaps.iter().min().unwrap_or(&1) <= 1, "{accesses} of {steps}: {hit:?}");
    }
}

#[test]
fn targets_are_cgroups_with_pages_of_their_own() {
    let line = |time: &str, target: &str| {
        format!("k 7 [0] {time}: damon:damon_aggregated: target_id={target} nr_regions=1 4096-8192: 1 3\n")
    };
    let text = [line("11.0", "77"), line("11.1", "88"), line("13.0", "77"), line("13.1", "88")].concat();
    // The first interval is as long as the second: from 9 s to 11 s; an access of one is in its middle.
    assert_eq!(events(&text), [(0, 0, 0), (100_000_000, 1, 1), (2_000_000_000, 0, 0), (2_100_000_000, 1, 1)]);
}

#[test]
fn a_snapshot_ends_when_it_is_complete_or_events_were_lost() {
    let line = |time: &str, regions: u32, range: &str| {
        format!("{time}: damon_aggregated: target_id=0 nr_regions={regions} {range}: 1\n")
    };
    let whole =
        [line("1.0", 2, "0-4096"), line("1.000001", 2, "4096-8192"), line("2.0", 2, "0-4096"), line("2.1", 2, "8192-9000")];
    let found = text::snapshots(TraceSource::new(whole.concat().as_bytes()).unwrap()).unwrap();
    assert_eq!(found.iter().map(|s| (s.end, s.regions.len())).collect::<Vec<_>>(), [(1_000_000_000, 2), (2_000_000_000, 2)]);
    let lost = [&whole[1], &whole[2], &whole[3]].map(String::as_str).concat();
    let found = text::snapshots(TraceSource::new(lost.as_bytes()).unwrap()).unwrap();
    assert_eq!(found.iter().map(|s| s.regions.len()).collect::<Vec<_>>(), [1, 2]);
    // What damo adds behind a single snapshot tells how long that was.
    let single = "1.0: damon:damon_aggregated: target_id=0 nr_regions=1 0-4096: 2 0\n1.4: damon:damon_aggregated: target_id=0 nr_regions=1 0-0: -1 -1\n";
    assert_eq!(events(single), [(0, 0, 0), (200_000_000, 0, 0)]);
    assert!(events("1.0: damon:damon_monitor_intervals_tune: sample_us=5\n").is_empty());
}

#[test]
fn faults_are_named_with_their_line() {
    let json = |text: &str| JSON.replacen("\"4,324,548,608\"", text, 1);
    for (text, says) in [
        (
            json("\"x\""),
            "line 16: found invalid value: string \"x\", expected an address, expected a list of records as damo writes it",
        ),
        (
            json("-5"),
            "line 16: found invalid type: integer `-5`, expected an address, expected a list of records as damo writes it",
        ),
        (
            "[1]".into(),
            "line 1: found invalid type: integer `1`, expected a record with its snapshots, expected a list of records as damo writes it",
        ),
        (
            "base_time_absolute: 0\nmonitoring_end: soon".into(),
            "line 2: found `monitoring_end: soon`, expected a time, as 104.599 ms",
        ),
        (
            "base_time_absolute: 0\n1000-2000 (4096) 1 1".into(),
            "line 2: found `1000-2000 (4096) 1 1`, expected nr_regions before the first region",
        ),
        (
            "base_time_absolute: 0\nnr_regions: 1\n2000-1000 (4096) 1".into(),
            "line 3: found `2000-1000 (4096) 1`, expected a region: START-END in hexadecimal, (SIZE), accesses",
        ),
        (
            "base_time_absolute: 0\nnr_regions: 1\n1000-2000 (4096) 70000".into(),
            "line 3: found `1000-2000 (4096) 70000`, expected accesses from 0 to 65535",
        ),
        (
            "base_time_absolute: 0\nhello: you".into(),
            "line 2: found `hello: you`, expected a line of `damo report access --raw_form`, or of perf script with its time",
        ),
        (
            "1.0: damon:damon_aggregated: target_id=0 nr_regions=1 5".into(),
            "line 1: found `1.0: damon:damon_aggregated: target_id=0 nr_regions=1 5`, expected damon:damon_aggregated: target_id=… nr_regions=… START-END: ACCESSES",
        ),
    ] {
        assert_eq!(say(&text), says);
    }
    let huge = "base_time_absolute: 0\nnr_regions: 1\n0-ffffffffffffffff (16 EiB) 3 1\n";
    assert!(
        say(huge).starts_with("trace: found regions with 13510798882111488 accesses to pages, expected at most"),
        "{}",
        say(huge)
    );
    let guess = TraceReading { format: None, layout: None, keep: KeptColumns::Pages };
    let cut = crate::trace::read(&PACKED[..PACKED.len() / 2], &guess).unwrap_err();
    assert_eq!(cut.to_string(), "header: incomplete deflate stream");
}

proptest! {
    #[test]
    fn nothing_panics(text in "[0-9a-f:,. =()#\n-]{0,60}", which in 0..4usize, at: prop::sample::Index, cut in 0..40usize) {
        let mut bytes = [JSON, LINES, RAW, RAW_UNITS][which].as_bytes().to_vec();
        let at = at.index(bytes.len());
        let end = (at + cut).min(bytes.len());
        bytes.splice(at..end, text.bytes());
        let _ = parse(&bytes);
        let _ = parse(text.as_bytes());
    }
}
