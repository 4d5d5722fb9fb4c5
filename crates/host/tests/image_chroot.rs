//! Generators in a tree that does not run: in a root of their own, with no disk of ours, and nothing of a failure left behind.
//!
//! The tree is a busybox and a generator of a few lines. What this machine cannot run is ignored, and says why.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use libtest_mimic::{Arguments, Failed, Trial};
use swaptune_core::change::Change;
use swaptune_core::plan::{Plan, SCHEMA, Step, When};
use swaptune_host::journal::{StateDir, StepOutcome, history};
use swaptune_host::kernel::{self, ImageKernel, Kernel};
use swaptune_host::machine::Machine;
use swaptune_host::transaction::{ApplyOptions, ApplyReport, execute, rollback};
use swaptune_trials::copy_program;
use tempfile::TempDir;

const OLD: &str = "menuentry x {\n linux /vmlinuz root=UUID=5eaf ro quiet\n}\n";
const BUSYBOX: &str = "/bin/busybox";
/// Set for the process that is killed while a generator runs.
const KILLED: &str = "SWAPTUNE_IMAGE_KILLED";

type Check = fn() -> Result<(), Failed>;

fn main() -> ExitCode {
    if let Some(root) = std::env::var_os(KILLED) {
        let ran = ImageKernel::new(Path::new(&root)).run(&["generator".into()], &[]);
        return if ran.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let checks: [(&str, Check); 6] = [
        ("a_generator_runs_in_the_image", runs),
        ("a_generator_sees_no_disk_of_this_machine", sees_no_disk),
        ("a_generator_that_fails_leaves_its_files_as_they_were", fails),
        ("a_file_that_would_boot_something_else_is_not_kept", wrong_root),
        ("a_generator_ends_with_us", ends_with_us),
        ("nothing_else_is_done_to_a_machine_that_does_not_run", not_running),
    ];
    let lacks = lacks();
    if let Some(why) = lacks {
        eprintln!("IGNORED image_chroot: {why}");
    }
    let trial = |(name, check): (&str, Check)| Trial::test(name, check).with_ignored_flag(lacks.is_some());
    libtest_mimic::run(&Arguments::from_args(), checks.map(trial).into()).exit_code()
}

fn lacks() -> Option<&'static str> {
    if !rustix::process::geteuid().is_root() {
        return Some("a root of its own needs root");
    }
    (!is_static(Path::new(BUSYBOX))).then_some("/bin/busybox is not there, or not static (package busybox-static)")
}

/// Copied alone a program with an interpreter would not start.
fn is_static(program: &Path) -> bool {
    fs::read(program).is_ok_and(|bytes| !bytes.windows(8).take(4096).any(|word| word == b"/ld-linu" || word == b"/lib64/l"))
}

/// A tree with this generator.
fn image(generator: &str) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for folder in ["bin", "usr/sbin", "etc/default", "boot/grub", "proc", "sys", "dev", "run", "tmp"] {
        fs::create_dir_all(dir.path().join(folder)).unwrap();
    }
    copy_program(Path::new(BUSYBOX), &dir.path().join("bin/busybox")).unwrap();
    for name in ["sh", "cat", "ls", "cp", "mv", "sleep", "test", "echo"] {
        std::os::unix::fs::symlink("busybox", dir.path().join("bin").join(name)).unwrap();
    }
    let script = dir.path().join("usr/sbin/generator.text");
    fs::write(&script, format!("#!/bin/sh\n{generator}\n")).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    copy_program(&script, &dir.path().join("usr/sbin/generator")).unwrap();
    fs::remove_file(script).unwrap();
    fs::write(cfg(dir.path()), OLD).unwrap();
    fs::write(dir.path().join("etc/default/grub"), "words=\"quiet\"\n").unwrap();
    dir
}

fn cfg(root: &Path) -> PathBuf {
    root.join("boot/grub/grub.cfg")
}

fn apply(root: &Path) -> Result<ApplyReport, Failed> {
    let step = |change| Step {
        change,
        when: When::Boot,
        reason: "a test".into(),
        evidence: "none".into(),
        provenance: "test".into(),
        risk: String::new(),
    };
    let source = Change::File {
        path: "/etc/default/grub".into(),
        before: Some("words=\"quiet\"\n".into()),
        after: Some("words=\"quiet zswap.enabled=1\"\n".into()),
        mode: 0o644,
    };
    let generated = Change::Generated {
        what: "boot loader configuration".into(),
        command: vec!["generator".into()],
        outputs: vec!["/boot/grub/grub.cfg".into()],
        before: false,
        after: true,
    };
    let steps = vec![step(source), step(generated)];
    let plan = Plan { schema: SCHEMA, profile: "test".into(), steps, ..Plan::default() };
    let machine = Machine::at(root);
    Ok(execute(&machine, &*kernel::of(&machine), &StateDir::persistent(&machine), &plan, &ApplyOptions::default())?)
}

fn roll_back(root: &Path) -> Result<(), Failed> {
    let machine = Machine::at(root);
    let state = StateDir::persistent(&machine);
    let id = history(&state)?.pop().ok_or("nothing was applied")?.id;
    let report = rollback(&machine, &*kernel::of(&machine), &state, &id, &ApplyOptions::default())?;
    if report.left().is_empty() { Ok(()) } else { Err(format!("left: {:?}", report.left()).into()) }
}

