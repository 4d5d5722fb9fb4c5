//! What can be wrong with the parameters of an allocator.

/// Why there is no such allocator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AllocError {
    /// CONFIG_ZSMALLOC_CHAIN_SIZE has a range.
    #[error("zsmalloc links 4 to 16 pages at most (CONFIG_ZSMALLOC_CHAIN_SIZE), not {0}")]
    Chain(u8),
    /// A name that is no allocator of zswap.
    #[error("{0:?} is no allocator: zsmalloc, zbud and z3fold are")]
    Name(String),
    /// zbud and z3fold are gone from newer kernels.
    #[error("Linux {major}.{minor} has no {name}: it was removed in 6.15 and zsmalloc is the only one left")]
    Removed {
        /// The allocator asked for.
        name: String,
        /// Kernel's major version.
        major: u16,
        /// Kernel's minor version.
        minor: u16,
    },
}
