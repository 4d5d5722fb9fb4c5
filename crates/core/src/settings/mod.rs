//! Settings: what is wanted, every field with its provenance.
//!
//! A profile, each configuration file and the command line are all read into the same structure; later layers are laid
//! over earlier ones field by field. A field that no layer sets is `None` and is left alone on the machine.

mod keep;
mod read;
#[cfg(test)]
mod tests;
mod write;
mod zswap;

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::knobs::{self, Knob};
use crate::units::Bytes;

pub use keep::{KeepSettings, UnitSettings};
pub use read::{SettingsError, read_toml};
pub(crate) use write::swap_area;
pub use write::to_toml;
pub use zswap::{WantedParameter, ZswapSettings};

/// The profile that derives nothing: what is wanted is what the configuration says, and what it does not say is left alone.
pub const NOTHING_DERIVED: &str = "none";

/// Who asked for a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Provenance {
    /// A profile by name.
    Profile(String),
    /// A line of a configuration file.
    File {
        /// The file.
        path: String,
        /// Line number, from 1.
        line: usize,
    },
    /// A flag of the command line.
    Flag(String),
    /// Derived from facts by a rule.
    Derived {
        /// Why this value, as one sentence.
        reason: String,
        /// What the rule rests on.
        evidence: String,
    },
    /// Derived by a rule from what was measured on this machine.
    Measured {
        /// Why this value, as one sentence.
        reason: String,
        /// The result that it rests on.
        evidence: String,
    },
    /// Taken from a simulation of this machine against what a rule proposes.
    Simulated {
        /// Why this value, as one sentence with both figures.
        reason: String,
        /// The simulation, and what it rests on.
        evidence: String,
    },
}

impl Provenance {
    /// Reason and evidence of a value that a rule derived.
    #[must_use]
    pub fn reasoning(&self) -> Option<(&str, &str)> {
        match self {
            Self::Derived { reason, evidence } | Self::Measured { reason, evidence } | Self::Simulated { reason, evidence } => {
                Some((reason, evidence))
            }
            Self::Profile(_) | Self::File { .. } | Self::Flag(_) => None,
        }
    }

    /// The origin as a file keeps it: without the line, which moves when something is written above it.
    #[must_use]
    pub fn lasting(&self) -> String {
        match self {
            Self::File { path, .. } => path.clone(),
            other => other.to_string(),
        }
    }

    /// The same with more that it rests on; what a person asked for rests on nothing.
    #[must_use]
    pub fn and_evidence(mut self, more: &str) -> Self {
        if let Self::Derived { evidence, .. } | Self::Measured { evidence, .. } | Self::Simulated { evidence, .. } = &mut self {
            *evidence = format!("{evidence}; {more}");
        }
        self
    }
}

impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Profile(name) => write!(f, "profile {name}"),
            Self::File { path, line } => write!(f, "{path}:{line}"),
            Self::Flag(flag) => write!(f, "flag {flag}"),
            Self::Derived { .. } => write!(f, "derived"),
            Self::Measured { .. } => write!(f, "measurement"),
            Self::Simulated { .. } => write!(f, "simulation"),
        }
    }
}

/// A wanted value, who wants it, and what speaks for or against it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Setting<T> {
    /// The value.
    pub value: T,
    /// Who asked for it.
    pub provenance: Provenance,
}

impl<T> Setting<T> {
    /// A value from this origin.
    pub fn new(value: T, provenance: Provenance) -> Self {
        Self { value, provenance }
    }

    /// The same origin with another form of the value.
    pub fn map<U>(self, form: impl FnOnce(T) -> U) -> Setting<U> {
        Setting::new(form(self.value), self.provenance)
    }
}

/// The limit of the compressed pool, as a share of RAM or as a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PoolLimit {
    /// `max_pool_percent`.
    Percent(u64),
    /// A size, turned into a share of this machine's RAM and rounded up.
    Size(Bytes),
}

impl PoolLimit {
    /// Largest share that a size is turned into: a size was chosen for some machine, and may meet a smaller one.
    pub const SIZE_PERCENT_MAX: u64 = 50;

    /// `max_pool_percent` on a machine with this much RAM; `None` when the RAM is unknown.
    #[must_use]
    pub fn percent(self, ram: Bytes) -> Option<u64> {
        match self {
            Self::Percent(percent) => Some(percent),
            Self::Size(size) => size.percent_of(ram).map(|percent| percent.min(Self::SIZE_PERCENT_MAX)),
        }
    }
}

/// One swap area that is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SwapWanted {
    /// A device by its path or by `UUID=`, `LABEL=`, `PARTUUID=`, `PARTLABEL=` or `ID=`, or the path of a file.
    pub path: String,
    /// Size of a file that does not exist yet.
    pub size: Option<Bytes>,
    /// Swap priority: higher is used first.
    pub priority: i32,
    /// Whether the machine may boot and run without it; `None` where it is not written.
    pub optional: Option<bool>,
    /// Discard the whole area once when it is switched on.
    pub discard_once: bool,
    /// How it must be encrypted; `None` where that does not matter.
    pub encrypt: Option<EncryptRule>,
}

/// How an area is encrypted, where the configuration or `device` says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EncryptRule {
    /// Plain dm-crypt with a key that is made at each boot.
    Random,
    /// A LUKS volume, whose key stays.
    Luks,
    /// In clear text.
    None,
}

impl EncryptRule {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Random, Self::Luks, Self::None];

    /// As it is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Luks => "luks",
            Self::None => "none",
        }
    }
}

impl SwapWanted {
    /// True when a boot goes on without it (`nofail`): unless the configuration says `optional = false`.
    #[must_use]
    pub fn boots_without(&self) -> bool {
        self.optional != Some(false)
    }

