//! What is typed in flags, as what a file becomes.

use swaptune_kernel::KernelVersion;
use toml::Value;

use super::file::{BaseSpec, DeviceSpec, MachineSpec, ScenarioFile, SweepFile, TieringSpec, Workload};
use super::{Changes, ScenarioError, Size, WorkloadSource, grammar};
use crate::policies::POLICIES;

/// Shares of the workload that RAM has unless they are given.
const SHARES: [&str; 3] = ["25%", "50%", "75%"];
/// The one of them where something else is swept.
const MIDDLE: Size = Size::Percent(50.0);

/// What is typed in the place of a file.
#[derive(Clone, Debug)]
pub struct Typed {
    /// Tierings, each in a line.
    pub tierings: Vec<String>,
    /// Policies of write-back: each makes a tiering of every line with a zswap that names none.
    pub policies: Vec<String>,
    /// RAM: a size, or a share of the pages of the workload.
    pub ram: Option<Size>,
    /// Whether something else than RAM is varied, so that there is one size of it.
    pub one_ram: bool,
    /// The workload.
    pub source: WorkloadSource,
    /// Whether it sleeps and wakes.
    pub sleeps: bool,
    /// The machine besides RAM, where it was looked at.
    pub base: Option<BaseSpec>,
    /// What the tiering `now` is.
    pub now: Option<MachineSpec>,
}

impl Typed {
    /// The file that says the same.
    ///
    /// # Errors
    /// The first thing that is wrong, with what could stand there.
    pub(super) fn file(&self) -> Result<ScenarioFile, ScenarioError> {
        let tierings = self.tierings()?;
        let what = match &self.source {
            WorkloadSource::Generated(text) | WorkloadSource::Trace(text) => text,
        };
        let compared = if tierings.len() == 1 { "a tiering".to_owned() } else { format!("{} tierings", tierings.len()) };
        let ram = self.ram.unwrap_or(MIDDLE);
        let base = self.now.as_ref().map(|now| &now.base).or(self.base.as_ref());
        let sweep = SweepFile { key: "machine.ram".to_owned(), values: SHARES.to_vec().into() };
        Ok(ScenarioFile {
            title: format!("{what}: what {compared} would make of it"),
            report: self.report(&tierings).into_iter().map(str::to_owned).collect(),
            workload: workload(&self.source)?,
            device: tierings.iter().flat_map(copies).chain(self.now.iter().flat_map(|now| now.devices.clone())).collect(),
            sweep: (self.ram.is_none() && !self.one_ram).then_some(sweep),
            ..ScenarioFile::new(
                base.map_or(BaseSpec::new(KernelVersion::ASSUMED, ram), |base| BaseSpec { ram, ..base.clone() }),
                tierings,
            )
        })
    }

    /// The text of the file that says the same, changes included.
    ///
    /// # Errors
    /// The first thing that is wrong, with what could stand there.
    pub fn text(&self, changes: &Changes) -> Result<String, ScenarioError> {
        let file = self.file()?.with(changes.set.iter().map(|(key, value)| (key.as_str(), value)))?;
        let mut file = if changes.daemon { file.with_daemon() } else { file };
        if let Some(sweep) = &changes.sweep {
            file.sweep = Some(SweepFile { key: sweep.key.clone(), values: sweep.values.clone().into() });
        }
        if !changes.report.is_empty() {
            file.report.clone_from(&changes.report);
        }
        toml::to_string(&file).map_err(|error| ScenarioError::Toml(error.to_string()))
    }

