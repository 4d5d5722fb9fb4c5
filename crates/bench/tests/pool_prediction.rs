//! What the allocator model says a pool takes, against the pools of the kernel that runs the tests: the same pages through
//! zram and through zswap, pools of more than 64 MiB, within 2 %.
//!
//! Where the compressed size of each page comes from: lzo, lzo-rle and lz4 from a scratch zram device into which one page
//! after the other is written, its count of compressed bytes read after each; lz4 also from liblz4; deflate from zlib with the
//! kernel's parameters (crypto/deflate.c), which python3 has. Needs root and no active swap; what this machine cannot do is
//! ignored by name.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use libtest_mimic::{Failed, Trial};
use rustix::fs::OFlags;
use swaptune_bench::codec::{CODECS, CodecSetting, room};
use swaptune_core::Bytes;
use swaptune_core::proof::CanaryClass;
use swaptune_host::inspect;
use swaptune_host::machine::Machine;
use swaptune_host::sys::{MadviseAdvice, OwnRegion};
use swaptune_host::temporary::{TOP_PRIORITY, TemporarySettings, guardian};
use swaptune_tiers::alloc::{Footprint, Incompressible, Zsmalloc};
use swaptune_trials::{TestResult, lacks, needing, no_swap, program, root, run_one_by_one, swap_lock};

const PAGE: usize = 4096;
const PAGES: usize = 48 * 1024;
const LEAST_POOL: u64 = 64 << 20;
/// Largest error of a prediction.
const WITHIN: f64 = 0.02;

