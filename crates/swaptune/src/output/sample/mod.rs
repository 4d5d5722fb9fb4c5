//! What a sample says: the whole, a line for each unit or process, what a pool would hold, and which compressor suits.

mod html;
mod table;

use std::cmp::Reverse;

use serde::Serialize;
use swaptune_bench::codec::CodecSetting;
use swaptune_bench::codecs::InKernel;
use swaptune_bench::sample::{ColdWatch, EstimatedPools, GroupKind, MemorySample, Numbers, Tally};
use swaptune_core::measurement::{Estimate, Evidence, Measurement, SampleFigures, SampledCodec};
use swaptune_core::memory_map::MemoryMap;
use swaptune_core::profiles::auto::{CompressorAdvice, compressor};
use swaptune_core::{Bytes, Facts};

/// Lines of the table; what is smaller is summed up in one more.
const LINES: usize = 15;
/// Share of RAM that a pool is taken to have where zswap has no limit: the kernel's own default of max_pool_percent.
const ASSUMED_PERCENT: u64 = 20;

/// Everything that is printed.
#[derive(Serialize)]
pub struct SampleReport {
    /// The run under which the result is kept.
    run: String,
    /// The result.
    figures: SampleFigures,
    /// Bytes of a page.
    page_size: u64,
    /// Pages in swap of the processes that were seen.
    swapped: u64,
    /// What was looked at, and what was not.
    tally: Tally,
    /// Whether root looked.
    root: bool,
    /// What this kernel has to see coldness with.
    cold_can_be_seen_by: String,
    /// How it was seen.
    watched: Option<ColdWatch>,
    /// Seed of the draw.
    seed: u64,
    /// Largest first.
    groups: Vec<UnitLine>,
    /// What a pool would hold.
    pool: PoolEstimate,
    /// Whether the kernel has these codecs.
    in_kernel: Vec<Has>,
    /// Compressors of this kernel that cannot be computed here.
    not_computed: Vec<String>,
    /// Which compressor suits, as sentences.
    advice: String,
}

/// One unit or process, or what is too small for a line of its own.
#[derive(Serialize)]
struct UnitLine {
    name: String,
    kind: Option<GroupKind>,
    processes: u64,
    present: u64,
    swapped: u64,
    /// None when too few of its pages are in the sample.
    numbers: Option<Shares>,
}

/// What the sample says of it.
#[derive(Serialize)]
struct Shares {
    sampled: u64,
    zero: Estimate,
    same_filled: Estimate,
    cold: Option<Estimate>,
    codecs: Vec<SampledCodec>,
}

/// A pool of zswap.
#[derive(Serialize)]
struct PoolEstimate {
    size: Bytes,
    source: String,
    allocator: String,
    /// Bytes of pages, by codec.
    holds: Vec<(String, Estimate)>,
}

/// Whether the kernel has a codec.
#[derive(Serialize)]
struct Has {
    codec: String,
    short: String,
    text: String,
}

/// What a report rests on.
pub struct SampleBasis<'a> {
    /// The sample.
    pub sample: &'a MemorySample,
    /// The machine.
    pub facts: &'a Facts,
    /// Its pools.
    pub pools: &'a EstimatedPools,
    /// What was measured before.
    pub evidence: &'a Evidence,
    /// What this kernel has to see coldness with.
    pub watching: String,
    /// Whether we are root.
    pub root: bool,
    /// Whether the result is kept, for a plan to rest on.
    pub kept: bool,
}

impl SampleReport {
    /// Puts it together.
    pub fn new(run: &str, figures: SampleFigures, basis: &SampleBasis<'_>) -> Self {
        let SampleBasis { sample, facts, evidence, .. } = basis;
        let pool = PoolEstimate::new(facts, &figures);
        let settings: Vec<CodecSetting> = figures.codecs.iter().filter_map(|codec| codec.codec.parse().ok()).collect();
        Self {
            run: run.to_owned(),
            page_size: u64::from(sample.set.page_size),
            swapped: sample.set.groups.iter().map(|group| group.swapped).sum(),
            tally: sample.tally,
            root: basis.root,
            cold_can_be_seen_by: basis.watching.clone(),
            watched: sample.cold.clone(),
            seed: sample.set.origin.seed,
            groups: lines(sample, basis.pools),
            in_kernel: settings.iter().map(|setting| Has::new(*setting, facts)).collect(),
            not_computed: not_computed(facts),
            advice: advice(&figures, facts, evidence, basis.kept),
            pool,
            figures,
        }
    }

