//! The Ansible role of `contrib/ansible`, run by ansible-core: hosts are images, each a folder of its own, and this machine itself.
//!
//! Images have no kernel, so nothing is proved on them; what stops a roll-out there is a finding. The proof is shown on the running kernel.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use libtest_mimic::Failed;
use swaptune_double::debian_image;
use swaptune_trials::{TestResult, needing, no_swap, program, root, run, swap_lock, zswap};
use tempfile::TempDir;

const SWAP: &str = "UUID=5a5a none swap sw 0 0\n";

fn main() -> ExitCode {
    run(vec![
        needing("the_playbooks_are_read", ready, syntax),
        needing("a_roll_out_stops_at_the_first_host_that_fails", ready, roll_out),
        needing("what_was_reviewed_is_rolled_out", ready, reviewed),
        needing("a_proof_that_fails_takes_the_host_back", ready_and_live, live),
    ])
}

/// What `scripts/setup-tests.sh` puts there.
fn ansible() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("../tools/ansible/bin/ansible-playbook")
}

fn ready() -> TestResult {
    let path = ansible();
    root()?;
    program(path.to_str().unwrap_or_default(), &["--version"])
}

fn ready_and_live() -> TestResult {
    ready()?;
    no_swap()?;
    zswap()
}

fn contrib() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib/ansible")
}

/// Hosts in folders, and the files of a controller.
struct Fleet(TempDir);

impl Fleet {
    fn new(names: &[&str]) -> Result<Self, Failed> {
        let fleet = Self(tempfile::tempdir()?);
        let mut inventory = String::from("[all]\n");
        for name in names {
            let root = fleet.root(name);
            debian_image(&root, SWAP)?;
            fs::create_dir_all(root.join("var/lib"))?;
            inventory += &format!("{name} ansible_connection=local swaptune_root={} swaptune_when=boot\n", root.display());
        }
        fs::write(fleet.0.path().join("hosts"), inventory)?;
        Ok(fleet)
    }

