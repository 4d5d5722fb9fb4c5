//! The kernel of a tree that does not run: it has none.
//!
//! Files of an image can be changed, and its generators can be run in it; everything else waits until it runs.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use swaptune_core::change::{DeviceFormat, MappingState, SwapState};
use swaptune_core::parse::loader_roots;

use super::{FileSystem, Kernel, Ran, WriteProgress, chroot};
use crate::inspect;
use crate::machine::Machine;

/// A tree that will run one day.
#[derive(Debug)]
pub struct ImageKernel {
    root: PathBuf,
}

impl ImageKernel {
    /// The kernel that the tree under `root` does not have yet.
    #[must_use]
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Runs a generator in the tree, and looks at what it made before anything may rest on it.
    fn generate(&self, command: &[String], outputs: &[PathBuf]) -> io::Result<Ran> {
        let before: Vec<Option<Vec<u8>>> = outputs.iter().map(|output| fs::read(output).ok()).collect();
        let ran = chroot::run(&self.root, command)?;
        let wrong = || outputs.iter().zip(&before).find_map(|(output, before)| wrong(output, before.as_deref()));
        match (ran.code == Some(0)).then(wrong).flatten() {
            None => Ok(ran),
            Some(why) => Err(io::Error::other(why)),
        }
    }
}

/// Why what a generator made must not be booted from.
fn wrong(output: &Path, before: Option<&[u8]>) -> Option<String> {
    let name = output.display();
    let after = match fs::read(output) {
        Ok(after) => after,
        Err(error) => return Some(format!("it made no {name}: {error}")),
    };
    let is_grub = output.file_name().is_some_and(|name| name == "grub.cfg");
    let why = if is_grub {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        loader_roots::why_not(before.map(text).as_deref(), &text(&after))
    } else {
        inspect::initramfs_names(after.as_slice()).err().map(|error| error.to_string())
    };
    why.map(|why| format!("what it made of {name} would not boot: {why}"))
}

/// What a generator writes before it renames it: a failed one leaves it behind.
fn drafts(outputs: &[PathBuf]) -> Vec<PathBuf> {
    let drafts = outputs.iter().flat_map(|output| {
        [".new", ".dpkg-new"].map(|ending| {
            let mut name = output.clone().into_os_string();
            name.push(ending);
            PathBuf::from(name)
        })
    });
    drafts.filter(|draft| !draft.exists()).collect()
}

fn not_running<T>() -> io::Result<T> {
    Err(io::Error::other("this machine is not running: only it can do that"))
}

impl Kernel for ImageKernel {
    fn serves(&self, _: &Machine) -> bool {
        false
    }

    fn generates_in(&self, machine: &Machine) -> bool {
        machine.root() == self.root && !machine.is_live()
    }

    fn page_size(&self) -> u64 {
        Machine::at(&self.root).page_size().0
    }

    fn set(&self, _: &Path, _: &str) -> io::Result<()> {
        not_running()
    }

    fn swap_on(&self, _: &Path, _: SwapState) -> io::Result<()> {
        not_running()
    }

    fn swap_off(&self, _: &Path) -> io::Result<()> {
        not_running()
    }

    fn zram_add(&self) -> io::Result<String> {
        not_running()
    }

    fn zram_remove(&self, _: &str) -> io::Result<()> {
        not_running()
    }

    fn load_module(&self, _: &str) -> io::Result<()> {
        not_running()
    }

    fn unload_module(&self, _: &str) -> io::Result<()> {
        not_running()
    }

    fn run(&self, command: &[String], outputs: &[PathBuf]) -> io::Result<Ran> {
        let drafts = drafts(outputs);
        let ran = self.generate(command, outputs);
        if !ran.as_ref().is_ok_and(|ran| ran.code == Some(0)) {
            for draft in drafts {
                // Most often there is none.
                let _ = fs::remove_file(draft);
            }
        }
        ran
    }

    fn open_exclusive(&self, _: &Path, _: bool) -> io::Result<File> {
        not_running()
    }

    fn format(&self, _: &Path, _: &DeviceFormat) -> io::Result<()> {
        not_running()
    }

    fn reread_partitions(&self, _: &Path) -> io::Result<()> {
        not_running()
    }

    fn open_mapping(&self, _: &str, _: &MappingState) -> io::Result<()> {
        not_running()
    }

    fn close_mapping(&self, _: &str) -> io::Result<()> {
        not_running()
    }

    fn file_system(&self, _: &Path) -> io::Result<FileSystem> {
        not_running()
    }

    fn allocate(&self, _: &mut File, _: u64, _: bool, _: &dyn Fn(WriteProgress)) -> io::Result<()> {
        not_running()
    }
}
