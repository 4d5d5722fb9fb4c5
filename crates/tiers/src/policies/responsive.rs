//! All six patches for responsiveness together.

use super::{Policy, background, interrupted};

pub(super) const POLICY: Policy = Policy {
    name: "responsive",
    about: "Proactive, background, raw and interrupted together",
    source: "T. Funaki, the same series, all six patches",
    raw: Some(true),
    pause: interrupted::PAUSE,
    ..background::POLICY
};
