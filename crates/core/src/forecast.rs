//! The forecast: what a simulation says of candidates, as data that a plan can rest on.
//!
//! Candidates are ways to set up this machine; the first is what the rules of a profile propose. Each was asked with the same seeds
//! how many idle applications fit. Another one is followed only when it is clearly better: its worst seed above the best seed of the
//! proposed one, and by more in the median than the model itself errs. Otherwise the rules stand, and the plan says so.

use std::cmp::Reverse;
use std::fmt;

use serde::{Deserialize, Serialize};

/// What stands behind RAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BackingTier {
    /// zswap in front of disk swap.
    Zswap,
    /// zram, with disk areas below it if there are any.
    Zram,
    /// Plain disk swap.
    Disk,
    /// Nothing can or should be set.
    Nothing,
}

/// One way to set up the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// What stands behind RAM.
    pub tier: BackingTier,
    /// The compressor of zswap or zram.
    pub compressor: Option<String>,
    /// zswap's `max_pool_percent`.
    pub pool_percent: Option<u64>,
    /// zswap's dynamic shrinker.
    pub shrinker: Option<bool>,
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tier = match self.tier {
            BackingTier::Zswap => "zswap",
            BackingTier::Zram => "zram",
            BackingTier::Disk => "disk alone",
            BackingTier::Nothing => "no swap",
        };
        f.write_str(tier)?;
        self.compressor.iter().try_for_each(|name| write!(f, " {name}"))?;
        self.pool_percent.iter().try_for_each(|percent| write!(f, ", limit {percent} %"))?;
        self.shrinker.iter().try_for_each(|on| write!(f, ", {}", if *on { "shrinker" } else { "no shrinker" }))
    }
}

/// A part of a candidate that a setting is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// What stands behind RAM.
    Tier,
    /// The compressor.
    Compressor,
    /// The limit of the pool.
    Pool,
    /// The shrinker.
    Shrinker,
}

impl Candidate {
    /// What it says of a part, as it is named beside others.
    fn part(&self, part: Part) -> Option<String> {
        match part {
            Part::Tier => Some(self.to_string()),
            Part::Compressor => self.compressor.clone(),
            Part::Pool => self.pool_percent.map(|percent| format!("{percent} %")),
            Part::Shrinker => self.shrinker.map(|on| if on { "the shrinker" } else { "no shrinker" }.to_owned()),
        }
    }

    /// True when it says something else of this part than another.
    fn has_other(&self, other: &Self, part: Part) -> bool {
        if part == Part::Tier { self.tier != other.tier } else { self.part(part) != other.part(part) }
    }

    /// True when it differs from another in this part, and in no other that has nothing to do with it.
    fn differs_in(&self, other: &Self, part: Part) -> bool {
        let same_tier = self.tier == other.tier;
        let [compressor, pool, shrinker] =
            [self.compressor != other.compressor, self.pool_percent != other.pool_percent, self.shrinker != other.shrinker];
        match part {
            Part::Tier => !same_tier,
            Part::Compressor => same_tier && compressor && !pool && !shrinker,
            Part::Pool => same_tier && pool && !compressor && !shrinker,
            Part::Shrinker => same_tier && shrinker && !compressor && !pool,
        }
    }
}

/// What the simulation says of a candidate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CandidateForecast {
    /// The candidate.
    pub candidate: Candidate,
    /// How many applications fit, for each seed; the same seeds for all candidates.
    pub applications: Vec<u32>,
}

impl CandidateForecast {
    /// Of the worst seed.
    #[must_use]
    pub fn low(&self) -> u32 {
        self.applications.iter().copied().min().unwrap_or(0)
    }

    /// Of the best seed.
    #[must_use]
    pub fn high(&self) -> u32 {
        self.applications.iter().copied().max().unwrap_or(0)
    }

    /// Of the seed in the middle.
    #[must_use]
    pub fn median(&self) -> u32 {
        let mut sorted = self.applications.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied().unwrap_or(0)
    }

    /// `34 to 41`, or `38` where all seeds agree.
    #[must_use]
    pub fn range(&self) -> String {
        if self.low() == self.high() { self.low().to_string() } else { format!("{} to {}", self.low(), self.high()) }
    }

