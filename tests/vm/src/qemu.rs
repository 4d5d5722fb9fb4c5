//! One QEMU process from its start to its end.
//!
//! Software emulation only: `/dev/kvm` is present on hosts where a guest hangs
//! for ever in its first instructions, so its presence proves nothing. The
//! process dies with the thread that started it, whatever ends that thread, and
//! it is waited for in short steps up to two limits: one for reaching the
//! script, one for the whole. A kernel that panics is not waited for: a real
//! system has no `panic=` on its command line and would stand there for ever.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::architecture::{Architecture, Output};
use crate::command::command;
use crate::outcome::{self, End, Outcome, Times};

const STEP: Duration = Duration::from_millis(100);
/// Between two looks at the console.
const CONSOLE_STEP: Duration = Duration::from_secs(2);

/// EFI firmware for a virtual machine (Debian's ovmf).
const EFI_CODE: &str = "/usr/share/OVMF/OVMF_CODE_4M.fd";
const EFI_VARIABLES: &str = "/usr/share/OVMF/OVMF_VARS_4M.fd";

/// A virtio disk.
#[derive(Debug, Clone)]
pub struct Drive {
    /// Raw image on the host.
    pub file: PathBuf,
    /// Name that the guest finds under `/sys/block/*/serial`.
    pub serial: String,
    /// Whether the guest may not write.
    pub read_only: bool,
    /// What it may read and write a second, bytes; `None` for as much as it can.
    pub rate: Option<u64>,
}

/// What the machine starts.
#[derive(Debug, Clone)]
pub enum Boot {
    /// A kernel given directly.
    Kernel {
        /// Kernel image.
        image: PathBuf,
        /// Initramfs.
        initramfs: PathBuf,
        /// Kernel command line.
        command_line: String,
    },
    /// The boot loader on the first drive, by a BIOS.
    FirstDrive,
    /// The boot loader on the first drive, by EFI firmware.
    Efi,
}

/// How long a boot may take. Both are far above what was measured.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Until the script starts.
    pub boot: Duration,
    /// Until the machine is off.
    pub total: Duration,
}

/// A machine to run once.
#[derive(Debug, Clone)]
pub struct Machine {
    /// Its processors.
    pub architecture: Architecture,
    /// Memory in MiB.
    pub memory: u32,
    /// Virtual processors. A second one gains nothing under emulation.
    pub cpus: u32,
    /// Size of the translation cache in MiB: part of what the host pays per guest.
    pub translation_cache: u32,
    /// What it starts.
    pub boot: Boot,
    /// Its disks in order: /dev/vda, /dev/vdb, …
    pub drives: Vec<Drive>,
    /// Port of the host's loopback that leads to its sshd; without one it has no network.
    pub ssh: Option<u16>,
    /// The limits.
    pub limits: Limits,
}

impl Machine {
    /// Runs the machine; a boot that stalls before its script is tried once more.
    ///
    /// Only a stall is repeated. A script that failed has changed the world, and
    /// a second run would hide what the first one showed.
    pub fn run(&self, folder: &Path) -> Result<Outcome> {
        let first = self.run_once(folder)?;
        if first.end != End::Stalled {
            return Ok(first);
        }
        eprintln!("a guest did not reach its script; booting it once more\n{first}");
        self.run_once(folder)
    }

    fn run_once(&self, folder: &Path) -> Result<Outcome> {
        self.start(folder)?.wait()
    }

    /// Starts the machine; it runs until it is off, or until what is returned is dropped.
    pub fn start(&self, folder: &Path) -> Result<Running> {
        let (output, console) = (folder.join("output"), folder.join("console"));
        File::create(&output)?;
        File::create(&console)?;
        if matches!(self.boot, Boot::Efi) {
            fs::copy(EFI_VARIABLES, folder.join("variables")).with_context(|| format!("copy {EFI_VARIABLES}"))?;
        }
        let started = Instant::now();
        let guest = Guest(self.command(folder, &console, &output).spawn().context("start QEMU")?);
        Ok(Running { guest, output, console, started, boot: None, looked: Duration::ZERO, limits: self.limits })
    }

    fn command(&self, folder: &Path, console: &Path, output: &Path) -> Command {
        // setpriv: the kernel ends QEMU when the thread that waits for it is gone.
        let mut qemu = command("setpriv");
        qemu.args(["--pdeathsig", "KILL", "--", self.architecture.emulator])
            .args(self.architecture.machine)
            .args(["-display", "none", "-vga", "none"])
            .args(["-nodefaults", "-no-user-config", "-no-reboot"])
            .args(["-monitor", "none"])
            .arg("-accel")
            .arg(format!("tcg,thread=multi,tb-size={}", self.translation_cache))
            .arg("-m")
            .arg(format!("{}M", self.memory))
            .arg("-smp")
            .arg(self.cpus.to_string());
        qemu.arg("-serial").arg(format!("file:{}", console.display()));
        match self.architecture.output {
            Output::Serial => qemu.arg("-serial").arg(format!("file:{}", output.display())),
            Output::Virtio => qemu
                .args(["-device", "virtio-serial-pci", "-device", "virtconsole,chardev=output", "-chardev"])
                .arg(format!("file,id=output,path={}", output.display())),
        };
        if let Boot::Kernel { image, initramfs, command_line } = &self.boot {
            qemu.arg("-kernel").arg(image).arg("-initrd").arg(initramfs);
            qemu.arg("-append").arg(command_line);
        }
        if matches!(self.boot, Boot::Efi) {
            // What the firmware remembers is made anew for each boot: the loader is found by its standard path.
            qemu.arg("-drive").arg(format!("if=pflash,format=raw,readonly=on,file={EFI_CODE}"));
            qemu.arg("-drive").arg(format!("if=pflash,format=raw,file={}", folder.join("variables").display()));
        }
        qemu.args(network_arguments(self.ssh));
        for (number, drive) in self.drives.iter().enumerate() {
            qemu.args(drive_arguments(number, drive));
        }
        qemu.stdin(Stdio::null()).stdout(Stdio::null());
        qemu
    }
}

