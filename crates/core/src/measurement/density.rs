//! How many services fit into a small machine: `bench density`.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::stats::{Estimate, Nanos, Quantiles, median_interval};
use crate::units::Bytes;

/// How many services one configuration held.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DensityFigures {
    /// The configuration: a name of the table of variants, or a file.
    pub variant: String,
    /// What it set, change by change.
    pub settings: Vec<String>,
    /// Memory that the services had, zswap's pool included.
    pub memory: Bytes,
    /// What kept them from having more.
    pub limit: DensityLimit,
    /// zswap's pool limit in percent of `memory`: `max_pool_percent` is a whole percent of all RAM, so it is not what was asked for.
    /// `None` without zswap.
    pub pool_percent: Option<f64>,
    /// What was started, again and again.
    pub load: DensityLoad,
    /// Every round, in order.
    pub rounds: Vec<DensityRound>,
    /// Services that fit: the median of the rounds with its interval. Where too few or too many were tried it is a bound:
    /// [`DensityFigures::fit`].
    pub fits: Estimate,
}

/// How many services fit, as far as the numbers that were tried say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DensityFit {
    /// The fewest that were tried did not fit.
    Below(f64),
    /// So many did, and the next number did not.
    Exactly(f64),
    /// The most that were tried did.
    AtLeast(f64),
}

impl fmt::Display for DensityFit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Below(services) => write!(f, "< {services:.0}"),
            Self::Exactly(services) => write!(f, "{services:.0}"),
            Self::AtLeast(services) => write!(f, "≥ {services:.0}"),
        }
    }
}

impl DensityFigures {
    /// The median of the rounds with both ends of its interval; `None` without rounds.
    #[must_use]
    pub fn fit(&self) -> Option<[DensityFit; 3]> {
        let ends: Vec<(f64, f64)> = self.rounds.iter().map(DensityRound::between).collect();
        let least = median_interval(&ends.iter().map(|(least, _)| *least).collect::<Vec<_>>())?;
        let most = median_interval(&ends.iter().map(|(_, most)| *most).collect::<Vec<_>>())?;
        let fit = |least: f64, most: f64| match most {
            most if most == least => DensityFit::Exactly(least),
            f64::INFINITY => DensityFit::AtLeast(least),
            most => DensityFit::Below(most),
        };
        Some([fit(least.value, most.value), fit(least.low, most.low), fit(least.high, most.high)])
    }
}

/// What kept services from having more memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DensityLimit {
    /// `memory.max` of a group, which zswap's pool is charged to (cgroup v2).
    Group,
    /// The rest of RAM was held by a locked process: the kernel itself has no more, and reclaims for the whole machine.
    Machine,
    /// Nothing: the machine as it was, with all of its RAM and a daemon if one ran.
    InPlace,
}

/// The services and how they are used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DensityLoad {
    /// A name of the table of services, or the command.
    pub service: String,
    /// Heap of each.
    pub heap: Bytes,
    /// Share of its heap that a wake works on, in percent.
    pub work_percent: u32,
    /// Wakes a second over all services, at exponential intervals.
    pub wakes_per_second: f64,
    /// Zipf's exponent of how often each service is woken; 0, as in results without it: evenly.
    #[serde(default)]
    pub skew: f64,
    /// Wakes that a level measures.
    pub wakes: u32,
    /// A level is held when 99 of 100 wakes take no longer.
    pub bound: Nanos,
    /// What moments and orders were drawn from.
    pub seed: u64,
    /// Numbers of services that were asked for; empty when the largest that fits was searched for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at: Vec<u32>,
}

/// One round of one configuration: more and more services until they no longer fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DensityRound {
    /// The most services at which a level was held, 0 when none was.
    pub fits: u32,
    /// Every level that was measured, in order.
    pub levels: Vec<DensityLevel>,
}

impl DensityRound {
    /// Between which numbers lies what fits: the same twice where a number was held and the next was not, 0 and the fewest that was tried
    /// where that was not held, and no end where the most was.
    #[must_use]
    pub fn between(&self) -> (f64, f64) {
        let fits = f64::from(self.fits);
        let beyond = self.levels.iter().map(|level| level.services).filter(|services| *services > self.fits);
        match beyond.min() {
            Some(next) if self.fits == 0 && next > 1 => (0.0, f64::from(next)),
            Some(_) => (fits, fits),
            None => (fits, f64::INFINITY),
        }
    }
}

