//! How far ahead memory is asked for, and the page that stands there.

use crate::prefetch::prefetch;

/// Events between asking for a page's word and using it: about what a memory access takes.
const AHEAD: usize = 24;

/// Asks for the word of the page that comes [`AHEAD`] positions after `position`.
#[inline(always)]
pub(super) fn ask_ahead<T>(words: &[T], pages: &[u32], position: usize) {
    if let Some(&page) = pages.get(position + AHEAD) {
        prefetch(words, page as usize);
    }
}
