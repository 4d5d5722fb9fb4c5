//! What pages compress to in a simulation of this machine.

use swaptune_core::forecast::{BackingTier, Candidate};
use swaptune_core::measurement::{SampleFigures, SampledCodec, kernels_name};
use swaptune_core::memory_map::PlanningRatio;
use swaptune_kernel::{KernelVersion, behaviours};
use swaptune_tiers::page_set::PageSet;

use super::{ForecastRequest, PredictError};

/// Parts that shares are rounded to.
const GRAINS: f64 = 1000.0;
/// A page that does not compress.
const WHOLE: u16 = swaptune_tiers::alloc::PAGE_SIZE;
/// A page that repeats a word, where it is compressed at all: a few tens of bytes under every codec.
const SAME_FILLED: u16 = 32;

/// Where sizes come from.
enum SizeBasis<'a> {
    /// Each page of a file.
    Set(&'a PageSet, &'a str),
    /// Shares and ratios of a sample.
    Figures(&'a SampleFigures),
    /// Planning figures.
    Assumed,
}

/// Sizes of pages.
pub(super) struct SampledSizes<'a> {
    basis: SizeBasis<'a>,
    /// The same in words.
    pub(super) from: String,
}

impl<'a> SampledSizes<'a> {
    pub(super) fn of(request: &ForecastRequest<'a>) -> Self {
        if let Some((set, file)) = request.page_set {
            let from = format!("sizes of {} pages in {file} ({}, {})", set.len(), set.origin.of, set.origin.at);
            return Self { basis: SizeBasis::Set(set, file), from };
        }
        match request.evidence.sample() {
            Some(sample) => {
                let from = format!("shares and ratios of {} pages in {}", sample.value.sampled, sample.source);
                Self { basis: SizeBasis::Figures(sample.value), from }
            }
            None => {
                Self { basis: SizeBasis::Assumed, from: "assumed compression ratios, for no page was sampled here".to_owned() }
            }
        }
    }

    /// Whether pages of this machine were looked at.
    pub(super) fn is_measured(&self) -> bool {
        !matches!(self.basis, SizeBasis::Assumed)
    }

    /// Whether sizes under this compressor are known.
    pub(super) fn knows(&self, compressor: &str) -> bool {
        match &self.basis {
            SizeBasis::Set(set, _) => column(set, compressor).is_some(),
            SizeBasis::Figures(figures) => codec(figures, compressor).is_some(),
            SizeBasis::Assumed => true,
        }
    }

    /// Refuses a page set that does not know what is proposed.
    pub(super) fn has(&self, compressor: Option<&str>) -> Result<(), PredictError> {
        match (&self.basis, compressor) {
            (SizeBasis::Set(set, file), Some(codec)) if !self.knows(codec) => Err(PredictError::NoSizes {
                file: (*file).to_owned(),
                codec: codec.to_owned(),
                has: set.sizes.keys().cloned().collect::<Vec<_>>().join(", "),
            }),
            _ => Ok(()),
        }
    }

    /// Sizes of pages to draw from.
    pub(super) fn sizes(&self, candidate: &Candidate, kernel: KernelVersion) -> Vec<u16> {
        // zram keeps no page that repeats a word; zswap did so until 6.11.
        let free = candidate.tier == BackingTier::Zram || behaviours::SAME_FILLED_IN_ZSWAP.is_in(kernel);
        let Some(compressor) = candidate.compressor.as_deref() else { return vec![WHOLE] };
        match &self.basis {
            SizeBasis::Set(set, _) => {
                let name = column(set, compressor).unwrap_or(compressor);
                // Of larger pages as many parts as the model's page has bytes.
                let times = (set.page_size / WHOLE).max(1);
                (0..set.len()).filter_map(|page| set.stored(name, page, free)).map(|size| size.div_ceil(times)).collect()
            }
            SizeBasis::Figures(figures) => match codec(figures, compressor) {
                Some(codec) => of_figures(figures, codec, free),
                None => assumed(compressor),
            },
            SizeBasis::Assumed => assumed(compressor),
        }
    }
}

/// The column of a page set for a compressor of the kernel.
fn column<'a>(set: &'a PageSet, compressor: &str) -> Option<&'a str> {
    set.sizes.keys().map(String::as_str).find(|name| kernels_name(name) == Some(compressor))
}

fn codec<'a>(figures: &'a SampleFigures, compressor: &str) -> Option<&'a SampledCodec> {
    figures.codecs.iter().find(|codec| kernels_name(&codec.codec) == Some(compressor))
}

/// The ratio that plans are made with, for every page.
fn assumed(compressor: &str) -> Vec<u16> {
    let ratio = PlanningRatio::choose(None, 0, Some(compressor), Some("zsmalloc")).ratio.value();
    vec![(f64::from(WHOLE) / ratio) as u16]
}

/// Pages of zeros, of one word, such as do not compress, and the others with the one size that makes the ratio right: of a
/// distribution only its mean is kept, which decides how many pages fit into a pool.
fn of_figures(figures: &SampleFigures, codec: &SampledCodec, free: bool) -> Vec<u16> {
    let (zero, same) = (figures.zero.value, figures.same_filled.value);
    let data = (1.0 - same).max(0.0);
    let poor = codec.incompressible.value.min(data);
    let mean = f64::from(WHOLE) / codec.ratio.value.max(1.0);
    let rest = data - poor;
    let size = if rest > 0.0 { ((mean * data - f64::from(WHOLE) * poor) / rest).clamp(1.0, f64::from(WHOLE)) } else { 0.0 };
    let parts =
        [(zero, 0), ((same - zero).max(0.0), if free { 0 } else { SAME_FILLED }), (poor, WHOLE), (rest, size.round() as u16)];
    parts.into_iter().flat_map(|(share, size)| std::iter::repeat_n(size, (share * GRAINS).round() as usize)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use swaptune_core::measurement::Estimate;

    use super::*;

    #[test]
    fn a_distribution_has_the_mean_of_the_figures() {
        let exactly = |value: f64| Estimate { value, low: value, high: value };
        let codec =
            SampledCodec { codec: "zstd".into(), ratio: exactly(2.0), incompressible: exactly(0.2), stored: BTreeMap::new() };
        let figures = SampleFigures {
            of: SampleFigures::ALL.into(),
            present: 1,
            sampled: 1,
            processes: 1,
            unread: 0,
            zero: exactly(0.1),
            same_filled: exactly(0.15),
            codecs: vec![codec.clone()],
            cold: None,
        };
        let sizes = of_figures(&figures, &codec, false);
        let count = |size: u16| sizes.iter().filter(|known| **known == size).count();
        assert_eq!((sizes.len(), count(0), count(SAME_FILLED), count(WHOLE)), (1000, 100, 50, 200));
        let data: Vec<f64> = sizes.iter().filter(|size| **size > SAME_FILLED).map(|size| f64::from(*size)).collect();
        let mean = data.iter().sum::<f64>() / data.len() as f64;
        assert!((mean - 2048.0).abs() < 2.0, "{mean}");
        let free = of_figures(&figures, &codec, true);
        assert_eq!(free.iter().filter(|size| **size == 0).count(), 150);
    }
}
