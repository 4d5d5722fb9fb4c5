//! `bench disk` and `bench cipher` with the real fio and cryptsetup, at small sizes: what they leave behind and what they refuse.
//!
//! Needs fio, a build tree on a disk and, for devices, root and a free loop device; what is missing is said and ignored by name.

use std::fs::{self, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Output, Stdio};
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use serde_json::Value;
use swaptune_trials::{TestResult, lacks, needing, program, run};
use tempfile::TempDir;

/// Name, test, and what it needs.
type Row = (&'static str, fn() -> Result<(), Failed>, fn() -> TestResult);

fn main() -> ExitCode {
    let table: [Row; 7] = [
        ("disk_measures_scratch_files_and_leaves_none", scratch_files, fio),
        ("disk_killed_half_way_leaves_nothing", killed, fio),
        ("disk_refuses_what_is_no_disk", no_disk, fio),
        ("disk_keeps_the_header_of_an_unused_swap_area", swap_area, device),
        ("disk_refuses_devices_with_data_and_devices_in_use", refused_devices, device),
        ("missing_programs_are_named_with_their_packages", missing_programs, mounts_of_its_own),
        ("cipher_measures_or_says_why_not", cipher, || program("cryptsetup", &["--version"])),
    ];
    run(table.map(|(name, test, needs)| needing(name, needs, test)).into())
}

/// fio, and a build tree that it can be used in.
fn fio() -> TestResult {
    program("fio", &["--version"])?;
    let kind = Command::new("stat").args(["-f", "-c", "%T", env!("CARGO_TARGET_TMPDIR")]).output()?;
    let kind = String::from_utf8_lossy(&kind.stdout).trim().to_owned();
    if ["tmpfs", "overlayfs"].contains(&kind.as_str()) { lacks(format!("the build tree lies on {kind}")) } else { Ok(()) }
}

fn device() -> TestResult {
    fio()?;
    program("losetup", &["--find"]).or_else(|_| lacks("no root, or no loop device is free"))
}

fn mounts_of_its_own() -> TestResult {
    program("unshare", &["--mount", "true"]).or_else(|_| lacks("no root, or no unshare of util-linux"))
}

fn scratch() -> Result<TempDir, Failed> {
    Ok(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?)
}

fn command(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_swaptune"));
    command.args(words).stdin(Stdio::null());
    command
}

/// Runs it and checks the exit code.
fn expect(command: &mut Command, code: i32) -> Result<Output, Failed> {
    let output = command.output()?;
    if output.status.code() == Some(code) {
        return Ok(output);
    }
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Err(format!("{command:?} ended with {}, expected {code}:\n{text}", output.status).into())
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn that(holds: bool, what: impl std::fmt::Display) -> Result<(), Failed> {
    if holds { Ok(()) } else { Err(what.to_string().into()) }
}

fn names(folder: &Path) -> Result<Vec<String>, Failed> {
    Ok(fs::read_dir(folder)?.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
}

fn scratch_files() -> Result<(), Failed> {
    let (folder, results) = (scratch()?, scratch()?);
    let (dir, kept) = (folder.path().display().to_string(), results.path().join("results.jsonl"));
    let words = ["--dir", &dir, "--size", "16M", "--seconds", "0.5", "--rounds", "2", "--jobs", "1,2", "--areas", "2"];
    let mut run = command(&["bench", "disk", "--json"]);
    let output = expect(run.args(words).arg("--results").arg(&kept), 0)?;
    let report: Value = serde_json::from_slice(&output.stdout)?;
    let rows = report["measurements"].as_array().ok_or("no measurements")?;
    // Mixed 2 × 2, clusters 2, pages 2, buffered, cached.
    that(rows.len() == 10, format!("{} rows", rows.len()))?;
    for row in rows {
        let figures = &row["figures"];
        let shape = figures["shape"].as_str().unwrap_or_default();
        let (reads, writes) = (shape != "cluster-write", ["mixed", "cluster-write"].contains(&shape));
        for (side, wanted) in [("read", reads), ("write", writes)] {
            let io = &figures[side];
            that(io.is_object() == wanted, format!("{shape} {side}: {io}"))?;
            if wanted {
                let samples = io["latency"]["samples"].as_u64().unwrap_or(0);
                that(samples > 0 && io["iops"].as_f64() > Some(0.0), format!("{shape} {side}: {io}"))?;
                that(io["latency"]["p50"].as_u64() <= io["latency"]["p99"].as_u64(), format!("{io}"))?;
            }
        }
        that(figures["rounds"].as_array().map(Vec::len) == Some(2), format!("{figures}"))?;
        that(figures["size"] == 16 << 20 && !figures["disks"][0].is_null(), format!("{figures}"))?;
    }
    let areas: Vec<usize> = rows.iter().map(|row| row["figures"]["places"].as_array().map_or(0, Vec::len)).collect();
    that(areas == [1, 2, 1, 2, 1, 2, 1, 1, 1, 1], format!("{areas:?}"))?;
    that(report["gains"].as_array().map(Vec::len) == Some(3), format!("{:#}", report["gains"]))?;
    let lines: Vec<Value> = fs::read_to_string(&kept)?.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    that(&lines == rows, "what is kept is not what was shown")?;
    let left = names(folder.path())?;
    that(left.is_empty(), format!("left behind: {left:?}"))
}

/// Links of `/proc/PID/fd` into a folder, of any process: unlinked files show as `… (deleted)`.
fn open_below(folder: &Path) -> Vec<PathBuf> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let fds = processes.filter_map(|process| fs::read_dir(process.path().join("fd")).ok()).flat_map(Iterator::flatten);
    fds.filter_map(|fd| fs::read_link(fd.path()).ok()).filter(|target| target.starts_with(folder)).collect()
}

/// Waits for something that must come; the limit only ends a test that fails.
fn wait_until(what: &str, mut holds: impl FnMut() -> bool) -> Result<(), Failed> {
    let began = Instant::now();
    while !holds() {
        if began.elapsed() > Duration::from_secs(60) {
            return Err(format!("waited in vain: {what}").into());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Whether a child of this process runs fio.
fn runs_fio(parent: u32) -> bool {
    let list = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap_or_default();
    list.split_whitespace().any(|child| fs::read_to_string(format!("/proc/{child}/comm")).is_ok_and(|name| name.trim() == "fio"))
}

fn killed() -> Result<(), Failed> {
    let folder = scratch()?;
    let dir = folder.path().canonicalize()?;
    let text = dir.display().to_string();
    let mut run = command(&["bench", "disk", "--no-save", "--dir", &text, "--size", "16M", "--seconds", "600", "--jobs", "1"]);
    let child = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let mut child = Killed(child);
    let id = child.0.id();
    // Filling 16 MiB takes a moment, the first point ten minutes: fio is then in the middle of it.
    wait_until("fio at work on a scratch file", || runs_fio(id) && open_below(&dir).len() > 2)?;
    let left = names(&dir)?;
    that(left.is_empty(), format!("a scratch file has a name: {left:?}"))?;
    child.0.kill()?;
    child.0.wait()?;
    wait_until("the scratch files are gone with their last holder", || open_below(&dir).is_empty())?;
    let left = names(&dir)?;
    that(left.is_empty(), format!("left behind: {left:?}"))
}

fn no_disk() -> Result<(), Failed> {
    for (dir, words) in [("/proc", "not on a disk"), ("/dev/shm", "not on a disk")] {
        if Path::new(dir).is_dir() {
            let output = expect(&mut command(&["bench", "disk", "--no-save", "--dir", dir]), 3)?;
            that(stderr(&output).contains(words) && stderr(&output).contains("--dir DIR"), stderr(&output))?;
        }
    }
    let dir = env!("CARGO_TARGET_TMPDIR");
    let output = expect(&mut command(&["bench", "disk", "--no-save", "--dir", dir, "--size", "1000T"]), 3)?;
    that(stderr(&output).contains("free; scratch files of"), stderr(&output))?;
    let output = expect(&mut command(&["bench", "disk", "--no-save", "--dir", "/nonexistent"]), 1)?;
    that(stderr(&output).contains("/nonexistent: No such file"), stderr(&output))?;
    expect(&mut command(&["bench", "disk", "--no-save", "--seconds", "0"]), 2)?;
    expect(&mut command(&["bench", "disk", "--no-save", "--device", "/dev/null"]), 2).map(drop)
}

/// A loop device over a file, gone with this.
struct Loop {
    device: String,
    file: PathBuf,
    _folder: TempDir,
}

impl Loop {
    fn new(mib: u64) -> Result<Self, Failed> {
        let folder = scratch()?;
        let file = folder.path().join("disk");
        fs::write(&file, vec![0xa5; (mib << 20) as usize])?;
        let output = Command::new("losetup").args(["--find", "--show", "--direct-io=on"]).arg(&file).output()?;
        that(output.status.success(), stderr(&output))?;
        let device = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Ok(Self { device, file, _folder: folder })
    }

    fn make_swap(&self) -> Result<(), Failed> {
        let output = Command::new("mkswap").args(["--label", "kept"]).arg(&self.device).output()?;
        that(output.status.success(), stderr(&output))
    }

    fn bench(&self, flag: &str) -> Command {
        let sizes = ["--size", "16M", "--seconds", "0.2", "--rounds", "1", "--jobs", "1"];
        let mut run = command(&["bench", "disk", "--no-save", "--json", flag, &self.device]);
        run.args(sizes);
        run
    }

    fn bytes(&self, length: usize) -> Result<Vec<u8>, Failed> {
        let mut bytes = vec![0; length];
        fs::File::open(&self.device)?.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.device]).status();
    }
}

fn swap_area() -> Result<(), Failed> {
    let device = Loop::new(32)?;
    device.make_swap()?;
    let before = device.bytes(1 << 20)?;
    let output = expect(&mut device.bench("--device"), 0)?;
    let report: Value = serde_json::from_slice(&output.stdout)?;
    that(report["measurements"][0]["figures"]["places"][0] == device.device.as_str(), format!("{report:#}"))?;
    that(device.bytes(1 << 20)? == before, "the first MiB changed")?;
    let mut behind = [0; 4096];
    fs::File::open(&device.device)?.read_exact_at(&mut behind, 2 << 20)?;
    that(behind.iter().any(|byte| *byte != 0xa5), "nothing was written behind the header")
}

fn refused_devices() -> Result<(), Failed> {
    let device = Loop::new(32)?;
    let before = fs::read(&device.file)?;
    let output = expect(&mut device.bench("--device"), 3)?;
    that(stderr(&output).contains("not an unused swap area") && stderr(&output).contains("--wipe"), stderr(&output))?;
    // Mounting and swapon take a device as this does: for themselves.
    let held =
        OpenOptions::new().read(true).write(true).custom_flags(rustix::fs::OFlags::EXCL.bits() as i32).open(&device.device)?;
    for flag in ["--device", "--wipe"] {
        let output = expect(&mut device.bench(flag), 3)?;
        that(stderr(&output).contains("is in use"), stderr(&output))?;
    }
    drop(held);
    that(fs::read(&device.file)? == before, "a device that was refused was written to")?;
    expect(&mut device.bench("--wipe"), 0)?;
    that(device.bytes(4096)?.iter().any(|byte| *byte != 0xa5), "a device that was given up keeps its first page")
}

fn missing_programs() -> Result<(), Failed> {
    let nothing = scratch()?;
    for (words, packages) in [
        (["bench", "disk", "--no-save"], ["fio is not installed", "apt install fio", "dnf install fio", "pacman -S fio"]),
        (
            ["bench", "cipher", "--no-save"],
            ["cryptsetup is not installed", "apt install cryptsetup-bin", "dnf install cryptsetup", "pacman -S cryptsetup"],
        ),
    ] {
        // Programs are looked for where the system has its own, too: these folders are empty for the command alone.
        let script =
            r#"for at in /usr/sbin /usr/local/sbin /sbin; do [ -L $at ] || mount -t tmpfs none $at; done; exec env PATH="$@""#;
        let mut hidden = Command::new("unshare");
        hidden
            .args(["--mount", "/bin/sh", "-c", script, "sh"])
            .arg(nothing.path())
            .arg(env!("CARGO_BIN_EXE_swaptune"))
            .args(words);
        let output = expect(&mut hidden, 1)?;
        for package in packages {
            that(stderr(&output).contains(package), stderr(&output))?;
        }
    }
    Ok(())
}

/// Kernels that lend no ciphers to programs are common: then the reason is what must come.
fn cipher() -> Result<(), Failed> {
    let output = command(&["bench", "cipher", "--no-save", "--json"]).output()?;
    if output.status.success() {
        let report: Value = serde_json::from_slice(&output.stdout)?;
        let first = &report["measurements"][0]["figures"];
        that(first["encrypt_mib_s"].as_f64() > Some(0.0), format!("{report:#}"))?;
        return that(report["recommended"]["cipher"].is_string(), format!("{report:#}"));
    }
    let text = stderr(&output);
    that(output.status.code() == Some(1) && text.contains("algif_skcipher"), text)
}
