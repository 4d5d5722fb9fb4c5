//! What came of one boot.
//!
//! The guest's console and its test output are two serial ports, so the output
//! holds nothing but what the script printed, framed by marker lines that start
//! with `@@`. Files come out of the guest the same way, packed and written as
//! base64 between two markers: a further disk would change what is measured.

use std::fmt;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::command::last_lines;

/// What an orderly end leaves on the console is short; a dead kernel's trace is not.
const CONSOLE_LINES: usize = 15;
const TRACE_LINES: usize = 90;

/// How the machine came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// QEMU ended by itself: a power-off.
    Ended,
    /// The kernel died.
    Panicked,
    /// The script did not start within the boot limit.
    Stalled,
    /// The script started and was not done within the limit.
    TimedOut,
}

/// Host times of one boot.
#[derive(Debug, Clone, Copy, Default)]
pub struct Times {
    /// Making of initramfs or image copy.
    pub prepare: Duration,
    /// From QEMU's start to the script's start.
    pub boot: Option<Duration>,
    /// From QEMU's start to its end.
    pub total: Duration,
}

/// The result of one boot.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The script's exit status, if it came to its end.
    pub status: Option<i32>,
    /// How the machine ended.
    pub end: End,
    /// What the script printed, without markers and packed files.
    pub output: String,
    /// The last lines of the kernel's console.
    pub console_tail: String,
    /// How long it took.
    pub times: Times,
    files: Vec<(String, String)>,
    impossible_flags: Option<String>,
}

/// The kernel of a guest died in a state that no processor can be in: what the test asked was not answered.
#[derive(Debug)]
pub struct EmulatorFault(String);

impl fmt::Display for EmulatorFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for EmulatorFault {}

/// What a kernel says when it dies; its last words, unless `panic=` keeps it from standing still.
const PANIC: &str = "Kernel panic - not syncing";

/// Whether the console shows that the kernel died.
///
/// # Errors
///
/// When the console cannot be read.
pub fn panicked(console: &Path) -> Result<bool> {
    Ok(text_of(console)?.contains(PANIC))
}

impl Outcome {
    /// Reads the two port files of a machine that has ended.
    pub fn read(output: &Path, console: &Path, end: End, times: Times) -> Result<Self> {
        let text = text_of(output)?;
        let console = text_of(console)?;
        let mut outcome = Self {
            status: None,
            end,
            output: String::new(),
            console_tail: String::new(),
            times,
            files: Vec::new(),
            impossible_flags: impossible_flags(&console),
        };
        outcome.sort_lines(&text);
        let lines = if outcome.status.is_some() { CONSOLE_LINES } else { TRACE_LINES };
        outcome.console_tail = last_lines(&console, lines);
        Ok(outcome)
    }

    /// Whether the script ran to its end with status 0 and the machine went off after it.
    pub fn succeeded(&self) -> bool {
        self.status == Some(0) && self.end == End::Ended
    }

    /// An error with everything that is known, unless the script succeeded; an [`EmulatorFault`] when no assertion had failed before the
    /// emulator did.
    ///
    /// # Errors
    ///
    /// When the script did not run to its end with status 0.
    pub fn ensure_success(&self) -> Result<()> {
        let has_failed = self.output.lines().any(|line| line.starts_with("FAIL"));
        if let (End::Panicked, Some(flags), false) = (self.end, &self.impossible_flags, has_failed) {
            return Err(
                EmulatorFault(format!("EFLAGS {flags} has bits that no processor sets: the emulator's fault\n{self}")).into()
            );
        }
        ensure!(self.succeeded(), "{self}");
        Ok(())
    }

    /// Values of the output's lines `KEY VALUE` for one key.
    pub fn values<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        self.output.lines().filter_map(move |line| line.strip_prefix(key).and_then(|rest| rest.strip_prefix(' ')))
    }

    /// Unpacks the folder that the script brought out under this name.
    pub fn unpack(&self, name: &str, target: &Path) -> Result<()> {
        let Some((_, packed)) = self.files.iter().find(|(found, _)| found == name) else {
            bail!("the guest brought out no folder named {name}:\n{self}");
        };
        fs::create_dir_all(target)?;
        let mut tar =
            Command::new("sh").args(["-c", "base64 -d | tar -xzf - -C \"$0\""]).arg(target).stdin(Stdio::piped()).spawn()?;
        tar.stdin.take().context("tar has an input")?.write_all(packed.as_bytes())?;
        ensure!(tar.wait()?.success(), "could not unpack {name}");
        Ok(())
    }

    /// Divides the raw output into the script's text, the markers and the packed files.
    fn sort_lines(&mut self, text: &str) {
        let mut packed: Option<(String, String)> = None;
        for line in text.lines() {
            match line.strip_prefix("@@").map(|rest| rest.split_once(' ').unwrap_or((rest, ""))) {
                Some(("END", rest)) => self.status = first_number(rest),
                Some(("FILE", name)) => packed = Some((name.to_owned(), String::new())),
                Some(("ENDFILE", _)) => self.files.extend(packed.take()),
                Some(_) => {}
                None => match &mut packed {
                    Some((_, content)) => content.push_str(line),
                    None => {
                        self.output.push_str(line);
                        self.output.push('\n');
                    }
                },
            }
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = |time: Duration| format!("{:.1} s", time.as_secs_f64());
        let status = match (self.status, self.end) {
            (Some(status), End::Ended) => format!("status {status}"),
            (Some(status), _) => format!("status {status}, but the guest did not go off"),
            (None, End::Ended) => "the guest ended before the script did".to_owned(),
            (None, End::Panicked) => "the kernel died before the script ended".to_owned(),
            (None, End::Stalled) => "the guest did not reach the script".to_owned(),
            (None, End::TimedOut) => "the script was not done in time".to_owned(),
        };
        let boot = self.times.boot.map_or("never".to_owned(), seconds);
        writeln!(
            f,
            "{status}; prepared in {}, script after {boot}, ended after {}",
            seconds(self.times.prepare),
            seconds(self.times.total)
        )?;
        for line in self.output.lines().filter(|line| line.starts_with("FAIL")) {
            writeln!(f, "{line}")?;
        }
        writeln!(f, "--- output\n{}", last_lines(&self.output, 1000))?;
        write!(f, "--- end of the console\n{}", self.console_tail)
    }
}

