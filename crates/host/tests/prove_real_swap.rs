//! The proof on real swap of the kernel that runs the tests: swap files in the temporary folder, zram devices, zswap on
//! and off. Needs root; what this machine cannot do is ignored by name. Every change is undone by a guard, also when an assertion fails, and a lock file keeps other tests of real swap out meanwhile.
#![allow(clippy::unwrap_used)]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use rustix::fs::{FallocateFlags, Mode, fallocate, fchmod};
use swaptune_core::Bytes;
use swaptune_core::proof::{CanaryClass, Destination, IncompressiblePages, Proof, Verdict};
use swaptune_host::machine::Machine;
use swaptune_host::prove::{ProofOptions, prove};
use swaptune_trials::{End, TestResult, lacks, root, swap_lock, trials};

const ZSWAP: &str = "/sys/module/zswap/parameters";
/// Above anything that the machine itself has on.
const FIRST: i32 = 32767;

fn main() -> ExitCode {
    swaptune_trials::run(trials![
        pages_land_in_zswap_and_come_back,
        without_zswap_they_land_on_the_disk,
        a_pool_at_its_limit_is_seen_and_named,
        zram_takes_them,
        zswap_in_front_of_zram_takes_them_first,
        the_area_is_named_when_numbers_have_a_gap,
        nothing_can_be_proved_without_swap,
    ])
}

/// Runs a test that needs real swap, alone on this machine.
fn on_real_swap(test: impl FnOnce() -> TestResult) -> TestResult {
    root()?;
    let _lock = swap_lock()?;
    let before = fs::read_to_string("/proc/swaps").unwrap();
    let outcome = test();
    assert_eq!(areas(&before), areas(&fs::read_to_string("/proc/swaps").unwrap()), "swap areas as before");
    outcome
}

