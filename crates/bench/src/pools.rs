//! What the kernel's allocators make of the compressed sizes.

use swaptune_core::Bytes;
use swaptune_core::facts::KernelFacts;
use swaptune_core::measurement::{AllocatorFigures, PoolFigures};
use swaptune_kernel::{KernelVersion, behaviours};
use swaptune_tiers::alloc::{Allocator, Footprint, Incompressible, PAGE_SIZE};

/// Pages in a pool that is not small any more: groups of pages that are still half empty weigh nothing then. 1 GiB.
const MANY: usize = 1 << 18;

/// The allocators that this kernel has, filled in one go, as zswap would, with pages of these sizes again and again until there is a
/// GiB of them.
///
/// Nothing for pages of another size than 4 KiB, for which the allocators are not modelled.
#[must_use]
pub fn pools(kernel: &KernelFacts, page_size: usize, sizes: &[usize]) -> Vec<PoolFigures> {
    if page_size != usize::from(PAGE_SIZE) {
        return Vec::new();
    }
    let many = sizes.repeat(MANY.div_ceil(sizes.len().max(1)));
    let pool = |allocator: Allocator| {
        let footprint = footprint(&allocator, incompressible(kernel), &many);
        PoolFigures {
            allocator: AllocatorFigures { name: allocator.name().into(), measured: false },
            original: Bytes(footprint.original * u64::from(PAGE_SIZE)),
            used: Bytes(footprint.pages * u64::from(PAGE_SIZE)),
        }
    };
    allocators(kernel).into_iter().map(pool).collect()
}

/// What a pool takes for pages of these sizes.
pub(crate) fn footprint(allocator: &Allocator, incompressible: Incompressible, sizes: &[usize]) -> Footprint {
    let small = |size: &usize| u16::try_from(*size).unwrap_or(u16::MAX);
    Footprint::of(allocator, incompressible, sizes.iter().map(small))
}

/// What zswap of this kernel does with a page that does not compress.
pub(crate) fn incompressible(kernel: &KernelFacts) -> Incompressible {
    let keeps = kernel.does(&behaviours::RAW_PAGES) != Some(false);
    if keeps { Incompressible::Raw } else { Incompressible::Rejected }
}

/// As a kernel of this version and configuration has them.
pub(crate) fn allocators(kernel: &KernelFacts) -> Vec<Allocator> {
    let version = kernel.version.value().copied().unwrap_or(KernelVersion::ASSUMED);
    let chain = kernel.config.value().and_then(|config| config.get("CONFIG_ZSMALLOC_CHAIN_SIZE")?.parse().ok());
    let of_kernel = |name| Allocator::of_kernel(name, version, chain).ok();
    ["zsmalloc", "zbud", "z3fold"].into_iter().filter_map(of_kernel).collect()
}

#[cfg(test)]
mod tests {
    use swaptune_core::Fact;
    use swaptune_kernel::v;

    use super::*;

    fn kernel(major: u16, minor: u16) -> KernelFacts {
        KernelFacts { version: Fact::known(v(major, minor), "test"), ..KernelFacts::default() }
    }

    fn names(pools: &[PoolFigures]) -> Vec<&str> {
        pools.iter().map(|pool| pool.allocator.name.as_str()).collect()
    }

    #[test]
    fn a_kernel_has_the_allocators_of_its_time() {
        assert_eq!(names(&pools(&kernel(6, 1), 4096, &[100])), ["zsmalloc", "zbud", "z3fold"]);
        assert_eq!(names(&pools(&kernel(6, 18), 4096, &[100])), ["zsmalloc"]);
        assert!(pools(&kernel(6, 18), 16_384, &[100]).is_empty());
    }

    #[test]
    fn a_small_sample_says_what_a_large_pool_takes() {
        let ratio = |count: usize| {
            let sizes: Vec<usize> = (0..4096).step_by(4096 / count).map(|size| size.max(1)).collect();
            let pool = &pools(&kernel(6, 18), 4096, &sizes)[0];
            pool.original.0 as f64 / pool.used.0 as f64
        };
        assert!((ratio(256) / ratio(4096) - 1.0).abs() < 0.01, "{} and {}", ratio(256), ratio(4096));
    }

    #[test]
    fn pages_that_do_not_compress_are_kept_since_6_18() {
        let sizes = [vec![1000; 1024], vec![5000; 1024]].concat();
        let half = Bytes::from_mib(512);
        let old = &pools(&kernel(6, 12), 4096, &sizes)[1];
        assert_eq!((old.original, old.used), (half, Bytes(half.0 / 2)), "zbud holds two a page");
        let new = &pools(&kernel(6, 18), 4096, &sizes)[0];
        assert_eq!(new.original, Bytes::from_gib(1));
        assert!(new.used > half && new.used < Bytes::from_mib(650), "{new:?}");
    }
}
