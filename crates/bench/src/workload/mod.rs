//! THE table of built-in workloads: what `compare` runs where no command is given.
//!
//! Each is a process of its own that does the same work for the same seed, so that what differs between runs is the machine.

pub(crate) mod alloc;
mod build;
mod folder;
mod heap;

use std::io;
use std::path::PathBuf;

use swaptune_core::Bytes;

pub use folder::WorkloadFolder;

/// What a workload is asked for.
#[derive(Clone, Debug)]
pub struct Ask {
    /// Memory that it works on.
    pub size: Bytes,
    /// What is drawn is drawn from this number.
    pub seed: u64,
    /// Where it may write.
    pub folder: PathBuf,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct BuiltInWorkload {
    /// Name on the command line.
    pub name: &'static str,
    /// What it does.
    pub doc: &'static str,
    /// Its size where none is given, in percent of the memory that it has.
    pub percent: u64,
    /// Does it.
    pub run: fn(&Ask) -> io::Result<()>,
}

/// The table.
pub const WORKLOADS: [BuiltInWorkload; 3] = [
    BuiltInWorkload {
        name: "alloc",
        doc: "writes memory once, three pages of four compressible, and ends: how fast memory can be had",
        percent: 200,
        run: alloc::run,
    },
    BuiltInWorkload {
        name: "heap",
        doc: "works on objects at random, eight of ten times on a fifth of them: a heap that is larger than RAM",
        percent: 125,
        run: heap::run,
    },
    BuiltInWorkload {
        name: "build",
        doc: "compiles a C program made for it, with as many compilers (cc) at a time as take its size at their peaks, two at least",
        // Their peaks do not meet: at 100 % nothing is under pressure (docs/evidence/compiling.md).
        percent: 200,
        run: build::run,
    },
];

/// A row by its name.
#[must_use]
pub fn workload(name: &str) -> Option<&'static BuiltInWorkload> {
    WORKLOADS.iter().find(|workload| workload.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_does_its_work_in_little_memory() {
        let folder = tempfile::tempdir().unwrap();
        for workload in WORKLOADS {
            let ask = Ask { size: Bytes::from_mib(2), seed: 1, folder: folder.path().to_owned() };
            (workload.run)(&ask).unwrap_or_else(|error| panic!("{}: {error}", workload.name));
        }
        assert_eq!(folder.path().read_dir().unwrap().count(), 0, "what was written is taken away");
    }
}
