//! The same pages through this kernel's own codecs: every algorithm of zram, every compressor of zswap.
//!
//! For LZO and LZO-RLE nothing else tells; for the others it shows how well the libraries predict. Each takes its turn in every round,
//! on a pool that is new, and every page is compared. What is set for it is put back after each turn, and by the guardian when this
//! process is killed.

mod error;
mod in_memory;
mod predict;
mod zram;
mod zswap;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use swaptune_core::measurement::{AllocatorFigures, CodecFigures, CodecPath, PoolFigures};
use swaptune_core::{Bytes, Facts};
use swaptune_host::machine::Machine;
use swaptune_host::sys::OwnRegion;
use swaptune_host::temporary::{TemporaryError, TemporarySettings};
use tracing::warn;

pub use error::KernelError;
pub use predict::Predicted;

use in_memory::{ZswapPages, in_memory};

use super::kernel_has::{CodecPresence, in_zram, in_zswap};
use super::pages::BenchPages;
use super::rounds::{CodecWork, Rates, processor_time};
use crate::conditions::parameters;

/// How often each takes its turn.
const ROUNDS: usize = 5;

/// Names of codecs that the kernel may have.
pub const NAMES: [&str; 7] = ["lzo", "lzo-rle", "lz4", "lz4hc", "zstd", "deflate", "842"];

/// What to measure.
#[derive(Clone, Debug)]
pub struct KernelPlan {
    /// Only these, by the kernel's names; all when empty.
    pub only: Vec<String>,
    /// Folder of the swap file that zswap needs.
    pub folder: PathBuf,
}

/// One codec of the kernel.
#[derive(Clone, Debug)]
pub struct KernelRow {
    /// The numbers; the pool is measured.
    pub figures: CodecFigures,
    /// What the library and the model of the allocator say; `None` where there is no library of it.
    pub predicted: Option<Predicted>,
    /// Bytes of compressed pages, where the kernel says.
    pub compressed: Option<Bytes>,
    /// Pages of live processes that did not go through, for the kernel might have written them to the swap file.
    pub kept_out: u64,
    /// The settings that it was measured under.
    pub parameters: BTreeMap<String, String>,
}

/// A codec that could not be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodecLeftOut {
    /// `zram`, `zswap`.
    pub user: &'static str,
    /// The kernel's name of the codec.
    pub name: String,
    /// The reason, as one sentence for the user.
    pub why: String,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct KernelOutcome {
    /// Codecs that were measured, also where it ended early.
    pub rows: Vec<KernelRow>,
    /// Codecs that were not.
    pub left_out: Vec<CodecLeftOut>,
    /// Why it ended early, or what was not put back.
    pub failed: Option<KernelError>,
}

/// What one turn showed.
#[derive(Clone, Debug)]
struct CodecTurn {
    /// Original bytes that went through.
    bytes: u64,
    store: Duration,
    load: Duration,
    /// Original bytes that are in the pool.
    original: Bytes,
    /// RAM that the pool takes for them.
    used: Bytes,
    /// Compressed bytes, where the kernel says.
    compressed: Option<Bytes>,
}

/// One codec and its turns so far.
struct CodecTurns {
    path: CodecPath,
    name: String,
    place: CodecPresence,
    /// Where not all pages go through: those that do.
    only: Option<BenchPages>,
    rates: Rates,
    turn: Option<CodecTurn>,
    parameters: BTreeMap<String, String>,
    failed: Option<String>,
}

/// Begins the temporary settings that [`measure_kernel`] needs: what refuses them is known before anything is measured.
///
/// # Errors
/// [`TemporaryError`].
pub fn open_kernel(machine: &Machine) -> Result<TemporarySettings, TemporaryError> {
    TemporarySettings::open(machine, "bench codecs --kernel")
}

/// Measures them all; `tell` is called before each turn with the codec, and how many of how many turns are done.
///
/// It ends early when something cannot be put back, or a page comes back different; what was measured before counts. A codec that the
/// kernel does not give is left out instead.
pub fn measure_kernel(
    machine: &Machine,
    mut temporary: TemporarySettings,
    facts: &Facts,
    pages: &BenchPages,
    plan: &KernelPlan,
    mut tell: impl FnMut(&str, usize, usize),
) -> KernelOutcome {
    let (mut entries, mut left_out) = entries(facts, pages, plan);
    let measured = copy(pages).and_then(|source| {
        let mut bench = KernelBench { machine, temporary: &mut temporary, source, page_size: pages.page_size() };
        bench.rounds(&mut entries, plan, &mut tell)
    });
    // Whatever happened, what was set is put back first.
    let failed = measured.and(temporary.close().map_err(KernelError::from)).err();
    left_out.extend(
        entries.iter().filter_map(|entry| {
            Some(CodecLeftOut { user: user(entry.path), name: entry.name.clone(), why: entry.failed.clone()? })
        }),
    );
    KernelOutcome { rows: entries.into_iter().filter_map(|entry| entry.row(facts, pages)).collect(), left_out, failed }
}

