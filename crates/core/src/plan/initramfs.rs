//! The compressor's modules in the initramfs: the file that brings them there, and when the image is made anew.

use super::draft::{Draft, Why};
use super::initramfs_tools::InitramfsBuilder;
use super::{When, image};
use crate::change::Change;
use crate::facts::{Availability, Facts, InitramfsTool};

/// The compressor's modules in the initramfs, when that is asked for.
pub(super) fn plan(draft: &mut Draft<'_>) {
    let (facts, settings) = (draft.facts(), draft.settings());
    if !asks_for_initramfs(draft) {
        return;
    }
    let Some(tool) = facts.initramfs.tool.value() else {
        return draft.note("initramfs", format!("left alone: {}", facts.initramfs.tool.source()), facts.initramfs.tool.source());
    };
    let Some(name) = settings.zswap.compressor().and_then(|list| facts.first_usable(&list.value)) else { return };
    if is_built_in(facts, &name) {
        return draft.note("initramfs", format!("{name} is built in: nothing to add"), "modules.builtin");
    }
    let Some(rebuild) = rebuild(draft, &name) else { return };
    let builder = tool.builder();
    let why = |reason: String| Why::rule(reason, builder.manual);
    draft.file(builder.file, Some(text(builder, &name)), builder.mode, why(rebuild.clone()));
    let release = facts.kernel.release.value().cloned().unwrap_or_default();
    let outputs = facts.initramfs.image.value().cloned().into_iter().collect();
    let command = builder.command(&release);
    if let Some(why) = image::why_not_initramfs(draft, *tool) {
        return image::leave(draft, "initramfs", &command, why);
    }
    let change = Change::Generated { what: "initramfs".into(), command, outputs, before: false, after: true };
    draft.step(When::Boot, change, why(rebuild));
}

fn asks_for_initramfs(draft: &Draft<'_>) -> bool {
    draft.settings().boot.initramfs.as_ref().is_some_and(|on| on.value) && draft.settings().wants_zswap()
}

/// What our file says to bring a compressor into the initramfs.
fn text(builder: &InitramfsBuilder, compressor: &str) -> String {
    builder.text(&[compressor, &format!("{compressor}_compress")])
}

/// Whether our file is as it must be for this compressor.
fn is_in_place(draft: &Draft<'_>, tool: InitramfsTool, compressor: &str) -> bool {
    let builder = tool.builder();
    draft.facts().file(builder.file) == Some(&text(builder, compressor))
}

/// Whether the initramfs of the next boot is one that this plan makes, with a compressor in it, or one that an earlier plan
/// made and that cannot be read. That of an image may be left to its machine.
pub(super) fn is_made_with(draft: &Draft<'_>, compressor: &str) -> bool {
    let Some(tool) = draft.facts().initramfs.tool.value() else { return false };
    let is_here = image::why_not_initramfs(draft, *tool).is_none();
    is_here && (rebuild(draft, compressor).is_some() || is_in_the_dark(draft, *tool, compressor))
}

/// Our file is in place, so the image was made with it, and what is in the image cannot be read.
fn is_in_the_dark(draft: &Draft<'_>, tool: InitramfsTool, compressor: &str) -> bool {
    asks_for_initramfs(draft) && is_in_place(draft, tool, compressor) && !draft.facts().initramfs.contents.is_known()
}

/// Why the initramfs is to be made anew with a compressor in it; `None` when it is not.
fn rebuild(draft: &Draft<'_>, compressor: &str) -> Option<String> {
    let initramfs = &draft.facts().initramfs;
    let tool = *initramfs.tool.value().filter(|_| asks_for_initramfs(draft))?;
    if !is_in_place(draft, tool, compressor) {
        return Some(format!("{compressor} is loadable before the root file system is there"));
    }
    let contents = initramfs.contents.value()?;
    let has = |entry: &String| entry.strip_prefix(compressor).is_some_and(|ending| ending.starts_with(".ko"));
    let lacks = !contents.iter().any(has);
    lacks.then(|| format!("{} is there, but {compressor} is not in {}", tool.builder().file, initramfs.contents.source()))
}

pub(super) fn is_built_in(facts: &Facts, compressor: &str) -> bool {
    facts.compressors.iter().any(|c| c.name == compressor && c.availability == Availability::BuiltIn)
}
