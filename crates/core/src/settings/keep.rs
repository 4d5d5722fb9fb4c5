//! `[keep]`: which laws of the daemon work, and the figures that they go by.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Setting;
use crate::control::figures::{self, Figure, Figures};
use crate::control::{Wanted, Wishes};

/// Keys of `[keep]` that switch a law.
pub(super) const LAWS: [&str; 4] = ["limit", "pacing", "reclaim", "zram"];
/// Key of the list of units that are never reclaimed.
pub(super) const NEVER: &str = "never";

/// What the daemon is told. A field that is not written is `None` or missing, and the default of the table counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct KeepSettings {
    /// Laws by name.
    pub laws: BTreeMap<&'static str, Setting<bool>>,
    /// Figures by name, within their range.
    pub figures: BTreeMap<&'static str, Setting<u64>>,
    /// Names of units, or of any group on the way to one, that are never reclaimed.
    pub never: Option<Setting<Vec<String>>>,
}

impl KeepSettings {
    /// True when nothing is written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Every key.
    pub(super) fn keys() -> Vec<&'static str> {
        LAWS.into_iter().chain([NEVER]).chain(figures::TABLE.iter().map(|row| row.name)).collect()
    }

    /// Lays another layer over this one.
    pub(super) fn overlay(&mut self, above: Self) {
        self.laws.extend(above.laws);
        self.figures.extend(above.figures);
        self.never = above.never.or(self.never.take());
    }

    /// All that it asks for.
    #[must_use]
    pub fn wishes(&self) -> Wishes {
        Wishes { figures: self.figures(), wanted: self.wanted(), never: self.never() }
    }

    /// Which laws are wanted.
    #[must_use]
    pub fn wanted(&self) -> Wanted {
        let usual = Wanted::default();
        let is_on = |law: &str, usual| self.laws.get(law).map_or(usual, |setting| setting.value);
        Wanted {
            limit: is_on("limit", usual.limit),
            pacing: is_on("pacing", usual.pacing),
            reclaim: is_on("reclaim", usual.reclaim),
            zram: is_on("zram", usual.zram),
        }
    }

    /// The figures, defaults where none is written.
    #[must_use]
    pub fn figures(&self) -> Figures {
        let mut all = Figures::default();
        for (name, setting) in &self.figures {
            if let Some(Figure { set, .. }) = figures::find(name) {
                set(&mut all, setting.value);
            }
        }
        all
    }

    /// Names that are never reclaimed.
    #[must_use]
    pub fn never(&self) -> Vec<String> {
        self.never.as_ref().map(|never| never.value.clone()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use crate::settings::read_toml;

    #[test]
    fn laws_figures_and_names_are_read() {
        let text =
            "[keep]\nlimit = true\npacing = false\nnever = [\"db.service\"]\npacing_budget = \"2G\"\nreclaim_idle_s = 30\n";
        let keep = read_toml("x", text, None).unwrap().keep;
        let wanted = keep.wanted();
        assert_eq!((wanted.limit, wanted.pacing, wanted.reclaim), (true, false, true));
        let usual = read_toml("x", "", None).unwrap().keep.wanted();
        assert_eq!((usual.limit, usual.pacing, usual.reclaim), (false, true, true));
        assert_eq!((keep.figures().pacing_budget, keep.figures().reclaim_idle_s), (2 << 30, 30));
        assert_eq!(keep.never(), ["db.service"]);
        assert!(!keep.is_empty());
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, problem) in [
            ("reclaim_idle = 3", "unknown key `reclaim_idle` in [keep]; did you mean `reclaim_idle_s`?"),
            ("reclaim_idle_s = 4", "reclaim_idle_s: found 4, expected a whole number from 5 to 86400 (s)"),
            ("pacing_chunk = \"1K\"", "pacing_chunk: found \"1K\", expected a size from 1M to 1G"),
            ("pacing_chunk = 7", "pacing_chunk: found 7, expected a size from 1M to 1G"),
            ("limit = 1", "limit: found 1, expected true or false"),
        ] {
            let error = read_toml("x", &format!("[keep]\n{text}\n"), None).unwrap_err();
            assert_eq!(error.to_string(), format!("x:2: {problem}"));
        }
    }
}
