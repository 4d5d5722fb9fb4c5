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
        let output = folder.join("output");
        let console = folder.join("console");
        File::create(&output)?;
        File::create(&console)?;
        if matches!(self.boot, Boot::Efi) {
            fs::copy(EFI_VARIABLES, folder.join("variables")).with_context(|| format!("copy {EFI_VARIABLES}"))?;
        }
        let started = Instant::now();
        let mut guest = Guest(self.command(folder, &console, &output).spawn().context("start QEMU")?);
        let mut boot = None;
        let mut looked = Duration::ZERO;
        let end = loop {
            if guest.0.try_wait()?.is_some() {
                break if outcome::panicked(&console)? { End::Panicked } else { End::Ended };
            }
            let elapsed = started.elapsed();
            if elapsed > looked + CONSOLE_STEP {
                looked = elapsed;
                if outcome::panicked(&console)? {
                    // For the rest of its trace.
                    std::thread::sleep(CONSOLE_STEP);
                    break End::Panicked;
                }
            }
            if boot.is_none() && has_started(&output)? {
                boot = Some(elapsed);
            }
            if boot.is_none() && elapsed > self.limits.boot {
                break End::Stalled;
            }
            if elapsed > self.limits.total {
                break End::TimedOut;
            }
            std::thread::sleep(STEP);
        };
        drop(guest);
        let total = started.elapsed();
        if boot.is_none() && has_started(&output)? {
            boot = Some(total);
        }
        let times = Times { prepare: Duration::ZERO, boot, total };
        Outcome::read(&output, &console, end, times)
    }

    fn command(&self, folder: &Path, console: &Path, output: &Path) -> Command {
        // setpriv: the kernel ends QEMU when the thread that waits for it is gone.
        let mut qemu = command("setpriv");
        qemu.args(["--pdeathsig", "KILL", "--", self.architecture.emulator])
            .args(self.architecture.machine)
            .args(["-display", "none", "-vga", "none"])
            .args(["-nodefaults", "-no-user-config", "-no-reboot", "-nic", "none"])
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

/// A running QEMU; ended when it is dropped.
struct Guest(Child);

impl Drop for Guest {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn drive_arguments(number: usize, drive: &Drive) -> [String; 4] {
    let file = drive.file.display();
    let read_only = if drive.read_only { ",readonly=on" } else { "" };
    let serial = &drive.serial;
    let boot_index = if number == 0 { ",bootindex=1" } else { "" };
    [
        "-drive".to_owned(),
        format!("file={file},format=raw,if=none,id=d{number},cache=unsafe,discard=unmap{read_only}"),
        "-device".to_owned(),
        format!("virtio-blk-pci,drive=d{number},serial={serial}{boot_index}"),
    ]
}

fn has_started(output: &Path) -> Result<bool> {
    let bytes = fs::read(output)?;
    Ok(bytes.windows(7).any(|window| window == b"@@START"))
}
