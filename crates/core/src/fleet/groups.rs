//! Which machines get the same plan.
//!
//! Two plans are the same when they leave the same behind: equal knobs, as many swap areas of equal priority, new files and zram devices of equal
//! size, the same files edited. What was there before, what a device is called, how large it is and what a file holds beside our lines differs from
//! machine to machine and does not count.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::keep_example;
use crate::change::Change;
use crate::plan::Plan;

/// A group is an outlier when it has less than one machine of this number.
pub const OUTLIER: u64 = 100;

/// Machines that get the same plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineGroup {
    /// What the plan leaves behind, in order; empty where there is nothing to do.
    pub what: Vec<String>,
    /// Why it is refused; then nothing is changed.
    pub refusal: Option<String>,
    /// How many machines.
    pub machines: u64,
    /// Names of the first of them, at most [`super::EXAMPLES`].
    pub examples: Vec<String>,
}

impl MachineGroup {
    /// True when its plan changes something.
    #[must_use]
    pub fn is_change(&self) -> bool {
        self.refusal.is_none() && !self.what.is_empty()
    }

    fn add(&mut self, name: &str) {
        self.machines += 1;
        keep_example(&mut self.examples, name);
    }
}

/// Groups of machines; what it takes grows with their number, not with that of machines.
#[derive(Clone, Debug, Default)]
pub struct Fleet {
    groups: BTreeMap<(Option<String>, Vec<String>), MachineGroup>,
}

impl Fleet {
    /// Adds a machine.
    pub fn add(&mut self, name: &str, plan: &Plan) {
        let refusal = plan.refusals.first().map(|refusal| format!("{}: {}", refusal.what, refusal.why));
        let what = if refusal.is_some() { Vec::new() } else { essence(plan) };
        let new = || MachineGroup { what: what.clone(), refusal: refusal.clone(), ..MachineGroup::default() };
        self.groups.entry((refusal.clone(), what.clone())).or_insert_with(new).add(name);
    }

    /// The groups, the largest first.
    #[must_use]
    pub fn groups(self) -> Vec<MachineGroup> {
        let mut groups: Vec<MachineGroup> = self.groups.into_values().collect();
        groups.sort_by(|a, b| b.machines.cmp(&a.machines).then_with(|| a.examples.cmp(&b.examples)));
        groups
    }
}

/// What a plan leaves behind, without what differs between machines that are set up alike.
fn essence(plan: &Plan) -> Vec<String> {
    let all: Vec<String> = plan.steps.iter().map(|step| left_behind(&step.change)).collect();
    let told = |alike: &[String]| match alike {
        [one] => one.clone(),
        several => format!("{} ×{}", several[0], several.len()),
    };
    // Areas of one kind are told once, with their number.
    all.chunk_by(|a, b| a == b).map(told).collect()
}

fn left_behind(change: &Change) -> String {
    match change {
        Change::Knob { name, after, .. } => format!("{name} = {after}"),
        Change::SwapFile { after: Some(file), .. } => format!("swap file of {}", file.size),
        Change::SwapFile { after: None, .. } => "no swap file".into(),
        Change::SwapHeader { .. } => "swap header".into(),
        Change::Swap { path, after, .. } if path.starts_with("/dev/zram") => match after {
            Some(area) => format!("zram on, priority {}", area.priority),
            None => "zram off".into(),
        },
        Change::Swap { after: Some(area), .. } => format!("swap area on, priority {}", area.priority),
        Change::Swap { after: None, .. } => "swap area off".into(),
        Change::Zram { after: Some(zram), .. } => format!("zram {} {}", zram.disksize, zram.algorithm),
        Change::Zram { after: None, .. } => "zram freed".into(),
        Change::Format { .. } | Change::KeyFile { .. } | Change::Mapping { .. } => "storage".into(),
        Change::File { .. } | Change::Link { .. } | Change::Module { .. } | Change::Generated { .. } => match change {
            Change::Link { path, after, .. } => format!("link {path}: {}", after.as_deref().unwrap_or("none")),
            other => other.to_string(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::super::EXAMPLES;
    use super::*;
    use crate::change::SwapState;
    use crate::plan::{Refusal, Step, When};

    fn plan(changes: Vec<Change>) -> Plan {
        let step = |change| Step {
            change,
            when: When::Now,
            reason: String::new(),
            evidence: String::new(),
            provenance: String::new(),
            risk: String::new(),
        };
        Plan { steps: changes.into_iter().map(step).collect(), ..Plan::default() }
    }

    fn knob(before: &str, after: &str) -> Change {
        let name = "vm.swappiness".to_owned();
        Change::Knob {
            path: "/proc/sys/vm/swappiness".into(),
            name,
            before: before.into(),
            after: after.into(),
            fallbacks: vec![],
        }
    }

    fn area(path: &str, priority: i32) -> Change {
        Change::Swap { path: path.into(), before: None, after: Some(SwapState::at(priority)) }
    }

    #[test]
    fn what_was_there_before_does_not_part_machines_and_what_is_left_behind_does() {
        let mut fleet = Fleet::default();
        for (name, plan) in [
            ("b", plan(vec![knob("60", "100"), area("/dev/sda2", 10)])),
            ("a", plan(vec![knob("10", "100"), area("/dev/vda3", 10)])),
            ("c", plan(vec![knob("60", "180"), area("/dev/zram0", 10)])),
            ("d", plan(vec![knob("60", "100"), area("/dev/sda2", 11)])),
            ("e", plan(vec![])),
        ] {
            fleet.add(name, &plan);
        }
        let refusal = Refusal { what: "container".into(), why: "no kernel of its own".into(), hint: String::new() };
        fleet.add("f", &Plan { refusals: vec![refusal], ..plan(vec![knob("60", "100")]) });
        let groups = fleet.groups();
        assert_eq!(groups.len(), 5);
        assert_eq!((groups[0].machines, &groups[0].examples[..]), (2, &["a".to_owned(), "b".to_owned()][..]));
        assert_eq!(groups[0].what, ["vm.swappiness = 100", "swap area on, priority 10"]);
        assert_eq!(groups.iter().filter(|group| group.is_change()).count(), 3);
        let refused = groups.iter().find_map(|group| group.refusal.as_deref());
        assert_eq!(refused, Some("container: no kernel of its own"));
    }

    #[test]
    fn a_group_keeps_the_first_names_in_whatever_order_machines_come() {
        let mut fleet = Fleet::default();
        (0..20).rev().for_each(|number| fleet.add(&format!("m{number:02}"), &plan(vec![])));
        let groups = fleet.groups();
        assert_eq!((groups[0].machines, groups[0].examples.len()), (20, EXAMPLES));
        assert_eq!(groups[0].examples[0], "m00");
    }
}
