//! What a command leaves behind that has left its process group, as daemons and `setsid` do.
//!
//! Orphans become children of the nearest ancestor that is a reaper (prctl(2), `PR_SET_CHILD_SUBREAPER`): whatever a run leaves is ours
//! then, and must not run beside the next one, nor be in a group that shall be removed.

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, waitpid};
use tracing::info;

/// How long a process is waited for that was killed: one that waits for a disk ends later.
const PATIENCE: Duration = Duration::from_secs(10);

/// Children that we had before a run.
#[derive(Debug)]
pub(super) struct Strays {
    before: BTreeSet<i32>,
}

impl Strays {
    /// From now on what loses its parent becomes a child of ours.
    pub(super) fn watch() -> Self {
        // Every kernel since Linux 3.4 takes it.
        let _ = set_child_subreaper(Some(getpid()));
        Self { before: children() }
    }

    /// Kills what has become a child of ours since, and what that has started in turn.
    pub(super) fn end(&self) {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            let strays: Vec<i32> = children().difference(&self.before).copied().collect();
            if strays.is_empty() {
                return;
            }
            for pid in strays.into_iter().filter_map(Pid::from_raw) {
                info!("kill {pid}, which the command left behind");
                let _ = kill_process(pid, Signal::KILL);
                let _ = waitpid(Some(pid), WaitOptions::NOHANG);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Our children, by proc_pid_stat(5): its fourth field is the parent.
fn children() -> BTreeSet<i32> {
    let own = getpid().as_raw_nonzero().to_string();
    let is_ours = |pid: &i32| {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The name, in parentheses, may hold spaces.
        text.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)) == Some(own.as_str())
    };
    let names = fs::read_dir("/proc").into_iter().flatten().flatten();
    names.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(is_ours).collect()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// In a process of its own: other tests have children too.
    #[test]
    fn what_left_its_process_group_does_not_outlive_a_run() {
        const MARK: &str = "SWAPTUNE_TEST_STRAYS";
        if std::env::var_os(MARK).is_none() {
            let name = "compare::strays::tests::what_left_its_process_group_does_not_outlive_a_run";
            let mut test = Command::new(std::env::current_exe().unwrap());
            assert!(test.args(["--exact", name]).env(MARK, "1").status().unwrap().success());
            return;
        }
        let mut kept = Command::new("sleep").arg("600").spawn().unwrap();
        let strays = Strays::watch();
        let script = "setsid sleep 600 & (setsid sh -c 'sleep 600 & sleep 600' &); (sleep 0 &); sleep 0.3";
        assert!(Command::new("/bin/sh").args(["-c", script]).status().unwrap().success());
        assert!(children().len() >= 3, "they are ours");
        strays.end();
        assert_eq!(children().into_iter().collect::<Vec<_>>(), [kept.id() as i32], "what was there before stays");
        assert!(kept.try_wait().unwrap().is_none());
        kept.kill().unwrap();
    }
}
