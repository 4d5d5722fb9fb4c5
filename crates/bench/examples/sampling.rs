//! What `cargo xtask bench sampling` measures: reading and locating the pages of another process, a whole estimate.
//!
//! `hold MIB` and `sparse GIB RUNS TOGETHER` are the processes to look at; they print `ready` and stay until their input ends.
//! `runs PID` prints where the pages of a process are; `read PID`, `locate PID` and `estimate CODECS` measure, in processor time
//! of this thread, and print one number a line.

use std::io::{Read, Write};
use std::process::ExitCode;
use std::time::Duration;

use swaptune_bench::codecs::processor_time;
use swaptune_bench::sample::{EstimatedPools, Numbers, SampleRequest, fresh_seed, take};
use swaptune_core::facts::KernelFacts;
use swaptune_host::machine::Machine;
use swaptune_host::processes::{Located, Locator, Method, PageReader, ProcessChoice, page_bytes};

type Failed = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["hold", mib] => hold(mib),
        ["sparse", gib, runs, together] => sparse(gib, runs, together),
        ["runs", pid] => runs(pid),
        ["read", pid] => read(pid),
        ["locate", pid] => locate(pid),
        ["estimate", codecs] => estimate(codecs),
        _ => {
            Err("usage: sampling hold MIB | sparse GIB RUNS TOGETHER | runs PID | read PID | locate PID | estimate CODECS".into())
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

fn stay() -> Result<(), Failed> {
    println!("ready");
    std::io::stdin().read_exact(&mut [0]).or(Ok(()))
}

/// So much memory without a hole, all different.
fn hold(mib: &str) -> Result<(), Failed> {
    let words = mib.parse::<usize>()? << 17;
    let memory: Vec<u64> = (0..words as u64).map(|word| word.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    stay()?;
    std::hint::black_box(&memory);
    Ok(())
}

/// `gib` reserved, with `runs` of 64 pages in it, `together` of them near each other: as a browser's renderer does it.
fn sparse(gib: &str, runs: &str, together: &str) -> Result<(), Failed> {
    const PIECE: usize = 1 << 30;
    // Between two runs of 64 pages that are near each other as many are left out.
    const NEAR: usize = 128;
    let (pieces, runs, together) = (gib.parse::<usize>()?, runs.parse::<usize>()?, together.parse::<usize>()?);
    let mut memory: Vec<Vec<u8>> = (0..pieces).map(|_| Vec::with_capacity(PIECE)).collect();
    let places = runs.div_ceil(together);
    let apart = PIECE / places.div_ceil(pieces);
    for run in 0..runs {
        let place = run / together;
        let first = apart * (place / pieces) + run % together * NEAR * page_bytes();
        for page in 0..64 {
            memory[place % pieces].spare_capacity_mut()[first + page * page_bytes()].write(1);
        }
    }
    stay()?;
    std::hint::black_box(&memory);
    Ok(())
}

fn located(pid: &str) -> Result<(u32, Located), Failed> {
    let pid = pid.parse()?;
    Ok((pid, Locator::new().locate(pid)?))
}

fn runs(pid: &str) -> Result<(), Failed> {
    for run in located(pid)?.1.runs {
        println!("{} {}", run.start, run.pages);
    }
    Ok(())
}

/// Bytes a second: all pages, then one in sixteen of them, each several times.
fn read(pid: &str) -> Result<(), Failed> {
    let (pid, located) = located(pid)?;
    let page = page_bytes() as u64;
    let all: Vec<u64> = located.runs.iter().flat_map(|run| (0..run.pages).map(move |index| run.start + index * page)).collect();
    let some: Vec<u64> = all.iter().copied().step_by(16).collect();
    let mut reader = PageReader::new();
    for (addresses, passes) in [(&all, 4), (&some, 16)] {
        let (begin, mut bytes) = (processor_time(), 0);
        for _ in 0..passes {
            let outcome = reader.read(pid, addresses, |page| {
                std::hint::black_box(page.bytes);
            })?;
            bytes += outcome.read * page;
        }
        println!("{}", bytes as f64 / (processor_time() - begin).as_secs_f64());
    }
    Ok(())
}

/// Seconds for the kernel's search and for reading pagemap; then the pages that each found.
fn locate(pid: &str) -> Result<(), Failed> {
    let pid = pid.parse()?;
    for method in [Method::Scan, Method::Pagemap] {
        let mut locator = Locator::using(method);
        // The first makes buffers.
        let found = locator.locate(pid)?.present;
        let begin = processor_time();
        locator.locate(pid)?;
        println!("{}\n{found}", (processor_time() - begin).as_secs_f64());
    }
    Ok(())
}

/// Seconds for 4096 pages of all processes, located, read, compressed and estimated; then half of the widest interval, as a share.
fn estimate(codecs: &str) -> Result<(), Failed> {
    let codecs = codecs.split(',').map(str::parse).collect::<Result<_, _>>()?;
    let request = SampleRequest {
        choice: ProcessChoice::default(),
        pages: 4096,
        cold_seconds: None,
        seed: fresh_seed(),
        codecs,
        by_unit: true,
    };
    let begin = processor_time();
    let sample = take(&Machine::live(), &request, &mut |_| ())?;
    let pools = EstimatedPools::of(&KernelFacts::default());
    let whole = Numbers::whole(&sample.set, &pools).ok_or("no pages")?;
    let each = Numbers::each(&sample.set, &pools);
    let spent: Duration = processor_time() - begin;
    let half = |codec: &swaptune_core::measurement::SampledCodec| (codec.ratio.high - codec.ratio.low) / 2.0 / codec.ratio.value;
    let widest = whole.codecs.iter().map(half).fold(0.0, f64::max);
    println!("{}\n{widest}\n{}", spent.as_secs_f64(), std::hint::black_box(each).len());
    Ok(())
}
