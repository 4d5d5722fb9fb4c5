//! zswap, over a swap file of our own: pages are pushed out with `MADV_PAGEOUT` and touched again, all in this thread.
//!
//! The time is that of the whole swap path, of which the codec is a part.

use std::path::Path;

use swaptune_core::knobs;
use swaptune_core::parse::{choice, keyed};
use swaptune_core::{Bytes, Facts};
use swaptune_host::sys::{MadviseAdvice, OwnRegion};
use swaptune_host::temporary::TOP_PRIORITY;

use super::{BenchPages, CodecTurn, KernelBench, KernelError, timed};

/// Bytes of one call: reclaim works in small steps, and nothing else on the machine waits long for it.
const CHUNK: usize = 2 << 20;
/// Pages that were just made may be on a processor's list, from where they cannot be taken; the next call finds them.
const PUSHES: usize = 3;
/// The swap file has a header, and room for what else the machine pushes out meanwhile.
const SPARE: u64 = 64 << 20;
/// Most of RAM that the pool may take while this runs, so that nothing is written back.
const POOL_PERCENT: u64 = 50;

/// The allocator below zswap: since 6.18 there is no choice.
pub(super) fn zpool(facts: &Facts) -> &str {
    facts.zswap.value().and_then(|zswap| zswap.parameter("zpool")).unwrap_or("zsmalloc")
}

impl KernelBench<'_> {
    /// What all compressors need: an area that is used first, single loads, a pool that is large enough, nothing written back.
    pub(super) fn prepare_zswap(&mut self, folder: &Path) -> Result<(), KernelError> {
        let size = Bytes(self.source.bytes_len() as u64 + SPARE);
        self.temporary.swap_file(folder, size, TOP_PRIORITY)?;
        self.set("vm.page-cluster", "0")?;
        if self.current("zswap.max_pool_percent").and_then(|percent| percent.parse().ok()).is_some_and(|p: u64| p < POOL_PERCENT)
        {
            self.set("zswap.max_pool_percent", &POOL_PERCENT.to_string())?;
        }
        if self.current("zswap.shrinker_enabled").is_some() {
            self.set("zswap.shrinker_enabled", "N")?;
        }
        Ok(())
    }

    /// Pushes all pages out, or `only` these, reads the counters, brings them all back.
    pub(super) fn zswap(&mut self, compressor: &str, only: Option<&BenchPages>) -> Result<CodecTurn, KernelError> {
        self.set("zswap.compressor", compressor)?;
        self.set("zswap.enabled", "Y")?;
        let what = format!("zswap with {compressor}");
        let source = only.map_or_else(|| self.source.bytes(), BenchPages::bytes);
        let length = source.len();
        let failed = |source| KernelError::io(what.clone(), source);
        let mut pages = OwnRegion::new(length).map_err(failed)?;
        // EINVAL from a kernel without huge pages, which then has none to avoid.
        let _ = pages.advise(0, length, MadviseAdvice::NoHugePage);
        pages.bytes_mut().copy_from_slice(source);
        let before = self.pool()?;
        let (store, ()) = timed(|| (0..PUSHES).try_for_each(|_| push(&pages)).map_err(failed))?;
        let after = self.pool()?;
        let (load, ()) = timed(|| {
            (0..length).step_by(self.page_size).for_each(|offset| pages.touch(offset));
            Ok(())
        })?;
        self.same(&what, source, &pages)?;
        let (original, used) = (Bytes(after.0.0.saturating_sub(before.0.0)), Bytes(after.1.0.saturating_sub(before.1.0)));
        // What does not compress is refused before 6.18; what came from elsewhere spoils the count.
        if original.0 < length as u64 / 2 || original.0 > length as u64 + SPARE {
            let why = format!("{original} of {} are in the pool", Bytes(length as u64));
            return Err(KernelError::Counters { what, why });
        }
        Ok(CodecTurn { bytes: length as u64, store, load, original, used, compressed: None })
    }

    /// Original size and RAM of everything in zswap.
    fn pool(&self) -> Result<(Bytes, Bytes), KernelError> {
        let lines = keyed::meminfo(&self.machine.read_text("/proc/meminfo")?);
        let line = |name: &str| {
            let why = format!("/proc/meminfo has no {name}, which came with Linux 5.19");
            lines.get(name).copied().ok_or(KernelError::Counters { what: "zswap".into(), why })
        };
        Ok((line("Zswapped")?, line("Zswap")?))
    }

    fn current(&self, name: &str) -> Option<String> {
        let knob = knobs::find(name)?;
        self.machine.read_text(knob.path).ok().map(|text| choice::value(&text))
    }

    /// Sets a knob that is not so already.
    fn set(&mut self, name: &str, value: &str) -> Result<(), KernelError> {
        if self.current(name).as_deref() == Some(value) {
            return Ok(());
        }
        Ok(self.temporary.knob(name, value)?)
    }
}

fn push(pages: &OwnRegion) -> std::io::Result<()> {
    let length = pages.bytes_len();
    (0..length).step_by(CHUNK).try_for_each(|at| pages.advise(at, CHUNK.min(length - at), MadviseAdvice::PageOut))
}