fn user(path: CodecPath) -> &'static str {
    if path == CodecPath::Zram { "zram" } else { "zswap" }
}

/// What is there to be measured, and what is not there.
fn entries(facts: &Facts, pages: &BenchPages, plan: &KernelPlan) -> (Vec<CodecTurns>, Vec<CodecLeftOut>) {
    let (mut entries, mut left_out) = (Vec::new(), Vec::new());
    let wanted = |name: &&str| plan.only.is_empty() || plan.only.iter().any(|only| only == name);
    for path in [CodecPath::Zram, CodecPath::Zswap] {
        for name in NAMES.into_iter().filter(wanted) {
            let place = if path == CodecPath::Zram { in_zram(name, facts) } else { in_zswap(name, facts) };
            let name = name.to_owned();
            match only(path, &name, &place, facts, pages) {
                Ok(only) => entries.push(CodecTurns {
                    path,
                    name,
                    place,
                    only,
                    rates: Rates::default(),
                    turn: None,
                    parameters: BTreeMap::new(),
                    failed: None,
                }),
                Err(why) => left_out.push(CodecLeftOut { user: user(path), name, why }),
            }
        }
    }
    (entries, left_out)
}

/// The pages that go through a codec where those are not all, or why it is not measured.
fn only(
    path: CodecPath,
    name: &str,
    place: &CodecPresence,
    facts: &Facts,
    pages: &BenchPages,
) -> Result<Option<BenchPages>, String> {
    if !place.availability.usable() {
        return Err(place.source.clone());
    }
    match if path == CodecPath::Zswap { in_memory(name, facts, pages) } else { ZswapPages::All } {
        ZswapPages::All => Ok(None),
        ZswapPages::Only(pages) => Ok(Some(pages)),
        ZswapPages::Not(why) => Err(why),
    }
}

/// The pages in memory that direct writes can take: it begins with a page.
fn copy(pages: &BenchPages) -> Result<OwnRegion, KernelError> {
    let mut region = OwnRegion::new(pages.bytes().len()).map_err(|source| KernelError::io("memory for the pages", source))?;
    region.bytes_mut().copy_from_slice(pages.bytes());
    Ok(region)
}

/// What the turns work on.
struct KernelBench<'a> {
    machine: &'a Machine,
    temporary: &'a mut TemporarySettings,
    source: OwnRegion,
    page_size: usize,
}

impl KernelBench<'_> {
    /// All rounds of all codecs.
    fn rounds(
        &mut self,
        entries: &mut [CodecTurns],
        plan: &KernelPlan,
        tell: &mut impl FnMut(&str, usize, usize),
    ) -> Result<(), KernelError> {
        let mut zswap: Vec<&mut CodecTurns> = entries.iter_mut().filter(|entry| entry.path == CodecPath::Zswap).collect();
        if !zswap.is_empty() {
            let mark = self.temporary.mark()?;
            if let Err(error) = self.prepare_zswap(&plan.folder) {
                self.temporary.back_to(mark)?;
                let why = error.words();
                zswap.iter_mut().for_each(|entry| entry.failed = Some(why.clone()));
            }
        }
        let (each, steps) = (entries.len(), ROUNDS * entries.len());
        for round in 0..ROUNDS {
            for (number, entry) in entries.iter_mut().enumerate().filter(|(_, entry)| entry.failed.is_none()) {
                tell(&format!("{} {}", user(entry.path), entry.name), round * each + number, steps);
                self.take_turn(entry)?;
            }
        }
        Ok(())
    }

    /// One turn, put back afterwards. A codec that the kernel does not give at the first turn has failed, and nothing else; at a later one the
    /// turns that it had count.
    fn take_turn(&mut self, entry: &mut CodecTurns) -> Result<(), KernelError> {
        let mark = self.temporary.mark()?;
        let turn = match entry.path {
            CodecPath::Zram => self.zram(&entry.name),
            CodecPath::Zswap | CodecPath::Library => self.zswap(&entry.name, entry.only.as_ref()),
        };
        entry.parameters = parameters(self.machine);
        self.temporary.back_to(mark)?;
        entry.add(turn)
    }
}

