//! A transient scope of systemd: systemd makes the group and removes it, and we may put processes in, for it is delegated.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use swaptune_core::Bytes;
use tracing::info;

use super::CgroupError;

/// A scope that lives as long as its only process of the beginning: a `cat` that ends when our end of its pipe closes.
#[derive(Debug)]
pub(super) struct ProcessScope(Child);

impl ProcessScope {
    pub(super) fn start(name: &str, user: bool, limit: Bytes) -> Result<Self, CgroupError> {
        let failed = |error: std::io::Error| CgroupError::Systemd(error.to_string());
        let mut command = Command::new("systemd-run");
        command.args(user.then_some("--user")).args(["--scope", "--quiet", "--collect", "--unit", name, "-p", "Delegate=yes"]);
        command.arg("-p").arg(format!("MemoryMax={}", limit.0)).args(["--", "cat"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        info!("run {command:?}");
        let mut scope = Self(command.spawn().map_err(failed)?);
        match scope.greet() {
            Ok(true) => Ok(scope),
            Ok(false) => Err(CgroupError::Systemd(scope.last_words())),
            Err(error) => Err(CgroupError::Systemd(format!("{error}; {}", scope.last_words()))),
        }
    }

    /// What comes back through `cat` shows that the scope is there: systemd-run becomes `cat` once it is in it.
    fn greet(&mut self) -> std::io::Result<bool> {
        if let Some(stdin) = &mut self.0.stdin {
            stdin.write_all(b"here\n")?;
        }
        let mut line = String::new();
        if let Some(stdout) = &mut self.0.stdout {
            BufReader::new(stdout).read_line(&mut line)?;
        }
        Ok(line == "here\n")
    }

    fn last_words(&mut self) -> String {
        drop(self.0.stdin.take());
        let lines = self.0.stderr.take().map(BufReader::new).map(BufRead::lines);
        let text: Vec<String> = lines.into_iter().flatten().map_while(Result::ok).collect();
        let _ = self.0.wait();
        if text.is_empty() { "it said nothing".into() } else { text.join("; ") }
    }

    /// The process that holds it.
    pub(super) fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Ends the holder; systemd removes the scope once it is empty.
    pub(super) fn end(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}
