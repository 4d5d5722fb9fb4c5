//! A plan for people: a summary in a page, or every step with its reason.

mod steps;
mod summary;

use swaptune_core::forecast::{Gain, WORTH_PERCENT};
use swaptune_core::plan::{CapacityChange, Plan, When};

use super::text::{count, wrap};

pub use steps::steps;
pub use summary::summary;

fn heading(plan: &Plan) -> String {
    let of = if plan.profile.is_empty() { String::new() } else { format!(" (profile {})", plan.profile) };
    let steps = |when| plan.steps.iter().filter(|step| step.when == when).count();
    match (steps(When::Now), steps(When::Boot)) {
        _ if plan.held_back > 0 => String::new(),
        (0, 0) if plan.refusals.is_empty() => format!("Nothing to do{of}: everything that is wanted is in effect\n"),
        (now, boot) => format!("Plan{of}: {} now, {} for every boot\n", count(now, "change"), boot),
    }
}

/// What the plan brings, first of all; nothing where nothing was simulated, or nothing is to be done in any case.
fn gain(plan: &Plan) -> String {
    let Some(gain) = plan.gain.as_ref().filter(|_| !plan.is_empty() || plan.held_back > 0) else { return String::new() };
    let verdict = match plan.held_back {
        0 => verdict(gain),
        _ => "Nothing worth changing: ".to_owned(),
    };
    let about = if verdict.is_empty() { "About" } else { "about" };
    let (today, planned) = (&gain.today, &gain.planned);
    let with = if plan.held_back > 0 { format!("the profile {}", plan.profile) } else { "this plan".to_owned() };
    let range = if planned.low() == planned.high() { String::new() } else { format!(", {}", planned.range()) };
    let rests = format!("Simulated from {}.", gain.measured.told());
    let figures = format!(
        "{about} {} fit today ({}), about {} with {with} ({}{range})",
        today.median(),
        today.candidate,
        planned.median(),
        planned.candidate
    );
    wrap(&format!("{verdict}{figures}: {}. {rests}", gain.counted), 0) + &left_out(plan)
}

/// What to think of it; nothing where the figures say all.
fn verdict(gain: &Gain) -> String {
    match (gain.is_clear(), gain.is_loss(), gain.is_worth_it()) {
        (true, ..) => String::new(),
        (_, true, _) => "Fewer applications fit with this plan: ".into(),
        (_, _, true) => format!("A likely gain, less than the {} % that the model may err: ", gain.gain_percent),
        _ => "No clear gain: ".into(),
    }
}

/// Why changes are left out, and how to see them all the same; a blank line where none are.
fn left_out(plan: &Plan) -> String {
    if plan.held_back == 0 {
        return "\n".into();
    }
    let changes = count(plan.held_back, "change");
    let text = format!(
        "{WORTH_PERCENT} % more are worth a change; `swaptune plan --profile {}` shows the {changes} that would be made.",
        plan.profile
    );
    wrap(&text, 0)
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
