//! The one file that writes to a machine.
//!
//! Every function makes one change that is whole after a crash or not there at all, or one that can be told apart from
//! both and redone. Nothing here decides: that a durable line of the journal came first is the caller's duty. Before each
//! change a test may make it fail, after each one a test may kill the process.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt, fchown, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{CWD, FallocateFlags, RenameFlags, XattrFlags, fallocate};
use rustix::io::Errno;
use swaptune_core::change::{DeviceFormat, MappingState, SwapFileState, SwapState};
use tracing::info;

use super::error::StepError;
use super::run::{FileAttributes, Run, is_missing, temporary};
use super::spare;
use crate::checkpoint;
use crate::kernel::Ran;

/// How often and how long to wait for a device that udev has just opened to look at it.
const PATIENCE: (u32, Duration) = (40, Duration::from_millis(25));

impl Run<'_> {
    /// Puts a file with these bytes in the place of what is there: written beside it, synced, renamed over it.
    pub fn put_file(&self, real: &str, tag: &str, bytes: &[u8], attributes: &FileAttributes) -> Result<(), StepError> {
        let (path, beside) = (self.host(real), self.host(&temporary(real, tag)));
        self.act("write", real, || {
            let written = write_beside(&beside, bytes, attributes).and_then(|()| {
                checkpoint::pass(self.machine);
                fs::rename(&beside, &path)
            });
            if written.is_err() {
                let _ = fs::remove_file(&beside);
            }
            written.and_then(|()| sync_parent(&path))
        })
    }

    /// Makes an empty file beside another with all the blocks that `length` bytes need.
    pub fn make_spare(&self, real: &str, tag: &str, length: u64, attributes: &FileAttributes) -> Result<(), StepError> {
        let beside = self.host(&spare::name(real, tag));
        self.act("reserve", real, || {
            // One that a crash left may hold bytes already; it gets its blocks all the same.
            let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&beside);
            let made = options.and_then(|mut file| {
                reserve(&mut file, length)?;
                set_attributes(&file, &beside, attributes)?;
                file.sync_all()
            });
            if made.is_err() {
                let _ = fs::remove_file(&beside);
            }
            made
        })
    }

    /// Brings back the bytes of a file: in the blocks of its spare where it has one, else beside it, and renamed over it.
    pub fn bring_back(&self, real: &str, tag: &str, bytes: &[u8], attributes: &FileAttributes) -> Result<(), StepError> {
        let (path, beside) = (self.host(real), self.host(&spare::name(real, tag)));
        if !beside.exists() {
            return self.put_file(real, tag, bytes, attributes);
        }
        self.act("bring back", real, || {
            // Not truncated first: that would give its blocks away.
            let file = OpenOptions::new().write(true).open(&beside)?;
            file.write_all_at(bytes, 0)?;
            file.set_len(bytes.len() as u64)?;
            set_attributes(&file, &beside, attributes)?;
            file.sync_all()?;
            checkpoint::pass(self.machine);
            fs::rename(&beside, &path)?;
            sync_parent(&path)
        })
    }

    /// The same for a text of our own that everybody may read.
    pub fn put_text(&self, real: &str, tag: &str, text: &str) -> Result<(), StepError> {
        self.put_file(real, tag, text.as_bytes(), &FileAttributes::new(0o644))
    }

    /// Deletes a file or link; it is fine when there is none.
    pub fn delete(&self, real: &str) -> Result<(), StepError> {
        let path = self.host(real);
        self.act("delete", real, || match fs::remove_file(&path) {
            Err(error) if is_missing(&error) => Ok(()),
            result => result.and_then(|()| sync_parent(&path)),
        })
    }

    /// Puts a symbolic link in the place of what is there.
    pub fn put_link(&self, real: &str, tag: &str, target: &str) -> Result<(), StepError> {
        let (path, beside) = (self.host(real), self.host(&temporary(real, tag)));
        self.act("link", real, || {
            let _ = fs::remove_file(&beside);
            symlink(target, &beside)?;
            checkpoint::pass(self.machine);
            fs::rename(&beside, &path)?;
            sync_parent(&path)
        })
    }

    /// Makes folders, outermost first.
    pub fn make_folders(&self, reals: &[String]) -> Result<(), StepError> {
        for real in reals {
            let path = self.host(real);
            self.act("create", real, || match fs::create_dir(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
                made => made
                    .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o755)))
                    .and_then(|()| sync_parent(&path)),
            })?;
        }
        Ok(())
    }

    /// Takes away folders that we made, innermost first, as far as they are empty.
    pub fn remove_folders(&self, reals: &[String]) -> Result<(), StepError> {
        for real in reals.iter().rev() {
            let path = self.host(real);
            self.act("delete", real, || match fs::remove_dir(&path) {
                Ok(()) => sync_parent(&path),
                Err(error) if is_missing(&error) || error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
                Err(error) => Err(error),
            })?;
        }
        Ok(())
    }

    /// Takes away what a crash left beside a path.
    pub fn sweep(&self, real: &str, tag: &str) -> Result<(), StepError> {
        let beside = temporary(real, tag);
        match fs::remove_file(self.host(&beside)) {
            Err(error) if !is_missing(&error) => Err(StepError::io("delete", beside, error)),
            _ => Ok(()),
        }
    }

    /// Makes a swap file with all its blocks; it gets its name when it is whole.
    pub fn make_swap_file(
        &self,
        real: &str,
        tag: &str,
        state: &SwapFileState,
        attributes: &FileAttributes,
    ) -> Result<(), StepError> {
        let (path, beside) = (self.host(real), self.host(&temporary(real, tag)));
        self.act("create", real, || {
            let made = self.allocate(&beside, state, attributes).and_then(|()| rename_new(&beside, &path));
            if made.is_err() {
                let _ = fs::remove_file(&beside);
            }
            made.and_then(|()| sync_parent(&path))
        })
    }

    fn allocate(&self, path: &Path, state: &SwapFileState, attributes: &FileAttributes) -> io::Result<()> {
        let mut file = create_new(path)?;
        self.kernel.allocate(&mut file, state.size.0, state.nocow, self.progress)?;
        set_attributes(&file, path, attributes)?;
        file.sync_all()?;
        checkpoint::pass(self.machine);
        Ok(())
    }

    /// Overwrites bytes of a device or file, the last range first: the first one holds what makes it recognised.
    pub fn overwrite(&self, real: &str, file: &File, ranges: &[(u64, Vec<u8>)]) -> Result<(), StepError> {
        for (at, bytes) in ranges.iter().rev() {
            self.act("write", real, || file.write_all_at(bytes, *at).and_then(|()| file.sync_all()))?;
        }
        Ok(())
    }

    /// Opens a device or file to overwrite it; refused by the kernel while anything uses it.
    pub fn open_exclusive(&self, real: &str) -> Result<File, StepError> {
        self.kernel.open_exclusive(&self.host(real), true).map_err(|error| StepError::io("open", real, error))
    }

    /// Writes a value to a file of the kernel.
    pub fn set(&self, path: &str, value: &str) -> Result<(), StepError> {
        let host = self.host(&self.real(path)?);
        self.act("write", path, || self.patiently(|| self.kernel.set(&host, value)))
    }

    /// Switches a swap area on.
    pub fn swap_on(&self, real: &str, state: SwapState) -> Result<(), StepError> {
        self.act("switch on swap on", real, || self.kernel.swap_on(&self.host(real), state))
    }

    /// Switches a swap area off.
    pub fn swap_off(&self, real: &str) -> Result<(), StepError> {
        self.act("switch off swap on", real, || self.kernel.swap_off(&self.host(real)))
    }

    /// Creates a zram device; says its name.
    pub fn zram_add(&self) -> Result<String, StepError> {
        self.act("add a device at", "/sys/class/zram-control", || self.kernel.zram_add())
    }

    /// Removes a zram device.
    pub fn zram_remove(&self, name: &str) -> Result<(), StepError> {
        self.act("remove", name, || self.patiently(|| self.kernel.zram_remove(name)))
    }

    /// Loads a module.
    pub fn load_module(&self, name: &str) -> Result<(), StepError> {
        self.act("load module", name, || self.kernel.load_module(name))
    }

    /// Unloads a module.
    pub fn unload_module(&self, name: &str) -> Result<(), StepError> {
        // The driver goes while no device is open, and takes all of them along (drivers/block/zram/zram_drv.c, `destroy_devices`).
        if let Some(device) = self.zram_that_is_set_up().filter(|_| name == "zram") {
            return Err(StepError::Refused {
                what: "module zram".into(),
                why: format!("{device} is set up, and what is in it would be lost"),
                hint: format!("if nothing in it is needed any more: zramctl --reset /dev/{device}"),
            });
        }
        self.act("unload module", name, || self.patiently(|| self.kernel.unload_module(name)))
    }

    /// Puts a file of random bytes that only root can read in its place.
    pub fn make_key(&self, real: &str, tag: &str, length: usize) -> Result<(), StepError> {
        let mut bytes = vec![0; length];
        File::open("/dev/urandom")
            .and_then(|mut random| random.read_exact(&mut bytes))
            .map_err(|error| StepError::io("read", "/dev/urandom", error))?;
        self.put_file(real, tag, &bytes, &FileAttributes::new(0o600))
    }

    /// Overwrites a key file and deletes it. On flash an older copy of its block may outlive that; the header that it opens does not.
    pub fn destroy_key(&self, real: &str) -> Result<(), StepError> {
        let path = self.host(real);
        self.act("destroy", real, || match OpenOptions::new().write(true).open(&path) {
            Err(error) if is_missing(&error) => Ok(()),
            Err(error) => Err(error),
            Ok(file) => {
                let length = usize::try_from(file.metadata()?.len()).unwrap_or(0);
                file.write_all_at(&vec![0; length], 0).and_then(|()| file.sync_all())
            }
        })?;
        self.delete(real)
    }

    /// Makes what a device holds as a whole.
    pub fn format(&self, real: &str, format: &DeviceFormat) -> Result<(), StepError> {
        self.act("format", real, || self.kernel.format(&self.host(real), format))
    }

    /// Has the kernel read a partition table again.
    pub fn reread_partitions(&self, real: &str) -> Result<(), StepError> {
        self.act("read the partitions of", real, || self.kernel.reread_partitions(&self.host(real)))
    }

    /// Opens an encrypted mapping.
    pub fn open_mapping(&self, name: &str, state: &MappingState) -> Result<(), StepError> {
        self.act("open", &format!("/dev/mapper/{name}"), || self.kernel.open_mapping(name, state))
    }

    /// Closes a mapping.
    pub fn close_mapping(&self, name: &str) -> Result<(), StepError> {
        self.act("close", &format!("/dev/mapper/{name}"), || self.patiently(|| self.kernel.close_mapping(name)))
    }

    /// Gives every block of a device back, so that it reads as zeros; an error where the device cannot.
    pub fn discard(&self, real: &str, file: &File, size: u64) -> Result<(), StepError> {
        // On a block device this is a write of zeros that must unmap, and never one that falls back to writing them (block/fops.c).
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        self.act("discard", real, || Ok(fallocate(file, hole, 0, size)?))
    }

    /// Runs a command that changes files.
    pub fn run(&self, command: &[String], outputs: &[PathBuf]) -> Result<Ran, StepError> {
        self.act("run", &command.join(" "), || self.kernel.run(command, outputs))
    }

    /// Ends what commands of a run that was killed have left running.
    pub fn end_left(&self) -> Result<(), StepError> {
        self.kernel.end_left().map_err(|error| StepError::io("end", "what an interrupted run has left running", error))
    }

    fn act<T>(&self, operation: &'static str, what: &str, act: impl FnOnce() -> io::Result<T>) -> Result<T, StepError> {
        info!("{operation} {what}");
        let result = self.faults.before(operation, Path::new(what)).and_then(|()| act());
        let value = result.map_err(|error| StepError::io(operation, what, error))?;
        checkpoint::pass(self.machine);
        Ok(value)
    }

    /// EBUSY of a device, or of the module behind it, may only mean that udev is looking at it.
    fn patiently<T>(&self, act: impl Fn() -> io::Result<T>) -> io::Result<T> {
        for _ in 1..PATIENCE.0 {
            match act() {
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => std::thread::sleep(PATIENCE.1),
                result => return result,
            }
        }
        act()
    }
}

