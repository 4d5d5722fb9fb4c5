//! From the keys of a file to a machine and its tiers.

use std::collections::BTreeSet;

use swaptune_kernel::behaviours;
use toml::{Table, Value};

use super::file::{AreaSpec, DeviceSpec, MachineSpec, ScenarioFile, SizeShare, TieringSpec, Workload, ZswapSpec};
use super::{NoFiles, Outside, Point, ScenarioError, Tiering, WorkloadSource, scale, units, upkeep};
use crate::alloc::{Allocator, PAGE_SIZE};
use crate::model::{
    AreaSettings, Backing, CodecCosts, CompressedSizes, Costs, DeviceTimes, Lru, ModelFigures, ModelSettings, ModelZswapSettings,
};
use crate::page_set::PageSet;
use crate::policies::{POLICIES, named};

/// Entries by which a distribution is given to the model.
const GRAINS: f64 = 10_000.0;
/// What of RAM a zram device has for pages unless it is given: as zram-generator does it (`zram-size = ram / 2`).
const ZRAM: f64 = 0.5;

/// A file and what it needs from outside.
pub(super) struct ScenarioBuilder<'a> {
    pub(super) file: &'a ScenarioFile,
    outside: &'a dyn Outside,
    figures: &'a ModelFigures,
    set: Option<PageSet>,
    /// Its workload; `None` of a machine that is looked at without one.
    source: Option<WorkloadSource>,
}

impl MachineSpec {
    /// The machine with these figures. Sizes of pages are those of [`ModelSettings::new`], and the one control group has no limit.
    ///
    /// # Errors
    /// What the model does not have.
    pub fn settings(&self, figures: &ModelFigures) -> Result<ModelSettings, ScenarioError> {
        let tiering = TieringSpec { name: "now".to_owned(), zswap: self.zswap.clone(), swap: self.swap.clone(), daemon: None };
        let file = ScenarioFile { device: self.devices.clone(), ..ScenarioFile::new(self.base.clone(), vec![tiering]) };
        let builder = ScenarioBuilder { file: &file, outside: &NoFiles, figures, set: None, source: None };
        builder.tiering(&file.tiering[0]).map(|tiering| tiering.settings)
    }
}

/// The point of a file.
pub(super) fn point(
    file: &ScenarioFile,
    at: Option<String>,
    outside: &dyn Outside,
    figures: &ModelFigures,
) -> Result<Point, ScenarioError> {
    if file.scale == 0 {
        return Err(ScenarioError::key("scale", 0, "1 or more"));
    }
    if file.tiering.is_empty() {
        return Err(ScenarioError::key("tiering", "none", "at least one [[tiering]]"));
    }
    let codecs = || [false, true].into_iter().flat_map(|in_zram| figures.codecs(in_zram)).map(|codec| codec.name);
    if let Some(name) = file.codec.keys().find(|name| codecs().all(|known| known != name.as_str())) {
        return Err(ScenarioError::name("codec", name, codecs().collect::<BTreeSet<&str>>()));
    }
    let set = file.workload.page_set.as_deref().map(|name| {
        let wrong = |error| format!("{error}; `swaptune sample --save FILE` writes a page set");
        outside.page_set(name).map_err(|error| ScenarioError::file("workload.page-set", wrong(error)))
    });
    let source = source(file)?;
    let builder = ScenarioBuilder { file, outside, figures, set: set.transpose()?, source: Some(source.clone()) };
    let tierings = file.tiering.iter().map(|tiering| builder.tiering(tiering)).collect::<Result<_, _>>()?;
    Ok(Point { at, seed: None, source, scale: file.scale, tierings })
}

fn source(file: &ScenarioFile) -> Result<WorkloadSource, ScenarioError> {
    let workload = &file.workload;
    match (&workload.generator, &workload.trace) {
        (Some(name), None) => Ok(WorkloadSource::Generated(scale::spec(workload, name, file.scale)?)),
        (None, Some(_)) if file.scale > 1 => {
            Err(ScenarioError::key("scale", file.scale, "1 with workload.trace: a trace cannot be made smaller"))
        }
        (None, Some(_)) if !workload.parameters.is_empty() => {
            Err(ScenarioError::key("workload.with", "parameters", "none with workload.trace"))
        }
        (None, Some(path)) => Ok(WorkloadSource::Trace(path.clone())),
        _ => Err(ScenarioError::key("workload", "both or neither", "either `generator` or `trace`")),
    }
}

