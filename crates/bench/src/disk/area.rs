//! What a load runs on: scratch files without a name, and devices that are held for us alone.
//!
//! fio gets them as `/proc/PID/fd/N`. So a scratch file needs no name, and is gone as soon as we and fio are, however that
//! comes about; and a device is the one that was looked at, whatever its path means by now.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{FallocateFlags, IFlags, Mode, OFlags};
use swaptune_core::parse::{mountinfo, signature};
use swaptune_core::plan::FILE_RESERVE;
use swaptune_core::{Bytes, Facts};
use swaptune_host::kernel::open_by;
use swaptune_host::machine::Machine;
use thiserror::Error;

use super::safety::{self, DeviceRefusal, DeviceState, WriteAccess};

/// Kept in front of a swap area: its header is one page, and no page is larger than 64 KiB.
const HEADER: Bytes = Bytes::from_mib(1);

/// A place that cannot be measured.
#[derive(Debug, Error)]
pub enum PlaceError {
    /// It must not be written to.
    #[error(transparent)]
    Refused(#[from] DeviceRefusal),
    /// It lies on no disk.
    #[error("{path} lies on {filesystem}, not on a disk")]
    NoDisk {
        /// The folder.
        path: String,
        /// What it lies on.
        filesystem: String,
    },
    /// Too little space.
    #[error("{path} has {free} free; scratch files of {need} need {FILE_RESERVE} more than that")]
    Full {
        /// The folder.
        path: String,
        /// Free there.
        free: Bytes,
        /// All scratch files together.
        need: Bytes,
    },
    /// No O_DIRECT.
    #[error("{path} lies on {filesystem}, which does not read and write past the page cache (O_DIRECT)")]
    NotDirect {
        /// The folder or device.
        path: String,
        /// File system.
        filesystem: String,
    },
    /// No block device.
    #[error("{0} is not a block device of this machine")]
    NoDevice(String),
    /// The system says no.
    #[error("{path}: {source}")]
    Io {
        /// The folder or device.
        path: String,
        /// What it says.
        source: io::Error,
    },
}

impl PlaceError {
    /// What to do instead; empty when there is nothing to say.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Refused(refusal) => refusal.hint(),
            Self::NoDisk { .. } | Self::NotDirect { .. } => {
                "choose a folder on a local disk (ext4, xfs, btrfs) with --dir DIR".into()
            }
            Self::Full { .. } => "choose a smaller --size, or another folder with --dir DIR".into(),
            Self::NoDevice(_) => "`swaptune inspect` lists the block devices".into(),
            Self::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => "run it as root".into(),
            Self::Io { .. } => String::new(),
        }
    }
}

/// One file or device under load.
#[derive(Debug)]
pub struct LoadedArea {
    file: File,
    /// As results name it.
    pub name: String,
    /// Whole disks below.
    pub disks: Vec<String>,
    /// Where loads begin.
    pub offset: Bytes,
    /// How much loads may use.
    pub room: Bytes,
    /// What is in front of [`LoadedArea::offset`] and must still be there at the end.
    header: Vec<u8>,
}