    /// For people.
    pub fn text(&self) -> String {
        table::text(self)
    }

    /// As a page with pictures.
    pub fn html(&self, basis: &SampleBasis<'_>, measurement: &Measurement) -> String {
        html::html(self, basis, measurement)
    }
}

impl Has {
    fn new(setting: CodecSetting, facts: &Facts) -> Self {
        let has = InKernel::of(setting, facts);
        Self { codec: setting.to_string(), short: has.short(), text: has.text() }
    }
}

impl PoolEstimate {
    /// As large as zswap's may become here, with its allocator.
    fn new(facts: &Facts, figures: &SampleFigures) -> Self {
        let map = MemoryMap::from_facts(facts);
        let limit = map.zswap.value().and_then(|pool| Some((*pool.limit.value()?, pool.limit.source().to_owned())));
        let assumed = || (facts.memory.total().percent(ASSUMED_PERCENT), format!("{ASSUMED_PERCENT} % of RAM"));
        let (size, source) = limit.unwrap_or_else(assumed);
        let zpool = facts.zswap.value().and_then(|zswap| zswap.parameter("zpool"));
        let has = |name: &&str| figures.codecs.iter().any(|codec| codec.stored.contains_key(*name));
        let allocator = zpool.filter(has).unwrap_or("zsmalloc").to_owned();
        let held = |ratio: &Estimate| {
            let bytes = |ratio: f64| ratio * size.0 as f64;
            Estimate { value: bytes(ratio.value), low: bytes(ratio.low), high: bytes(ratio.high) }
        };
        let holds = figures.codecs.iter().filter_map(|codec| Some((codec.codec.clone(), held(codec.stored.get(&allocator)?))));
        Self { size, source, holds: holds.collect(), allocator }
    }
}

fn lines(sample: &MemorySample, pools: &EstimatedPools) -> Vec<UnitLine> {
    let set = &sample.set;
    let mut order: Vec<usize> = (0..set.groups.len()).collect();
    order.sort_by_key(|index| Reverse(set.groups[*index].present));
    // One more is no shorter than a line that sums up one.
    let shown = if order.len() > LINES + 1 { LINES } else { order.len() };
    let mut each = Numbers::each(set, pools);
    let mut lines: Vec<UnitLine> = order[..shown]
        .iter()
        .map(|index| {
            let group = &set.groups[*index];
            UnitLine {
                name: group.name.clone(),
                kind: Some(group.kind),
                processes: u64::from(group.processes),
                present: group.present,
                swapped: group.swapped,
                numbers: each[*index].take().map(Shares::from),
            }
        })
        .collect();
    let rest = &order[shown..];
    if !rest.is_empty() {
        let groups = || rest.iter().map(|index| &set.groups[*index]);
        lines.push(UnitLine {
            name: format!("{} others", rest.len()),
            kind: None,
            processes: groups().map(|group| u64::from(group.processes)).sum(),
            present: groups().map(|group| group.present).sum(),
            swapped: groups().map(|group| group.swapped).sum(),
            numbers: Numbers::of_groups(set, pools, rest).map(Shares::from),
        });
    }
    lines
}

impl From<Numbers> for Shares {
    fn from(numbers: Numbers) -> Self {
        let Numbers { sampled, zero, same_filled, cold, codecs, .. } = numbers;
        Self { sampled, zero, same_filled, cold, codecs }
    }
}

/// What the kernel has and no library of ours computes.
fn not_computed(facts: &Facts) -> Vec<String> {
    let usable = |name: &&str| {
        let has = |compressor: &swaptune_core::facts::Compressor| compressor.name == *name && compressor.availability.usable();
        facts.compressors.iter().any(has)
    };
    ["lzo", "lzo-rle", "842"].into_iter().filter(usable).map(str::to_owned).collect()
}

