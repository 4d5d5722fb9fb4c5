//! Encrypted mappings with swap in them, opened and closed.
//!
//! Whether one is open is read from sysfs. Opening includes the swap header, as crypttab's option `swap` does it: behind a key that was
//! just made there is nothing that could be lost.

use swaptune_core::change::{MappingKey, MappingState};

use super::header::{current, names};
use super::{ChangeHandler, Completed, Observed, RecordedStep, Restored, StepContext, UndoState, mismatch};
use crate::journal::{Journal, Saved};
use crate::swap_header;
use crate::transaction::error::StepError;
use crate::transaction::run::Run;

pub(super) struct MappingHandler<'a> {
    pub name: &'a str,
    pub before: Option<&'a MappingState>,
    pub after: Option<&'a MappingState>,
}

impl ChangeHandler for MappingHandler<'_> {
    fn observe(&self, cx: StepContext<'_>) -> Result<Observed, StepError> {
        let found = open(&cx.run, self.name)?;
        Ok(match found.as_ref() {
            None if self.after.is_none() => Observed::After,
            None if self.before.is_none() => Observed::Before,
            Some(open) if is(&cx.run, open, self.after)? => match self.after {
                Some(after) if !has_swap(&cx.run, self.name, after)? => Observed::Other("open without its swap header".into()),
                _ => Observed::After,
            },
            Some(open) if is(&cx.run, open, self.before)? => Observed::Before,
            found => Observed::Other(words(found)),
        })
    }

    fn save(&self, cx: StepContext<'_>, _: &Journal<'_>, _: usize) -> Result<Saved, StepError> {
        Ok(Saved::Mapping { open: open(&cx.run, self.name)?.is_some() })
    }

    fn make(&self, cx: StepContext<'_>) -> Result<Completed, StepError> {
        self.become_state(cx, self.after)?;
        let words = |state: Option<&MappingState>| if state.is_some() { "open" } else { "closed" };
        Ok(Completed::changed(words(self.before), words(self.after)))
    }

    fn undo_state(&self, cx: StepContext<'_>, recorded: RecordedStep<'_>) -> Result<UndoState, StepError> {
        let Saved::Mapping { open: saved } = recorded.saved else { return Err(mismatch(self.name)) };
        let found = open(&cx.run, self.name)?;
        Ok(match (found.as_ref(), *saved) {
            (None, false) => UndoState::Saved,
            (Some(open), true) if is(&cx.run, open, self.before)? => UndoState::Saved,
            (None, true) => UndoState::Ours,
            (Some(open), false) if is(&cx.run, open, self.after)? => UndoState::Ours,
            (found, _) => UndoState::Other(words(found)),
        })
    }

    fn restore(&self, cx: StepContext<'_>, recorded: RecordedStep<'_>) -> Result<Restored, StepError> {
        let Saved::Mapping { open: saved } = recorded.saved else { return Err(mismatch(self.name)) };
        self.become_state(cx, if *saved { self.before } else { None })?;
        Ok(Restored::Whole)
    }
}

impl MappingHandler<'_> {
    fn become_state(&self, cx: StepContext<'_>, wanted: Option<&MappingState>) -> Result<(), StepError> {
        let found = open(&cx.run, self.name)?;
        let Some(wanted) = wanted else {
            return if found.is_some() { cx.run.close_mapping(self.name) } else { Ok(()) };
        };
        if found.is_none() {
            cx.run.open_mapping(self.name, wanted)?;
        }
        if !has_swap(&cx.run, self.name, wanted)? {
            self.write_header(cx, wanted)?;
        }
        let found = open(&cx.run, self.name)?;
        match found.as_ref() {
            Some(open) if is(&cx.run, open, Some(wanted))? && has_swap(&cx.run, self.name, wanted)? => Ok(()),
            found => {
                Err(StepError::NotTaken { path: path(self.name), wanted: "open with a swap header".into(), found: words(found) })
            }
        }
    }

    fn write_header(&self, cx: StepContext<'_>, wanted: &MappingState) -> Result<(), StepError> {
        let real = cx.run.real(&path(self.name))?;
        let (_, size) = super::header::open(&cx.run, &real)?;
        let page = swap_header::page(&wanted.swap.uuid, &wanted.swap.label, size, cx.run.kernel.page_size())
            .map_err(|source| StepError::Header { path: real.clone(), source })?;
        let file = cx.run.open_exclusive(&real)?;
        cx.run.overwrite(&real, &file, &[(0, page)])
    }
}

/// A mapping as sysfs shows it.
struct OpenMapping {
    uuid: String,
    below: Vec<String>,
}

fn path(name: &str) -> String {
    format!("/dev/mapper/{name}")
}

fn open(run: &Run<'_>, name: &str) -> Result<Option<OpenMapping>, StepError> {
    for device in names(run, "/sys/class/block").into_iter().filter(|device| device.starts_with("dm-")) {
        let folder = format!("/sys/class/block/{device}");
        if run.read_setting(&format!("{folder}/dm/name"))?.as_deref() == Some(name) {
            let uuid = run.read_setting(&format!("{folder}/dm/uuid"))?.unwrap_or_default();
            return Ok(Some(OpenMapping { uuid, below: names(run, &format!("{folder}/slaves")) }));
        }
    }
    Ok(None)
}

/// Whether what is open is of the wanted kind and lies on the wanted device.
fn is(run: &Run<'_>, open: &OpenMapping, wanted: Option<&MappingState>) -> Result<bool, StepError> {
    let Some(wanted) = wanted else { return Ok(false) };
    let kind = match &wanted.key {
        MappingKey::Random { .. } => "CRYPT-PLAIN-",
        MappingKey::File { .. } => "CRYPT-LUKS",
    };
    let real = run.real(&wanted.source)?;
    let name = real.trim_start_matches("/dev/").replace('/', "!");
    Ok(open.uuid.starts_with(kind) && open.below.contains(&name))
}

/// Whether there is a swap header in it: the wanted one, or any where each boot makes another.
fn has_swap(run: &Run<'_>, name: &str, wanted: &MappingState) -> Result<bool, StepError> {
    let found = current(run, &run.real(&path(name))?)?;
    let any = matches!(wanted.key, MappingKey::Random { .. });
    Ok(found.is_some_and(|found| any || found.uuid.eq_ignore_ascii_case(&wanted.swap.uuid)))
}

fn words(found: Option<&OpenMapping>) -> String {
    match found {
        None => "closed".into(),
        Some(open) => format!("open as {} on {}", open.uuid, open.below.join(", ")),
    }
}
