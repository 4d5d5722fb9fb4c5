//! What the library of a codec and the model of the allocator say that the kernel would take.

use swaptune_core::measurement::CodecPath;
use swaptune_core::{Bytes, Facts};
use swaptune_tiers::alloc::{Incompressible, PAGE_SIZE};

use crate::codec::{CODECS, Codec, CodecSetting, room};
use crate::codecs::pages::BenchPages;
use crate::pools;

/// A prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Predicted {
    /// Compressed bytes, as zram counts them.
    pub compressed: Bytes,
    /// RAM that the pool takes.
    pub used: Bytes,
}

/// The library of a codec that the kernel calls so.
pub(super) fn library(name: &str, path: CodecPath) -> Option<&'static Codec> {
    let calls_it = |codec: &&Codec| if path == CodecPath::Zram { codec.zram == Some(name) } else { codec.zswap == Some(name) };
    // Where two rows of the table fit, the one that fits nothing else is meant.
    CODECS.iter().rfind(calls_it)
}

/// `None` where there is no library, for a page size that is not modelled, or when the library fails.
pub(super) fn predict(name: &str, path: CodecPath, allocator: &str, facts: &Facts, pages: &BenchPages) -> Option<Predicted> {
    if pages.page_size() != usize::from(PAGE_SIZE) {
        return None;
    }
    let mut library = CodecSetting::of(library(name, path)?).open(pages.page_size()).ok()?;
    let mut out = vec![0; room(pages.page_size())];
    let sizes: Option<Vec<usize>> = pages.iter().map(|page| library.compress(page, &mut out)).collect();
    let allocator = pools::allocators(&facts.kernel).into_iter().find(|known| known.name() == allocator)?;
    let zram = path == CodecPath::Zram;
    let incompressible = if zram { Incompressible::RawFromHuge } else { pools::incompressible(&facts.kernel) };
    let footprint = pools::footprint(&allocator, incompressible, &sizes?);
    let page = u64::from(PAGE_SIZE);
    Some(Predicted { compressed: Bytes(footprint.compressed), used: Bytes(footprint.pages * page) })
}
