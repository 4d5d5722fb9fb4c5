//! What things take on one machine: assumed figures with their sources, where none was measured.

use super::costs::{CODECS, COPY, CodecCosts, Costs, DeviceTimes};

/// A device by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedDevice {
    /// What a tiering calls it.
    pub name: String,
    /// Its times.
    pub times: DeviceTimes,
    /// Whether the kernel takes it for a rotational one.
    pub rotational: bool,
}

/// Times of everything that a tiering can name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelFigures {
    /// The kernel's part beside codecs and devices.
    pub costs: Costs,
    /// Codecs in zswap.
    pub zswap: Vec<CodecCosts>,
    /// The same in zram, whose path is another one.
    pub zram: Vec<CodecCosts>,
    /// Disks that a tiering can name.
    pub devices: Vec<NamedDevice>,
}

impl Default for ModelFigures {
    fn default() -> Self {
        let usual = [("nvme", DeviceTimes::NVME, false), ("ssd", DeviceTimes::SSD, false), ("hdd", DeviceTimes::HDD, true)];
        let named = |(name, times, rotational): (&str, _, _)| NamedDevice { name: name.to_owned(), times, rotational };
        Self {
            costs: Costs::default(),
            zswap: CODECS.to_vec(),
            zram: CODECS.to_vec(),
            devices: usual.into_iter().map(named).collect(),
        }
    }
}

impl ModelFigures {
    /// Default figures for pages of `times` × 4 KiB: work per byte takes `times` as long, work per page as long as for 4 KiB.
    #[must_use]
    pub fn of_pages(times: u64) -> Self {
        let mut figures = Self::default();
        figures.costs.allocate += COPY * (times - 1);
        for codec in figures.zswap.iter_mut().chain(&mut figures.zram) {
            codec.compress *= times;
            codec.decompress *= times;
        }
        figures.devices.iter_mut().for_each(|device| device.times.page *= times);
        figures
    }

    /// The device of this name.
    #[must_use]
    pub fn device(&self, name: &str) -> Option<&NamedDevice> {
        self.devices.iter().find(|device| device.name == name)
    }

    /// Codecs of zram, or of zswap.
    #[must_use]
    pub fn codecs(&self, in_zram: bool) -> &[CodecCosts] {
        if in_zram { &self.zram } else { &self.zswap }
    }

    /// The codec of this name in zram, or in zswap.
    #[must_use]
    pub fn codec(&self, in_zram: bool, name: &str) -> Option<CodecCosts> {
        self.codecs(in_zram).iter().find(|codec| codec.name == name).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_over_a_larger_page_takes_longer() {
        assert_eq!(ModelFigures::of_pages(1), ModelFigures::default());
        let (usual, large) = (ModelFigures::default(), ModelFigures::of_pages(4));
        assert_eq!(large.costs.allocate, usual.costs.allocate + 3 * COPY);
        assert_eq!(large.costs.swap_in, usual.costs.swap_in);
        assert_eq!(large.codec(true, "zstd").map(|codec| codec.compress), Some(50_000));
        let ssd = |figures: &ModelFigures| figures.device("ssd").map(|device| device.times).unwrap();
        assert_eq!((ssd(&large).page, ssd(&large).request), (4 * ssd(&usual).page, ssd(&usual).request));
    }

    #[test]
    fn figures_are_found_by_name_and_zram_has_its_own() {
        let mut figures = ModelFigures::default();
        figures.zram[0].compress = 1;
        assert_eq!(figures.device("hdd").map(|device| (device.times, device.rotational)), Some((DeviceTimes::HDD, true)));
        let compress = |in_zram| figures.codec(in_zram, "lz4").map(|codec| codec.compress);
        assert_eq!((compress(false), compress(true)), (Some(4_400), Some(1)));
        assert_eq!((figures.codecs(true)[0].compress, figures.codecs(false).len()), (1, CODECS.len()));
        assert!(figures.device("tape").is_none() && figures.codec(true, "lzma").is_none());
    }
}
