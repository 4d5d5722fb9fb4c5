//! Partition tables and encrypted mappings, by the programs that systems have for them: sfdisk and blockdev of util-linux, cryptsetup.
//!
//! What they are told is built by pure functions. They run supervised: when we are killed, they are too.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use swaptune_core::change::{DeviceFormat, MappingKey, MappingState};
use swaptune_core::device::{LUKS_HEADER, key_test, luks_format, mapping_open, partition_name, sfdisk_script};

use super::supervise;

/// How long udev may take to look at a disk, and to make the nodes of its partitions.
const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(20);

/// Where administration programs are, for a PATH without them.
const FOLDERS: [&str; 4] = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"];

pub(super) fn format(path: &Path, format: &DeviceFormat) -> io::Result<()> {
    let device = path.display().to_string();
    match format {
        DeviceFormat::Gpt { partitions, .. } => {
            let script = sfdisk_script(format);
            // The script goes in by standard input, which supervise keeps for itself.
            let shell = r#"script=$1; shift; printf '%s' "$script" | exec "$@""#;
            let sfdisk = program("sfdisk")?;
            let quiet = ["--quiet", "--no-tell-kernel", "--wipe", "never", "--wipe-partitions", "never"];
            let words = [&["-c", shell, "sh", &script, &sfdisk], &quiet[..], &[&device]].concat();
            done("sfdisk", &supervise::run("/bin/sh", &strings(&words))?)?;
            reread_partitions(path)?;
            wait_for((1..=partitions.len()).map(|number| partition_name(&device, number)))
        }
        DeviceFormat::Luks { .. } => cryptsetup(&luks_format(format, &device, LUKS_HEADER)),
        DeviceFormat::Swap { .. } => Err(io::Error::other("a swap area is made by its header")),
    }
}

/// udev opens a disk whenever it was written to, and each time the kernel refuses to read its table: so it is asked again.
pub(super) fn reread_partitions(path: &Path) -> io::Result<()> {
    let (blockdev, words) = (program("blockdev")?, strings(&["--rereadpt", &path.display().to_string()]));
    let begin = Instant::now();
    loop {
        match busy(done("blockdev", &supervise::run(&blockdev, &words)?)) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy && begin.elapsed() < PATIENCE => {
                std::thread::sleep(PAUSE);
            }
            result => return result,
        }
    }
}

pub(super) fn open_mapping(name: &str, state: &MappingState) -> io::Result<()> {
    cryptsetup(&mapping_open(name, state))?;
    if let MappingKey::Random { .. } = state.key {
        // A key that is made anew leaves nothing to be recognised: the node is all there is to wait for.
        return wait_for(std::iter::once(format!("/dev/mapper/{name}")));
    }
    Ok(())
}

/// Why a key file cannot open a LUKS volume at each boot: it is not there, others can read it, or the volume does not take it. Nothing is
/// opened.
#[must_use]
pub fn unfit_key(key_file: &str, volume: &str) -> Option<String> {
    let found = match std::fs::metadata(key_file) {
        Ok(found) => found,
        Err(error) => return Some(format!("it cannot be read: {error}")),
    };
    let (mode, owner) = (found.mode() & 0o7777, found.uid());
    if !found.is_file() {
        return Some("it is no file".to_owned());
    }
    if mode & 0o077 != 0 || owner != 0 {
        return Some(format!("others can read it: owner {owner}, mode {mode:o}, and root's own with mode 600 is expected"));
    }
    let tried = cryptsetup(&key_test(key_file, volume));
    tried.err().map(|error| format!("it does not open {volume}: {error}"))
}

pub(super) fn close_mapping(name: &str) -> io::Result<()> {
    busy(cryptsetup(&strings(&["close", name])))
}

fn cryptsetup(words: &[String]) -> io::Result<()> {
    let ran = supervise::run(&program("cryptsetup")?, words)?;
    done("cryptsetup", &ran)
}

fn done(program: &str, ran: &super::Ran) -> io::Result<()> {
    if ran.code == Some(0) {
        return Ok(());
    }
    let code = ran.code.map_or_else(|| "a signal".into(), |code| format!("exit code {code}"));
    Err(io::Error::other(format!("{program}: {code}: {}", ran.output)))
}

/// The kind of an error that only means that something, most often udev, still looks at the device.
fn busy(result: io::Result<()>) -> io::Result<()> {
    result.map_err(|error| {
        let text = error.to_string();
        let is_busy = text.contains("still in use") || text.contains("busy");
        if is_busy { io::Error::new(io::ErrorKind::ResourceBusy, text) } else { error }
    })
}

fn program(name: &str) -> io::Result<String> {
    let found = FOLDERS.iter().map(|folder| Path::new(folder).join(name)).find(|path| path.is_file());
    let missing = || io::Error::new(io::ErrorKind::NotFound, format!("{name} is not installed"));
    found.map(|path: PathBuf| path.display().to_string()).ok_or_else(missing)
}

/// Waits until every node is there; udev makes them a moment after the kernel has the device.
fn wait_for(nodes: impl Iterator<Item = String>) -> io::Result<()> {
    let begin = Instant::now();
    for node in nodes {
        while !Path::new(&node).exists() {
            if begin.elapsed() > PATIENCE {
                return Err(io::Error::other(format!("{node} did not appear: does the kernel read partitions of this device?")));
            }
            std::thread::sleep(PAUSE);
        }
    }
    Ok(())
}

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
