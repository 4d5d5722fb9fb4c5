//! What is typed in flags, as the document that a file would be.

use toml::{Table, Value};

use super::{Changes, Now, ScenarioError, Source, grammar, sweep};
use crate::policies::POLICIES;

/// Shares of the workload that RAM has unless they are given.
const SHARES: [&str; 3] = ["25%", "50%", "75%"];
/// The one of them where something else is swept.
const MIDDLE: &str = "50%";
/// The kernel unless it is given: the newest that was compared with the model.
const KERNEL: &str = "6.18";

/// What is typed in the place of a file.
#[derive(Clone, Debug)]
pub struct Typed {
    /// Tierings, each in a line.
    pub tierings: Vec<String>,
    /// Policies of write-back: each makes a tiering of every line with a zswap that names none.
    pub policies: Vec<String>,
    /// RAM: a size, or a share of the pages of the workload.
    pub ram: Option<String>,
    /// Whether something else than RAM is varied, so that there is one size of it.
    pub one_ram: bool,
    /// The workload.
    pub source: Source,
    /// Whether it sleeps and wakes.
    pub sleeps: bool,
    /// Keys of `[machine]` besides RAM, and what they are as it would be typed.
    pub machine: Vec<(&'static str, String)>,
    /// What the tiering `now` is.
    pub now: Option<Now>,
}

impl Typed {
    /// The document.
    ///
    /// # Errors
    /// The first thing that is wrong, with what could stand there.
    pub fn document(&self) -> Result<Table, ScenarioError> {
        let tierings = self.tierings()?;
        let mut document = Table::new();
        let what = match &self.source {
            Source::Generated(text) | Source::Trace(text) => text,
        };
        let compared = if tierings.len() == 1 { "a tiering".to_owned() } else { format!("{} tierings", tierings.len()) };
        document.insert("title".into(), format!("{what}: what {compared} would make of it").into());
        document.insert("report".into(), self.report(&tierings).into());
        let mut machine: Table = self.machine.iter().map(|(key, text)| ((*key).to_owned(), sweep::value(key, text))).collect();
        machine.entry("kernel").or_insert(KERNEL.into());
        machine.insert("ram".into(), self.ram.as_deref().unwrap_or(MIDDLE).into());
        document.insert("machine".into(), machine.into());
        document.insert("workload".into(), workload(&self.source)?.into());
        let now = self.now.iter().flat_map(Now::devices);
        let devices: Table = tierings.iter().flat_map(copies).chain(now).collect();
        if !devices.is_empty() {
            document.insert("device".into(), devices.into());
        }
        document.insert("tiering".into(), tierings.into());
        if self.ram.is_none() && !self.one_ram {
            let sweep = [("key", Value::from("machine.ram")), ("values", SHARES.to_vec().into())];
            document
                .insert("sweep".into(), Value::Table(sweep.map(|(key, value)| (key.to_owned(), value)).into_iter().collect()));
        }
        Ok(document)
    }

    /// The text of the file that says the same, changes included.
    ///
    /// # Errors
    /// The first thing that is wrong, with what could stand there.
    pub fn text(&self, changes: &Changes) -> Result<String, ScenarioError> {
        let mut document = self.document()?;
        for (key, value) in &changes.set {
            sweep::put(&mut document, key, value)?;
        }
        if let Some(sweep) = &changes.sweep {
            let keys = [("key", Value::from(sweep.key.clone())), ("values", sweep.values.clone().into())];
            document.insert("sweep".into(), Value::Table(keys.map(|(key, value)| (key.to_owned(), value)).into_iter().collect()));
        }
        if !changes.report.is_empty() {
            document.insert("report".into(), changes.report.clone().into());
        }
        toml::to_string(&document).map_err(|error| ScenarioError::Toml(error.to_string()))
    }

    fn tierings(&self) -> Result<Vec<Table>, ScenarioError> {
        for name in &self.policies {
            if POLICIES.iter().all(|policy| policy.name != name) {
                return Err(ScenarioError::name("policy of write-back", name, POLICIES.iter().map(|policy| policy.name)));
            }
        }
        let expand = |line: &String| {
            let each: Vec<String> = self.policies.iter().filter_map(|policy| grammar::with_policy(line, policy)).collect();
            if each.is_empty() { vec![line.clone()] } else { each }
        };
        let lines: Vec<String> = self.tierings.iter().flat_map(expand).collect();
        if !self.policies.is_empty() && lines == self.tierings {
            return Err(ScenarioError::key(
                "policy",
                self.policies.join(","),
                "a tiering with zswap that names no policy itself",
            ));
        }
        let tierings = lines.iter().map(|line| self.tiering(line)).collect::<Result<Vec<_>, _>>()?;
        for (index, tiering) in tierings.iter().enumerate() {
            if tierings[..index].iter().any(|other| other["name"] == tiering["name"]) {
                let expected = "each tiering once; give one of them another name: NAME=TIER,…";
                return Err(ScenarioError::key("tiering", format!("{} twice", tiering["name"]), expected));
            }
        }
        Ok(tierings)
    }

    fn tiering(&self, line: &str) -> Result<Table, ScenarioError> {
        match (grammar::now(line), &self.now) {
            (None, _) => grammar::tiering(line),
            (Some(name), Some(now)) => Ok(now.tiering(name)),
            (Some(name), None) => {
                Err(ScenarioError::key(format!("tiering `{name}`"), "`now`", "a machine that was looked at, or a tiering"))
            }
        }
    }

