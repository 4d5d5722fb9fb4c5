//! Apply and rollback on the kernel that runs the tests: swap files, zram, zswap, a loop device. Needs root; what this
//! machine cannot do is ignored by name. Guards bring everything back, also when an assertion fails, and a lock file keeps
//! other tests of real swap out meanwhile.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use swaptune_core::Bytes;
use swaptune_core::change::{Change, SwapFileState, SwapHeaderState, SwapState, ZramState};
use swaptune_core::plan::{Plan, Step, When};
use swaptune_host::journal::{StateDir, StepOutcome};
use swaptune_host::kernel::LiveKernel;
use swaptune_host::machine::Machine;
use swaptune_host::swap_header;
use swaptune_host::transaction::{ApplyError, ApplyOptions, ApplyReport, execute, rollback};
use swaptune_trials::{End, TestResult, lacks, program, root, run, swap_lock, trials};

const ZSWAP: &str = "/sys/module/zswap/parameters";
const UUID: &str = "5ca1ab1e-0000-4000-8000-000000000001";

fn main() -> ExitCode {
    run(trials![
        a_swap_file_and_zswap_come_and_go,
        a_priority_is_changed_and_changed_back,
        a_failure_in_the_middle_undoes_real_swap,
        a_zram_device_comes_and_goes,
        a_zram_area_that_was_taken_off_comes_back,
        an_existing_file_is_not_made_swap,
        a_block_device_is_guarded_and_comes_back,
        a_swap_file_on_btrfs,
        a_swap_file_on_xfs,
        a_file_system_that_cannot_hold_swap_is_refused,
        mkswap_writes_the_same_page,
    ])
}

/// The machine, with everything that the tests change written down, and brought back when dropped.
struct Live {
    _lock: File,
    folder: tempfile::TempDir,
    state: StateDir,
    parameters: Vec<(PathBuf, String)>,
    swaps: Vec<String>,
}

impl Live {
    /// Where this machine can run the test.
    fn take(needs: &[&str]) -> Result<Self, End> {
        root()?;
        needs.iter().try_for_each(swaptune_trials::file)?;
        let lock = swap_lock()?;
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::at(folder.path().join("state"));
        Ok(Self { _lock: lock, folder, state, parameters: parameters(), swaps: areas() })
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    fn apply(&self, changes: Vec<Change>) -> Result<ApplyReport, ApplyError> {
        let text = String::new;
        let step = |change| Step { change, when: When::Now, reason: text(), evidence: text(), provenance: text(), risk: text() };
        let plan = Plan { steps: changes.into_iter().map(step).collect(), ..Plan::default() };
        execute(&Machine::live(), &LiveKernel, &self.state, &plan, &ApplyOptions::default())
    }

    fn roll_back(&self, report: &ApplyReport) {
        let id = report.id.as_ref().unwrap();
        let report = rollback(&Machine::live(), &LiveKernel, &self.state, id, &ApplyOptions::default()).unwrap();
        assert!(report.left().is_empty(), "{:?}", report.left());
        assert_eq!(areas(), self.swaps);
        assert_eq!(parameters(), self.parameters);
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        // Only after a failed assertion is there anything left to do.
        for area in areas().iter().filter(|area| !self.swaps.contains(area)) {
            let _ = Command::new("swapoff").arg(area).status();
        }
        for (path, value) in parameters().into_iter().filter(|now| !self.parameters.contains(now)) {
            let before = self.parameters.iter().find(|(other, _)| *other == path).map_or(value, |(_, value)| value.clone());
            let _ = fs::write(&path, before);
        }
    }
}

fn parameters() -> Vec<(PathBuf, String)> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(ZSWAP).map(|entries| entries.map(|entry| entry.unwrap().path()).collect()).unwrap_or_default();
    files.push("/proc/sys/vm/swappiness".into());
    files.sort();
    files.into_iter().filter_map(|path| Some((path.clone(), fs::read_to_string(path).ok()?))).collect()
}

fn areas() -> Vec<String> {
    let text = fs::read_to_string("/proc/swaps").unwrap();
    text.lines().skip(1).filter_map(|line| Some(line.split_whitespace().next()?.to_owned())).collect()
}

fn priority(path: &str) -> Option<i32> {
    let text = fs::read_to_string("/proc/swaps").unwrap();
    let line = text.lines().find(|line| line.split_whitespace().next() == Some(path))?;
    line.split_whitespace().last()?.parse().ok()
}

