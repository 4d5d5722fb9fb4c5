//! Commands that end with us, whatever they have started.
//!
//! A generator is a shell script that starts others. When swaptune is killed they would go on and write over what the next
//! run brings back. So a command runs in a process group of its own below a shell that waits for the end of a pipe, of which
//! only we hold the other end: when we are gone, in whatever way, it kills the whole group. All of them carry our name in
//! their environment, by which the next run finds what got away from the group, ends it, and waits until it has ended.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, PidfdFlags, Signal, geteuid, pidfd_open, pidfd_send_signal};

use super::Ran;

/// How much of a command's output is kept.
pub(super) const OUTPUT_LIMIT: usize = 4 << 10;
/// The variable that names the process which started a command: name space of its ids, id, moment of its start.
const STARTED_BY: &str = "SWAPTUNE_STARTED_BY";
/// How long to wait for what a command left running when it ended, before it is killed.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long the kernel may take to take apart what was killed.
const END: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(10);
/// The command runs beside a reader of the pipe, which kills the group, itself included, when the pipe ends before the command.
const SCRIPT: &str = r#"
exec 3<&0 0</dev/null
{ read -r _ <&3; kill -s KILL -- "-$$"; } >/dev/null 2>&1 &
watcher=$!
"$@" 3<&-
code=$?
kill -s KILL "$watcher" 2>/dev/null
exit "$code"
"#;

/// Runs a command to its end, and waits for what it started; all of it is killed when this process ends before.
///
/// # Errors
/// When it cannot be started, or when what it left running cannot be ended.
pub fn run(program: &str, arguments: &[String]) -> io::Result<Ran> {
    // The shell would say so in words of its own, as the output of the command.
    let path = search_path();
    let known = if program.contains('/') { Path::new(program).exists() } else { in_path(&path, program) };
    if !known {
        return Err(io::Error::new(io::ErrorKind::NotFound, format!("{program} is not there")));
    }
    let (said, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    let mut command = Command::new("/bin/sh");
    command.args(["-c", SCRIPT, "swaptune", program]).args(arguments).process_group(0);
    command.env("PATH", path).env("LC_ALL", "C").env(STARTED_BY, name_of(std::process::id())?);
    command.stdin(Stdio::piped()).stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.spawn()?;
    // The ends of the pipe that the command writes to: ours must be closed to see its end.
    drop(command);
    // Waiting for the child would close it, and the group be killed before its end.
    let tether = child.stdin.take();
    let mut text = Vec::new();
    fs::File::from(said).read_to_end(&mut text)?;
    let code = child.wait()?.code();
    drop(tether);
    let group = i32::try_from(child.id()).unwrap_or(0);
    end_all(PATIENCE, || members(|process| process.group == group))?;
    let tail = &text[text.len().saturating_sub(OUTPUT_LIMIT)..];
    Ok(Ran { code, output: String::from_utf8_lossy(tail).trim().to_owned() })
}

/// Ends what a run that was killed has left running, and waits until it has ended. What a living run has started is its own.
///
/// # Errors
/// When it does not end.
pub fn end_left() -> io::Result<()> {
    let mut sessions = Vec::new();
    end_all(Duration::ZERO, || {
        let all = members(|_| true);
        let found: Vec<&SupervisedProcess> = all.iter().filter(|process| is_left(process.id)).collect();
        sessions.extend(found.iter().map(|process| process.group));
        let mut ids: Vec<SupervisedProcess> = found.into_iter().copied().collect();
        // One that has cleared its environment is known by the group that it shares with one that has not.
        ids.extend(all.iter().filter(|process| sessions.contains(&process.group) && !is_left(process.id)));
        ids
    })
}

/// Waits until nothing is found any more, and kills what is there when the patience has run out.
fn end_all(patience: Duration, mut find: impl FnMut() -> Vec<SupervisedProcess>) -> io::Result<()> {
    let begin = Instant::now();
    loop {
        let found = find();
        let Some(first) = found.first() else { return Ok(()) };
        let waited = begin.elapsed();
        if waited > patience + END {
            return Err(io::Error::other(format!("process {} does not end", first.id)));
        }
        if waited >= patience {
            let held: Vec<_> = found.iter().filter_map(|process| Some((process.id, hold(process.id)?))).collect();
            kill(&held, &find());
        }
        std::thread::sleep(PAUSE);
    }
}

/// Kills processes that were found before and still are: held before the second look, an id that another process has got since is
/// not signalled.
fn kill(held: &[(i32, OwnedFd)], again: &[SupervisedProcess]) {
    for (_, pidfd) in held.iter().filter(|(id, _)| again.iter().any(|process| process.id == *id)) {
        // It may have ended by itself meanwhile.
        let _ = pidfd_send_signal(pidfd, Signal::KILL);
    }
}

fn hold(id: i32) -> Option<OwnedFd> {
    pidfd_open(Pid::from_raw(id)?, PidfdFlags::empty()).ok()
}

/// A process that runs.
#[derive(Clone, Copy, Debug)]
struct SupervisedProcess {
    id: i32,
    group: i32,
}

/// Processes but for ourselves, as far as they have not ended already.
fn members(wanted: impl Fn(&SupervisedProcess) -> bool) -> Vec<SupervisedProcess> {
    let us = std::process::id();
    let ids = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = ids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()).filter(|id| *id != us);
    ids.filter_map(stat).filter(|process| wanted(process)).collect()
}

