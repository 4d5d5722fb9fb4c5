//! The Ansible role of `contrib/ansible`, from outside: two Debian guests over ssh, each with a kernel, a way of installation and keys of its own.
//!
//! Planned and shown without a change, rolled out and proved, the same again without a change; then a new configuration that the first host
//! cannot prove, because nothing that is begun over ssh may use zswap there: it is taken back and the second is not touched.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use swaptune_vm::command::{command, run};
use swaptune_vm::debian::{RELEASES, Release};
use swaptune_vm::full::Full;
use swaptune_vm::outcome::End;
use swaptune_vm::qemu::Running;
use swaptune_vm::reachable::{self, USER};
use swaptune_vm::{package, swaptune};
use tempfile::TempDir;

/// What `scripts/setup-tests.sh` installs.
pub const PLAYBOOK: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/../tools/ansible/bin/ansible-playbook");

/// Ansible's own limits are for machines that are not emulated.
const SECONDS: &str = "300";
/// Longer than any play was seen to take, many times.
const PLAY_SECONDS: &str = "2400";

/// What a host does meanwhile.
const SCRIPT: &str = "systemctl is-system-running --wait\necho ready\nuntil [ -e /run/over ]; do sleep 1; done\n";

const ZSWAP: &str = "/sys/module/zswap/parameters";

/// The configuration with this pool and this swappiness.
fn config(pool: u32, swappiness: u32) -> String {
    format!(
        "profile = \"idle-guide\"\n\n[zswap]\ncompressor = \"zstd\"\nmax_pool_percent = {pool}\n\n\
         [boot]\nkernel_arguments = false\n\n[knobs]\n\"vm.swappiness\" = {swappiness}\n"
    )
}

/// Twice without a difference, and stopped at the first host that fails.
pub fn roll_out() -> Result<()> {
    let controller = Controller::new()?;
    // Before the guests run: it is made by compilers.
    package::deb(1)?;
    // The one that will fail comes first.
    let [second, first, ..] = RELEASES;
    let mut hosts = controller.hosts([first, second])?;
    controller.inventory(&hosts)?;
    hosts.iter_mut().try_for_each(Host::ready)?;
    planned(&controller, &hosts).context("planned and shown")?;
    rolled_out(&controller, &hosts).context("rolled out, twice")?;
    next_boot(&controller, &hosts).context("rolled out for the next boot alone")?;
    stopped(&controller, &hosts).context("stopped at the host that fails")?;
    for host in hosts {
        controller.ssh(&host, "sudo touch /run/over")?;
        host.running.wait()?.ensure_success().with_context(|| host.release.name)?;
    }
    Ok(())
}

/// Facts and plans come to the controller; a check shows what would change. Neither changes anything.
fn planned(controller: &Controller, hosts: &[Host; 2]) -> Result<()> {
    controller.configure(&config(30, 85))?;
    let before = controller.each(hosts, UNCHANGED)?;
    has(&controller.play("plan.yml", &[], 0)?, "2 machines")?;
    let shown = controller.play("rollout.yml", &["--check", "--diff"], 0)?;
    for (host, before) in hosts.iter().zip(before) {
        recap(&shown, host, &["changed=1", "unreachable=0", "failed=0"])?;
        for folder in ["", "facts/"] {
            let file = controller.folder.path().join(format!("plans/{folder}{}.json", host.release.name));
            ensure!(file.exists(), "{} was not written", file.display());
        }
        let after = controller.ssh(host, UNCHANGED)?;
        ensure!(after == before, "{}: {before}became\n{after}", host.release.name);
    }
    has(&shown, "+ vm.swappiness = 85")
}

/// What a plan does not change.
const UNCHANGED: &str = "cat /proc/sys/vm/swappiness /etc/fstab; ls /etc/sysctl.d; sudo test ! -e /etc/swaptune/applied.toml";

/// What was reviewed is in effect and proved by each kernel; a second run finds nothing to change.
fn rolled_out(controller: &Controller, hosts: &[Host; 2]) -> Result<()> {
    let said = controller.play("rollout.yml", &[], 0)?;
    hosts.iter().try_for_each(|host| recap(&said, host, &["changed=1", "unreachable=0", "failed=0"]))?;
    in_effect(controller, &hosts[0], "Y zstd 30 85")?;
    in_effect(controller, &hosts[1], "Y zstd 30 85")?;
    for proof in controller.each(hosts, "sudo swaptune verify --prove || test $? = 1")? {
        ensure!(proof.lines().any(|line| line.contains("as planned: ") && line.contains("zswap")), "{proof}");
    }
    let again = controller.play("rollout.yml", &[], 0)?;
    hosts.iter().try_for_each(|host| recap(&again, host, &["changed=0", "unreachable=0", "failed=0"]))
}

