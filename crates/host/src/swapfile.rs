//! Whether a swap file can be made at a place: a file system that swap can lie on, and room.

use swaptune_core::Bytes;
use swaptune_core::change::SwapFileState;

use crate::apply::{Run, StepError};

pub use swaptune_core::plan::FILE_RESERVE as RESERVE;

/// Refuses a place where the kernel would not take the file, or that it would fill together with `others`, the bytes that
/// earlier steps put there; less than none where they make room.
pub(crate) fn check(run: &Run<'_>, real: &str, state: &SwapFileState, others: i64) -> Result<(), StepError> {
    let folder = run.nearest_folder(real);
    let found = run.kernel.file_system(&folder).map_err(|error| StepError::io("look at", real, error))?;
    let refused = |why: String, hint: &str| StepError::Refused { what: format!("swap file {real}"), why, hint: hint.into() };
    let name = found.name.unwrap_or("a file system of unknown type");
    if !found.swap_files {
        return Err(refused(format!("{name} cannot hold swap files"), "choose a place on ext4, xfs or btrfs"));
    }
    if name == "btrfs" && !state.nocow {
        return Err(refused("on btrfs it must be made without copy-on-write".into(), "make a new plan"));
    }
    if state.size.0 == 0 || !state.size.0.is_multiple_of(run.kernel.page_size()) {
        let page = Bytes(run.kernel.page_size());
        return Err(refused(format!("{} bytes are no whole pages of {page}", state.size.0), "round the size up"));
    }
    let free = Bytes(found.free.saturating_add_signed(others.saturating_neg()));
    if free.0 < state.size.0.saturating_add(RESERVE.0) {
        let why = format!("{} are needed and {RESERVE} must stay free, but {free} are free", state.size);
        return Err(refused(why, "choose a smaller size or another file system"));
    }
    Ok(())
}
