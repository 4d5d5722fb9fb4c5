//! What all runs of one comparison must have in common: runs of before and after a change would be set against each other.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use swaptune_core::Facts;
use swaptune_core::change::Change;
use swaptune_core::measurement::Evidence;
use swaptune_host::machine::Machine;

use super::CompareOptions;
use crate::conditions::machine_name;
use crate::variant::{Variant, prepare};

/// Where and how a comparison was begun.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompareGround {
    /// The machine, as results name it.
    pub machine: String,
    /// `uname -r`.
    pub kernel: String,
    /// The working directory of the command.
    pub folder: PathBuf,
    /// What each configuration sets, by its name.
    pub sets: BTreeMap<String, Vec<String>>,
}

/// What is not as it was when a comparison was begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroundDifference {
    /// What differs, as one sentence.
    pub what: String,
    /// What to do about it.
    pub hint: String,
}

impl CompareGround {
    /// That of these configurations here and now. `folder` is where the command runs.
    #[must_use]
    pub fn of(
        machine: &Machine,
        (facts, evidence): (&Facts, &Evidence),
        variants: &[Variant],
        options: &CompareOptions,
        folder: &Path,
    ) -> Self {
        let memory = options.memory.unwrap_or_else(|| facts.memory.total());
        let sets = |variant: &Variant| match prepare(variant, (facts, memory), evidence, &options.folder) {
            Ok(preparation) => preparation.changes.iter().filter_map(set_by).collect(),
            Err(why) => vec![why],
        };
        Self {
            machine: machine_name(machine),
            kernel: machine.read_text("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned(),
            folder: folder.to_owned(),
            sets: variants.iter().map(|variant| (variant.name.clone(), sets(variant))).collect(),
        }
    }

    /// The first thing in which a comparison that was begun so differs from `now`.
    #[must_use]
    pub fn difference(&self, now: &Self) -> Option<GroundDifference> {
        let differs = |what: String, hint: &str| Some(GroundDifference { what, hint: hint.to_owned() });
        if self.machine != now.machine {
            return differs("it was begun on another machine".into(), "go on with it there, or begin another one here");
        }
        if self.kernel != now.kernel {
            let what = format!("it was begun with Linux {}, and this is {}", self.kernel, now.kernel);
            return differs(what, "boot that kernel to go on with it, or begin another one");
        }
        if self.folder != now.folder {
            let what = format!("its command ran in {}, and this is {}", self.folder.display(), now.folder.display());
            return differs(what, &format!("cd {}", self.folder.display()));
        }
        // In whatever order: that of areas is none of the configuration's.
        let sorted = |sets: &[String]| sets.iter().cloned().collect::<BTreeSet<_>>();
        let differs_now = |name: &str, then: &[String]| now.sets.get(name).is_none_or(|now| sorted(now) != sorted(then));
        let (name, then) = self.sets.iter().find(|(name, then)| differs_now(name, then))?;
        let now = now.sets.get(name).cloned().unwrap_or_default();
        let only = |of: &[String], other: &[String]| {
            let only: Vec<&str> = of.iter().filter(|set| !other.contains(set)).map(String::as_str).collect();
            if only.is_empty() { "nothing else".to_owned() } else { only.join(", ") }
        };
        let what = format!("the configuration `{name}` set {} and would set {} now", only(then, &now), only(&now, then));
        differs(what, "put back what its file, this machine or its results have become since, or begin another comparison")
    }
}

/// What a change comes to, whatever was there before. The size of a swap file follows from what is free on its disk, and its header is
/// another one each time; a module is loaded where it is not.
fn set_by(change: &Change) -> Option<String> {
    match change {
        Change::SwapHeader { .. } | Change::Module { .. } => None,
        Change::SwapFile { path, .. } => Some(format!("the swap file {path}")),
        change => Some(format!("{} {}", change.target(), change.sides().1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ground() -> CompareGround {
        let sets = [("none", &["vm.swappiness 60"][..]), ("auto", &["vm.swappiness 100", "zswap.max_pool_percent 80"])];
        let sets = sets.map(|(name, sets)| (name.to_owned(), sets.iter().map(|set| (*set).to_owned()).collect()));
        CompareGround { machine: "a".into(), kernel: "6.12.1".into(), folder: "/src".into(), sets: sets.into() }
    }

    #[test]
    fn what_is_not_as_it_was_is_named() {
        assert_eq!(ground().difference(&ground()), None);
        let told = |change: fn(&mut CompareGround)| {
            let mut now = ground();
            change(&mut now);
            ground().difference(&now).unwrap().what
        };
        assert_eq!(told(|now| now.machine = "b".into()), "it was begun on another machine");
        assert_eq!(told(|now| now.kernel = "6.12.2".into()), "it was begun with Linux 6.12.1, and this is 6.12.2");
        assert_eq!(told(|now| now.folder = "/".into()), "its command ran in /src, and this is /");
        let other = |now: &mut CompareGround| now.sets.get_mut("auto").unwrap()[1] = "zswap.max_pool_percent 70".into();
        assert_eq!(
            told(other),
            "the configuration `auto` set zswap.max_pool_percent 80 and would set zswap.max_pool_percent 70 now"
        );
        let mut turned = ground();
        turned.sets.get_mut("auto").unwrap().reverse();
        assert_eq!(ground().difference(&turned), None, "the same in another order");
        assert!(told(|now| drop(now.sets.remove("none"))).contains("`none` set vm.swappiness 60 and would set nothing else now"));
    }

    #[test]
    fn what_is_by_chance_or_by_the_disk_is_no_difference() {
        use swaptune_core::Bytes;
        use swaptune_core::change::SwapFileState;
        let file = |size| Change::SwapFile {
            path: "/a".into(),
            before: None,
            after: Some(SwapFileState { size: Bytes(size), nocow: false }),
        };
        assert_eq!(set_by(&file(1 << 20)), set_by(&file(2 << 20)));
        assert_eq!(set_by(&Change::Module { name: "zram".into(), before: false, after: true }), None);
    }
}
