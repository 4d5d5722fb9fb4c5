//! `[keep]`: which laws of the daemon work, and the figures that they go by.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Setting;
use crate::control::figures::{self, Figure, Figures};
use crate::control::{Policies, UnitPolicy, WantedLaws, Wishes};
use crate::units::Bytes;

/// Keys of `[keep]` that switch a law.
pub(super) const LAWS: [&str; 4] = ["limit", "pacing", "reclaim", "zram"];
/// Key of the list of units that are never reclaimed, and of one of them.
pub(super) const NEVER: &str = "never";
/// Key of the table of single units.
pub(super) const UNITS: &str = "units";
/// Figures that single units may have of their own.
pub(super) const OF_UNITS: [&str; 2] = ["reclaim_idle_s", "reclaim_floor"];

/// What is written of one unit, or of all below a group of this name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct UnitSettings {
    /// Whether it is never reclaimed.
    pub never: Option<Setting<bool>>,
    /// Figures of its own, within their range.
    pub figures: BTreeMap<&'static str, Setting<u64>>,
}

impl UnitSettings {
    fn policy(&self) -> UnitPolicy {
        let figure = |name| self.figures.get(name).map(|setting| setting.value);
        UnitPolicy {
            never: self.never.as_ref().map(|setting| setting.value),
            idle_s: figure(OF_UNITS[0]),
            floor: figure(OF_UNITS[1]).map(Bytes),
        }
    }
}

/// What the daemon is told. A field that is not written is `None` or missing, and the default of the table counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct KeepSettings {
    /// Laws by name.
    pub laws: BTreeMap<&'static str, Setting<bool>>,
    /// Figures by name, within their range.
    pub figures: BTreeMap<&'static str, Setting<u64>>,
    /// Names of units, or of any group on the way to one, that are never reclaimed.
    pub never: Option<Setting<Vec<String>>>,
    /// What is written of single units, by name.
    pub units: BTreeMap<String, UnitSettings>,
}

impl KeepSettings {
    /// True when nothing is written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Every key.
    pub(super) fn keys() -> Vec<&'static str> {
        LAWS.into_iter().chain([NEVER, UNITS]).chain(figures::TABLE.iter().map(|row| row.name)).collect()
    }

    /// Lays another layer over this one.
    pub(super) fn overlay(&mut self, above: Self) {
        self.laws.extend(above.laws);
        self.figures.extend(above.figures);
        self.never = above.never.or(self.never.take());
        for (name, above) in above.units {
            let unit = self.units.entry(name).or_default();
            unit.never = above.never.or(unit.never.take());
            unit.figures.extend(above.figures);
        }
    }

    /// All that it asks for.
    #[must_use]
    pub fn wishes(&self) -> Wishes {
        Wishes { figures: self.figures(), wanted: self.wanted(), units: self.policies() }
    }

    /// Which laws are wanted.
    #[must_use]
    pub fn wanted(&self) -> WantedLaws {
        let usual = WantedLaws::default();
        let is_on = |law: &str, usual| self.laws.get(law).map_or(usual, |setting| setting.value);
        WantedLaws {
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

    /// What is said of single units: those that are never reclaimed by the list, and each as its own table says.
    #[must_use]
    pub fn policies(&self) -> Policies {
        let mut units: BTreeMap<String, UnitPolicy> =
            self.units.iter().map(|(name, unit)| (name.clone(), unit.policy())).collect();
        for name in self.never.iter().flat_map(|never| &never.value) {
            units.entry(name.clone()).or_default().never.get_or_insert(true);
        }
        units.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        assert_eq!(keep.policies().of("/system.slice/db.service").never, Some(true));
        assert!(!keep.is_empty());
    }

    #[test]
    fn single_units_have_figures_of_their_own() {
        let text = "[keep]\nnever = [\"a.service\", \"b.service\"]\n[keep.units.\"b.service\"]\nnever = false\n\
                    reclaim_idle_s = 3600\nreclaim_floor = \"64M\"\n";
        let mut keep = read_toml("x", text, None).unwrap().keep;
        let above = read_toml("y", "[keep.units.\"b.service\"]\nreclaim_idle_s = 60\n[keep.units.c]\nnever = true\n", None);
        keep.overlay(above.unwrap().keep);
        let policies = keep.policies();
        let said = |name: &str| policies.of(name);
        assert_eq!((said("a.service").never, said("c").never), (Some(true), Some(true)));
        let expect = UnitPolicy { never: Some(false), idle_s: Some(60), floor: Some(Bytes::from_mib(64)) };
        assert_eq!(said("b.service"), expect);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, problem) in [
            ("reclaim_idle = 3", "unknown key `reclaim_idle` in [keep]; did you mean `reclaim_idle_s`?"),
            ("reclaim_idle_s = 4", "reclaim_idle_s: found 4, expected a whole number from 5 to 86400 (s)"),
            ("pacing_chunk = \"1K\"", "pacing_chunk: found \"1K\", expected a size from 1M to 1G"),
            ("pacing_chunk = 7", "pacing_chunk: found 7, expected a size from 1M to 1G"),
            ("limit = 1", "limit: found 1, expected true or false"),
            ("units.a.idle = 3", "unknown key `idle` in [keep.units.\"a\"]; known are never, reclaim_idle_s, reclaim_floor"),
            ("units.a.reclaim_idle_s = 4", "reclaim_idle_s: found 4, expected a whole number from 5 to 86400 (s)"),
            ("units.a = 4", "a: found 4, expected a table: [keep.units.\"a\"]"),
        ] {
            let error = read_toml("x", &format!("[keep]\n{text}\n"), None).unwrap_err();
            assert_eq!(error.to_string(), format!("x:2: {problem}"));
        }
    }
}
