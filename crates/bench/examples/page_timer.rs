//! What timing each page costs: the same pass with and without it, in turns, as the median of the paired ratios.
//!
//! `cargo run --release --package swaptune-bench --example page_timer` prints one line a direction; `make bench` shows it.

use std::io::Write;

use swaptune_bench::codecs::{
    BenchError, BenchPages, Buffers, CodecPass, Content, Laps, PageSource, clock_overhead, processor_time,
};
use swaptune_host::machine::Machine;

const PAGES: usize = 8192;
const PAIRS: usize = 30;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pages = BenchPages::load(&Machine::live(), &PageSource::Synthetic(Content::Text), PAGES, false)?;
    let mut buffers = Buffers::new(&pages, 1);
    let mut benches = CodecPass::split("lz4".parse()?, &pages, &mut buffers, 1)?;
    let bench = benches.first_mut().ok_or("no pages")?;
    let (order, mut nanos): (Vec<u32>, Vec<u64>) = ((0..PAGES as u32).collect(), Vec::with_capacity(PAGES));
    let (mut compress, mut decompress) = (Vec::new(), Vec::new());
    for _ in 0..PAIRS {
        let plain = seconds(|| bench.compress_each(&order, || {}))?;
        let mut laps = Laps::start(&mut nanos);
        compress.push(seconds(|| bench.compress_each(&order, || laps.lap()))? / plain);
        bench.compress()?;
        let plain = seconds(|| bench.decompress_each(&order, || {}))?;
        let mut laps = Laps::start(&mut nanos);
        decompress.push(seconds(|| bench.decompress_each(&order, || laps.lap()))? / plain);
    }
    let mut out = std::io::stdout().lock();
    writeln!(out, "a reading of the clock takes {}", clock_overhead())?;
    for (name, mut ratios) in [("compress", compress), ("decompress", decompress)] {
        ratios.sort_by(f64::total_cmp);
        let at = |share: f64| 100.0 * (ratios[((ratios.len() - 1) as f64 * share) as usize] - 1.0);
        writeln!(out, "lz4 {name}: timing each page costs {:+.1} % (quartiles {:+.1} to {:+.1})", at(0.5), at(0.25), at(0.75))?;
    }
    Ok(())
}

/// Processor time of a pass.
fn seconds(pass: impl FnOnce() -> Result<(), BenchError>) -> Result<f64, BenchError> {
    let before = processor_time();
    pass()?;
    Ok((processor_time() - before).as_secs_f64())
}
