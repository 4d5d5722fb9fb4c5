//! What each content compresses to: the kernel is asked where it can be, else the library.

use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};

use rustix::fs::OFlags;
use swaptune_core::facts::KernelFacts;
use swaptune_core::parse::mm_stat;
use swaptune_core::{Bytes, Facts};
use swaptune_host::machine::Machine;
use swaptune_host::sys::OwnRegion;
use swaptune_host::temporary::TemporarySettings;
use swaptune_kernel::behaviours;

use crate::ValidateError;
use crate::content::{self, PAGE};
use swaptune_bench::codec::{CODECS, Codec, CodecSetting, counted, room, same_filled};
use swaptune_bench::codecs::in_zram;

/// Codecs of which zram calls the very function that zswap calls. Its zstd and deflate have other parameters.
const AS_IN_ZRAM: [&str; 5] = ["lzo", "lzo-rle", "lz4", "lz4hc", "842"];

/// Compressed size of each content under a compressor of this kernel's zswap, and what said so; `None` where nothing can.
pub(super) fn of_contents(
    machine: &Machine,
    temporary: &mut TemporarySettings,
    facts: &Facts,
    compressor: &str,
) -> Result<Option<(Vec<u16>, &'static str)>, ValidateError> {
    let pages: Vec<Vec<u8>> = content::all().chunks(PAGE).map(|page| as_compressed(page, &facts.kernel)).collect();
    if AS_IN_ZRAM.contains(&compressor) && in_zram(compressor, facts).availability.usable() {
        let mark = temporary.mark()?;
        let sizes = in_a_device(machine, temporary, compressor, &pages);
        temporary.back_to(mark)?;
        return Ok(Some((sizes?, "this kernel's zram")));
    }
    let calls_it = |codec: &&Codec| codec.zswap == Some(compressor);
    // Where two rows of the table fit, the one that fits nothing else is meant.
    let Some(codec) = CODECS.iter().rfind(calls_it) else { return Ok(None) };
    let mut library = CodecSetting::of(codec).open(PAGE).map_err(|error| ValidateError::Sizes(error.to_string()))?;
    let mut out = vec![0; room(PAGE)];
    let mut size = |page: &Vec<u8>| match same_filled(page) {
        Some(_) => 0,
        None => counted(library.compress(page, &mut out), PAGE) as u16,
    };
    Ok(Some((pages.iter().map(&mut size).collect(), codec.library)))
}

/// A page as zswap compresses it. One that a word fills is not compressed by zram nor by an old zswap; for a newer one the last word
/// is made another, which costs some bytes.
fn as_compressed(page: &[u8], kernel: &KernelFacts) -> Vec<u8> {
    let mut page = page.to_vec();
    let compresses = kernel.does(&behaviours::SAME_FILLED_IN_ZSWAP) != Some(true);
    if compresses && same_filled(&page) == Some(false) {
        page[PAGE - 1] ^= 1;
    }
    page
}

/// Written to a device one after the other; its count of compressed bytes is read after each.
fn in_a_device(
    machine: &Machine,
    temporary: &mut TemporarySettings,
    algorithm: &str,
    pages: &[Vec<u8>],
) -> Result<Vec<u16>, ValidateError> {
    let path = temporary.zram(algorithm, Bytes((pages.len() * PAGE) as u64), None)?;
    let failed = |error: std::io::Error| ValidateError::Sizes(format!("{path}: {error}"));
    let direct = i32::try_from(OFlags::DIRECT.bits()).unwrap_or_default();
    let device = File::options().write(true).custom_flags(direct).open(&path).map_err(failed)?;
    let file = format!("/sys/block/{}/mm_stat", path.trim_start_matches("/dev/"));
    let counted = || {
        let stat = machine.read_text(&file).ok().and_then(|text| mm_stat::parse(&text));
        stat.map(|stat| stat.compr_data_size.0).ok_or_else(|| ValidateError::Sizes(format!("{file} cannot be read")))
    };
    // Direct writes need memory that begins with a page.
    let mut region = OwnRegion::new(PAGE).map_err(failed)?;
    let mut before = counted()?;
    let mut sizes = Vec::with_capacity(pages.len());
    for (number, page) in pages.iter().enumerate() {
        region.bytes_mut().copy_from_slice(page);
        device.write_all_at(region.bytes(), (number * PAGE) as u64).map_err(failed)?;
        let now = counted()?;
        sizes.push(u16::try_from(now - before).unwrap_or(u16::MAX));
        before = now;
    }
    Ok(sizes)
}
