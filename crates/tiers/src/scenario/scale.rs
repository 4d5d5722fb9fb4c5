//! The same scenario at a fraction of its size.
//!
//! What is counted in pages or accesses is divided; what is counted in time is not. So elapsed time becomes that fraction and
//! ratios of it stay, except where an effect lasts a fixed time (a pause of 500 ms, the mean sleep of an application) or goes with the
//! square root of RAM (the watermarks).

use super::ScenarioError;
use super::file::{ScenarioFile, Workload};
use super::units::Size;
use crate::generate::{GENERATORS, number};

/// Parameters of generators that are numbers of pages or of accesses.
const SCALED: [&str; 4] = ["pages", "ram", "events", "resident"];

/// Pages of a size, divided; of a share, which is one of something that was divided already.
pub(super) fn pages(
    file: &ScenarioFile,
    size: Size,
    whole: impl FnOnce() -> Result<u64, ScenarioError>,
) -> Result<u64, ScenarioError> {
    match size {
        Size::Pages(pages) => Ok(pages / u64::from(file.scale)),
        Size::Percent(percent) => Ok((whole()? as f64 * (percent / 100.0)).round() as u64),
    }
}

/// What the generator is told.
pub(super) fn spec(workload: &Workload, name: &str, scale: u32) -> Result<String, ScenarioError> {
    let Some(row) = GENERATORS.iter().find(|row| row.name == name) else {
        return Err(ScenarioError::name("workload.generator", name, GENERATORS.iter().map(|row| row.name)));
    };
    let mut parts = Vec::new();
    for (key, value) in &workload.parameters {
        if row.parameters.iter().all(|parameter| parameter.name != key) {
            return Err(ScenarioError::name("workload.with", key, row.parameters.iter().map(|parameter| parameter.name)));
        }
        parts.push((key.as_str(), value.as_str().map_or_else(|| value.to_string(), str::to_owned)));
    }
    for parameter in row.parameters.iter().filter(|parameter| scale > 1 && SCALED.contains(&parameter.name)) {
        let given = parts.iter().position(|(key, _)| *key == parameter.name);
        let text = given.map_or(parameter.default, |index| &parts[index].1);
        let key = format!("workload.with.{}", parameter.name);
        let whole = number(text).ok_or_else(|| ScenarioError::key(key, text, "a number, for example 20000, 20k, 20M"))?;
        let divided = (whole / f64::from(scale)).ceil().max(1.0).to_string();
        match given {
            Some(index) => parts[index].1 = divided,
            None => parts.push((parameter.name, divided)),
        }
    }
    let parts: Vec<String> = parts.into_iter().map(|(key, value)| format!("{key}={value}")).collect();
    Ok(format!("{name}:{}", parts.join(",")))
}
