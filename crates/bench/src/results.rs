//! Results on disk: one JSON line each, appended as soon as it is measured.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use swaptune_core::measurement::{Conditions, Measurement, ResultFigures, SCHEMA};
use swaptune_host::machine::Machine;
use swaptune_host::stamp::Stamp;
use thiserror::Error;
use tracing::info;

use crate::conditions::Watch;

/// Where root's results are.
const SYSTEM: &str = "/var/lib/swaptune/measurements.jsonl";

/// A file of results that cannot be read or written.
#[derive(Debug, Error)]
#[error("{path}: {source}")]
pub struct StoreError {
    /// The file.
    pub path: String,
    /// What the system says.
    pub source: io::Error,
}

/// The results in a file, and what of it could not be read.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// Oldest first.
    pub measurements: Vec<Measurement>,
    /// Numbers of lines that are no measurement of this version, with the reason. The first line is 1.
    pub unread: Vec<(usize, String)>,
    /// Root's results, which may be there and cannot be read by this user: why.
    pub hidden: Option<String>,
}

impl Results {
    /// Reads lines of JSON. A line that cannot be read spoils no other.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Self {
        let mut results = Self::default();
        let lines = bytes.split(|byte| *byte == b'\n');
        for (number, line) in (1..).zip(lines).filter(|(_, line)| !line.trim_ascii().is_empty()) {
            match serde_json::from_slice::<Measurement>(line) {
                Ok(measurement) if measurement.schema == SCHEMA => results.measurements.push(measurement),
                Ok(other) => results.unread.push((number, format!("version {} of the form, expected {SCHEMA}", other.schema))),
                Err(error) => results.unread.push((number, error.to_string())),
            }
        }
        results
    }
}

impl Results {
    /// These and those of root, oldest first; what is spoilt there is for root to know.
    fn beside(mut self, of_root: &Path) -> Self {
        match fs::read(of_root) {
            Ok(bytes) => self.measurements.extend(Self::parse(&bytes).measurements),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return self,
            Err(error) => {
                let why = format!(
                    "what was measured with sudo, if anything was, is in {}, which cannot be read here: {error}",
                    of_root.display()
                );
                return Self { hidden: Some(why), ..self };
            }
        }
        // Stable: the results of a run stay together, and in their order.
        self.measurements.sort_by(|a, b| (&a.run, &a.at).cmp(&(&b.run, &b.at)));
        self
    }
}

/// A file of results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    path: PathBuf,
    /// Root's file, which a user reads too where it can be read.
    of_root: Option<PathBuf>,
}

impl Store {
    /// The usual file: the machine's own for root, one below the user's state folder otherwise, beside which root's is read.
    #[must_use]
    pub fn usual(machine: &Machine) -> Self {
        let of_root = machine.root().join(SYSTEM.trim_start_matches('/'));
        if machine.is_root() || !machine.is_live() {
            return Self::at(of_root);
        }
        let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let state = folder("XDG_STATE_HOME").or_else(|| Some(folder("HOME")?.join(".local/state")));
        let path = state.map(|state| state.join("swaptune/measurements.jsonl")).unwrap_or_default();
        Self { path, of_root: Some(of_root) }
    }

