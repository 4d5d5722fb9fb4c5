//! What names a configuration: `NAME[:ALGORITHM][,KEY=VALUE]…`, for example `zswap:lz4,pool=25%`.

use std::path::Path;

use swaptune_core::measurement::Evidence;
use swaptune_core::settings::{Settings, SettingsError, read_toml};
use swaptune_core::{Bytes, Facts};
use swaptune_kernel::nearest;
use thiserror::Error;

use super::{BUILT_IN, BuiltIn, Variant};

/// Short names of what is most often changed, and the knobs that they stand for.
static KEYS: &[(&str, &str)] = &[
    ("pool", "zswap.max_pool_percent"),
    ("compressor", "zswap.compressor"),
    ("shrinker", "zswap.shrinker_enabled"),
    ("swappiness", "vm.swappiness"),
    ("page-cluster", "vm.page-cluster"),
];

/// A configuration as it was typed: one of the table or a file, and what is different.
#[derive(Clone, Debug)]
pub struct Spec {
    /// As typed.
    pub name: String,
    base: SpecBase,
    algorithm: Option<String>,
    // Of a zram device.
    size: Option<Bytes>,
    changes: Settings,
}

#[derive(Clone, Debug)]
enum SpecBase {
    BuiltIn(&'static BuiltIn),
    File(String),
}

/// Why a name is none.
#[derive(Debug, Error)]
pub enum SpecError {
    /// No such configuration.
    #[error("unknown configuration `{name}`, and no such file")]
    Unknown {
        /// What was typed.
        name: String,
        /// What to type instead.
        hint: String,
    },
    /// A change that does not fit it.
    #[error("`{name}`: {why}")]
    Change {
        /// What was typed.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// A knob or a value.
    #[error(transparent)]
    Settings(#[from] SettingsError),
}

/// Takes a list with commas apart: a piece `KEY=VALUE` belongs to the configuration before it.
#[must_use]
pub fn split(list: &str) -> Vec<String> {
    let mut specs: Vec<String> = Vec::new();
    for piece in list.split(',') {
        match specs.last_mut() {
            Some(last) if piece.contains('=') => *last = format!("{last},{piece}"),
            _ => specs.push(piece.to_owned()),
        }
    }
    specs
}

impl Spec {
    /// Reads what was typed.
    ///
    /// # Errors
    /// [`SpecError`].
    pub fn read(text: &str) -> Result<Self, SpecError> {
        let wrong = |why: String| SpecError::Change { name: text.to_owned(), why };
        let mut pieces = text.split(',');
        let head = pieces.next().unwrap_or_default();
        let (name, algorithm) = match head.split_once(':') {
            Some((name, algorithm)) => (name, Some(algorithm.to_owned())),
            None => (head, None),
        };
        let base = match BUILT_IN.iter().find(|built_in| built_in.name == name) {
            Some(built_in) => SpecBase::BuiltIn(built_in),
            None if algorithm.is_none() && Path::new(name).exists() => SpecBase::File(name.to_owned()),
            None => return Err(unknown(name)),
        };
        let mut spec = Self { name: text.to_owned(), base, algorithm, size: None, changes: Settings::default() };
        for piece in pieces {
            let (key, value) = piece.split_once('=').ok_or_else(|| wrong(format!("expected KEY=VALUE, found `{piece}`")))?;
            if key == "size" {
                spec.size = Some(value.parse().map_err(|error| wrong(format!("size: {error}")))?);
                continue;
            }
            let knob = KEYS.iter().find(|(short, _)| *short == key).map_or(key, |(_, knob)| knob);
            let value = value.strip_suffix('%').unwrap_or(value);
            spec.changes = spec.changes.overlay(Settings::from_flag(&format!("{knob}={value}"))?);
        }
        spec.fits().map_err(wrong)?;
        Ok(spec)
    }

    /// What cannot be changed of this configuration.
    fn fits(&self) -> Result<(), String> {
        let is_zram = matches!(self.base, SpecBase::BuiltIn(built_in) if built_in.is_zram());
        let is_now = matches!(self.base, SpecBase::BuiltIn(built_in) if built_in.name == super::NOW);
        if self.size.is_some() && !is_zram {
            return Err("size is that of a zram device; expected zram or zram-pop before it".into());
        }
        if is_now && (self.algorithm.is_some() || self.changes != Settings::default()) {
            return Err("the machine as it is takes no changes; name another configuration".into());
        }
        Ok(())
    }

    /// The configuration for a machine that `facts` describe. `area` is where a swap file is made.
    ///
    /// # Errors
    /// [`SpecError`].
    pub fn resolve(&self, facts: &Facts, evidence: &Evidence, area: &Path) -> Result<Variant, SpecError> {
        let mut changes = self.changes.clone();
        let is_zram = matches!(self.base, SpecBase::BuiltIn(built_in) if built_in.is_zram());
        if let Some(algorithm) = self.algorithm.as_ref().filter(|_| !is_zram) {
            changes = changes.overlay(Settings::from_flag(&format!("zswap.compressor={algorithm}"))?);
        }
        let mut settings = match &self.base {
            SpecBase::BuiltIn(built_in) => built_in.settings(facts, evidence, area, changes)?,
            SpecBase::File(path) => Some(file(path, facts, evidence, changes)?),
        };
        let rows = settings.as_mut().and_then(|settings| settings.zram.as_mut()).filter(|_| is_zram);
        for row in rows.into_iter().flat_map(|rows| &mut rows.value) {
            row.size = self.size.unwrap_or(row.size);
            row.algorithm = self.algorithm.clone().map_or_else(|| row.algorithm.clone(), |algorithm| vec![algorithm]);
        }
        Ok(Variant { name: self.name.clone(), algorithm: self.algorithm.clone(), settings })
    }
}

/// A configuration file, as `--config` reads it.
fn file(path: &str, facts: &Facts, evidence: &Evidence, changes: Settings) -> Result<Settings, SpecError> {
    let wrong = |error: std::io::Error| SpecError::Change { name: path.to_owned(), why: error.to_string() };
    let text = std::fs::read_to_string(path).map_err(wrong)?;
    let layers = vec![read_toml(path, &text, None)?, changes];
    Ok(swaptune_core::profiles::resolve(layers, facts, evidence, None)?)
}

fn unknown(name: &str) -> SpecError {
    let names = BUILT_IN.iter().map(|built_in| built_in.name);
    let hint = match nearest(name, names.clone()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("expected {}, or the path of a configuration file", names.collect::<Vec<_>>().join(", ")),
    };
    SpecError::Unknown { name: name.to_owned(), hint }
}
