//! What a sample says: the whole, a line for each unit or process, what a pool would hold, and which compressor suits.

mod table;

use std::cmp::Reverse;

use serde::Serialize;
use swaptune_bench::codec::Setting;
use swaptune_bench::codecs::InKernel;
use swaptune_bench::sample::{Cold, GroupKind, Numbers, Pools, Sample, Tally};
use swaptune_core::codec_choice::{Candidate, Choice, choose};
use swaptune_core::measurement::{Estimate, Evidence, SampleFigures, SampledCodec};
use swaptune_core::memory_map::MemoryMap;
use swaptune_core::profiles::auto::density_tolerance_percent;
use swaptune_core::{Bytes, Facts};

/// Lines of the table; what is smaller is summed up in one more.
const LINES: usize = 15;
/// Share of RAM that a pool is taken to have where zswap has no limit: the kernel's own default of max_pool_percent.
const ASSUMED_PERCENT: u64 = 20;

/// Everything that is printed.
#[derive(Serialize)]
pub struct Report {
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
    watched: Option<Cold>,
    /// Seed of the draw.
    seed: u64,
    /// Largest first.
    groups: Vec<Line>,
    /// What a pool would hold.
    pool: Pool,
    /// Whether the kernel has these codecs.
    in_kernel: Vec<Has>,
    /// Compressors of this kernel that cannot be computed here.
    not_computed: Vec<String>,
    /// Which compressor suits, as sentences.
    advice: String,
}

/// One unit or process, or what is too small for a line of its own.
#[derive(Serialize)]
struct Line {
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
struct Pool {
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
pub struct Basis<'a> {
    /// The sample.
    pub sample: &'a Sample,
    /// The machine.
    pub facts: &'a Facts,
    /// Its pools.
    pub pools: &'a Pools,
    /// What was measured before.
    pub evidence: &'a Evidence,
    /// What this kernel has to see coldness with.
    pub watching: String,
    /// Whether we are root.
    pub root: bool,
}

impl Report {
    /// Puts it together.
    pub fn new(run: &str, figures: SampleFigures, basis: &Basis<'_>) -> Self {
        let Basis { sample, facts, evidence, .. } = basis;
        let pool = Pool::new(facts, &figures);
        let settings: Vec<Setting> = figures.codecs.iter().filter_map(|codec| codec.codec.parse().ok()).collect();
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
            advice: advice(&figures, &settings, &pool, facts, evidence),
            pool,
            figures,
        }
    }

    /// For people.
    pub fn text(&self) -> String {
        table::text(self)
    }
}

impl Has {
    fn new(setting: Setting, facts: &Facts) -> Self {
        let has = InKernel::of(setting, facts);
        Self { codec: setting.to_string(), short: has.short(), text: has.text() }
    }
}

impl Pool {
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

fn lines(sample: &Sample, pools: &Pools) -> Vec<Line> {
    let set = &sample.set;
    let mut order: Vec<usize> = (0..set.groups.len()).collect();
    order.sort_by_key(|index| Reverse(set.groups[*index].present));
    // One more is no shorter than a line that sums up one.
    let shown = if order.len() > LINES + 1 { LINES } else { order.len() };
    let mut each = Numbers::each(set, pools);
    let mut lines: Vec<Line> = order[..shown]
        .iter()
        .map(|index| {
            let group = &set.groups[*index];
            Line {
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
        lines.push(Line {
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

fn advice(figures: &SampleFigures, settings: &[Setting], pool: &Pool, facts: &Facts, evidence: &Evidence) -> String {
    let candidate = |(codec, setting): (&SampledCodec, &Setting)| {
        let name = setting.codec().zswap.filter(|_| setting.is_default())?;
        let usable = InKernel::of(*setting, facts).zswap.is_some_and(|place| place.availability.usable());
        let stored = codec.stored.get(&pool.allocator)?.value;
        Some(Candidate { codec: name.to_owned(), stored, cost: evidence.zswap_cost(name).map(|cost| cost.value.both()), usable })
    };
    let candidates: Vec<Candidate> = figures.codecs.iter().zip(settings).filter_map(candidate).collect();
    let mut text = match choose(&candidates, density_tolerance_percent(facts.kernel.cpus.value().copied())) {
        None => return "none: no compressor of zswap was asked for".into(),
        Some(Choice::Take { codec, why, better: None }) => format!("{codec} {why}"),
        Some(Choice::Take { codec, why, better: Some(better) }) => format!("{codec} {why}; better would be {better}"),
        Some(Choice::NoneUsable { best }) => format!("{best}, but zswap of this kernel has none of these"),
    };
    let others = not_computed(facts);
    if !others.is_empty() {
        text += &format!("; {} can only be measured in the kernel: `swaptune bench codecs --kernel`", others.join(", "));
    }
    text
}