/// A running host differs from what its next boot will have, and is not taken back for it.
fn next_boot(controller: &Controller, hosts: &[Host; 2]) -> Result<()> {
    controller.configure(&config(30, 86))?;
    fs::remove_dir_all(controller.folder.path().join("plans"))?;
    let said = controller.play("rollout.yml", &["-e", "swaptune_when=boot"], 0)?;
    for host in hosts {
        recap(&said, host, &["changed=2", "unreachable=0", "failed=0", "rescued=0"])?;
        in_effect(controller, host, "Y zstd 30 85")?;
        has(&controller.ssh(host, "cat /etc/sysctl.d/99-zz-swaptune.conf")?, "vm.swappiness = 86")?;
        controller.ssh(host, "sudo swaptune rollback --yes")?;
    }
    Ok(())
}

/// The first host cannot prove the new configuration: it has the old one again, and the second still has.
fn stopped(controller: &Controller, hosts: &[Host; 2]) -> Result<()> {
    let [first, second] = hosts;
    controller.configure(&config(25, 95))?;
    controller.ssh(first, "sudo systemctl set-property --runtime ssh.service MemoryZSwapMax=0")?;
    let untouched = controller.ssh(second, HISTORY)?;
    let said = controller.play("rollout.yml", &[], 2)?;
    has(&said, "what was planned is not proved on debian13 (and is taken back)")?;
    has(&said, "zswap-group-limit")?;
    recap(&said, first, &["unreachable=0", "failed=1", "rescued=1"])?;
    ensure!(!said.contains(second.release.name), "the roll-out went on:\n{said}");
    in_effect(controller, first, "Y zstd 30 85")?;
    in_effect(controller, second, "Y zstd 30 85")?;
    has(&controller.ssh(first, "cat /etc/sysctl.d/99-zz-swaptune.conf")?, "vm.swappiness = 85")?;
    ensure!(controller.ssh(second, HISTORY)? == untouched, "{} was touched", second.release.name);
    controller.ssh(first, "sudo systemctl set-property --runtime ssh.service MemoryZSwapMax=infinity")?;
    has(&controller.ssh(first, "sudo swaptune verify --prove || test $? = 1")?, "as planned: ")
}

/// What a host has been through, and what it is to be.
const HISTORY: &str = "sudo swaptune history; cat /etc/swaptune/config.toml";

/// Read from the kernel, without swaptune's help.
fn in_effect(controller: &Controller, host: &Host, wanted: &str) -> Result<()> {
    let files = format!("{ZSWAP}/enabled {ZSWAP}/compressor {ZSWAP}/max_pool_percent /proc/sys/vm/swappiness");
    let found = controller.ssh(host, &format!("sudo cat {files}"))?;
    let found = found.split_whitespace().collect::<Vec<_>>().join(" ");
    ensure!(found == wanted, "{}: wanted {wanted}, found {found}", host.release.name);
    Ok(())
}

fn has(text: &str, words: &str) -> Result<()> {
    ensure!(text.contains(words), "no `{words}` in:\n{text}");
    Ok(())
}

/// The line of the recap about a host has these words.
fn recap(text: &str, host: &Host, words: &[&str]) -> Result<()> {
    let line = text.lines().rfind(|line| line.starts_with(host.release.name) && line.contains("ok=")).unwrap_or("no such line");
    ensure!(words.iter().all(|word| line.contains(word)), "{words:?} are not in {line:?} of\n{text}");
    Ok(())
}

/// A guest that is managed.
struct Host {
    release: Release,
    port: u16,
    guest: Full,
    running: Running,
}

impl Host {
    /// Waits until it is up; a boot that stalls is tried once more, as everywhere.
    fn ready(&mut self) -> Result<()> {
        let Some(first) = self.running.wait_for("ready")? else { return Ok(()) };
        if first.end != End::Stalled {
            bail!("{first}");
        }
        self.running = self.guest.start(SCRIPT)?;
        self.running.wait_for("ready")?.map_or(Ok(()), |second| bail!("{second}"))
    }
}

/// The machine that plans are reviewed on: this one. Its folder is short-named, because a control socket lies in it.
struct Controller {
    folder: TempDir,
}