impl ScenarioBuilder<'_> {
    fn tiering(&self, tiering: &TieringSpec) -> Result<Tiering, ScenarioError> {
        let (file, key) = (self.file, format!("tiering `{}`", tiering.name));
        let mut settings = self.machine()?;
        settings.zswap = tiering.zswap.as_ref().map(|zswap| self.zswap(&tiering.name, zswap)).transpose()?;
        let mut disks = NamedDisks { builder: self, key: &key, names: Vec::new(), times: Vec::new() };
        for (index, area) in tiering.swap.iter().enumerate() {
            let (backing, usual) = match (&area.disk, &area.zram) {
                // A disk holds whatever comes, unless its size is given.
                (Some(disk), None) => (disks.backing(disk)?, None),
                (None, Some(algorithm)) => {
                    let usual = (settings.ram as f64 * ZRAM) as u64;
                    (self.zram(&tiering.name, area, algorithm, settings.ram, &mut disks)?, Some(usual))
                }
                _ => return Err(ScenarioError::key(key, "a swap area", "either `disk` or `zram` in each")),
            };
            // Unless told otherwise the kernel gives each area a priority below the one before it.
            let priority = area.priority.unwrap_or(-2 - index as i32);
            let slots = match (area.size, usual) {
                (Some(size), _) => scale::pages(file, size, || Ok(settings.ram))?,
                (None, Some(usual)) => usual,
                (None, None) => self.pages()?,
            };
            let too_large = || ScenarioError::key(&*key, format!("an area of {slots} pages"), "less than 16T");
            let slots = u32::try_from(slots).map_err(|_| too_large())?;
            settings.areas.push(AreaSettings { priority, slots, backing });
        }
        settings.devices = disks.times;
        let devices = disks.names.into_iter().map(|(name, _)| name).collect();
        let codec = tiering.zswap.as_ref().map(|zswap| zswap.compressor.as_str());
        let codec = codec.or_else(|| tiering.swap.iter().find_map(|area| area.zram.as_deref()));
        // Since 6.12 zswap has no place for same-filled pages other than zeros; zram has.
        let same_filled_free = tiering.zswap.is_none() || behaviours::SAME_FILLED_IN_ZSWAP.is_in(settings.kernel);
        let sizes = self.sizes(codec, same_filled_free, |line| Some(line.size))?;
        let sizes_given = sizes.is_some();
        settings.sizes = sizes.unwrap_or(settings.sizes);
        settings.check().map_err(|error| ScenarioError::Machine { tiering: tiering.name.clone(), error })?;
        let daemon = daemon(&key, tiering.daemon.as_ref())?;
        Ok(Tiering { name: tiering.name.clone(), settings, sizes_given, devices, daemon })
    }

    /// Pages of the workload.
    fn pages(&self) -> Result<u64, ScenarioError> {
        let none = || ScenarioError::key("workload", "none", "a workload with a number of pages");
        let pages = self.outside.pages(self.source.as_ref().ok_or_else(none)?);
        pages.map(u64::from).map_err(|error| ScenarioError::file("workload", error))
    }

    fn machine(&self) -> Result<ModelSettings, ScenarioError> {
        let (file, machine) = (self.file, &self.file.machine);
        let ram = scale::pages(file, machine.ram, || self.pages())?;
        let mut settings = ModelSettings::new(ram);
        settings.kernel = machine.kernel;
        let optional = |size: Option<_>| size.map(|size| scale::pages(file, size, || Ok(ram))).transpose();
        settings.reserved = optional(machine.reserved)?.unwrap_or(0);
        settings.cgroups = vec![optional(machine.cgroup_limit)?];
        settings.lru = machine.lru.unwrap_or_else(|| Lru::of_kernel(machine.kernel));
        settings.processors = machine.processors.unwrap_or(settings.processors);
        settings.charge_zswap = machine.charge_zswap.unwrap_or(settings.charge_zswap);
        settings.swappiness = machine.swappiness.unwrap_or(settings.swappiness);
        if !(1..=200).contains(&settings.swappiness) {
            return Err(ScenarioError::key("machine.swappiness", settings.swappiness, "1 to 200"));
        }
        settings.page_cluster = machine.page_cluster.unwrap_or(settings.page_cluster);
        if settings.page_cluster > 10 {
            return Err(ScenarioError::key("machine.page-cluster", settings.page_cluster, "0 to 10"));
        }
        settings.watermark_scale_factor = machine.watermark_scale_factor.unwrap_or(settings.watermark_scale_factor);
        let (given, default) = (&file.costs, self.figures.costs);
        settings.costs = Costs {
            // What the program itself does with a page takes its time wherever the page was.
            access: given.access_ns.unwrap_or(default.access) + file.workload.work_ns.unwrap_or(0),
            allocate: given.allocate_ns.unwrap_or(default.allocate),
            swap_out: given.swap_out_ns.unwrap_or(default.swap_out),
            swap_in: given.swap_in_ns.unwrap_or(default.swap_in),
            minor: given.minor_ns.unwrap_or(default.minor),
            scan: given.scan_ns.unwrap_or(default.scan),
            wake: given.wake_ns.unwrap_or(default.wake),
            round: given.round_ns.unwrap_or(default.round),
            write_back: given.write_back_ns.unwrap_or(default.write_back),
        };
        settings.seed = file.workload.seed.unwrap_or(settings.seed);
        Ok(settings)
    }

    fn zswap(&self, tiering: &str, zswap: &ZswapSpec) -> Result<ModelZswapSettings, ScenarioError> {
        let codec = self.codec(&format!("tiering `{tiering}`: compressor"), &zswap.compressor, false)?;
        let mut settings = ModelZswapSettings::new(codec, self.allocator(tiering, zswap.allocator.as_deref())?);
        settings.max_pool_percent = zswap.limit.unwrap_or(settings.max_pool_percent);
        settings.accept_threshold_percent = zswap.accept.unwrap_or(settings.accept_threshold_percent);
        for (key, percent) in [("limit", settings.max_pool_percent), ("accept", settings.accept_threshold_percent)] {
            if percent > 100 {
                return Err(ScenarioError::key(format!("tiering `{tiering}`: {key}"), percent, "a percentage, 0 to 100"));
            }
        }
        if let Some(name) = &zswap.policy {
            let key = || format!("tiering `{tiering}`: policy");
            let known = || ScenarioError::name(key(), name, POLICIES.iter().map(|policy| policy.name));
            settings.policy = *named(name).ok_or_else(known)?;
        }
        Ok(settings)
    }

    fn zram(
        &self,
        tiering: &str,
        area: &AreaSpec,
        algorithm: &str,
        ram: u64,
        disks: &mut NamedDisks,
    ) -> Result<Backing, ScenarioError> {
        let key = format!("tiering `{tiering}`");
        let codec = self.codec(&format!("{key}: zram"), algorithm, true)?;
        let limit = area.mem_limit.map(|limit| scale::pages(self.file, limit, || Ok(ram)));
        let upkeep = upkeep::build(self, &key, area, ram, |disk| disks.index(disk))?;
        Ok(Backing::Zram { codec, allocator: self.allocator(tiering, None)?, mem_limit: limit.transpose()?, upkeep })
    }

    fn allocator(&self, tiering: &str, name: Option<&str>) -> Result<Allocator, ScenarioError> {
        let machine = &self.file.machine;
        Allocator::of_kernel(name.unwrap_or("zsmalloc"), machine.kernel, machine.zsmalloc_chain)
            .map_err(|error| ScenarioError::Allocator { tiering: tiering.to_owned(), error })
    }

    pub(super) fn codec(&self, key: &str, name: &str, in_zram: bool) -> Result<CodecCosts, ScenarioError> {
        let known = || self.figures.codecs(in_zram).iter().map(|codec| codec.name);
        let codec = self.figures.codec(in_zram, name).ok_or_else(|| ScenarioError::name(key, name, known()))?;
        let given = self.file.codec.get(name);
        let compress = given.and_then(|given| given.compress_ns).unwrap_or(codec.compress);
        let decompress = given.and_then(|given| given.decompress_ns).unwrap_or(codec.decompress);
        Ok(CodecCosts { compress, decompress, ..codec })
    }

    /// Compressed sizes that the file gives, of a distribution that of each line; `None` leaves those of the trace.
    pub(super) fn sizes(
        &self,
        codec: Option<&str>,
        same_filled_free: bool,
        size: impl Fn(&SizeShare) -> Option<u16>,
    ) -> Result<Option<CompressedSizes>, ScenarioError> {
        match &self.set {
            Some(set) => of_set(set, codec, same_filled_free).map(Some),
            None => of_shares(&self.file.workload, size),
        }
    }
}

