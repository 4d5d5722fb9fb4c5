//! Settings that the daemon has moved and will put back: what is configured is what they were before.

use serde::{Deserialize, Serialize};

/// What the daemon says of itself, for everybody to read.
pub const DAEMON_STATUS: &str = "/run/swaptune/daemon.json";

/// A setting that is not as it was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovedSetting {
    /// Its name in the table of knobs.
    pub name: String,
    /// Its value before, which is put back.
    pub before: String,
    /// Its value now.
    pub now: String,
}

/// The settings that a status tells of; none when it cannot be understood.
#[must_use]
pub fn moved(status: &str) -> Vec<MovedSetting> {
    #[derive(Deserialize)]
    struct MovedStatus {
        moved: Vec<MovedSetting>,
    }
    serde_json::from_str(status).map(|status: MovedStatus| status.moved).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_tells_what_is_moved() {
        let text = r#"{"pid":1,"moved":[{"name":"zswap.max_pool_percent","before":"43","now":"47"}]}"#;
        assert_eq!(moved(text)[0].before, "43");
        assert_eq!((moved("{}"), moved("broken")), (Vec::new(), Vec::new()));
    }
}
