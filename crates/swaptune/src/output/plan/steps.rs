//! Every step of a plan: what, why, with what risk.

use swaptune_core::change::Change;
use swaptune_core::plan::{Plan, Step, When};

use super::{capacity, gain, heading, refusals};
use crate::output::diff;
use crate::output::text::wrap;

/// The whole plan; `explain` adds evidence, origin and file differences.
pub fn steps(plan: &Plan, explain: bool) -> String {
    let mut out = gain(plan) + &heading(plan) + &capacity(plan);
    for (when, title) in [(When::Now, "Now"), (When::Boot, "For every boot")] {
        let steps: Vec<&Step> = plan.steps.iter().filter(|step| step.when == when).collect();
        if !steps.is_empty() {
            out += &format!("\n{title}\n");
            out += &steps.into_iter().map(|step| step_text(step, explain)).collect::<String>();
        }
    }
    if !plan.notes.is_empty() {
        out += "\nNotes\n";
    }
    for note in &plan.notes {
        let source = if explain && !note.evidence.is_empty() { format!(" [{}]", note.evidence) } else { String::new() };
        out += &wrap(&format!("{}: {}{source}", note.about, note.text), 2);
    }
    out + &refusals(plan)
}

/// One step: what from → to, why, risk.
fn step_text(step: &Step, explain: bool) -> String {
    let mut out = format!("  {}\n", step.change);
    out += &wrap(&step.reason, 6);
    if !step.risk.is_empty() {
        out += &wrap(&format!("risk: {}", step.risk), 6);
    }
    if explain {
        out += &wrap(&format!("from {}; {}", step.provenance, step.evidence), 6);
        if let Change::File { before, after, .. } = &step.change {
            out += &diff::lines(before.as_deref().unwrap_or_default(), after.as_deref().unwrap_or_default(), 6);
        }
    }
    out
}
