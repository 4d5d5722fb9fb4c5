//! `swaptune history`: what was applied and taken back.

use swaptune_host::journal::{StandingStep, StateDir, history, set_aside};
use swaptune_host::transaction::ApplyError;

use super::Context;
use crate::failure::Failure;
use crate::output::{self, text};

/// Prints one line a transaction, oldest first.
pub fn run(context: &Context) -> Result<u8, Failure> {
    let rows = history(&StateDir::persistent(&context.machine)).map_err(ApplyError::from)?;
    if context.json {
        output::json_versioned(&serde_json::json!({ "transactions": rows }))?;
        return Ok(0);
    }
    if rows.is_empty() {
        output::data("nothing was applied on this machine\n")?;
        return Ok(0);
    }
    let mut cells = vec![["ID", "TIME", "STATE", "CHANGES", "PROFILE", "WHAT"].map(str::to_owned).to_vec()];
    cells.extend(rows.iter().map(|row| {
        let state = row.status.map_or("unreadable", |status| status.word());
        let what = row.error.clone().unwrap_or_else(|| row.summary.clone());
        vec![row.id.clone(), row.time.clone(), state.into(), row.changes.to_string(), row.profile.clone(), what]
    }));
    let mut out = text::columns(&cells, &[3], 0);
    for row in rows.iter().filter(|row| !row.standing.is_empty()) {
        out += &format!("\n{}: not taken back\n", row.id);
        out += &row.standing.iter().map(|step| text::wrap(&line(step), 2)).collect::<String>();
    }
    output::data(&out)?;
    Ok(0)
}

fn line(step: &StandingStep) -> String {
    let why = match (step.set_aside, step.why.as_str()) {
        (true, "") => " (set aside)".to_owned(),
        (true, why) => format!(" (set aside: {why})"),
        (false, "") => String::new(),
        (false, why) => format!(" ({why})"),
    };
    format!("step {}, {}{why}", step.number, step.step)
}

/// Reminds of what rollbacks have set aside, before anything else is said about this machine.
pub fn remind(context: &Context) -> Result<(), Failure> {
    for (id, step) in set_aside(&StateDir::persistent(&context.machine)).map_err(ApplyError::from)? {
        output::message(&format!(
            "not taken back by the rollback of {id}: {}; `swaptune rollback {id}` tries again",
            line(&step)
        ));
    }
    Ok(())
}
