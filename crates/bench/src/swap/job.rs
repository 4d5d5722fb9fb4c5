//! Jobs: one tier, one kind of page, one way to touch them; and what their rounds add up to.

use std::collections::BTreeMap;
use std::fmt;

use swaptune_core::Facts;
use swaptune_core::measurement::{LandingFigures, MemoryOrder, SwapFigures, SwapRound, SwapTier};
use swaptune_core::proof::CanaryClass;
use swaptune_core::stats::{Nanos, Quantiles, median};

use super::measure::RoundFigures;
use super::{BenchTier, Missed};

/// One thing to be measured.
#[derive(Clone, Debug, PartialEq)]
pub struct SwapJob {
    /// Where the pages are meant to go.
    pub tier: BenchTier,
    /// What is in them.
    pub class: CanaryClass,
    /// vm.page-cluster meanwhile.
    pub page_cluster: u32,
    /// Order in which they are touched.
    pub order: MemoryOrder,
    /// Threads at work, each on pages of its own.
    pub threads: u32,
    /// Pages of each thread.
    pub pages: u64,
}

impl fmt::Display for SwapJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = match self.order {
            MemoryOrder::Sequential => "in order",
            MemoryOrder::Random => "at random",
        };
        let Self { tier, class, page_cluster, threads, .. } = self;
        write!(f, "{tier}: {class} pages {order}, page-cluster {page_cluster}, {threads} threads")
    }
}

/// What is wanted. An empty list means what is usual.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SwapWish {
    /// Pages in the pool of zswap.
    pub zswap: bool,
    /// Pages in zram.
    pub zram: bool,
    /// Pages on the disk, straight and by way of zswap.
    pub disk: bool,
    /// Compressors to go through; empty for those that the kernel has.
    pub compressors: Vec<String>,
    /// Kinds of pages.
    pub classes: Vec<CanaryClass>,
    /// Numbers of threads.
    pub threads: Vec<u32>,
    /// Values of vm.page-cluster.
    pub page_clusters: Vec<u32>,
    /// Numbers of areas on the disk.
    pub areas: Vec<u32>,
    /// Pages of each thread in memory tiers.
    pub pages: u64,
    /// Pages of each thread on a disk.
    pub disk_pages: u64,
}

/// The jobs that fulfil a wish on this machine, tier by tier.
#[must_use]
pub fn jobs(wish: &SwapWish, facts: &Facts) -> Vec<SwapJob> {
    let chosen = |name: &String| wish.compressors.is_empty() || wish.compressors.contains(name);
    let mut tiers = Vec::new();
    if wish.zswap && facts.zswap.is_known() {
        let names = zswap_compressors(facts, &wish.compressors);
        tiers.extend(names.into_iter().map(|compressor| BenchTier::Zswap { compressor, zpool: None }));
        tiers.extend(other_zpools(facts).into_iter().filter(|_| wish.compressors.is_empty()));
    }
    if wish.zram {
        let names = zram_algorithms(facts).into_iter().filter(chosen);
        tiers.extend(names.map(|algorithm| BenchTier::Zram { algorithm }));
    }
    if wish.disk {
        let areas = if wish.areas.is_empty() { vec![1, 8] } else { wish.areas.clone() };
        tiers.extend(areas.into_iter().map(|areas| BenchTier::Disk { areas }));
        if facts.zswap.is_known() {
            let name = zswap_compressors(facts, &wish.compressors).into_iter().next();
            tiers.extend(name.map(|compressor| BenchTier::Writeback { compressor }));
        }
    }
    let first_zswap = tiers.iter().position(|tier| matches!(tier, BenchTier::Zswap { .. }));
    tiers.iter().enumerate().flat_map(|(number, tier)| jobs_of(wish, tier, first_zswap == Some(number))).collect()
}

/// The jobs of one tier: every kind of page at random with page-cluster 0, the usual kind on several threads, and read-ahead
/// where there is any.
fn jobs_of(wish: &SwapWish, tier: &BenchTier, is_first_zswap: bool) -> Vec<SwapJob> {
    let pages = if tier.is_on_disk() { wish.disk_pages } else { wish.pages };
    let job = |class, page_cluster, order, threads| SwapJob { tier: tier.clone(), class, page_cluster, order, threads, pages };
    let classes = match tier {
        _ if !wish.classes.is_empty() => wish.classes.clone(),
        BenchTier::Zswap { .. } if is_first_zswap => {
            vec![CanaryClass::Text, CanaryClass::Random, CanaryClass::Same, CanaryClass::Zero]
        }
        BenchTier::Zswap { .. } | BenchTier::Zram { .. } => vec![CanaryClass::Text, CanaryClass::Random],
        BenchTier::Disk { .. } | BenchTier::Writeback { .. } => vec![CanaryClass::Text],
    };
    let threads = if wish.threads.is_empty() { vec![1] } else { wish.threads.clone() };
    let has_read_ahead = is_first_zswap || matches!(tier, BenchTier::Disk { areas: 1 });
    let usual_clusters = if has_read_ahead { vec![0, 1, 2, 3] } else { vec![0] };
    let clusters = if wish.page_clusters.is_empty() { usual_clusters } else { wish.page_clusters.clone() };
    let usual = classes[0];
    let lone = threads[0];
    let mut jobs: Vec<SwapJob> = classes.iter().map(|class| job(*class, clusters[0], MemoryOrder::Random, lone)).collect();
    jobs.extend(threads[1..].iter().map(|threads| job(usual, clusters[0], MemoryOrder::Random, *threads)));
    if has_read_ahead || !wish.page_clusters.is_empty() {
        jobs.extend(clusters[1..].iter().map(|cluster| job(usual, *cluster, MemoryOrder::Random, lone)));
        jobs.extend(clusters.iter().map(|cluster| job(usual, *cluster, MemoryOrder::Sequential, lone)));
    }
    jobs
}