impl CodecTurns {
    fn add(&mut self, turn: Result<CodecTurn, KernelError>) -> Result<(), KernelError> {
        match turn {
            Ok(turn) => {
                let bytes = turn.bytes;
                self.rates.compress.push(CodecWork { bytes, time: turn.store }.rate());
                self.rates.decompress.push(CodecWork { bytes, time: turn.load }.rate());
                self.turn.get_or_insert(turn);
                Ok(())
            }
            Err(error) if error.is_of_the_codec() => {
                warn!("{} {}: a turn does not count: {}", user(self.path), self.name, error.words());
                if self.turn.is_none() {
                    self.failed = Some(error.words());
                }
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn row(self, facts: &Facts, pages: &BenchPages) -> Option<KernelRow> {
        let (turn, all) = (self.turn?, pages.count());
        let pages = self.only.as_ref().unwrap_or(pages);
        let kept_out = (all - pages.count()) as u64;
        let ratio = turn.original.0 as f64 / turn.compressed.unwrap_or(turn.used).0.max(1) as f64;
        let allocator = if self.path == CodecPath::Zram { "zsmalloc" } else { zswap::zpool(facts) };
        let pool = PoolFigures {
            allocator: AllocatorFigures { name: allocator.to_owned(), measured: true },
            original: turn.original,
            used: turn.used,
        };
        let figures = CodecFigures {
            codec: self.name.clone(),
            path: self.path,
            pages_of: pages.of.clone(),
            pages: pages.count() as u64,
            threads: 1,
            compress_mb_s: Some(Rates::median(&self.rates.compress)),
            decompress_mb_s: Some(Rates::median(&self.rates.decompress)),
            compress: None,
            decompress: None,
            ratio,
            pools: vec![pool],
            in_kernel: format!("{}: {}", user(self.path), self.place.text()),
        };
        let predicted = predict::predict(&self.name, self.path, allocator, facts, pages);
        Some(KernelRow { figures, predicted, compressed: turn.compressed, kept_out, parameters: self.parameters })
    }
}

/// Processor time of this thread that something takes, the kernel's work for it included.
fn timed<T>(work: impl FnOnce() -> Result<T, KernelError>) -> Result<(Duration, T), KernelError> {
    let before = processor_time();
    let result = work()?;
    Ok((processor_time() - before, result))
}

#[cfg(test)]
mod tests {
    use swaptune_core::facts::Availability;

    use super::*;

    fn turns() -> CodecTurns {
        let place = CodecPresence { availability: Availability::BuiltIn, source: "test".into() };
        let (path, name, rates) = (CodecPath::Zswap, "lzo".to_owned(), Rates::default());
        CodecTurns { path, name, place, only: None, rates, turn: None, parameters: BTreeMap::new(), failed: None }
    }

    fn turn(millis: u64) -> CodecTurn {
        let (store, load, size) = (Duration::from_millis(millis), Duration::from_millis(millis), Bytes::from_mib(1));
        CodecTurn { bytes: 1_000_000, store, load, original: size, used: size, compressed: None }
    }

    fn spoilt() -> KernelError {
        KernelError::Counters { what: "zswap with lzo".into(), why: "0 B of 1 MiB are in the pool".into() }
    }

    #[test]
    fn a_later_turn_that_fails_costs_no_other() {
        let mut lzo = turns();
        for turn in [Ok(turn(1)), Err(spoilt()), Ok(turn(2)), Ok(turn(4))] {
            lzo.add(turn).unwrap();
        }
        assert!(lzo.failed.is_none());
        assert_eq!(Rates::median(&lzo.rates.compress), 500.0, "the median of the turns that there are");
        let pages = BenchPages::of_bytes("test".into(), vec![1; 8192], 4096, true).unwrap();
        assert!(lzo.row(&Facts::default(), &pages).is_some());
    }

    #[test]
    fn a_codec_that_fails_at_once_is_left_out_and_a_changed_page_ends_it() {
        let mut lzo = turns();
        lzo.add(Err(spoilt())).unwrap();
        assert_eq!(lzo.failed.as_deref(), Some("zswap with lzo: 0 B of 1 MiB are in the pool"));
        let changed = KernelError::Changed { what: "zswap with lzo".into(), page: 3 };
        assert!(turns().add(Err(changed)).is_err());
    }
}
