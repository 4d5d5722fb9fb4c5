//! Which allocator, rule and chain length a kernel has.

use swaptune_kernel::{KernelVersion, behaviours};

use super::{AllocError, Allocator, Rule, Zsmalloc};

/// Pages of a zspage before the length could be configured.
const OLD_CHAIN: u8 = 4;
/// Default of CONFIG_ZSMALLOC_CHAIN_SIZE.
const DEFAULT_CHAIN: u8 = 8;

impl Zsmalloc {
    /// zsmalloc of a kernel.
    ///
    /// `chain` is that kernel's CONFIG_ZSMALLOC_CHAIN_SIZE, `None` where it is not known: 8 is the default. Kernels before 6.3 have
    /// no such option and link up to four pages, whatever is given here.
    ///
    /// # Errors
    /// A chain length outside 4 to 16.
    pub fn of_kernel(version: KernelVersion, chain: Option<u8>) -> Result<Self, AllocError> {
        if !behaviours::ZSMALLOC_LEAST_WASTE.is_in(version) {
            return Self::new(OLD_CHAIN, Rule::UsedPercent);
        }
        Self::new(chain.unwrap_or(DEFAULT_CHAIN), Rule::LeastWaste)
    }
}

impl Allocator {
    /// The allocator called `name` in a kernel, with the chain length of its configuration if that is known.
    ///
    /// # Errors
    /// An unknown name, an allocator which that kernel no longer has, a chain length outside 4 to 16.
    pub fn of_kernel(name: &str, version: KernelVersion, chain: Option<u8>) -> Result<Self, AllocError> {
        let old = match name {
            "zsmalloc" => return Zsmalloc::of_kernel(version, chain).map(Self::Zsmalloc),
            "zbud" => Self::Zbud,
            "z3fold" => Self::Z3fold,
            _ => return Err(AllocError::Name(name.to_owned())),
        };
        if behaviours::ONLY_ZSMALLOC.is_in(version) {
            return Err(AllocError::Removed { name: name.to_owned(), version });
        }
        Ok(old)
    }
}

#[cfg(test)]
mod tests {
    use swaptune_kernel::v;

    use super::*;

    #[test]
    fn the_version_decides_rule_and_chain() {
        for (version, chain, expect) in [
            (v(5, 10), None, Zsmalloc::new(4, Rule::UsedPercent)),
            (v(6, 2), Some(8), Zsmalloc::new(4, Rule::UsedPercent)),
            (v(6, 3), None, Zsmalloc::new(8, Rule::LeastWaste)),
            (v(6, 18), Some(16), Zsmalloc::new(16, Rule::LeastWaste)),
        ] {
            assert_eq!(Zsmalloc::of_kernel(version, chain), expect, "{version:?} {chain:?}");
        }
        assert_eq!(Zsmalloc::of_kernel(v(6, 18), Some(3)), Err(AllocError::Chain(3)));
    }

    #[test]
    fn allocators_that_a_kernel_lacks_are_refused() {
        assert_eq!(Allocator::of_kernel("zbud", v(6, 14), None), Ok(Allocator::Zbud));
        assert_eq!(Allocator::of_kernel("z3fold", v(6, 14), None), Ok(Allocator::Z3fold));
        assert!(matches!(Allocator::of_kernel("zbud", v(6, 15), None), Err(AllocError::Removed { .. })));
        assert!(matches!(Allocator::of_kernel("zmalloc", v(6, 12), None), Err(AllocError::Name(_))));
        for name in ["zsmalloc", "zbud", "z3fold"] {
            assert_eq!(Allocator::of_kernel(name, v(6, 6), None).map(|allocator| allocator.name()), Ok(name));
        }
    }
}
