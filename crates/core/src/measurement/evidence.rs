//! What may be concluded from measurements: for each question of the planner the newest result of this machine that answers it.
//!
//! A result of another machine is evidence of nothing. What the kernel did itself (its swap path, its codecs) counts only for
//! the release that runs; pages, disks, ciphers and libraries stay what they are when the kernel changes.

use std::cmp::Reverse;

use super::{
    CipherFigures, CodecFigures, CodecPath, DiskFigures, DiskIdentity, DiskShape, Estimate, Measurement, MemoryOrder,
    ResultFigures, SampleFigures, SwapFigures, SwapTier, areas_gain,
};
use crate::canary::CanaryClass;
use crate::stats::{Nanos, paired_ratio};

/// An answer and the result that it rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredAnswer<T> {
    /// The answer.
    pub value: T,
    /// The result, as a sentence of a plan cites it: `run 20261121-054801-a1b2 (bench swap, Linux 6.18.44)`.
    pub source: String,
}

impl<T> MeasuredAnswer<T> {
    fn new(value: T, measurement: &Measurement) -> Self {
        Self { value, source: cite(measurement) }
    }
}

fn cite(measurement: &Measurement) -> String {
    let what = match &measurement.figures {
        ResultFigures::Sample(_) => "sample",
        ResultFigures::Codec(_) => "bench codecs",
        ResultFigures::Disk(_) => "bench disk",
        ResultFigures::Cipher(_) => "bench cipher",
        ResultFigures::Swap(_) => "bench swap",
        ResultFigures::Memory(_) => "bench memory",
        ResultFigures::Density(_) => "bench density",
        ResultFigures::Compare(_) => "compare",
    };
    format!("run {} ({what}, Linux {})", measurement.run, measurement.conditions.kernel)
}

/// What a page costs on its way out and back, median of one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageCost {
    /// Reclaim to the tier.
    pub store: Nanos,
    /// First touch.
    pub load: Nanos,
}

impl PageCost {
    /// Out and back.
    #[must_use]
    pub fn both(self) -> Nanos {
        Nanos(self.store.0 + self.load.0)
    }
}

/// How fast a disk is.
#[derive(Clone, Debug, PartialEq)]
pub struct DiskSpeed {
    /// Its name.
    pub disk: String,
    /// The most bytes a second that it moved.
    pub bytes_per_second: f64,
}

/// What several areas of one disk do for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AreaSpread {
    /// How many areas did best.
    pub areas: u32,
    /// Their operations a second by those of one area.
    pub gain: Estimate,
}

/// What read-ahead does for loads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReadAhead {
    /// The value of vm.page-cluster with the most loads a second, of pages that are touched in order.
    pub page_cluster: u32,
    /// Its loads a second by those of 0, in order.
    pub in_order: Estimate,
    /// The same, touched at random.
    pub at_random: Estimate,
}

/// Compressors of the kernel that no library has, and one that holds a little less of the same pages: 2.06 and 2.00 against 1.92 in
/// zsmalloc (docs/evidence/codecs-and-pools.md).
const STAND_INS: &[(&str, &str)] = &[("lzo", "lz4"), ("lzo-rle", "lz4")];

/// The results of one machine, newest first.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    measurements: Vec<Measurement>,
    kernel: String,
}

impl Evidence {
    /// The results that count for this machine under this kernel release.
    #[must_use]
    pub fn new(mut measurements: Vec<Measurement>, machine: &str, kernel: &str) -> Self {
        measurements.retain(|measurement| measurement.conditions.machine == machine);
        measurements.sort_by_key(|measurement| Reverse((measurement.at.clone(), measurement.run.clone())));
        Self { measurements, kernel: kernel.to_owned() }
    }

    /// The same without results of disks whose name another disk has now; `now` says which disk has a name, where that is known.
    #[must_use]
    pub fn of_disks(mut self, now: impl Fn(&str) -> Option<DiskIdentity>) -> Self {
        let has_changed = |(name, then): (&String, &DiskIdentity)| now(name).is_some_and(|now| now.is_another(then));
        self.measurements.retain(|measurement| match &measurement.figures {
            ResultFigures::Disk(disk) => !disk.disks.iter().zip(&disk.identities).any(has_changed),
            _ => true,
        });
        self
    }

    /// The same with a result that counts as the newest.
    #[must_use]
    pub fn and(mut self, newest: Measurement) -> Self {
        self.measurements.insert(0, newest);
        self
    }

