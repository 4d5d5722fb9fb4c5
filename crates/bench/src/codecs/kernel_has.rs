//! Whether this kernel has a codec, for zswap and for zram.

use swaptune_core::Facts;
use swaptune_core::facts::{Availability, KernelFacts};
use swaptune_kernel::behaviours;

use crate::codec::CodecSetting;

/// Whether it is there, and what says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodecPresence {
    /// Where it is.
    pub availability: Availability,
    /// The file or option that says so.
    pub source: String,
}

impl CodecPresence {
    /// `built in (/proc/crypto: lzo in the kernel)`.
    #[must_use]
    pub fn text(&self) -> String {
        let word = match self.availability {
            Availability::BuiltIn => "built in",
            Availability::Loaded => "loaded module",
            Availability::Module => "module",
            Availability::Absent => "absent",
        };
        format!("{word} ({})", self.source)
    }
}

/// Where the kernel has a codec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InKernel {
    /// As a compressor of zswap; `None` when zswap has no such compressor in any kernel.
    pub zswap: Option<CodecPresence>,
    /// As an algorithm of zram; `None` when zram has no such algorithm in any kernel.
    pub zram: Option<CodecPresence>,
}

impl InKernel {
    /// Looks a codec up. A level that is not the kernel's own can only be had from zram.
    #[must_use]
    pub fn of(setting: CodecSetting, facts: &Facts) -> Self {
        let codec = setting.codec();
        let zswap = codec.zswap.filter(|_| setting.is_default());
        Self { zswap: zswap.map(|name| in_zswap(name, facts)), zram: codec.zram.map(|name| in_zram(name, facts)) }
    }

    /// True when either can use it.
    #[must_use]
    pub fn usable(&self) -> bool {
        [&self.zswap, &self.zram].into_iter().flatten().any(|place| place.availability.usable())
    }

    /// `zswap, zram`, `zram`, `no`.
    #[must_use]
    pub fn short(&self) -> String {
        let users = [("zswap", &self.zswap), ("zram", &self.zram)];
        let usable = |(name, place): (&'static str, &Option<CodecPresence>)| {
            place.as_ref().filter(|place| place.availability.usable()).map(|_| name)
        };
        let users: Vec<&str> = users.into_iter().filter_map(usable).collect();
        if users.is_empty() { "no".into() } else { users.join(", ") }
    }

    /// Everything in one line, as results keep it: `zswap: absent (…: CONFIG_CRYPTO_LZ4 is not set); zram: built in (…)`.
    #[must_use]
    pub fn text(&self) -> String {
        let users = [("zswap", &self.zswap), ("zram", &self.zram)];
        let parts: Vec<String> = users
            .into_iter()
            .filter_map(|(name, place)| place.as_ref().map(|place| (name, place)))
            .map(|(name, place)| format!("{name}: {}", place.text()))
            .collect();
        if parts.is_empty() { "no kernel has it".into() } else { parts.join("; ") }
    }
}

pub(super) fn in_zswap(name: &str, facts: &Facts) -> CodecPresence {
    if !facts.zswap.is_known() {
        return CodecPresence { availability: Availability::Absent, source: facts.zswap.source().to_owned() };
    }
    in_crypto(name, facts)
}

fn in_crypto(name: &str, facts: &Facts) -> CodecPresence {
    let found = facts.compressors.iter().find(|compressor| compressor.name == name);
    let unknown = || CodecPresence { availability: Availability::Absent, source: "not looked for".into() };
    found.map_or_else(unknown, |found| CodecPresence { availability: found.availability, source: found.source.clone() })
}

/// Whether zram of this kernel can be given an algorithm.
pub fn in_zram(name: &str, facts: &Facts) -> CodecPresence {
    let driver = facts.zram.driver.value().copied().unwrap_or(Availability::Absent);
    if !driver.usable() {
        return CodecPresence { availability: Availability::Absent, source: facts.zram.driver.source().to_owned() };
    }
    // A device that is there knows best; all devices offer the same.
    if let Some(device) = facts.zram.devices.iter().find(|device| !device.algorithms.is_empty()) {
        let source = format!("/sys/block/{}/comp_algorithm", device.name);
        let offered = device.algorithms.iter().any(|algorithm| algorithm == name);
        return CodecPresence { availability: if offered { driver } else { Availability::Absent }, source };
    }
    in_zram_driver(name, &facts.kernel, driver).unwrap_or_else(|| in_crypto(name, facts))
}

/// zram has its own codecs since 6.12, fixed when it is built; before, it asks the crypto API, as zswap does.
fn in_zram_driver(name: &str, kernel: &KernelFacts, driver: Availability) -> Option<CodecPresence> {
    if kernel.does(&behaviours::ZRAM_OWN_CODECS) == Some(false) {
        return None;
    }
    // One option for both (drivers/block/zram/Kconfig).
    let backend = if name == "lzo-rle" { "lzo" } else { name };
    let option = format!("CONFIG_ZRAM_BACKEND_{}", backend.to_ascii_uppercase());
    let source = kernel.config.source();
    let (availability, says) = match kernel.config.value() {
        Some(config) if config.get(&option).is_some_and(|value| value == "y") => (driver, "=y"),
        Some(_) => (Availability::Absent, " is not set"),
        // Whoever sets up a device finds out.
        None => (driver, " is not known"),
    };
    Some(CodecPresence { availability, source: format!("{source}: {option}{says}") })
}

#[cfg(test)]
mod tests {
    use swaptune_core::Fact;
    use swaptune_kernel::v;

    use super::*;

    fn says(name: &str, config: Fact<&[(&str, &str)]>) -> String {
        let pairs = |config: &[(&str, &str)]| config.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        let config = match config.value() {
            Some(config) => Fact::known(pairs(config), "/proc/config.gz"),
            None => Fact::absent(config.source()),
        };
        let kernel = KernelFacts { version: Fact::known(v(6, 18), "test"), config, ..KernelFacts::default() };
        let mut facts = Facts { kernel, ..Facts::default() };
        facts.zram.driver = Fact::known(Availability::Module, "test");
        in_zram(name, &facts).text()
    }

    #[test]
    fn lzo_rle_comes_with_lzo() {
        let config = || Fact::known(&[("CONFIG_ZRAM_BACKEND_LZO", "y")][..], "test");
        assert_eq!(says("lzo-rle", config()), "module (/proc/config.gz: CONFIG_ZRAM_BACKEND_LZO=y)");
        assert_eq!(says("lzo", config()), "module (/proc/config.gz: CONFIG_ZRAM_BACKEND_LZO=y)");
        assert_eq!(says("zstd", config()), "absent (/proc/config.gz: CONFIG_ZRAM_BACKEND_ZSTD is not set)");
    }

    #[test]
    fn what_a_kernel_has_that_does_not_say_is_tried() {
        let said = says("zstd", Fact::absent("/proc/config.gz: not there"));
        assert_eq!(said, "module (/proc/config.gz: not there: CONFIG_ZRAM_BACKEND_ZSTD is not known)");
    }
}
