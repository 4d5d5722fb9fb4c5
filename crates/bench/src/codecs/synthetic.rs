//! Pages that are made up: what a codec does with each kind of content.

use std::fmt;

use swaptune_core::proof::CanaryClass;

/// Content of made-up pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// All bytes zero. Kernels do not compress such pages; benchmarks that use them flatter compressed swap.
    Zero,
    /// Words and small numbers, as application memory has them: compresses two- to fourfold.
    Text,
    /// A quarter random bytes, three quarters zero: compresses fourfold under any codec.
    Compressible,
    /// Random bytes: does not compress.
    Random,
}

/// Any: pages must be the same in every run.
const SEED: u64 = 7;

impl Content {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Zero, Self::Text, Self::Compressible, Self::Random];

    /// Writes the content of page `number`.
    pub fn fill(self, page: &mut [u8], number: u64) {
        match self {
            Self::Zero => page.fill(0),
            Self::Text => CanaryClass::Text.fill(page, number, SEED),
            Self::Random => CanaryClass::Random.fill(page, number, SEED),
            Self::Compressible => {
                let quarter = page.len() / 4;
                page[quarter..].fill(0);
                CanaryClass::Random.fill(&mut page[..quarter], number, SEED);
            }
        }
    }
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Zero => "zero",
            Self::Text => "text",
            Self::Compressible => "compressible",
            Self::Random => "random",
        })
    }
}
