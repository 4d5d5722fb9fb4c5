//! Plans for many machines.

use serde::Serialize;
use swaptune_core::fleet::{MachineGroup, OUTLIER};
use swaptune_core::forecast::{Gain, WORTH_PERCENT};

use super::{Unread, machines, unread};
use crate::output::text::{columns, count, wrap};

/// What was planned.
#[derive(Debug, Serialize)]
pub struct FleetPlanReport {
    /// Files that were named.
    pub machines: u64,
    /// True where nothing was asked for: then `apply` leaves a plan out that brings too little.
    pub is_our_own: bool,
    /// Machines that get the same plan, the largest group first.
    pub groups: Vec<GroupRow>,
    /// What could not be read.
    pub unread: Vec<Unread>,
}

/// A group.
#[derive(Debug, Serialize)]
pub struct GroupRow {
    /// The machines and what their plan leaves behind.
    #[serde(flatten)]
    pub group: MachineGroup,
    /// What it brings on the first of them; `None` where that was not simulated.
    pub gain: Option<Gain>,
}

impl FleetPlanReport {
    /// True when there is a plan for every machine.
    pub fn is_whole(&self) -> bool {
        self.unread.is_empty() && self.groups.iter().all(|row| row.group.refusal.is_none())
    }

    fn total(&self, wanted: impl Fn(&MachineGroup) -> bool) -> u64 {
        self.groups.iter().filter(|row| wanted(&row.group)).map(|row| row.group.machines).sum()
    }

    /// Groups with a change, with their numbers.
    fn plans(&self) -> impl Iterator<Item = (usize, &GroupRow)> {
        (1..).zip(self.groups.iter().filter(|row| row.group.is_change()))
    }
}

/// The verdict first, then a plan a row, then what stands apart.
pub fn text(report: &FleetPlanReport) -> String {
    let mut out = wrap(&verdict(report), 0);
    let mut rows = vec![["PLAN", "MACHINES", "TODAY", "PLANNED", "FOR EXAMPLE"].map(str::to_owned).to_vec()];
    let fits = |gain: Option<&Gain>, of: fn(&Gain) -> u32| gain.map_or_else(|| "–".into(), |gain| of(gain).to_string());
    for (number, row) in report.plans() {
        rows.push(vec![
            number.to_string(),
            row.group.machines.to_string(),
            fits(row.gain.as_ref(), |gain| gain.today.median()),
            fits(row.gain.as_ref(), |gain| gain.planned.median()),
            row.group.examples.join(", "),
        ]);
    }
    if rows.len() > 1 {
        out += &format!("\n{}", columns(&rows, &[0, 1, 2, 3], 2));
    }
    for (number, row) in report.plans() {
        let is_too_little = report.is_our_own && row.gain.as_ref().is_some_and(|gain| !gain.is_worth_it());
        let held = if is_too_little {
            format!(" (brings less than {WORTH_PERCENT} %: `apply` alone would leave it)")
        } else {
            String::new()
        };
        out += &format!("\nPlan {number}{held}\n{}", wrap(&row.group.what.join(", "), 2));
    }
    let notes = outliers(report).into_iter().chain(refused(report)).chain(unread(&report.unread));
    notes.for_each(|note| out += &format!("\n{}", wrap(&note, 0)));
    out
}

fn verdict(report: &FleetPlanReport) -> String {
    let plans = report.plans().count();
    let mut parts =
        vec![format!("{}: {} for {}", machines(report.machines), count(plans, "plan"), report.total(MachineGroup::is_change))];
    let others = [
        (report.total(|group| group.refusal.is_none() && group.what.is_empty()), "need no change"),
        (report.total(|group| group.refusal.is_some()), "refused"),
        (report.unread.len() as u64, "unread"),
    ];
    parts.extend(others.iter().filter(|(number, _)| *number > 0).map(|(number, what)| format!("{number} {what}")));
    let gains: Vec<(u64, &Gain)> = report.plans().filter_map(|(_, row)| Some((row.group.machines, row.gain.as_ref()?))).collect();
    let sum = |of: fn(&Gain) -> u32| gains.iter().map(|(machines, gain)| machines * u64::from(of(gain))).sum::<u64>();
    let brings = if gains.is_empty() {
        String::new()
    } else {
        let simulated: u64 = gains.iter().map(|(machines, _)| machines).sum();
        format!(
            " About {} idle applications fit on {} of them today, about {} as planned (simulated on one machine of each plan, from \
             assumed pages and costs).",
            sum(|gain| gain.today.median()),
            simulated,
            sum(|gain| gain.planned.median())
        )
    };
    format!("{}.{brings}", parts.join(", "))
}

/// Plans that few machines have.
fn outliers(report: &FleetPlanReport) -> Option<String> {
    let is_rare = |row: &GroupRow| row.group.machines * OUTLIER < report.machines;
    let rare: Vec<String> = report
        .plans()
        .filter(|(_, row)| is_rare(row))
        .map(|(number, row)| format!("{} (plan {number})", row.group.examples.join(", ")))
        .collect();
    (!rare.is_empty()).then(|| format!("Outliers, with a plan of fewer than 1 in {OUTLIER}: {}", rare.join(", ")))
}

fn refused(report: &FleetPlanReport) -> impl Iterator<Item = String> {
    let refused = |row: &GroupRow| {
        let why = row.group.refusal.as_ref()?;
        Some(format!("Refused for {} ({}): {why}", machines(row.group.machines), row.group.examples.join(", ")))
    };
    report.groups.iter().filter_map(refused)
}
