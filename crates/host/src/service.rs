//! systemd's view of the boot service: told after an apply, and after a rollback.
//!
//! The live state is already as it should be then. These calls only make `systemctl stop swaptune` work without a reboot
//! in between, and make systemd forget a service whose file is gone.

use std::path::Path;
use std::process::{Command, Stdio};

use swaptune_core::plan::UNIT_FILE;
use tracing::info;

use crate::machine::Machine;
use crate::transaction::ApplyReport;

const UNIT: &str = "swaptune.service";

/// Starts the service when what was carried out brought it; says what went wrong.
#[must_use]
pub fn start(machine: &Machine, report: &ApplyReport) -> Option<String> {
    let brought = report.steps.iter().any(|step| step.change.target() == UNIT_FILE);
    (brought && runs_systemd(machine)).then(|| systemctl("start")).flatten()
}

/// Makes systemd forget a service whose file was taken back; says what went wrong.
#[must_use]
pub fn forget(machine: &Machine) -> Option<String> {
    (!machine.exists(UNIT_FILE) && runs_systemd(machine) && is_active()).then(|| systemctl("stop")).flatten()
}

fn runs_systemd(machine: &Machine) -> bool {
    machine.is_live() && Path::new("/run/systemd/system").is_dir()
}

fn is_active() -> bool {
    let status = Command::new("systemctl").args(["is-active", "--quiet", UNIT]).stdin(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

fn systemctl(verb: &str) -> Option<String> {
    info!("run systemctl {verb} {UNIT}");
    let output = Command::new("systemctl").args([verb, UNIT]).stdin(Stdio::null()).output();
    match output {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(format!("systemctl {verb} {UNIT}: {}", String::from_utf8_lossy(&output.stderr).trim())),
        Err(error) => Some(format!("systemctl {verb} {UNIT}: {error}")),
    }
}
