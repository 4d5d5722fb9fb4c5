//! `simulate run --item`: one run of a grid of scenarios, values of a sweep, seeds and tierings, by its number; `simulate merge` puts the lines
//! of all of them together.
//!
//! An item is a function of its number and of what was typed, so that any program that counts can share them out, and run one again.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};
use swaptune_tiers::scenario::{METRICS, Point, Scenario, Tiering, WorkloadSource};

use super::jobs::{ScenarioJob, work};
use super::request::{ScenarioOrigin, SimulateRequest};
use crate::cli::MergeArgs;
use crate::cmd::Context;
use crate::failure::{FINDINGS, Failure, USAGE};
use crate::output;
use crate::output::scenario::quoted;

/// Version of the form of a line.
const SCHEMA: u32 = 1;

/// One line: which item of which grid, and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct ItemLine {
    schema: u32,
    /// Number of the item, from 0.
    item: usize,
    /// How many there are.
    items: usize,
    /// Hash of the inputs of all items, but for the contents of traces.
    grid: String,
    /// Hash of the inputs of this one.
    input: String,
    scenario: String,
    tiering: String,
    key: Option<String>,
    at: Option<String>,
    seed: Option<u64>,
    /// Metrics by name, in their basic units; those that the run lacks are left out.
    figures: BTreeMap<String, f64>,
}

/// An item with what it is a part of.
struct Item<'a> {
    origin: &'a ScenarioOrigin,
    scenario: &'a Scenario,
    point: &'a Point,
    tiering: &'a Tiering,
}

/// All items in their order: scenario, value of the sweep, seed, tiering.
fn all<'a>(request: &'a SimulateRequest, scenarios: &'a [Scenario]) -> Vec<Item<'a>> {
    let mut items = Vec::new();
    for (origin, scenario) in request.origins.iter().zip(scenarios) {
        for point in &scenario.points {
            items.extend(point.tierings.iter().map(|tiering| Item { origin, scenario, point, tiering }));
        }
    }
    items
}

/// How many items there are.
pub fn count(request: &SimulateRequest, scenarios: &[Scenario]) -> Result<u8, Failure> {
    output::data(&format!("{}\n", all(request, scenarios).len())).map(|()| 0)
}

/// Runs one and prints its line.
pub fn one(request: &SimulateRequest, scenarios: &[Scenario], number: usize) -> Result<u8, Failure> {
    let items = all(request, scenarios);
    let Some(item) = items.get(number) else {
        let message = format!("--item {number}: there are {} items, from 0 to {}", items.len(), items.len().saturating_sub(1));
        return Err(Failure::new(USAGE, message).hint("--items instead of it prints how many there are"));
    };
    let label = item.origin.label();
    let fails = |error| Failure::new(USAGE, format!("{label}: {error}"));
    let input = input(item).map_err(fails)?;
    let job = ScenarioJob { folder: item.origin.folder(), point: item.point, tiering: item.tiering };
    let run = work(&[job], &request.traces, Some(1), "").remove(0).map_err(fails)?;
    let figures = METRICS.iter().filter_map(|metric| Some((metric.name.to_owned(), (metric.of)(&run)?)));
    let line = ItemLine {
        schema: SCHEMA,
        item: number,
        items: items.len(),
        grid: grid(&items),
        input,
        scenario: label.clone(),
        tiering: item.tiering.name.clone(),
        key: item.scenario.key.clone(),
        at: item.point.at.clone(),
        seed: item.point.seed,
        figures: figures.collect(),
    };
    print(&line).map(|()| 0)
}

fn print(line: &ItemLine) -> Result<(), Failure> {
    let text = serde_json::to_string(line).map_err(|error| Failure::new(1, error))?;
    output::data(&(text + "\n"))
}

/// FNV-1a of 64 bits: it tells inputs apart that differ by accident, not by malice.
struct Hash(u64);

impl Hash {
    fn new() -> Self {
        // Results of another version are results of another model.
        let mut hash = Self(0xcbf2_9ce4_8422_2325);
        hash.add(env!("SWAPTUNE_VERSION").as_bytes());
        hash
    }

