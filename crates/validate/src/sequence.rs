//! What is played: accesses and contents, and what the contents compress to.

use std::collections::BTreeMap;

use swaptune_tiers::trace::Trace;

use crate::player::Script;
use crate::tiering::PoolKind;

/// Sizes of all contents by compressor, and what said so.
pub(super) type ContentSizes = BTreeMap<String, (Vec<u16>, &'static str)>;

/// A workload's accesses and contents.
pub(super) struct Sequence {
    pub trace: Trace,
    pub script: Script,
}

impl Sequence {
    /// Compressed size of each page. Without a pool only zeros matter: they are what the swap map remembers.
    pub fn sizes(&self, sizes: &ContentSizes, pool: Option<&PoolKind>) -> Vec<u16> {
        let sizes = pool.and_then(|pool| sizes.get(&pool.compressor));
        let of = |content: &u16| sizes.map_or(u16::from(*content != 0), |(sizes, _)| sizes[usize::from(*content)]);
        self.script.contents.iter().map(of).collect()
    }
}
