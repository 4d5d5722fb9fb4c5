//! A plan as a readable difference.

use swaptune_core::change::Change;
use swaptune_core::plan::{CapacityChange, Plan, Step, When};

use super::diff;
use super::text::{count, wrap};

/// The whole plan; `explain` adds evidence, origin and file differences.
pub fn text(plan: &Plan, explain: bool) -> String {
    let mut out = gain(plan);
    out += &heading(plan);
    out += &capacity(plan);
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
    if !plan.refusals.is_empty() {
        out += "\nRefused: nothing is changed until this is settled\n";
    }
    for refusal in &plan.refusals {
        out += &wrap(&format!("{}: {}", refusal.what, refusal.why), 2);
        out += &wrap(&format!("hint: {}", refusal.hint), 4);
    }
    out
}

fn heading(plan: &Plan) -> String {
    let of = if plan.profile.is_empty() { String::new() } else { format!(" (profile {})", plan.profile) };
    let steps = |when| plan.steps.iter().filter(|step| step.when == when).count();
    match (steps(When::Now), steps(When::Boot)) {
        (0, 0) if plan.refusals.is_empty() => format!("Nothing to do{of}: everything that is wanted is in effect\n"),
        (now, boot) => format!("Plan{of}: {} now, {} for every boot\n", count(now, "change"), boot),
    }
}

/// What the plan brings, first of all; nothing where nothing is done or nothing was simulated.
fn gain(plan: &Plan) -> String {
    let Some(gain) = plan.gain.as_ref().filter(|_| !plan.is_empty()) else { return String::new() };
    let verdict = match (gain.is_clear(), gain.is_loss()) {
        (true, _) => "",
        (_, true) => "Fewer applications fit with this plan: ",
        _ => "No clear gain: ",
    };
    let about = if verdict.is_empty() { "About" } else { "about" };
    let (today, planned) = (&gain.today, &gain.planned);
    let range = if planned.low() == planned.high() { String::new() } else { format!(", {}", planned.range()) };
    let rests = if gain.measured {
        "Simulated from pages and costs that were measured here."
    } else {
        "Simulated from assumed pages and costs: `swaptune sample` and `swaptune bench swap` measure them."
    };
    let figures = format!(
        "{about} {} fit today ({}), about {} with this plan ({}{range})",
        today.median(),
        today.candidate,
        planned.median(),
        planned.candidate
    );
    wrap(&format!("{verdict}{figures}: {}. {rests}", gain.counted), 0) + "\n"
}

/// What fits before and after; nothing where nothing is done.
fn capacity(plan: &Plan) -> String {
    let Some(CapacityChange { before, after }) = plan.capacity.filter(|_| !plan.is_empty()) else { return String::new() };
    let ratio = if after.measured { "" } else { " (ratio assumed)" };
    format!(
        "Capacity {} → {}, without reading a disk {} → {}{ratio}\n",
        before.total, after.total, before.without_disk, after.without_disk
    )
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
