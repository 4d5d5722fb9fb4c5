//! Whether several swap files of one disk take pages faster than one, through the kernel's own path:
//! `sudo swap_areas DIR DISK [MIB [ROUNDS [THREADS]]]`.
//!
//! Eight files are made in DIR, then in each round, in turn, 1, 2, 4 and 8 of them are switched on with one priority and
//! MIB of random pages are paged out with MADV_PAGEOUT, until the disk has them. zswap is off meanwhile. First it shows where
//! the first 32 pages (SWAP_CLUSTER_MAX) go. Everything is put back, also when this is killed.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use swaptune_core::parse::swaps;
use swaptune_core::proof::CanaryClass;
use swaptune_core::stats::paired_ratio;
use swaptune_host::machine::Machine;
use swaptune_host::sys::{MadviseAdvice, OwnRegion};
use swaptune_host::temporary::{TOP_PRIORITY, TemporarySettings, guardian};

const AREAS: [usize; 4] = [1, 2, 4, 8];
const PAGE: usize = 4096;
/// Pages of one batch of reclaim.
const SWAP_CLUSTER_MAX: usize = 32;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// What one paging out did.
#[derive(Clone, Copy, Debug)]
struct Sample {
    /// MiB a second until the call returns, and until nothing is under writeback any more.
    call: f64,
    done: f64,
    /// KiB of one request to the disk, mean.
    request: f64,
}

struct Bench {
    machine: Machine,
    disk: String,
    files: Vec<PathBuf>,
    regions: Vec<OwnRegion>,
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == guardian::ARGUMENT) {
        return if guardian::play_and_tell() { Ok(()) } else { Err("not all was put back".into()) };
    }
    let number = |place: usize, usual: usize| arguments.get(place).map_or(Ok(usual), |text| text.parse());
    let [dir, disk] = arguments.get(..2).ok_or("swap_areas DIR DISK [MIB [ROUNDS [THREADS]]]")? else { return Ok(()) };
    let (mib, rounds, threads) = (number(2, 256)?, number(3, 10)?, number(4, 1)?);
    let folder = Folder::new(Path::new(dir))?;
    let regions = (0..threads).map(|_| filled((mib << 20) / threads / PAGE * PAGE)).collect::<Result<_>>()?;
    let files = (0..8).map(|number| folder.swap_file(number, mib as u64 + 64)).collect::<Result<_>>()?;
    let mut bench = Bench { machine: Machine::live(), disk: disk.clone(), files, regions };
    let machine = Machine::live();
    let mut temporary = TemporarySettings::open(&machine, "swap_areas")?;
    let result = bench.run(&mut temporary, rounds);
    // Pages come back into RAM for nothing otherwise.
    bench.regions.clear();
    temporary.close()?;
    result
}

impl Bench {
    fn run(&mut self, temporary: &mut TemporarySettings, rounds: usize) -> Result<()> {
        temporary.knob("zswap.enabled", "N")?;
        for areas in AREAS {
            println!("{areas} areas, pages on each after the first {SWAP_CLUSTER_MAX}: {:?}", self.first(temporary, areas)?);
        }
        let mut samples: Vec<Vec<Sample>> = vec![Vec::new(); AREAS.len()];
        for round in 0..rounds {
            for turn in 0..AREAS.len() {
                let index = if round % 2 == 0 { turn } else { AREAS.len() - 1 - turn };
                samples[index].push(self.sample(temporary, AREAS[index])?);
            }
        }
        report(&samples);
        Ok(())
    }

    /// Switches areas on, does something, and switches them off.
    fn with<T>(
        &mut self,
        temporary: &mut TemporarySettings,
        areas: usize,
        work: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let mark = temporary.mark()?;
        for file in &self.files[..areas] {
            temporary.swap_on(file, TOP_PRIORITY)?;
        }
        let result = work(self);
        // Their pages are given up, or swapoff would read them all.
        for region in &mut self.regions {
            *region = filled(region.bytes_len())?;
        }
        temporary.back_to(mark)?;
        result
    }

    /// Where the first batch goes, pages of each area.
    fn first(&mut self, temporary: &mut TemporarySettings, areas: usize) -> Result<Vec<u64>> {
        self.with(temporary, areas, |bench| {
            bench.regions[0].advise(0, SWAP_CLUSTER_MAX * PAGE, MadviseAdvice::PageOut)?;
            let lines = swaps::parse(&bench.machine.read_text("/proc/swaps")?);
            Ok(lines.iter().map(|line| line.used.0 / PAGE as u64).collect())
        })
    }