    /// True when it is better than another beyond what seeds and the model scatter.
    fn is_clearly_above(&self, other: &Self, gain_percent: u64) -> bool {
        let needed = u64::from(other.median()) * (100 + gain_percent);
        self.low() > other.high() && u64::from(self.median()) * 100 >= needed
    }
}

/// What of a simulation was measured on its machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasuredParts {
    /// What pages compress to.
    pub pages: bool,
    /// What a codec, a fault and the disk take.
    pub costs: bool,
}

impl MeasuredParts {
    /// Both.
    #[must_use]
    pub fn all(self) -> bool {
        self.pages && self.costs
    }

    /// What a simulation starts from, and which command measures the rest, as the end of a sentence.
    #[must_use]
    pub fn told(self) -> &'static str {
        match (self.pages, self.costs) {
            (true, true) => "pages and costs that were measured here",
            (true, false) => "pages that were measured here, and assumed costs: `sudo swaptune bench swap` measures them",
            (false, true) => "costs that were measured here, and assumed pages: `swaptune sample` measures them",
            (false, false) => "assumed pages and costs: `swaptune sample` and `swaptune bench swap` measure them",
        }
    }
}

/// What a simulation predicts for one machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forecast {
    /// What was counted: `idle applications of 100 MiB that fit with 99 of 100 wakes within 100 ms`.
    pub counted: String,
    /// What was measured on this machine.
    pub measured: MeasuredParts,
    /// By how much more applications must fit with another candidate for it to outweigh the rules, percent: what the model errs.
    pub gain_percent: u64,
    /// What the figures rest on, measured and assumed, one sentence each.
    pub rests_on: Vec<String>,
    /// Seeds of the simulation.
    pub seeds: Vec<u64>,
    /// The candidates; the first is what the rules propose.
    pub candidates: Vec<CandidateForecast>,
    /// The machine as it is set up now, where the model has such a machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub today: Option<CandidateForecast>,
    /// What a person chose of the candidates, better or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<Candidate>,
}

/// What a plan brings, by a simulation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gain {
    /// As [`Forecast::counted`].
    pub counted: String,
    /// As the machine is set up now.
    pub today: CandidateForecast,
    /// As the plan sets it up.
    pub planned: CandidateForecast,
    /// As [`Forecast::measured`].
    pub measured: MeasuredParts,
    /// As [`Forecast::gain_percent`]: a smaller difference is none.
    pub gain_percent: u64,
    /// As [`Forecast::rests_on`].
    pub rests_on: Vec<String>,
    /// As [`Forecast::seeds`].
    pub seeds: Vec<u64>,
}

/// What our own proposal must bring to be worth a change of the machine: so much more in the median, percent.
pub const WORTH_PERCENT: u64 = 10;

impl Gain {
    /// True when more fits with the plan whatever the seed, and by [`WORTH_PERCENT`] in the median. That may be less than the model errs:
    /// that compressed swap holds more is known from real kernels, how much is not.
    #[must_use]
    pub fn is_worth_it(&self) -> bool {
        self.planned.is_clearly_above(&self.today, WORTH_PERCENT)
    }

    /// True when more fits with the plan beyond what seeds and the model scatter.
    #[must_use]
    pub fn is_clear(&self) -> bool {
        self.planned.is_clearly_above(&self.today, self.gain_percent)
    }

    /// True when less does.
    #[must_use]
    pub fn is_loss(&self) -> bool {
        self.today.is_clearly_above(&self.planned, self.gain_percent)
    }
}

/// What the simulation says of one setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForecastVerdict {
    /// Another value is clearly better; the whole candidate is followed.
    Follow(Candidate, String),
    /// The value of the rules stands, with what the simulation says of it.
    Keep(String),
}

impl Forecast {
    /// What the rules propose.
    #[must_use]
    pub fn proposed(&self) -> Option<&CandidateForecast> {
        self.candidates.first()
    }

    /// What a plan brings that follows this forecast; `None` where today's machine has no figures.
    #[must_use]
    pub fn gain(&self) -> Option<Gain> {
        Some(Gain {
            counted: self.counted.clone(),
            today: self.today.clone()?,
            planned: self.preferred().or(self.proposed())?.clone(),
            measured: self.measured,
            gain_percent: self.gain_percent,
            rests_on: self.rests_on.clone(),
            seeds: self.seeds.clone(),
        })
    }

