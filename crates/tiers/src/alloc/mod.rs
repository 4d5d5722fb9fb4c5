//! What a compressed page really takes: the kernel's allocators, object by object.
//!
//! A page that compresses to 1000 bytes does not take 1000 bytes of RAM. [`zsmalloc`] rounds up to a size class and to whole groups
//! of pages, [`zbud`] puts two objects into a page whatever their size, [`z3fold`] three. Each is modelled from its source in the
//! kernel (mm/zsmalloc.c, mm/zbud.c, mm/z3fold.c), for 4 KiB pages and 64 bits.

mod error;
mod footprint;
mod kernel;
mod lists;
mod pool;
pub mod z3fold;
pub mod zbud;
pub mod zsmalloc;
mod zspool;

pub use error::AllocError;
pub use footprint::{Footprint, Incompressible};
pub use pool::Pool;
pub use z3fold::Z3fold;
pub use zbud::Zbud;
pub use zsmalloc::{DOCUMENTED, Rule, SizeClass, Zsmalloc};
pub use zspool::ZsPool;

/// Bytes of a page.
pub const PAGE_SIZE: u16 = 4096;

/// A density model: which allocator, with what parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Allocator {
    /// zsmalloc with its table of classes; the only one since 6.15.
    Zsmalloc(Zsmalloc),
    /// zbud: two objects a page; until 6.14.
    Zbud,
    /// z3fold: three objects a page; until 6.14.
    Z3fold,
}

impl Allocator {
    /// The kernel's name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Zsmalloc(_) => "zsmalloc",
            Self::Zbud => "zbud",
            Self::Z3fold => "z3fold",
        }
    }
}