/// What `/proc/ID/stat` says, from the state behind the name on (proc_pid_stat(5)); nothing for a process that has ended.
fn stat(id: u32) -> Option<SupervisedProcess> {
    let text = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let mut words = text.rsplit_once(')')?.1.split_whitespace();
    let is_dead = matches!(words.next()?, "Z" | "X" | "x");
    let group = words.nth(1)?.parse().ok()?;
    (!is_dead).then_some(SupervisedProcess { id: i32::try_from(id).ok()?, group })
}

/// When a process started, in ticks since boot.
fn started(id: u32) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    text.rsplit_once(')')?.1.split_whitespace().nth(19).map(str::to_owned)
}

/// A name for a process that no other gets: ids come again, and mean something else in a container.
fn name_of(id: u32) -> io::Result<String> {
    let space = fs::read_link("/proc/self/ns/pid")?;
    let start = started(id).ok_or_else(|| io::Error::other("/proc does not tell of this process"))?;
    Ok(format!("{} {id} {start}", space.display()))
}

/// True for a process that was started by one of us that is gone. The mark of a process that belongs to another user is that user's
/// word, by which nothing is killed.
fn is_left(id: i32) -> bool {
    if !fs::metadata(format!("/proc/{id}")).is_ok_and(|found| found.uid() == geteuid().as_raw()) {
        return false;
    }
    let Ok(bytes) = fs::read(format!("/proc/{id}/environ")) else { return false };
    let key = format!("{STARTED_BY}=");
    let name = bytes.split(|byte| *byte == 0).find_map(|variable| variable.strip_prefix(key.as_bytes()));
    let Some(name) = name.and_then(|name| std::str::from_utf8(name).ok()) else { return false };
    let mut words = name.split(' ');
    let is_here = fs::read_link("/proc/self/ns/pid").is_ok_and(|space| words.next() == space.to_str());
    let Some(id) = words.next().and_then(|id| id.parse().ok()) else { return false };
    is_here && name_of(id).map_or(true, |living| living != name)
}

/// Folders of programs for administrators, update-grub and update-initramfs among them.
const ADMINISTRATOR: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// Where programs are found: as the caller has it, and then where administrators' programs are, which `su` of Debian leaves out.
fn search_path() -> OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).filter(|folder| !folder.as_os_str().is_empty());
    std::env::join_paths(folders.chain(ADMINISTRATOR.map(PathBuf::from))).unwrap_or(path)
}

fn in_path(path: &OsStr, program: &str) -> bool {
    std::env::split_paths(path).any(|folder| folder.join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Ran {
        run("sh", &["-c".to_owned(), script.to_owned()]).unwrap()
    }

    #[test]
    fn a_command_is_run_and_heard() {
        assert_eq!(sh("echo said >&2; exit 3"), Ran { code: Some(3), output: "said".into() });
        assert!(run("/nonexistent/generator", &[]).is_err());
        assert!(run("no-such-generator", &[]).is_err());
        // `su` of Debian leaves the caller's PATH, which may have no folder of an administrator's programs.
        assert!(sh("echo $PATH").output.ends_with("/usr/sbin:/sbin"));
    }

    #[test]
    fn what_a_command_leaves_running_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("late");
        sh(&format!("(sleep 1; echo late > {}) > /dev/null 2>&1 &", file.display()));
        assert_eq!(fs::read_to_string(file).unwrap(), "late\n");
    }

    /// Whatever an ordinary user writes into an environment, root kills nothing for it.
    #[test]
    fn the_mark_of_another_user_is_not_believed() {
        const OVERFLOW_UID: u32 = 65_534;
        let dead = format!("{} 1 1", fs::read_link("/proc/self/ns/pid").unwrap().display());
        let mut sleep = Command::new("sleep");
        let other = sleep.arg("30").env(STARTED_BY, &dead).process_group(0).uid(OVERFLOW_UID).spawn();
        if !geteuid().is_root() {
            assert!(other.is_err(), "only root may start a process of another user");
            return;
        }
        let mut other = other.unwrap();
        let ours = Command::new("sleep").arg("30").env(STARTED_BY, &dead).process_group(0).spawn();
        end_left().unwrap();
        let is_alive = other.try_wait().unwrap().is_none();
        other.kill().unwrap();
        other.wait().unwrap();
        assert!(is_alive, "it was killed");
        assert!(!ours.unwrap().wait().unwrap().success(), "one of root's own with that mark is what it says");
    }

    #[test]
    fn what_is_started_now_is_not_left() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("done");
        let script = format!("sleep 1; echo done > {}", file.display());
        let one = std::thread::spawn(move || sh(&script));
        std::thread::sleep(Duration::from_millis(300));
        end_left().unwrap();
        assert_eq!(one.join().unwrap().code, Some(0));
        assert_eq!(fs::read_to_string(file).unwrap(), "done\n");
    }
}
