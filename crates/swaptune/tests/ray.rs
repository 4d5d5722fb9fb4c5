//! The driver of `contrib/ray` with Ray's own local workers: one of them is killed in the middle of an item, and no item is lost or counted twice.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::Duration;

use libtest_mimic::Failed;
use swaptune_trials::{TestResult, needing, program, run};

fn main() -> ExitCode {
    run(vec![needing("a_killed_worker_loses_and_doubles_nothing", ready, killed)])
}

/// What `scripts/setup-tests.sh` puts there.
fn python() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("../tools/ray/bin/python")
}

fn ready() -> TestResult {
    program(python().to_str().unwrap_or_default(), &["-c", "import ray"])
}

/// Sixteen items: two tierings, two sizes of RAM, four seeds.
const GRID: [&str; 5] = [
    "--generate",
    "hold:pages=60k,reads=30",
    "--tiering=disk:nvme",
    "--tiering=zswap:lz4,disk:nvme",
    "--sweep=machine.ram=25%,50%",
];

fn swaptune(words: &[&str]) -> Result<String, Failed> {
    let output = Command::new(env!("CARGO_BIN_EXE_swaptune")).args(words).output()?;
    let text = String::from_utf8(output.stdout)?;
    if output.status.success() { Ok(text) } else { Err(format!("{words:?}: {}", String::from_utf8_lossy(&output.stderr)).into()) }
}

fn grid() -> Vec<&'static str> {
    [&["simulate", "run"][..], &GRID, &["--set", "seeds=4"]].concat()
}

/// The sweep, which dies with the test.
struct Sweep(Child);

impl Drop for Sweep {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn sweep(lines: &Path, mark: &Path) -> Result<Sweep, Failed> {
    let driver = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib/ray/sweep.py");
    let mut command = Command::new(python());
    command.arg(driver).args(["--swaptune", env!("CARGO_BIN_EXE_swaptune"), "--workers", "2", "--lines"]).arg(lines).arg("--");
    command.args(&grid()[2..]).env("SWAPTUNE_RAY_TEST", mark).env("RAY_USAGE_STATS_ENABLED", "0").env("RAY_TMPDIR", mark);
    Ok(Sweep(command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?))
}

/// A process of this sweep that is working on an item: Ray writes what it does over its command line.
fn at_work(mark: &Path) -> Option<i32> {
    let wanted = format!("SWAPTUNE_RAY_TEST={}", mark.display());
    fs::read_dir("/proc").ok()?.flatten().find_map(|entry| {
        let id = entry.file_name().to_str()?.parse::<i32>().ok()?;
        let title = fs::read(entry.path().join("cmdline")).ok()?;
        let marks = fs::read(entry.path().join("environ")).ok()?;
        let ours = marks.split(|byte| *byte == 0).any(|mark| mark == wanted.as_bytes());
        (title.starts_with(b"ray::item") && ours).then_some(id)
    })
}

fn killed() -> Result<(), Failed> {
    let folder = tempfile::tempdir_in("/tmp")?;
    let lines = folder.path().join("lines.jsonl");
    let mut sweep = sweep(&lines, folder.path())?;
    let count = || fs::read_to_string(&lines).unwrap_or_default().lines().count();
    let mut victim = None;
    while victim.is_none() && sweep.0.try_wait()?.is_none() {
        sleep(Duration::from_millis(20));
        victim = Some(()).filter(|()| count() >= 3).and_then(|()| at_work(folder.path()));
    }
    let id = victim.ok_or("the sweep ended before a worker could be killed")?;
    let id = rustix::process::Pid::from_raw(id).ok_or("an id")?;
    rustix::process::kill_process(id, rustix::process::Signal::KILL)?;
    let status = sweep.0.wait()?;
    let said = std::io::read_to_string(sweep.0.stderr.take().ok_or("a pipe")?)?;
    if !status.success() || !said.contains("its worker died, run again") {
        return Err(format!("the sweep ended with {status}:\n{said}").into());
    }
    let path = lines.to_str().ok_or("a path")?;
    let merged = swaptune(&["simulate", "merge", path, "--csv"])?;
    let whole = swaptune(&[&grid()[..], &["--csv"]].concat())?;
    if merged != whole || count() != 16 {
        return Err(format!("{} lines, merged\n{merged}\nand in one run\n{whole}", count()).into());
    }
    taken_up(&lines, folder.path(), &whole)
}

/// A sweep that was broken off, in the middle of a line, is taken up.
fn taken_up(lines: &Path, mark: &Path, whole: &str) -> Result<(), Failed> {
    let text = fs::read_to_string(lines)?;
    fs::write(lines, &text[..text.len() - 200])?;
    let status = sweep(lines, mark)?.0.wait()?;
    let merged = swaptune(&["simulate", "merge", lines.to_str().ok_or("a path")?, "--csv"])?;
    if status.success() && merged == whole { Ok(()) } else { Err(format!("{status}:\n{merged}").into()) }
}
