//! Which tier stands behind RAM: zswap over a disk, zram, or nothing.
//!
//! zswap wins where a disk with slots enough can stand behind it, because it evicts its coldest pages there, while zram keeps
//! what came first and sends hot pages to the disk once it is full. zram is for machines without a disk worth swapping to,
//! for disks with fewer slots than it has pages (`auto/zram.rs`), and for kernels without zswap. In a container neither can be set.
//!
//! Some kernels write little or nothing back from a full pool. There zswap does what zram does, and new pages go to the disk whatever they are; the
//! plan says so. No run has shown yet that another limit, or the other tier, holds more there.

use crate::facts::{BlockDevice, Facts, SwapArea, Transport};
use crate::forecast::{BackingTier, Forecast, ForecastVerdict, Part};
use crate::measurement::Evidence;
use crate::settings::{Provenance, Settings};
use crate::units::Bytes;

use swaptune_kernel::behaviours::{self, Behaviour};

use super::areas::{DiskArea, areas, disk_of, with_enough};
use super::{RuleGround, unfit};

/// The decision and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TieringDecision {
    /// The tier.
    pub tier: BackingTier,
    /// Disk areas.
    pub areas: Vec<DiskArea>,
    /// The whole disk behind the area that is filled first, by its kernel name.
    pub disk: Option<String>,
    /// How that disk is attached; `None` without a disk.
    pub transport: Option<Transport>,
    /// True for a spinning disk; a virtual disk that only says so is not one.
    pub spinning: bool,
    /// Why, as one sentence.
    pub reason: String,
    /// What the reason rests on.
    pub evidence: String,
    /// True when a simulation decided against the rules.
    pub simulated: bool,
}

impl TieringDecision {
    /// Who decided.
    #[must_use]
    pub fn provenance(&self) -> Provenance {
        let (reason, evidence) = (self.reason.clone(), self.evidence.clone());
        if self.simulated { Provenance::Simulated { reason, evidence } } else { Provenance::Derived { reason, evidence } }
    }

    /// What a simulation makes of it: another tier where that is clearly better, else more evidence.
    fn after(self, forecast: Option<&Forecast>) -> Self {
        let Some((forecast, verdict)) = forecast.and_then(|forecast| Some((forecast, forecast.verdict(Part::Tier)?))) else {
            return self;
        };
        match verdict {
            ForecastVerdict::Follow(candidate, reason) => {
                Self { tier: candidate.tier, reason, evidence: forecast.source(), simulated: true, ..self }
            }
            ForecastVerdict::Keep(said) => Self { evidence: format!("{}; {said}", self.evidence), ..self },
        }
    }
}

/// Decides for this machine below what the user configured.
#[must_use]
pub fn decide(facts: &Facts, evidence: &Evidence, forecast: Option<&Forecast>, above: &Settings) -> TieringDecision {
    if let Some(container) = facts.system.container.value() {
        let reason = format!("this is a {} container: swap belongs to its host", container.kind);
        return nothing(reason, facts.system.container.source());
    }
    let decided = with_areas(facts, evidence, above, areas(facts, evidence, above));
    let decision = decided.clone().after(forecast);
    // zram that is on goes off for zswap, and the areas have to hold what it held: as the next plan, which finds none, would have it.
    let replaces_zram = decision.tier == BackingTier::Zswap && facts.swaps.iter().any(SwapArea::is_zram);
    if !replaces_zram || above.swap.is_some() || facts.image.is_some() {
        return decision;
    }
    with_areas(facts, evidence, above, with_enough(facts, decided.areas)).after(forecast)
}

/// Decides by rule which tier stands before these areas.
fn with_areas(facts: &Facts, evidence: &Evidence, above: &Settings, areas: Vec<DiskArea>) -> TieringDecision {
    let disk = disk_of(facts, &areas);
    let undecided = TieringDecision {
        tier: BackingTier::Zram,
        transport: disk.map(|disk| disk.transport),
        spinning: disk.is_some_and(BlockDevice::spins),
        disk: disk.map(|disk| disk.name.clone()),
        areas,
        reason: String::new(),
        evidence: String::new(),
        simulated: false,
    };
    let ground = RuleGround { facts, evidence, above, tiering: &undecided, forecast: None };
    match by_rule(&ground) {
        (BackingTier::Nothing, reason, evidence) => nothing(reason, &evidence),
        (tier, reason, evidence) => TieringDecision { tier, reason, evidence, ..undecided.clone() },
    }
}

