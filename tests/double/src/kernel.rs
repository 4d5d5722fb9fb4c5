//! A folder that behaves like a kernel, as far as apply can tell.
//!
//! It keeps no state of its own: everything lies in the folder, so a killed process leaves what a killed process would
//! leave on a machine, and the next one goes on from there. Settings keep the form in which the kernel shows them.

mod storage;
mod zram;

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use swaptune_core::change::{DeviceFormat, MappingState, SwapState};
use swaptune_core::escape;
use swaptune_core::parse::swaps;

use swaptune_host::checkpoint;
use swaptune_host::kernel::{FileSystem, Kernel, Ran, WriteProgress};
use swaptune_host::machine::Machine;
use swaptune_host::swap_header;

/// The first line of `/proc/swaps`.
const SWAPS_HEADER: &str = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n";
/// The compressor that a fixture falls back to, upstream's default.
const DEFAULT_COMPRESSOR: &str = "lzo";
/// Free space that a fixture's file systems say they have.
const FREE: u64 = 1 << 40;
/// Files and folders that the emulated generators read.
const SOURCES: [&str; 10] = [
    "etc/default/grub",
    "etc/default/grub.d",
    "etc/kernel/cmdline",
    "etc/initramfs-tools/modules",
    "etc/initramfs-tools/conf.d",
    "etc/initramfs-tools/hooks",
    "etc/dracut.conf",
    "etc/dracut.conf.d",
    "etc/mkinitcpio.conf",
    "etc/mkinitcpio.conf.d",
];
/// Settings of which one is zero while the other is in use (mm/page-writeback.c, mm/util.c).
const EXCLUSIVE: [(&str, &str); 3] = [
    ("dirty_bytes", "dirty_ratio"),
    ("dirty_background_bytes", "dirty_background_ratio"),
    ("overcommit_kbytes", "overcommit_ratio"),
];

/// The kernel of a folder.
#[derive(Debug)]
pub struct FixtureKernel {
    machine: Machine,
    unavailable: Vec<String>,
}

impl FixtureKernel {
    /// The kernel of the machine under `root`.
    #[must_use]
    pub fn new(root: &Path) -> Self {
        Self { machine: Machine::at(root), unavailable: Vec::new() }
    }

    /// The same kernel without these page compressors.
    #[must_use]
    pub fn without_compressors(mut self, names: &[&str]) -> Self {
        self.unavailable = names.iter().map(|name| (*name).to_owned()).collect();
        self
    }

    pub(crate) fn path(&self, inside: &str) -> PathBuf {
        let real = self.machine.real_path(inside).unwrap_or_else(|_| inside.to_owned());
        self.machine.root().join(real.trim_start_matches('/'))
    }

    fn swaps(&self) -> Vec<swaps::SwapLine> {
        swaps::parse(&fs::read_to_string(self.path("/proc/swaps")).unwrap_or_default())
    }

    /// As `swap_show` of mm/swapfile.c prints it.
    fn show_swaps(&self, areas: &[swaps::SwapLine]) -> io::Result<()> {
        let mut text = SWAPS_HEADER.to_owned();
        for area in areas {
            let kind = match area.kind {
                swaptune_core::facts::SwapKind::Partition => "partition",
                swaptune_core::facts::SwapKind::File => "file\t",
            };
            let path = escape::escape(&area.path);
            text += &format!("{path:<39} {kind}\t{}\t\t{}\t\t{}\n", area.size.0 >> 10, area.used.0 >> 10, area.priority);
        }
        self.replace(&self.path("/proc/swaps"), &text)
    }

    /// Whole or not at all, as a kernel does it: a kill between two system calls must not leave an empty setting.
    fn replace(&self, path: &Path, text: &str) -> io::Result<()> {
        let beside = self.machine.root().join("var/lib/swaptune/fixture");
        if fs::write(&beside, text).and_then(|()| fs::rename(&beside, path)).is_ok() {
            return Ok(());
        }
        fs::write(path, text)
    }

