//! The running kernel.
//!
//! Settings are written directly. The only child processes are modprobe, the generators that a plan names, and
//! what `storage` needs to prepare a device.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;

use rustix::fs::{FallocateFlags, IFlags, fallocate, ioctl_getflags, ioctl_setflags, statfs};
use rustix::io::Errno;
use swaptune_core::change::{DeviceFormat, MappingState, SwapState};

use super::{FileSystem, Kernel, Ran, WriteProgress, open_by, storage, supervise};
use crate::machine::Machine;
use crate::stop::SIGNALLED;
use crate::sys;
use crate::sys::child::dies_with_us;

/// Priority bits of swapon's flags.
const PRIORITY_MASK: i32 = 0x7fff;
/// Piece in which zeros are written where fallocate is not possible.
const PIECE: usize = 4 << 20;

/// The machine that this process runs on.
#[derive(Clone, Copy, Debug, Default)]
pub struct LiveKernel;

impl Kernel for LiveKernel {
    fn serves(&self, machine: &Machine) -> bool {
        machine.root() == Path::new("/")
    }

    fn page_size(&self) -> u64 {
        rustix::param::page_size() as u64
    }

    fn set(&self, path: &Path, value: &str) -> io::Result<()> {
        // One write call: the kernel takes each as a whole value. No O_CREAT, sysfs would answer EPERM instead of ENOENT.
        OpenOptions::new().write(true).open(path)?.write_all(value.as_bytes())
    }

    fn swap_on(&self, path: &Path, state: SwapState) -> io::Result<()> {
        sys::swapon(path, flags(state))
    }

    fn swap_off(&self, path: &Path) -> io::Result<()> {
        uninterrupted(|| sys::swapoff(path))
    }

    fn zram_add(&self) -> io::Result<String> {
        // Reading this file creates a device (Documentation/admin-guide/blockdev/zram.rst).
        let number = fs::read_to_string("/sys/class/zram-control/hot_add")?;
        Ok(format!("zram{}", number.trim()))
    }

    fn zram_remove(&self, name: &str) -> io::Result<()> {
        let number = name.strip_prefix("zram").unwrap_or(name);
        self.set(Path::new("/sys/class/zram-control/hot_remove"), number)
    }

    // Short options: busybox knows no others.
    fn load_module(&self, name: &str) -> io::Result<()> {
        modprobe(&["-q", name])
    }

    fn unload_module(&self, name: &str) -> io::Result<()> {
        let folder = Path::new("/sys/module").join(name.replace('-', "_"));
        match modprobe(&["-q", "-r", name]) {
            // busybox fails as well where the module is gone and others use what it depended on.
            Err(_) if !folder.exists() => Ok(()),
            // What is built in has no such file; a module that is still there is in use, by udev, may be, which looks at a device of it.
            Err(error) if folder.join("refcnt").exists() => Err(io::Error::new(io::ErrorKind::ResourceBusy, error)),
            unloaded => unloaded,
        }
    }

    fn run(&self, command: &[String], _: &[PathBuf]) -> io::Result<Ran> {
        let (program, arguments) =
            command.split_first().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "an empty command"))?;
        supervise::run(program, arguments)
    }

    fn end_left(&self) -> io::Result<()> {
        supervise::end_left()
    }

    fn open_exclusive(&self, path: &Path, write: bool) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(write);
        // On a block device O_EXCL without O_CREAT means: only if no mount, mapping, array or swap holds it, open(2).
        if fs::metadata(path)?.file_type().is_block_device() {
            options.custom_flags(libc::O_EXCL);
        }
        options.open(path)
    }

    fn open_by(&self, path: &Path) -> io::Result<Option<String>> {
        Ok(open_by(path)?.who)
    }

    fn format(&self, path: &Path, format: &DeviceFormat) -> io::Result<()> {
        storage::format(path, format)
    }

    fn reread_partitions(&self, path: &Path) -> io::Result<()> {
        storage::reread_partitions(path)
    }

    fn open_mapping(&self, name: &str, state: &MappingState) -> io::Result<()> {
        storage::open_mapping(name, state)
    }

    fn close_mapping(&self, name: &str) -> io::Result<()> {
        storage::close_mapping(name)
    }

    fn file_system(&self, dir: &Path) -> io::Result<FileSystem> {
        let stat = statfs(dir)?;
        let known = FILE_SYSTEMS.iter().find(|(magic, ..)| *magic == stat.f_type as u64 & 0xffff_ffff);
        let block = u64::try_from(stat.f_bsize).unwrap_or(0);
        Ok(FileSystem {
            name: known.map(|(_, name, _)| *name),
            swap_files: known.is_some_and(|(.., swap_files)| *swap_files),
            free: stat.f_bavail.saturating_mul(block),
        })
    }

    fn allocate(&self, file: &mut File, size: u64, nocow: bool, progress: &dyn Fn(WriteProgress)) -> io::Result<()> {
        if nocow {
            // btrfs takes the flag only while the file has no extent (btrfs(5), chattr +C).
            let flags = ioctl_getflags(&*file)?;
            ioctl_setflags(&*file, flags | IFlags::NOCOW)?;
        }
        match fallocate(&*file, FallocateFlags::empty(), 0, size) {
            Ok(()) => progress(WriteProgress { done: size, total: size }),
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => write_zeros(file, size, progress)?,
            Err(error) => return Err(error.into()),
        }
        file.sync_all()
    }
}

