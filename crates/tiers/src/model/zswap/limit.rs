//! When zswap's pool is full and when it accepts again: the kernel's integer arithmetic.

use swaptune_kernel::{KernelVersion, behaviours};

/// The limit of a zswap pool (mm/zswap.c: `zswap_is_full`, `zswap_can_accept`, `zswap_check_limits`).
///
/// All divisions round down, in the order of the kernel; percentages above 100 are taken as the kernel takes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZswapLimit {
    /// Pages of RAM (`totalram_pages()`).
    pub ram: u64,
    /// `max_pool_percent`, of RAM.
    pub max_pool_percent: u64,
    /// accept_threshold_percent, of the limit.
    pub accept_threshold_percent: u64,
    /// Its release: the arithmetic changed in 6.10.
    pub kernel: KernelVersion,
}

impl ZswapLimit {
    /// The limit in pages.
    #[must_use]
    pub const fn max_pages(&self) -> u64 {
        self.ram * self.max_pool_percent / 100
    }

    /// The pages down to which a full pool must shrink.
    #[must_use]
    pub fn accept_pages(&self) -> u64 {
        if self.compares_pages() {
            self.max_pages() * self.accept_threshold_percent / 100
        } else {
            self.ram * self.accept_threshold_percent / 100 * self.max_pool_percent / 100
        }
    }

    fn compares_pages(&self) -> bool {
        behaviours::LIMIT_IN_PAGES.is_in(self.kernel)
    }

    /// Pages from which on the pool takes nothing more.
    #[must_use]
    pub fn full_from(&self) -> u64 {
        self.max_pages() + u64::from(!self.compares_pages())
    }

    /// Pages below which a pool that has been full takes pages again.
    #[must_use]
    pub fn accepts_below(&self) -> u64 {
        self.accept_pages() + u64::from(self.compares_pages())
    }
}

#[cfg(test)]
mod tests {
    use swaptune_kernel::v;

    use super::*;

    const OLD: ZswapLimit = ZswapLimit { ram: 1999, max_pool_percent: 25, accept_threshold_percent: 90, kernel: v(6, 9) };
    const NEW: ZswapLimit = ZswapLimit { kernel: v(6, 10), ..OLD };

    #[test]
    fn the_limit_itself_is_full_only_since_6_10() {
        assert_eq!((OLD.max_pages(), NEW.max_pages()), (499, 499));
        assert_eq!((OLD.full_from(), NEW.full_from()), (500, 499));
    }

    #[test]
    fn a_percent_of_a_percent_depends_on_which_comes_first() {
        let small = ZswapLimit { ram: 99, max_pool_percent: 27, accept_threshold_percent: 90, ..NEW };
        assert_eq!((small.accept_pages(), ZswapLimit { kernel: v(6, 9), ..small }.accept_pages()), (23, 24));
    }

    #[test]
    fn the_threshold_rounds_in_the_order_of_each_kernel() {
        assert_eq!((OLD.accept_pages(), NEW.accept_pages()), (1799 * 25 / 100, 499 * 90 / 100));
        assert_eq!((OLD.accepts_below(), NEW.accepts_below()), (449, 450));
    }
}
