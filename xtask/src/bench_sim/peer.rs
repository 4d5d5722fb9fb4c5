//! libcachesim in a Python environment of its own.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, ensure};
use serde_json::{Value, json};

/// The version that is compared with.
pub const VERSION: &str = "0.3.5";

/// A running peer; it ends when its standard input does.
pub struct Peer {
    child: Child,
    asks: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Peer {
    /// Installs it below `folder` unless it is there, and starts it.
    pub fn start(folder: &Path) -> anyhow::Result<Self> {
        let python = folder.join("venv/bin/python");
        let there = |python: &Path| {
            let script = format!("import libcachesim, importlib.metadata as m; assert m.version('libcachesim') == '{VERSION}'");
            Command::new(python).args(["-c", &script]).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
        };
        if !there(&python) {
            std::fs::create_dir_all(folder)?;
            let hint = "the peer needs python3 with venv (Debian: apt install python3-venv) and PyPI";
            let done = |command: &mut Command| command.status().is_ok_and(|status| status.success());
            ensure!(done(Command::new("python3").args(["-m", "venv"]).arg(folder.join("venv"))), "{hint}");
            let package = format!("libcachesim=={VERSION}");
            ensure!(done(Command::new(&python).args(["-m", "pip", "install", "--quiet", &package])), "{hint}");
        }
        let mut command = Command::new(&python);
        command.arg("scripts/bench_sim_peer.py").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().with_context(|| python.display().to_string())?;
        let asks = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().context("standard output of the peer")?);
        Ok(Self { child, asks, answers })
    }

    /// Processor time and miss ratio of a replay.
    pub fn replay(&mut self, trace: &Path, policy: &str, size: u32, hashpower: u32) -> anyhow::Result<(f64, f64)> {
        let answer = self.ask(&json!({ "trace": trace, "policy": policy, "size": size, "hashpower": hashpower }))?;
        Ok((number(&answer, "seconds")?, number(&answer, "ratio")?))
    }

    /// Processor time of reading a trace, and what was counted: its requests, or the objects of its working set.
    pub fn walk(&mut self, trace: &Path, count: &str) -> anyhow::Result<(f64, u64)> {
        let answer = self.ask(&json!({ "trace": trace, "count": count }))?;
        let counted = answer["count"].as_u64().with_context(|| format!("count in {answer}"))?;
        Ok((number(&answer, "seconds")?, counted))
    }

    fn ask(&mut self, ask: &Value) -> anyhow::Result<Value> {
        let mut line = String::new();
        writeln!(self.asks.as_mut().context("the peer is running")?, "{ask}")?;
        ensure!(self.answers.read_line(&mut line)? > 0, "the peer ended at {ask}");
        serde_json::from_str(&line).with_context(|| format!("the peer answered {line}"))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // The end of its input ends it.
        self.asks = None;
        let _ = self.child.wait();
    }
}

fn number(answer: &Value, name: &str) -> anyhow::Result<f64> {
    answer[name].as_f64().with_context(|| format!("{name} in {answer}"))
}