    fn root(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// What a run says, where it ends with this exit code.
    fn play(&self, playbook: &str, more: &[&str], code: i32) -> Result<String, Failed> {
        let binary = env!("CARGO_BIN_EXE_swaptune");
        let values = format!(
            "swaptune_program={binary} swaptune_controller={binary} swaptune_become=false swaptune_plans={} swaptune_strict=true \
             ansible_python_interpreter={}",
            self.0.path().join("plans").display(),
            ansible().with_file_name("python").display(),
        );
        let mut command = Command::new(ansible());
        command.args(["-i", "hosts", "-e", &values]).args(more).arg(contrib().join(playbook)).current_dir(self.0.path());
        command.env("HOME", self.0.path()).env("ANSIBLE_NOCOLOR", "1").env("ANSIBLE_FORKS", "1").env("LC_ALL", "C.UTF-8");
        let output = command.output()?;
        let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        if output.status.code() == Some(code) {
            Ok(text)
        } else {
            Err(format!("{playbook} ended with {}:\n{text}", output.status).into())
        }
    }
}

/// The line of the recap about a host has these words.
fn recap(text: &str, host: &str, words: &[&str]) -> Result<(), Failed> {
    let line = text.lines().rfind(|line| line.starts_with(host) && line.contains("ok=")).unwrap_or("no such line");
    if words.iter().all(|word| line.contains(word)) {
        Ok(())
    } else {
        Err(format!("{words:?} are not in {line:?} of\n{text}").into())
    }
}

fn has(text: &str, words: &str) -> Result<(), Failed> {
    if text.contains(words) { Ok(()) } else { Err(format!("no `{words}` in:\n{text}").into()) }
}

fn applied(root: &Path) -> bool {
    root.join("etc/swaptune/applied.toml").exists()
}

fn syntax() -> Result<(), Failed> {
    let fleet = Fleet::new(&["web1"])?;
    for playbook in ["plan.yml", "rollout.yml"] {
        fleet.play(playbook, &["--syntax-check"], 0)?;
    }
    Ok(())
}

fn roll_out() -> Result<(), Failed> {
    let fleet = Fleet::new(&["web1", "web2", "web3"])?;
    // What stands there wins over the plan's sysctls, and a plan does not edit what a distribution ships.
    let late = fleet.root("web2").join("usr/lib/sysctl.d/zzz.conf");
    fs::create_dir_all(late.parent().ok_or("a folder")?)?;
    fs::write(&late, "vm.swappiness = 10\n")?;
    let shown = fleet.play("rollout.yml", &["--check", "--limit", "web1"], 0)?;
    has(&shown, "+ vm.swappiness = 160")?;
    recap(&shown, "web1", &["changed=1", "failed=0"])?;
    if applied(&fleet.root("web1")) {
        return Err("a check has changed the host".into());
    }
    let said = fleet.play("rollout.yml", &[], 2)?;
    has(&said, "what was planned is not proved on web2 (and is taken back)")?;
    has(&said, "sysctl-overridden")?;
    recap(&said, "web1", &["changed=1", "failed=0"])?;
    recap(&said, "web2", &["failed=1", "rescued=1"])?;
    let state = ["web1", "web2", "web3"].map(|name| applied(&fleet.root(name)));
    if state != [true, false, false] || said.contains("web3") {
        return Err(format!("applied on {state:?}:\n{said}").into());
    }
    fs::remove_file(&late)?;
    let again = fleet.play("rollout.yml", &[], 0)?;
    recap(&again, "web1", &["changed=0", "failed=0"])?;
    recap(&again, "web3", &["changed=1", "failed=0"])?;
    let third = fleet.play("rollout.yml", &[], 0)?;
    ["web1", "web2", "web3"].iter().try_for_each(|name| recap(&third, name, &["changed=0", "failed=0"]))
}

/// Plans come to the controller, are carried out as they are there, and refused where a host has changed since.
fn reviewed() -> Result<(), Failed> {
    let fleet = Fleet::new(&["web1", "web2"])?;
    let planned = fleet.play("plan.yml", &[], 0)?;
    has(&planned, "2 machines")?;
    let plan = fleet.0.path().join("plans/web1.json");
    if !plan.exists() || applied(&fleet.root("web1")) {
        return Err(planned.into());
    }
    let fstab = fleet.root("web2").join("etc/fstab");
    fs::write(&fstab, fs::read_to_string(&fstab)? + "# one more line\n")?;
    let said = fleet.play("rollout.yml", &[], 2)?;
    has(&said, "the machine has changed since")?;
    recap(&said, "web1", &["changed=1", "failed=0"])?;
    let state = ["web1", "web2"].map(|name| applied(&fleet.root(name)));
    if state == [true, false] { Ok(()) } else { Err(format!("applied on {state:?}:\n{said}").into()) }
}

/// This machine: with a swap file it is proved and stays so; without an area there is no proof, and its knob is as it was.
fn live() -> Result<(), Failed> {
    let _lock = swap_lock()?;
    let fleet = Fleet::new(&[])?;
    fs::write(fleet.0.path().join("hosts"), "here ansible_connection=local swaptune_when=now swaptune_strict=false\n")?;
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let knob = "/proc/sys/vm/swappiness";
    let before = fs::read_to_string(knob)?;
    let wanted = if before.trim() == "77" { "78" } else { "77" };
    let config = |text: String| -> Result<String, Failed> {
        let path = dir.path().join("config.toml");
        fs::write(&path, format!("profile = \"none\"\n{text}[knobs]\n\"vm.swappiness\" = {wanted}\n"))?;
        Ok(format!("{{\"swaptune_strict\": false, \"swaptune_flags\": [\"--config\", \"{}\"]}}", path.display()))
    };
    let bare = config(String::new())?;
    let failed = fleet.play("rollout.yml", &["-e", &bare], 2)?;
    has(&failed, "what was planned is not proved on here (and is taken back)")?;
    if fs::read_to_string(knob)? != before {
        return Err(format!("vm.swappiness is not as it was:\n{failed}").into());
    }
    let area = dir.path().join("swapfile");
    let whole = config(format!("[zswap]\nenabled = true\n[[swap]]\npath = \"{}\"\nsize = \"64M\"\n", area.display()))?;
    let _restore = Restore(area.display().to_string());
    let said = fleet.play("rollout.yml", &["-e", &whole], 0)?;
    recap(&said, "here", &["changed=1", "failed=0"])?;
    let again = fleet.play("rollout.yml", &["-e", &whole], 0)?;
    recap(&again, "here", &["changed=0", "failed=0"])?;
    has(&fs::read_to_string("/proc/swaps")?, &area.display().to_string())
}

/// Takes back the apply that switched this area on.
struct Restore(String);

impl Drop for Restore {
    fn drop(&mut self) {
        let newest = fs::read_to_string("/run/swaptune/applied.toml").unwrap_or_default();
        if newest.contains(&self.0) {
            let _ = Command::new(env!("CARGO_BIN_EXE_swaptune")).args(["rollback", "--yes"]).output();
        }
    }
}