fn write_beside(beside: &Path, bytes: &[u8], attributes: &FileAttributes) -> io::Result<()> {
    let mut file = create_new(beside)?;
    file.write_all(bytes)?;
    set_attributes(&file, beside, attributes)?;
    file.sync_all()
}

/// Gives a file blocks without making it longer, or, where the file system cannot, writes zeros.
fn reserve(file: &mut File, length: u64) -> io::Result<()> {
    if length == 0 {
        return Ok(());
    }
    match fallocate(&*file, FallocateFlags::KEEP_SIZE, 0, length) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
            let missing = length.saturating_sub(file.seek(SeekFrom::End(0))?);
            io::copy(&mut io::repeat(0).take(missing), file).map(drop)
        }
        result => Ok(result?),
    }
}

/// A new file that only root can read yet, in place of a leftover.
fn create_new(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if !is_missing(&error) => return Err(error),
        _ => {}
    }
    OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)
}

fn set_attributes(file: &File, path: &Path, attributes: &FileAttributes) -> io::Result<()> {
    let now = FileAttributes::of(path)?;
    if (now.uid, now.gid) != (attributes.uid, attributes.gid) {
        fchown(file, Some(attributes.uid), Some(attributes.gid))?;
    }
    for (name, value) in attributes.xattrs.iter().filter(|attribute| !now.xattrs.contains(attribute)) {
        match rustix::fs::fsetxattr(file, name.as_str(), value, XattrFlags::empty()) {
            Ok(()) | Err(Errno::NOTSUP) => {}
            Err(error) => return Err(error.into()),
        }
    }
    // Last: changing the owner clears the set-user-id bits, and an access list changes the group's.
    file.set_permissions(fs::Permissions::from_mode(attributes.mode))
}

/// Gives a file its name unless that is taken.
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // A file system that cannot do both in one: a second name is refused when it is taken.
        Err(Errno::INVAL | Errno::NOSYS) => fs::hard_link(from, to).and_then(|()| fs::remove_file(from)),
        result => Ok(result?),
    }
}

fn sync_parent(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |parent| File::open(parent)?.sync_all())
}