impl Controller {
    /// With a key of its own, and one for the hosts to show.
    fn new() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        for name in ["key", "host"] {
            run(command("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(folder.path().join(name)))?;
        }
        Ok(Self { folder })
    }

    fn file(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// Boots a guest of each release, both at once, on ports that are free.
    fn hosts(&self, releases: [Release; 2]) -> Result<[Host; 2]> {
        let ports = [TcpListener::bind("127.0.0.1:0")?, TcpListener::bind("127.0.0.1:0")?];
        let [first, second] = ports.map(|listener| listener.local_addr());
        let [one, other] = releases;
        Ok([self.host(one, first?.port())?, self.host(other, second?.port())?])
    }

    fn host(&self, release: Release, port: u16) -> Result<Host> {
        let guest = reachable::guest(release, port, &self.folder.path().join("key.pub"), &self.folder.path().join("host"))?;
        let running = guest.start(SCRIPT)?;
        Ok(Host { release, port, guest, running })
    }

    /// The program to the first host, the package to the second; their keys are known.
    fn inventory(&self, hosts: &[Host; 2]) -> Result<()> {
        let key = fs::read_to_string(self.folder.path().join("host.pub"))?;
        let known: String = hosts.iter().map(|host| format!("[127.0.0.1]:{} {key}", host.port)).collect();
        fs::write(self.folder.path().join("known"), known)?;
        let program = swaptune::binary()?;
        let text = format!(
            "all:\n  vars:\n    ansible_host: 127.0.0.1\n    ansible_user: {USER}\n    ansible_python_interpreter: /usr/bin/python3\n    \
             ansible_ssh_common_args: {}\n    swaptune_plans: {}\n    swaptune_controller: {}\n    \
             swaptune_config: \"{{{{ lookup('file', '{}', rstrip=false) }}}}\"\n  hosts:\n    \
             {}: {{ansible_port: {}, swaptune_binary: {}}}\n    \
             {}: {{ansible_port: {}, swaptune_package: {}, swaptune_program: /usr/bin/swaptune}}\n",
            self.options().join(" "),
            self.file("plans"),
            program.display(),
            self.file("config.toml"),
            hosts[0].release.name,
            hosts[0].port,
            program.display(),
            hosts[1].release.name,
            hosts[1].port,
            package::deb(1)?.display(),
        );
        fs::write(self.folder.path().join("hosts.yml"), text).context("the inventory")
    }

    /// How ssh logs in: with our key and no other, to hosts that are known.
    fn options(&self) -> Vec<String> {
        let option = |text: String| ["-o".to_owned(), text];
        let mut options = vec!["-F".to_owned(), "none".to_owned(), "-i".to_owned(), self.file("key")];
        options.extend(option(format!("UserKnownHostsFile={}", self.file("known"))));
        options.extend(option("StrictHostKeyChecking=yes".to_owned()));
        options.extend(option("IdentitiesOnly=yes".to_owned()));
        options
    }

    fn configure(&self, text: &str) -> Result<()> {
        fs::write(self.folder.path().join("config.toml"), text).context("the configuration")
    }

    /// What a shell command on a host prints.
    fn ssh(&self, host: &Host, words: &str) -> Result<String> {
        let (timeout, port) = (format!("ConnectTimeout={SECONDS}"), host.port.to_string());
        let mut ssh = command("ssh");
        ssh.args(self.options()).args(["-o", &timeout, "-l", USER, "-p", &port, "127.0.0.1", words]);
        run(&mut ssh).with_context(|| format!("on {}", host.release.name))
    }

    fn each(&self, hosts: &[Host; 2], words: &str) -> Result<Vec<String>> {
        hosts.iter().map(|host| self.ssh(host, words)).collect()
    }

    /// What a play says, where it ends with this exit code.
    fn play(&self, playbook: &str, more: &[&str], code: i32) -> Result<String> {
        let contrib = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib/ansible");
        let mut play = self.limited(PLAYBOOK);
        play.args(["-i", "hosts.yml"]).args(more).arg(contrib.join(playbook));
        let output = play.output().with_context(|| format!("start {PLAYBOOK}"))?;
        let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        ensure!(output.status.code() == Some(code), "{playbook} {more:?} ended with {}:\n{text}", output.status);
        Ok(text)
    }

    /// A command that ends with this thread, or when its time is over.
    fn limited(&self, program: &str) -> Command {
        let mut limited = command("setpriv");
        limited.args(["--pdeathsig", "TERM", "--", "timeout", "--kill-after", "10", PLAY_SECONDS, program]);
        limited.current_dir(self.folder.path()).env("HOME", self.folder.path()).env("LC_ALL", "C.UTF-8");
        limited.env("ANSIBLE_NOCOLOR", "1").env("ANSIBLE_PIPELINING", "1").env("ANSIBLE_TIMEOUT", SECONDS);
        // One connection for a host, kept from play to play.
        limited.env("ANSIBLE_SSH_ARGS", "-o ControlMaster=auto -o ControlPersist=300");
        limited
    }
}