fn zswap(parameter: &str) -> String {
    fs::read_to_string(format!("{ZSWAP}/{parameter}")).unwrap().trim().to_owned()
}

fn knob(parameter: &str, after: &str, fallbacks: &[&str]) -> Change {
    Change::Knob {
        name: format!("zswap.{parameter}"),
        path: format!("{ZSWAP}/{parameter}"),
        before: zswap(parameter),
        after: after.into(),
        fallbacks: fallbacks.iter().map(|value| (*value).into()).collect(),
    }
}

fn header(path: &str) -> Change {
    let after = Some(SwapHeaderState { uuid: UUID.into(), label: "swaptune-test".into() });
    Change::SwapHeader { path: path.into(), before: None, after, wipe: false }
}

fn on(path: &str, before: Option<i32>, after: Option<i32>) -> Change {
    let state = |priority| SwapState::at(priority);
    Change::Swap { path: path.into(), before: before.map(state), after: after.map(state) }
}

fn swap_file(path: &str) -> Change {
    let after = Some(SwapFileState { size: Bytes::from_mib(16), nocow: false });
    Change::SwapFile { path: path.into(), before: None, after }
}

fn a_swap_file_and_zswap_come_and_go() -> TestResult {
    let live = Live::take(&[ZSWAP])?;
    let path = live.path("folder/swap");
    let percent = if zswap("max_pool_percent") == "23" { "24" } else { "23" };
    let report = live.apply(vec![
        swap_file(&path),
        header(&path),
        on(&path, None, Some(12)),
        // A compressor that no kernel has: whether the kernel says so at once or only when zswap is switched on.
        knob("compressor", "nosuch", &["alsonot", "lzo"]),
        knob("max_pool_percent", percent, &[]),
        knob("enabled", "Y", &[]),
    ]);
    let report = report.unwrap();
    assert_eq!(priority(&path), Some(12));
    assert_eq!((zswap("enabled").as_str(), zswap("compressor").as_str()), ("Y", "lzo"));
    assert_eq!(zswap("max_pool_percent"), percent);
    assert!(matches!(&report.steps[3].outcome, StepOutcome::FellBack { got, .. } if got == "lzo"), "{report:?}");
    live.roll_back(&report);
    assert!(!Path::new(&path).exists() && !live.folder.path().join("folder").exists());
    Ok(())
}

fn a_priority_is_changed_and_changed_back() -> TestResult {
    let live = Live::take(&[])?;
    let path = live.path("swap");
    let first = live.apply(vec![swap_file(&path), header(&path), on(&path, None, Some(3))]).unwrap();
    let second = live.apply(vec![on(&path, Some(3), Some(7))]).unwrap();
    assert_eq!(priority(&path), Some(7));
    let id = second.id.unwrap();
    rollback(&Machine::live(), &LiveKernel, &live.state, &id, &ApplyOptions::default()).unwrap();
    assert_eq!(priority(&path), Some(3));
    live.roll_back(&first);
    Ok(())
}

fn a_failure_in_the_middle_undoes_real_swap() -> TestResult {
    let live = Live::take(&[])?;
    let path = live.path("swap");
    let mut bad = header(&live.path("other"));
    if let Change::SwapHeader { after: Some(after), .. } = &mut bad {
        after.uuid = "no uuid".into();
    }
    let changes = vec![swap_file(&path), header(&path), on(&path, None, Some(3)), swap_file(&live.path("other")), bad];
    let error = live.apply(changes).unwrap_err();
    assert_eq!(error.exit_code(), 4, "{error}");
    assert_eq!(areas(), live.swaps);
    assert!(!Path::new(&path).exists() && !Path::new(&live.path("other")).exists());
    Ok(())
}

/// A zram device that is removed when dropped.
struct ZramGuard(String);

impl Drop for ZramGuard {
    fn drop(&mut self) {
        if Path::new(&format!("/sys/block/{}", self.0)).exists() {
            let _ = Command::new("swapoff").arg(format!("/dev/{}", self.0)).status();
            let _ = fs::write(format!("/sys/block/{}/reset", self.0), "1");
            let _ = fs::write("/sys/class/zram-control/hot_remove", self.0.trim_start_matches("zram"));
        }
    }
}

