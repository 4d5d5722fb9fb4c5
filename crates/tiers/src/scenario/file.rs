//! A scenario key by key: what a file, flags and facts of a machine become, once each, before it is built.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use swaptune_kernel::KernelVersion;
use toml::{Table, Value};

use super::units::{self, Size};
use super::{ScenarioError, metric, node, sweep};
use crate::model::Lru;

/// The whole file.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ScenarioFile {
    pub(super) title: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) source: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) notes: String,
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub(super) scale: u32,
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub(super) seeds: u32,
    pub(super) relative_to: Option<String>,
    pub(super) machine: BaseSpec,
    pub(super) workload: Workload,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) device: BTreeMap<String, DeviceSpec>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) codec: BTreeMap<String, CodecTimes>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) costs: CostTimes,
    pub(super) tiering: Vec<TieringSpec>,
    pub(super) sweep: Option<SweepFile>,
    #[serde(default)]
    pub(super) report: Vec<String>,
    #[serde(default, deserialize_with = "one_or_more", skip_serializing_if = "Vec::is_empty")]
    pub(super) published: Vec<PublishedFile>,
}

const fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
const fn is_one(number: &u32) -> bool {
    *number == 1
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl ScenarioFile {
    /// These tierings of a machine, without a workload.
    pub(super) fn new(machine: BaseSpec, tiering: Vec<TieringSpec>) -> Self {
        Self {
            title: String::new(),
            source: String::new(),
            notes: String::new(),
            scale: 1,
            seeds: 1,
            relative_to: None,
            machine,
            workload: Workload::default(),
            device: BTreeMap::new(),
            codec: BTreeMap::new(),
            costs: CostTimes::default(),
            tiering,
            sweep: None,
            report: Vec::new(),
            published: Vec::new(),
        }
    }

    /// What a table says.
    ///
    /// # Errors
    /// The first key that is unknown, missing or not what it should be.
    pub(super) fn read(document: Table) -> Result<Self, ScenarioError> {
        Self::deserialize(node::Node(Value::Table(document)))
    }

    /// The same file where each tiering without a daemon stands beside itself with one, and where what that did is reported.
    pub(super) fn with_daemon(mut self) -> Self {
        let beside = |tiering: TieringSpec| {
            let with = TieringSpec { name: format!("{} + daemon", tiering.name), daemon: Some(true.into()), ..tiering.clone() };
            let is_new = tiering.daemon.is_none() && !tiering.swap.is_empty();
            std::iter::once(tiering).chain(is_new.then_some(with))
        };
        self.tiering = self.tiering.into_iter().flat_map(beside).collect();
        if self.report.is_empty() {
            self.report = metric::USUAL.map(str::to_owned).to_vec();
        }
        let more = metric::OF_DAEMON.iter().filter(|name| !self.report.iter().any(|known| known == *name));
        self.report.extend(more.map(|name| (*name).to_owned()).collect::<Vec<_>>());
        self
    }

    /// The same file as a table.
    pub(super) fn table(&self) -> Result<Table, ScenarioError> {
        Table::try_from(self).map_err(|error| ScenarioError::Toml(error.to_string()))
    }

    /// The same with other values of keys.
    pub(super) fn with<'a>(&self, set: impl IntoIterator<Item = (&'a str, &'a Value)>) -> Result<Self, ScenarioError> {
        let mut table = self.table()?;
        set.into_iter().try_for_each(|(key, value)| sweep::put(&mut table, key, value))?;
        Self::read(table)
    }
}

/// A machine as it is asked for, or as it is: RAM, kernel, pool, areas and disks. Its page sizes and costs are those of whoever runs it.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineSpec {
    /// RAM, kernel and settings of `vm`.
    pub base: BaseSpec,
    /// zswap; `None`: none.
    pub zswap: Option<ZswapSpec>,
    /// Swap areas. Sizes are shares of RAM, so that they stay in proportion where RAM is another.
    pub swap: Vec<AreaSpec>,
    /// Disks that figures do not know by their name.
    pub devices: BTreeMap<String, DeviceSpec>,
}

/// `[machine]`: what is the same whatever the tiers are. `None` stands for what the model assumes.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BaseSpec {
    /// Its release, major and minor.
    #[serde(with = "units::kernel")]
    pub kernel: KernelVersion,
    /// MemTotal; a share is one of the pages of the workload.
    pub ram: Size,
    /// RAM that others hold and keep.
    pub reserved: Option<Size>,
    /// How RAM keeps its pages in order.
    pub lru: Option<Lru>,
    /// Processors.
    pub processors: Option<u32>,
    /// vm.swappiness, 1 to 200.
    pub swappiness: Option<u32>,
    /// vm.page-cluster.
    pub page_cluster: Option<u32>,
    /// vm.watermark_scale_factor.
    pub watermark_scale_factor: Option<u64>,
    /// memory.max of each control group.
    pub cgroup_limit: Option<Size>,
    /// Whether zswap counts against limits of control groups: version 2.
    pub charge_zswap: Option<bool>,
    /// CONFIG_ZSMALLOC_CHAIN_SIZE.
    pub zsmalloc_chain: Option<u8>,
}

impl BaseSpec {
    /// A machine of this RAM under this kernel.
    #[must_use]
    pub const fn new(kernel: KernelVersion, ram: Size) -> Self {
        Self {
            kernel,
            ram,
            reserved: None,
            lru: None,
            processors: None,
            swappiness: None,
            page_cluster: None,
            watermark_scale_factor: None,
            cgroup_limit: None,
            charge_zswap: None,
            zsmalloc_chain: None,
        }
    }
}