/// One number of services.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DensityLevel {
    /// Services that ran.
    pub services: u32,
    /// How it ended.
    pub end: DensityEnd,
    /// Time from when a wake was due until it was answered; `None` when none was.
    pub wake: Option<Quantiles>,
    /// How long it was measured.
    pub seconds: f64,
    /// What the kernel counted meanwhile.
    pub counts: DensityCounts,
}

/// How a level ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DensityEnd {
    /// All wakes were answered, 99 of 100 within the bound.
    Held,
    /// All wakes were answered, too late.
    Slow,
    /// Wakes fell so far behind that measuring was broken off.
    Behind,
    /// All tasks of the machine stalled on memory for too large a share of the time.
    Stalled,
    /// A service was killed or ended.
    Killed,
    /// One more could not be started: no more processes or open files are to be had.
    NotStarted,
}

impl DensityEnd {
    /// In a word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Slow => "slow",
            Self::Behind => "fell behind",
            Self::Stalled => "stalled",
            Self::Killed => "killed one",
            Self::NotStarted => "not started",
        }
    }
}

/// Counters of `/proc/vmstat` and `/proc/pressure/memory` over a level; 0 where this kernel does not count it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DensityCounts {
    /// Pages read from swap devices, zram included: `pswpin`.
    pub swap_reads: u64,
    /// Pages written to swap devices: `pswpout`.
    pub swap_writes: u64,
    /// Pages that came from zswap's pool: `zswpin`.
    pub loads: u64,
    /// Pages that went into it: `zswpout`.
    pub stores: u64,
    /// Pages that it wrote back: `zswpwb`.
    pub written_back: u64,
    /// Time in which some task stalled on memory, µs.
    pub some_stall_us: u64,
    /// Time in which all did, µs.
    pub full_stall_us: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds in which every number up to the first of a pair was held, of those that are tried.
    fn figures(rounds: &[(u32, &[u32])]) -> DensityFigures {
        let level = |services: u32, fits: u32| DensityLevel {
            services,
            end: if services <= fits { DensityEnd::Held } else { DensityEnd::Slow },
            wake: None,
            seconds: 1.0,
            counts: DensityCounts::default(),
        };
        let round = |(fits, tried): &(u32, &[u32])| DensityRound {
            fits: *fits,
            levels: tried.iter().map(|services| level(*services, *fits)).collect(),
        };
        DensityFigures {
            variant: "v".into(),
            settings: Vec::new(),
            memory: Bytes(1 << 30),
            limit: DensityLimit::Group,
            pool_percent: None,
            load: DensityLoad {
                service: "python".into(),
                heap: Bytes(1 << 20),
                work_percent: 30,
                wakes_per_second: 5.0,
                skew: 0.0,
                wakes: 200,
                bound: Nanos(1),
                seed: 1,
                at: Vec::new(),
            },
            rounds: rounds.iter().map(round).collect(),
            fits: Estimate { value: 0.0, low: 0.0, high: 0.0 },
        }
    }

    #[test]
    fn what_lies_beyond_the_numbers_that_were_tried_is_a_bound() {
        let told = |rounds: &[(u32, &[u32])]| figures(rounds).fit().map(|fit| fit.map(|fit| fit.to_string()));
        let all = |text: &str| Some([text.to_owned(), text.to_owned(), text.to_owned()]);
        let tried: &[u32] = &[54, 60, 72];
        assert_eq!(told(&[(54, tried), (54, tried)]), all("54"));
        assert_eq!(told(&[(0, tried), (0, tried)]), all("< 54"), "never an exact 0");
        assert_eq!(told(&[(72, tried)]), all("≥ 72"));
        assert_eq!(told(&[(0, &[3, 2, 1])]), all("0"), "not even one");
        let ends = |texts: [&str; 3]| Some(texts.map(str::to_owned));
        assert_eq!(told(&[(0, tried), (54, tried), (72, tried)]), ends(["54", "< 54", "≥ 72"]));
        assert_eq!(told(&[(0, tried), (60, tried)]), ends(["< 57", "< 54", "60"]));
        assert_eq!(told(&[]), None);
    }
}