fn a_zram_device_comes_and_goes() -> TestResult {
    let live = Live::take(&["/sys/class/zram-control"])?;
    let free = (0..32).map(|n| format!("zram{n}")).find(|name| !Path::new(&format!("/sys/block/{name}")).exists());
    let guard = ZramGuard(free.unwrap());
    let (name, path) = (guard.0.clone(), format!("/dev/{}", guard.0));
    let state = ZramState {
        algorithm: "lzo".into(),
        disksize: Bytes::from_mib(32),
        mem_limit: Bytes::from_mib(8),
        ..ZramState::default()
    };
    let zram = Change::Zram { name: name.clone(), before: None, after: Some(state) };
    let report = live.apply(vec![zram, header(&path), on(&path, None, Some(5))]).unwrap();
    assert_eq!(priority(&path), Some(5));
    let mm_stat = fs::read_to_string(format!("/sys/block/{name}/mm_stat")).unwrap();
    assert_eq!(mm_stat.split_whitespace().nth(3), Some("8388608"));
    live.roll_back(&report);
    assert!(!Path::new(&format!("/sys/block/{name}")).exists());
    Ok(())
}

fn a_zram_area_that_was_taken_off_comes_back() -> TestResult {
    let live = Live::take(&["/sys/class/zram-control"])?;
    let free = (0..32).map(|n| format!("zram{n}")).find(|name| !Path::new(&format!("/sys/block/{name}")).exists());
    let guard = ZramGuard(free.unwrap());
    let (name, path) = (guard.0.clone(), format!("/dev/{}", guard.0));
    let state = ZramState { algorithm: "lzo".into(), disksize: Bytes::from_mib(32), ..ZramState::default() };
    let zram = |before, after| Change::Zram { name: name.clone(), before, after };
    let first = live.apply(vec![zram(None, Some(state.clone())), header(&path), on(&path, None, Some(5))]).unwrap();
    let head = || fs::read(&path).unwrap()[..4096].to_vec();
    let was = head();
    let second = live.apply(vec![on(&path, Some(5), None), zram(Some(state), None)]).unwrap();
    assert_eq!(priority(&path), None);
    let id = second.id.unwrap();
    let report = rollback(&Machine::live(), &LiveKernel, &live.state, &id, &ApplyOptions::default()).unwrap();
    assert!(report.left().is_empty(), "{:?}", report.left());
    assert_eq!(priority(&path), Some(5));
    assert!(head() == was, "the same header");
    live.roll_back(&first);
    Ok(())
}

fn an_existing_file_is_not_made_swap() -> TestResult {
    let live = Live::take(&[])?;
    let path = live.path("swap");
    let bytes: Vec<u8> = (0..(16_u32 << 20)).map(|n| (n.wrapping_mul(2_654_435_761) >> 11) as u8).collect();
    fs::write(&path, &bytes).unwrap();
    let error = live.apply(vec![swap_file(&path), header(&path), on(&path, None, Some(3))]).unwrap_err();
    assert_eq!(error.exit_code(), 3, "{error}");
    assert!(fs::read(&path).unwrap() == bytes, "every byte is there");
    assert_eq!(areas(), live.swaps);
    Ok(())
}

/// A loop device over a file, detached when dropped.
struct Loop(String);