    /// True when a plan may go on without it: only where the configuration says `optional = true`, for a name that nothing has may as
    /// well be a typing error.
    #[must_use]
    pub fn may_be_missing(&self) -> bool {
        self.optional == Some(true)
    }
}

/// One zram swap device that is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ZramWanted {
    /// Uncompressed capacity.
    pub size: Bytes,
    /// Compressors in order of preference.
    pub algorithm: Vec<String>,
    /// Priority; above every disk.
    pub priority: i32,
    /// Most RAM that compressed data may take, zero for none.
    pub mem_limit: Bytes,
    /// Secondary compressors for pages that stay idle, the first with priority 1; empty for none.
    pub recomp_algorithm: Vec<String>,
    /// Block device that idle and incompressible pages are written back to, by any name that a `[[swap]]` may have.
    pub backing_dev: Option<String>,
}

/// How the configuration is made to last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BootSettings {
    /// Put zswap's parameters on the kernel command line as well.
    pub kernel_arguments: Option<Setting<bool>>,
    /// Put the compressor into the initramfs.
    pub initramfs: Option<Setting<bool>>,
}

/// What to do about swap on a node of Kubernetes whose kubelet does not allow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum KubeletRule {
    /// The plan is refused.
    Refuse,
    /// The administrator answers for it.
    Allow,
}

impl KubeletRule {
    /// As it is written in a configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::Allow => "allow",
        }
    }
}

/// Refusals that the administrator may lift.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SafetySettings {
    /// Swap where a kubelet does not allow it; refused unless written otherwise.
    pub kubelet: Option<Setting<KubeletRule>>,
}

/// The machine that an image will run on: what only it could say itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MachineSettings {
    /// Its RAM.
    pub ram: Option<Setting<Bytes>>,
    /// Its processors.
    pub cpus: Option<Setting<u32>>,
}

/// Everything that is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Settings {
    /// The profile to start from.
    pub profile: Option<Setting<String>>,
    /// zswap.
    pub zswap: ZswapSettings,
    /// Swap areas; `Some` replaces the list of a lower layer as a whole.
    pub swap: Option<Setting<Vec<SwapWanted>>>,
    /// zram swap devices.
    pub zram: Option<Setting<Vec<ZramWanted>>>,
    /// How to make it last.
    pub boot: BootSettings,
    /// What the administrator answers for.
    pub safety: SafetySettings,
    /// The machine that an image is for; a running machine says it itself.
    pub machine: MachineSettings,
    /// What the daemon is told; no part of what an apply records.
    #[serde(skip_serializing_if = "KeepSettings::is_empty")]
    pub keep: KeepSettings,
    /// Other knobs by name, values normalised.
    pub knobs: BTreeMap<String, Setting<String>>,
    /// What to tell the user about a value: knob name → sentence.
    pub remarks: BTreeMap<String, String>,
}

/// Takes the upper value where there is one.
fn over<T>(below: Option<T>, above: Option<T>) -> Option<T> {
    above.or(below)
}

impl Settings {
    /// Lays another layer over this one.
    #[must_use]
    pub fn overlay(mut self, above: Self) -> Self {
        self.zswap.overlay(above.zswap);
        self.keep.overlay(above.keep);
        for (name, setting) in above.knobs {
            self.want_knob(name, setting);
        }
        self.remarks.extend(above.remarks);
        Self {
            profile: over(self.profile, above.profile),
            zswap: self.zswap,
            swap: over(self.swap, above.swap),
            zram: over(self.zram, above.zram),
            boot: BootSettings {
                kernel_arguments: over(self.boot.kernel_arguments, above.boot.kernel_arguments),
                initramfs: over(self.boot.initramfs, above.boot.initramfs),
            },
            safety: SafetySettings { kubelet: over(self.safety.kubelet, above.safety.kubelet) },
            machine: MachineSettings {
                ram: over(self.machine.ram, above.machine.ram),
                cpus: over(self.machine.cpus, above.machine.cpus),
            },
            keep: self.keep,
            knobs: self.knobs,
            remarks: self.remarks,
        }
    }

    /// Wants a value of a knob, in the place of what was wanted of it and of the one that it excludes.
    pub(crate) fn want_knob(&mut self, name: String, setting: Setting<String>) {
        if let Some(other) = knobs::find(&name).and_then(Knob::excluded) {
            self.knobs.remove(other.name);
        }
        self.knobs.insert(name, setting);
    }

    /// Reads `KNOB=VALUE` of the command line into a layer.
    ///
    /// # Errors
    /// [`SettingsError`] for a missing `=`, an unknown knob or a value out of range.
    pub fn from_flag(flag: &str) -> Result<Self, SettingsError> {
        read::flag(flag)
    }

    /// True when the administrator answers for swap on a node of Kubernetes.
    #[must_use]
    pub fn allows_kubelet(&self) -> bool {
        self.safety.kubelet.as_ref().is_some_and(|rule| rule.value == KubeletRule::Allow)
    }

    /// True when nothing is derived: only what a person or another program configured is wanted.
    #[must_use]
    pub fn derives_nothing(&self) -> bool {
        self.profile.as_ref().is_some_and(|profile| profile.value == NOTHING_DERIVED)
    }

    /// True when zswap is wanted on.
    #[must_use]
    pub fn wants_zswap(&self) -> bool {
        self.zswap.enabled().is_some_and(|setting| setting.value)
    }

    /// True when a zram swap device is wanted.
    #[must_use]
    pub fn wants_zram(&self) -> bool {
        self.zram.as_ref().is_some_and(|list| !list.value.is_empty())
    }
}
