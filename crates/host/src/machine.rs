//! The read seam: every look at a machine goes through [`Machine`], live or from a folder.
//!
//! A folder is a tree that looks like `/` from inside: an image that is being built, or a capture made by
//! `inspect --capture`. Absolute links inside it lead to its own files, never out of it. Things that are not files
//! (the kernel log, free space, what an initramfs contains) are kept by a capture in `.swaptune/` and come back from
//! there, so that the same inspection of the folder gives the same facts.

mod error;
mod live;
mod record;

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use record::Offline;
use swaptune_core::parse::mountinfo;
use tracing::{debug, trace};

pub use error::ReadError;
pub use live::FileSystemSpace;
pub(crate) use record::{DATA, InspectionRecord};

/// Enough for any file under `/proc`, `/sys` and `/etc` that is looked at.
const TEXT_LIMIT: u64 = 16 << 20;
/// As many as the kernel follows (`MAXSYMLINKS`).
const LINK_LIMIT: usize = 40;

/// What only the root folder of a machine has: one of these is enough.
pub const MARKS: [&str; 5] = ["/etc/os-release", "/usr/lib/os-release", "/sbin/init", "/bin/sh", "/proc/meminfo"];
/// A path at which nothing ever is.
const NOWHERE: &str = "/proc/self/fd/nothing";
/// Folders that a running machine mounts into an image to work in it. What they show is that machine, not the image.
const BORROWED: [&str; 4] = ["/proc", "/sys", "/dev", "/run"];

/// One machine to look at.
#[derive(Debug)]
pub struct Machine {
    root: PathBuf,
    live: bool,
    offline: Offline,
    borrowed: Vec<&'static str>,
    record: Option<Mutex<InspectionRecord>>,
}

impl Machine {
    /// The machine that this process runs on.
    #[must_use]
    pub fn live() -> Self {
        Self { root: PathBuf::from("/"), live: true, offline: Offline::default(), borrowed: Vec::new(), record: None }
    }

    /// The machine whose files lie under `root`.
    #[must_use]
    pub fn at(root: impl Into<PathBuf>) -> Self {
        let root = root.into();
        let offline = Offline::load(&root);
        let borrowed = BORROWED.into_iter().filter(|folder| is_borrowed(&root, folder)).collect();
        Self { root, live: false, offline, borrowed, record: None }
    }

    /// The same machine, remembering everything that is read from it.
    #[must_use]
    pub(crate) fn recording(&self) -> Self {
        Self {
            root: self.root.clone(),
            live: self.live,
            offline: self.offline.clone(),
            borrowed: self.borrowed.clone(),
            record: Some(Mutex::new(InspectionRecord::default())),
        }
    }

