//! Which pages of live processes zswap keeps in memory.
//!
//! Before Linux 6.18 zswap refuses a page that does not compress, and the kernel writes it to the swap file, in clear text. It
//! stays readable there after the file is deleted, and measuring a compressor must not put memory of other processes on a disk.

use swaptune_core::Facts;
use swaptune_core::measurement::{CodecFigures, CodecPath};
use swaptune_kernel::behaviours;

use super::predict::library;
use crate::codec::{CODECS, Codec, CodecSetting, PageCodec, room};
use crate::codecs::pages::BenchPages;

/// A page that its library makes this small, in eighths of a page, is stored whatever the allocator: the kernel's code takes a few bytes
/// more, and zbud takes no page of the last two chunks.
const SURELY: usize = 7;
/// The same for what lz4 makes of it, where only the kernel has the codec.
const SURELY_BY_LZ4: usize = 4;
/// Of these two, as far as lz4 shrinks a page; 842 looks for other repetitions, and nothing tells what it makes of one.
const LIKE_LZ4: &[&str] = &["lzo", "lzo-rle"];

/// The pages that can go through zswap with this compressor.
pub(super) enum ZswapPages {
    /// All of them.
    All,
    /// Those that are certainly stored.
    Only(BenchPages),
    /// None, and why.
    Not(String),
}

/// The pages that stay in memory whatever happens to them in zswap; all where no process has them, or zswap refuses none.
pub(super) fn in_memory(compressor: &str, facts: &Facts, pages: &BenchPages) -> ZswapPages {
    if pages.of != CodecFigures::LIVE || facts.kernel.does(&behaviours::RAW_PAGES) == Some(true) {
        return ZswapPages::All;
    }
    let Some((mut codec, eighths)) = judge(compressor, pages.page_size()) else {
        return ZswapPages::Not(format!(
            "what does not shrink with {compressor} would go to the swap file in clear text, and nothing tells which pages do; \
             --pages-of FILE measures it with other pages than those of live processes"
        ));
    };
    let (size, mut out) = (pages.page_size(), vec![0; room(pages.page_size())]);
    let shrinks = |page: &[u8]| codec.compress(page, &mut out).is_some_and(|made| made <= size * eighths / 8);
    pages.only(shrinks).map_or_else(
        || {
            ZswapPages::Not(
                "none of these pages surely shrinks, and what does not would go to the swap file in clear text".into(),
            )
        },
        ZswapPages::Only,
    )
}

/// A codec in this process that says what shrinks, and how far it must, in eighths of a page.
fn judge(compressor: &str, page_size: usize) -> Option<(Box<dyn PageCodec>, usize)> {
    let lz4 = || CODECS.iter().find(|codec| codec.name == "lz4" && LIKE_LZ4.contains(&compressor));
    let open = |codec: &'static Codec| CodecSetting::of(codec).open(page_size).ok();
    match library(compressor, CodecPath::Zswap) {
        Some(own) => Some((open(own)?, SURELY)),
        None => Some((open(lz4()?)?, SURELY_BY_LZ4)),
    }
}

#[cfg(test)]
mod tests {
    use swaptune_core::Fact;
    use swaptune_core::facts::KernelFacts;
    use swaptune_host::machine::Machine;
    use swaptune_kernel::v;

    use super::*;
    use crate::codecs::{Content, PageSource};

    /// Of every three pages one that compresses fourfold, one that no codec shrinks, and one that shrinks by a sixteenth.
    fn pages(of: &str) -> BenchPages {
        let made = |content| BenchPages::load(&Machine::live(), &PageSource::Synthetic(content), 5, false).unwrap();
        let (good, random) = (made(Content::Compressible), made(Content::Random));
        let mut bytes = Vec::new();
        for (good, random) in good.iter().zip(random.iter()) {
            let hardly = [&random[..random.len() * 15 / 16], &vec![7; random.len() / 16][..]].concat();
            bytes.extend([good, random, &hardly].concat());
        }
        BenchPages::of_bytes(of.into(), bytes, good.page_size(), false).unwrap()
    }

    fn facts(minor: u16) -> Facts {
        let kernel = KernelFacts { version: Fact::known(v(6, minor), "test"), ..KernelFacts::default() };
        Facts { kernel, ..Facts::default() }
    }

    fn count(compressor: &str, facts: &Facts, pages: &BenchPages) -> Option<usize> {
        match in_memory(compressor, facts, pages) {
            ZswapPages::All => Some(pages.count()),
            ZswapPages::Only(pages) => Some(pages.count()),
            ZswapPages::Not(_) => None,
        }
    }

    #[test]
    fn a_page_of_a_live_process_that_zswap_may_refuse_is_not_pushed_out() {
        let live = pages(CodecFigures::LIVE);
        for compressor in ["lz4", "lz4hc", "zstd", "deflate", "lzo", "lzo-rle"] {
            assert_eq!(count(compressor, &facts(12), &live), Some(5), "{compressor}");
            assert_eq!(count(compressor, &Facts::default(), &live), Some(5), "{compressor}, kernel unknown");
            assert_eq!(count(compressor, &facts(18), &live), Some(15), "{compressor}: kept as it is");
            assert_eq!(count(compressor, &facts(12), &pages("synthetic")), Some(15), "{compressor}: pages of no process");
        }
    }

    #[test]
    fn what_is_left_out_is_said_and_is_no_evidence_for_all_pages() {
        let ZswapPages::Only(some) = in_memory("zstd", &facts(12), &pages(CodecFigures::LIVE)) else { panic!("not some") };
        assert_eq!(some.of, "live processes, 5 of 15 pages");
        let mut random = BenchPages::load(&Machine::live(), &PageSource::Synthetic(Content::Random), 5, false).unwrap();
        random.of = CodecFigures::LIVE.into();
        assert_eq!(count("zstd", &facts(12), &random), None, "none is left");
        assert_eq!(count("842", &facts(12), &pages(CodecFigures::LIVE)), None, "nothing tells what 842 makes of a page");
        assert_eq!(count("842", &facts(18), &pages(CodecFigures::LIVE)), Some(15));
    }
}
