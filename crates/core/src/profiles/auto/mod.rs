//! The `auto` profile: settings derived from facts, each value with its reason and what the reason rests on.
//!
//! First the tiering is decided ([`tiering`]): zswap over a disk, zram, or neither. Everything else follows from it. What was
//! measured on this machine comes first (`measured.rs`); the figures that rules assume otherwise are in `auto.toml`, none is
//! hidden in code.

mod areas;
mod assume;
mod measured;
mod pool;
mod priorities;
mod reclaim;
mod slots;
pub mod tiering;
mod unfit;
mod zram;

use crate::facts::Facts;
use crate::forecast::{BackingTier, Candidate, Forecast, ForecastVerdict, Part};
use crate::measurement::{Evidence, MeasuredAnswer, PageCost};
use crate::settings::{BootSettings, PoolLimit, Provenance, Setting, Settings, SwapWanted, ZswapSettings};
use crate::units::Bytes;

pub use areas::DiskArea;
use assume::{ASSUMED, PreferredNames};
pub use pool::{largest_pool, pool_percent_max};
pub use priorities::above as priority_above;
pub use slots::shortage;
pub use tiering::TieringDecision;
pub use zram::zram_size;

/// Priority of disk areas, below zram's.
pub const DISK_PRIORITY: i32 = 10;
/// Priority of zram devices.
pub const ZRAM_PRIORITY: i32 = 100;

/// A derived value.
fn derived<T>(value: T, reason: impl Into<String>, evidence: impl Into<String>) -> Setting<T> {
    Setting::new(value, Provenance::Derived { reason: reason.into(), evidence: evidence.into() })
}

/// A value that rests on a result.
fn measured<T>(value: T, reason: impl Into<String>, evidence: impl Into<String>) -> Setting<T> {
    Setting::new(value, Provenance::Measured { reason: reason.into(), evidence: evidence.into() })
}

/// By how much less than the densest compressor a quicker one may hold to be taken, percent.
#[must_use]
pub fn density_tolerance_percent(cpus: Option<u32>) -> u64 {
    let figures = &ASSUMED.measured;
    if cpus == Some(1) { figures.density_tolerance_percent_one_cpu } else { figures.density_tolerance_percent }
}

/// [`Forecast::gain_percent`]: less where pages and costs were measured.
#[must_use]
pub fn simulated_gain_percent(measured: bool) -> u64 {
    if measured { ASSUMED.simulated.gain_percent } else { ASSUMED.simulated.gain_percent_assumed }
}

/// What the rules look at.
#[derive(Clone, Copy)]
struct RuleGround<'a> {
    facts: &'a Facts,
    evidence: &'a Evidence,
    above: &'a Settings,
    tiering: &'a TieringDecision,
    forecast: Option<&'a Forecast>,
}

/// A compressor that the rules take, as a plan and a sample say it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompressorAdvice {
    /// The kernel's name.
    pub codec: String,
    /// Why, as one sentence.
    pub reason: String,
    /// True when it rests on results.
    pub measured: bool,
    /// One that this kernel lacks and that would be better, and in what.
    pub better: Option<String>,
}

/// The compressor that a plan for this machine takes unless the user names another: the one rule for it. `None` where no tier compresses,
/// or the kernel has none of those that the rules know.
#[must_use]
pub fn compressor(facts: &Facts, evidence: &Evidence) -> Option<CompressorAdvice> {
    let above = Settings::default();
    let tiering = tiering::decide(facts, evidence, None, &above);
    if matches!(tiering.tier, BackingTier::Disk | BackingTier::Nothing) {
        return None;
    }
    let ground = RuleGround { facts, evidence, above: &above, tiering: &tiering, forecast: None };
    let setting = ground.compressors_by_rule();
    let codec = setting.value.iter().find(|name| ground.has(name))?.clone();
    let reason = setting.provenance.reasoning().map(|(reason, _)| reason.to_owned()).unwrap_or_default();
    let chosen = ground.measured_compressor();
    Some(CompressorAdvice { codec, reason, measured: chosen.is_some(), better: chosen.and_then(|chosen| chosen.better) })
}