fn main() -> ExitCode {
    if std::env::args().nth(1).is_some_and(|argument| argument == guardian::ARGUMENT) {
        return if guardian::play_and_tell() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    // One scratch at a time on a machine.
    let trials = ["lzo", "lzo-rle", "lz4"]
        .map(|codec| trial("zram", codec, move || ready(Some(codec), None), zram))
        .into_iter()
        .chain(["lzo", "lzo-rle"].map(|codec| trial("zswap", codec, move || ready(Some(codec), Some(codec)), zswap)))
        .chain([
            trial("zswap", "deflate", deflate, zswap_deflate),
            trial("zram_by_library", "lz4", || ready(Some("lz4"), None), zram_by_library),
        ]);
    run_one_by_one(trials.collect())
}

fn trial(
    pool: &str,
    codec: &'static str,
    needs: impl FnOnce() -> TestResult + Send + 'static,
    test: fn(&str) -> Result<(), Failed>,
) -> Trial {
    needing(format!("{pool}::{codec}"), needs, move || test(codec))
}

/// Whether this machine can show it.
fn ready(zram: Option<&str>, zswap: Option<&str>) -> TestResult {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let offers = |list: &str, codec: &str| list.split_whitespace().any(|word| word.trim_matches(['[', ']']) == codec);
    root()?;
    no_swap()?;
    if let Some(codec) = zram.filter(|codec| !offers(&read("/sys/block/zram0/comp_algorithm"), codec)) {
        return lacks(format!("no zram0 with {codec}"));
    }
    let Some(codec) = zswap else { return Ok(()) };
    swaptune_trials::zswap()?;
    if has_crypto(&read("/proc/crypto"), codec) { Ok(()) } else { lacks(format!("this kernel has no {codec}")) }
}

fn deflate() -> TestResult {
    ready(None, Some("deflate"))?;
    program("python3", &["-c", "import zlib"]).or_else(|_| lacks("no python3 with zlib"))
}

fn has_crypto(crypto: &str, codec: &str) -> bool {
    crypto.lines().any(|line| line.strip_prefix("name").is_some_and(|rest| rest.trim_start_matches([' ', '\t', ':']) == codec))
}

/// A scratch with the lock of all tests of real swap held.
fn with_temporary<T>(test: impl FnOnce(&mut TemporarySettings, &Path) -> Result<T, Failed>) -> Result<T, Failed> {
    let _lock = swap_lock()?;
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let mut temporary = TemporarySettings::open(&Machine::live(), "a test of pool sizes")?;
    let result = test(&mut temporary, folder.path());
    temporary.close()?;
    result
}

/// Pages of every kind: zeros, text, random bytes that fill any part of them before zeros or text, random pages.
fn pages() -> Result<OwnRegion, Failed> {
    let mut region = OwnRegion::new(PAGES * PAGE)?;
    region.advise(0, PAGES * PAGE, MadviseAdvice::NoHugePage)?;
    for (number, page) in (0_u64..).zip(region.bytes_mut().chunks_mut(PAGE)) {
        let random = (number.wrapping_mul(2_654_435_761) >> 9) as usize % PAGE;
        match number % 8 {
            0 if number % 64 == 0 => page.fill(0),
            0 | 1 => CanaryClass::Text.fill(page, number, 1),
            2 if number % 32 == 2 => CanaryClass::Random.fill(page, number, 1),
            kind => {
                if kind % 2 == 0 {
                    CanaryClass::Text.fill(page, number, 1);
                } else {
                    page.fill(0);
                }
                CanaryClass::Random.fill(&mut page[..random], number, 1);
            }
        }
    }
    Ok(region)
}

fn mm_stat(device: &str, field: usize) -> Result<u64, Failed> {
    let name = device.trim_start_matches("/dev/");
    let text = fs::read_to_string(format!("/sys/block/{name}/mm_stat"))?;
    Ok(text.split_whitespace().nth(field).ok_or("mm_stat is too short")?.parse()?)
}

fn direct(device: &str) -> Result<File, Failed> {
    Ok(File::options().write(true).custom_flags(OFlags::DIRECT.bits() as i32).open(device)?)
}

/// Compressed size of each page in zram, one after the other.
fn sizes_in_zram(temporary: &mut TemporarySettings, codec: &str, region: &OwnRegion) -> Result<Vec<u16>, Failed> {
    let device = temporary.zram(codec, Bytes((PAGES * PAGE) as u64), None)?;
    let file = direct(&device)?;
    let (mut sizes, mut before) = (Vec::with_capacity(PAGES), mm_stat(&device, 1)?);
    for (index, page) in region.bytes().chunks(PAGE).enumerate() {
        file.write_all_at(page, (index * PAGE) as u64)?;
        let now = mm_stat(&device, 1)?;
        sizes.push(u16::try_from(now - before)?);
        before = now;
    }
    Ok(sizes)
}

/// zsmalloc as this kernel has it.
fn zsmalloc() -> Result<Zsmalloc, Failed> {
    let kernel =
        inspect::inspect(&Machine::live(), inspect::InspectScope { config: true, ..inspect::InspectScope::STATUS }).kernel;
    let version = kernel.version.value().ok_or("no kernel version")?;
    let chain = kernel.config.value().and_then(|config| config.get("CONFIG_ZSMALLOC_CHAIN_SIZE")?.parse().ok());
    Ok(Zsmalloc::of_kernel(*version, chain)?)
}

fn predicted(incompressible: Incompressible, sizes: &[u16]) -> Result<Footprint, Failed> {
    let allocator = swaptune_tiers::alloc::Allocator::Zsmalloc(zsmalloc()?);
    Ok(Footprint::of(&allocator, incompressible, sizes.iter().copied()))
}

/// Compares a pool, of which others may have up to `others` bytes.
fn compare(what: &str, predicted: u64, found: u64, others: u64) -> Result<(), Failed> {
    let error = |found: u64| predicted as f64 / found as f64 - 1.0;
    let (least, most) = (error(found), error(found - others));
    eprintln!("{what}: predicted {predicted} B, found {found} B, error {:+.3} to {:+.3} %", least * 100.0, most * 100.0);
    if found < LEAST_POOL {
        return Err(format!("{what}: a pool of {found} B is too small to tell").into());
    }
    if least > WITHIN || most < -WITHIN {
        return Err(format!("{what}: predicted {predicted} B, found {found} B, {others} B of others at most").into());
    }
    Ok(())
}

fn fill_backwards(temporary: &mut TemporarySettings, codec: &str, region: &OwnRegion) -> Result<String, Failed> {
    let device = temporary.zram(codec, Bytes((PAGES * PAGE) as u64), None)?;
    let file = direct(&device)?;
    for (index, part) in region.bytes().chunks(1 << 20).enumerate().rev() {
        file.write_all_at(part, (index << 20) as u64)?;
    }
    Ok(device)
}

/// Sizes from one device, the pool of another that is filled backwards and in large writes.
fn zram(codec: &str) -> Result<(), Failed> {
    let region = pages()?;
    with_temporary(|temporary, _| {
        let mark = temporary.mark()?;
        let sizes = sizes_in_zram(temporary, codec, &region)?;
        temporary.back_to(mark)?;
        let device = fill_backwards(temporary, codec, &region)?;
        let footprint = predicted(Incompressible::RawFromHuge, &sizes)?;
        let same = mm_stat(&device, 5)?;
        if (footprint.same_filled, footprint.compressed, footprint.incompressible)
            != (same, mm_stat(&device, 1)?, mm_stat(&device, 7)?)
        {
            return Err(format!("{footprint:?} against {same} same pages and {} compressed bytes", mm_stat(&device, 1)?).into());
        }
        compare(&format!("zram {codec}"), footprint.pages * PAGE as u64, mm_stat(&device, 2)?, 0)
    })
}

fn zswap(codec: &str) -> Result<(), Failed> {
    let region = pages()?;
    with_temporary(|temporary, folder| {
        let mark = temporary.mark()?;
        let sizes = sizes_in_zram(temporary, codec, &region)?;
        temporary.back_to(mark)?;
        push(temporary, folder, codec, &region, &sizes)
    })
}

fn zswap_deflate(codec: &str) -> Result<(), Failed> {
    let region = pages()?;
    let sizes = sizes_by_zlib(&region)?;
    with_temporary(|temporary, folder| push(temporary, folder, codec, &region, &sizes))
}

/// The pool of zswap with these pages in it, and hardly any of others: what else runs here may be swapped as long as swap is on, for DAMON may
/// page out what is cold.
fn push(temporary: &mut TemporarySettings, folder: &Path, codec: &str, region: &OwnRegion, sizes: &[u16]) -> Result<(), Failed> {
    temporary.swap_file(folder, Bytes((PAGES * PAGE + (64 << 20)) as u64), TOP_PRIORITY)?;
    temporary.knob("zswap.compressor", codec)?;
    temporary.knob("zswap.max_pool_percent", "50")?;
    temporary.knob("zswap.enabled", "Y")?;
    let (used, stored) = (meminfo("Zswap")?, meminfo("Zswapped")?);
    region.advise(0, region.bytes_len(), MadviseAdvice::PageOut)?;
    let footprint = predicted(Incompressible::Raw, sizes)?;
    let now_stored = (meminfo("Zswapped")? - stored) / PAGE as u64;
    let now_used = meminfo("Zswap")? - used;
    // Zero pages do not reach zswap since 6.12.
    let expected = footprint.original - footprint.same_filled;
    let others = now_stored.saturating_sub(expected);
    if now_stored + expected / 1000 < expected || others * PAGE as u64 > (now_used as f64 * WITHIN) as u64 {
        return Err(format!("{now_stored} pages are in zswap, {expected} were expected").into());
    }
    compare(&format!("zswap {codec}"), footprint.pages * PAGE as u64, now_used, others * PAGE as u64)
}

/// A field of /proc/meminfo in bytes.
fn meminfo(field: &str) -> Result<u64, Failed> {
    let text = fs::read_to_string("/proc/meminfo")?;
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    let kilobytes: u64 = line.ok_or(format!("no {field} in /proc/meminfo"))?.trim().trim_end_matches(" kB").parse()?;
    Ok(kilobytes * 1024)
}

/// zlib as crypto/deflate.c drives it: level 6, a window of 2^11, raw.
fn sizes_by_zlib(region: &OwnRegion) -> Result<Vec<u16>, Failed> {
    const SCRIPT: &str = "import sys, zlib
while page := sys.stdin.buffer.read(4096):
    codec = zlib.compressobj(6, zlib.DEFLATED, -11, 8)
    size = len(codec.compress(page) + codec.flush())
    print(size if page.strip(bytes(1)) else 0)";
    let mut child = Command::new("python3").args(["-c", SCRIPT]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut input = child.stdin.take().ok_or("no pipe")?;
    let bytes = region.bytes();
    let output = std::thread::scope(|scope| {
        scope.spawn(move || input.write_all(bytes));
        child.wait_with_output()
    })?;
    let sizes: Result<Vec<u16>, _> = String::from_utf8(output.stdout)?.lines().map(str::parse).collect();
    Ok(sizes?)
}

/// Sizes from liblz4 in this process, the pool of zram. The kernel's lz4 is older and finds another match in a few pages.
fn zram_by_library(codec: &str) -> Result<(), Failed> {
    let region = pages()?;
    let setting = CodecSetting::of(CODECS.iter().find(|known| known.name == codec).ok_or("no such codec")?);
    let (mut library, mut out) = (setting.open(PAGE)?, vec![0; room(PAGE)]);
    let mut size =
        |page: &[u8]| Some(if page.iter().all(|&byte| byte == 0) { 0 } else { library.compress(page, &mut out)? as u16 });
    let sizes: Option<Vec<u16>> = region.bytes().chunks(PAGE).map(&mut size).collect();
    let footprint = predicted(Incompressible::RawFromHuge, &sizes.ok_or("more than two pages")?)?;
    with_temporary(|temporary, _| {
        let device = fill_backwards(temporary, codec, &region)?;
        compare(&format!("compressed bytes of {codec}"), footprint.compressed, mm_stat(&device, 1)?, 0)?;
        compare(&format!("zram {codec} by its library"), footprint.pages * PAGE as u64, mm_stat(&device, 2)?, 0)
    })
}