    /// A file of the user's choice.
    #[must_use]
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), of_root: None }
    }

    /// Refuses a user who has no folder for results, before anything is measured for them.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn has_a_place(&self) -> Result<(), StoreError> {
        let nowhere = || StoreError {
            path: "no file for results".into(),
            source: io::Error::new(io::ErrorKind::NotFound, "neither HOME nor XDG_STATE_HOME is the path of a folder"),
        };
        if self.path.as_os_str().is_empty() { Err(nowhere()) } else { Ok(()) }
    }

    /// The file; empty for a user without a folder for one.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Everything in it, and in root's file beside it where that can be read; nothing when there is no such file.
    ///
    /// # Errors
    /// [`StoreError`] when it is there and cannot be read.
    pub fn read(&self) -> Result<Results, StoreError> {
        let own = match fs::read(&self.path) {
            Ok(bytes) => Results::parse(&bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Results::default(),
            Err(error) => return Err(self.failed(error)),
        };
        Ok(match &self.of_root {
            Some(path) => own.beside(path),
            None => own,
        })
    }

    /// Appends one line; it is on disk when this returns.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn append(&self, measurement: &Measurement) -> Result<(), StoreError> {
        info!("append to {}", self.path.display());
        let written = || -> io::Result<()> {
            // A line that a crash cut short must not swallow this one.
            let mut line = if ends_in_a_line(&self.path)? { String::new() } else { "\n".into() };
            line += &serde_json::to_string(measurement)?;
            line.push('\n');
            if let Some(folder) = self.path.parent() {
                fs::create_dir_all(folder)?;
            }
            let mut file = OpenOptions::new().create(true).append(true).open(&self.path)?;
            file.write_all(line.as_bytes())?;
            file.sync_data()
        };
        written().map_err(|error| self.failed(error))
    }

    fn failed(&self, source: io::Error) -> StoreError {
        StoreError { path: self.path.display().to_string(), source }
    }
}

/// Whether a file can be written later: nothing is in it, or left of it, that was not before.
///
/// # Errors
/// What the system says to who opens it.
pub fn can_be_written(path: &Path) -> io::Result<()> {
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(_) => fs::remove_file(path),
        // To open a pipe would be to end it for who reads it.
        Err(_) if fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => OpenOptions::new().append(true).open(path).map(drop),
        Err(error) => Err(error),
    }
}

/// True for a file that is not there, is empty, or ends with a newline.
fn ends_in_a_line(path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::FileExt;
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        opened => opened?,
    };
    let length = file.metadata()?.len();
    let mut last = [b'\n'];
    if length > 0 {
        file.read_exact_at(&mut last, length - 1)?;
    }
    Ok(last == *b"\n")
}

/// One run of a benchmark: gives its results their run and conditions, and appends them.
#[derive(Debug)]
pub struct ResultRecorder<'a> {
    machine: &'a Machine,
    store: Option<Store>,
    run: String,
    command: String,
    swaptune: String,
    watch: Watch,
}

impl<'a> ResultRecorder<'a> {
    /// Starts a run; `command` is what to type to repeat it, and `swaptune` our version. Without a store nothing is kept.
    #[must_use]
    pub fn start(machine: &'a Machine, store: Option<Store>, command: &str, swaptune: &str) -> Self {
        let watch = Watch::start(machine, swaptune);
        let (command, swaptune) = (command.to_owned(), swaptune.to_owned());
        Self { machine, store, run: Stamp::now().id(), command, swaptune, watch }
    }

    pub(crate) fn machine(&self) -> &Machine {
        self.machine
    }

    /// The run's name.
    #[must_use]
    pub fn run(&self) -> &str {
        &self.run
    }

    /// Makes a measurement of these figures under the conditions since the last one, and appends it.
    ///
    /// # Errors
    /// [`StoreError`] when it could not be kept.
    pub fn record(&mut self, figures: ResultFigures) -> Result<Measurement, StoreError> {
        let conditions = self.since_last();
        let measurement = self.measurement(figures, conditions);
        self.keep(std::slice::from_ref(&measurement))?;
        Ok(measurement)
    }

    /// The same for figures that were measured in turns: all have the conditions since the last one.
    ///
    /// # Errors
    /// [`StoreError`] when one could not be kept; those before it are.
    pub fn record_all(&mut self, figures: impl IntoIterator<Item = ResultFigures>) -> Result<Vec<Measurement>, StoreError> {
        let measurements = self.measured(figures);
        self.keep(&measurements)?;
        Ok(measurements)
    }

    /// Makes measurements of figures that were measured in turns, and keeps none: what took hours is shown before a disk is asked for room.
    pub fn measured(&mut self, figures: impl IntoIterator<Item = ResultFigures>) -> Vec<Measurement> {
        let conditions = self.since_last();
        figures.into_iter().map(|figures| self.measurement(figures, conditions.clone())).collect()
    }

