//! What is done to a kernel that is not a plain file write.
//!
//! [`Kernel`] is the seam: [`LiveKernel`] does it to the running machine, [`ImageKernel`] refuses all that needs a running one and
//! runs the generators of a tree in that tree. Only `transaction::write` calls these methods. Tests have one more, which plays a machine
//! in a folder; it is not part of this crate.

mod chroot;
mod image;
mod live;
mod open_by;
mod storage;
mod supervise;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use swaptune_core::change::{DeviceFormat, MappingState, SwapState};

pub use image::ImageKernel;
pub use live::LiveKernel;
pub use open_by::{OpenBy, open_by};
pub use storage::unfit_key;

use crate::machine::Machine;

/// Makes the kernel of a folder.
pub type Maker = fn(&Path) -> Box<dyn Kernel>;

static PLAYER: OnceLock<Maker> = OnceLock::new();

/// The kernel of a machine: the running one, or none yet.
#[must_use]
pub fn of(machine: &Machine) -> Box<dyn Kernel> {
    if machine.is_live() {
        return Box::new(LiveKernel);
    }
    match PLAYER.get() {
        Some(make) => make(machine.root()),
        None => Box::new(ImageKernel::new(machine.root())),
    }
}

/// Lets this stand behind every folder in this process; the first one stays. For tests.
pub fn play_folders_in_tests(make: Maker) {
    let _ = PLAYER.set(make);
}

/// How far a long write is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteProgress {
    /// Bytes done.
    pub done: u64,
    /// Bytes in all.
    pub total: u64,
}

/// A file system, as far as a swap file cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSystem {
    /// Its name, `None` when it is none that is known.
    pub name: Option<&'static str>,
    /// True when swapon takes files of it.
    pub swap_files: bool,
    /// Free bytes for root.
    pub free: u64,
}

/// A command that was run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// Exit code, `None` when a signal ended it.
    pub code: Option<i32>,
    /// What it said, both streams, the last part of it.
    pub output: String,
}

/// A kernel that can be changed. Paths are those of the host: the root is already in front of them.
pub trait Kernel {
    /// True when this kernel is the one of that machine; in an offline tree only files can be changed.
    fn serves(&self, machine: &Machine) -> bool;

    /// True when [`Kernel::run`] works on the files of that machine and on no others.
    fn generates_in(&self, machine: &Machine) -> bool {
        self.serves(machine)
    }

    /// Page size, on which the swap header depends.
    fn page_size(&self) -> u64;

    /// Writes a value to a file of sysfs or procfs.
    ///
    /// # Errors
    /// What the kernel says.
    fn set(&self, path: &Path, value: &str) -> io::Result<()>;

    /// Switches a swap area on.
    ///
    /// # Errors
    /// What the kernel says.
    fn swap_on(&self, path: &Path, state: SwapState) -> io::Result<()>;

    /// Switches a swap area off.
    ///
    /// # Errors
    /// What the kernel says.
    fn swap_off(&self, path: &Path) -> io::Result<()>;

    /// Creates a zram device and says its name.
    ///
    /// # Errors
    /// What the kernel says.
    fn zram_add(&self) -> io::Result<String>;

    /// Removes a zram device that is not set up.
    ///
    /// # Errors
    /// What the kernel says.
    fn zram_remove(&self, name: &str) -> io::Result<()>;

    /// Loads a module.
    ///
    /// # Errors
    /// What modprobe says.
    fn load_module(&self, name: &str) -> io::Result<()>;

    /// Unloads a module.
    ///
    /// # Errors
    /// What modprobe says; of kind `ResourceBusy` while the module is in use.
    fn unload_module(&self, name: &str) -> io::Result<()>;

    /// Runs a command that makes files out of others.
    ///
    /// # Errors
    /// When it cannot be started; a bad exit code is a result.
    fn run(&self, command: &[String], outputs: &[PathBuf]) -> io::Result<Ran>;

    /// Ends what commands of a run that was killed have left running, and waits until it has ended: it would write over what is
    /// brought back.
    ///
    /// # Errors
    /// When it does not end.
    fn end_left(&self) -> io::Result<()> {
        Ok(())
    }

    /// Opens a device or file to be overwritten; a block device that anything uses is refused with EBUSY.
    ///
    /// # Errors
    /// What the kernel says.
    fn open_exclusive(&self, path: &Path, write: bool) -> io::Result<File>;

    /// Who has a device open without holding it, which [`Kernel::open_exclusive`] does not tell; `None` for a folder.
    ///
    /// # Errors
    /// When the device or the processes cannot be looked at.
    fn open_by(&self, _: &Path) -> io::Result<Option<String>> {
        Ok(None)
    }

    /// Makes what a device holds as a whole, and waits for the nodes of its partitions.
    ///
    /// # Errors
    /// What sfdisk or cryptsetup says, or that it is not installed.
    fn format(&self, path: &Path, format: &DeviceFormat) -> io::Result<()>;

    /// Reads the partition table of a disk again.
    ///
    /// # Errors
    /// What the kernel says; of kind `ResourceBusy` while a partition is in use.
    fn reread_partitions(&self, path: &Path) -> io::Result<()>;

    /// Opens an encrypted mapping; the swap header in it is not its business.
    ///
    /// # Errors
    /// What cryptsetup says, or that it is not installed.
    fn open_mapping(&self, name: &str, state: &MappingState) -> io::Result<()>;

    /// Closes a mapping.
    ///
    /// # Errors
    /// What cryptsetup says; of kind `ResourceBusy` while the mapping is in use.
    fn close_mapping(&self, name: &str) -> io::Result<()>;

    /// The file system that a swap file in this folder would lie on.
    ///
    /// # Errors
    /// What the kernel says.
    fn file_system(&self, dir: &Path) -> io::Result<FileSystem>;

    /// Gives an empty file all its blocks; without copy-on-write when `nocow`.
    ///
    /// # Errors
    /// What the kernel says.
    fn allocate(&self, file: &mut File, size: u64, nocow: bool, progress: &dyn Fn(WriteProgress)) -> io::Result<()>;
}
