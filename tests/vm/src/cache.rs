//! The folder where fetched and built things stay between runs.
//!
//! `$SWAPTUNE_VM_CACHE`, else `$XDG_CACHE_HOME/swaptune-vm`, else
//! `~/.cache/swaptune-vm`. An entry is built in a scratch folder beside its
//! place and renamed when it is whole, so a run that was ended in the middle
//! never leaves half an entry behind. One lock per entry keeps two test runs
//! from fetching the same kernel at once.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use anyhow::{Context, Result, ensure};

use crate::command::command;

/// The cache folder; it is created when it is missing.
pub fn root() -> Result<PathBuf> {
    let folder = configured().context("neither SWAPTUNE_VM_CACHE nor HOME is set")?;
    fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
    Ok(folder)
}

/// Returns the entry `name`, building it with `build` (into an empty folder) when it is missing.
pub fn entry(name: &str, build: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let place = root()?.join(name);
    if place.is_dir() {
        return Ok(place);
    }
    let _lock = Lock::take(name)?;
    if place.is_dir() {
        return Ok(place);
    }
    let parent = place.parent().context("a cache entry has a parent")?;
    fs::create_dir_all(parent)?;
    let scratch = tempfile::Builder::new().prefix(".new-").tempdir_in(parent)?;
    build(scratch.path()).with_context(|| format!("build the cache entry {name}"))?;
    open_to_all(scratch.path())?;
    fs::rename(scratch.keep(), &place)?;
    Ok(place)
}

/// A scratch folder for one test; removed with it unless `SWAPTUNE_VM_KEEP` is set.
///
/// It lies in the cache folder and not in the temporary folder, which is RAM on
/// many systems: disk images are hundreds of megabytes.
pub fn work_folder(name: &str) -> Result<tempfile::TempDir> {
    let parent = root()?.join("work");
    fs::create_dir_all(&parent)?;
    remove_leftovers(&parent);
    let safe: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let mut folder = tempfile::Builder::new().prefix(&format!("{safe}-")).tempdir_in(parent)?;
    if std::env::var_os("SWAPTUNE_VM_KEEP").is_some() {
        eprintln!("kept work folder: {}", folder.path().display());
        folder.disable_cleanup(true);
    }
    Ok(folder)
}

/// A short name for a text: FNV-1a, 64 bits, in hexadecimal.
///
/// Only equality of recipes matters here, and the value must stay the same
/// from one compiler version to the next, which the standard hasher does not promise.
pub fn hash(text: &str) -> String {
    let value =
        text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{value:016x}")
}

/// A lock that other processes see; released when it is dropped or its owner dies.
///
/// It is held by a child (`flock FILE`), because the standard library of the
/// oldest supported compiler has no file locks.
pub struct Lock(Child);

impl Lock {
    /// Waits for the lock of this name.
    pub fn take(name: &str) -> Result<Self> {
        let folder = root()?.join("locks");
        fs::create_dir_all(&folder)?;
        let file = folder.join(name.replace('/', "_"));
        File::create(&file)?;
        let mut child = command("flock")
            .arg(&file)
            .args(["sh", "-c", "echo held; read -r _"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("start flock (package util-linux)")?;
        let mut line = String::new();
        let answer = child.stdout.take().context("flock has an output")?;
        BufReader::new(answer).read_line(&mut line)?;
        ensure!(line == "held\n", "could not lock {}", file.display());
        Ok(Self(child))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // The end of its input ends the child, and with it the lock.
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// A run that was killed could not remove its folders; no run takes a day.
fn remove_leftovers(parent: &Path) {
    let day = std::time::Duration::from_secs(24 * 3600);
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let age = entry.metadata().and_then(|meta| meta.modified()).ok().and_then(|time| time.elapsed().ok());
        if age.is_some_and(|age| age > day) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn configured() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    variable("SWAPTUNE_VM_CACHE")
        .map(PathBuf::from)
        .or_else(|| variable("XDG_CACHE_HOME").map(|base| PathBuf::from(base).join("swaptune-vm")))
        .or_else(|| variable("HOME").map(|home| PathBuf::from(home).join(".cache/swaptune-vm")))
}

/// Scratch folders are private; a cached root folder must not be, or the guest's `/` is 0700.
fn open_to_all(folder: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_published_fnv_1a() {
        assert_eq!(hash(""), "cbf29ce484222325");
        assert_eq!(hash("foobar"), "85944171f73967e8");
    }
}