    /// Whether a tiering is the machine as it is.
    #[must_use]
    pub fn is_now(line: &str) -> bool {
        grammar::now(line).is_some()
    }

    /// Columns that can differ.
    fn report(&self, tierings: &[Table]) -> Vec<&'static str> {
        let in_area = |tiering: &Table, kind| areas(tiering).any(|area| area.contains_key(kind));
        let zswap = tierings.iter().any(|tiering| tiering.contains_key("zswap"));
        let [zram, disk] = ["zram", "disk"].map(|kind| tierings.iter().any(|tiering| in_area(tiering, kind)));
        let columns = [
            ("elapsed", true),
            ("stall", true),
            ("zswap-in", zswap),
            ("zram-in", zram),
            ("disk-in", disk),
            ("disk-written", disk),
            ("access-p99", true),
            ("wake-p50", self.sleeps),
            ("wake-p99", self.sleeps),
            ("pool-peak", zswap || zram),
        ];
        columns.into_iter().filter(|(_, can_differ)| *can_differ).map(|(name, _)| name).collect()
    }
}

fn areas(tiering: &Table) -> impl Iterator<Item = &Table> {
    tiering.get("swap").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_table)
}

/// `ssd#2` is a device of its own that is like `ssd`.
fn copies(tiering: &Table) -> Vec<(String, Value)> {
    let names = areas(tiering).filter_map(|area| area.get("disk")?.as_str());
    let copy = |name: &str| {
        let (like, _) = name.split_once('#')?;
        Some((name.to_owned(), Value::Table(Table::from_iter([("like".to_owned(), like.into())]))))
    };
    names.filter_map(copy).collect()
}

fn workload(source: &Source) -> Result<Table, ScenarioError> {
    Ok(match source {
        Source::Trace(path) => Table::from_iter([("trace".to_owned(), Value::from(path.clone()))]),
        Source::Generated(spec) => {
            let (name, parameters) = spec.split_once(':').unwrap_or((spec, ""));
            let mut with = Table::new();
            for pair in parameters.split(',').filter(|pair| !pair.trim().is_empty()) {
                let wrong = || ScenarioError::key(format!("workload {name}"), format!("`{pair}`"), "NAME=VALUE");
                let (key, value) = pair.split_once('=').ok_or_else(wrong)?;
                with.insert(key.trim().to_owned(), value.trim().into());
            }
            Table::from_iter([("generator".to_owned(), Value::from(name.trim())), ("with".to_owned(), with.into())])
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(tierings: &[&str], policies: &[&str]) -> Typed {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Typed {
            tierings: owned(tierings),
            policies: owned(policies),
            ram: Some("1G".into()),
            one_ram: false,
            source: Source::Generated("zipf:pages=100,seed=2".into()),
            sleeps: false,
            machine: Vec::new(),
            now: None,
        }
    }

    fn names(typed: &Typed) -> Vec<String> {
        typed.tierings().unwrap().iter().map(|tiering| tiering["name"].as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn policies_multiply_what_has_a_zswap_without_one() {
        let typed = typed(&["disk", "zswap:zstd,disk", "zswap:lz4:limit,disk"], &["shrinker", "write-through"]);
        let expected =
            ["disk", "zswap:zstd:shrinker,disk", "zswap:zstd:write-through,disk", "zswap:lz4:limit,disk"].map(str::to_owned);
        assert_eq!(names(&typed), expected);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let says = |typed: &Typed| typed.document().unwrap_err().to_string();
        assert!(says(&typed(&["disk"], &["shrinker"])).contains("expected a tiering with zswap that names no policy"));
        assert!(
            says(&typed(&["zswap:zstd,disk"], &["lru"])).contains("policy of write-back: found `lru`, expected one of limit")
        );
        assert!(says(&typed(&["disk", "disk"], &[])).contains("found \"disk\" twice"));
        let bare = Typed { source: Source::Generated("zipf:pages".into()), ..typed(&["disk"], &[]) };
        assert_eq!(says(&bare), "workload zipf: found `pages`, expected NAME=VALUE");
    }

    #[test]
    fn a_workload_keeps_its_parameters_and_ram_is_swept_unless_it_is_given() {
        let mut typed = typed(&["disk:nvme#2"], &[]);
        let document = typed.document().unwrap();
        assert_eq!(document["workload"]["with"]["pages"].as_str(), Some("100"));
        assert_eq!(document["device"]["nvme#2"]["like"].as_str(), Some("nvme"));
        assert!(!document.contains_key("sweep"));
        typed.ram = None;
        assert_eq!(typed.document().unwrap()["sweep"]["values"].as_array().unwrap().len(), 3);
        typed.one_ram = true;
        let document = typed.document().unwrap();
        assert_eq!((document["machine"]["ram"].as_str(), document.get("sweep")), (Some("50%"), None));
    }

    #[test]
    fn columns_are_those_that_can_differ() {
        let report = |tierings: &[&str]| {
            let typed = typed(tierings, &[]);
            typed.report(&typed.tierings().unwrap())
        };
        assert_eq!(report(&["none"]), ["elapsed", "stall", "access-p99"]);
        assert_eq!(report(&["zram:lz4", "zswap:zstd,disk"]).len(), 8);
    }
}