    fn sample(&mut self, temporary: &mut TemporarySettings, areas: usize) -> Result<Sample> {
        self.with(temporary, areas, |bench| {
            let before = bench.disk_writes()?;
            let idle = bench.under_writeback()? + 64;
            let began = Instant::now();
            std::thread::scope(|scope| {
                let work = |region: &mut OwnRegion| region.advise(0, region.bytes_len(), MadviseAdvice::PageOut);
                let running: Vec<_> = bench.regions.iter_mut().map(|region| scope.spawn(move || work(region))).collect();
                running
                    .into_iter()
                    .try_for_each(|thread| thread.join().map_err(|_| "a thread died")?.map_err(Box::<dyn Error>::from))
            })?;
            let call = began.elapsed();
            while bench.under_writeback()? > idle && began.elapsed() < Duration::from_secs(60) {
                std::thread::sleep(Duration::from_micros(200));
            }
            let done = began.elapsed();
            let after = bench.disk_writes()?;
            let bytes: usize = bench.regions.iter().map(OwnRegion::bytes_len).sum();
            let rate = |time: Duration| bytes as f64 / (1 << 20) as f64 / time.as_secs_f64();
            let request = (after.1 - before.1) as f64 / 2.0 / (after.0 - before.0).max(1) as f64;
            Ok(Sample { call: rate(call), done: rate(done), request })
        })
    }

    /// Pages of all processes on their way to a disk.
    fn under_writeback(&self) -> Result<u64> {
        let text = self.machine.read_text("/proc/vmstat")?;
        let line = text.lines().find_map(|line| line.strip_prefix("nr_writeback "));
        Ok(line.ok_or("no nr_writeback")?.parse()?)
    }

    /// Requests and sectors written to the disk (Documentation/admin-guide/iostats.rst, fields 5 and 7).
    fn disk_writes(&self) -> Result<(u64, u64)> {
        let text = self.machine.read_text("/proc/diskstats")?;
        let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let words = lines.into_iter().find(|words| words.get(2) == Some(&self.disk.as_str())).ok_or("no such disk")?;
        Ok((words[7].parse()?, words[9].parse()?))
    }
}

fn filled(bytes: usize) -> Result<OwnRegion> {
    let mut region = OwnRegion::new(bytes)?;
    region.advise(0, bytes, MadviseAdvice::NoHugePage)?;
    for (number, page) in (0..).zip(region.bytes_mut().chunks_mut(PAGE)) {
        CanaryClass::Random.fill(page, number, 7);
    }
    Ok(region)
}

fn report(samples: &[Vec<Sample>]) {
    let median = |of: fn(&Sample) -> f64, samples: &[Sample]| {
        let mut values: Vec<f64> = samples.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(0.0)
    };
    for (areas, row) in AREAS.iter().zip(samples) {
        let medians = (median(|s| s.call, row), median(|s| s.done, row), median(|s| s.request, row));
        let pairs =
            |of: fn(&Sample) -> f64| -> Vec<(f64, f64)> { row.iter().zip(&samples[0]).map(|(a, b)| (of(a), of(b))).collect() };
        let gain =
            |of| paired_ratio(&pairs(of)).map_or_else(String::new, |e| format!("{:.2} ({:.2}–{:.2})", e.value, e.low, e.high));
        println!(
            "{areas} areas: call {:.0} MiB/s, on disk {:.0} MiB/s, {:.0} KiB a request; against one: call {}, on disk {}",
            medians.0,
            medians.1,
            medians.2,
            gain(|s| s.call),
            gain(|s| s.done)
        );
    }
}

/// A folder of our own, gone with this.
struct Folder(PathBuf);

impl Folder {
    fn new(dir: &Path) -> Result<Self> {
        let folder = dir.join(format!("swap-areas-{}", std::process::id()));
        std::fs::create_dir(&folder)?;
        Ok(Self(folder))
    }

    /// Written in full: the first write to a block may cost more than the next.
    fn swap_file(&self, number: usize, mib: u64) -> Result<PathBuf> {
        let path = self.0.join(number.to_string());
        let fill = Command::new("dd")
            .args(["if=/dev/urandom", "bs=1M", "conv=fsync", "status=none"])
            .args([format!("of={}", path.display()), format!("count={mib}")])
            .status()?;
        let header = Command::new("mkswap").arg("--quiet").arg(&path).status()?;
        if fill.success() && header.success() { Ok(path) } else { Err(format!("cannot make {}", path.display()).into()) }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left of it is scratch, and says so by its name.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
