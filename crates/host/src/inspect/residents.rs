//! Programs that have an opinion on swap: which of them run, or start at boot.

use std::fs;

use serde::Serialize;
use serde::de::DeserializeOwned;
use swaptune_core::Fact;
use swaptune_core::escape::visible;
use swaptune_core::facts::Resident;
use swaptune_core::parse::yaml;

use super::kubelet;
use super::managers::Enabled;
use crate::machine::{Machine, ReadError};

struct ResidentRow {
    name: &'static str,
    /// Names of its processes; none where it is one Java program of many.
    processes: &'static [&'static str],
    services: &'static [&'static str],
    /// Where it says whether it locks its memory.
    settings: &'static str,
}

const TABLE: &[ResidentRow] = &[
    row("elasticsearch", &[], &["elasticsearch"], "/etc/elasticsearch/elasticsearch.yml"),
    row("opensearch", &[], &["opensearch"], "/etc/opensearch/opensearch.yml"),
    row("cassandra", &[], &["cassandra"], ""),
    row("redis", &["redis-server"], &["redis", "redis-server"], ""),
    row("valkey", &["valkey-server"], &["valkey", "valkey-server"], ""),
    row("mongodb", &["mongod"], &["mongod", "mongodb"], ""),
    row("postgresql", &["postgres", "postmaster"], &["postgresql"], ""),
];

const fn row(
    name: &'static str,
    processes: &'static [&'static str],
    services: &'static [&'static str],
    settings: &'static str,
) -> ResidentRow {
    ResidentRow { name, processes, services, settings }
}

/// One process of a program that is looked for.
pub(super) struct ResidentProcess {
    pub(super) pid: u32,
    pub(super) name: String,
    /// Its words, one a line.
    pub(super) words: String,
}

/// The processes of programs that are looked for, on the machine that runs.
#[derive(Default)]
pub(super) struct RunningResidents(pub(super) Vec<ResidentProcess>);

impl RunningResidents {
    /// Read past the machine's record: names and words of processes are in no capture.
    pub(super) fn look(machine: &Machine) -> Self {
        if !machine.is_live() {
            return Self::default();
        }
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let mut found: Vec<ResidentProcess> = pids.filter_map(process).collect();
        found.sort_by_key(|process| process.pid);
        Self(found)
    }

    pub(super) fn any(&self, names: &[&str]) -> Option<&ResidentProcess> {
        self.0.iter().find(|process| names.contains(&process.name.as_str()))
    }
}

fn process(pid: u32) -> Option<ResidentProcess> {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    let name = visible(name.trim());
    let wanted = TABLE.iter().any(|row| row.processes.contains(&name.as_str())) || kubelet::is_process(&name);
    // A kubelet in a container of its own (kind, minikube) makes a node of that container and brings its configuration along.
    if !wanted || kubelet::is_process(&name) && in_container(pid) {
        return None;
    }
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    Some(ResidentProcess { pid, name, words: String::from_utf8_lossy(&words).replace('\0', "\n") })
}

/// True for a process with processes of its own, as far as we may see that.
fn in_container(pid: u32) -> bool {
    let namespace = |of: &str| fs::read_link(format!("/proc/{of}/ns/pid")).ok();
    namespace(&pid.to_string()).zip(namespace("self")).is_some_and(|(its, ours)| its != ours)
}

pub(super) fn inspect(machine: &Machine, running: &RunningResidents) -> Vec<Resident> {
    kept(machine, "residents", || {
        let enabled = Enabled::read(machine, |name| TABLE.iter().any(|row| row.services.contains(&name)));
        TABLE.iter().filter_map(|row| resident(machine, running, &enabled, row)).collect()
    })
}

fn resident(machine: &Machine, running: &RunningResidents, enabled: &Enabled, row: &ResidentRow) -> Option<Resident> {
    let evidence = evidence(running, enabled, row.processes, row.services)?;
    let memory_lock = if row.settings.is_empty() { Fact::absent("it has no such setting") } else { locks(machine, row.settings) };
    Some(Resident { name: row.name.to_owned(), evidence, memory_lock })
}

/// What gave a program away: its process, else the link that starts it.
pub(super) fn evidence(running: &RunningResidents, enabled: &Enabled, processes: &[&str], services: &[&str]) -> Option<String> {
    let process = running.any(processes).map(|process| format!("process {} ({})", process.pid, process.name));
    process.or_else(|| enabled.any(services))
}

fn locks(machine: &Machine, path: &str) -> Fact<bool> {
    let text = match machine.read_text(path) {
        Ok(text) => text,
        Err(error) => return error.absent(),
    };
    machine.keep_instead(path, Vec::new);
    let ours = |value: &yaml::Value| value.keys.join(".") == "bootstrap.memory_lock";
    match yaml::values(&text) {
        Ok(values) => match values.into_iter().rfind(ours) {
            Some(value) => Fact::known(value.text == "true", format!("{path}:{}", value.line)),
            None => Fact::absent(format!("{path}: no bootstrap.memory_lock")),
        },
        Err(error) => Fact::absent(format!("{path}: {error}")),
    }
}

/// What was found, kept by a capture as it is: the files that it was found in may hold secrets, and processes are no files.
pub(super) fn kept<T: Serialize + DeserializeOwned>(machine: &Machine, name: &str, look: impl FnOnce() -> Vec<T>) -> Vec<T> {
    let mut found = None;
    let text = machine.derived(name, || {
        let found: &Vec<T> = found.insert(look());
        serde_json::to_string(found).map_err(|error| ReadError::new(name, &error.to_string()))
    });
    found.or_else(|| serde_json::from_str(&text.ok()?).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::tree;

    fn found(files: &[(&str, &str)]) -> Vec<Resident> {
        let dir = tree(files);
        inspect(&Machine::at(dir.path()), &RunningResidents::default())
    }

    #[test]
    fn programs_that_start_at_boot() {
        let wants = |unit: &str| format!("etc/systemd/system/multi-user.target.wants/{unit}.service");
        let (elastic, redis) = (wants("elasticsearch"), wants("redis-server"));
        let residents = found(&[
            (&elastic, "-> /usr/lib/systemd/system/elasticsearch.service"),
            (&redis, "-> /usr/lib/systemd/system/redis-server.service"),
            ("etc/elasticsearch/elasticsearch.yml", "cluster.name: a\nbootstrap.memory_lock: true\n"),
            ("usr/lib/systemd/system/mongod.service", "installed, not enabled"),
        ]);
        let names: Vec<&str> = residents.iter().map(|resident| resident.name.as_str()).collect();
        assert_eq!(names, ["elasticsearch", "redis"]);
        assert_eq!(residents[0].memory_lock, Fact::known(true, "/etc/elasticsearch/elasticsearch.yml:2"));
        assert_eq!(residents[0].evidence, format!("/{elastic}"));
        assert!(!residents[1].memory_lock.is_known());
        let nested = found(&[(&elastic, ""), ("etc/elasticsearch/elasticsearch.yml", "bootstrap:\n  memory_lock: false\n")]);
        assert_eq!(nested[0].memory_lock, Fact::known(false, "/etc/elasticsearch/elasticsearch.yml:2"));
        assert_eq!(found(&[]), []);
    }

    #[test]
    fn a_process_is_found_by_its_name() {
        let process = ResidentProcess { pid: 7, name: "valkey-server".into(), words: String::new() };
        let dir = tree(&[]);
        let residents = inspect(&Machine::at(dir.path()), &RunningResidents(vec![process]));
        assert_eq!((residents[0].name.as_str(), residents[0].evidence.as_str()), ("valkey", "process 7 (valkey-server)"));
    }
}