    /// Appends measurements.
    ///
    /// # Errors
    /// [`StoreError`] when one could not be kept; those before it are.
    pub fn keep(&self, measurements: &[Measurement]) -> Result<(), StoreError> {
        let Some(store) = &self.store else { return Ok(()) };
        measurements.iter().try_for_each(|measurement| store.append(measurement))
    }

    /// Whether results can be kept, before they are measured.
    ///
    /// # Errors
    /// [`StoreError`]: what keeping them would say.
    pub fn can_keep(&self) -> Result<(), StoreError> {
        let Some(store) = &self.store else { return Ok(()) };
        let folder = store.path.parent().map_or(Ok(()), fs::create_dir_all);
        folder.and_then(|()| can_be_written(&store.path)).map_err(|source| store.failed(source))
    }

    /// The same for figures that were measured with other settings than stand now: each with those that it was measured under.
    ///
    /// # Errors
    /// [`StoreError`] when one could not be kept; those before it are.
    pub fn record_under(
        &mut self,
        figures: impl IntoIterator<Item = (ResultFigures, BTreeMap<String, String>)>,
    ) -> Result<Vec<Measurement>, StoreError> {
        let conditions = self.since_last();
        let under = |(figures, parameters)| self.measurement(figures, Conditions { parameters, ..conditions.clone() });
        let measurements: Vec<Measurement> = figures.into_iter().map(under).collect();
        self.keep(&measurements)?;
        Ok(measurements)
    }

    /// The conditions since this was last asked.
    fn since_last(&mut self) -> Conditions {
        let conditions = self.watch.conditions(self.machine);
        self.watch = Watch::start(self.machine, &self.swaptune);
        conditions
    }

    fn measurement(&self, figures: ResultFigures, conditions: Conditions) -> Measurement {
        Measurement {
            schema: SCHEMA,
            run: self.run.clone(),
            at: Stamp::now().text(),
            command: self.command.clone(),
            conditions,
            figures,
        }
    }
}

#[cfg(test)]
mod tests {
    use swaptune_core::measurement::CipherFigures;

    use super::*;

    fn cipher() -> ResultFigures {
        ResultFigures::Cipher(CipherFigures { cipher: "aes-xts".into(), key_bits: 256, encrypt_mib_s: 1.5, decrypt_mib_s: 2.0 })
    }

