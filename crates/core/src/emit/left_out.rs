//! Steps of the plan that a form has nothing for: other programs that would undo it, and edits of files that are not ours.

use super::EmittedValues;
use crate::change::Change;
use crate::plan::{APPLIED_FILE, Note, Plan, SYSCTL_FILE, Step, UNIT_FILE, UNIT_LINK, ZRAM_GENERATOR_FILE, sets_up_swap};

/// What of a plan a form leaves to the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaves {
    /// Nothing: swaptune itself applies it.
    Nothing,
    /// What is no business of this form is another form's; what would undo it is told.
    Silencing,
    /// All that is not in its files.
    Steps,
}

/// One line for each step that the files do not make, and for each manager that the plan could only name.
pub(super) fn notes(leaves: Leaves, values: &EmittedValues<'_>, plan: &Plan) -> Vec<String> {
    let is_left = |step: &&Step| match leaves {
        Leaves::Nothing => false,
        Leaves::Silencing => silences(step, values),
        Leaves::Steps => silences(step, values) || is_in_no_file(step, plan),
    };
    let managers = plan.notes.iter().filter(|note| leaves != Leaves::Nothing && sets_up_swap(&note.about));
    let managers = managers.map(|Note { about, text, .. }| format!("{about}: {text}"));
    plan.steps.iter().filter(is_left).map(told).chain(managers).collect()
}

/// A step that keeps a manager from acting. What a form has zram-generator make is not to be kept from it.
fn silences(step: &Step, values: &EmittedValues<'_>) -> bool {
    match &step.change {
        Change::Link { path, .. } => path != UNIT_LINK,
        Change::File { path, .. } => path == ZRAM_GENERATOR_FILE && values.zrams.is_empty(),
        _ => false,
    }
}

/// A step that lasts over a boot and that neither a file of the form nor a note of its own stands for.
fn is_in_no_file(step: &Step, plan: &Plan) -> bool {
    // A unit or an entry of swapDevices takes the place of a line in fstab, and says so.
    const STANDS: [&str; 5] = [APPLIED_FILE, UNIT_FILE, SYSCTL_FILE, ZRAM_GENERATOR_FILE, "/etc/fstab"];
    let is_made =
        |path: &str| plan.steps.iter().any(|step| matches!(&step.change, Change::SwapFile { path: made, .. } if made == path));
    match &step.change {
        Change::File { path, .. } => !(STANDS.contains(&path.as_str()) || path.starts_with("/run/")),
        Change::SwapHeader { path, .. } => !path.starts_with("/dev/zram") && !is_made(path),
        Change::Generated { .. } | Change::Format { .. } | Change::KeyFile { .. } | Change::Mapping { .. } => true,
        _ => false,
    }
}

/// Lines of a file that a note has room for.
const FEW_LINES: usize = 4;

fn told(step: &Step) -> String {
    let what = match &step.change {
        Change::Link { path, after: Some(target), .. } if target == "/dev/null" => mask(path),
        Change::File { path, before: None, after: Some(text), .. } => {
            let lines: Vec<&str> = text.lines().filter(|line| !(line.is_empty() || line.starts_with('#'))).collect();
            match lines.len() {
                ..=FEW_LINES => format!("create {path} with `{}`", lines.join("`, `")),
                _ => format!("create {path}, as `swaptune plan --json` has it"),
            }
        }
        other => other.to_string(),
    };
    format!("left to you: {what} ({})", step.reason)
}

/// What to type for a link to /dev/null.
fn mask(path: &str) -> String {
    match path.strip_prefix("/etc/systemd/system/") {
        Some(unit) => format!("`systemctl mask {unit}`"),
        None => format!("`ln -s /dev/null {path}`"),
    }
}
