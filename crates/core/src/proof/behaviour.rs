//! What this kernel should do with a page of each class.
//!
//! Probed from what the kernel shows (a counter that exists is a behaviour that exists); the version decides only
//! where nothing can be probed.

use serde::{Deserialize, Serialize};

use crate::canary::CanaryClass;
use crate::facts::{Facts, ZswapFacts};
use crate::memory_map::MemoryMap;
use crate::units::Bytes;
use swaptune_kernel::{KernelVersion, behaviours};

/// Where a page can end up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Destination {
    /// A mark beside its swap slot says that it is zero; no data is kept anywhere (Linux 6.12 and later).
    ZeroMark,
    /// zswap's pool in RAM.
    Zswap,
    /// A zram device in RAM.
    Zram,
    /// A swap area on a disk.
    Disk,
    /// It stayed in RAM.
    Ram,
}

impl Destination {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ZeroMark => "the zero map",
            Self::Zswap => "zswap",
            Self::Zram => "zram",
            Self::Disk => "the disk",
            Self::Ram => "RAM",
        }
    }

    /// Its name with the word that goes before it: `in zswap`.
    #[must_use]
    pub fn place(self) -> String {
        format!("{} {}", if self == Self::Disk { "on" } else { "in" }, self.name())
    }
}

/// One active swap area as the proof sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActiveArea {
    /// Path as in `/proc/swaps`.
    pub path: String,
    /// True for `/dev/zramN`.
    pub zram: bool,
    /// Swap priority: higher is used first.
    pub priority: i32,
    /// Slots that were free.
    pub free: Bytes,
}

/// How the kernel treats swapped pages now.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SwapBehaviour {
    /// Version, if the release could be read.
    pub version: Option<KernelVersion>,
    /// Page size.
    pub page_size: Bytes,
    /// zswap stores new pages.
    pub zswap: bool,
    /// zswap takes pages that are not same-filled (`non_same_filled_pages_enabled`, 5.18 to 6.9).
    pub zswap_takes_data: bool,
    /// zswap keeps same-filled pages without data (up to 6.11).
    pub zswap_takes_same_filled: bool,
    /// zswap keeps a page that does not compress as it is (6.18 and later).
    pub zswap_stores_raw: bool,
    /// A page that is read back leaves zswap (6.9 and later, or `exclusive_loads`); `None` when unknown.
    pub zswap_load_frees: Option<bool>,
    /// Zero pages get a mark and no data (`swpout_zero` in vmstat, 6.12 and later).
    pub zero_marks: bool,
    /// vmstat counts what enters zswap (`zswpout`, 5.19 and later).
    pub counts_zswap: bool,
    /// Most RAM that zswap's pool may take.
    pub pool_limit: Option<Bytes>,
    /// Below this a pool that was full accepts pages again.
    pub pool_accepts_below: Option<Bytes>,
    /// Active areas, highest priority first.
    pub areas: Vec<ActiveArea>,
}

impl SwapBehaviour {
    /// What these facts make of it.
    #[must_use]
    pub fn from_facts(facts: &Facts) -> Self {
        let version = facts.kernel.version.value().copied();
        let does = |row: &swaptune_kernel::Behaviour| facts.kernel.does(row) == Some(true);
        let zswap = facts.zswap.value();
        let flag = |name: &str| zswap.and_then(|zswap| zswap.parameter(name)).map(|value| value.starts_with(['Y', 'y', '1']));
        let pool = MemoryMap::from_facts(facts).zswap;
        let limit = |pick: fn(&crate::memory_map::ZswapPool) -> &crate::Fact<Bytes>| {
            pool.value().and_then(|pool| pick(pool).value()).copied()
        };
        Self {
            version,
            page_size: facts.kernel.page_size,
            zswap: facts.zswap_is_on(),
            zswap_takes_data: flag("non_same_filled_pages_enabled").unwrap_or(true),
            zswap_takes_same_filled: flag("same_filled_pages_enabled").unwrap_or(false),
            zswap_stores_raw: zswap.is_some_and(has_raw_counter) || does(&behaviours::RAW_PAGES),
            zswap_load_frees: version.map(|_| does(&behaviours::LOADS_ARE_EXCLUSIVE) || flag("exclusive_loads") == Some(true)),
            zero_marks: facts.memory.count("swpout_zero").is_some(),
            counts_zswap: facts.memory.count("zswpout").is_some(),
            pool_limit: limit(|pool| &pool.limit),
            pool_accepts_below: limit(|pool| &pool.accept_below),
            areas: areas(facts),
        }
    }

