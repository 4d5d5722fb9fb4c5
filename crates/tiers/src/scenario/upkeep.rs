//! `upkeep`, `recompress` and `writeback` of a zram area.

use super::build::ScenarioBuilder;
use super::file::{AreaSpec, RecompressFile, WritebackFile};
use super::{ScenarioError, scale};
use crate::model::{Recompress, Second, Upkeep, Which, Writeback};

/// Seconds from one visit to the next, where nothing is said.
const INTERVAL: f64 = 60.0;
/// Types as the kernel spells them.
const TYPES: [(&str, Which); 5] = [
    ("all", Which::All),
    ("idle", Which::Idle),
    ("huge", Which::Huge),
    ("huge_idle", Which::HugeIdle),
    ("incompressible", Which::Incompressible),
];
/// What zstd makes of pages, by what lz4 does: 29.3 against 38.1 % of their size in the table of codecs of an article on swap (E8).
const SHARE: f64 = 0.77;

/// Upkeep of a zram area; `device` gives the index of a disk by its name.
pub(super) fn build(
    builder: &ScenarioBuilder,
    key: &str,
    area: &AreaSpec,
    ram: u64,
    device: impl FnOnce(&str) -> Result<usize, ScenarioError>,
) -> Result<Option<Box<Upkeep>>, ScenarioError> {
    if area.recompress.is_none() && area.writeback.is_none() {
        let lonely = area.upkeep.map(|_| ScenarioError::key(key, "`upkeep` alone", "`recompress` or `writeback` with it"));
        return lonely.map_or(Ok(None), Err);
    }
    let recompress = area.recompress.as_ref().map(|given| recompress(builder, key, given)).transpose()?;
    let writeback = area.writeback.as_ref().map(|given| writeback(builder, key, given, ram, device)).transpose()?;
    let interval = nanos(&format!("{key}: upkeep"), area.upkeep.unwrap_or(INTERVAL))?;
    Ok(Some(Box::new(Upkeep { interval, recompress, writeback })))
}

fn recompress(builder: &ScenarioBuilder, key: &str, given: &RecompressFile) -> Result<Recompress, ScenarioError> {
    let which = which(&format!("{key}: recompress.type"), given.which.as_deref(), &TYPES[..4])?;
    let measured = builder.sizes(Some(&given.algorithm), true, |line| line.second)?;
    let share = given.share.unwrap_or(SHARE);
    if !(share > 0.0 && share <= 1.0) {
        return Err(ScenarioError::key(format!("{key}: recompress.share"), share, "more than 0, at most 1"));
    }
    Ok(Recompress {
        codec: builder.codec(&format!("{key}: recompress.algorithm"), &given.algorithm, true)?,
        sizes: measured.map_or(Second::Share((share * 1000.0) as u16), Second::Sizes),
        which,
        age: age(&format!("{key}: recompress.age"), given.age, which)?,
        threshold: given.threshold.unwrap_or(0),
    })
}

fn writeback(
    builder: &ScenarioBuilder,
    key: &str,
    given: &WritebackFile,
    ram: u64,
    device: impl FnOnce(&str) -> Result<usize, ScenarioError>,
) -> Result<Writeback, ScenarioError> {
    let which = which(&format!("{key}: writeback.type"), given.which.as_deref(), &TYPES[1..])?;
    let pages = |name: &str, size| {
        let pages = scale::pages(builder.file, size, || Ok(ram))?;
        u32::try_from(pages)
            .map_err(|_| ScenarioError::key(format!("{key}: writeback.{name}"), format!("{pages} pages"), "less than 16T"))
    };
    Ok(Writeback {
        device: device(&given.disk)?,
        blocks: pages("size", given.size)?,
        which,
        age: age(&format!("{key}: writeback.age"), given.age, which)?,
        limit: given.limit.map(|limit| pages("limit", limit)).transpose()?.map(u64::from),
    })
}

fn which(key: &str, name: Option<&str>, types: &[(&'static str, Which)]) -> Result<Which, ScenarioError> {
    let name = name.unwrap_or("idle");
    let found = types.iter().find(|row| row.0 == name).map(|row| row.1);
    found.ok_or_else(|| ScenarioError::name(key, name, types.iter().map(|row| row.0)))
}

/// An age is needed where it decides, and nowhere else.
fn age(key: &str, seconds: Option<f64>, which: Which) -> Result<u64, ScenarioError> {
    match seconds {
        None if which.is_by_age() => Err(ScenarioError::key(key, "nothing", "seconds since a page was stored that make it idle")),
        Some(seconds) if !which.is_by_age() => {
            Err(ScenarioError::key(key, seconds, "no age: only the types idle and huge_idle go by it"))
        }
        seconds => seconds.map_or(Ok(0), |seconds| nanos(key, seconds)),
    }
}

fn nanos(key: &str, seconds: f64) -> Result<u64, ScenarioError> {
    if (0.0..1e9).contains(&seconds) {
        return Ok((seconds * 1e9) as u64);
    }
    Err(ScenarioError::key(key, seconds, "seconds, 0 or more"))
}