    fn tierings(&self) -> Result<Vec<TieringSpec>, ScenarioError> {
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
            if tierings[..index].iter().any(|other| other.name == tiering.name) {
                let expected = "each tiering once; give one of them another name: NAME=TIER,…";
                return Err(ScenarioError::key("tiering", format!("{:?} twice", tiering.name), expected));
            }
        }
        Ok(tierings)
    }

    fn tiering(&self, line: &str) -> Result<TieringSpec, ScenarioError> {
        match (grammar::now(line), &self.now) {
            (None, _) => grammar::tiering(line),
            (Some(name), Some(now)) => {
                Ok(TieringSpec { name: name.to_owned(), zswap: now.zswap.clone(), swap: now.swap.clone(), daemon: None })
            }
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
    fn report(&self, tierings: &[TieringSpec]) -> Vec<&'static str> {
        let mut areas = tierings.iter().flat_map(|tiering| &tiering.swap);
        let zswap = tierings.iter().any(|tiering| tiering.zswap.is_some());
        let (zram, disk) = (areas.clone().any(|area| area.zram.is_some()), areas.any(|area| area.disk.is_some()));
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

/// `ssd#2` is a device of its own that is like `ssd`.
fn copies(tiering: &TieringSpec) -> impl Iterator<Item = (String, DeviceSpec)> {
    let names = tiering.swap.iter().filter_map(|area| area.disk.as_deref());
    names.filter_map(|name| {
        let (like, _) = name.split_once('#')?;
        Some((name.to_owned(), DeviceSpec { like: Some(like.to_owned()), ..DeviceSpec::default() }))
    })
}

fn workload(source: &WorkloadSource) -> Result<Workload, ScenarioError> {
    let spec = match source {
        WorkloadSource::Trace(path) => return Ok(Workload { trace: Some(path.clone()), ..Workload::default() }),
        WorkloadSource::Generated(spec) => spec,
    };
    let (name, parameters) = spec.split_once(':').unwrap_or((spec, ""));
    let mut workload = Workload { generator: Some(name.trim().to_owned()), ..Workload::default() };
    for pair in parameters.split(',').filter(|pair| !pair.trim().is_empty()) {
        let wrong = || ScenarioError::key(format!("workload {name}"), format!("`{pair}`"), "NAME=VALUE");
        let (key, value) = pair.split_once('=').ok_or_else(wrong)?;
        workload.parameters.insert(key.trim().to_owned(), Value::from(value.trim()));
    }
    Ok(workload)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use swaptune_kernel::v;

    use super::*;
    use crate::model::{Backing, ModelFigures, ModelSettings};
    use crate::scenario::{AreaSpec, NoFiles, Scenario, ZswapSpec};

    fn typed(tierings: &[&str], policies: &[&str]) -> Typed {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Typed {
            tierings: owned(tierings),
            policies: owned(policies),
            ram: Some(Size::Pages(262_144)),
            one_ram: false,
            source: WorkloadSource::Generated("zipf:pages=100,seed=2".into()),
            sleeps: false,
            base: None,
            now: None,
        }
    }

    fn names(typed: &Typed) -> Vec<String> {
        typed.tierings().unwrap().iter().map(|tiering| tiering.name.clone()).collect()
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
        let says = |typed: &Typed| typed.file().unwrap_err().to_string();
        assert!(says(&typed(&["disk"], &["shrinker"])).contains("expected a tiering with zswap that names no policy"));
        assert!(
            says(&typed(&["zswap:zstd,disk"], &["lru"])).contains("policy of write-back: found `lru`, expected one of limit")
        );
        assert!(says(&typed(&["disk", "disk"], &[])).contains("found \"disk\" twice"));
        let bare = Typed { source: WorkloadSource::Generated("zipf:pages".into()), ..typed(&["disk"], &[]) };
        assert_eq!(says(&bare), "workload zipf: found `pages`, expected NAME=VALUE");
    }

    #[test]
    fn a_workload_keeps_its_parameters_and_ram_is_swept_unless_it_is_given() {
        let mut typed = typed(&["disk:nvme#2"], &[]);
        let file = typed.file().unwrap();
        assert_eq!(file.workload.parameters["pages"].as_str(), Some("100"));
        assert_eq!(file.device["nvme#2"].like.as_deref(), Some("nvme"));
        assert_eq!(file.sweep, None);
        typed.ram = None;
        assert_eq!(typed.file().unwrap().sweep.unwrap().values.as_array().unwrap().len(), 3);
        typed.one_ram = true;
        let file = typed.file().unwrap();
        assert_eq!((file.machine.ram, file.sweep), (Size::Percent(50.0), None));
    }

    /// The machine of [`typed`] with a zram device before two disks.
    fn now() -> MachineSpec {
        let zram = AreaSpec::zram("zstd", Size::Percent(50.0), 100, Some(Size::Percent(25.0)));
        let disk = |name: &str, percent, priority| AreaSpec::disk(name, Size::Percent(percent), priority);
        let like = DeviceSpec { like: Some("ssd".into()), rotational: Some(true), ..DeviceSpec::default() };
        MachineSpec {
            base: BaseSpec::new(v(6, 12), Size::Pages(4096)),
            zswap: Some(ZswapSpec { compressor: "zstd".into(), limit: Some(35), ..ZswapSpec::default() }),
            swap: vec![zram, disk("vda", 200.0, -2), disk("nvme", 27.124_023_437_5, -3)],
            devices: BTreeMap::from([("vda".to_owned(), like)]),
        }
    }

    #[test]
    fn now_is_the_machine_in_proportion_to_ram_and_its_keys_can_be_set() {
        let source = || WorkloadSource::Generated("hold:pages=3000".into());
        let asked = |ram| Typed {
            ram: Some(Size::Pages(ram)),
            now: Some(now()),
            source: source(),
            ..typed(&["as it is=now", "disk"], &[])
        };
        let settings = |ram, set: &[(&str, i64)]| {
            let set = set.iter().map(|(key, value)| ((*key).to_owned(), Value::from(*value))).collect();
            let scenario = Scenario::typed(&asked(ram), &Changes { set, ..Changes::default() }, &NoFiles).unwrap();
            scenario.points[0].tierings[0].settings.clone()
        };
        let whole = settings(4096, &[]);
        assert_eq!(whole, ModelSettings { seed: whole.seed, ..now().settings(&ModelFigures::default()).unwrap() });
        let slots = |settings: &ModelSettings| settings.areas.iter().map(|area| area.slots).collect::<Vec<_>>();
        assert_eq!((slots(&whole), slots(&settings(2048, &[]))), (vec![2048, 8192, 1111], vec![1024, 4096, 556]));
        assert!(matches!(whole.areas[0].backing, Backing::Zram { mem_limit: Some(1024), .. }));
        assert!(matches!(whole.areas[1].backing, Backing::Disk { rotational: true, .. }));
        let limit = |settings: ModelSettings| settings.zswap.unwrap().max_pool_percent;
        assert_eq!((limit(whole), limit(settings(4096, &[("tiering.as it is.zswap.limit", 7)]))), (35, 7));
        let text = asked(4096).text(&Changes::default()).unwrap();
        let read = Scenario::read(&text, &Changes::default(), &NoFiles).unwrap();
        assert_eq!(read.points, Scenario::typed(&asked(4096), &Changes::default(), &NoFiles).unwrap().points, "{text}");
    }

    #[test]
    fn now_stands_alone_and_needs_a_machine() {
        let says = |line: &str, now| Typed { now, ..typed(&[line], &[]) }.file().unwrap_err().to_string();
        assert!(says("now,disk", Some(now())).contains("found `now` beside other tiers, expected `now` alone"));
        assert!(says("now:8G", Some(now())).contains("expected `now` alone"));
        assert!(says("now", None).contains("expected a machine that was looked at"));
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
