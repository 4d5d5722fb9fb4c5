//! This machine for the model of tiers: what was measured here in the place of usual figures, and what the machine is.
//!
//! [`KnownCosts::of`] turns [`Evidence`] into [`ModelFigures`], each measured one with a [`Cite`] that says what it is and which run it comes
//! from; what was not measured keeps its usual figure and has no cite. [`now()`] says what the machine of some facts is. What follows from which measurement:
//!
//! | figure | from |
//! |---|---|
//! | `Costs::swap_out` | `bench swap`, page of zeros, median store: unmapping, slot, no codec. One page a call, so reclaim is a bit quicker |
//! | `Costs::swap_in` | the same, median load, less [`COPY`], which the model adds for a page of zeros |
//! | codec in zswap | `bench swap`, zswap with it: median store and load of a text page, less the two above; else the library's medians (`bench codecs`) |
//! | codec in zram | the same of zram |
//! | device | `bench disk`, see [`device()`] |
//!
//! Every figure is a median of one page by itself on an idle machine; sizes of pages come from a page set, not from here.

mod device;
mod settings;
#[cfg(test)]
mod tests;

use std::fmt;

use swaptune_core::Facts;
use swaptune_core::measurement::{Evidence, MeasuredAnswer, PageCost};
use swaptune_core::stats::Nanos;
use swaptune_tiers::model::{CODECS, COPY, CodecCosts, Costs, ModelFigures, NamedDevice};

pub use device::device;
use settings::is_rotational;
pub(crate) use settings::{MachineBuilder, as_it_is, page_of, page_times, shrinker, zram_of, zswap_of};
pub use settings::{ThisMachineError, base, kernel_version, now};

/// The name under which tierings find this machine's own disk.
pub const THIS: &str = "this";

/// What a cite is about.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "of", content = "name", rename_all = "lowercase")]
pub enum Subject {
    /// The kernel's part beside codecs and devices.
    Costs,
    /// A codec in zswap, by its kernel name.
    Zswap(String),
    /// A codec in zram.
    Zram(String),
    /// A device, by the name that tierings use.
    Device(String),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Costs => f.write_str("path"),
            Self::Zswap(name) => write!(f, "{name} in zswap"),
            Self::Zram(name) => write!(f, "{name} in zram"),
            Self::Device(name) => write!(f, "disk {name}"),
        }
    }
}

/// A measured figure of the model.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Cite {
    /// What it is about.
    #[serde(flatten)]
    pub subject: Subject,
    /// The figures in words, with units: `compress 4.4 µs, decompress 1.2 µs`.
    pub value: String,
    /// The runs that they rest on, as a plan cites them.
    pub source: String,
}

/// Figures for the model, and what of them was measured here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownCosts {
    /// The figures.
    pub figures: ModelFigures,
    /// A line for each that is measured.
    pub cites: Vec<Cite>,
}

impl KnownCosts {
    /// What is known of the machine of these facts. Without evidence: the usual figures, and no cites.
    #[must_use]
    pub fn of(facts: &Facts, evidence: &Evidence) -> Self {
        let mut known = Self { figures: ModelFigures::of_pages(page_times(facts)), cites: Vec::new() };
        known.costs(evidence);
        for codec in CODECS {
            known.codec(evidence, codec, false);
            known.codec(evidence, codec, true);
        }
        known.devices(facts, evidence);
        known
    }

    /// True when something was measured.
    #[must_use]
    pub fn is_measured(&self) -> bool {
        !self.cites.is_empty()
    }

    fn cite(&mut self, subject: Subject, value: String, source: String) {
        self.cites.push(Cite { subject, value, source });
    }

    fn costs(&mut self, evidence: &Evidence) {
        let Some(MeasuredAnswer { value, source }) = evidence.zero_cost() else { return };
        let costs = Costs { swap_out: value.store.0, swap_in: value.load.0.saturating_sub(COPY), ..self.figures.costs };
        let text = format!("swap-out {}, swap-in {}", Nanos(costs.swap_out), Nanos(costs.swap_in));
        self.figures.costs = costs;
        self.cite(Subject::Costs, text, source);
    }

    fn codec(&mut self, evidence: &Evidence, usual: CodecCosts, in_zram: bool) {
        let path = if in_zram { evidence.zram_cost(usual.name) } else { evidence.zswap_cost(usual.name) };
        let path = path.and_then(|cost| self.less_path(cost));
        let Some(MeasuredAnswer { value, source }) = path.or_else(|| evidence.library_cost(usual.name)) else { return };
        let codec = CodecCosts { name: usual.name, compress: value.store.0, decompress: value.load.0 };
        let (table, subject) = match in_zram {
            true => (&mut self.figures.zram, Subject::Zram(usual.name.into())),
            false => (&mut self.figures.zswap, Subject::Zswap(usual.name.into())),
        };
        table.iter_mut().filter(|known| known.name == codec.name).for_each(|known| *known = codec);
        let text = format!("compress {}, decompress {}", Nanos(codec.compress), Nanos(codec.decompress));
        self.cite(subject, text, source);
    }

    /// The codec's part of a page's way out and back. `None` where the difference is less than copying a page: then the two were not
    /// measured under the same conditions.
    fn less_path(&self, path: MeasuredAnswer<PageCost>) -> Option<MeasuredAnswer<PageCost>> {
        let costs = self.figures.costs;
        let part = |whole: Nanos, rest: u64| whole.0.checked_sub(rest).filter(|part| *part >= COPY).map(Nanos);
        let value = PageCost { store: part(path.value.store, costs.swap_out)?, load: part(path.value.load, costs.swap_in)? };
        Some(MeasuredAnswer { value, source: path.source })
    }

    /// Every disk that was measured under its own name, and the one that this machine swaps to as [`THIS`].
    fn devices(&mut self, facts: &Facts, evidence: &Evidence) {
        let disks = evidence.measured_disks();
        let swaps = facts.swaps.iter().filter_map(|area| facts.disk_of(area.device.value()?));
        let swapped_to = swaps.map(|disk| disk.name.as_str()).find(|disk| disks.contains(disk));
        for (name, disk) in swapped_to
            .or(disks.first().copied())
            .map(|disk| (THIS, disk))
            .into_iter()
            .chain(disks.iter().map(|disk| (*disk, *disk)))
        {
            let found = facts.block_device(disk);
            let (rotational, spins) = (found.is_some_and(is_rotational), found.is_some_and(|disk| disk.spins()));
            let Some(MeasuredAnswer { value: times, source }) = device(evidence, disk, spins, page_of(facts)) else { continue };
            let text = format!(
                "{disk}: request {}, page {}, seek {}, read {}, write {}",
                Nanos(times.request),
                Nanos(times.page),
                Nanos(times.seek),
                Nanos(times.read_latency),
                Nanos(times.write_latency)
            );
            self.figures.devices.push(NamedDevice { name: name.to_owned(), times, rotational });
            self.cite(Subject::Device(name.to_owned()), text, source);
        }
    }
}