/// The configuration of a daemon, where one runs.
fn daemon(key: &str, given: Option<&Value>) -> Result<Option<Table>, ScenarioError> {
    match given {
        None | Some(Value::Boolean(false)) => Ok(None),
        Some(Value::Boolean(true)) => Ok(Some(Table::new())),
        Some(Value::Table(keys)) => Ok(Some(keys.clone())),
        Some(other) => {
            Err(ScenarioError::key(format!("{key}: daemon"), other, "true, false, or keys of [keep] with their values"))
        }
    }
}

/// The disks of a tiering, each under its name once.
struct NamedDisks<'a> {
    builder: &'a ScenarioBuilder<'a>,
    key: &'a str,
    names: Vec<(String, bool)>,
    times: Vec<DeviceTimes>,
}

impl NamedDisks<'_> {
    fn index(&mut self, name: &str) -> Result<usize, ScenarioError> {
        if let Some(known) = self.names.iter().position(|(known, _)| known == name) {
            return Ok(known);
        }
        let (times, rotational) = device(self.builder.file, self.builder.figures, name, self.key)?;
        self.names.push((name.to_owned(), rotational));
        self.times.push(times);
        Ok(self.times.len() - 1)
    }

    fn backing(&mut self, name: &str) -> Result<Backing, ScenarioError> {
        let device = self.index(name)?;
        Ok(Backing::Disk { device, rotational: self.names[device].1 })
    }
}

