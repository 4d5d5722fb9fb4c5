//! A plan for people: a summary in a page, or every step with its reason.

mod steps;
mod summary;

use swaptune_core::plan::{CapacityChange, Plan, When};

use super::text::{count, wrap};

pub use steps::steps;
pub use summary::summary;

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

/// What forbids to carry it out.
fn refusals(plan: &Plan) -> String {
    let mut out = String::new();
    if !plan.refusals.is_empty() {
        out += "\nRefused: nothing is changed until this is settled\n";
    }
    for refusal in &plan.refusals {
        out += &wrap(&format!("{}: {}", refusal.what, refusal.why), 2);
        out += &wrap(&format!("hint: {}", refusal.hint), 4);
    }
    out
}