/// What a plan would take, by the same rule; the evidence holds this sample as its newest.
fn advice(figures: &SampleFigures, facts: &Facts, evidence: &Evidence, kept: bool) -> String {
    let mut text = match compressor(facts, evidence) {
        None => "none: there is no swap here that zswap or zram could compress".to_owned(),
        Some(CompressorAdvice { codec, reason, measured: true, better }) => {
            let better = better.map_or_else(String::new, |better| format!("; better would be {better}"));
            format!("{codec}: {reason}{better}")
        }
        Some(CompressorAdvice { codec, reason, measured: false, .. }) => {
            format!("{codec}, as assumed: {reason}; this sample does not compare it with others of this kernel")
        }
    };
    if figures.of != SampleFigures::ALL {
        text += &format!("; of {} alone, where `swaptune plan` rests on a sample of all processes", figures.of);
    }
    if !kept {
        text += "; not kept, so that `swaptune plan` does not rest on it";
    }
    let others = not_computed(facts);
    if !others.is_empty() {
        text += &format!("; {} can only be measured in the kernel: `swaptune bench codecs --kernel`", others.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use swaptune_core::Fact;
    use swaptune_core::facts::Availability;
    use swaptune_core::measurement::{Conditions, ResultFigures, SCHEMA};
    use swaptune_core::profiles;

    use super::*;

    fn facts() -> Facts {
        let text = include_str!("../../../../../tests/fixtures/hosts/debian13-6.12/expected/facts.json");
        serde_json::from_str(text).unwrap()
    }

    fn sample(of: &str, ratios: &[(&str, f64)]) -> SampleFigures {
        let exactly = |value: f64| Estimate { value, low: value, high: value };
        let codec = |(name, ratio): &(&str, f64)| SampledCodec {
            codec: (*name).into(),
            ratio: exactly(*ratio),
            incompressible: exactly(0.0),
            stored: BTreeMap::from([("zsmalloc".into(), exactly(*ratio))]),
        };
        let (zero, same_filled) = (exactly(0.0), exactly(0.0));
        let codecs = ratios.iter().map(codec).collect();
        SampleFigures { of: of.into(), present: 9, sampled: 9, processes: 1, unread: 0, zero, same_filled, codecs, cold: None }
    }

    fn evidence(facts: &Facts, figures: &SampleFigures) -> Evidence {
        let kernel = facts.kernel.release.value().unwrap();
        let conditions = Conditions { machine: "m".into(), kernel: kernel.clone(), ..Conditions::default() };
        let figures = ResultFigures::Sample(SampleFigures { of: SampleFigures::ALL.into(), ..figures.clone() });
        let (run, at, command) = ("r".into(), "2026-11-21T05:00:00Z".into(), "test".into());
        Evidence::new(vec![Measurement { schema: SCHEMA, run, at, command, conditions, figures }], "m", kernel)
    }

    fn without(names: &[&str]) -> Facts {
        let mut facts = facts();
        facts.compressors.retain(|one| !names.contains(&one.name.as_str()));
        facts.compressors.iter_mut().filter(|one| one.name == "deflate").for_each(|one| one.availability = Availability::BuiltIn);
        // Its zram is built with the same.
        if let Fact::Known { value: config, .. } = &mut facts.kernel.config {
            config.insert("CONFIG_ZRAM_BACKEND_LZO".into(), "y".into());
            config.extend(names.iter().map(|name| (format!("CONFIG_ZRAM_BACKEND_{}", name.to_uppercase()), "n".to_owned())));
        }
        facts
    }

    #[test]
    fn a_sample_advises_what_a_plan_takes() {
        let ratios = [("lz4", 2.0), ("zstd", 3.6), ("lz4hc", 2.4), ("deflate", 5.9)];
        let missing = [&[][..], &["zstd"], &["zstd", "lz4"], &["lz4"]];
        for (missing, zram) in missing.iter().flat_map(|missing| [(missing, true), (missing, false)]) {
            let (mut facts, figures) = (without(missing), sample(SampleFigures::ALL, &ratios));
            // Its disk has few slots: zram is planned where there is one.
            if !zram {
                facts.zram.driver = Fact::absent("no zram");
            }
            let evidence = evidence(&facts, &figures);
            let settings = profiles::resolve(Vec::new(), &facts, &evidence, None).unwrap();
            assert_eq!(settings.wants_zram(), zram);
            let of_zram = || settings.zram.as_ref().unwrap().value[0].algorithm.clone();
            let names = settings.zswap.compressor().map_or_else(of_zram, |setting| setting.value);
            let planned = if zram { facts.first_of_zram(&names) } else { facts.first_usable(&names) }.unwrap();
            let text = advice(&figures, &facts, &evidence, true);
            let advised = text.split([':', ',']).next().unwrap();
            assert_eq!(advised, planned, "without {missing:?}: {text}");
        }
        let small = without(&["zstd", "lz4"]);
        let figures = sample("unit nginx.service", &ratios);
        let text = advice(&figures, &small, &evidence(&small, &figures), false);
        assert!(text.starts_with("lzo-rle, as assumed: "), "deflate takes 80 µs a page: {text}");
        assert!(text.contains("of unit nginx.service alone") && text.contains("not kept"), "{text}");
    }
}
