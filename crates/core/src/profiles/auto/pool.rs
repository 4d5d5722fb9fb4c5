//! How large zswap's pool may grow: what stands behind `max_pool_percent`.
//!
//! Sizes are shares of RAM. A full pool of share `p` holds `p·r` at a ratio of `r : 1` and leaves `1 − p`, so that `1 − p + p·r` fit
//! without the disk: the larger the pool, the more, at any ratio above 1. What bounds it is what must be in RAM at once: the kernel, and
//! what runs. Of applications that sleep few run at once: on a real machine wakes began to wait for the disk the later, the larger the
//! pool, with pages that compress 1.6 : 1 as with 3.1 : 1 (docs/evidence/pool-limit.md). An earlier rule asked for RAM for three tenths of
//! all that is outside the pool, as if every application were awake: 33 % at 1.6 : 1, where 47 % were too few.
//!
//! Below the ratio at which that was seen the limit falls to the kernel's own at 1 : 1, where a pool holds no more than the RAM it takes and
//! each access to it costs a fault. The figures are in `auto.toml`.

use super::assume::{ASSUMED, PoolRules};
use super::{RuleGround, areas, derived, measured};
use crate::facts::MemoryFacts;
use crate::memory_map::PlanningRatio;
use crate::settings::{PoolLimit, Setting};
use crate::units::Bytes;

/// The largest share of `ram` that the pool may take when pages compress so, percent.
fn largest(figures: &PoolRules, ratio: f64, ram: Bytes) -> u64 {
    let (least, most) = (figures.min_percent, most(figures, ram));
    let saved = ((ratio - 1.0) / (figures.full_ratio - 1.0)).clamp(0.0, 1.0);
    // `as` drops what is beyond a whole percent.
    least + ((most - least) as f64 * saved) as u64
}

/// The upper bound: what the kernel keeps for itself is a larger share of a small machine.
fn most(figures: &PoolRules, ram: Bytes) -> u64 {
    let left = figures.left.percent_of(ram).unwrap_or(100).min(100);
    (100 - left).clamp(figures.max_percent_small, figures.max_percent)
}

/// The largest limit of zswap's pool that a rule sets on a machine, percent of its RAM.
#[must_use]
pub fn pool_percent_max(memory: &MemoryFacts) -> u64 {
    memory.percent_of_total(most(&ASSUMED.pool, memory.shared()))
}

/// The largest share of `ram` that a plan limits the pool to, percent, when pages compress so; without a ratio the one that is assumed counts.
#[must_use]
pub fn largest_pool(ratio: Option<f64>, ram: Bytes) -> u64 {
    let assumed = || PlanningRatio::choose(None, 0, None, Some("zsmalloc")).ratio.value();
    largest(&ASSUMED.pool, ratio.unwrap_or_else(assumed), ram)
}

/// Why a limit is the largest that is allowed.
fn allowed(figures: &PoolRules, percent: u64, ram: Bytes) -> String {
    if percent >= most(figures, ram) {
        return format!("which is the most: {}", figures.most);
    }
    format!("less than the most, {} %: {}", most(figures, ram), figures.less)
}

/// What of RAM is set aside, where something is.
fn beside_huge_pages(memory: &MemoryFacts) -> String {
    let set_aside = Bytes(memory.total().0 - memory.shared().0);
    if set_aside == Bytes(0) { String::new() } else { format!(" beside {set_aside} of huge pages that are set aside") }
}

impl RuleGround<'_> {
    /// The largest limit that leaves RAM to run in.
    pub(super) fn pool(&self, compressor: &str) -> Setting<PoolLimit> {
        let figures = &ASSUMED.pool;
        let known = self.evidence.stored_ratio_or_near(compressor, "zsmalloc");
        let (ratio, word) = match &known {
            Some(known) => (known.value, "a measured"),
            None => (PlanningRatio::choose(None, 0, Some(compressor), Some("zsmalloc")).ratio.value(), "an assumed"),
        };
        let memory = &self.facts.memory;
        let ram = memory.shared();
        let of_shared = largest(figures, ratio, ram);
        let percent = memory.percent_of_total(of_shared);
        let held = (percent as f64 * ratio).round();
        let reason = format!(
            "a full pool of {percent} % holds {held} % of RAM at {word} {ratio:.2} : 1 and leaves {} % to run in{}, {}{}",
            memory.percent_of_total(100).saturating_sub(percent),
            beside_huge_pages(memory),
            allowed(figures, of_shared, ram),
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
            Some(areas) => areas.value.iter().filter_map(|area| areas::size_of(self.facts, area)).sum(),
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
    fn the_limit_grows_with_the_ratio_up_to_where_it_was_measured() {
        let figures = &ASSUMED.pool;
        let at = |ratio: f64| largest(figures, ratio, Bytes::from_gib(4));
        for (ratio, percent) in [(0.9, 20), (1.0, 20), (1.25, 50), (1.49, 78), (1.5, 80), (1.6, 80), (3.1, 80), (10.0, 80)] {
            assert_eq!(at(ratio), percent, "{ratio}");
        }
        assert!((5..100).map(|tenths| at(f64::from(tenths) / 10.0)).is_sorted());
    }

    #[test]
    fn a_small_machine_keeps_what_its_kernel_needs() {
        for (mib, percent) in [(0, 70), (256, 70), (512, 70), (640, 70), (700, 72), (768, 75), (960, 80), (24_105, 80)] {
            assert_eq!(most(&ASSUMED.pool, Bytes::from_mib(mib)), percent, "{mib} MiB");
        }
    }

    #[test]
    fn what_huge_pages_take_is_no_ram_to_divide() {
        let memory = |huge: u64| {
            let lines = [("MemTotal".to_owned(), Bytes::from_gib(8)), ("Hugetlb".to_owned(), Bytes::from_gib(huge))];
            MemoryFacts { meminfo: crate::Fact::known(lines.into(), "/proc/meminfo"), ..MemoryFacts::default() }
        };
        for (huge, percent) in [(0, 80), (4, 40), (6, 20), (8, 1)] {
            let memory = memory(huge);
            let limit = pool_percent_max(&memory);
            assert_eq!(limit, percent, "{huge} GiB");
            assert!(huge == 8 || memory.total().percent(limit) <= memory.shared().percent(80), "{huge} GiB");
        }
    }
}
