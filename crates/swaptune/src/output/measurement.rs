//! Measurements as text: one line each, and the conditions above them.

use std::fmt::Write;

use swaptune_core::measurement::{
    CipherFigures, CodecFigures, CompareFigures, DensityFigures, DiskFigures, IoFigures, Measurement, MemoryFigures,
    ResultFigures, SampleFigures, SwapFigures,
};
use swaptune_core::stats::Quantiles;

/// The conditions of a measurement, as a head of what follows.
pub fn conditions(measurement: &Measurement) -> String {
    let c = &measurement.conditions;
    let on = c.hypervisor.as_ref().map_or_else(String::new, |hypervisor| format!(" on {hypervisor}"));
    let mut text = format!("{} · {} · {}\n", measurement.run, measurement.at, measurement.command);
    let _ = writeln!(text, "  Linux {}, {} × {}{on}, {} RAM", c.kernel, c.cpus, c.cpu, c.ram);
    let other = c.swappable.map_or_else(String::new, |other| format!(", {other} of memory that can be swapped out beside"));
    let _ = writeln!(text, "  load {:.2}, {:.2} % of the time stolen{other}, swaptune {}", c.load, c.steal_percent, c.swaptune);
    let parameters: Vec<String> = c.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let _ = writeln!(text, "  {}", parameters.join(" "));
    text
}

/// The numbers on one line.
pub fn line(figures: &ResultFigures) -> String {
    let text = match figures {
        ResultFigures::Sample(sample) => self::sample(sample),
        ResultFigures::Codec(codec) => self::codec(codec),
        ResultFigures::Disk(disk) => self::disk(disk),
        ResultFigures::Cipher(cipher) => self::cipher(cipher),
        ResultFigures::Swap(swap) => self::swap(swap),
        ResultFigures::Memory(memory) => self::memory(memory),
        ResultFigures::Density(density) => self::density(density),
        ResultFigures::Compare(compare) => self::compare(compare),
    };
    format!("{:>8}  {text}\n", figures.kind())
}

/// `p50 4.1 µs, p99 9.0 µs`.
pub fn latency(quantiles: Option<&Quantiles>) -> String {
    quantiles.map_or_else(|| "not measured".into(), |q| format!("p50 {}, p99 {}", q.p50, q.p99))
}

fn sample(sample: &SampleFigures) -> String {
    let codecs: Vec<String> = sample
        .codecs
        .iter()
        .map(|codec| format!("{} {:.2} ({:.2}–{:.2})", codec.codec, codec.ratio.value, codec.ratio.low, codec.ratio.high))
        .collect();
    format!("{}: {} of {} pages; {}", sample.of, sample.sampled, sample.present, codecs.join(", "))
}

fn codec(codec: &CodecFigures) -> String {
    let speed = |speed: Option<f64>| speed.map_or_else(|| "–".into(), |speed| format!("{speed:.0}"));
    let (compress, decompress) = (speed(codec.compress_mb_s), speed(codec.decompress_mb_s));
    format!("{} over {}: {compress}/{decompress} MB/s, ratio {:.2}", codec.codec, codec.pages_of, codec.ratio)
}

fn disk(disk: &DiskFigures) -> String {
    let direction = |name: &str, io: Option<&IoFigures>| {
        io.map(|io| format!("{name} {:.0} IOPS, {:.1} MB/s, p99 {}", io.iops, io.bytes_per_second / 1e6, io.latency.p99))
    };
    let both: Vec<String> =
        [direction("read", disk.read.as_ref()), direction("write", disk.write.as_ref())].into_iter().flatten().collect();
    format!("{} {:?}, {} places, {} jobs: {}", disk.disks.join("+"), disk.shape, disk.places.len(), disk.jobs, both.join("; "))
}

fn cipher(c: &CipherFigures) -> String {
    format!("{} {} bit: {:.0}/{:.0} MiB/s", c.cipher, c.key_bits, c.encrypt_mib_s, c.decrypt_mib_s)
}

fn swap(swap: &SwapFigures) -> String {
    let (store, load) = (latency(swap.store.as_ref()), latency(swap.load.as_ref()));
    format!(
        "{}, {} pages, page-cluster {}, {} threads: store {store}; load {load}",
        swap.tier, swap.class, swap.page_cluster, swap.threads
    )
}

fn memory(memory: &MemoryFigures) -> String {
    let access = if memory.write { "writes" } else { "reads" };
    let (order, data) = (super::memory::order(memory.order), super::memory::data(memory.data));
    let limit = memory.limit.map(|limit| format!(", limit {limit}"));
    let hog = memory.hog.map(|hog| format!(", hog {hog}"));
    let tier = memory.tier.as_ref().map(|tier| format!(", swap {tier}"));
    let pressure: String = [limit, hog, tier].into_iter().flatten().collect();
    let pressure = if pressure.is_empty() { ", in RAM" } else { &pressure };
    let [slowest, fastest] = memory.fifths_mb_per_second;
    format!(
        "{order} {access} of {} of {data} data, {} at a time, {} threads{pressure}: {:.1} MB/s ({slowest:.1}–{fastest:.1})",
        memory.size, memory.block, memory.threads, memory.mb_per_second
    )
}

fn compare(compare: &CompareFigures) -> String {
    let elapsed = compare.elapsed.map_or_else(|| "no run ended well".into(), |elapsed| format!("{:.1} s", elapsed.value));
    let against = compare.comparison.zip(compare.against.as_ref()).map_or_else(String::new, |(comparison, against)| {
        let (ratio, verdict) = (comparison.ratio, comparison.verdict.word());
        format!(", {:.2} times {against} ({:.2}–{:.2}): {verdict}", ratio.value, ratio.low, ratio.high)
    });
    let why = compare.incomparable.map_or_else(String::new, |why| format!(", {}", why.words()));
    format!("{}: {elapsed}{against}{why}, {} runs", compare.variant, compare.runs.len())
}

fn density(density: &DensityFigures) -> String {
    let ((fits, range), load) = (super::density::fit(density), &density.load);
    format!(
        "{} in {}: {fits} services ({range}) of {} {} with p99 within {}, {} rounds",
        density.variant,
        density.memory,
        load.service,
        load.heap,
        load.bound,
        density.rounds.len()
    )
}