fn device(file: &ScenarioFile, figures: &ModelFigures, name: &str, key: &str) -> Result<(DeviceTimes, bool), ScenarioError> {
    let usual = |name: &str| figures.device(name).map(|device| (device.times, device.rotational));
    let names = || figures.devices.iter().map(|device| device.name.as_str());
    let Some(given) = file.device.get(name) else {
        return usual(name).ok_or_else(|| ScenarioError::name(key, name, file.device.keys().map(String::as_str).chain(names())));
    };
    let like = given.like.as_deref().unwrap_or(if usual(name).is_some() { name } else { "ssd" });
    let base = usual(like);
    let (times, rotational) = base.ok_or_else(|| ScenarioError::name(format!("device.{name}.like"), like, names()))?;
    Ok((described(name, given, times)?, given.rotational.unwrap_or(rotational)))
}

/// A device as it is described, and for the rest like a usual one.
fn described(name: &str, given: &DeviceSpec, like: DeviceTimes) -> Result<DeviceTimes, ScenarioError> {
    let rate = |key: &str, rate: Option<f64>, unit: f64, default: u64| match rate {
        None => Ok(default),
        Some(rate) if rate > 0.0 => Ok((unit / rate) as u64),
        Some(rate) => Err(ScenarioError::key(format!("device.{name}.{key}"), rate, "more than 0")),
    };
    let time = |key: &str, micros: Option<f64>, default: u64| match micros {
        None => Ok(default),
        Some(micros) if (0.0..1e9).contains(&micros) => Ok((micros * 1e3) as u64),
        Some(micros) => Err(ScenarioError::key(format!("device.{name}.{key}"), micros, "microseconds, 0 or more")),
    };
    let bandwidth = given.bandwidth.as_ref().map(|value| {
        let expected = "bytes a second, for example \"120M\"";
        units::bytes(value).ok_or_else(|| ScenarioError::key(format!("device.{name}.bandwidth"), value, expected))
    });
    Ok(DeviceTimes {
        request: rate("iops", given.iops, 1e9, like.request)?,
        page: rate("bandwidth", bandwidth.transpose()?, f64::from(PAGE_SIZE) * 1e9, like.page)?,
        seek: time("seek-us", given.seek_us, like.seek)?,
        read_latency: time("read-us", given.read_us, like.read_latency)?,
        write_latency: time("write-us", given.write_us, like.write_latency)?,
    })
}

fn of_set(set: &PageSet, codec: Option<&str>, same_filled_free: bool) -> Result<CompressedSizes, ScenarioError> {
    let Some(codec) = codec else { return Ok(CompressedSizes::Each(vec![4096])) };
    let known = || ScenarioError::name("workload.page-set: codec", codec, set.sizes.keys().map(String::as_str));
    let sizes = (0..set.len()).map(|page| set.stored(codec, page, same_filled_free)).collect::<Option<Vec<u16>>>();
    Ok(CompressedSizes::Drawn(sizes.ok_or_else(known)?))
}

fn of_shares(workload: &Workload, size: impl Fn(&SizeShare) -> Option<u16>) -> Result<Option<CompressedSizes>, ScenarioError> {
    let Some(shares) = &workload.pages else { return Ok(None) };
    let total: f64 = shares.iter().map(|line| line.share).sum();
    if shares.iter().any(|line| !(0.0..=1.0).contains(&line.share)) || (total - 1.0).abs() > 1e-6 {
        return Err(ScenarioError::key(
            "workload.pages",
            format!("shares with a sum of {total}"),
            "shares from 0 to 1 with a sum of 1",
        ));
    }
    let grains = |line: &SizeShare| Some(std::iter::repeat_n(size(line)?, (line.share * GRAINS).round() as usize));
    let each: Option<Vec<_>> = shares.iter().map(grains).collect();
    Ok(each.map(|each| CompressedSizes::Drawn(each.into_iter().flatten().collect())))
}
