//! Programs on this machine that have an opinion on swap.

use serde::{Deserialize, Serialize};

use crate::fact::Fact;

/// A kubelet, and what its configuration says of swap.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kubelet {
    /// What it belongs to: `kubelet`, `k3s`, `rke2`, `microk8s`.
    pub name: String,
    /// The process, unit or file that gave it away.
    pub evidence: String,
    /// Where its configuration is changed.
    pub config: String,
    /// `failSwapOn`: whether it ends when it starts and swap is on.
    pub fail_swap_on: Fact<bool>,
    /// `memorySwap.swapBehavior`: whether pods may be swapped out.
    pub swap_behavior: Fact<String>,
}

impl Kubelet {
    /// The behaviour with which pods may use swap.
    pub const LIMITED_SWAP: &str = "LimitedSwap";

    /// Why its configuration allows no swap; `None` when it does.
    #[must_use]
    pub fn objection(&self) -> Option<String> {
        match (&self.fail_swap_on, &self.swap_behavior) {
            (Fact::Known { value: false, .. }, Fact::Known { value, .. }) if value == Self::LIMITED_SWAP => None,
            (Fact::Known { value: false, .. }, Fact::Known { value, source }) => {
                Some(format!("its pods may not use swap: swapBehavior is {value} ({source}), expected {}", Self::LIMITED_SWAP))
            }
            (Fact::Known { value: false, .. }, Fact::Absent { absent }) => {
                Some(format!("its pods may not use swap: {absent}, expected {}", Self::LIMITED_SWAP))
            }
            (Fact::Known { source, .. }, _) => Some(format!("it does not start where swap is on: failSwapOn is true ({source})")),
            (Fact::Absent { absent }, _) => Some(format!("it does not start where swap is on: {absent}")),
        }
    }
}

/// A server program whose makers advise on swap.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resident {
    /// `elasticsearch`, `redis`, …
    pub name: String,
    /// The process or unit that gave it away.
    pub evidence: String,
    /// Whether it locks its memory, where it has such a setting.
    pub memory_lock: Fact<bool>,
}
