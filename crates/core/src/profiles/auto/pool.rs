//! How large zswap's pool may grow: the arithmetic behind `max_pool_percent`.
//!
//! Sizes are shares of RAM. A full pool of share `p` holds `p·r` at a ratio of `r : 1` and leaves `1 − p`, so that `1 − p + p·r` fit
//! without the disk: the larger the pool, the more. But of applications that ask for `d` times RAM, `d − p·r` is outside the pool, in
//! RAM or on the disk, and the part `q` of it that runs needs RAM: where that is not left, each wake waits for the disk and evicts
//! what the next one needs. So the largest pool is that for which
//!
//! ```text
//! 1 − p = q·(d − p·r)        p = (1 − q·d) ÷ (1 − q·r)
//! ```
//!
//! The better pages compress, the less is outside and the larger it may be. With `q·r` of 1 or more no share is too large by this
//! rule, and the upper bound stands: beyond it hardly anything is left to run in. The figures are in `auto.toml`.

use super::assume::{ASSUMED, Pool};
use super::{Ground, derived, measured, tiering};
use crate::memory_map::PlanningRatio;
use crate::settings::{PoolLimit, Setting};
use crate::units::Bytes;

/// The largest share of RAM that the pool may take when pages compress so, percent.
fn largest(figures: &Pool, ratio: f64) -> u64 {
    let (demand, running) = (figures.demand_percent as f64 / 100.0, figures.running_percent as f64 / 100.0);
    let (left, shrinks) = (1.0 - running * demand, 1.0 - running * ratio);
    // `as` drops what is beyond a whole percent: the largest that is still allowed.
    let percent = if shrinks > 0.0 { (100.0 * left / shrinks) as u64 } else { figures.max_percent };
    percent.clamp(figures.min_percent, figures.max_percent)
}

/// The largest share of RAM that a plan limits the pool to, percent, when pages compress so; without a ratio the one that is assumed counts.
#[must_use]
pub fn largest_pool(ratio: Option<f64>) -> u64 {
    let assumed = || PlanningRatio::choose(None, 0, None, Some("zsmalloc")).ratio.value();
    largest(&ASSUMED.pool, ratio.unwrap_or_else(assumed))
}

/// Why a limit is the largest that is allowed.
fn allowed(figures: &Pool, percent: u64) -> String {
    if percent >= figures.max_percent {
        return format!("which is the most: {}", figures.most);
    }
    format!(
        "{} % of what applications of {:.2} times RAM keep outside the pool; with less, wakes wait for the disk",
        figures.running_percent,
        figures.demand_percent as f64 / 100.0
    )
}

impl Ground<'_> {
    /// The largest limit that leaves RAM to run in.
    pub(super) fn pool(&self, compressor: &str) -> Setting<PoolLimit> {
        let figures = &ASSUMED.pool;
        let known = self.evidence.stored_ratio_or_near(compressor, "zsmalloc");
        let (ratio, word) = match &known {
            Some(known) => (known.value, "a measured"),
            None => (PlanningRatio::choose(None, 0, Some(compressor), Some("zsmalloc")).ratio.value(), "an assumed"),
        };
        let percent = largest(figures, ratio);
        let held = (percent as f64 * ratio).round();
        let reason = format!(
            "a full pool of {percent} % holds {held} % of RAM at {word} {ratio:.2} : 1 and leaves {} % to run in, {}{}",
            100 - percent,
            allowed(figures, percent),
            self.beside_the_swap(percent, ratio)
        );
        match known {
            Some(known) => measured(PoolLimit::Percent(percent), reason, format!("{}; {}", known.source, figures.source)),
            None => derived(PoolLimit::Percent(percent), reason, figures.source.clone()),
        }
    }

    /// What the limit means for the areas behind the pool: each page in it keeps a slot of theirs.
    fn beside_the_swap(&self, percent: u64, ratio: f64) -> String {
        let swap = Bytes(match &self.above.swap {
            Some(areas) => areas.value.iter().filter_map(|area| tiering::size_of(self.facts, area)).sum(),
            None => self.tiering.areas.iter().map(|area| area.size.0).sum::<u64>(),
        });
        // `as` saturates, which is what a size beyond 16 EiB deserves.
        let needed = Bytes((swap.0 as f64 / ratio) as u64).percent_of(self.facts.memory.total());
        match needed.filter(|_| swap.0 > 0) {
            Some(needed) if needed < percent => {
                format!("; {swap} of swap fills at most {needed} %: a larger limit brings nothing")
            }
            Some(_) => format!("; the rest of {swap} of swap goes to the disk"),
            None => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_grows_with_the_ratio_between_its_bounds() {
        let figures = &ASSUMED.pool;
        for (ratio, percent) in
            [(1.0, 25), (1.5, 31), (2.0, 43), (2.3, 56), (2.44, 65), (2.5, 70), (3.3, 70), (3.4, 70), (10.0, 70)]
        {
            assert_eq!(largest(figures, ratio), percent, "{ratio}");
        }
        let all: Vec<u64> = (10..100).map(|tenths| largest(figures, f64::from(tenths) / 10.0)).collect();
        assert!(all.is_sorted() && (figures.min_percent..=figures.max_percent).contains(&all[0]), "{all:?}");
    }

    #[test]
    fn what_the_pool_cannot_hold_has_ram_to_run_in() {
        let figures = &ASSUMED.pool;
        for hundredths in 100..400 {
            let ratio = f64::from(hundredths) / 100.0;
            let (demand, running) = (figures.demand_percent as f64 / 100.0, figures.running_percent as f64 / 100.0);
            let left = |percent: u64| 1.0 - percent as f64 / 100.0;
            let needs = |percent: u64| running * (demand - percent as f64 / 100.0 * ratio);
            let percent = largest(figures, ratio);
            assert!(left(percent) >= needs(percent), "{ratio}: {percent} %");
            // It is the largest: one more percent is beyond the rule or beyond the bound.
            assert!(percent == figures.max_percent || left(percent + 1) < needs(percent + 1), "{ratio}: {percent} %");
        }
    }
}
