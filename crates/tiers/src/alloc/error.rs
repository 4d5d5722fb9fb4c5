//! What can be wrong with the parameters of an allocator.

use swaptune_kernel::KernelVersion;

/// Why there is no such allocator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AllocError {
    /// CONFIG_ZSMALLOC_CHAIN_SIZE has a range.
    #[error("zsmalloc links 4 to 16 pages at most (CONFIG_ZSMALLOC_CHAIN_SIZE), not {0}")]
    Chain(u8),
    /// Not the name of an allocator of zswap.
    #[error("unknown allocator {0:?}; expected zsmalloc, zbud or z3fold")]
    Name(String),
    /// zbud and z3fold are gone from newer kernels.
    #[error("Linux {version} has no {name}: it was removed in 6.15 and zsmalloc is the only one left")]
    Removed {
        /// The allocator asked for.
        name: String,
        /// The kernel.
        version: KernelVersion,
    },
}
