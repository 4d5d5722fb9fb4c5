//! `swaptune history`: what was applied and taken back.

use swaptune_host::apply::ApplyError;
use swaptune_host::journal::{StateDir, history};

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
    output::data(&text::columns(&cells, &[3], 0))?;
    Ok(0)
}
