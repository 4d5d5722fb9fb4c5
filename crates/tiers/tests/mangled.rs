//! Scenarios, traces and page sets with something wrong in them: each is read or refused with a message, and none panics. What the fuzz
//! targets do without end is done here over a fixed number of random changes.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use swaptune_tiers::generate::generate;
use swaptune_tiers::page_set::{GroupKind, PageClass, PageGroup, PageSet, SCHEMA};
use swaptune_tiers::scenario::{Changes, NoFiles, Scenario};
use swaptune_tiers::trace::{FORMATS, KeptColumns, TraceFormat, TraceReading, read, write};

const SCENARIOS: [&str; 5] = [
    include_str!("../../../scenarios/zram-upkeep.toml"),
    include_str!("../../../scenarios/a18-several-areas.toml"),
    include_str!("../../../scenarios/b2-compile.toml"),
    include_str!("../../../scenarios/c2-write-through.toml"),
    include_str!("../../../scenarios/d7-proactive-shrinker.toml"),
];
/// Traces in formats that are only read.
const FOREIGN: [(TraceFormat, &[u8]); 5] = [
    (TraceFormat::Perf, include_bytes!("traces/page_fault_user.perf.txt")),
    (TraceFormat::Damo, include_bytes!("traces/damo-perf-script.txt")),
    (TraceFormat::Damo, include_bytes!("traces/damo-raw-units.txt")),
    (TraceFormat::Damo, include_bytes!("traces/damo.json")),
    (TraceFormat::Damo, include_bytes!("traces/damo-packed.json.z")),
];
/// Values at which arithmetic would break.
const HARD: [&str; 14] = [
    "-1",
    "0",
    "1e308",
    "nan",
    "inf",
    "-0.0",
    "4294967296",
    "18446744073709551616",
    "\"\"",
    "[]",
    "{}",
    "\"99999999T\"",
    "true",
    "é",
];

/// One to four changes of bytes, lines or values.
fn mangle(text: &[u8], random: &mut Pcg64) -> Vec<u8> {
    let mut text = text.to_vec();
    for _ in 0..random.random_range(1..5) {
        if text.is_empty() {
            break;
        }
        let at = random.random_range(0..text.len());
        let to = (at + random.random_range(0..12)).min(text.len());
        match random.random_range(0..5) {
            0 => text[at] = random.random(),
            1 => _ = text.drain(at..to),
            2 => text.truncate(at),
            3 => {
                let piece = text[at..to].to_vec();
                let place = random.random_range(0..=text.len());
                text.splice(place..place, piece);
            }
            _ => {
                // The value behind the next `=` or `:`.
                let Some(sign) = text[at..].iter().position(|byte| b"=:".contains(byte)).map(|sign| at + sign + 1) else {
                    continue;
                };
                let end = text[sign..].iter().position(|byte| b",\n}]".contains(byte)).map_or(text.len(), |end| sign + end);
                text.splice(sign..end, HARD[random.random_range(0..HARD.len())].bytes());
            }
        }
    }
    text
}

#[test]
fn mangled_scenarios_are_read_or_refused() {
    let mut random = Pcg64::seed_from_u64(4);
    let mut refused = 0;
    for round in 0..2500 {
        let text = mangle(SCENARIOS[round % SCENARIOS.len()].as_bytes(), &mut random);
        let Ok(text) = String::from_utf8(text) else { continue };
        if let Err(error) = Scenario::read(&text, &Changes::default(), &NoFiles) {
            assert!(!error.to_string().is_empty());
            refused += 1;
        }
    }
    assert!((500..2500).contains(&refused), "changes that break and changes that do not: {refused}");
}

#[test]
fn mangled_page_sets_are_read_or_refused() {
    let group = PageGroup { name: "a[1]".into(), kind: GroupKind::Process, processes: 1, present: 3, swapped: 0, watched: None };
    let set = PageSet {
        schema: SCHEMA,
        page_size: 4096,
        groups: vec![group],
        group: vec![0, 0, 0],
        class: vec![PageClass::Data, PageClass::SameFilled, PageClass::Data],
        sizes: [("lz4".into(), vec![1000, 30, 4096])].into(),
        ..PageSet::default()
    };
    let whole = set.to_json().expect("memory takes it");
    assert_eq!(PageSet::from_json(&whole).expect("what was written is read"), set);
    let mut random = Pcg64::seed_from_u64(5);
    let mut good = 0;
    for _ in 0..5000 {
        let Ok(text) = String::from_utf8(mangle(whole.as_bytes(), &mut random)) else { continue };
        if let Ok(set) = PageSet::from_json(&text) {
            (0..set.len()).for_each(|page| _ = set.stored("lz4", page, true));
            good += 1;
        }
    }
    assert!((20..2500).contains(&good), "changes that break and changes that do not: {good}");
}

#[test]
fn mangled_traces_are_read_or_refused() {
    let trace = generate("zipf:pages=50,events=300").expect("a small trace");
    let mut whole: Vec<(TraceFormat, Vec<u8>)> = FOREIGN.iter().map(|&(format, bytes)| (format, bytes.to_vec())).collect();
    for row in FORMATS.iter().filter(|row| row.is_written()) {
        let mut bytes = Vec::new();
        write(&trace, row.format, &mut bytes).expect("memory takes it");
        whole.push((row.format, bytes));
    }
    let mut random = Pcg64::seed_from_u64(6);
    for (known, whole) in whole {
        for _ in 0..700 {
            let bytes = mangle(&whole, &mut random);
            for format in [None, Some(known)] {
                let reading = TraceReading { format, layout: None, keep: KeptColumns::Everything };
                if let Err(error) = read(&bytes[..], &reading) {
                    assert!(!error.to_string().is_empty());
                }
            }
        }
    }
}
