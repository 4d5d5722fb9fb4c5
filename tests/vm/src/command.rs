//! Child processes that must succeed.
//!
//! The runners call many small tools (apt-get, depmod, mkfs). Each call either
//! gives its output or an error that carries the whole command and the end of
//! what it printed: a failed tool must be readable from the test's message
//! alone, because the work folder is gone by then.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// A command with no input, to be run by [`run`]; also finds what only root's PATH has.
pub fn command(program: &str) -> Command {
    let found = find_program(program).unwrap_or_else(|| program.into());
    let mut command = Command::new(found);
    command.stdin(Stdio::null()).env("LC_ALL", "C");
    command
}

/// Runs the command to its end and returns its standard output.
pub fn run(command: &mut Command) -> Result<String> {
    let shown = format!("{command:?}");
    let output = command.output().with_context(|| format!("could not start {shown}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        bail!("{shown} ended with {}:\n{}", output.status, last_lines(&format!("{text}{errors}"), 25));
    }
    Ok(text)
}

/// The last `count` lines of a text.
pub fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

/// Looks a program up in PATH and the two folders that PATH of a plain user lacks.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin".into(), "/sbin".into()])
        .map(|folder| folder.join(name))
        .find(|file| is_executable(file))
}

/// Whether this process runs as root.
pub fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    // The folder of the process itself belongs to its effective user.
    std::fs::metadata("/proc/self").is_ok_and(|meta| meta.uid() == 0)
}

fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(file).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_command_shows_what_it_printed() {
        let error = run(command("sh").args(["-c", "echo out; echo err >&2; exit 3"])).expect_err("exit status 3 is a failure");
        let text = error.to_string();
        assert!(text.contains("out") && text.contains("err"), "{text}");
    }

    #[test]
    fn the_last_lines_of_a_short_text_are_the_text() {
        assert_eq!(last_lines("a\nb", 5), "a\nb");
        assert_eq!(last_lines("a\nb\nc", 2), "b\nc");
    }
}
