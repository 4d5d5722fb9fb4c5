//! A scenario as it stands in its file, key by key.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Value;

/// The whole file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct File {
    pub(super) title: String,
    #[serde(default)]
    pub(super) source: String,
    #[serde(default)]
    pub(super) notes: String,
    #[serde(default = "one")]
    pub(super) scale: u32,
    #[serde(default = "one")]
    pub(super) seeds: u32,
    pub(super) relative_to: Option<String>,
    pub(super) machine: Machine,
    pub(super) workload: Workload,
    #[serde(default)]
    pub(super) device: BTreeMap<String, Device>,
    #[serde(default)]
    pub(super) codec: BTreeMap<String, CodecTimes>,
    #[serde(default)]
    pub(super) costs: CostTimes,
    pub(super) tiering: Vec<TieringFile>,
    pub(super) sweep: Option<SweepFile>,
    #[serde(default)]
    pub(super) report: Vec<String>,
    #[serde(default, deserialize_with = "one_or_more")]
    pub(super) published: Vec<PublishedFile>,
}

const fn one() -> u32 {
    1
}

/// `[machine]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Machine {
    pub(super) kernel: String,
    pub(super) ram: Value,
    pub(super) reserved: Option<Value>,
    pub(super) lru: Option<String>,
    pub(super) swappiness: Option<u32>,
    pub(super) page_cluster: Option<u32>,
    pub(super) watermark_scale_factor: Option<u64>,
    pub(super) cgroup_limit: Option<Value>,
    pub(super) charge_zswap: Option<bool>,
    pub(super) zsmalloc_chain: Option<u8>,
}

/// `[workload]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Workload {
    pub(super) generator: Option<String>,
    pub(super) trace: Option<String>,
    #[serde(default, rename = "with")]
    pub(super) parameters: BTreeMap<String, Value>,
    pub(super) pages: Option<Vec<Share>>,
    pub(super) page_set: Option<String>,
    pub(super) seed: Option<u64>,
    pub(super) work_ns: Option<u64>,
}

/// A line of a distribution of compressed sizes.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Share {
    pub(super) share: f64,
    pub(super) size: u16,
    /// Under the secondary algorithm of zram.
    pub(super) second: Option<u16>,
}

/// `[device.NAME]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Device {
    pub(super) like: Option<String>,
    pub(super) iops: Option<f64>,
    pub(super) bandwidth: Option<Value>,
    pub(super) seek_us: Option<f64>,
    pub(super) read_us: Option<f64>,
    pub(super) write_us: Option<f64>,
    pub(super) rotational: Option<bool>,
}

/// `[codec.NAME]`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct CodecTimes {
    pub(super) compress_ns: Option<u64>,
    pub(super) decompress_ns: Option<u64>,
}

/// `[costs]`, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
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
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct TieringFile {
    pub(super) name: String,
    pub(super) zswap: Option<ZswapFile>,
    #[serde(default)]
    pub(super) swap: Vec<AreaFile>,
}

/// `zswap` of a tiering.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ZswapFile {
    pub(super) compressor: String,
    pub(super) allocator: Option<String>,
    pub(super) limit: Option<u64>,
    pub(super) accept: Option<u64>,
    pub(super) policy: Option<String>,
}

/// An entry of `swap` of a tiering.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct AreaFile {
    pub(super) disk: Option<String>,
    pub(super) zram: Option<String>,
    pub(super) size: Option<Value>,
    pub(super) priority: Option<i32>,
    pub(super) mem_limit: Option<Value>,
    /// Seconds between visits that recompress or write back.
    pub(super) upkeep: Option<f64>,
    pub(super) recompress: Option<RecompressFile>,
    pub(super) writeback: Option<WritebackFile>,
}

/// `recompress` of a zram area.
#[derive(Clone, Debug, Deserialize)]
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
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct WritebackFile {
    pub(super) disk: String,
    pub(super) size: Value,
    #[serde(rename = "type")]
    pub(super) which: Option<String>,
    /// Age from which it counts, seconds.
    pub(super) age: Option<f64>,
    pub(super) limit: Option<Value>,
}

/// `[sweep]`.
#[derive(Clone, Debug, Deserialize)]
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
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct PublishedFile {
    pub(super) metric: String,
    pub(super) what: String,
    pub(super) relative_to: Option<String>,
    pub(super) figures: BTreeMap<String, Vec<f64>>,
}
