//! Ways to set up a machine that are compared: as the plan leaves it, and what differs from that in one thing.
//!
//! Only what a rule chose is varied: what was asked for by name is not up for choice.

use swaptune_core::facts::{Availability, MemoryFacts, SwapArea};
use swaptune_core::forecast::{BackingTier, Candidate};
use swaptune_core::profiles::auto::tiering::decide;
use swaptune_core::profiles::auto::{DiskArea, ZRAM_PRIORITY, largest_pool, pool_percent_max, priority_above, zram_size};
use swaptune_core::settings::Setting;
use swaptune_core::{Bytes, Facts};
use swaptune_tiers::model::{ModelFigures, ModelSettings};
use swaptune_tiers::scenario::ZswapSpec;

use super::ForecastRequest;
use crate::this_machine::{MachineBuilder, ThisMachineError, as_it_is, shrinker, zram_of, zswap_of};

/// Limits of the pool that are tried: the kernel's own, half, and the most that a rule sets.
fn pools(memory: &MemoryFacts) -> [u64; 3] {
    [20, 50, pool_percent_max(memory)]
}

/// Compressors that are tried, of those that the kernel has: each takes its share of the time.
const COMPRESSORS: [&str; 4] = ["zstd", "lz4", "lzo-rle", "lz4hc"];

/// The proposal, and what may be varied.
pub(super) struct CandidateGround<'a> {
    request: &'a ForecastRequest<'a>,
    pub(super) proposed: Candidate,
    areas: Vec<DiskArea>,
    disk: Option<String>,
    /// Compressors that a tier of this kernel can use and the model knows.
    compressors: Vec<(BackingTier, &'static str)>,
    /// Of a zram device that was asked for by name.
    zram_size: Option<Bytes>,
}

/// Whether a rule chose it.
fn is_free<T>(setting: Option<&Setting<T>>) -> bool {
    setting.is_some_and(|setting| setting.provenance.reasoning().is_some())
}

impl<'a> CandidateGround<'a> {
    /// `None` where no swap comes of the plan.
    pub(super) fn of(request: &'a ForecastRequest<'a>, figures: &ModelFigures) -> Option<Self> {
        let (facts, settings) = (request.facts, request.settings);
        let proposed = as_set_up(request.planned);
        if proposed.tier == BackingTier::Nothing {
            return None;
        }
        let tiering = decide(facts, request.evidence, None, settings);
        let zram = settings.zram.as_ref().and_then(|devices| devices.value.first());
        let of_zswap =
            |name: &&&str| facts.first_usable(&[(**name).to_owned()]).is_some() && figures.codec(false, name).is_some();
        let of_zram = |name: &&&str| facts.zram_offers(name) && figures.codec(true, name).is_some();
        let zram_size = zram.filter(|_| !is_free(settings.zram.as_ref())).map(|device| device.size);
        let zswap_can = COMPRESSORS.iter().filter(of_zswap).map(|name| (BackingTier::Zswap, *name));
        let compressors = zswap_can.chain(COMPRESSORS.iter().filter(of_zram).map(|name| (BackingTier::Zram, *name))).collect();
        Some(Self { request, proposed, areas: tiering.areas, disk: tiering.disk, compressors, zram_size })
    }

    /// The proposal first; `knows` says of which compressors the sizes of pages are known.
    pub(super) fn candidates(&self, knows: impl Fn(&str) -> bool) -> Vec<Candidate> {
        let (settings, proposed) = (self.request.settings, &self.proposed);
        let zswap = &settings.zswap;
        let known = |tier: BackingTier| -> Vec<String> {
            let of_tier = self.compressors.iter().filter(|(of, name)| *of == tier && knows(name));
            of_tier.map(|(_, name)| (*name).to_owned()).collect()
        };
        let mut all = vec![proposed.clone()];
        let compressor_is_free = match proposed.tier {
            BackingTier::Zswap => is_free(zswap.get("compressor")),
            BackingTier::Zram => is_free(settings.zram.as_ref()),
            BackingTier::Disk | BackingTier::Nothing => false,
        };
        if compressor_is_free {
            all.extend(known(proposed.tier).into_iter().map(|name| Candidate { compressor: Some(name), ..proposed.clone() }));
        }
        if proposed.tier == BackingTier::Zswap && is_free(zswap.get("max_pool_percent")) {
            all.extend(
                pools(&self.request.facts.memory).map(|percent| Candidate { pool_percent: Some(percent), ..proposed.clone() }),
            );
        }
        if is_free(zswap.get("shrinker_enabled")) {
            all.extend(proposed.shrinker.map(|on| Candidate { shrinker: Some(!on), ..proposed.clone() }));
        }
        if is_free(zswap.get("enabled")) {
            match proposed.tier {
                BackingTier::Zswap => all.extend(self.instead_of_zswap(&known(BackingTier::Zram))),
                BackingTier::Zram if !self.areas.is_empty() => all.extend(self.instead_of_zram(&known(BackingTier::Zswap))),
                _ => {}
            }
        }
        let mut different: Vec<Candidate> = Vec::new();
        all.into_iter().for_each(|candidate| {
            if !different.contains(&candidate) {
                different.push(candidate);
            }
        });
        different
    }