/// Compressors for zswap, that of the machine first. One that is named is tried even where it does not seem to be there.
fn zswap_compressors(facts: &Facts, named: &[String]) -> Vec<String> {
    if !named.is_empty() {
        return named.to_vec();
    }
    let own = facts.zswap.value().and_then(|zswap| zswap.parameter("compressor")).unwrap_or_default().to_owned();
    let usable = facts.compressors.iter().filter(|compressor| compressor.availability.usable());
    let others = usable.map(|compressor| compressor.name.clone()).filter(|name| *name != own);
    std::iter::once(own.clone()).chain(others).filter(|name| !name.is_empty()).collect()
}

/// The other allocators of a kernel that has a choice, with its own compressor.
fn other_zpools(facts: &Facts) -> Vec<BenchTier> {
    let zswap = facts.zswap.value();
    let parameter = |name| zswap.and_then(|zswap| zswap.parameter(name));
    let (Some(own), Some(compressor)) = (parameter("zpool"), parameter("compressor")) else { return Vec::new() };
    let others = ["zsmalloc", "zbud", "z3fold"].into_iter().filter(|zpool| *zpool != own);
    others.map(|zpool| BenchTier::Zswap { compressor: compressor.to_owned(), zpool: Some(zpool.to_owned()) }).collect()
}

/// What the first device offers. A driver that has no device yet says nothing; then the usual ones are tried.
fn zram_algorithms(facts: &Facts) -> Vec<String> {
    let is_there = facts.zram.driver.value().is_some_and(|driver| driver.usable());
    match facts.zram.devices.first() {
        Some(device) => device.algorithms.clone(),
        None if is_there => ["lzo-rle", "lz4", "zstd"].map(str::to_owned).to_vec(),
        None => Vec::new(),
    }
}

/// A job, and what its rounds brought.
pub(super) struct JobRounds {
    pub job: SwapJob,
    stores: Vec<u64>,
    loads: Vec<u64>,
    overhead: Vec<u64>,
    rounds: Vec<SwapRound>,
    tier: Option<SwapTier>,
    /// Settings while it is measured.
    pub parameters: BTreeMap<String, String>,
    landing: LandingFigures,
    missed: Option<String>,
}

impl JobRounds {
    pub fn new(job: SwapJob) -> Self {
        let (stores, loads, overhead, rounds) = Default::default();
        Self {
            job,
            stores,
            loads,
            overhead,
            rounds,
            tier: None,
            parameters: BTreeMap::new(),
            landing: LandingFigures::default(),
            missed: None,
        }
    }

    /// It cannot be measured.
    pub fn miss(&mut self, why: &str) {
        self.missed = Some(why.to_owned());
    }

    /// One round.
    pub fn add(&mut self, seen: RoundFigures) {
        match seen.landed {
            Err(why) => self.missed = Some(why),
            Ok(tier) => {
                let median = |samples: &[u64]| {
                    let all = Quantiles::of(&mut samples.to_vec(), Nanos(seen.overhead));
                    all.map_or(Nanos(0), |quantiles| quantiles.p50)
                };
                self.rounds.push(SwapRound {
                    store: median(&seen.stores),
                    load: median(&seen.loads),
                    stores_per_second: seen.stores_per_second,
                    loads_per_second: seen.loads_per_second,
                });
                self.tier = Some(tier);
                self.stores.extend(seen.stores);
                self.loads.extend(seen.loads);
                self.overhead.push(seen.overhead);
                self.landing.pages += seen.landing.pages;
                sum(&mut self.landing.stored, seen.landing.stored);
                sum(&mut self.landing.loaded, seen.landing.loaded);
            }
        }
    }

    /// All rounds together: quantiles over all samples, never averages of quantiles.
    pub fn finish(mut self) -> Result<SwapFigures, Missed> {
        let missed = |why: &str| Missed { job: self.job.to_string(), why: why.to_owned() };
        if let Some(why) = &self.missed {
            return Err(missed(why));
        }
        let Some(tier) = self.tier.clone() else { return Err(missed("stopped before it was measured")) };
        self.overhead.sort_unstable();
        let overhead = Nanos(self.overhead[self.overhead.len() / 2]);
        let middle = |rate: fn(&SwapRound) -> f64| median(&self.rounds.iter().map(rate).collect::<Vec<_>>()).unwrap_or_default();
        Ok(SwapFigures {
            tier,
            class: self.job.class,
            page_cluster: self.job.page_cluster,
            threads: self.job.threads,
            order: self.job.order,
            stores_per_second: middle(|round| round.stores_per_second),
            loads_per_second: middle(|round| round.loads_per_second),
            store: Quantiles::of(&mut self.stores, overhead),
            load: Quantiles::of(&mut self.loads, overhead),
            landing: self.landing,
            rounds: self.rounds,
        })
    }
}

fn sum(all: &mut BTreeMap<String, u64>, more: BTreeMap<String, u64>) {
    for (name, count) in more {
        *all.entry(name).or_default() += count;
    }
}
