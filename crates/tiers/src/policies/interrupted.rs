//! Write-back pauses while the disk is needed.

use super::{Policy, proactive};

/// Half a second.
pub(super) const PAUSE: u64 = 500_000_000;

pub(super) const POLICY: Policy = Policy {
    name: "interrupted",
    about: "As proactive, and the worker pauses for 500 ms after a rejected page or a load that misses the pool",
    source: "T. Funaki, the same series, patch 6 (with 1 to 3)",
    pause: PAUSE,
    ..proactive::POLICY
};