    /// zram in front of the same disks, where it can be had, and the disks alone.
    fn instead_of_zswap(&self, known: &[String]) -> Vec<Candidate> {
        let facts = self.request.facts;
        let has_zram = facts.zram.driver.value().copied().is_some_and(Availability::usable);
        // A device that another tool set up stays as it is.
        let is_ours = !facts.swaps.iter().any(SwapArea::is_zram) && !facts.managers_of_zram().any(|manager| manager.active);
        let zram = known.iter().filter(|_| has_zram && is_ours);
        zram.map(|name| unlimited(BackingTier::Zram, Some(name.clone()))).chain([unlimited(BackingTier::Disk, None)]).collect()
    }

    /// zswap in front of the same disks, as the rules would limit it, and the disks alone.
    fn instead_of_zram(&self, known: &[String]) -> Vec<Candidate> {
        let CandidateGround { request: ForecastRequest { facts, evidence, .. }, .. } = self;
        let zswap = |name: &String| {
            let ratio = evidence.stored_ratio_or_near(name, "zsmalloc").map(|known| known.value);
            Candidate {
                pool_percent: Some(facts.memory.percent_of_total(largest_pool(ratio, facts.memory.shared()))),
                shrinker: has_shrinker(facts).then_some(false),
                ..unlimited(BackingTier::Zswap, Some(name.clone()))
            }
        };
        known.iter().map(zswap).chain([unlimited(BackingTier::Disk, None)]).collect()
    }

    /// What swap can hold with the candidate that has most room: the same for all, so that all are simulated as one machine.
    pub(super) fn most_swap(&self) -> Bytes {
        let by_rule = |name: &str| zram_size(self.request.facts, self.request.evidence, Some(name)).value;
        let of_zram = self.compressors.iter().filter(|(tier, _)| *tier == BackingTier::Zram);
        let zram = self.zram_size.or_else(|| of_zram.map(|(_, name)| by_rule(name)).max()).map_or(0, |size| size.0);
        let planned = self.request.planned.swaps.iter().map(|area| area.size.0).sum();
        Bytes((zram + self.areas.iter().map(|area| area.size.0).sum::<u64>()).max(planned))
    }

    /// The machine as it would be with a candidate.
    pub(super) fn machine_with(&self, candidate: &Candidate, figures: &ModelFigures) -> Result<ModelSettings, ThisMachineError> {
        let facts = self.request.facts;
        if *candidate == self.proposed {
            return Ok(as_it_is(self.request.planned, figures)?.settings(figures)?);
        }
        let planned = |knob: &str| self.request.settings.knobs.get(knob).map(|setting| setting.value.as_str());
        let mut machine = MachineBuilder::new(facts, figures, |knob| planned(knob).or_else(|| facts.knob(knob)))?;
        for area in &self.areas {
            let active = facts.swaps.iter().find(|on| on.path == area.path);
            let device = active.map_or(self.disk.as_ref(), |on| on.device.value());
            machine.disk(&area.path, area.size, area.priority, device.map(String::as_str));
        }
        if let (BackingTier::Zram, Some(algorithm)) = (candidate.tier, &candidate.compressor) {
            let by_rule = || zram_size(facts, self.request.evidence, Some(algorithm)).value;
            let priority = priority_above(ZRAM_PRIORITY, self.areas.iter().map(|area| area.priority).max());
            machine.zram(self.zram_size.unwrap_or_else(by_rule), priority, algorithm, None);
        }
        if let Some(zswap) = facts.zswap.value().filter(|_| candidate.tier == BackingTier::Zswap) {
            let now = zswap_of(zswap);
            machine.zswap(ZswapSpec {
                compressor: candidate.compressor.clone().unwrap_or(now.compressor),
                // What the profile takes where there is a choice is zsmalloc; kernels without one have it.
                allocator: None,
                limit: candidate.pool_percent.or(now.limit),
                policy: candidate.shrinker.map_or(now.policy, shrinker),
                ..now
            });
        }
        Ok(machine.finish().settings(figures)?)
    }
}

/// A tier with nothing of zswap's.
fn unlimited(tier: BackingTier, compressor: Option<String>) -> Candidate {
    Candidate { tier, compressor, pool_percent: None, shrinker: None }
}

/// The machine as it is set up in these facts, as a candidate.
pub(super) fn as_set_up(facts: &Facts) -> Candidate {
    let zram = facts.swaps.iter().find(|area| area.is_zram());
    let zswap = facts.zswap.value().filter(|zswap| zswap.enabled && zram.is_none() && !facts.swaps.is_empty()).map(zswap_of);
    let tier = match (&zswap, zram) {
        (Some(_), _) => BackingTier::Zswap,
        (None, Some(_)) => BackingTier::Zram,
        (None, None) if facts.swaps.is_empty() => BackingTier::Nothing,
        (None, None) => BackingTier::Disk,
    };
    let of_zram = || zram.and_then(|area| zram_of(facts, area).ok()).map(|(algorithm, _)| algorithm.to_owned());
    Candidate {
        tier,
        compressor: zswap.as_ref().map(|zswap| zswap.compressor.clone()).or_else(of_zram),
        pool_percent: zswap.as_ref().and_then(|zswap| zswap.limit),
        shrinker: zswap.filter(|_| has_shrinker(facts)).map(|zswap| zswap.policy.is_some()),
    }
}

/// Linux 6.8 and later, where it has an effect.
fn has_shrinker(facts: &Facts) -> bool {
    facts.zswap_shrinker_counts() && facts.zswap.value().is_some_and(|zswap| zswap.parameter("shrinker_enabled").is_some())
}