    #[test]
    fn what_is_recorded_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::at(folder.path().join("a/b/results.jsonl"));
        assert!(store.read().unwrap().measurements.is_empty());
        let machine = Machine::live();
        let mut recorder = ResultRecorder::start(&machine, Some(store.clone()), "swaptune bench cipher", "test");
        let made = [recorder.record(cipher()).unwrap(), recorder.record(cipher()).unwrap()];
        let read = store.read().unwrap();
        assert_eq!(read.measurements, made);
        assert_eq!(read.measurements[0].run, recorder.run());
        assert!(read.unread.is_empty());
    }

    #[test]
    fn figures_that_were_measured_in_turns_share_their_conditions() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::at(folder.path().join("results.jsonl"));
        let machine = Machine::live();
        let mut recorder = ResultRecorder::start(&machine, Some(store.clone()), "swaptune bench codecs", "test");
        let made = recorder.record_all([cipher(), cipher(), cipher()]).unwrap();
        assert!(made.len() == 3 && made.iter().all(|one| one.conditions == made[0].conditions));
        assert_eq!(store.read().unwrap().measurements, made);
    }

    #[test]
    fn what_cannot_be_kept_is_found_before_it_is_measured() {
        let folder = tempfile::tempdir().unwrap();
        let machine = Machine::live();
        let told = |path: &Path| ResultRecorder::start(&machine, Some(Store::at(path)), "x", "test").can_keep();
        let path = folder.path().join("a/results.jsonl");
        assert!(told(&path).is_ok() && !path.exists(), "nothing is left of it");
        fs::write(&path, "a line\n").unwrap();
        assert!(told(&path).is_ok() && fs::read_to_string(&path).unwrap() == "a line\n");
        assert!(told(folder.path()).is_err() && told(&path.join("b.jsonl")).is_err());
        assert!(can_be_written(&folder.path().join("missing/report.html")).is_err());
        assert!(can_be_written(Path::new("/dev/null")).is_ok());
    }

    #[test]
    fn a_user_sees_what_root_measured_or_why_not() {
        let folder = tempfile::tempdir().unwrap();
        let (own, of_root) = (folder.path().join("user.jsonl"), folder.path().join("root.jsonl"));
        let machine = Machine::live();
        let record = |path: &Path, run: &str| {
            let measurement = ResultRecorder::start(&machine, None, "x", "test").record(cipher()).unwrap();
            Store::at(path).append(&Measurement { run: run.into(), ..measurement }).unwrap();
        };
        record(&own, "2");
        let store = Store { path: own.clone(), of_root: Some(of_root.clone()) };
        let runs = |results: &Results| results.measurements.iter().map(|m| m.run.clone()).collect::<Vec<_>>();
        let read = store.read().unwrap();
        assert_eq!((runs(&read), read.hidden), (vec!["2".to_owned()], None), "root measured nothing");
        record(&of_root, "1");
        record(&of_root, "3");
        assert_eq!(runs(&store.read().unwrap()), ["1", "2", "3"]);
        // What is no file cannot be read, by root neither.
        let read = Store { of_root: Some(folder.path().to_owned()), ..store }.read().unwrap();
        assert!(runs(&read) == ["2"] && read.hidden.is_some_and(|why| why.contains("with sudo")));
    }

    #[test]
    fn without_a_folder_nothing_is_measured_for_one() {
        let nowhere = Store { path: PathBuf::new(), of_root: None };
        assert!(nowhere.read().unwrap().measurements.is_empty());
        let error = nowhere.has_a_place().unwrap_err().to_string();
        assert_eq!(error, "no file for results: neither HOME nor XDG_STATE_HOME is the path of a folder");
        assert!(Store::at("x").has_a_place().is_ok());
    }

    #[test]
    fn figures_that_were_measured_with_other_settings_have_those() {
        let machine = Machine::live();
        let mut recorder = ResultRecorder::start(&machine, None, "swaptune bench swap", "test");
        let under = |value: &str| BTreeMap::from([("zswap.compressor".to_owned(), value.to_owned())]);
        let made = recorder.record_under([(cipher(), under("lz4")), (cipher(), under("zstd"))]).unwrap();
        let parameters: Vec<_> = made.iter().map(|one| one.conditions.parameters.clone()).collect();
        assert_eq!(parameters, [under("lz4"), under("zstd")]);
        assert_eq!(made[0].conditions.cpu, made[1].conditions.cpu);
    }

    #[test]
    fn a_spoilt_line_spoils_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::at(folder.path().join("results.jsonl"));
        fs::write(store.path(), "{\"schema\":1,\"ru").unwrap();
        let machine = Machine::live();
        ResultRecorder::start(&machine, Some(store.clone()), "x", "test").record(cipher()).unwrap();
        let read = store.read().unwrap();
        assert_eq!((read.measurements.len(), read.unread.len(), read.unread[0].0), (1, 1, 1));
        fs::write(store.path(), [b"\xff{}\n".to_vec(), fs::read(store.path()).unwrap()].concat()).unwrap();
        let read = store.read().unwrap();
        let unread: Vec<usize> = read.unread.iter().map(|(number, _)| *number).collect();
        assert_eq!((read.measurements.len(), unread), (1, vec![1, 2]), "what is no UTF-8 is one line");
    }

    #[test]
    fn another_version_is_named() {
        let machine = Machine::live();
        let measurement = ResultRecorder::start(&machine, None, "x", "test").record(cipher()).unwrap();
        let line = serde_json::to_string(&Measurement { schema: 99, ..measurement }).unwrap();
        assert_eq!(Results::parse(line.as_bytes()).unread, [(1, "version 99 of the form, expected 1".to_owned())]);
    }
}