    /// What was read since [`Machine::recording`].
    pub(crate) fn into_record(self) -> InspectionRecord {
        self.record.map(|record| record.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)).unwrap_or_default()
    }

    /// True for the machine that this process runs on.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.live
    }

    /// True for a capture: a folder that `inspect --capture` made.
    #[must_use]
    pub fn is_capture(&self) -> bool {
        !self.live && self.offline.is_capture()
    }

    /// True when there is a machine below the root at all, and not an empty folder or some other file system.
    #[must_use]
    pub fn is_one(&self) -> bool {
        self.live || self.is_capture() || MARKS.iter().any(|mark| self.exists(mark))
    }

    /// Where this machine's `/` is.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where a path of this machine really lies, links resolved inside its root. The file itself need not exist.
    ///
    /// # Errors
    /// [`ReadError`] when a folder on the way cannot be read, or links go round in a circle.
    pub fn resolve(&self, path: &str) -> Result<PathBuf, ReadError> {
        Ok(self.host_path(&self.inside(path)?))
    }

    /// A text file; bytes that are no UTF-8 are replaced.
    ///
    /// # Errors
    /// [`ReadError`] with the path as it was asked for and the reason.
    pub fn read_text(&self, path: &str) -> Result<String, ReadError> {
        let bytes = self.read_bytes(path, TEXT_LIMIT)?;
        Ok(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    /// At most `limit` bytes of a file.
    ///
    /// # Errors
    /// [`ReadError`] with the path as it was asked for and the reason.
    pub fn read_bytes(&self, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        let inside = self.inside(path)?;
        let read = self.open_host(&inside).and_then(|file| {
            // Room for a whole file of sysfs: without it the first reads are of 32 bytes each.
            let mut bytes = Vec::with_capacity(4096);
            file.take(limit).read_to_end(&mut bytes).map(|_| bytes)
        });
        match read {
            Ok(bytes) => {
                debug!("read {path}: {} bytes", bytes.len());
                self.note(|record| {
                    record.files.insert(inside, bytes.clone());
                });
                Ok(bytes)
            }
            Err(error) => Err(self.failed(path, inside, &error)),
        }
    }

    /// The lines of a file that are worth keeping; a capture keeps no others.
    ///
    /// # Errors
    /// [`ReadError`] with the path as it was asked for and the reason.
    pub(crate) fn read_lines(&self, path: &str, keep: impl Fn(&str) -> bool) -> Result<String, ReadError> {
        let text = self.read_text(path)?;
        let kept: String = text.split_inclusive('\n').filter(|line| keep(line.trim_end_matches('\n'))).collect();
        self.keep_instead(path, || kept.clone().into_bytes());
        Ok(kept)
    }

    /// Lets a capture keep this instead of what was read, when both give the same facts.
    pub(crate) fn keep_instead(&self, path: &str, bytes: impl FnOnce() -> Vec<u8>) {
        if self.record.is_none() {
            return;
        }
        if let Ok(inside) = self.inside(path) {
            self.note(|record| {
                record.files.insert(inside, bytes());
            });
        }
    }

    /// Opens a file without remembering its content: for images that a capture must not contain.
    pub(crate) fn open_unrecorded(&self, path: &str) -> Result<File, ReadError> {
        let inside = self.inside(path)?;
        self.open_host(&inside).map_err(|error| self.failed(path, inside, &error))
    }

    /// The names in a folder, sorted.
    ///
    /// # Errors
    /// [`ReadError`] with the path as it was asked for and the reason.
    pub fn list(&self, dir: &str) -> Result<Vec<String>, ReadError> {
        self.list_where(dir, |_| true)
    }

    /// The names in a folder that are worth keeping, sorted; a capture keeps no others.
    pub(crate) fn list_where(&self, dir: &str, keep: impl Fn(&str) -> bool) -> Result<Vec<String>, ReadError> {
        let inside = self.inside(dir)?;
        // A capture that was changed since may have something in a folder that was empty.
        if self.offline.is_empty_dir(&inside) && !self.host_path(&inside).is_dir() {
            return Ok(Vec::new());
        }
        let read = fs::read_dir(self.host_path(&inside)).and_then(|entries| {
            entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect::<std::io::Result<Vec<_>>>()
        });
        match read {
            Ok(mut names) => {
                names.retain(|name| keep(name));
                trace!("list {dir}: {} names", names.len());
                names.sort_unstable();
                self.note(|record| record.folders.entry(inside).or_default().extend(names.iter().cloned()));
                Ok(names)
            }
            Err(error) => Err(self.failed(dir, inside, &error)),
        }
    }

    /// The names of the folders in a folder, sorted; links are none, and nothing is remembered of them.
    pub(crate) fn folders(&self, dir: &str) -> Vec<String> {
        let Ok(inside) = self.inside(dir) else { return Vec::new() };
        let Ok(entries) = fs::read_dir(self.host_path(&inside)) else { return Vec::new() };
        let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
        let mut names: Vec<String> =
            entries.flatten().filter(is_folder).map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort_unstable();
        names
    }

    /// The files of a folder with this ending, as full paths, sorted; nothing when the folder is missing.
    #[must_use]
    pub fn files_in(&self, dir: &str, ending: &str) -> Vec<String> {
        let names = self.list_where(dir, |name| name.ends_with(ending)).unwrap_or_default();
        names.into_iter().map(|name| format!("{dir}/{name}")).collect()
    }

    /// Where a link points, as written in it.
    ///
    /// # Errors
    /// [`ReadError`] when there is no link at this path.
    pub fn link(&self, path: &str) -> Result<String, ReadError> {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        let inside = format!("{}/{name}", self.inside(parent)?.trim_end_matches('/'));
        match fs::read_link(self.host_path(&inside)) {
            Ok(target) => {
                let target = target.to_string_lossy().into_owned();
                trace!("link {path}: {target}");
                self.note(|record| {
                    record.links.insert(inside, target.clone());
                });
                Ok(target)
            }
            Err(error) => Err(self.failed(path, inside, &error)),
        }
    }

    /// The path with all links resolved, as seen from inside this machine.
    ///
    /// # Errors
    /// [`ReadError`] when a folder on the way cannot be read.
    pub fn real_path(&self, path: &str) -> Result<String, ReadError> {
        self.walk(path)
    }

    /// True when something is there and can be seen.
    #[must_use]
    pub fn exists(&self, path: &str) -> bool {
        let Ok(inside) = self.inside(path) else { return false };
        let exists = self.offline.is_empty_dir(&inside) || fs::metadata(self.host_path(&inside)).is_ok();
        if exists {
            self.note(|record| {
                record.seen.insert(inside);
            });
        }
        exists
    }

    /// Something that is no file: from the capture when there is one, else computed and remembered as `name`.
    pub(crate) fn derived(&self, name: &str, compute: impl FnOnce() -> Result<String, ReadError>) -> Result<String, ReadError> {
        let result = match self.offline.derived(&self.root, name) {
            Some(known) => known,
            None => compute(),
        };
        self.note(|record| match &result {
            Ok(text) => {
                record.derived.insert(name.to_owned(), text.clone());
            }
            Err(error) => {
                record.index.failed.insert(name.to_owned(), error.clone());
            }
        });
        result
    }

    /// The reason why something that only a running machine has is not known for a folder.
    pub(crate) fn only_live(&self, what: &str) -> Result<(), ReadError> {
        if self.live { Ok(()) } else { Err(ReadError::new(what, "not kept in this folder")) }
    }

    pub(crate) fn note(&self, add: impl FnOnce(&mut InspectionRecord)) {
        if let Some(record) = &self.record {
            let mut guard: MutexGuard<'_, InspectionRecord> = record.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            add(&mut guard);
        }
    }

    fn open_host(&self, inside: &str) -> std::io::Result<File> {
        // A folder may come from anywhere: a pipe or a device in it must not block the reader.
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(self.host_path(inside))?;
        let regular = self.live || file.metadata()?.is_file();
        if regular { Ok(file) } else { Err(std::io::Error::other("not a regular file")) }
    }

    fn failed(&self, path: &str, inside: String, error: &std::io::Error) -> ReadError {
        let known = self.offline.failure(&inside).filter(|_| error.kind() == std::io::ErrorKind::NotFound);
        let error = match known {
            Some(known) => ReadError { path: path.to_owned(), ..known.clone() },
            None => ReadError::from_io(path, error),
        };
        trace!("not read: {error}");
        if !error.missing {
            self.note(|record| {
                record.index.failed.insert(inside, error.clone());
            });
        }
        error
    }

    /// The path to read, as seen from inside. The live kernel resolves links itself, unless they are to be remembered.
    fn inside(&self, path: &str) -> Result<String, ReadError> {
        if self.live && self.record.is_none() { Ok(path.to_owned()) } else { self.walk(path) }
    }

    fn host_path(&self, inside: &str) -> PathBuf {
        // What is mounted there now will not be there when the image runs.
        if self.borrowed.iter().any(|folder| mountinfo::is_under(inside, folder) && inside != *folder) {
            return PathBuf::from(NOWHERE).join(inside.trim_start_matches('/'));
        }
        self.root.join(inside.trim_start_matches('/'))
    }

    /// Follows links as if this machine's root were `/`.
    fn walk(&self, path: &str) -> Result<String, ReadError> {
        let mut todo: VecDeque<String> = parts(path).collect();
        let mut done = String::new();
        let mut links = 0;
        while let Some(part) = todo.pop_front() {
            if part == ".." {
                done.truncate(done.rfind('/').unwrap_or(0));
                continue;
            }
            let next = format!("{done}/{part}");
            // /proc/self is another process for each reader; what is read through it is meant as it stands.
            let target = if next == "/proc/self" { None } else { fs::read_link(self.host_path(&next)).ok() };
            let Some(target) = target.map(|target| target.to_string_lossy().into_owned()) else {
                done = next;
                continue;
            };
            links += 1;
            if links > LINK_LIMIT {
                return Err(ReadError::new(path, "too many levels of links"));
            }
            if target.starts_with('/') {
                done.clear();
            }
            for part in parts(&target).rev() {
                todo.push_front(part);
            }
            self.note(|record| {
                record.links.insert(next, target);
            });
        }
        Ok(if done.is_empty() { "/".to_owned() } else { done })
    }
}

/// True when this folder of a tree is the running machine's own, mounted there.
fn is_borrowed(root: &Path, folder: &str) -> bool {
    let device = |path: &Path| fs::metadata(path).ok().map(|found| found.dev());
    let (ours, here) = (device(Path::new(folder)), device(&root.join(folder.trim_start_matches('/'))));
    ours.is_some() && ours == here && here != device(root) && ours != device(Path::new("/"))
}

fn parts(path: &str) -> impl DoubleEndedIterator<Item = String> {
    path.split('/').filter(|part| !part.is_empty() && *part != ".").map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn tree() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::create_dir_all(path("usr/lib")).unwrap();
        fs::create_dir_all(path("etc")).unwrap();
        fs::write(path("usr/lib/os-release"), "ID=debian\n").unwrap();
        symlink("../usr/lib/os-release", path("etc/os-release")).unwrap();
        symlink("/usr/lib/os-release", path("etc/absolute")).unwrap();
        symlink("../../../../../../etc/passwd", path("etc/escape")).unwrap();
        symlink("/etc/b", path("etc/a")).unwrap();
        symlink("/etc/a", path("etc/b")).unwrap();
        symlink("usr/lib", path("lib")).unwrap();
        dir
    }

    #[test]
    fn links_stay_inside_the_root() {
        let dir = tree();
        let machine = Machine::at(dir.path());
        for path in ["/etc/os-release", "/etc/absolute", "/lib/os-release", "etc/../lib/./os-release"] {
            assert_eq!(machine.read_text(path).as_deref(), Ok("ID=debian\n"), "{path}");
        }
        assert_eq!(machine.real_path("/etc/escape"), Ok("/etc/passwd".into()));
        assert_eq!(machine.read_text("/etc/escape").unwrap_err().to_string(), "/etc/escape: no such file");
        assert_eq!(machine.read_text("/etc/a").unwrap_err().to_string(), "/etc/a: too many levels of links");
        assert_eq!(machine.link("/etc/absolute"), Ok("/usr/lib/os-release".into()));
        assert_eq!(machine.resolve("/lib/new"), Ok(dir.path().join("usr/lib/new")));
    }

    proptest::proptest! {
        #[test]
        fn no_links_lead_out_of_the_root(links in proptest::collection::vec(("[ab]", "(/?(\\.\\.|[abc])){1,4}"), 0..4), path in "(/?(\\.\\.|[abc])){1,5}") {
            let dir = tempfile::tempdir().unwrap();
            fs::create_dir(dir.path().join("c")).unwrap();
            for (name, target) in links {
                let _ = symlink(target, dir.path().join(name));
            }
            let machine = Machine::at(dir.path());
            if let Ok(real) = machine.real_path(&path) {
                proptest::prop_assert!(real.starts_with('/') && !real.split('/').any(|part| part == ".."), "{real}");
                let host = machine.resolve(&path).unwrap();
                proptest::prop_assert!(fs::read_link(&host).is_err() && host.starts_with(dir.path()));
            }
        }
    }

    #[test]
    fn folders_and_other_things_are_no_text() {
        let dir = tree();
        let machine = Machine::at(dir.path());
        assert_eq!(machine.read_text("/etc").unwrap_err().to_string(), "/etc: not a regular file");
        assert_eq!(machine.list("/etc").unwrap(), ["a", "absolute", "b", "escape", "os-release"]);
        assert!(machine.list("/none").unwrap_err().missing);
        assert!(machine.exists("/lib") && !machine.exists("/etc/escape"));
        assert_eq!(machine.files_in("/etc", "-release"), ["/etc/os-release"]);
    }
}