    /// Where a page of this class should go, and why.
    #[must_use]
    pub fn expect(&self, class: CanaryClass) -> (Destination, String) {
        let (area, area_why) = self.expected_area();
        if area == Destination::Ram {
            return (area, area_why);
        }
        match class {
            CanaryClass::Zero if self.zero_marks => {
                (Destination::ZeroMark, "this kernel marks zero pages in the swap map (vmstat has swpout_zero)".into())
            }
            CanaryClass::Zero if self.zswap && (self.zswap_takes_same_filled || self.zswap_takes_data) => {
                (Destination::Zswap, "zswap is on, and keeps same-filled pages without data".into())
            }
            CanaryClass::Text if self.zswap && self.zswap_takes_data => (Destination::Zswap, "zswap is on".into()),
            CanaryClass::Random if self.zswap && self.zswap_takes_data && self.zswap_stores_raw => {
                (Destination::Zswap, "zswap of Linux 6.18 and later keeps what does not compress as it is".into())
            }
            CanaryClass::Random if self.zswap => {
                (area, format!("zswap before Linux 6.18 refuses what does not compress; {area_why}"))
            }
            CanaryClass::Zero | CanaryClass::Text if self.zswap => {
                (area, format!("zswap is set to refuse these pages; {area_why}"))
            }
            _ => (area, area_why),
        }
    }

    /// What the area of highest priority with room is, and why.
    fn expected_area(&self) -> (Destination, String) {
        match self.first_areas().first() {
            None => (Destination::Ram, "no swap area has room".into()),
            Some(area) => {
                let kind = if area.zram { Destination::Zram } else { Destination::Disk };
                let why = format!("{} has the highest priority with room ({})", area.path, area.priority);
                (kind, why)
            }
        }
    }

    /// The areas that should be filled next: the highest priority that has room. Those of equal priority share.
    #[must_use]
    pub fn first_areas(&self) -> Vec<&ActiveArea> {
        // Less than a cluster (512 slots) of room is often not to be had by a process on another CPU.
        let room = Bytes(self.page_size.0.saturating_mul(512));
        let roomy = |area: &&ActiveArea| area.free >= room;
        let best = self.areas.iter().filter(roomy).map(|area| area.priority).max();
        self.areas.iter().filter(roomy).filter(|area| Some(area.priority) == best).collect()
    }

    /// The kind of an area by path.
    pub(super) fn kind_of(&self, path: &str) -> Option<Destination> {
        let area = self.areas.iter().find(|area| area.path == path)?;
        Some(if area.zram { Destination::Zram } else { Destination::Disk })
    }
}

fn has_raw_counter(zswap: &ZswapFacts) -> bool {
    zswap.counters.value().is_some_and(|counters| counters.contains_key("stored_incompressible_pages"))
}

fn areas(facts: &Facts) -> Vec<ActiveArea> {
    let mut areas: Vec<_> = facts
        .swaps
        .iter()
        .map(|area| ActiveArea {
            path: area.path.clone(),
            zram: area.is_zram(),
            priority: area.priority,
            free: Bytes(area.size.0.saturating_sub(area.used.0)),
        })
        .collect();
    areas.sort_by_key(|area| std::cmp::Reverse(area.priority));
    areas
}