/// `f_type` of statfs(2), name, whether swapon takes files of it.
///
/// Only file systems that are known to work are allowed: a swapon that fails late is worse than a refusal.
const FILE_SYSTEMS: [(u64, &str, bool); 17] = [
    (0xef53, "ext", true),
    (0x5846_5342, "xfs", true),
    (0x9123_683e, "btrfs", true),
    (0xf2f5_2010, "f2fs", true),
    (0x0102_1994, "tmpfs", false),
    (0x8584_58f6, "ramfs", false),
    (0x794c_7630, "overlayfs", false),
    (0x6969, "nfs", false),
    (0xff53_4d42, "cifs", false),
    (0xfe53_4d42, "smb", false),
    (0x2fc1_2fc1, "zfs", false),
    (0x6573_5546, "fuse", false),
    (0x0102_1997, "9p", false),
    (0xca45_1a4e, "bcachefs", false),
    (0x7371_7368, "squashfs", false),
    (0x00c3_6400, "ceph", false),
    (0x6265_6572, "sysfs", false),
];

fn write_zeros(file: &mut File, size: u64, progress: &dyn Fn(WriteProgress)) -> io::Result<()> {
    let piece = vec![0; PIECE];
    let mut done = 0;
    while done < size {
        let length = usize::try_from(size - done).unwrap_or(PIECE).min(PIECE);
        file.write_all(&piece[..length])?;
        done += length as u64;
        progress(WriteProgress { done, total: size });
    }
    Ok(())
}

fn modprobe(arguments: &[&str]) -> io::Result<()> {
    let program = ["/sbin/modprobe", "/usr/sbin/modprobe", "/bin/modprobe"].into_iter().find(|path| Path::new(path).exists());
    let program = program.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "modprobe is not installed"))?;
    let mut command = Command::new(program);
    let output = dies_with_us(command.args(arguments).env("LC_ALL", "C").stdin(Stdio::null())).output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let why = if said.is_empty() { format!("modprobe {} failed", arguments.join(" ")) } else { said };
    Err(io::Error::other(why))
}

/// Flags of swapon(2). Both kinds of discard are that of none alone: each of the two switches the other one off (mm/swapfile.c).
fn flags(state: SwapState) -> libc::c_int {
    let priority = if state.priority >= 0 { sys::SWAP_FLAG_PREFER | (state.priority & PRIORITY_MASK) } else { 0 };
    let discard = match (state.discard_once, state.discard_pages) {
        (false, false) => 0,
        (true, false) => sys::SWAP_FLAG_DISCARD | sys::SWAP_FLAG_DISCARD_ONCE,
        (false, true) => sys::SWAP_FLAG_DISCARD | sys::SWAP_FLAG_DISCARD_PAGES,
        (true, true) => sys::SWAP_FLAG_DISCARD,
    };
    priority | discard
}

/// Repeats a call that a signal broke off, as Ctrl-Z, a debugger or the freezer of a suspend does, until it has ended. A signal that asks this
/// process to stop ends it; one that came before the call does not, for then the call puts something back.
fn uninterrupted(mut call: impl FnMut() -> io::Result<()>) -> io::Result<()> {
    let is_asked = || SIGNALLED.load(Ordering::Relaxed);
    let before = is_asked();
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted && is_asked() == before => {}
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn a_file_gets_its_blocks() {
        let mut file = tempfile::tempfile().unwrap();
        LiveKernel.allocate(&mut file, 1 << 20, false, &|_| ()).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 1 << 20);
        assert!(file.metadata().unwrap().blocks() >= 2048);
    }

    #[test]
    fn zeros_are_written_to_the_end() {
        let mut file = tempfile::tempfile().unwrap();
        let last = Cell::new(0);
        write_zeros(&mut file, (PIECE + 4096) as u64, &|progress| last.set(progress.done)).unwrap();
        assert_eq!(last.get(), (PIECE + 4096) as u64);
        assert_eq!(file.metadata().unwrap().len(), last.get());
    }

    #[test]
    fn a_value_is_never_written_to_a_file_that_is_not_there() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("knob");
        assert_eq!(LiveKernel.set(&path, "1").unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(!path.exists());
    }

    #[test]
    fn a_command_is_run_and_heard() {
        let command = |words: &[&str]| LiveKernel.run(&words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>(), &[]);
        let ran = command(&["sh", "-c", "echo said >&2; exit 3"]).unwrap();
        assert_eq!(ran, Ran { code: Some(3), output: "said".into() });
        assert!(command(&["/nonexistent/generator"]).is_err());
        assert!(command(&[]).is_err());
    }

    #[test]
    fn discard_is_asked_for_as_swapon_has_it() {
        let of = |discard_once, discard_pages| flags(SwapState { priority: 5, discard_once, discard_pages });
        assert_eq!([of(false, false), of(true, false), of(false, true), of(true, true)], [0x8005, 0x3_8005, 0x5_8005, 0x1_8005]);
        assert_eq!(flags(SwapState::at(-2)), 0);
    }

    #[test]
    fn what_a_signal_breaks_off_is_repeated_until_a_stop_is_asked_for() {
        let mut calls = 0;
        let mut broken = |asks: bool| {
            calls += 1;
            SIGNALLED.fetch_or(asks, Ordering::Relaxed);
            if calls % 3 == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::EINTR)) }
        };
        uninterrupted(|| broken(false)).unwrap();
        assert_eq!(uninterrupted(|| broken(true)).unwrap_err().kind(), io::ErrorKind::Interrupted);
        // What puts something back goes on.
        uninterrupted(|| broken(true)).unwrap();
        SIGNALLED.store(false, Ordering::Relaxed);
        let busy = || Err(io::Error::from_raw_os_error(libc::ENOMEM));
        assert_eq!(uninterrupted(busy).unwrap_err().raw_os_error(), Some(libc::ENOMEM));
    }
}
