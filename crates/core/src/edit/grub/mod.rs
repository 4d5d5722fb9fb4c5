//! `/etc/default/grub` and its drop-ins: kernel arguments in shell variables.
//!
//! The files are shell code that `grub-mkconfig` sources, so reading them in full would take a shell. What is
//! understood is one plain assignment that starts a line, in double quotes, single quotes or none, on one line or on several
//! with a backslash at the end of each; a file that sets the two variables in any other way is refused as a whole, with the line and what to do, and nothing is changed.

mod assignment;

use assignment::{Assignment, assignments, bare_is_safe};

use super::cmdline::{CmdlinePiece, pieces, render, same_name};
use super::{Edit, apply};

/// Arguments of every boot entry, the rescue entries included.
pub const LINUX: &str = "GRUB_CMDLINE_LINUX";

/// Arguments of the normal entries, behind those of [`LINUX`].
pub const DEFAULT: &str = "GRUB_CMDLINE_LINUX_DEFAULT";

/// Longest value that is followed; the kernel itself takes a few KiB.
const LONGEST: usize = 1 << 16;

/// Something in the file that cannot be read with certainty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}line {line}: found {found}, expected {expected}; {hint}", if path.is_empty() { String::new() } else { format!("{path}, ") })]
pub struct GrubError {
    /// The file, when it is known.
    pub path: String,
    /// Line number, from 1.
    pub line: usize,
    /// What stands there.
    pub found: String,
    /// What could be read.
    pub expected: String,
    /// What to do.
    pub hint: String,
}

/// The two variables after all files were read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effective {
    /// Value of [`LINUX`].
    pub linux: String,
    /// Value of [`DEFAULT`].
    pub default: String,
}

impl Effective {
    /// The arguments of a normal boot entry, in the order of `/etc/grub.d/10_linux`.
    #[must_use]
    pub fn arguments(&self) -> String {
        let parts = [self.linux.trim(), self.default.trim()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    }

    fn value(&mut self, variable: &str) -> &mut String {
        if variable == LINUX { &mut self.linux } else { &mut self.default }
    }
}

/// The arguments as grub-mkconfig sees them: the main file first, then its drop-ins in the order of their names.
///
/// # Errors
/// [`GrubError`] when one of the files sets them in a way that only a shell could follow.
pub fn effective(files: &[(&str, &str)]) -> Result<Effective, GrubError> {
    let mut now = Effective::default();
    for (path, text) in files {
        let in_file = |error: GrubError| GrubError { path: (*path).to_owned(), ..error };
        for assignment in assignments(text).map_err(in_file)? {
            let value = assignment.expand(|variable| now.value(variable).clone());
            if value.len() + now.value(assignment.variable).len() > LONGEST {
                return Err(in_file(assignment.error("a value of more than 64 KiB", "write the arguments out")));
            }
            let place = now.value(assignment.variable);
            if assignment.appends {
                place.push_str(&value);
            } else {
                *place = value;
            }
        }
    }
    Ok(now)
}

/// The text with these arguments, and without other arguments whose name starts with one of `remove`.
///
/// The words go into the last assignment of [`DEFAULT`], each in the place of an older word of its name; older words
/// in any other assignment of the two variables are removed. Quotes, remarks and every other byte stay. A file without
/// that variable gets one at its end, so this is for the main file; a drop-in comes from [`dropin`].
///
/// # Errors
/// [`GrubError`] when the file is not plain enough to be edited with certainty.
pub fn set(text: &str, wanted: &[(&str, &str)], remove: &[&str]) -> Result<String, GrubError> {
    let all = assignments(text)?;
    let last = all.iter().rposition(|assignment| assignment.variable == DEFAULT);
    let prefixed =
        |name: &str| remove.iter().any(|prefix| name.get(..prefix.len()).is_some_and(|start| same_name(start, prefix)));
    let mut edits = Vec::new();
    for (index, assignment) in all.iter().enumerate() {
        let here = if last == Some(index) { wanted } else { &[] };
        let named = |name: &str| wanted.iter().any(|(wanted, _)| same_name(name, wanted));
        let pieces = pieces(&assignment.value, here, |name| prefixed(name) || named(name));
        edits.extend(edit(text, assignment, &pieces)?);
    }
    let mut out = apply(text, &edits);
    if last.is_none() && !wanted.is_empty() {
        goes_on(&out)?;
        if !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
        out.push_str(&format!("{DEFAULT}=\"{}\"\n", double_quoted(&join(wanted))));
    }
    Ok(out)
}

/// True when a drop-in sets [`DEFAULT`] anew, so that what the files before it gave is lost.
///
/// # Errors
/// [`GrubError`] when the file is not plain enough to tell.
pub fn sets_anew(text: &str) -> Result<bool, GrubError> {
    let anew = |assignment: &Assignment| assignment.variable == DEFAULT && !assignment.appends && !assignment.refers_to(DEFAULT);
    Ok(assignments(text)?.iter().any(anew))
}

/// A last line that ends in a backslash would swallow the line behind it.
fn goes_on(text: &str) -> Result<(), GrubError> {
    if !text.trim_end_matches(['\n', '\r']).ends_with('\\') {
        return Ok(());
    }
    Err(GrubError {
        path: String::new(),
        line: text.lines().count(),
        found: "a backslash at the end of the file".into(),
        expected: "a whole last line".into(),
        hint: "remove it".into(),
    })
}

/// A drop-in for `/etc/default/grub.d` that adds these arguments to whatever the main file says.
#[must_use]
pub fn dropin(words: &[(&str, &str)]) -> String {
    format!(
        "# Written by swaptune, replaced at each apply; `swaptune rollback` removes it.\n{DEFAULT}=\"${DEFAULT} {}\"\n",
        double_quoted(&join(words))
    )
}

fn join(words: &[(&str, &str)]) -> String {
    words.iter().map(|(name, value)| render(name, value)).collect::<Vec<_>>().join(" ")
}

/// The edit of one value, `None` when nothing changes.
fn edit(text: &str, old: &Assignment, pieces: &[CmdlinePiece]) -> Result<Option<Edit>, GrubError> {
    let new: String = pieces.iter().map(|piece| old.text_of(piece)).collect();
    if new == old.value {
        return Ok(None);
    }
    let requoted = old.quote.is_none() && !bare_is_safe(&new);
    if old.quote == Some('\'') && pieces.iter().any(|piece| matches!(piece, CmdlinePiece::New(new) if new.contains('\''))) {
        return Err(old.error("single quotes around the value, and an argument with one in it", "use double quotes there"));
    }
    let raw = pieces.iter().map(|piece| match piece {
        CmdlinePiece::Kept(range) if requoted => old.double_quoted(range.clone()),
        CmdlinePiece::Kept(range) => text[old.raw(range.clone())].to_owned(),
        CmdlinePiece::New(new) if requoted || old.quote == Some('"') => double_quoted(new),
        CmdlinePiece::New(new) => new.clone(),
    });
    let raw: String = raw.collect();
    let with = if requoted { format!("\"{raw}\"") } else { raw };
    Ok(Some(Edit { range: old.raw(0..old.value.len()), with }))
}

/// A text as it stands between double quotes of a shell.
fn double_quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '"' | '\\' | '$' | '`') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests;