/// Makes a sparse file for a disk.
pub fn sparse_disk(file: &Path, mebibytes: u64) -> Result<()> {
    let disk = File::create(file).with_context(|| format!("create {}", file.display()))?;
    disk.set_len(mebibytes << 20)?;
    Ok(())
}

/// A machine that was started; ended when this is dropped.
pub struct Running {
    guest: Guest,
    output: PathBuf,
    console: PathBuf,
    started: Instant,
    boot: Option<Duration>,
    looked: Duration,
    limits: Limits,
}

impl Running {
    /// Waits until the machine is off, or one of its limits is over.
    pub fn wait(mut self) -> Result<Outcome> {
        let end = loop {
            if let Some(end) = self.end()? {
                break end;
            }
            std::thread::sleep(STEP);
        };
        self.outcome(end)
    }

    /// Waits until the script has printed this line. Gives the outcome where the machine ends before, or one of its limits is over.
    pub fn wait_for(&mut self, line: &str) -> Result<Option<Outcome>> {
        loop {
            if let Some(end) = self.end()? {
                return self.outcome(end).map(Some);
            }
            if String::from_utf8_lossy(&fs::read(&self.output)?).lines().any(|printed| printed.trim_end() == line) {
                return Ok(None);
            }
            std::thread::sleep(STEP);
        }
    }

    /// How it has come to its end, if it has.
    fn end(&mut self) -> Result<Option<End>> {
        if self.guest.0.try_wait()?.is_some() {
            let panicked = outcome::panicked(&self.console)?;
            return Ok(Some(if panicked { End::Panicked } else { End::Ended }));
        }
        let elapsed = self.started.elapsed();
        if elapsed > self.looked + CONSOLE_STEP {
            self.looked = elapsed;
            if outcome::panicked(&self.console)? {
                // For the rest of its trace.
                std::thread::sleep(CONSOLE_STEP);
                return Ok(Some(End::Panicked));
            }
        }
        if self.boot.is_none() && has_started(&self.output)? {
            self.boot = Some(elapsed);
        }
        if self.boot.is_none() && elapsed > self.limits.boot {
            return Ok(Some(End::Stalled));
        }
        Ok((elapsed > self.limits.total).then_some(End::TimedOut))
    }

    fn outcome(&mut self, end: End) -> Result<Outcome> {
        self.guest.stop();
        let total = self.started.elapsed();
        if self.boot.is_none() && has_started(&self.output)? {
            self.boot = Some(total);
        }
        let times = Times { prepare: Duration::ZERO, boot: self.boot, total };
        Outcome::read(&self.output, &self.console, end, times)
    }
}

/// A running QEMU; ended when it is dropped.
struct Guest(Child);

impl Guest {
    fn stop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Its own network, from which nothing else is reached: the guest is 10.0.2.15 there. `romfile=`: nothing boots from it.
fn network_arguments(ssh: Option<u16>) -> Vec<String> {
    let Some(port) = ssh else { return vec!["-nic".to_owned(), "none".to_owned()] };
    vec![
        "-netdev".to_owned(),
        format!("user,id=n0,restrict=on,hostfwd=tcp:127.0.0.1:{port}-10.0.2.15:22"),
        "-device".to_owned(),
        "virtio-net-pci,netdev=n0,romfile=".to_owned(),
    ]
}

fn drive_arguments(number: usize, drive: &Drive) -> [String; 4] {
    let file = drive.file.display();
    let read_only = if drive.read_only { ",readonly=on" } else { "" };
    let rate = drive.rate.map_or_else(String::new, |rate| format!(",throttling.bps-total={rate}"));
    let serial = &drive.serial;
    let boot_index = if number == 0 { ",bootindex=1" } else { "" };
    [
        "-drive".to_owned(),
        format!("file={file},format=raw,if=none,id=d{number},cache=unsafe,discard=unmap{read_only}{rate}"),
        "-device".to_owned(),
        format!("virtio-blk-pci,drive=d{number},serial={serial}{boot_index}"),
    ]
}

fn has_started(output: &Path) -> Result<bool> {
    let bytes = fs::read(output)?;
    Ok(bytes.windows(7).any(|window| window == b"@@START"))
}
