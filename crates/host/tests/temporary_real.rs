//! Temporary settings on the kernel that runs the tests: a swap file, zswap and zram with pages of ours in them, put back
//! when they are closed, on SIGINT and SIGTERM, and after SIGKILL of the process and of its guardian. Needs root; what this
//! machine cannot do is ignored by name.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use swaptune_core::Bytes;
use swaptune_core::proof::CanaryClass;
use swaptune_host::machine::Machine;
use swaptune_host::stop::Stop;
use swaptune_host::sys::{MadviseAdvice, OwnRegion};
use swaptune_host::temporary::{TOP_PRIORITY, TemporaryError, TemporarySettings, guardian, recover};
use swaptune_trials::{End, TestResult, children, no_swap, root, run, swap_lock, trials, zswap};

const ZSWAP: &str = "/sys/module/zswap/parameters";
const FOLDER: &str = "SWAPTUNE_TEMPORARY_REAL_FOLDER";
const REGION: usize = 4 << 20;

fn main() -> ExitCode {
    if std::env::args().nth(1).is_some_and(|argument| argument == guardian::ARGUMENT) {
        return if guardian::play_and_tell() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    if let Ok(folder) = std::env::var(FOLDER) {
        worker(Path::new(&folder));
        return ExitCode::SUCCESS;
    }
    run(trials![
        real_settings_are_put_back_when_closed_and_when_dropped,
        what_this_kernel_does_not_have_is_an_error_and_leaves_nothing,
        a_signal_ends_it_and_everything_is_put_back,
        after_sigkill_the_guardian_puts_everything_back,
        after_sigkill_of_both_the_next_one_puts_everything_back,
    ])
}

/// The process that gets the signals.
fn worker(folder: &Path) {
    let stop = Stop::on_signals().unwrap();
    let mut temporary = TemporarySettings::open(&Machine::live(), "a test").unwrap();
    set_everything(&mut temporary, folder).unwrap();
    let region = pushed();
    println!("all set");
    while !stop.is_asked() {
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(region);
    temporary.close().unwrap();
    println!("all back");
}

fn set_everything(temporary: &mut TemporarySettings, folder: &Path) -> Result<(), TemporaryError> {
    temporary.knob("vm.page-cluster", "0")?;
    temporary.knob("vm.swappiness", "111")?;
    temporary.knob("zswap.max_pool_percent", "11")?;
    temporary.swap_file(&folder.join("below"), Bytes::from_mib(16), TOP_PRIORITY)?;
    temporary.swap_file(folder, Bytes::from_mib(16), TOP_PRIORITY)?;
    if Path::new("/sys/class/zram-control").exists() {
        temporary.zram("lzo", Bytes::from_mib(16), Some(TOP_PRIORITY))?;
    }
    temporary.knob("zswap.compressor", "lzo-rle")?;
    temporary.knob("zswap.enabled", "Y")
}

/// Pages of ours that are out.
fn pushed() -> OwnRegion {
    let mut region = OwnRegion::new(REGION).unwrap();
    region.advise(0, REGION, MadviseAdvice::NoHugePage).unwrap();
    for (number, page) in (0..).zip(region.bytes_mut().chunks_mut(4096)) {
        CanaryClass::Text.fill(page, number, 7);
    }
    region.advise(0, REGION, MadviseAdvice::PageOut).unwrap();
    region
}

/// The lock of all tests of real swap, and the machine as it was.
struct Live {
    _lock: File,
    folder: tempfile::TempDir,
    before: BTreeMap<String, String>,
}

impl Live {
    /// Where this machine can run the test.
    fn take() -> Result<Self, End> {
        root()?;
        let lock = swap_lock()?;
        zswap()?;
        no_swap()?;
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let before = picture(folder.path());
        Ok(Self { _lock: lock, folder, before })
    }

    #[track_caller]
    fn assert_as_before(&self, when: &str) {
        assert_eq!(picture(self.folder.path()), self.before, "{when}");
        assert_eq!(recover(&Machine::live()).unwrap(), None, "{when}");
    }

    /// A worker that has set everything.
    fn start(&self) -> (Child, BufReader<std::process::ChildStdout>) {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.env(FOLDER, self.folder.path());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        assert!(out.by_ref().lines().map_while(Result::ok).any(|line| line.ends_with("all set")));
        assert_ne!(picture(self.folder.path()), self.before);
        (child, out)
    }
}

fn areas() -> usize {
    fs::read_to_string("/proc/swaps").unwrap().lines().count() - 1
}

/// Everything that must be as before.
fn picture(folder: &Path) -> BTreeMap<String, String> {
    let mut paths = vec!["/proc/sys/vm/page-cluster".to_owned(), "/proc/sys/vm/swappiness".into(), "/proc/swaps".into()];
    let zswap = fs::read_dir(ZSWAP).unwrap().map(|entry| entry.unwrap().path().display().to_string());
    let devices = fs::read_dir("/sys/block").unwrap().map(|entry| entry.unwrap().path().display().to_string());
    let zram = devices.filter(|path| path.contains("zram"));
    paths.extend(zswap);
    paths.extend(zram.flat_map(|device| ["disksize", "comp_algorithm", "initstate"].map(|file| format!("{device}/{file}"))));
    let read = |path: String| {
        let text = fs::read_to_string(&path).unwrap_or_default();
        (path, text)
    };
    let mut picture: BTreeMap<_, _> = paths.into_iter().map(read).collect();
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    picture.insert("folder".into(), names.collect::<Vec<_>>().join(" "));
    picture
}

/// The child of a process: the guardian.
fn child_of(process: &Child) -> Pid {
    let listed = children(process.id(), |words| words.contains(guardian::ARGUMENT));
    listed.first().and_then(|pid| Pid::from_raw(pid.parse().unwrap())).unwrap()
}

fn real_settings_are_put_back_when_closed_and_when_dropped() -> TestResult {
    let live = Live::take()?;
    for close in [true, false] {
        let mut temporary = TemporarySettings::open(&Machine::live(), "a test").unwrap();
        set_everything(&mut temporary, live.folder.path()).unwrap();
        assert_eq!(fs::read_to_string(format!("{ZSWAP}/compressor")).unwrap().trim(), "lzo-rle");
        assert!(areas() >= 2);
        drop(pushed());
        match close {
            true => temporary.close().unwrap(),
            false => drop(temporary),
        }
        live.assert_as_before(if close { "closed" } else { "dropped" });
    }
    Ok(())
}

fn what_this_kernel_does_not_have_is_an_error_and_leaves_nothing() -> TestResult {
    let live = Live::take()?;
    let mut temporary = TemporarySettings::open(&Machine::live(), "a test").unwrap();
    // Whether the kernel refuses it at once or replaces it when zswap is switched on.
    let result = temporary.knob("zswap.compressor", "nosuch").and_then(|()| temporary.knob("zswap.enabled", "Y"));
    assert!(matches!(result, Err(TemporaryError::Step { .. })), "{result:?}");
    if Path::new("/sys/class/zram-control").exists() {
        let error = temporary.zram("nosuch", Bytes::from_mib(1), None).unwrap_err();
        assert_eq!(error.exit_code(), 4, "{error}");
    }
    let error = temporary.swap_file(Path::new("/proc/nosuch"), Bytes::from_mib(1), 1).unwrap_err();
    assert_eq!(error.exit_code(), 3, "{error}");
    temporary.close().unwrap();
    live.assert_as_before("closed");
    Ok(())
}

fn a_signal_ends_it_and_everything_is_put_back() -> TestResult {
    let live = Live::take()?;
    for signal in [Signal::INT, Signal::TERM] {
        let (mut child, mut out) = live.start();
        kill_process(Pid::from_child(&child), signal).unwrap();
        let mut said = String::new();
        out.read_to_string(&mut said).unwrap();
        assert!(said.contains("all back"), "{signal:?}: {said}");
        assert!(child.wait().unwrap().success(), "{signal:?}");
        live.assert_as_before(&format!("{signal:?}"));
    }
    Ok(())
}

fn after_sigkill_the_guardian_puts_everything_back() -> TestResult {
    let live = Live::take()?;
    let (mut child, _out) = live.start();
    let guardian = child_of(&child);
    // What a terminal or a service manager sends must not end the guardian.
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        kill_process(guardian, signal).unwrap();
    }
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    // The guardian has the same standard error: it ends when the guardian does.
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(said.contains("what `a test` left when it was killed is put back"), "{said}");
    live.assert_as_before("SIGKILL");
    Ok(())
}

fn after_sigkill_of_both_the_next_one_puts_everything_back() -> TestResult {
    let live = Live::take()?;
    let (mut child, _out) = live.start();
    kill_process(child_of(&child), Signal::KILL).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_ne!(picture(live.folder.path()), live.before);
    let what = recover(&Machine::live()).unwrap().unwrap();
    assert!(what.contains("`a test`"), "{what}");
    live.assert_as_before("SIGKILL of both");
    Ok(())
}
