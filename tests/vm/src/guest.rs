//! The minimal guest: one kernel, a busybox, one script.
//!
//! Three to six seconds from QEMU's start to the script on a quiet machine, so
//! this is the guest for everything that needs a real kernel but no distribution.
//! Swap disks are blank virtio disks named `swap0`, `swap1`, …

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::cache;
use crate::command::{command, run};
use crate::initramfs::Contents;
use crate::kernels::Tree;
use crate::outcome::Outcome;
use crate::payload;
use crate::qemu::{Boot, Drive, Limits, Machine, sparse_disk};

const COMMAND_LINE: &str = "panic=-1 rdinit=/init quiet loglevel=4 nokaslr";

/// A minimal guest to be booted once.
#[derive(Debug, Clone)]
pub struct Minimal {
    tree: Tree,
    script: String,
    files: Vec<(PathBuf, String)>,
    texts: Vec<(String, String)>,
    modules: Vec<String>,
    disks: Vec<u64>,
    disk_rate: Option<u64>,
    ext4: Option<u64>,
    memory: u32,
    cpus: u32,
    words: String,
    limits: Limits,
}

impl Minimal {
    /// A guest with four blank disks of 256 MiB, one processor and 768 MiB of memory.
    pub fn new(tree: Tree, script: &str) -> Self {
        Self {
            tree,
            script: script.to_owned(),
            files: Vec::new(),
            texts: Vec::new(),
            modules: Vec::new(),
            disks: vec![256; 4],
            disk_rate: None,
            ext4: None,
            memory: 768,
            cpus: 1,
            words: String::new(),
            limits: Limits { boot: Duration::from_secs(300), total: Duration::from_secs(1800) },
        }
    }

    /// Puts a file of the host into the guest. Programs must be static.
    pub fn file(mut self, source: impl Into<PathBuf>, path: &str) -> Self {
        self.files.push((source.into(), path.to_owned()));
        self
    }

    /// Puts a text into the guest.
    pub fn text(mut self, path: &str, text: impl Into<String>) -> Self {
        self.texts.push((path.to_owned(), text.into()));
        self
    }

    /// Adds a module (with its dependencies) to the initramfs; it is not loaded.
    pub fn module(mut self, name: &str) -> Self {
        self.modules.push(name.to_owned());
        self
    }

    /// Replaces the disks; sizes in MiB.
    pub fn disks(mut self, mebibytes: &[u64]) -> Self {
        self.disks = mebibytes.to_vec();
        self
    }

    /// Holds each of these disks to a rate, bytes a second, reads and writes together.
    pub fn disk_rate(mut self, rate: Option<u64>) -> Self {
        self.disk_rate = rate;
        self
    }

    /// Adds a further disk that carries an empty ext4; size in MiB.
    pub fn ext4(mut self, mebibytes: u64) -> Self {
        self.ext4 = Some(mebibytes);
        self
    }

    /// Memory in MiB.
    pub fn memory(mut self, mebibytes: u32) -> Self {
        self.memory = mebibytes;
        self
    }

    /// Virtual processors.
    pub fn cpus(mut self, count: u32) -> Self {
        self.cpus = count;
        self
    }

    /// Appends words to the kernel's command line.
    pub fn command_line(mut self, words: &str) -> Self {
        self.words.push(' ');
        self.words.push_str(words);
        self
    }

    /// Limit for the whole run.
    pub fn limit(mut self, total: Duration) -> Self {
        self.limits.total = total;
        self
    }

    /// Boots the guest and waits for its end.
    pub fn run(&self) -> Result<Outcome> {
        let started = Instant::now();
        let work = cache::work_folder(self.tree.kernel.name)?;
        let initramfs = work.path().join("initramfs");
        let mut texts = self.texts.clone();
        texts.push(("/init".to_owned(), payload::MINIMAL_INIT.to_owned()));
        texts.push(("/payload".to_owned(), self.script.clone()));
        Contents { tree: &self.tree, modules: &self.modules, files: &self.files, texts: &texts }
            .build(work.path(), &initramfs)?;
        let mut drives = Vec::new();
        for (number, size) in self.disks.iter().enumerate() {
            let serial = format!("swap{number}");
            let file = work.path().join(&serial);
            sparse_disk(&file, *size)?;
            drives.push(Drive { file, serial, read_only: false, rate: self.disk_rate });
        }
        if let Some(size) = self.ext4 {
            let file = work.path().join("ext4");
            sparse_disk(&file, size)?;
            run(command("mkfs.ext4").arg("-qF").arg(&file))?;
            drives.push(Drive { file, serial: "ext4".to_owned(), read_only: false, rate: None });
        }
        let architecture = self.tree.kernel.architecture;
        let machine = Machine {
            architecture,
            memory: self.memory,
            cpus: self.cpus,
            translation_cache: 256,
            boot: Boot::Kernel {
                image: self.tree.image.clone(),
                initramfs,
                command_line: format!("{} {COMMAND_LINE}{}", architecture.words, self.words),
            },
            drives,
            ssh: None,
            limits: self.limits,
        };
        let prepare = started.elapsed();
        let mut outcome = machine.run(work.path())?;
        outcome.times.prepare = prepare;
        Ok(outcome)
    }
}