    fn inside(&self, path: &Path) -> String {
        let inside = path.strip_prefix(self.machine.root()).unwrap_or(path);
        format!("/{}", inside.display())
    }

    fn module(&self, name: &str) -> PathBuf {
        self.path("/sys/module").join(name.replace('-', "_"))
    }

    fn zswap(&self, parameter: &str) -> PathBuf {
        self.path(&format!("/sys/module/zswap/parameters/{parameter}"))
    }

    /// A compressor is checked at the write while zswap is on, and silently replaced when it is switched on (6.3 and later).
    fn check_compressor(&self, path: &Path, value: &str) -> io::Result<()> {
        let on = || fs::read_to_string(self.zswap("enabled")).is_ok_and(|text| text.trim() == "Y");
        let missing = |name: &str| self.unavailable.iter().any(|unavailable| unavailable == name);
        if path == self.zswap("compressor") && missing(value) && on() {
            return Err(io::Error::from_raw_os_error(libc::ENOENT));
        }
        if path == self.zswap("enabled") && matches!(value, "Y" | "1") {
            let name = fs::read_to_string(self.zswap("compressor")).unwrap_or_default();
            if missing(name.trim()) {
                fs::write(self.zswap("compressor"), format!("{DEFAULT_COMPRESSOR}\n"))?;
            }
        }
        Ok(())
    }
}