/// `[workload]`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Workload {
    pub(super) generator: Option<String>,
    pub(super) trace: Option<String>,
    #[serde(default, rename = "with", skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) parameters: BTreeMap<String, Value>,
    pub(super) pages: Option<Vec<SizeShare>>,
    pub(super) page_set: Option<String>,
    pub(super) seed: Option<u64>,
    pub(super) work_ns: Option<u64>,
}

/// A line of a distribution of compressed sizes.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SizeShare {
    pub(super) share: f64,
    pub(super) size: u16,
    /// Under the secondary algorithm of zram.
    pub(super) second: Option<u16>,
}

/// `[device.NAME]`: what differs from another device.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct DeviceSpec {
    /// What it is like: nvme, ssd, hdd; `None`: ssd.
    pub like: Option<String>,
    /// Requests a second.
    pub iops: Option<f64>,
    /// Bytes a second, as they are typed.
    pub bandwidth: Option<Value>,
    /// Microseconds to another place.
    pub seek_us: Option<f64>,
    /// Microseconds from the end of its work to the answer of a read.
    pub read_us: Option<f64>,
    /// The same of a write.
    pub write_us: Option<f64>,
    /// Whether the kernel takes it for a rotational one.
    pub rotational: Option<bool>,
}

/// `[codec.NAME]`.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct CodecTimes {
    pub(super) compress_ns: Option<u64>,
    pub(super) decompress_ns: Option<u64>,
}

/// `[costs]`, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct CostTimes {
    pub(super) access_ns: Option<u64>,
    pub(super) allocate_ns: Option<u64>,
    pub(super) swap_out_ns: Option<u64>,
    pub(super) swap_in_ns: Option<u64>,
    pub(super) minor_ns: Option<u64>,
    pub(super) scan_ns: Option<u64>,
    pub(super) wake_ns: Option<u64>,
    pub(super) round_ns: Option<u64>,
    pub(super) write_back_ns: Option<u64>,
}

/// `[[tiering]]`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct TieringSpec {
    pub(super) name: String,
    pub(super) zswap: Option<ZswapSpec>,
    #[serde(default)]
    pub(super) swap: Vec<AreaSpec>,
    /// That a daemon runs: `true`, or the keys of its `[keep]`.
    pub(super) daemon: Option<Value>,
}

/// `zswap` of a tiering. `None` stands for what the kernel comes with.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ZswapSpec {
    /// Its compressor, by the kernel's name.
    pub compressor: String,
    /// Its allocator.
    pub allocator: Option<String>,
    /// `max_pool_percent`, of RAM.
    pub limit: Option<u64>,
    /// `accept_threshold_percent`, of the limit.
    pub accept: Option<u64>,
    /// What keeps it below its limit, by its name.
    pub policy: Option<String>,
}

/// An entry of `swap` of a tiering: a disk or a zram device.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct AreaSpec {
    /// The name of its disk.
    pub disk: Option<String>,
    /// The algorithm of its zram device.
    pub zram: Option<String>,
    /// What it holds; a share is one of RAM.
    pub size: Option<Size>,
    /// Higher is filled first.
    pub priority: Option<i32>,
    /// mem_limit of zram.
    pub mem_limit: Option<Size>,
    /// Seconds between visits that recompress or write back.
    pub(super) upkeep: Option<f64>,
    pub(super) recompress: Option<RecompressFile>,
    pub(super) writeback: Option<WritebackFile>,
}

impl AreaSpec {
    /// An area on the disk of this name.
    #[must_use]
    pub fn disk(name: &str, size: Size, priority: i32) -> Self {
        Self { disk: Some(name.to_owned()), size: Some(size), priority: Some(priority), ..Self::default() }
    }

    /// An area on zram with this algorithm.
    #[must_use]
    pub fn zram(algorithm: &str, size: Size, priority: i32, mem_limit: Option<Size>) -> Self {
        let zram = Some(algorithm.to_owned());
        Self { zram, size: Some(size), priority: Some(priority), mem_limit, ..Self::default() }
    }
}

/// `recompress` of a zram area.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RecompressFile {
    pub(super) algorithm: String,
    #[serde(rename = "type")]
    pub(super) which: Option<String>,
    /// Age from which it counts, seconds.
    pub(super) age: Option<f64>,
    pub(super) threshold: Option<u16>,
    /// Size by that under the first algorithm, where pages say nothing.
    pub(super) share: Option<f64>,
}

/// `writeback` of a zram area.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct WritebackFile {
    pub(super) disk: String,
    pub(super) size: Size,
    #[serde(rename = "type")]
    pub(super) which: Option<String>,
    /// Age from which it counts, seconds.
    pub(super) age: Option<f64>,
    pub(super) limit: Option<Size>,
}

/// `[sweep]`.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct SweepFile {
    pub(super) key: String,
    pub(super) values: Value,
}

/// `[published]`, or `[[published]]` where more than one metric was.
fn one_or_more<'de, D: serde::Deserializer<'de>>(input: D) -> Result<Vec<PublishedFile>, D::Error> {
    let tables = match Value::deserialize(input)? {
        Value::Array(tables) => tables,
        table => vec![table],
    };
    tables.into_iter().map(|table| table.try_into().map_err(serde::de::Error::custom)).collect()
}

/// `[published]`.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct PublishedFile {
    pub(super) metric: String,
    pub(super) what: String,
    pub(super) relative_to: Option<String>,
    pub(super) figures: BTreeMap<String, Vec<f64>>,
}