fn same(root: &Path, when: &str) -> Result<(), Failed> {
    let boot: Vec<String> =
        fs::read_dir(root.join("boot/grub"))?.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    if fs::read_to_string(cfg(root))? == OLD && boot == ["grub.cfg"] {
        return Ok(());
    }
    Err(format!("{when}: {boot:?}, grub.cfg:\n{}", fs::read_to_string(cfg(root))?).into())
}

/// As grub-mkconfig works: beside the file, then renamed over it.
const MAKES: &str = ". /etc/default/grub; echo \"menuentry x {\n linux /vmlinuz root=UUID=5eaf ro $words\n}\" > /boot/grub/grub.cfg.new\n\
    mv /boot/grub/grub.cfg.new /boot/grub/grub.cfg";

fn runs() -> Result<(), Failed> {
    let image = image(MAKES);
    let report = apply(image.path())?;
    assert!(matches!(report.steps[1].outcome, StepOutcome::Changed { .. }), "{report:?}");
    assert!(fs::read_to_string(cfg(image.path()))?.contains("root=UUID=5eaf ro quiet zswap.enabled=1"));
    assert!(image.path().join("var/lib/swaptune/journal").exists() || image.path().join("var/lib/swaptune").exists());
    roll_back(image.path())?;
    same(image.path(), "after the rollback")
}

fn sees_no_disk() -> Result<(), Failed> {
    let image = image("ls /dev > /etc/devices; cat /proc/self/mountinfo > /etc/mounts; echo x > /run/x; echo x > /tmp/x");
    let ran = ImageKernel::new(image.path()).run(&["generator".into()], &[])?;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let devices = fs::read_to_string(image.path().join("etc/devices"))?;
    let expect = ["disk", "fd", "full", "null", "random", "stderr", "stdin", "stdout", "tty", "urandom", "zero"];
    assert_eq!(devices.split_whitespace().collect::<Vec<_>>(), expect);
    for folder in ["dev", "run", "tmp", "proc", "sys"] {
        assert_eq!(fs::read_dir(image.path().join(folder))?.count(), 0, "{folder} of the image is as it was");
    }
    let ours = fs::read_to_string("/proc/self/mountinfo")?;
    assert!(!ours.contains(&*image.path().to_string_lossy()), "{ours}");
    Ok(())
}

fn fails() -> Result<(), Failed> {
    for generator in [
        "echo half > /boot/grub/grub.cfg.new; echo no device >&2; exit 1",
        "echo half > /boot/grub/grub.cfg; exit 1",
        "echo half > /boot/grub/grub.cfg; kill -9 $$",
        "exec /no/such/program",
    ] {
        let image = image(generator);
        let report = apply(image.path())?;
        let StepOutcome::Skipped { why } = &report.steps[1].outcome else {
            return Err(format!("{generator}: {report:?}").into());
        };
        assert!(why.contains("run `generator` on the machine once it runs"), "{why}");
        same(image.path(), generator)?;
        let source = fs::read_to_string(image.path().join("etc/default/grub"))?;
        assert!(source.contains("zswap.enabled=1"), "what it reads is in place: {source}");
        roll_back(image.path())?;
        same(image.path(), "after the rollback")?;
        assert_eq!(fs::read_to_string(image.path().join("etc/default/grub"))?, "words=\"quiet\"\n");
    }
    Ok(())
}

fn wrong_root() -> Result<(), Failed> {
    for made in ["linux /vmlinuz root=/dev/loop0 ro", "# made by update-grub"] {
        let image = image(&format!("echo '{made}' > /boot/grub/grub.cfg"));
        let report = apply(image.path())?;
        let StepOutcome::Skipped { why } = &report.steps[1].outcome else { return Err(format!("{made}: {report:?}").into()) };
        assert!(why.contains("would not boot"), "{why}");
        same(image.path(), made)?;
    }
    Ok(())
}

fn ends_with_us() -> Result<(), Failed> {
    let image = image("(while :; do echo x >> /etc/alive; sleep 0.05; done) & echo started > /etc/started; sleep 600");
    let mut child = Command::new(std::env::current_exe()?).env(KILLED, image.path()).spawn()?;
    let started = image.path().join("etc/started");
    for _ in 0..600 {
        if started.exists() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(started.exists(), "the generator did not start");
    child.kill()?;
    child.wait()?;
    let alive = image.path().join("etc/alive");
    // A process that is killed in the middle of a write ends that first.
    std::thread::sleep(Duration::from_millis(500));
    let before = fs::metadata(&alive).map_or(0, |found| found.len());
    std::thread::sleep(Duration::from_millis(1000));
    assert_eq!(fs::metadata(&alive).map_or(0, |found| found.len()), before, "what the generator started goes on without us");
    Ok(())
}

fn not_running() -> Result<(), Failed> {
    let image = image("");
    let machine = Machine::at(image.path());
    let kernel = kernel::of(&machine);
    assert!(!kernel.serves(&machine) && kernel.generates_in(&machine) && !kernel.generates_in(&Machine::live()));
    let (path, state) = (Path::new("/x"), swaptune_core::change::SwapState::at(1));
    for error in [
        kernel.set(path, "1").unwrap_err(),
        kernel.swap_on(path, state).unwrap_err(),
        kernel.swap_off(path).unwrap_err(),
        kernel.zram_add().unwrap_err(),
        kernel.load_module("zram").unwrap_err(),
        kernel.open_exclusive(path, true).unwrap_err(),
    ] {
        assert_eq!(error.to_string(), "this machine is not running: only it can do that");
    }
    Ok(())
}
