//! A generator of an offline tree, run in it.
//!
//! It sees the tree as `/`, `/proc` and a read-only `/sys` of this machine, an empty `/run` and `/tmp`, and a `/dev` with the few
//! nodes that programs need and the block devices that the tree itself lies on: no other disk, so that what it makes can name
//! none. Mounts and process numbers are its own: nothing of them is seen outside, and when it ends, or we do, all that it started
//! ends with it.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_bind, mount_change, mount_remount};
use swaptune_core::parse::mountinfo::{self, MountLine};
use swaptune_core::parse::signature;

use super::Ran;
use super::supervise::OUTPUT_LIMIT;
use crate::sys;

/// Where a generator finds programs.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Nodes of `/dev` that shell scripts use: name, major, minor (Documentation/admin-guide/devices.txt).
const NODES: [(&str, u32, u32); 6] =
    [("null", 1, 3), ("zero", 1, 5), ("full", 1, 7), ("random", 1, 8), ("urandom", 1, 9), ("tty", 5, 0)];
/// Links that a shell expects.
const LINKS: [(&str, &str); 4] =
    [("fd", "/proc/self/fd"), ("stdin", "/proc/self/fd/0"), ("stdout", "/proc/self/fd/1"), ("stderr", "/proc/self/fd/2")];

/// Runs a command in the tree.
pub(super) fn run(root: &Path, command: &[String]) -> io::Result<Ran> {
    let root = fs::canonicalize(root)?;
    // A thread of its own: what it gives up of this process's mounts and process numbers is gone with it.
    let ran = std::thread::scope(|scope| scope.spawn(|| inside(&root, command)).join());
    ran.unwrap_or_else(|_| Err(io::Error::other("the thread that runs it ended")))
}

fn inside(root: &Path, words: &[String]) -> io::Result<Ran> {
    let (program, arguments) =
        words.split_first().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "an empty command"))?;
    sys::own_world().map_err(|error| because("cannot give it mounts of its own", &error))?;
    furnish(root)?;
    let mut command = Command::new(program);
    command.args(arguments).env_clear().env("PATH", PATH).env("LC_ALL", "C").env("HOME", "/root");
    // What this machine could boot is no concern of an image.
    command.env("GRUB_DISABLE_OS_PROBER", "true").process_group(0);
    hear(sys::rooted(&mut command, root)?)
}

/// Runs a command to its end and keeps its last words.
fn hear(command: &mut Command) -> io::Result<Ran> {
    let output = command.stdin(Stdio::null()).output()?;
    let text = [output.stdout, output.stderr].concat();
    let tail = &text[text.len().saturating_sub(OUTPUT_LIMIT)..];
    Ok(Ran { code: output.status.code(), output: String::from_utf8_lossy(tail).trim().to_owned() })
}

fn because(what: &str, error: &impl std::fmt::Display) -> io::Error {
    io::Error::other(format!("{what}: {error}"))
}

/// Mounts what a generator needs. Only this thread and what it starts see it.
fn furnish(root: &Path) -> io::Result<()> {
    let lines = mountinfo::parse(&fs::read_to_string("/proc/self/mountinfo")?);
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).map_err(|error| because("cannot keep its mounts to itself", &error))?;
    for name in ["proc", "sys", "dev"] {
        let place = root.join(name);
        if !is_folder(&place) {
            return Err(io::Error::other(format!("{} is not a folder, and a generator needs it", place.display())));
        }
    }
    for name in ["proc", "sys"] {
        let place = root.join(name);
        mount_bind(Path::new("/").join(name), &place).map_err(|error| because(&format!("cannot mount /{name} in it"), &error))?;
    }
    mount_remount(root.join("sys"), MountFlags::BIND | MountFlags::RDONLY, "")?;
    for name in ["dev", "run", "tmp"].iter().filter(|name| is_folder(&root.join(name))) {
        let mode = if *name == "tmp" { c"mode=1777" } else { c"mode=755" };
        mount("tmpfs", root.join(name), "tmpfs", MountFlags::NOSUID, mode)
            .map_err(|error| because(&format!("cannot mount an empty /{name} in it"), &error))?;
    }
    devices(root, &lines).map_err(|error| because("cannot make its devices", &error))
}

fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

fn devices(root: &Path, lines: &[MountLine]) -> io::Result<()> {
    let dev = root.join("dev");
    for (name, major, minor) in NODES {
        mknodat(CWD, dev.join(name), FileType::CharacterDevice, Mode::from_raw_mode(0o666), makedev(major, minor))?;
        fs::set_permissions(dev.join(name), fs::Permissions::from_mode(0o666))?;
    }
    for (name, target) in LINKS {
        symlink(target, dev.join(name))?;
    }
    fs::create_dir_all(dev.join("disk/by-uuid"))?;
    let inside = |line: &&MountLine| mountinfo::is_under(&line.at, &root.to_string_lossy()) && line.device.0 != 0;
    let mut seen = Vec::new();
    for line in lines.iter().filter(inside) {
        if !seen.contains(&line.device) {
            block_device(&dev, line, seen.len())?;
            seen.push(line.device);
        }
    }
    Ok(())
}

/// The block device of one file system of the tree, by its own name, that of the mount, and its UUID.
///
/// Its own name is none that means something: `10_linux` of GRUB takes a whole loop device for its backing file, which the tree
/// does not see.
fn block_device(dev: &Path, line: &MountLine, number: usize) -> io::Result<()> {
    let name = format!("image{number}");
    let (major, minor) = line.device;
    mknodat(CWD, dev.join(&name), FileType::BlockDevice, Mode::from_raw_mode(0o600), makedev(major, minor))?;
    if let Some(shown) = line.source.strip_prefix("/dev/").filter(|shown| !shown.split('/').any(|part| part == "..")) {
        let link = dev.join(shown);
        fs::create_dir_all(link.parent().unwrap_or(dev))?;
        symlink(format!("/dev/{name}"), link)?;
    }
    let mut head = Vec::with_capacity(signature::HEAD);
    fs::File::open(dev.join(&name))?.take(signature::HEAD as u64).read_to_end(&mut head)?;
    let uuids = signature::probe(&head).into_iter().filter_map(|found| found.uuid);
    for uuid in uuids.filter(|uuid| !uuid.contains('/')) {
        symlink(format!("../../{name}"), dev.join("disk/by-uuid").join(uuid))?;
    }
    Ok(())
}