impl Loop {
    fn over(image: &str) -> Option<Self> {
        let output = Command::new("losetup").args(["--find", "--show", image]).output().ok()?;
        output.status.success().then(|| Self(String::from_utf8_lossy(&output.stdout).trim().to_owned()))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("swapoff").arg(&self.0).stderr(std::process::Stdio::null()).status();
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}

fn a_block_device_is_guarded_and_comes_back() -> TestResult {
    let live = Live::take(&["/dev/loop-control"])?;
    let image = live.path("image");
    let noise: Vec<u8> = (0..(16_u32 << 20)).map(|n| (n.wrapping_mul(2_654_435_761) >> 11) as u8 | 1).collect();
    fs::write(&image, &noise).unwrap();
    let device = Loop::over(&image).map_or_else(|| lacks("no loop device"), Ok)?;
    let error = live.apply(vec![header(&device.0)]).unwrap_err();
    assert!(error.to_string().contains("it is not blank, and no signature says what it holds"), "{error}");
    let mut wiped = header(&device.0);
    if let Change::SwapHeader { wipe, .. } = &mut wiped {
        *wipe = true;
    }
    let report = live.apply(vec![wiped.clone(), on(&device.0, None, Some(2))]).unwrap();
    assert_eq!(priority(&device.0), Some(2));
    if let Change::SwapHeader { after: Some(after), .. } = &mut wiped {
        after.label = "another".into();
    }
    let error = live.apply(vec![wiped.clone()]).unwrap_err();
    assert!(error.to_string().contains("it is in use as swap"), "{error}");
    live.roll_back(&report);
    assert!(fs::read(&image).unwrap() == noise, "every byte is back");

    // Anything that holds the device is in the way, even when no file says so.
    let holder = File::options().read(true).custom_flags(libc::O_EXCL).open(&device.0).unwrap();
    let error = live.apply(vec![wiped.clone()]).unwrap_err();
    assert!(error.to_string().contains("something in the kernel uses it"), "{error}");
    drop(holder);

    // A file system is overwritten only on demand, and comes back too.
    File::options().write(true).open(&device.0).unwrap().write_all_at(&[0x53, 0xef], 1080).unwrap();
    let before = fs::read(&device.0).unwrap();
    let error = live.apply(vec![header(&device.0)]).unwrap_err();
    assert!(error.to_string().contains("it carries ext"), "{error}");
    let report = live.apply(vec![wiped, on(&device.0, None, Some(2))]).unwrap();
    live.roll_back(&report);
    assert!(fs::read(&device.0).unwrap() == before, "every byte is back");
    Ok(())
}

/// A file system in an image, unmounted when dropped.
struct Mounted(String);

impl Mounted {
    fn make(live: &Live, kind: &str) -> Option<Self> {
        let (image, at) = (live.path(&format!("{kind}.image")), live.path(kind));
        File::create(&image).unwrap().set_len(700 << 20).unwrap();
        fs::create_dir(&at).unwrap();
        let succeeds = |command: &mut Command| command.output().is_ok_and(|output| output.status.success());
        let is_made = succeeds(Command::new(format!("mkfs.{kind}")).arg(&image))
            && succeeds(Command::new("mount").args(["-o", "loop", &image, &at]));
        is_made.then_some(Self(at))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if areas().iter().any(|area| area.starts_with(&self.0)) {
            let _ = Command::new("swapoff").arg(format!("{}/swap", self.0)).status();
        }
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

fn swap_file_on(kind: &str) -> TestResult {
    let live = Live::take(&["/dev/loop-control"])?;
    let mounted = Mounted::make(&live, kind).map_or_else(|| lacks(format!("no {kind} here")), Ok)?;
    let path = format!("{}/swap", mounted.0);
    let nocow = kind == "btrfs";
    let file = |nocow| Change::SwapFile {
        path: path.clone(),
        before: None,
        after: Some(SwapFileState { size: Bytes::from_mib(16), nocow }),
    };
    if nocow {
        let error = live.apply(vec![file(false)]).unwrap_err();
        assert!(error.to_string().contains("it must be made without copy-on-write"), "{error}");
    }
    let report = live.apply(vec![file(nocow), header(&path), on(&path, None, Some(4))]).unwrap();
    assert_eq!(priority(&path), Some(4));
    live.roll_back(&report);
    assert!(!Path::new(&path).exists());
    Ok(())
}

fn a_swap_file_on_btrfs() -> TestResult {
    swap_file_on("btrfs")
}

fn a_swap_file_on_xfs() -> TestResult {
    swap_file_on("xfs")
}

fn a_file_system_that_cannot_hold_swap_is_refused() -> TestResult {
    let live = Live::take(&["/dev/shm"])?;
    let error = live.apply(vec![swap_file("/dev/shm/swaptune-test-swap")]).unwrap_err();
    assert!(error.to_string().contains("tmpfs cannot hold swap files"), "{error}");
    let mut huge = swap_file(&live.path("swap"));
    if let Change::SwapFile { after: Some(after), .. } = &mut huge {
        after.size = Bytes::from_gib(1 << 20);
    }
    let error = live.apply(vec![huge]).unwrap_err();
    assert!(error.to_string().contains("256 MiB must stay free"), "{error}");
    Ok(())
}

fn mkswap_writes_the_same_page() -> TestResult {
    program("mkswap", &["--version"])?;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("area");
    File::create(&path).unwrap().set_len(4 << 20).unwrap();
    let made = Command::new("mkswap").args(["-q", "-U", UUID, "-L", "label"]).arg(&path).status().unwrap();
    assert!(made.success());
    let page_size = rustix::param::page_size() as u64;
    let theirs = swap_header::range(&File::open(&path).unwrap(), 0, page_size).unwrap();
    assert!(theirs == swap_header::page(UUID, "label", 4 << 20, page_size).unwrap());
    Ok(())
}