impl LoadedArea {
    /// A path under which fio finds it, and no process without our rights does.
    #[must_use]
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }

    /// Scratch files in a folder, one for each size.
    ///
    /// # Errors
    /// [`PlaceError`] when the folder lies on no disk or has too little room.
    pub fn scratch(machine: &Machine, facts: &Facts, dir: &Path, sizes: &[Bytes]) -> Result<Vec<Self>, PlaceError> {
        let failed = |source: io::Error| PlaceError::Io { path: dir.display().to_string(), source };
        let path = std::fs::canonicalize(dir).map_err(failed)?.display().to_string();
        let mounts = mountinfo::parse(&machine.read_text("/proc/self/mountinfo").unwrap_or_default());
        let mount = mountinfo::holding(&mounts, &path);
        let filesystem = mount.map_or_else(|| "an unknown file system".into(), |mount| mount.filesystem.clone());
        let known = facts.mounts.iter().rfind(|known| mount.is_some_and(|mount| mount.at == known.at));
        let device = known.filter(|known| known.filesystem == filesystem).and_then(|known| known.device.value());
        let Some(device) = device else { return Err(PlaceError::NoDisk { path, filesystem }) };
        let need = Bytes(sizes.iter().map(|size| size.0).sum());
        let free = known.and_then(|known| known.free.value()).copied().unwrap_or_default();
        if free.0 < need.0.saturating_add(FILE_RESERVE.0) {
            return Err(PlaceError::Full { path, free, need });
        }
        let disks = facts.disks_below(device);
        let area = |(number, size): (usize, &Bytes)| -> Result<Self, PlaceError> {
            let file = unnamed(Path::new(&path), &filesystem, *size).map_err(failed)?;
            let name = format!("scratch file {number} in {path}");
            let (offset, header) = (Bytes(0), Vec::new());
            Self { file, name, disks: disks.clone(), offset, room: *size, header }.direct(&filesystem)
        };
        (1..).zip(sizes).map(area).collect()
    }

    /// A device that carries no data: an unused swap area, or one whose data the user gives up.
    ///
    /// # Errors
    /// [`PlaceError`]; [`DeviceRefusal`] when it is in use or may carry data.
    pub fn device(facts: &Facts, path: &str, give_up: bool) -> Result<Self, PlaceError> {
        let failed = |source: io::Error| PlaceError::Io { path: path.to_owned(), source };
        let real = std::fs::canonicalize(path).map_err(failed)?.display().to_string();
        let name = real.strip_prefix("/dev/").unwrap_or_default().replace('/', "!");
        let device = facts.block_device(&name).ok_or_else(|| PlaceError::NoDevice(path.to_owned()))?;
        let mut state = state(facts, path, &name);
        // What is in use is refused before it is opened, for the better words; then the kernel has the last one.
        safety::decide(&DeviceState { contents: vec!["swap".into()], ..state.clone() }, give_up)?;
        let exclusive = OFlags::RDWR | OFlags::EXCL | OFlags::CLOEXEC;
        let file = match rustix::fs::open(&real, exclusive, Mode::empty()) {
            Err(rustix::io::Errno::BUSY) => {
                let how = "the kernel does not give it to us alone".into();
                return Err(DeviceRefusal::InUse { path: path.to_owned(), how }.into());
            }
            opened => File::from(opened.map_err(|error| failed(error.into()))?),
        };
        safety::refuse_if_open(path, &open_by(Path::new(&real)).map_err(failed)?)?;
        let mut header = vec![0; HEADER.0.min(device.size.0) as usize];
        file.read_exact_at(&mut header, 0).map_err(failed)?;
        let seen = signature::probe(&header[..header.len().min(signature::HEAD)]);
        state.contents.extend(seen.into_iter().map(|signature| signature.kind));
        let (offset, header) = match safety::decide(&state, give_up)? {
            WriteAccess::BehindHeader => (HEADER, header),
            WriteAccess::Whole => (Bytes(0), Vec::new()),
        };
        let room = Bytes(device.size.0.saturating_sub(offset.0));
        Self { file, name: real.clone(), disks: facts.disks_below(&name), offset, room, header }.direct("a device")
    }

    /// The same, when it can be used past the page cache.
    fn direct(self, filesystem: &str) -> Result<Self, PlaceError> {
        let opened = rustix::fs::open(self.path(), OFlags::RDWR | OFlags::DIRECT | OFlags::CLOEXEC, Mode::empty());
        match opened {
            Ok(_) => Ok(self),
            Err(rustix::io::Errno::INVAL) => {
                Err(PlaceError::NotDirect { path: self.name.clone(), filesystem: filesystem.to_owned() })
            }
            Err(error) => Err(PlaceError::Io { path: self.name.clone(), source: error.into() }),
        }
    }

    /// Puts back what was in front of the load, should anything have touched it.
    fn keep_header(&self) -> io::Result<()> {
        let mut now = vec![0; self.header.len()];
        self.file.read_exact_at(&mut now, 0)?;
        if now != self.header {
            self.file.write_all_at(&self.header, 0)?;
            self.file.sync_all()?;
        }
        Ok(())
    }
}

impl Drop for LoadedArea {
    fn drop(&mut self) {
        if let Err(error) = self.keep_header() {
            // Nothing that we write reaches the header; a device that cannot even be read has told so already.
            eprintln!("warning: {}: the first {HEADER} could not be checked: {error}", self.name);
        }
    }
}

/// A file of this size that has no name.
fn unnamed(dir: &Path, filesystem: &str, size: Bytes) -> io::Result<File> {
    let (mode, flags) = (Mode::RUSR | Mode::WUSR, OFlags::RDWR | OFlags::CLOEXEC);
    let file = match rustix::fs::open(dir, flags | OFlags::TMPFILE | OFlags::EXCL, mode) {
        // A file system that cannot make one without a name: take the name away at once.
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::ISDIR) => {
            let path = dir.join(format!(".swaptune-bench-{}", std::process::id()));
            let file = rustix::fs::open(&path, flags | OFlags::CREATE | OFlags::EXCL, mode)?;
            std::fs::remove_file(&path)?;
            file
        }
        opened => opened?,
    };
    if filesystem == "btrfs" {
        // As a swap file there: without copies on write, which is only possible while it is empty.
        rustix::fs::ioctl_setflags(&file, IFlags::NOCOW)?;
    }
    rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, size.0)?;
    Ok(file.into())
}