/// What a kill has taken away before is gone too.
fn gone(removed: io::Result<()>) -> io::Result<()> {
    removed.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

impl Kernel for FixtureKernel {
    fn serves(&self, machine: &Machine) -> bool {
        // Never the running machine, however its root is spelled.
        let is_real = fs::canonicalize(machine.root()).is_ok_and(|root| root == Path::new("/"));
        machine.root() == self.machine.root() && !is_real
    }

    fn page_size(&self) -> u64 {
        self.machine.page_size().0
    }

    fn set(&self, path: &Path, value: &str) -> io::Result<()> {
        let shown = fs::read_to_string(path)?;
        // Each write adds a line, and is none of those words itself.
        if path.ends_with("recomp_algorithm") {
            return zram::written(self, path, value);
        }
        self.check_compressor(path, value)?;
        self.replace(path, &show(&shown, value)?)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let pairs = EXCLUSIVE.iter().flat_map(|(a, b)| [(a, b), (b, a)]);
        if let Some((_, other)) = pairs.into_iter().find(|(this, _)| **this == name) {
            let other = path.with_file_name(other);
            if other.exists() {
                self.replace(&other, "0\n")?;
            }
        }
        zram::written(self, path, value)
    }

    fn swap_on(&self, path: &Path, state: SwapState) -> io::Result<()> {
        let inside = self.inside(path);
        let mut areas = self.swaps();
        if areas.iter().any(|area| area.path == inside) {
            return Err(io::Error::from_raw_os_error(libc::EBUSY));
        }
        let size = fs::metadata(path)?.len();
        let has_header = swap_header::read(&mut File::open(path)?, self.page_size())?.is_some();
        if size < 10 * self.page_size() || !has_header {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        let lowest = areas.iter().map(|area| area.priority).min().unwrap_or(-1).min(-1);
        areas.push(swaps::SwapLine {
            kind: if inside.starts_with("/dev/") {
                swaptune_core::facts::SwapKind::Partition
            } else {
                swaptune_core::facts::SwapKind::File
            },
            path: inside,
            size: swaptune_core::Bytes(size - self.page_size()),
            used: swaptune_core::Bytes(0),
            priority: if state.priority < 0 { lowest - 1 } else { state.priority },
        });
        self.show_swaps(&areas)
    }

    fn swap_off(&self, path: &Path) -> io::Result<()> {
        let inside = self.inside(path);
        let mut areas = self.swaps();
        let before = areas.len();
        areas.retain(|area| area.path != inside);
        if areas.len() == before {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        self.show_swaps(&areas)
    }

    fn zram_add(&self) -> io::Result<String> {
        zram::add(self)
    }

    fn zram_remove(&self, name: &str) -> io::Result<()> {
        zram::remove(self, name)
    }

    fn load_module(&self, name: &str) -> io::Result<()> {
        // A kernel loads a module in one go; here a kill may leave half of one, and taking that half back must work: what the driver of zram is known
        // by comes first and goes last.
        if name == "zram" {
            zram::load(self)?;
        }
        fs::create_dir_all(self.module(name))
    }

    fn unload_module(&self, name: &str) -> io::Result<()> {
        if name != "zram" {
            return fs::remove_dir(self.module(name));
        }
        zram::remove_all(self)?;
        gone(fs::remove_dir(self.module(name)))?;
        zram::unload(self)
    }

    /// Every output becomes a text made of all sources: the same sources make the same bytes. It is written in two
    /// pieces, as a generator that is killed would leave it.
    fn run(&self, command: &[String], outputs: &[PathBuf]) -> io::Result<Ran> {
        let mut text = format!("# made by {}\n", command.join(" "));
        for source in SOURCES {
            text += &sources(&self.path(&format!("/{source}")))?;
        }
        for output in outputs {
            fs::write(output, &text[..text.len() / 2])?;
            checkpoint::pass(&self.machine);
            fs::write(output, &text)?;
        }
        Ok(Ran { code: Some(0), output: String::new() })
    }

    fn open_exclusive(&self, path: &Path, write: bool) -> io::Result<File> {
        if self.swaps().iter().any(|area| area.path == self.inside(path)) {
            return Err(io::Error::from_raw_os_error(libc::EBUSY));
        }
        OpenOptions::new().read(true).write(write).open(path)
    }

    fn format(&self, path: &Path, format: &DeviceFormat) -> io::Result<()> {
        storage::format(self, path, format)
    }

    fn reread_partitions(&self, path: &Path) -> io::Result<()> {
        storage::reread_partitions(self, path)
    }

    fn open_mapping(&self, name: &str, state: &MappingState) -> io::Result<()> {
        storage::open_mapping(self, name, state)
    }

    fn close_mapping(&self, name: &str) -> io::Result<()> {
        storage::close_mapping(self, name)
    }

    fn file_system(&self, _: &Path) -> io::Result<FileSystem> {
        Ok(FileSystem { name: Some("ext"), swap_files: true, free: FREE })
    }

    /// A hole of the right size: fixtures stay small.
    fn allocate(&self, file: &mut File, size: u64, _: bool, progress: &dyn Fn(WriteProgress)) -> io::Result<()> {
        file.set_len(size)?;
        progress(WriteProgress { done: size, total: size });
        Ok(())
    }
}

/// The new text of a setting that now shows `shown`.
fn show(shown: &str, value: &str) -> io::Result<String> {
    let invalid = || io::Error::from_raw_os_error(libc::EINVAL);
    let now = shown.trim();
    if now.contains('[') && now.contains(']') {
        let words: Vec<&str> = now.split_whitespace().map(|word| word.trim_matches(['[', ']'])).collect();
        if !words.contains(&value) {
            return Err(invalid());
        }
        let marked = words.iter().map(|word| if *word == value { format!("[{word}]") } else { (*word).to_owned() });
        return Ok(marked.collect::<Vec<_>>().join(" ") + "\n");
    }
    let value = match (now, value) {
        ("Y" | "N", "1" | "Y" | "y") => "Y".to_owned(),
        ("Y" | "N", "0" | "N" | "n") => "N".to_owned(),
        ("Y" | "N", _) => return Err(invalid()),
        _ if now.starts_with("0x") => format!("{:#06x}", value.parse::<u32>().map_err(|_| invalid())?),
        _ => value.to_owned(),
    };
    Ok(value + "\n")
}

/// The text of a file, or of all files of a folder in the order of their names; nothing when it does not exist.
fn sources(path: &Path) -> io::Result<String> {
    if path.is_dir() {
        let entries = fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>();
        let mut paths = entries?;
        // Generators skip hidden files; so must the emulation, or it would see files that are only half there.
        paths.retain(|path| !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.')));
        paths.sort();
        return paths.iter().map(|path| sources(path)).collect();
    }
    match fs::read(path) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_keep_their_form() {
        for (shown, value, expect) in [
            ("60\n", "100", Some("100\n")),
            ("always [madvise] never\n", "never", Some("always madvise [never]\n")),
            ("always [madvise] never\n", "sometimes", None),
            ("N\n", "1", Some("Y\n")),
            ("Y\n", "N", Some("N\n")),
            ("Y\n", "7", None),
            ("0x0000\n", "7", Some("0x0007\n")),
        ] {
            assert_eq!(show(shown, value).ok().as_deref(), expect, "{shown} {value}");
        }
    }

    #[test]
    fn the_running_machine_is_no_fixture() {
        for root in ["/", "//", "/usr/.."] {
            assert!(!FixtureKernel::new(Path::new(root)).serves(&Machine::at(root)), "{root}");
        }
    }

    #[test]
    fn compressors_are_checked_as_the_kernel_does() {
        let dir = tempfile::tempdir().unwrap();
        let parameters = dir.path().join("sys/module/zswap/parameters");
        fs::create_dir_all(&parameters).unwrap();
        fs::write(parameters.join("enabled"), "N\n").unwrap();
        fs::write(parameters.join("compressor"), "lzo\n").unwrap();
        let kernel = FixtureKernel::new(dir.path()).without_compressors(&["zstd"]);
        let compressor = || fs::read_to_string(parameters.join("compressor")).unwrap();
        kernel.set(&parameters.join("compressor"), "zstd").unwrap();
        assert_eq!(compressor(), "zstd\n");
        kernel.set(&parameters.join("enabled"), "1").unwrap();
        assert_eq!(compressor(), "lzo\n");
        let error = kernel.set(&parameters.join("compressor"), "zstd").unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOENT));
        kernel.set(&parameters.join("compressor"), "lz4").unwrap();
    }

    #[test]
    fn a_ratio_and_its_bytes_exclude_each_other() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("dirty_ratio"), "20\n").unwrap();
        fs::write(dir.path().join("dirty_bytes"), "0\n").unwrap();
        FixtureKernel::new(dir.path()).set(&dir.path().join("dirty_bytes"), "1048576").unwrap();
        assert_eq!(fs::read_to_string(dir.path().join("dirty_ratio")).unwrap(), "0\n");
    }

    #[test]
    fn an_area_needs_a_header_and_is_on_once() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("proc")).unwrap();
        let kernel = FixtureKernel::new(dir.path());
        let path = dir.path().join("swapfile");
        let file = File::create(&path).unwrap();
        file.set_len(1 << 20).unwrap();
        let state = SwapState::at(10);
        assert_eq!(kernel.swap_on(&path, state).unwrap_err().raw_os_error(), Some(libc::EINVAL));
        let header = swap_header::page("8f2a0102-0304-0506-0708-090a0b0c0d0e", "", 1 << 20, 4096).unwrap();
        fs::write(&path, &header).unwrap();
        OpenOptions::new().write(true).open(&path).unwrap().set_len(1 << 20).unwrap();
        kernel.swap_on(&path, state).unwrap();
        assert_eq!(kernel.swap_on(&path, state).unwrap_err().raw_os_error(), Some(libc::EBUSY));
        assert_eq!(kernel.swaps()[0].priority, 10);
        kernel.swap_off(&path).unwrap();
        assert!(kernel.swaps().is_empty());
    }
}
