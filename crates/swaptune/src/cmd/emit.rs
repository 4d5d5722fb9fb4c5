//! `swaptune emit`: the plan in the form of another program.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use swaptune_core::emit::{Emitted, emit};

use super::Context;
use super::plan::{Made, PlanBasis, RecordResolved, for_settings, make};
use crate::cli::{EmitArgs, SimulatedArgs, WhenArgs};
use crate::failure::{Failure, REFUSED, USAGE};
use crate::{configuration, output};

/// Prints the files, or writes them below a folder.
pub fn run(context: &Context, args: &EmitArgs) -> Result<u8, Failure> {
    let Made { facts, settings, mut plan, .. } =
        make(context, &args.wanted, &SimulatedArgs::default(), &WhenArgs::default(), &[])?;
    let held_back = plan.held_back > 0;
    if held_back {
        // What would have to be done for it is still to be told.
        let (evidence, _) = configuration::evidence(&context.machine, &args.wanted)?;
        let basis = PlanBasis::recorded(context, &settings, &evidence);
        plan = for_settings(context, &facts, basis, &WhenArgs::default(), RecordResolved(true), &[]);
    }
    if let Some(refusal) = plan.refusals.first() {
        return Err(Failure::new(REFUSED, format!("{}: {}", refusal.what, refusal.why)).hint(refusal.hint.clone()));
    }
    let mut emitted = emit(args.format, &facts, &settings, &plan);
    emitted
        .notes
        .extend(configuration::adopted(&facts, &args.wanted)?.into_iter().flat_map(|taken| taken.notes).map(|note| note.text));
    if held_back {
        emitted.notes.push("`swaptune plan` proposes no change here, for this gains little".to_owned());
    }
    if emitted.files.is_empty() {
        let why = emitted.notes.first().cloned().unwrap_or_default();
        return Err(Failure::new(REFUSED, why).hint("`swaptune plan` shows what is planned; `swaptune emit --help` the formats"));
    }
    match &args.out {
        Some(folder) => write(folder, &emitted)?,
        None if context.json => output::json_versioned(&emitted)?,
        None => output::data(&text(&emitted))?,
    }
    if !context.json {
        emitted.notes.iter().for_each(|note| output::message(note));
    }
    Ok(0)
}

/// One file as it is; of several each under its path, as head(1) shows them.
fn text(emitted: &Emitted) -> String {
    match emitted.files.as_slice() {
        [file] => file.text.clone(),
        files => files.iter().map(|file| format!("==> {} <==\n{}\n", file.path, file.text)).collect(),
    }
}

/// Writes the files below a folder. What is there already is never written over: all is looked at first.
fn write(folder: &Path, emitted: &Emitted) -> Result<(), Failure> {
    let places: Vec<_> = emitted.files.iter().map(|file| (folder.join(file.path.trim_start_matches('/')), &file.text)).collect();
    if let Some((place, _)) = places.iter().find(|(place, _)| place.symlink_metadata().is_ok()) {
        return Err(Failure::new(USAGE, format!("{} is there already", place.display())).hint("name a new folder with --out"));
    }
    for (place, text) in &places {
        let failed = |error| Failure::new(1, format!("{}: {error}", place.display()));
        fs::create_dir_all(place.parent().unwrap_or(folder)).map_err(failed)?;
        let mut file = OpenOptions::new().write(true).create_new(true).open(place).map_err(failed)?;
        file.write_all(text.as_bytes()).map_err(failed)?;
        output::data(&format!("{}\n", place.display()))?;
    }
    Ok(())
}