fn areas(swaps: &str) -> Vec<String> {
    swaps.lines().skip(1).filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

fn run(program: &str, arguments: &[&str]) -> TestResult {
    match Command::new(program).args(arguments).output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => lacks(format!("{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr).trim())),
        Err(error) => lacks(format!("{program}: {error}")),
    }
}

/// A swap area that is on; off again when dropped.
struct Area {
    path: PathBuf,
    on: bool,
}

impl Area {
    fn on(path: &Path, priority: i32) -> Result<Self, End> {
        let text = path.to_str().unwrap();
        run("mkswap", &[text])?;
        run("swapon", &["--priority", &priority.to_string(), text])?;
        Ok(Self { path: path.into(), on: true })
    }

    fn off(&mut self) {
        if std::mem::take(&mut self.on) {
            let _ = run("swapoff", &[self.path.to_str().unwrap()]);
        }
    }
}

impl Drop for Area {
    fn drop(&mut self) {
        self.off();
    }
}

/// A swap file in a folder of its own. The area goes off before the folder goes away: fields drop in order.
struct SwapFile {
    area: Area,
    _folder: tempfile::TempDir,
}

impl SwapFile {
    fn on(priority: i32) -> Result<Self, End> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("swap");
        let file = File::create(&path).unwrap();
        fchmod(&file, Mode::RUSR | Mode::WUSR).unwrap();
        if let Err(error) = fallocate(&file, FallocateFlags::empty(), 0, 64 << 20) {
            return lacks(format!("no swap file in {}: {error}", folder.path().display()));
        }
        Ok(Self { area: Area::on(&path, priority)?, _folder: folder })
    }

    fn path(&self) -> String {
        self.area.path.to_str().unwrap().to_owned()
    }
}

/// A zram device as swap, removed when dropped.
struct Zram {
    area: Option<Area>,
    number: String,
}

impl Zram {
    fn on(priority: i32) -> Result<Self, End> {
        let Ok(number) = fs::read_to_string("/sys/class/zram-control/hot_add") else { return lacks("no zram") };
        let mut zram = Self { area: None, number: number.trim().to_owned() };
        if fs::write(zram.file("disksize"), "64M").is_err() {
            return lacks("zram takes no size");
        }
        zram.area = Some(Area::on(Path::new(&zram.path()), priority)?);
        Ok(zram)
    }

    fn path(&self) -> String {
        format!("/dev/zram{}", self.number)
    }

    fn file(&self, name: &str) -> String {
        format!("/sys/block/zram{}/{name}", self.number)
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        self.area = None;
        let _ = fs::write(self.file("reset"), "1");
        let _ = fs::write("/sys/class/zram-control/hot_remove", &self.number);
    }
}

/// Parameters of zswap, put back when dropped.
struct Zswap(Vec<(String, String)>);

impl Zswap {
    fn set(parameters: &[(&str, &str)]) -> Result<Self, End> {
        let mut before = Self(Vec::new());
        for (name, value) in parameters {
            let path = format!("{ZSWAP}/{name}");
            let Ok(old) = fs::read_to_string(&path) else { return lacks(format!("{path} does not exist")) };
            // What was changed last goes back first.
            before.0.insert(0, (path.clone(), old.trim().to_owned()));
            if let Err(error) = fs::write(&path, value) {
                return lacks(format!("{path}: {error}"));
            }
        }
        Ok(before)
    }

    fn off() -> Result<Option<Self>, End> {
        if Path::new(ZSWAP).exists() { Self::set(&[("enabled", "N")]).map(Some) } else { Ok(None) }
    }
}

impl Drop for Zswap {
    fn drop(&mut self) {
        for (path, value) in &self.0 {
            let _ = fs::write(path, value);
        }
    }
}

fn proof() -> Proof {
    let proof = prove(&Machine::live(), &ProofOptions::default()).unwrap();
    // Others may swap at the same time; that a proof says so is right, but says nothing here.
    if proof.verdict == Verdict::Undecided { prove(&Machine::live(), &ProofOptions::default()).unwrap() } else { proof }
}

fn place(proof: &Proof, class: CanaryClass) -> Destination {
    proof.classes.iter().find(|proof| proof.class == class).unwrap().landed[0].destination
}

fn check_good(proof: &Proof, text: Destination) {
    assert_eq!(proof.verdict, Verdict::Proved, "{proof:#?}");
    assert_eq!(place(proof, CanaryClass::Text), text);
    assert!(proof.documented, "{:#?}", proof.checks);
    assert_eq!(proof.problems, []);
    assert!(proof.bytes_checked >= Bytes::from_mib(7));
    for class in &proof.classes {
        assert!(class.store.is_some_and(|store| store.samples == class.pages && store.p50 <= store.p99), "{class:#?}");
        assert!(class.load.is_some_and(|load| load.samples > 10 && load.p50.0 > 100), "{class:#?}");
    }
}

fn check_area(proof: &Proof, path: &str) {
    for class in &proof.classes {
        assert!(class.areas.iter().all(|(area, _)| area == path), "{:?}, not {path}", class.areas);
        assert!(!class.areas.is_empty());
    }
}

fn pages_land_in_zswap_and_come_back() -> TestResult {
    on_real_swap(|| {
        let file = SwapFile::on(FIRST)?;
        let _zswap = Zswap::set(&[("enabled", "Y")])?;
        let proof = proof();
        check_good(&proof, Destination::Zswap);
        check_area(&proof, &file.path());
        assert!(proof.ratio.is_some_and(|ratio| (1.3..8.0).contains(&ratio.value())), "{:?}", proof.ratio);
        Ok(())
    })
}

fn without_zswap_they_land_on_the_disk() -> TestResult {
    on_real_swap(|| {
        let file = SwapFile::on(FIRST)?;
        let _zswap = Zswap::off()?;
        let proof = proof();
        check_good(&proof, Destination::Disk);
        check_area(&proof, &file.path());
        assert_eq!((proof.incompressible, proof.ratio), (Some(IncompressiblePages::WrittenToDisk), None));
        Ok(())
    })
}

fn a_pool_at_its_limit_is_seen_and_named() -> TestResult {
    on_real_swap(|| {
        let _file = SwapFile::on(FIRST)?;
        let _zswap = Zswap::set(&[("enabled", "Y"), ("max_pool_percent", "0")])?;
        let proof = proof();
        assert_eq!(proof.verdict, Verdict::NotAsPlanned, "{proof:#?}");
        assert_eq!(place(&proof, CanaryClass::Text), Destination::Disk);
        assert_eq!(proof.problems[0].code, "zswap-at-limit", "{:#?}", proof.problems);
        assert!(proof.bytes_checked >= Bytes::from_mib(7));
        Ok(())
    })
}

fn zram_takes_them() -> TestResult {
    on_real_swap(|| {
        let zram = Zram::on(FIRST)?;
        let _zswap = Zswap::off()?;
        let proof = proof();
        check_good(&proof, Destination::Zram);
        check_area(&proof, &zram.path());
        assert_eq!(proof.incompressible, Some(IncompressiblePages::StoredInZram));
        assert!(proof.ratio.is_some());
        Ok(())
    })
}

fn zswap_in_front_of_zram_takes_them_first() -> TestResult {
    on_real_swap(|| {
        let zram = Zram::on(FIRST)?;
        let _zswap = Zswap::set(&[("enabled", "Y")])?;
        let proof = proof();
        check_good(&proof, Destination::Zswap);
        check_area(&proof, &zram.path());
        Ok(())
    })
}

fn the_area_is_named_when_numbers_have_a_gap() -> TestResult {
    on_real_swap(|| {
        let _zswap = Zswap::off()?;
        let mut first = SwapFile::on(FIRST)?;
        let second = SwapFile::on(FIRST - 1)?;
        check_area(&proof(), &first.path());
        first.area.off();
        let proof = proof();
        check_good(&proof, Destination::Disk);
        check_area(&proof, &second.path());
        Ok(())
    })
}

fn nothing_can_be_proved_without_swap() -> TestResult {
    on_real_swap(|| {
        if fs::read_to_string("/proc/swaps").unwrap().lines().count() > 1 {
            return lacks("this machine has swap of its own");
        }
        let proof = proof();
        assert_eq!(proof.verdict, Verdict::Impossible);
        assert!(proof.impossible.unwrap().reason.starts_with("no swap area is on"));
        Ok(())
    })
}
