//! What the administrator says of single units: never to be asked, idle only after longer, never brought below a floor of their own.

use std::collections::BTreeMap;

use super::figures::Figures;
use crate::units::Bytes;

/// What is said of one unit, or of all units below a group of this name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnitPolicy {
    /// Whether it is left alone for good; `None`: nothing is said.
    pub never: Option<bool>,
    /// In place of `reclaim_idle_s`, s.
    pub idle_s: Option<u64>,
    /// In place of `reclaim_floor`.
    pub floor: Option<Bytes>,
}

/// Policies by the name of a unit or of any group on the way to one: `db.service`, `user-1000.slice`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policies(BTreeMap<String, UnitPolicy>);

impl Policies {
    /// What counts for the unit at this path: of each kind what is said nearest to it.
    #[must_use]
    pub fn of(&self, path: &str) -> UnitPolicy {
        let said = path.split('/').filter_map(|name| self.0.get(name));
        said.fold(UnitPolicy::default(), |above, unit| UnitPolicy {
            never: unit.never.or(above.never),
            idle_s: unit.idle_s.or(above.idle_s),
            floor: unit.floor.or(above.floor),
        })
    }

    /// The figures that count for the unit at this path; `None` where it is left alone.
    pub(super) fn figures(&self, figures: &Figures, path: &str) -> Option<Figures> {
        let UnitPolicy { never, idle_s, floor } = self.of(path);
        (never != Some(true)).then(|| Figures {
            reclaim_idle_s: idle_s.unwrap_or(figures.reclaim_idle_s),
            reclaim_floor: floor.map_or(figures.reclaim_floor, |floor| floor.0),
            ..figures.clone()
        })
    }
}

impl FromIterator<(String, UnitPolicy)> for Policies {
    fn from_iter<I: IntoIterator<Item = (String, UnitPolicy)>>(units: I) -> Self {
        Self(units.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_nearest_to_a_unit_counts() {
        let said = |never, idle_s, floor: Option<u64>| UnitPolicy { never, idle_s, floor: floor.map(Bytes::from_mib) };
        let policies: Policies = [
            ("user.slice", said(Some(true), None, Some(8))),
            ("user-1000.slice", said(Some(false), Some(60), None)),
            ("mail.service", said(None, Some(3600), None)),
        ]
        .map(|(name, policy)| (name.to_owned(), policy))
        .into_iter()
        .collect();
        for (path, expect) in [
            ("/user.slice/user-1.slice/a.service", said(Some(true), None, Some(8))),
            ("/user.slice/user-1000.slice/a.service", said(Some(false), Some(60), Some(8))),
            ("/user.slice/user-1000.slice/mail.service", said(Some(false), Some(3600), Some(8))),
            ("/system.slice/mail.service", said(None, Some(3600), None)),
            ("/system.slice/user.slice.service", UnitPolicy::default()),
        ] {
            assert_eq!(policies.of(path), expect, "{path}");
        }
        let usual = Figures::default();
        assert_eq!(policies.figures(&usual, "/user.slice/x"), None);
        let mail = policies.figures(&usual, "/system.slice/mail.service").unwrap();
        assert_eq!((mail.reclaim_idle_s, mail.reclaim_floor), (3600, usual.reclaim_floor));
        assert_eq!(policies.figures(&usual, "/system.slice/x.service"), Some(usual));
    }
}