    /// True when nothing was measured here.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.measurements.is_empty()
    }

    fn of_this_kernel(&self) -> impl Iterator<Item = &Measurement> {
        self.measurements.iter().filter(|measurement| measurement.conditions.kernel == self.kernel)
    }

    fn swaps(&self) -> impl Iterator<Item = (&Measurement, &SwapFigures)> {
        self.of_this_kernel().filter_map(|m| if let ResultFigures::Swap(swap) = &m.figures { Some((m, swap)) } else { None })
    }

    fn disks(&self) -> impl Iterator<Item = (&Measurement, &DiskFigures)> {
        self.measurements.iter().filter_map(|m| if let ResultFigures::Disk(disk) = &m.figures { Some((m, disk)) } else { None })
    }

    fn kernel_codecs(&self) -> impl Iterator<Item = (&Measurement, &CodecFigures)> {
        let codecs = self
            .of_this_kernel()
            .filter_map(|m| if let ResultFigures::Codec(codec) = &m.figures { Some((m, codec)) } else { None });
        codecs.filter(|(_, codec)| codec.path != CodecPath::Library)
    }

    /// The newest sample of all processes.
    #[must_use]
    pub fn sample(&self) -> Option<MeasuredAnswer<&SampleFigures>> {
        self.measurements.iter().find_map(|measurement| match &measurement.figures {
            ResultFigures::Sample(sample) if sample.of == SampleFigures::ALL => Some(MeasuredAnswer::new(sample, measurement)),
            _ => None,
        })
    }

    /// How many pages of this machine's processes a page of pool holds: the low end of the interval where one is known.
    #[must_use]
    pub fn stored_ratio(&self, compressor: &str, allocator: &str) -> Option<MeasuredAnswer<f64>> {
        let sampled = self.sample().and_then(|sample| {
            let codec = sample.value.codecs.iter().find(|codec| kernels_name(&codec.codec) == Some(compressor))?;
            Some(MeasuredAnswer { value: codec.stored.get(allocator)?.low, source: sample.source })
        });
        sampled.or_else(|| self.stored_by_kernel(compressor, allocator))
    }

    /// The same, or what a compressor that holds a little less makes of these pages, where only the kernel has this one and it was not
    /// measured there: good enough for the size of a pool, not to tell compressors apart.
    #[must_use]
    pub fn stored_ratio_or_near(&self, compressor: &str, allocator: &str) -> Option<MeasuredAnswer<f64>> {
        self.stored_ratio(compressor, allocator).or_else(|| {
            let (_, near) = STAND_INS.iter().find(|(codec, _)| *codec == compressor)?;
            let known = self.stored_ratio(near, allocator)?;
            Some(MeasuredAnswer { source: format!("{}, with {near} for {compressor}", known.source), ..known })
        })
    }

    /// What the kernel's own pool took for pages of live processes.
    fn stored_by_kernel(&self, compressor: &str, allocator: &str) -> Option<MeasuredAnswer<f64>> {
        self.kernel_codecs().find_map(|(measurement, codec)| {
            let pool = codec.pools.iter().find(|pool| pool.allocator.measured && pool.allocator.name == allocator)?;
            let fits = kernels_name(&codec.codec) == Some(compressor) && codec.pages_of == CodecFigures::LIVE && pool.used.0 > 0;
            fits.then(|| MeasuredAnswer::new(pool.original.0 as f64 / pool.used.0 as f64, measurement))
        })
    }

    /// What a page that compresses as application memory does costs in zswap with this compressor.
    #[must_use]
    pub fn zswap_cost(&self, compressor: &str) -> Option<MeasuredAnswer<PageCost>> {
        self.cost(CanaryClass::Text, |tier| matches!(tier, SwapTier::Zswap { compressor: of, .. } if of == compressor))
    }

    /// The same in zram.
    #[must_use]
    pub fn zram_cost(&self, algorithm: &str) -> Option<MeasuredAnswer<PageCost>> {
        self.cost(CanaryClass::Text, |tier| matches!(tier, SwapTier::Zram { algorithm: of } if of == algorithm))
    }

    /// What a page of zeros costs on the way to zswap: no codec, no pool, no device, only the kernel's own part of the path.
    #[must_use]
    pub fn zero_cost(&self) -> Option<MeasuredAnswer<PageCost>> {
        self.cost(CanaryClass::Zero, |tier| matches!(tier, SwapTier::Zero | SwapTier::Zswap { .. }))
    }

    /// Median of one page through the C library of this compressor, one thread, pages of live processes before others.
    #[must_use]
    pub fn library_cost(&self, compressor: &str) -> Option<MeasuredAnswer<PageCost>> {
        let codecs = self
            .measurements
            .iter()
            .filter_map(|m| if let ResultFigures::Codec(codec) = &m.figures { Some((m, codec)) } else { None });
        let cost = |live: bool| {
            codecs.clone().find_map(|(measurement, codec)| {
                let fits =
                    codec.path == CodecPath::Library && codec.threads == 1 && (codec.pages_of == CodecFigures::LIVE) == live;
                let cost = PageCost { store: codec.compress?.p50, load: codec.decompress?.p50 };
                (fits && kernels_name(&codec.codec) == Some(compressor)).then(|| MeasuredAnswer::new(cost, measurement))
            })
        };
        cost(true).or_else(|| cost(false))
    }

    fn cost(&self, class: CanaryClass, wanted: impl Fn(&SwapTier) -> bool) -> Option<MeasuredAnswer<PageCost>> {
        self.swaps().find_map(|(measurement, swap)| {
            // Where the kernel reads ahead, the touch of most pages is no load.
            let alone = swap.page_cluster == 0 || matches!(swap.tier, SwapTier::Zram { .. });
            let usual = swap.class == class && swap.threads == 1 && swap.order == MemoryOrder::Random;
            let fits = wanted(&swap.tier) && usual && alone;
            let cost = PageCost { store: swap.store?.p50, load: swap.load?.p50 };
            fits.then(|| MeasuredAnswer::new(cost, measurement))
        })
    }

    /// Median time of a random read of one page from this disk, as a fault on a file pays it.
    #[must_use]
    pub fn page_read(&self, disk: Option<&str>) -> Option<MeasuredAnswer<Nanos>> {
        self.disks().find_map(|(measurement, figures)| {
            let fits = figures.shape == DiskShape::PageRead && figures.jobs == 1 && is_on(&figures.disks, disk);
            fits.then_some(MeasuredAnswer::new(figures.read?.latency.p50, measurement))
        })
    }

    /// Disks of which single areas were loaded past the page cache, the one of the newest result first.
    #[must_use]
    pub fn measured_disks(&self) -> Vec<&str> {
        let mut disks: Vec<&str> = Vec::new();
        for (_, figures) in self.disks().filter(|(_, figures)| is_of_one_area(figures)) {
            match figures.disks.as_slice() {
                [disk] if !disks.contains(&disk.as_str()) => disks.push(disk),
                _ => {}
            }
        }
        disks
    }

    /// The loads of the newest run on single areas of this disk, past the page cache.
    #[must_use]
    pub fn disk_loads(&self, disk: &str) -> Option<MeasuredAnswer<Vec<&DiskFigures>>> {
        let fits = |figures: &DiskFigures| is_of_one_area(figures) && is_on(&figures.disks, Some(disk));
        let (newest, _) = self.disks().find(|(_, figures)| fits(figures))?;
        let of_run = self.disks().filter(|(measurement, figures)| measurement.run == newest.run && fits(figures));
        Some(MeasuredAnswer::new(of_run.map(|(_, figures)| figures).collect(), newest))
    }

    /// The most bytes a second that the newest run moved to or from this disk past the page cache; where it is not known, the disk of the
    /// newest run on one. What several disks did together is the speed of none.
    #[must_use]
    pub fn disk_speed(&self, disk: Option<&str>) -> Option<MeasuredAnswer<DiskSpeed>> {
        let fits = |figures: &DiskFigures, disk| is_direct(figures) && figures.disks.len() == 1 && is_on(&figures.disks, disk);
        let (newest, first) = self.disks().find(|(_, figures)| fits(figures, disk))?;
        let disk = first.disks.first()?.clone();
        let of_run = self.disks().filter(|(m, figures)| m.run == newest.run && fits(figures, Some(&disk)));
        let most = of_run.map(|(_, figures)| figures.bytes_per_second()).fold(0.0, f64::max);
        (most > 0.0).then(|| MeasuredAnswer::new(DiskSpeed { disk, bytes_per_second: most }, newest))
    }

    /// Whether several areas of this disk are faster than one, at the number of jobs that suits one area best.
    #[must_use]
    pub fn spread(&self, disk: Option<&str>) -> Option<MeasuredAnswer<AreaSpread>> {
        let (newest, _) = self.disks().find(|(_, figures)| figures.places.len() > 1 && is_on(&figures.disks, disk))?;
        let rows: Vec<&DiskFigures> = self
            .disks()
            .filter(|(m, row)| m.run == newest.run && row.shape == DiskShape::Mixed && is_on(&row.disks, disk))
            .map(|(_, row)| row)
            .collect();
        let one = rows.iter().filter(|row| row.places.len() == 1).max_by(|a, b| a.iops().total_cmp(&b.iops()))?;
        let several = rows.iter().filter(|row| row.places.len() > 1);
        let spread = several
            .filter_map(|row| Some(AreaSpread { areas: u32::try_from(row.places.len()).ok()?, gain: areas_gain(row, one)? }));
        let best = spread.max_by(|a, b| a.gain.value.total_cmp(&b.gain.value))?;
        Some(MeasuredAnswer::new(best, newest))
    }

    /// What read-ahead does for loads from plain disk swap, or from zswap: the value that helps most those in order.
    #[must_use]
    pub fn read_ahead(&self, zswap: bool) -> Option<MeasuredAnswer<ReadAhead>> {
        let asked = |swap: &SwapFigures| {
            let tier = match &swap.tier {
                SwapTier::Zswap { .. } => zswap,
                SwapTier::Disk { areas, .. } => !zswap && *areas == 1,
                SwapTier::Zram { .. } | SwapTier::Zero | SwapTier::Writeback { .. } => false,
            };
            tier && swap.class == CanaryClass::Text && swap.threads == 1
        };
        let (newest, first) = self.swaps().find(|(_, swap)| asked(swap) && swap.page_cluster > 0)?;
        let rows: Vec<&SwapFigures> = self
            .swaps()
            .filter(|(m, swap)| m.run == newest.run && asked(swap) && swap.tier == first.tier)
            .map(|(_, swap)| swap)
            .collect();
        let row = |order, page_cluster| rows.iter().find(|row| row.order == order && row.page_cluster == page_cluster);
        let gain = |order, page_cluster| loads_gain(row(order, page_cluster)?, row(order, 0)?);
        let values = rows.iter().map(|row| row.page_cluster).filter(|value| *value > 0);
        let best = values.filter_map(|page_cluster| {
            let in_order = gain(MemoryOrder::Sequential, page_cluster)?;
            Some(ReadAhead { page_cluster, in_order, at_random: gain(MemoryOrder::Random, page_cluster)? })
        });
        let best = best.max_by(|a, b| a.in_order.value.total_cmp(&b.in_order.value))?;
        Some(MeasuredAnswer::new(best, newest))
    }

    /// The ciphers of the newest run.
    #[must_use]
    pub fn ciphers(&self) -> Option<MeasuredAnswer<Vec<&CipherFigures>>> {
        let newest = self.measurements.iter().find(|m| matches!(m.figures, ResultFigures::Cipher(_)))?;
        let of_run = self.measurements.iter().filter(|m| m.run == newest.run);
        let ciphers = of_run.filter_map(|m| if let ResultFigures::Cipher(cipher) = &m.figures { Some(cipher) } else { None });
        Some(MeasuredAnswer::new(ciphers.collect(), newest))
    }
}