/// What the facts say about a device and its partitions.
fn state(facts: &Facts, path: &str, name: &str) -> DeviceState {
    let is_part = |other: &str, parent: Option<&str>| other == name || parent == Some(name);
    let parts: Vec<_> = facts.block_devices.iter().filter(|d| is_part(&d.name, d.parent.as_deref())).collect();
    let is_one = |other: &String| parts.iter().any(|part| part.name == *other);
    let holders = facts.block_devices.iter().filter(|device| device.lies_on.iter().any(is_one));
    DeviceState {
        path: path.to_owned(),
        mounted_at: parts.iter().find_map(|part| part.mounted_at.clone()),
        is_active_swap: facts.swaps.iter().any(|area| area.device.value().is_some_and(is_one)),
        held_by: holders.map(|device| device.name.clone()).collect(),
        contents: facts.block_device(name).and_then(|device| device.contents.value().cloned()).into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use swaptune_core::Fact;
    use swaptune_core::facts::{BlockDevice, SwapArea, SwapKind};
    use swaptune_host::inspect::{self, InspectScope};

    use super::*;

    fn device(name: &str, parent: Option<&str>) -> BlockDevice {
        BlockDevice { name: name.into(), parent: parent.map(str::to_owned), ..BlockDevice::default() }
    }

    #[test]
    fn a_disk_is_in_use_when_a_part_of_it_is() {
        let mounted = BlockDevice { mounted_at: Some("/boot".into()), ..device("sda1", Some("sda")) };
        let mapping = BlockDevice { lies_on: vec!["sdb1".into()], ..device("dm-0", None) };
        let contents = Fact::known("swap".to_owned(), "test");
        let swap = BlockDevice { contents, ..device("sdc2", Some("sdc")) };
        let disks = [device("sda", None), device("sdb", None), device("sdb1", Some("sdb")), device("sdc", None)];
        let block_devices = disks.into_iter().chain([mounted, mapping, swap]).collect();
        let area = SwapArea {
            path: "/dev/sdc2".into(),
            kind: SwapKind::Partition,
            size: Bytes(0),
            used: Bytes(0),
            priority: 1,
            device: Fact::known("sdc2".into(), "test"),
            uuid: Fact::default(),
            encryption: Fact::default(),
            filesystem: Fact::default(),
        };
        let facts = Facts { block_devices, swaps: vec![area], ..Facts::default() };
        assert_eq!(state(&facts, "/dev/sda", "sda").mounted_at.as_deref(), Some("/boot"));
        assert_eq!(state(&facts, "/dev/sdb", "sdb").held_by, ["dm-0"]);
        assert!(state(&facts, "/dev/sdc", "sdc").is_active_swap);
        let part = state(&facts, "/dev/sdc2", "sdc2");
        assert!(part.is_active_swap && part.contents == ["swap"] && part.held_by.is_empty());
    }

    #[test]
    fn scratch_files_have_no_name_and_are_there_for_others() {
        let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let machine = Machine::live();
        let facts = inspect::inspect(&machine, InspectScope::STATUS);
        let sizes = [Bytes::from_mib(2), Bytes::from_mib(1)];
        let areas = match LoadedArea::scratch(&machine, &facts, dir.path(), &sizes) {
            // A build tree in RAM: the refusal is then what must come.
            Err(error @ (PlaceError::NoDisk { .. } | PlaceError::NotDirect { .. })) => {
                return assert!(!error.hint().is_empty());
            }
            areas => areas.unwrap(),
        };
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        let lengths: Vec<u64> = areas.iter().map(|area| std::fs::metadata(area.path()).unwrap().len()).collect();
        assert_eq!(lengths, [2 << 20, 1 << 20]);
        assert!(areas[0].name.starts_with("scratch file 1 in /") && !areas[0].disks.is_empty());
    }

    #[test]
    fn no_scratch_file_where_there_is_no_disk_or_no_room() {
        let machine = Machine::live();
        let facts = inspect::inspect(&machine, InspectScope::STATUS);
        let error = LoadedArea::scratch(&machine, &facts, Path::new("/proc"), &[Bytes(4096)]).unwrap_err();
        assert_eq!(error.to_string(), "/proc lies on proc, not on a disk");
        assert!(error.hint().contains("--dir"));
        let huge = LoadedArea::scratch(&machine, &facts, Path::new(env!("CARGO_MANIFEST_DIR")), &[Bytes(1 << 60)]).unwrap_err();
        assert!(matches!(huge, PlaceError::Full { .. } | PlaceError::NoDisk { .. }), "{huge}");
        assert!(matches!(LoadedArea::device(&facts, "/dev/null", true), Err(PlaceError::NoDevice(_))));
        assert!(matches!(LoadedArea::device(&facts, "/dev/none", true), Err(PlaceError::Io { .. })));
    }

    #[test]
    fn a_header_that_was_touched_is_put_back() {
        let path = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(path.path(), vec![7; 8192]).unwrap();
        let file = File::options().read(true).write(true).open(path.path()).unwrap();
        let (offset, room) = (Bytes(4096), Bytes(4096));
        let area = LoadedArea { file, name: "test".into(), disks: Vec::new(), offset, room, header: vec![7; 4096] };
        std::fs::write(path.path(), vec![9; 8192]).unwrap();
        drop(area);
        let bytes = std::fs::read(path.path()).unwrap();
        assert!(bytes[..4096].iter().all(|byte| *byte == 7) && bytes[4096..].iter().all(|byte| *byte == 9));
    }
}
