//! Tiers: what must be set for pages to go there.

use std::fmt;
use std::path::Path;

use swaptune_core::Bytes;
use swaptune_host::machine::Machine;
use swaptune_host::temporary::{TOP_PRIORITY, TemporaryError, TemporarySettings};

use super::DiskPlace;

/// Areas are this many times larger than what goes there: only in swap that is less than half full does a read leave the
/// slot as it is, so that pages in the swap cache can be freed without another write. With the header and some for others.
const ROOM: u64 = 3;
const LEAST: Bytes = Bytes::from_mib(16);

/// Where pages are meant to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BenchTier {
    /// The pool of zswap.
    Zswap {
        /// The compressor, by the kernel's name.
        compressor: String,
        /// Allocator, where the kernel has a choice and another than its own is meant.
        zpool: Option<String>,
    },
    /// A zram device.
    Zram {
        /// The compressor, as `comp_algorithm` names it.
        algorithm: String,
    },
    /// Areas on one disk.
    Disk {
        /// How many.
        areas: u32,
    },
    /// The disk below zswap, by way of its pool.
    Writeback {
        /// The compressor, by the kernel's name.
        compressor: String,
    },
}

impl BenchTier {
    /// Sets it up for this many bytes of pages.
    pub(super) fn set_up(
        &self,
        machine: &Machine,
        temporary: &mut TemporarySettings,
        place: &DiskPlace,
        size: Bytes,
    ) -> Result<(), TemporaryError> {
        let room = Bytes(size.0 * ROOM).max(LEAST);
        match self {
            Self::Zswap { compressor, zpool } => zswap(machine, temporary, compressor, zpool.as_deref(), place, room),
            Self::Writeback { compressor } => zswap(machine, temporary, compressor, None, place, room),
            Self::Zram { algorithm } => {
                no_zswap(machine, temporary)?;
                temporary.zram(algorithm, room, Some(TOP_PRIORITY)).map(|_| ())
            }
            Self::Disk { areas } => {
                no_zswap(machine, temporary)?;
                let each = Bytes(room.0 / u64::from((*areas).max(1))).max(LEAST);
                (0..*areas).try_for_each(|_| area(temporary, place, each))
            }
        }
    }

    /// True when pages are read from a disk.
    #[must_use]
    pub fn is_on_disk(&self) -> bool {
        matches!(self, Self::Disk { .. } | Self::Writeback { .. })
    }
}

impl fmt::Display for BenchTier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zswap { compressor, zpool: None } => write!(f, "zswap {compressor}"),
            Self::Zswap { compressor, zpool: Some(zpool) } => write!(f, "zswap {compressor}/{zpool}"),
            Self::Zram { algorithm } => write!(f, "zram {algorithm}"),
            Self::Disk { areas: 1 } => write!(f, "disk"),
            Self::Disk { areas } => write!(f, "disk, {areas} areas"),
            Self::Writeback { compressor } => write!(f, "written back from zswap {compressor}"),
        }
    }
}

fn area(temporary: &mut TemporarySettings, place: &DiskPlace, size: Bytes) -> Result<(), TemporaryError> {
    match place {
        DiskPlace::Folder(folder) => temporary.swap_file(folder, size, TOP_PRIORITY).map(|_| ()),
        DiskPlace::Area(path) => temporary.swap_on(path, TOP_PRIORITY),
    }
}

fn has(machine: &Machine, parameter: &str) -> bool {
    machine.exists(&parameter_path(parameter))
}

fn parameter_path(parameter: &str) -> String {
    Path::new("/sys/module/zswap/parameters").join(parameter).display().to_string()
}

fn no_zswap(machine: &Machine, temporary: &mut TemporarySettings) -> Result<(), TemporaryError> {
    if has(machine, "enabled") { temporary.knob("zswap.enabled", "N") } else { Ok(()) }
}

fn zswap(
    machine: &Machine,
    temporary: &mut TemporarySettings,
    compressor: &str,
    zpool: Option<&str>,
    place: &DiskPlace,
    room: Bytes,
) -> Result<(), TemporaryError> {
    area(temporary, place, room)?;
    if let Some(zpool) = zpool {
        temporary.knob("zswap.zpool", zpool)?;
    }
    temporary.knob("zswap.compressor", compressor)?;
    // A pool near its limit would be another tier.
    let limit = machine.read_text(&parameter_path("max_pool_percent")).ok().and_then(|text| text.trim().parse::<u32>().ok());
    if limit.is_some_and(|limit| limit < 20) {
        temporary.knob("zswap.max_pool_percent", "20")?;
    }
    if has(machine, "shrinker_enabled") {
        temporary.knob("zswap.shrinker_enabled", "N")?;
    }
    temporary.knob("zswap.enabled", "Y")
}