    fn add(&mut self, bytes: &[u8]) {
        // A zero between parts: `ab` and `c` are not `a` and `bc`.
        for byte in bytes.iter().chain(&[0]) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn with(mut self, item: &Item<'_>) -> Self {
        let Item { scenario, point, tiering, .. } = item;
        let parts = [
            scenario.title.clone(),
            format!("{:?} {:?} {:?} {}", point.at, point.seed, point.source, point.scale),
            without_addresses(&format!("{tiering:?}")),
        ];
        parts.iter().for_each(|part| self.add(part.as_bytes()));
        self
    }

    fn text(&self) -> String {
        format!("{:016x}", self.0)
    }
}

/// Functions of a policy are printed as their addresses, which differ from one process to the next; their policy is printed by its name.
fn without_addresses(text: &str) -> String {
    let (first, rest) = text.split_once("0x").unwrap_or((text, ""));
    let others = rest.split("0x").map(|part| part.trim_start_matches(|c: char| c.is_ascii_hexdigit()));
    std::iter::once(first).chain(others).collect()
}

fn grid(items: &[Item<'_>]) -> String {
    items.iter().fold(Hash::new(), |hash, item| hash.with(item)).text()
}

/// Of one item also the bytes of its trace; one from a pipe has gone by.
fn input(item: &Item<'_>) -> Result<String, String> {
    let mut hash = Hash::new().with(item);
    if let WorkloadSource::Trace(name) = &item.point.source {
        let path = item.origin.folder().join(name);
        if path.is_file() {
            bytes(&path, &mut hash).map_err(|error| format!("{name}: {error}"))?;
        }
    }
    Ok(hash.text())
}

fn bytes(path: &Path, hash: &mut Hash) -> std::io::Result<()> {
    let (mut file, mut buffer) = (std::fs::File::open(path)?, vec![0; 1 << 20]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(()),
            length => hash.add(&buffer[..length]),
        }
    }
}

impl ItemLine {
    /// Why it is no line of this grid, which has `items` items.
    fn misfit(&self, grid: &str, items: usize) -> Option<String> {
        let item = self.item;
        if self.schema != SCHEMA {
            return Some(format!("item {item} has version {} of the form, expected {SCHEMA}", self.schema));
        }
        if self.grid != grid {
            let other = &self.grid;
            return Some(format!(
                "item {item} is of another grid ({other} and not {grid}): other flags, files or another version"
            ));
        }
        let fits = self.items == items && item < items;
        (!fits).then(|| format!("item {item} is one of {} items, expected one of {items}, counted from 0", self.items))
    }
}

/// `simulate merge`: the lines of a grid, each item once, in their order.
pub fn merge(context: &Context, args: &MergeArgs) -> Result<u8, Failure> {
    if context.json {
        let message = "`simulate merge` has no JSON: the lines that it reads are";
        return Err(Failure::new(USAGE, message).hint("leave --json out, or take --csv in its place"));
    }
    let mut lines: BTreeMap<usize, ItemLine> = BTreeMap::new();
    let mut doubled = BTreeSet::new();
    let mut grid: Option<(String, usize)> = None;
    for path in &args.lines {
        for (number, text) in (1..).zip(read(path)?.lines()).filter(|(_, text)| !text.trim().is_empty()) {
            let wrong = |why: String| Failure::new(USAGE, format!("{}:{number}: {why}", path.display()));
            let line: ItemLine = serde_json::from_str(text).map_err(|error| {
                wrong(format!("this is no line of an item: {error}")).hint("`swaptune simulate run FILE… --item K` prints one")
            })?;
            let (of, items) = grid.get_or_insert_with(|| (line.grid.clone(), line.items));
            if let Some(why) = line.misfit(of, *items) {
                return Err(wrong(why).hint("merge the lines of one grid"));
            }
            match lines.get(&line.item) {
                None => _ = lines.insert(line.item, line),
                Some(first) if *first == line => _ = doubled.insert(line.item),
                Some(_) => {
                    return Err(wrong(format!("item {} came to something else before", line.item))
                        .hint("a trace differs between workers, or a line is damaged"));
                }
            }
        }
    }
    let Some((_, items)) = grid else {
        return Err(
            Failure::new(USAGE, "there is no line in these files").hint("`swaptune simulate run FILE… --item K` prints one")
        );
    };
    if args.csv {
        output::data(&csv(lines.values()))?
    } else {
        lines.values().try_for_each(print)?
    }
    if !doubled.is_empty() {
        output::message(&format!("counted once: {}", ranges(doubled.iter().copied())));
    }
    let lost: Vec<usize> = (0..items).filter(|item| !lines.contains_key(item)).collect();
    if lost.is_empty() {
        return Ok(0);
    }
    output::message(&format!("{} of {items} items are lost: {}", lost.len(), ranges(lost.iter().copied())));
    Ok(FINDINGS)
}

/// A file, or standard input.
fn read(path: &Path) -> Result<String, Failure> {
    let read = if path == Path::new("-") { std::io::read_to_string(std::io::stdin()) } else { std::fs::read_to_string(path) };
    read.map_err(|error| {
        Failure::new(USAGE, format!("{}: {error}", path.display())).hint("name the files with the lines, or `-`")
    })
}

/// As `simulate run --csv` prints them.
fn csv<'a>(lines: impl Iterator<Item = &'a ItemLine>) -> String {
    let names: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
    let mut out = format!("scenario,tiering,key,at,seed,{}\n", names.join(","));
    for line in lines {
        let words =
            [&line.scenario, &line.tiering, line.key.as_deref().unwrap_or(""), line.at.as_deref().unwrap_or("")].map(quoted);
        let seed = line.seed.map_or(String::new(), |seed| seed.to_string());
        let figures = names.iter().map(|name| line.figures.get(*name).map_or(String::new(), f64::to_string));
        out += &format!("{},{seed},{}\n", words.join(","), figures.collect::<Vec<_>>().join(","));
    }
    out
}

/// `0, 3-5`, as job arrays take them.
fn ranges(numbers: impl Iterator<Item = usize>) -> String {
    let mut all: Vec<(usize, usize)> = Vec::new();
    for number in numbers {
        match all.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => all.push((number, number)),
        }
    }
    let one = |(first, last): &(usize, usize)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    all.iter().map(one).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_job_arrays() {
        assert_eq!(ranges([0, 3, 4, 5, 9].into_iter()), "0,3-5,9");
        assert_eq!(ranges(std::iter::empty()), "");
    }

    #[test]
    fn parts_do_not_run_together() {
        let of = |parts: &[&str]| {
            let mut hash = Hash::new();
            parts.iter().for_each(|part| hash.add(part.as_bytes()));
            hash.text()
        };
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
    }
}
