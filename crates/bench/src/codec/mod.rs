//! Codecs of single pages, as the kernel drives them, from the same C libraries in this process.
//!
//! [`CODECS`] is the table. A [`CodecSetting`] is a row with its level (`lz4`, `lz4:17`, `zstd:1`) and opens a [`PageCodec`], which
//! keeps its working memory from page to page: a zstd context made anew for each page would take half of the time.
//! LZO and LZO-RLE are not here: their libraries are GPL, and LZO-RLE exists only in the kernel. They are measured through it.

mod deflate;
mod lz4;
mod memcpy;
mod setting;
mod table;
#[cfg(test)]
mod tests;
mod zstd;

use thiserror::Error;

pub use setting::{CodecSetting, SettingError};
pub use table::{CODECS, Codec, Levels};

/// Compresses pages and gives them back. One per thread; it is used for page after page.
pub trait PageCodec: Send {
    /// Compresses `page` into `out` and returns the number of bytes; `None` when they do not fit.
    ///
    /// The kernel gives its compressors [`room`] bytes or one page; with [`room`] none of them ever fails.
    fn compress(&mut self, page: &[u8], out: &mut [u8]) -> Option<usize>;

    /// Fills `page` from what [`Self::compress`] made.
    ///
    /// # Errors
    /// [`CodecError`] when `data` is not what a compressor makes of a page of this size; `page` then holds anything.
    fn decompress(&mut self, data: &[u8], page: &mut [u8]) -> Result<(), CodecError>;
}

/// What goes wrong with a codec.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CodecError {
    /// Not compressed data of this codec.
    #[error("{codec}: {bytes} bytes do not decompress to a page{why}")]
    Corrupt {
        /// The library.
        codec: &'static str,
        /// Length of the data.
        bytes: usize,
        /// What the library says, after a colon; may be empty.
        why: String,
    },
    /// Compressed data of something else than one page.
    #[error("{codec}: decompressed to {found} bytes, expected a page of {expected}")]
    Length {
        /// The library.
        codec: &'static str,
        /// Bytes that came out.
        found: usize,
        /// Size of the page.
        expected: usize,
    },
    /// The library did not give a context, or refuses its parameters.
    #[error("{codec}: no context: {why}")]
    Context {
        /// The library.
        codec: &'static str,
        /// What the library says.
        why: String,
    },
}

/// Bytes that a page may take while it is compressed: two pages, as zram and zswap have it.
#[must_use]
pub const fn room(page_size: usize) -> usize {
    2 * page_size
}

/// The size that the kernel counts for what [`PageCodec::compress`] returned: a page that does not shrink is kept as it is.
///
/// zswap before Linux 6.18 refuses such a page instead; zram draws the line earlier, where the allocator's huge class begins.
#[must_use]
pub fn counted(compressed: Option<usize>, page_size: usize) -> usize {
    compressed.map_or(page_size, |size| size.min(page_size))
}

/// Whether one word fills the page, and whether that word is zero: `Some(true)` for a zero page, `Some(false)` for another
/// same-filled one. zram keeps the word instead of the page; zswap did so until 6.11, and keeps only zero pages that way since.
#[must_use]
pub fn same_filled(page: &[u8]) -> Option<bool> {
    const WORD: usize = size_of::<usize>();
    let first = page.first_chunk::<WORD>()?;
    let same = page.chunks_exact(WORD).all(|word| word == first);
    same.then(|| *first == [0; WORD])
}