    /// What a person may choose from: what a plan follows, then the best that compresses in another tier.
    #[must_use]
    pub fn choices(&self) -> Vec<&CandidateForecast> {
        let Some(first) = self.preferred().or(self.proposed()) else { return Vec::new() };
        let best = |tier: BackingTier| {
            let of_tier = self.candidates.iter().filter(|row| row.candidate.tier == tier);
            // Of equals the first.
            of_tier.min_by_key(|row| (Reverse(row.median()), Reverse(row.low())))
        };
        let others = [BackingTier::Zswap, BackingTier::Zram].into_iter().filter(|tier| *tier != first.candidate.tier);
        std::iter::once(first).chain(others.filter_map(best)).collect()
    }

    /// The forecast with a candidate that was chosen: a plan follows it.
    #[must_use]
    pub fn choosing(self, candidate: &Candidate) -> Self {
        Self { chosen: Some(candidate.clone()), ..self }
    }

    /// What was chosen, where that is not what the rules propose; else the best of those that are clearly better than that.
    #[must_use]
    pub fn preferred(&self) -> Option<&CandidateForecast> {
        let proposed = self.proposed()?;
        if let Some(chosen) = &self.chosen {
            return self.candidates.iter().find(|row| row.candidate == *chosen).filter(|row| *row != proposed);
        }
        let better = self.candidates.iter().filter(|other| other.is_clearly_above(proposed, self.gain_percent));
        // Of equals the first.
        better.min_by_key(|other| (Reverse(other.median()), Reverse(other.low())))
    }

    /// What is to be done about a setting; `None` where the simulation had nothing to compare.
    #[must_use]
    pub fn verdict(&self, part: Part) -> Option<ForecastVerdict> {
        let proposed = self.proposed()?;
        if let Some(preferred) = self.preferred().filter(|row| row.candidate.has_other(&proposed.candidate, part)) {
            let (other, ours) = (&preferred.candidate, &proposed.candidate);
            // Beside another tier a part alone says nothing.
            let part = if other.tier == ours.tier { part } else { Part::Tier };
            let [other_name, our_name] = [other, ours].map(|candidate| candidate.part(part).unwrap_or_default());
            let both =
                format!("{} with {other_name}, {} with {our_name} as the rules propose", preferred.range(), proposed.range());
            return Some(ForecastVerdict::Follow(other.clone(), format!("simulated: {both} ({})", self.counted)));
        }
        let name = |row: &CandidateForecast| row.candidate.part(part).unwrap_or_default();
        let others: Vec<&CandidateForecast> =
            self.candidates.iter().filter(|row| row.candidate.differs_in(&proposed.candidate, part)).collect();
        let best = others.iter().max_by_key(|row| row.median())?;
        let verdict = if proposed.is_clearly_above(best, self.gain_percent) {
            "confirmed".to_owned()
        } else if let Some(followed) = self.preferred().filter(|_| best.is_clearly_above(proposed, self.gain_percent)) {
            format!("more with {}, but {} is followed, with {}", name(best), followed.candidate, followed.range())
        } else {
            "no clear difference".to_owned()
        };
        let each: Vec<String> = others.iter().map(|row| format!("{} with {}", row.range(), name(row))).collect();
        Some(ForecastVerdict::Keep(format!(
            "simulated: {} with {}, {}: {verdict}",
            proposed.range(),
            name(proposed),
            each.join(", ")
        )))
    }

    /// What a plan cites: what was counted, the seeds, and what the figures rest on.
    #[must_use]
    pub fn source(&self) -> String {
        let seeds: Vec<String> = self.seeds.iter().map(u64::to_string).collect();
        format!("{}; seeds {}; {}", self.counted, seeds.join(", "), self.rests_on.join("; "))
    }

