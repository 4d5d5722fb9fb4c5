//! Whether areas can be switched off, from what the kernel says about them and about memory.

use swaptune_core::Bytes;
use swaptune_core::swapoff::Room;

use super::error::StepError;
use super::run::Run;

/// Checks that what these areas hold finds room again when all of them are switched off.
pub(super) fn check(run: &Run<'_>, reals: &[String]) -> Result<(), StepError> {
    let (going, staying): (Vec<_>, Vec<_>) = run.areas()?.into_iter().partition(|area| reals.contains(&area.path));
    let used = Bytes(going.iter().map(|area| area.used.0).sum());
    if used.0 == 0 {
        return Ok(());
    }
    let available = run.meminfo("MemAvailable")?;
    let room = Room {
        used,
        elsewhere: Bytes(staying.iter().map(|area| area.size.0.saturating_sub(area.used.0)).sum()),
        available: Bytes(available.unwrap_or(0)),
        total: Bytes(run.meminfo("MemTotal")?.unwrap_or(0)),
    };
    let path = going.iter().map(|area| area.path.as_str()).collect::<Vec<_>>().join(", ");
    room.check().map_err(|source| StepError::TooFull { path, source })
}
