//! Write-back on another processor.

use super::{Context, Policy, proactive};

pub(super) const POLICY: Policy = Policy {
    name: "background",
    about: "As proactive, and the worker does not run on the processor that reclaims",
    source: "T. Funaki, the same series, patch 4 (with 1 to 3)",
    context: Context::Background,
    ..proactive::POLICY
};
