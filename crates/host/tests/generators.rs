//! A generator that goes on after swaptune was killed would write over what a rollback has brought back: real scripts that
//! fork, one child in a session of its own, below a machine in a folder.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod fixture;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use fixture::*;
use swaptune_core::change::{DeviceFormat, MappingState, SwapState};
use swaptune_double::FixtureKernel;
use swaptune_host::journal::{history, pending};
use swaptune_host::kernel::{FileSystem, Kernel, LiveKernel, Ran, WriteProgress};
use swaptune_host::machine::Machine;
use swaptune_host::transaction::{ApplyOptions, UndoOutcome, execute, rollback};

const ROOT: &str = "SWAPTUNE_GENERATOR_ROOT";
/// Writes the configuration of the boot loader late, and so do its children: one that it does not wait for, which has cleared its
/// environment, and, unless it is told otherwise, one out of reach of its group.
const SCRIPT: &str = r#"
cd "$1" || exit 1
[ ! -e broken ] || exit 1
late() { sleep 2; cat etc/grub-real > boot/grub/grub.cfg; }
late &
(env -i PATH="$PATH" sh -c 'sleep 3; cat etc/grub-real >> boot/grub/grub.cfg' > /dev/null 2>&1 &)
[ -e alone ] || setsid sh -c 'sleep 2; cat etc/grub-real > boot/grub/grub.cfg' &
touch running
late
wait
"#;

/// The kernel of a folder, but commands are run.
struct Running(FixtureKernel);

impl Kernel for Running {
    fn serves(&self, machine: &Machine) -> bool {
        self.0.serves(machine)
    }
    fn page_size(&self) -> u64 {
        self.0.page_size()
    }
    fn set(&self, path: &Path, value: &str) -> io::Result<()> {
        self.0.set(path, value)
    }
    fn swap_on(&self, path: &Path, state: SwapState) -> io::Result<()> {
        self.0.swap_on(path, state)
    }
    fn swap_off(&self, path: &Path) -> io::Result<()> {
        self.0.swap_off(path)
    }
    fn zram_add(&self) -> io::Result<String> {
        self.0.zram_add()
    }
    fn zram_remove(&self, name: &str) -> io::Result<()> {
        self.0.zram_remove(name)
    }
    fn load_module(&self, name: &str) -> io::Result<()> {
        self.0.load_module(name)
    }
    fn unload_module(&self, name: &str) -> io::Result<()> {
        self.0.unload_module(name)
    }
    fn run(&self, command: &[String], outputs: &[PathBuf]) -> io::Result<Ran> {
        LiveKernel.run(command, outputs)
    }
    fn end_left(&self) -> io::Result<()> {
        LiveKernel.end_left()
    }
    fn open_exclusive(&self, path: &Path, write: bool) -> io::Result<File> {
        self.0.open_exclusive(path, write)
    }
    fn format(&self, path: &Path, format: &DeviceFormat) -> io::Result<()> {
        self.0.format(path, format)
    }
    fn reread_partitions(&self, path: &Path) -> io::Result<()> {
        self.0.reread_partitions(path)
    }
    fn open_mapping(&self, name: &str, state: &MappingState) -> io::Result<()> {
        self.0.open_mapping(name, state)
    }
    fn close_mapping(&self, name: &str) -> io::Result<()> {
        self.0.close_mapping(name)
    }
    fn file_system(&self, dir: &Path) -> io::Result<FileSystem> {
        self.0.file_system(dir)
    }
    fn allocate(&self, file: &mut File, size: u64, nocow: bool, progress: &dyn Fn(WriteProgress)) -> io::Result<()> {
        self.0.allocate(file, size, nocow, progress)
    }
}

fn changes(root: &Path) -> Vec<swaptune_core::change::Change> {
    let after = "GRUB_CMDLINE_LINUX=\"quiet zswap.enabled=1\"\n";
    let root = root.to_str().unwrap();
    vec![
        file("/etc/default/grub", Some("GRUB_CMDLINE_LINUX=\"quiet\"\n"), Some(after)),
        generated("grub.cfg", &["sh", "-c", SCRIPT, "update-grub", root], &["/boot/grub/grub.cfg"]),
    ]
}

/// Not a test of its own: the process that is killed.
#[test]
fn child() {
    let Some(root) = std::env::var_os(ROOT).map(PathBuf::from) else { return };
    let (machine, kernel) = (Machine::at(&root), Running(FixtureKernel::new(&root)));
    let state = swaptune_host::journal::StateDir::persistent(&machine);
    execute(&machine, &kernel, &state, &plan(changes(&root)), &ApplyOptions::default()).unwrap();
}

fn start(root: &Path) -> std::process::Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--test-threads=1"]).env(ROOT, root);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Starts an apply and kills it while its generator runs.
fn start_and_kill(fixture: &Fixture) {
    let mut apply = start(fixture.root());
    while !fixture.path("running").exists() {
        assert!(apply.try_wait().unwrap().is_none(), "it ended before its generator ran");
        std::thread::sleep(Duration::from_millis(10));
    }
    apply.kill().unwrap();
    apply.wait().unwrap();
}

#[test]
fn a_generator_dies_with_swaptune() {
    let fixture = Fixture::new();
    let before = fixture.text("boot/grub/grub.cfg");
    fs::write(fixture.path("alone"), "").unwrap();
    start_and_kill(&fixture);
    // Longer than any of them would have slept.
    std::thread::sleep(Duration::from_secs(4));
    assert_eq!(fixture.text("boot/grub/grub.cfg"), before);
}

