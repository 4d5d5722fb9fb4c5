//! The pool of zswap as it is predicted and as it is: `pool_size CODEC [MIB]`, with CODEC as the compressor of a zswap that is on,
//! and swap behind it.
//!
//! The pages are our own: text, and random bytes that fill any part of a page before text or zeros. Their sizes come from the
//! library, as those of `swaptune sample` do; then the kernel is told to swap them out. Prints `KEY VALUE` lines, and ends with
//! status 1 when the prediction is wrong by more than 2 %, or the pool is of less than 64 MiB and tells nothing.

use std::process::ExitCode;

use swaptune_bench::codec::{CODECS, CodecSetting, counted, room};
use swaptune_core::parse::keyed;
use swaptune_core::proof::CanaryClass;
use swaptune_host::inspect::{self, InspectScope};
use swaptune_host::machine::Machine;
use swaptune_host::sys::{MadviseAdvice, OwnRegion};
use swaptune_kernel::{KernelVersion, behaviours};
use swaptune_tiers::alloc::{Allocator, Footprint, Incompressible};

const PAGE: usize = 4096;
/// Random bytes end before the largest object that zbud and z3fold take: what they refuse is no matter of the pool's size.
const MOST_RANDOM: usize = 3600;
/// What zswap puts before each object where the allocator can write back (struct zswap_header, until Linux 6.6).
const HEADER: u16 = 8;
const LEAST_POOL: u64 = 64 << 20;
const WITHIN: f64 = 0.02;

type Error = Box<dyn std::error::Error>;

fn main() -> Result<ExitCode, Error> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let codec = words.first().ok_or("usage: pool_size CODEC [MIB]")?;
    let mebibytes: usize = words.get(1).map_or(Ok(192), |text| text.parse())?;
    let mut region = OwnRegion::new(mebibytes << 20)?;
    region.advise(0, region.bytes_len(), MadviseAdvice::NoHugePage)?;
    fill(&mut region);
    let allocator = allocator(&Machine::live())?;
    let sizes = sizes(codec, &region, header(&allocator)?)?;
    let footprint = Footprint::of(&allocator, Incompressible::Rejected, sizes);
    let before = meminfo()?;
    region.advise(0, region.bytes_len(), MadviseAdvice::PageOut)?;
    let after = meminfo()?;
    let (pool, stored) = (after.0 - before.0, after.1 - before.1);
    let error = (footprint.pages * PAGE as u64) as f64 / pool as f64 - 1.0;
    println!("allocator {}", allocator.name());
    println!("stored {} of {} MiB", stored >> 20, mebibytes);
    println!("predicted {}", footprint.pages * PAGE as u64);
    println!("found {pool}");
    println!("error {:+.3} %", error * 100.0);
    let all_there = (footprint.original * PAGE as u64).abs_diff(stored) <= stored / 1000;
    Ok(if all_there && pool >= LEAST_POOL && error.abs() <= WITHIN { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn fill(region: &mut OwnRegion) {
    for (number, page) in (0_u64..).zip(region.bytes_mut().chunks_mut(PAGE)) {
        let random = (number.wrapping_mul(2_654_435_761) >> 9) as usize % MOST_RANDOM;
        if number % 4 == 3 {
            page.fill(0);
        } else {
            CanaryClass::Text.fill(page, number, 1);
        }
        CanaryClass::Random.fill(&mut page[..random.max(16)], number, 1);
    }
}

/// The allocator of zswap, as the model has it.
fn allocator(machine: &Machine) -> Result<Allocator, Error> {
    let kernel = inspect::inspect(machine, InspectScope { config: true, ..InspectScope::STATUS }).kernel;
    let chain = kernel.config.value().and_then(|config| config.get("CONFIG_ZSMALLOC_CHAIN_SIZE")?.parse().ok());
    let zpool = machine.read_text("/sys/module/zswap/parameters/zpool").unwrap_or_else(|_| "zsmalloc".into());
    Ok(Allocator::of_kernel(zpool.trim(), version(machine)?, chain)?)
}

fn version(machine: &Machine) -> Result<KernelVersion, Error> {
    let release = machine.read_text("/proc/sys/kernel/osrelease")?;
    Ok(KernelVersion::from_release(&release).ok_or("no version")?)
}

fn header(allocator: &Allocator) -> Result<u16, Error> {
    let has_header = behaviours::ENTRY_HEADER.is_in(version(&Machine::live())?);
    Ok(if has_header && !matches!(allocator, Allocator::Zsmalloc(_)) { HEADER } else { 0 })
}

/// Compressed size of each page by the library.
fn sizes(codec: &str, region: &OwnRegion, header: u16) -> Result<Vec<u16>, Error> {
    let setting = CodecSetting::of(CODECS.iter().find(|known| known.name == codec).ok_or("no such codec")?);
    let (mut library, mut out) = (setting.open(PAGE)?, vec![0; room(PAGE)]);
    let size = |page: &[u8]| Ok(u16::try_from(counted(library.compress(page, &mut out), PAGE))? + header);
    region.bytes().chunks(PAGE).map(size).collect()
}

/// `Zswap` and `Zswapped`, bytes.
fn meminfo() -> Result<(u64, u64), Error> {
    let meminfo = keyed::meminfo(&std::fs::read_to_string("/proc/meminfo")?);
    let get = |key: &str| meminfo.get(key).map(|bytes| bytes.0).ok_or(format!("no {key} in /proc/meminfo"));
    Ok((get("Zswap")?, get("Zswapped")?))
}