/// Loads a second of one row by those of another of the same run, round for round; a row of one round has no interval.
fn loads_gain(row: &SwapFigures, without: &SwapFigures) -> Option<Estimate> {
    let rates = |row: &SwapFigures| row.rounds.iter().map(|round| round.loads_per_second).collect::<Vec<_>>();
    let pairs: Vec<(f64, f64)> = rates(row).into_iter().zip(rates(without)).collect();
    paired_ratio(&pairs)
}

/// True for loads past the page cache.
fn is_direct(figures: &DiskFigures) -> bool {
    !matches!(figures.shape, DiskShape::CachedRead | DiskShape::BufferedRead)
}

fn is_of_one_area(figures: &DiskFigures) -> bool {
    is_direct(figures) && figures.places.len() == 1
}

/// True when the disk is not known, or is the only one.
fn is_on(disks: &[String], disk: Option<&str>) -> bool {
    disk.is_none_or(|disk| disks == [disk])
}

/// The compressor of the kernel that a codec of ours stands for; `None` for levels that the kernel does not use.
///
/// zswap's zstd has level 3 (crypto/zstd.c), its lz4 acceleration 1 (LZ4_ACCELERATION_DEFAULT) and its lz4hc level 9
/// (LZ4HC_DEFAULT_CLEVEL).
#[must_use]
pub fn kernels_name(codec: &str) -> Option<&str> {
    match codec.split_once(':') {
        None => Some(codec),
        Some(("zstd", "3")) => Some("zstd"),
        Some(("lz4", "1")) => Some("lz4"),
        Some(("lz4hc", "9")) => Some("lz4hc"),
        Some(_) => None,
    }
}