#[test]
fn a_generator_does_not_outlive_the_rollback() {
    let fixture = Fixture::new();
    let before = fixture.picture();
    start_and_kill(&fixture);
    let kernel = Running(fixture.kernel());
    let id = pending(&fixture.state()).unwrap().unwrap().id;
    let report = rollback(&fixture.machine(), &kernel, &fixture.state(), &id, &ApplyOptions::default()).unwrap();
    assert!(report.left().is_empty(), "{:?}", report.left());
    // Longer than any of them would have slept.
    std::thread::sleep(Duration::from_secs(4));
    fs::remove_file(fixture.path("running")).unwrap();
    assert_same(&fixture.picture(), &before, "seconds after the rollback");
}

/// What a killed generator would have made is not known, so that what is there now may be newer: of another kernel, of another entry.
#[test]
fn what_was_made_since_a_killed_generator_is_not_replaced_by_an_older_one() {
    for broken in [false, true] {
        let fixture = Fixture::new();
        let (before, source) = (fixture.text("boot/grub/grub.cfg"), fixture.text("etc/grub-real"));
        fs::write(fixture.path("alone"), "").unwrap();
        start_and_kill(&fixture);
        fs::write(fixture.path("boot/grub/grub.cfg"), "# with a newer kernel\n").unwrap();
        if broken {
            fs::write(fixture.path("broken"), "").unwrap();
        }
        let kernel = Running(fixture.kernel());
        let id = pending(&fixture.state()).unwrap().unwrap().id;
        let report = rollback(&fixture.machine(), &kernel, &fixture.state(), &id, &ApplyOptions::default()).unwrap();
        let made = report.steps.iter().find(|step| step.change.target() == "grub.cfg").unwrap();
        let expected = if broken { UndoOutcome::Restored } else { UndoOutcome::Regenerated };
        assert_eq!(made.outcome, expected, "broken: {broken}");
        let found = fixture.text("boot/grub/grub.cfg");
        // Without its command the captured file is the best that is known. The one that made it writes its source once or twice.
        if broken {
            assert_eq!(found, before)
        } else {
            assert!(found.starts_with(&source) && !found.contains("zswap"), "{found}")
        }
    }
}

#[test]
fn files_are_compared_when_all_that_writes_them_has_ended() {
    let fixture = Fixture::new();
    let before = fixture.picture();
    assert!(start(fixture.root()).wait().unwrap().success());
    fs::remove_file(fixture.path("running")).unwrap();
    assert!(fixture.text("boot/grub/grub.cfg").contains("zswap.enabled=1"));
    let id = history(&fixture.state()).unwrap().pop().unwrap().id;
    let kernel = Running(fixture.kernel());
    // What the generator left is what the journal knows: the bytes come back, nothing is made anew.
    let report = rollback(&fixture.machine(), &kernel, &fixture.state(), &id, &ApplyOptions::default()).unwrap();
    let made = report.steps.iter().find(|step| step.change.target() == "grub.cfg").unwrap();
    assert_eq!(made.outcome, UndoOutcome::Restored);
    // Longer than the one that was not waited for would still have slept.
    std::thread::sleep(Duration::from_secs(2));
    assert_same(&fixture.picture(), &before, "after rollback");
}

/// A generator that says that all went well is not believed: what it should have made is looked at.
#[test]
fn a_generator_that_made_nothing_is_not_believed() {
    for script in ["rm -f \"$1/boot/grub/grub.cfg\"", ": > \"$1/boot/grub/grub.cfg\""] {
        let fixture = Fixture::new();
        let before = fixture.picture();
        let root = fixture.root().to_str().unwrap().to_owned();
        let change = generated("grub.cfg", &["sh", "-c", script, "update-grub", &root], &["/boot/grub/grub.cfg"]);
        let (machine, kernel) = (fixture.machine(), Running(fixture.kernel()));
        let error = execute(&machine, &kernel, &fixture.state(), &plan(vec![change]), &ApplyOptions::default()).unwrap_err();
        assert_eq!(error.exit_code(), 4, "{error}");
        let source = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
        assert!(format!("{error} {source}").contains("/boot/grub/grub.cfg is "), "{error} {source}");
        assert_same(&fixture.picture(), &before, script);
    }
}

/// A kernel that was removed took its initramfs along; a grub.cfg that is missing is missed.
#[test]
fn what_was_made_for_a_removed_kernel_is_no_failure_of_a_rollback() {
    const MAKE: &str = "test -e \"$2/lib/modules/6.1.0-9\" && echo made > \"$2$1\"";
    for (output, versioned) in [("/boot/initrd.img-6.1.0-9", true), ("/boot/other.cfg", false)] {
        let fixture = Fixture::new();
        let modules = fixture.path("lib/modules/6.1.0-9");
        fs::create_dir_all(&modules).unwrap();
        fs::create_dir_all(fixture.path("boot")).unwrap();
        fs::write(fixture.path(output), "of before\n").unwrap();
        let root = fixture.root().to_str().unwrap().to_owned();
        let change = generated("what boots", &["sh", "-c", MAKE, "6.1.0-9", output, &root], &[output]);
        let (machine, kernel, state) = (fixture.machine(), Running(fixture.kernel()), fixture.state());
        let id = execute(&machine, &kernel, &state, &plan(vec![change]), &ApplyOptions::default()).unwrap().id.unwrap();
        fs::remove_dir_all(&modules).unwrap();
        fs::remove_file(fixture.path(output)).unwrap();
        let result = rollback(&machine, &kernel, &state, &id, &ApplyOptions::default());
        assert_eq!(result.is_ok(), versioned, "{output}: {result:?}");
    }
}