    /// The whole answer as one sentence: every candidate with its range, and what follows.
    #[must_use]
    pub fn summary(&self) -> String {
        let mut rows: Vec<&CandidateForecast> = self.candidates.iter().collect();
        rows.sort_by_key(|row| Reverse(row.median()));
        let is_proposed = |row: &CandidateForecast| self.proposed() == Some(row);
        let line = |row: &&CandidateForecast| {
            let proposed = if is_proposed(row) { " (as proposed)" } else { "" };
            format!("{} {}{proposed}", row.candidate, row.range())
        };
        let each: Vec<String> = rows.iter().map(line).collect();
        let follows = match (self.preferred(), self.proposed()) {
            (Some(chosen), Some(proposed)) if self.chosen.is_some() => {
                format!(
                    "the plan follows {}, as chosen: median {} against {}",
                    chosen.candidate,
                    chosen.median(),
                    proposed.median()
                )
            }
            (Some(better), Some(proposed)) => format!(
                "the plan follows {}: median {} against {}, beyond what seeds and the model scatter",
                better.candidate,
                better.median(),
                proposed.median()
            ),
            _ => "no other is clearly better than the proposed one".to_owned(),
        };
        format!("{}: {}; {follows}", self.counted, each.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(compressor: &str, pool: u64, applications: &[u32]) -> CandidateForecast {
        let compressor = Some(compressor.to_owned());
        let candidate = Candidate { tier: BackingTier::Zswap, compressor, pool_percent: Some(pool), shrinker: Some(true) };
        CandidateForecast { candidate, applications: applications.to_vec() }
    }

    fn of(candidates: Vec<CandidateForecast>) -> Forecast {
        let rests_on = vec!["run 7".into()];
        Forecast {
            counted: "idle applications".into(),
            measured: MeasuredParts { pages: true, costs: true },
            gain_percent: 10,
            rests_on,
            seeds: vec![1, 2, 3],
            candidates,
            ..Forecast::default()
        }
    }

    #[test]
    fn what_is_assumed_names_the_command_that_measures_it() {
        for (pages, costs) in [(false, false), (true, false), (false, true), (true, true)] {
            let told = MeasuredParts { pages, costs }.told();
            assert_eq!((told.contains("`swaptune sample`"), told.contains("swaptune bench swap`")), (!pages, !costs), "{told}");
        }
    }

    #[test]
    fn a_person_may_choose_another_tier() {
        let zram = |name: &str, applications: &[u32]| {
            let row = row(name, 0, applications);
            CandidateForecast { candidate: Candidate { tier: BackingTier::Zram, pool_percent: None, ..row.candidate }, ..row }
        };
        let disk = Candidate { tier: BackingTier::Disk, compressor: None, pool_percent: None, shrinker: None };
        let disk = CandidateForecast { candidate: disk, applications: vec![90] };
        let forecast = of(vec![row("zstd", 50, &[40]), row("lz4", 50, &[41]), zram("lz4", &[30]), zram("zstd", &[35]), disk]);
        let medians: Vec<u32> =
            Forecast { gain_percent: 200, ..forecast.clone() }.choices().iter().map(|row| row.median()).collect();
        assert_eq!(medians, [40, 35], "the plan, then the best of zram; a disk alone compresses nothing");
        let chosen = forecast.clone().choosing(&forecast.candidates[2].candidate);
        assert_eq!(chosen.preferred().map(CandidateForecast::median), Some(30), "worse, and chosen all the same");
        assert!(chosen.summary().contains("as chosen: median 30 against 40"));
        assert!(
            matches!(chosen.verdict(Part::Tier), Some(ForecastVerdict::Follow(candidate, _)) if candidate.tier == BackingTier::Zram)
        );
        let proposed = forecast.clone().choosing(&forecast.candidates[0].candidate);
        assert_eq!(proposed.preferred(), None, "what the rules propose needs no following");
    }

    #[test]
    fn a_gain_is_what_is_beyond_the_uncertainty() {
        let forecast =
            |planned: [u32; 3]| Forecast { today: Some(row("lzo", 20, &[20, 21, 22])), ..of(vec![row("zstd", 50, &planned)]) };
        let gain = |planned, bound| {
            let gain = Forecast { gain_percent: bound, ..forecast(planned) }.gain();
            gain.map(|gain| (gain.is_clear(), gain.is_worth_it(), gain.is_loss()))
        };
        assert_eq!(gain([30, 31, 33], 25), Some((true, true, false)));
        assert_eq!(gain([24, 25, 26], 25), Some((false, true, false)), "less than the model errs");
        assert_eq!(gain([22, 24, 25], 10), Some((false, false, false)), "within the seeds of today");
        assert_eq!(gain([23, 23, 24], 5), Some((true, false, false)), "certain, and too little");
        assert_eq!(gain([10, 11, 12], 10), Some((false, false, true)));
        let followed = Forecast { candidates: vec![row("zstd", 50, &[20]), row("lz4", 50, &[40])], ..forecast([0; 3]) };
        assert_eq!(followed.gain().map(|gain| gain.planned.median()), Some(40), "the plan is the candidate that it follows");
        assert_eq!(of(vec![row("zstd", 50, &[20])]).gain(), None);
    }

    #[test]
    fn ranges_are_those_of_the_seeds() {
        let row = row("zstd", 20, &[41, 34, 38]);
        assert_eq!((row.low(), row.median(), row.high(), row.range()), (34, 38, 41, "34 to 41".into()));
        assert_eq!(super::tests::row("lz4", 20, &[7, 7]).range(), "7");
    }

    #[test]
    fn only_what_is_beyond_the_uncertainty_is_followed() {
        for (other, is_followed) in [
            ([45, 46, 47], true),
            // One seed as bad as the best of the proposed.
            ([41, 50, 60], false),
            // Always more, and by less than the model errs.
            ([42, 42, 43], false),
            ([30, 31, 32], false),
        ] {
            let forecast = of(vec![row("zstd", 20, &[38, 40, 41]), row("lz4", 20, &other)]);
            assert_eq!(forecast.preferred().is_some(), is_followed, "{other:?}");
            let verdict = forecast.verdict(Part::Compressor).unwrap();
            assert_eq!(
                matches!(&verdict, ForecastVerdict::Follow(candidate, _) if candidate.compressor.as_deref() == Some("lz4")),
                is_followed
            );
        }
        // The limit is one tenth, and a tenth is enough.
        assert!(of(vec![row("zstd", 20, &[100]), row("lz4", 20, &[110])]).preferred().is_some());
        assert!(of(vec![row("zstd", 20, &[100]), row("lz4", 20, &[109])]).preferred().is_none());
        // Assumed figures err more.
        for (other, is_followed) in [(124, false), (125, true)] {
            let assumed = Forecast {
                measured: MeasuredParts::default(),
                gain_percent: 25,
                ..of(vec![row("zstd", 20, &[100]), row("lz4", 20, &[other])])
            };
            assert_eq!(assumed.preferred().is_some(), is_followed, "{other}");
        }
    }

    #[test]
    fn the_best_of_several_is_followed_in_all_its_parts() {
        let forecast = of(vec![row("zstd", 20, &[10]), row("lz4", 20, &[15]), row("zstd", 50, &[20]), row("zstd", 35, &[20])]);
        assert_eq!(forecast.preferred().map(|row| row.candidate.pool_percent), Some(Some(50)));
        assert!(matches!(forecast.verdict(Part::Pool), Some(ForecastVerdict::Follow(..))));
        // Of the compressor the same candidate says what the rules say.
        let Some(ForecastVerdict::Keep(said)) = forecast.verdict(Part::Compressor) else { panic!() };
        let followed = "zswap zstd, limit 50 %, shrinker is followed, with 20";
        assert_eq!(said, format!("simulated: 10 with zstd, 15 with lz4: more with lz4, but {followed}"));
        assert_eq!(forecast.verdict(Part::Shrinker), None, "nothing was compared");
        assert_eq!(forecast.verdict(Part::Tier), None, "it is zswap in any case");
    }

    #[test]
    fn what_stands_says_whether_it_is_confirmed() {
        let forecast = of(vec![row("zstd", 20, &[20, 22]), row("lz4", 20, &[12, 13])]);
        let keep = "simulated: 20 to 22 with zstd, 12 to 13 with lz4: confirmed";
        assert_eq!(forecast.verdict(Part::Compressor), Some(ForecastVerdict::Keep(keep.into())));
        let summary = "idle applications: zswap zstd, limit 20 %, shrinker 20 to 22 (as proposed); zswap lz4, limit 20 %, shrinker \
                       12 to 13; no other is clearly better than the proposed one";
        assert_eq!(forecast.summary(), summary);
    }

    #[test]
    fn nothing_says_nothing() {
        let nothing = Forecast::default();
        assert_eq!((nothing.preferred(), nothing.verdict(Part::Tier)), (None, None));
    }
}
