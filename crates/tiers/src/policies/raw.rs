//! Pages that do not compress stay in the pool.

use super::{Policy, proactive};

pub(super) const POLICY: Policy = Policy {
    name: "raw",
    about: "As proactive, and pages that do not compress are kept in the pool as they are instead of being rejected",
    source: "T. Funaki, the same series, patch 5 (with 1 to 3); since 6.18 by another patch",
    raw: Some(true),
    ..proactive::POLICY
};
