//! Sampling: reading another process against the bare system call (P10), a whole estimate (P11), locating pages (P12).
//!
//! The peer of P10 is a loop of process_vm_readv in C over the same pages of the same process, 256 ranges a call, at most 1 MiB.
//! All times are processor time, interleaved, medians with quartiles. Nothing is asserted.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, bail};

const ROUNDS: usize = 15;
/// Memory of the process that is read.
const HELD_MIB: &str = "256";
/// Reserved memory of the process whose pages are located, in GiB, and runs of 64 pages in it.
const SPARSE: [&str; 2] = ["136", "1562"];
/// How many of these runs are near each other: four share the 2 MiB of one page table as in a browser's heap; alone is the worst case,
/// for the kernel looks through a whole table for each.
const TOGETHER: [&str; 2] = ["4", "1"];

const PEER: &str = r#"
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <time.h>

static double cpu(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
    int pid = atoi(argv[1]);
    static struct iovec ranges[1 << 20];
    static char buffer[1 << 20];
    size_t count = 0, bytes = 0;
    unsigned long start, pages;
    while (scanf("%lu %lu", &start, &pages) == 2)
        for (unsigned long page = 0; page < pages && count < 1 << 20; page++)
            ranges[count++] = (struct iovec){(void *)(start + page * 4096), 4096};
    double begin = cpu();
    for (int pass = 0; pass < 4; pass++)
        for (size_t at = 0; at < count; at += 256) {
            size_t some = count - at < 256 ? count - at : 256;
            struct iovec local = {buffer, some * 4096};
            ssize_t read = process_vm_readv(pid, &local, 1, ranges + at, some, 0);
            if (read > 0) bytes += read;
        }
    printf("%f\n", bytes / (cpu() - begin));
    return 0;
}
"#;

/// Prints all of them.
pub fn run() -> anyhow::Result<()> {
    println!("\nsampling, processor time, {ROUNDS} rounds: median (quartiles)");
    let ours = build()?;
    reading(&ours)?;
    estimate(&ours)?;
    TOGETHER.into_iter().try_for_each(|together| locating(&ours, together))
}

fn build() -> anyhow::Result<PathBuf> {
    let words = ["build", "--release", "--quiet", "--package", "swaptune-bench", "--example", "sampling"];
    if !Command::new(env!("CARGO")).args(words).status()?.success() {
        bail!("the example `sampling` does not build");
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    Ok(target.join("release/examples/sampling"))
}

/// A process to look at; it ends when this is dropped.
struct Looked {
    child: Child,
    _stdin: ChildStdin,
    _stdout: BufReader<ChildStdout>,
}

impl Looked {
    fn start(ours: &Path, words: &[&str]) -> anyhow::Result<Self> {
        let mut child = Command::new(ours).args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let stdin = child.stdin.take().context("its input")?;
        let mut stdout = BufReader::new(child.stdout.take().context("its output")?);
        let mut line = String::new();
        stdout.read_line(&mut line)?;
        if line != "ready\n" {
            bail!("{words:?} said {line:?}");
        }
        Ok(Self { child, _stdin: stdin, _stdout: stdout })
    }

    fn pid(&self) -> String {
        self.child.id().to_string()
    }
}

impl Drop for Looked {
    fn drop(&mut self) {
        // It has nothing to lose.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn numbers(command: &mut Command) -> anyhow::Result<Vec<f64>> {
    let output = command.output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        bail!("{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    text.lines().map(|line| line.parse().with_context(|| format!("{command:?}: {line:?}"))).collect()
}

fn reading(ours: &Path) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let (source, peer) = (folder.path().join("peer.c"), folder.path().join("peer"));
    std::fs::write(&source, PEER)?;
    if !Command::new("cc").args(["-O2", "-o"]).args([&peer, &source]).status().is_ok_and(|status| status.success()) {
        println!("  reading: left out (needs a C compiler for the peer: apt install gcc)");
        return Ok(());
    }
    let held = Looked::start(ours, &["hold", HELD_MIB])?;
    let runs = Command::new(ours).args(["runs", &held.pid()]).output()?.stdout;
    let (mut all, mut some, mut bare, mut ratio) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let mine = numbers(Command::new(ours).args(["read", &held.pid()]))?;
        let theirs = bare_loop(&peer, &held.pid(), &runs)?;
        let &[mine_all, mine_some] = mine.as_slice() else { bail!("read printed {mine:?}") };
        all.push(mine_all / 1e9);
        some.push(mine_some / 1e9);
        bare.push(theirs / 1e9);
        ratio.push(mine_all / theirs);
    }
    println!(
        "  reading {HELD_MIB} MiB of another process   {} GB/CPU-s; bare loop {}; ratio {}",
        shown(all),
        shown(bare),
        shown(ratio)
    );
    println!("  reading every 16th page of it        {} GB/CPU-s", shown(some));
    Ok(())
}

fn bare_loop(peer: &Path, pid: &str, runs: &[u8]) -> anyhow::Result<f64> {
    let mut child = Command::new(peer).arg(pid).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    child.stdin.take().context("its input")?.write_all(runs)?;
    let text = String::from_utf8(child.wait_with_output()?.stdout)?;
    text.trim().parse().with_context(|| format!("the peer printed {text:?}"))
}

fn estimate(ours: &Path) -> anyhow::Result<()> {
    for codecs in ["lz4,zstd:1", "lz4,zstd", "lz4,lz4hc,zstd,zstd:1,deflate"] {
        let (mut spent, mut width) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let answer = numbers(Command::new(ours).args(["estimate", codecs]))?;
            spent.push(answer[0]);
            width.push(answer[1] * 100.0);
        }
        println!("  4096 pages of all processes, {codecs:<30} {} s CPU, ±{} %", shown(spent), shown(width));
    }
    Ok(())
}

fn locating(ours: &Path, together: &str) -> anyhow::Result<()> {
    let sparse = Looked::start(ours, &["sparse", SPARSE[0], SPARSE[1], together])?;
    let (mut scan, mut read, mut found) = (Vec::new(), Vec::new(), [0.0; 2]);
    for _ in 0..ROUNDS {
        let answer = numbers(Command::new(ours).args(["locate", &sparse.pid()]))?;
        let &[scanned, by_scan, pagemap, by_pagemap] = answer.as_slice() else { bail!("locate printed {answer:?}") };
        scan.push(scanned * 1e3);
        read.push(pagemap * 1e3);
        found = [by_scan, by_pagemap];
    }
    println!(
        "  locating {} pages in {} GiB reserved, {together} runs a table: PAGEMAP_SCAN {} ms, reading pagemap {} ms ({} pages)",
        found[0],
        SPARSE[0],
        shown(scan),
        shown(read),
        found[1]
    );
    Ok(())
}

fn shown(mut values: Vec<f64>) -> String {
    values.sort_by(f64::total_cmp);
    let at = |share: f64| values[((values.len() - 1) as f64 * share) as usize];
    format!("{:.3} ({:.3}–{:.3})", at(0.5), at(0.25), at(0.75))
}
