//! RAM in parts, stalls and refaults.

use super::MetricKind::{Counter, Gauge};
use super::{Metric, MetricUnit, Read, SampleLook, row};
use crate::fact::Fact;
use crate::facts::Pressure;
use crate::memory_map::Ram;

const PRESSURE: &str = "/proc/pressure/memory";

pub(super) const ROWS: &[Metric] = &[
    part("ram_total_bytes", "RAM that the kernel manages (meminfo MemTotal)", |look| ram(look, |ram| ram.total.0)),
    part(
        "ram_applications_bytes",
        "RAM of processes that is neither page cache nor compressed (meminfo AnonPages and Shmem)",
        |look| ram(look, |ram| ram.applications.0),
    ),
    part("ram_page_cache_bytes", "RAM that holds pages of files (meminfo Cached and Buffers less Shmem)", |look| {
        ram(look, |ram| ram.page_cache.0)
    }),
    part("ram_kernel_bytes", "RAM of the kernel itself: slab, page tables, stacks, per-CPU memory", |look| {
        ram(look, |ram| ram.kernel.0)
    }),
    part("ram_compressed_pool_bytes", "RAM that zswap's pool and all zram devices take, allocator overhead included", |look| {
        ram(look, |ram| ram.compressed_pool.0)
    }),
    part("ram_huge_pages_bytes", "RAM set aside for hugetlbfs (meminfo Hugetlb)", |look| ram(look, |ram| ram.huge_pages.0)),
    part(
        "ram_other_bytes",
        "RAM that no other part accounts for: drivers, swap cache, counters read at different moments",
        |look| ram(look, |ram| ram.other.0),
    ),
    part("ram_free_bytes", "RAM that nothing uses (meminfo MemFree)", |look| ram(look, |ram| ram.free.0)),
    part(
        "ram_available_bytes",
        "What applications could take before the machine swaps, by the kernel's estimate (meminfo MemAvailable)",
        available,
    ),
    row(
        "memory_stall_some_seconds",
        Counter,
        MetricUnit::Seconds,
        "Time in which some task waited for memory (PSI some, total)",
        Read::One(|look| stall(look, |psi| psi.some_total_us as f64 / 1e6)),
    ),
    row(
        "memory_stall_full_seconds",
        Counter,
        MetricUnit::Seconds,
        "Time in which all tasks waited for memory (PSI full, total)",
        Read::One(|look| stall(look, |psi| psi.full_total_us as f64 / 1e6)),
    ),
    row(
        "memory_stall_some_10s_ratio",
        Gauge,
        MetricUnit::Ratio,
        "Share of the last 10 s in which some task waited for memory (PSI some avg10)",
        Read::One(|look| stall(look, |psi| psi.some_avg10 / 100.0)),
    ),
    row(
        "memory_stall_full_10s_ratio",
        Gauge,
        MetricUnit::Ratio,
        "Share of the last 10 s in which all tasks waited for memory (PSI full avg10)",
        Read::One(|look| stall(look, |psi| psi.full_avg10 / 100.0)),
    ),
    row(
        "refault_anon_bytes",
        Counter,
        MetricUnit::Bytes,
        "Anonymous pages that came back soon after they left RAM (vmstat workingset_refault_anon)",
        Read::One(|look| look.pages("workingset_refault_anon")),
    ),
    row(
        "refault_file_bytes",
        Counter,
        MetricUnit::Bytes,
        "Pages of files that came back soon after they left RAM (vmstat workingset_refault_file)",
        Read::One(|look| look.pages("workingset_refault_file")),
    ),
];

const fn part(name: &'static str, help: &'static str, read: fn(&SampleLook<'_>) -> Fact<f64>) -> Metric {
    row(name, Gauge, MetricUnit::Bytes, help, Read::One(read))
}

fn ram(look: &SampleLook<'_>, pick: fn(&Ram) -> u64) -> Fact<f64> {
    look.map.ram.clone().map(|ram| pick(&ram) as f64)
}

fn available(look: &SampleLook<'_>) -> Fact<f64> {
    look.map.ram.clone().and_then(|ram| ram.available.map(|bytes| bytes.0 as f64).ok_or_else(|| "no MemAvailable".to_owned()))
}

fn stall(look: &SampleLook<'_>, pick: fn(&Pressure) -> f64) -> Fact<f64> {
    match &look.now.facts.memory.pressure {
        Fact::Known { value, .. } => Fact::known(pick(value), PRESSURE),
        Fact::Absent { absent } => Fact::absent(absent.clone()),
    }
}