/// Tier, reason and evidence, with zram's compressors as the ground for them.
fn by_rule(ground: &RuleGround<'_>) -> (BackingTier, String, String) {
    let RuleGround { facts, above, tiering: TieringDecision { areas, .. }, .. } = ground;
    let zswap = facts.zswap.value().is_some();
    // A device needs a size, and an image does not know that of its machine's RAM.
    let sized = facts.image.is_none() || facts.memory.total() > Bytes(0) || above.wants_zram();
    let wants_zram = above.wants_zram();
    // zswap that was asked for by name has no zram of ours behind it: without an area the plan refuses it.
    let wants_zswap = zswap && !wants_zram && above.wants_zswap();
    let zram = sized && !wants_zswap && facts.zram.driver.value().is_some_and(|driver| driver.usable());
    if zswap && !areas.is_empty() && !wants_zram && above.zswap.enabled().is_none_or(|on| on.value) {
        // Who sets something of zswap means to have it.
        if let Some((reason, evidence)) = ground.too_few_slots().filter(|_| zram && above.zswap.is_empty()) {
            return (BackingTier::Zram, reason, evidence);
        }
        return (BackingTier::Zswap, why_zswap(facts, above), facts.zswap.source().into());
    }
    if zram {
        let evidence = if zswap { facts.zram.driver.source() } else { facts.zswap.source() };
        return (BackingTier::Zram, why_zram(ground), evidence.into());
    }
    if areas.is_empty() && !sized {
        let reason = "its /etc/fstab lists no swap area, and a zram device needs the size of RAM, which an image does not know";
        return (BackingTier::Nothing, reason.into(), "/etc/fstab".into());
    }
    if areas.is_empty() && wants_zswap {
        return (
            BackingTier::Nothing,
            "zswap is configured and no area stands behind it".to_owned(),
            facts.zswap.source().into(),
        );
    }
    if areas.is_empty() {
        let reason = format!("no disk is fit for swap and this kernel has no zram{}", unfit::reasons(facts));
        return (BackingTier::Nothing, reason, facts.zram.driver.source().into());
    }
    let reason = format!("neither zswap nor zram here ({}): plain disk swap", facts.zswap.source());
    (BackingTier::Disk, reason, facts.zswap.source().into())
}

/// Why zswap, and what becomes of a full pool.
fn why_zswap(facts: &Facts, above: &Settings) -> String {
    match hardly_drains(facts, above) {
        Some(why) => format!(
            "zswap in front of a disk keeps pages compressed in RAM; {why}, so that past that new ones go straight to the disk"
        ),
        None => {
            "zswap in front of a disk keeps the hottest pages compressed in RAM and writes the coldest to the disk".to_owned()
        }
    }
}

/// Why little or nothing is written back from a full pool of this kernel. `auto` wants zsmalloc; who names another allocator has that.
fn hardly_drains(facts: &Facts, above: &Settings) -> Option<&'static str> {
    let does = |row: &Behaviour| facts.kernel.does(row);
    if does(&behaviours::ZSMALLOC_WRITES_BACK) == Some(false) && above.zswap.get("zpool").is_none() {
        return Some("before Linux 6.2 a full pool of zsmalloc is not written back");
    }
    if does(&behaviours::WORKER_TO_THRESHOLD) == Some(false) {
        return Some("before Linux 6.5 little of a full pool is written back");
    }
    let is_disabled = facts.system.memory_controller.value() == Some(&false);
    (is_disabled && does(&behaviours::WRITEBACK_NEEDS_MEMCG) == Some(true))
        .then_some("memory cgroups are disabled, without which Linux 6.8 to 7.1 writes nothing back from a full pool")
}

/// Why zram where zswap is not to be had, or not wanted.
fn why_zram(ground: &RuleGround<'_>) -> String {
    let RuleGround { facts, above, tiering: TieringDecision { areas, .. }, .. } = ground;
    if above.wants_zram() {
        return "zram is configured; zswap in front of it would compress every page twice".to_owned();
    }
    if facts.zswap.value().is_none() {
        let rest = if areas.is_empty() { "" } else { " and the disk takes what it cannot" };
        return format!("this kernel has no zswap, so zram compresses{rest}");
    }
    if facts.swaps.iter().any(SwapArea::is_zram) && areas.is_empty() {
        return "zram is the swap here and no disk area stands behind it".to_owned();
    }
    format!("no disk here is fit for swap, so compressed pages stay in RAM (zram){}", unfit::reasons(facts))
}

fn nothing(reason: String, evidence: &str) -> TieringDecision {
    TieringDecision {
        tier: BackingTier::Nothing,
        areas: Vec::new(),
        disk: None,
        transport: None,
        spinning: false,
        reason,
        evidence: evidence.into(),
        simulated: false,
    }
}
