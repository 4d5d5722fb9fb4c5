//! What a daemon says of itself, for everybody to read: a file below `/run/swaptune`, replaced as a whole at each tick. And the file that
//! pauses it, which only root can make.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use swaptune_core::Fact;
use swaptune_core::control::{DaemonReport, Mode};
use swaptune_core::facts::DAEMON_STATUS;

use crate::journal::StateDir;
use crate::machine::{Machine, ReadError};

/// While this file is there, the daemon moves nothing.
pub const PAUSE_FILE: &str = "/run/swaptune/daemon.paused";
/// What there is without a daemon.
const NONE: &str = "no daemon has run since the machine booted";
/// It writes at each tick, once a second. The watchdog of its service has no more patience than this.
const SILENT: Duration = Duration::from_secs(120);
/// The link that has systemd start it at boot.
const ENABLED: &str = "/etc/systemd/system/multi-user.target.wants/swaptuned.service";

/// What a daemon has written last; the reason when there is nothing, or nothing that can be understood.
///
/// # Errors
/// [`ReadError`] with the file and the reason.
pub fn read(machine: &Machine) -> Result<DaemonReport, ReadError> {
    let text = machine.read_text(DAEMON_STATUS)?;
    serde_json::from_str(&text).map_err(|error| ReadError::new(DAEMON_STATUS, &error.to_string()))
}

/// The same with what it cannot say itself: that its process is gone. Absent when no daemon has run.
#[must_use]
pub fn look(machine: &Machine) -> Fact<DaemonReport> {
    match read(machine) {
        Ok(report) => Fact::known(with_its_end(machine, report), DAEMON_STATUS),
        Err(error) if error.missing => Fact::absent(format!("{NONE} ({DAEMON_STATUS})")),
        Err(error) => Fact::absent(error.to_string()),
    }
}

/// The daemon that runs, or that should: one that is gone without a word, and one that starts with the machine and does not run.
#[must_use]
pub fn expected(machine: &Machine) -> Option<DaemonReport> {
    let is_enabled = machine.link(ENABLED).is_ok();
    match look(machine) {
        Fact::Known { value, .. } => (value.mode != Mode::Stopped || is_enabled).then_some(value),
        Fact::Absent { .. } => is_enabled.then(|| DaemonReport { mode: Mode::Missing, ..DaemonReport::default() }),
    }
}

/// A process is there or not only on the machine that runs.
fn with_its_end(machine: &Machine, report: DaemonReport) -> DaemonReport {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let silent = Duration::from_millis(u64::try_from(now).unwrap_or(0).saturating_sub(report.unix_ms));
    let is_gone = machine.is_live() && report.mode.is_running() && is_gone(machine, report.pid, silent);
    DaemonReport { mode: if is_gone { Mode::Gone } else { report.mode }, ..report }
}

/// Its process is not there, or is another by now, or is stopped. Where processes of others are hidden (`hidepid=2`), the first one too, only its
/// silence tells.
fn is_gone(machine: &Machine, pid: u32, silent: Duration) -> bool {
    let has = |pid| machine.exists(&format!("/proc/{pid}"));
    silent > SILENT || !has(pid) && has(1)
}

/// Writes it down, so that a reader sees the old or the new one.
pub(crate) fn write(machine: &Machine, report: &DaemonReport) -> io::Result<()> {
    let path = host(machine, DAEMON_STATUS);
    let beside = path.with_extension("json.new");
    fs::write(&beside, serde_json::to_vec(report)?)?;
    fs::set_permissions(&beside, fs::Permissions::from_mode(0o644))?;
    fs::rename(&beside, &path)
}

/// Makes the folder, which everybody may look into: what is secret in it is closed by itself.
pub(crate) fn make_folder(machine: &Machine) -> io::Result<()> {
    let folder = StateDir::volatile(machine).path().to_owned();
    fs::DirBuilder::new().recursive(true).mode(0o755).create(&folder)?;
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755))
}

/// Whether it is paused.
pub(crate) fn is_paused(machine: &Machine) -> bool {
    machine.exists(PAUSE_FILE)
}

/// Pauses the daemon until [`resume`], or lets it go on. A reboot ends a pause.
///
/// # Errors
/// Without the right to write there.
pub fn pause(machine: &Machine) -> io::Result<()> {
    make_folder(machine)?;
    fs::write(host(machine, PAUSE_FILE), "")
}

/// Ends a pause; it is fine when there is none.
///
/// # Errors
/// Without the right to write there.
pub fn resume(machine: &Machine) -> io::Result<()> {
    match fs::remove_file(host(machine, PAUSE_FILE)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn host(machine: &Machine, path: &str) -> PathBuf {
    machine.root().join(path.trim_start_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_processes_are_hidden_its_silence_tells() {
        let dir = tempfile::tempdir().unwrap();
        let machine = Machine::at(dir.path());
        let of = |seconds| is_gone(&machine, 7, Duration::from_secs(seconds));
        assert_eq!((of(1), of(121)), (false, true), "hidden");
        fs::create_dir_all(dir.path().join("proc/1")).unwrap();
        assert!(of(1), "the first process can be seen");
        fs::create_dir_all(dir.path().join("proc/7")).unwrap();
        assert_eq!((of(1), of(121)), (false, true));
    }

    #[test]
    fn a_daemon_is_expected_where_it_runs_is_gone_or_is_enabled() {
        let dir = tempfile::tempdir().unwrap();
        let machine = Machine::at(dir.path());
        let mode = |machine: &Machine| expected(machine).map(|report| report.mode);
        assert_eq!(mode(&machine), None);
        assert!(look(&machine).source().contains("no daemon has run"), "{:?}", look(&machine));
        let write = |mode| {
            make_folder(&machine).unwrap();
            super::write(&machine, &DaemonReport { mode, pid: u32::MAX, ..DaemonReport::default() }).unwrap();
        };
        for (said, without, enabled) in [
            (Mode::Working, Some(Mode::Working), Some(Mode::Working)),
            (Mode::Paused, Some(Mode::Paused), Some(Mode::Paused)),
            (Mode::Stopped, None, Some(Mode::Stopped)),
        ] {
            write(said);
            assert_eq!(mode(&machine), without);
            let link = dir.path().join(ENABLED.trim_start_matches('/'));
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink("/usr/lib/systemd/system/swaptuned.service", &link).unwrap();
            assert_eq!(mode(&machine), enabled);
            fs::remove_file(link).unwrap();
        }
        // No process has this number, which says something on the machine that runs.
        let unix_ms = u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap();
        let report = DaemonReport { pid: u32::MAX, unix_ms, ..DaemonReport::default() };
        assert_eq!(with_its_end(&Machine::live(), report.clone()).mode, Mode::Gone);
        assert_eq!(with_its_end(&Machine::live(), DaemonReport { mode: Mode::Stopped, ..report.clone() }).mode, Mode::Stopped);
        let ours = DaemonReport { pid: std::process::id(), ..report };
        assert_eq!(with_its_end(&Machine::live(), ours.clone()).mode, Mode::Working);
        let yesterday = DaemonReport { unix_ms: unix_ms - 86_400_000, ..ours };
        assert_eq!(with_its_end(&Machine::live(), yesterday).mode, Mode::Gone, "the number is another's by now");
        fs::remove_file(host(&machine, DAEMON_STATUS)).unwrap();
        let wants = dir.path().join("etc/systemd/system/multi-user.target.wants");
        std::os::unix::fs::symlink("/usr/lib/systemd/system/swaptuned.service", wants.join("swaptuned.service")).unwrap();
        assert_eq!(mode(&machine), Some(Mode::Missing));
    }
}