/// The settings for this machine below what the user configured.
#[must_use]
pub fn derive(facts: &Facts, evidence: &Evidence, forecast: Option<&Forecast>, above: &Settings) -> Settings {
    let tiering = tiering::decide(facts, evidence, forecast, above);
    let mut settings = Settings::default();
    if tiering.tier == BackingTier::Nothing {
        return settings;
    }
    let ground = RuleGround { facts, evidence, above, tiering: &tiering, forecast };
    let compressors = ground.compressors();
    settings.zswap = ground.zswap(&compressors);
    settings.swap = Some(ground.swap());
    settings.zram = (tiering.tier == BackingTier::Zram && above.zram.is_none()).then(|| ground.zram(&compressors)).flatten();
    settings.knobs = reclaim::knobs(&ground, &compressors);
    settings.boot = boot(facts);
    settings
}

impl RuleGround<'_> {
    fn zswap(&self, compressors: &Setting<Vec<String>>) -> ZswapSettings {
        let tiering = self.tiering;
        if self.facts.zswap.value().is_none() {
            return ZswapSettings::default();
        }
        let on = tiering.tier == BackingTier::Zswap;
        let zswap = ZswapSettings::default().with("enabled", Some(Setting::new(on, tiering.provenance())));
        if !on {
            return zswap;
        }
        let first = self.first(compressors);
        let zpool = derived(
            vec!["zsmalloc".to_owned(), "zbud".to_owned()],
            "zsmalloc is the densest allocator",
            "zbud holds at most 2 pages a page, z3fold 3 (kernel documents of the allocators)",
        );
        // How much swap an image's machine has is not known: the kernel's own limit stands until an apply there.
        let pool = self.facts.image.is_none().then(|| {
            self.simulated(Part::Pool, self.pool(&first), |candidate, _| candidate.pool_percent.map(PoolLimit::Percent))
        });
        let accept = derived(
            90,
            "the kernel's default: a full pool takes pages again when it is a tenth emptier",
            "Documentation/admin-guide/mm/zswap.rst",
        );
        zswap
            .with("compressor", Some(compressors.clone()))
            .with("zpool", Some(zpool))
            .with("max_pool_percent", pool)
            .with("accept_threshold_percent", Some(accept))
            .with("shrinker_enabled", self.shrinker())
    }

    /// Where the kernel has it.
    fn shrinker(&self) -> Option<Setting<bool>> {
        self.facts.zswap.value()?.parameter("shrinker_enabled")?;
        let figures = &ASSUMED.shrinker;
        let setting = derived(figures.enabled, figures.reason.clone(), figures.source.clone());
        Some(self.simulated(Part::Shrinker, setting, |candidate, _| candidate.shrinker))
    }

    /// A setting with what a simulation says of it: another value where that is clearly better, else more evidence.
    fn simulated<T>(&self, part: Part, setting: Setting<T>, value: impl Fn(&Candidate, &Setting<T>) -> Option<T>) -> Setting<T> {
        let Some((forecast, verdict)) = self.forecast.and_then(|forecast| Some((forecast, forecast.verdict(part)?))) else {
            return setting;
        };
        match verdict {
            ForecastVerdict::Follow(candidate, reason) => match value(&candidate, &setting) {
                Some(value) => Setting::new(value, Provenance::Simulated { reason, evidence: forecast.source() }),
                None => setting,
            },
            ForecastVerdict::Keep(said) => Setting { provenance: setting.provenance.and_evidence(&said), ..setting },
        }
    }

    /// The list of preference: what was simulated to be clearly best before what was measured, and that before what is assumed.
    fn compressors(&self) -> Setting<Vec<String>> {
        self.simulated(Part::Compressor, self.compressors_by_rule(), |candidate, ours| {
            let first = candidate.compressor.clone()?;
            let rest = ours.value.iter().filter(|name| **name != first).cloned();
            Some(std::iter::once(first.clone()).chain(rest).collect())
        })
    }

    fn compressors_by_rule(&self) -> Setting<Vec<String>> {
        let choice = self.assumed_compressors();
        if let Some(chosen) = self.measured_compressor() {
            let rest = choice.names.iter().filter(|name| **name != chosen.name).cloned();
            return measured(std::iter::once(chosen.name.clone()).chain(rest).collect(), chosen.reason, chosen.source);
        }
        let reason = if choice.names.first() == self.usable(choice).first() {
            choice.reason.clone()
        } else {
            format!("the best that this kernel has of {}", choice.names.join(", "))
        };
        derived(choice.names.clone(), reason, choice.source.clone())
    }

    /// What results say, where there are enough.
    fn measured_compressor(&self) -> Option<measured::Chosen> {
        let choice = self.assumed_compressors();
        let zram = self.tiering.tier == BackingTier::Zram;
        measured::compressor(self.facts, self.evidence, &choice.names, &self.usable(choice), zram)
    }

    fn usable(&self, choice: &PreferredNames) -> Vec<String> {
        choice.names.iter().filter(|name| self.has(name)).cloned().collect()
    }

    fn assumed_compressors(&self) -> &'static PreferredNames {
        if self.facts.kernel.cpus.value() == Some(&1) { &ASSUMED.compressors_one_cpu } else { &ASSUMED.compressors }
    }

    /// Whether the tier can use this compressor.
    fn has(&self, name: &String) -> bool {
        match self.tiering.tier {
            BackingTier::Zram => self.facts.zram_offers(name),
            _ => self.facts.first_usable(std::slice::from_ref(name)).is_some(),
        }
    }

    /// The compressor that will be taken: the user's choice, or ours.
    fn first(&self, ours: &Setting<Vec<String>>) -> String {
        let wanted = self.above.zswap.compressor();
        self.facts.first_usable(&wanted.as_ref().unwrap_or(ours).value).unwrap_or_else(|| "lzo".into())
    }

    /// The areas that are there, or files to be made: one a disk, unless several were measured to be faster.
    fn swap(&self) -> Setting<Vec<SwapWanted>> {
        let areas = wanted_areas(&self.tiering.areas);
        match areas::spread(self.facts, self.evidence, &self.tiering.areas) {
            Some(spread) => measured(areas, spread.value, spread.source),
            None => derived(areas, self.why_these_areas(), ASSUMED.swap_file.source.clone()),
        }
    }

    /// Whether the areas that are there are enough.
    fn why_these_areas(&self) -> String {
        let areas = &self.tiering.areas;
        let is_on = |area: &DiskArea| self.facts.swaps.iter().any(|on| on.path == area.path);
        match areas.iter().find(|area| !is_on(area)).filter(|_| areas.iter().any(is_on)) {
            Some(new) => format!(
                "a page in the pool keeps its slot, and the disk takes what pool and RAM do not hold: {} more, {} in all",
                new.size,
                Bytes(areas.iter().map(|area| area.size.0).sum())
            ),
            None => "the areas that are there, or one file on the root disk".into(),
        }
    }

    /// What a page costs with the compressor that will be taken.
    fn cost(&self, compressors: &Setting<Vec<String>>) -> Option<MeasuredAnswer<PageCost>> {
        match self.tiering.tier {
            BackingTier::Zswap => self.evidence.zswap_cost(&self.first(compressors)),
            BackingTier::Zram => self.evidence.zram_cost(compressors.value.iter().find(|name| self.has(name))?),
            BackingTier::Disk | BackingTier::Nothing => None,
        }
    }
}

/// The disk areas that are on, as they would be wanted.
#[must_use]
pub fn existing_areas(facts: &Facts) -> Vec<SwapWanted> {
    wanted_areas(&areas::active_areas(facts))
}

fn wanted_areas(areas: &[DiskArea]) -> Vec<SwapWanted> {
    let wanted = |area: &DiskArea| SwapWanted {
        path: area.name.clone(),
        size: area.create.then_some(area.size),
        priority: area.priority,
        optional: area.optional.then_some(true),
        discard_once: false,
        encrypt: None,
    };
    areas.iter().map(wanted).collect()
}

/// Without systemd nothing runs our unit, so the kernel's own command line must carry zswap.
fn boot(facts: &Facts) -> BootSettings {
    let systemd = facts.system.has_systemd();
    let kernel_arguments = (!systemd && facts.boot.arguments.is_known()).then(|| {
        derived(true, "without systemd only the kernel command line sets zswap at boot", facts.system.init.source().to_owned())
    });
    BootSettings { kernel_arguments, initramfs: None }
}
