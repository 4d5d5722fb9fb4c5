//! What a daemon says of itself, for everybody to read: a file below `/run/swaptune`, replaced as a whole at each tick. And the file that
//! pauses it, which only root can make.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::PathBuf;

use swaptune_core::Fact;
use swaptune_core::control::{DaemonReport, Mode};
use swaptune_core::facts::DAEMON_STATUS;

use crate::journal::StateDir;
use crate::machine::{Machine, ReadError};

/// While this file is there, the daemon moves nothing.
pub const PAUSE_FILE: &str = "/run/swaptune/daemon.paused";
/// What there is without a daemon.
const NONE: &str = "no daemon has run since the machine booted";
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
    let is_gone = machine.is_live() && report.mode.is_running() && !machine.exists(&format!("/proc/{}", report.pid));
    DaemonReport { mode: if is_gone { Mode::Gone } else { report.mode }, ..report }
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
        let report = DaemonReport { pid: u32::MAX, ..DaemonReport::default() };
        assert_eq!(with_its_end(&Machine::live(), report.clone()).mode, Mode::Gone);
        assert_eq!(with_its_end(&Machine::live(), DaemonReport { mode: Mode::Stopped, ..report.clone() }).mode, Mode::Stopped);
        assert_eq!(with_its_end(&Machine::live(), DaemonReport { pid: std::process::id(), ..report }).mode, Mode::Working);
        fs::remove_file(host(&machine, DAEMON_STATUS)).unwrap();
        let wants = dir.path().join("etc/systemd/system/multi-user.target.wants");
        std::os::unix::fs::symlink("/usr/lib/systemd/system/swaptuned.service", wants.join("swaptuned.service")).unwrap();
        assert_eq!(mode(&machine), Some(Mode::Missing));
    }
}