/// Bits of EFLAGS that are always zero: 3, 5, 15 and 22 to 31 (Intel SDM 1, 3.4.3).
const RESERVED_FLAGS: u32 = 0xffc0_8028;

/// The first EFLAGS in a kernel's trace that no processor can have.
fn impossible_flags(console: &str) -> Option<String> {
    let flags = console.lines().filter_map(|line| line.split_once(" EFLAGS: ")?.1.split_whitespace().next());
    flags.filter(|flags| u32::from_str_radix(flags, 16).is_ok_and(|bits| bits & RESERVED_FLAGS != 0)).map(str::to_owned).next()
}

fn first_number(text: &str) -> Option<i32> {
    text.split_whitespace().next()?.parse().ok()
}

/// A serial port's file as text with plain line ends.
fn text_of(file: &Path) -> Result<String> {
    let bytes = fs::read(file).with_context(|| format!("read {}", file.display()))?;
    Ok(String::from_utf8_lossy(&bytes).replace('\r', ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(text: &str) -> Outcome {
        with_console(text, "a\r\nb\r\n", End::Ended)
    }

    fn with_console(text: &str, words: &str, end: End) -> Outcome {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (output, console) = (folder.path().join("output"), folder.path().join("console"));
        fs::write(&output, text).expect("write the output");
        fs::write(&console, words).expect("write the console");
        Outcome::read(&output, &console, end, Times::default()).expect("read both")
    }

    fn is_emulators(outcome: &Outcome) -> bool {
        outcome.ensure_success().expect_err("it died").downcast_ref::<EmulatorFault>().is_some()
    }

    #[test]
    fn only_an_impossible_state_is_the_emulators_fault() {
        let trace = |flags: &str| format!("[ 115.1] RSP: 0018:ff55ea460074bcf0 EFLAGS: {flags}\r\n[ 115.2] {PANIC}: Fatal\r\n");
        let dead = |text: &str, flags: &str| with_console(text, &trace(flags), End::Panicked);
        assert!(is_emulators(&dead("@@START 1\nok a\n", "b10b7302")));
        assert!(!is_emulators(&dead("@@START 1\nok a\n", "00010246")), "a kernel's own fault");
        assert!(!is_emulators(&dead("@@START 1\nFAIL a\n", "b10b7302")), "an assertion had failed");
        assert!(!is_emulators(&with_console("@@START 1\n", &trace("b10b7302"), End::TimedOut)), "it lived on");
    }

    #[test]
    fn markers_are_not_part_of_the_output() {
        let outcome = outcome("@@START 5.1\r\nrelease 6.1\r\n@@END 3 9.2\r\n");
        assert_eq!(outcome.status, Some(3));
        assert_eq!(outcome.output, "release 6.1\n");
        assert_eq!(outcome.values("release").collect::<Vec<_>>(), ["6.1"]);
        assert_eq!(outcome.console_tail, "a\nb");
    }

    #[test]
    fn an_unfinished_script_has_no_status() {
        let outcome = outcome("@@START 5.1\nhalf");
        assert_eq!(outcome.status, None);
        assert!(outcome.ensure_success().is_err());
    }

    #[test]
    fn packed_folders_come_out() {
        let packed = crate::command::run(
            crate::command::command("sh")
                .args(["-c", "mkdir /tmp/x.$$ && cd /tmp/x.$$ && echo hi > a && tar -cz a | base64; rm -r /tmp/x.$$"]),
        )
        .expect("pack a folder");
        let outcome = outcome(&format!("@@FILE facts\n{packed}@@ENDFILE\nrest\n@@END 0 1\n"));
        assert_eq!(outcome.output, "rest\n");
        let target = tempfile::tempdir().expect("a temporary folder");
        outcome.unpack("facts", target.path()).expect("unpack");
        let text = fs::read_to_string(target.path().join("a")).expect("the file came out");
        assert_eq!(text, "hi\n");
    }
}
