//! Configuration text → settings. Every error names the file, the line, what was found and what was expected.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{
    BootSettings, KubeletRule, MachineSettings, PoolLimit, Provenance, SafetySettings, Setting, Settings, SwapWanted, ZramWanted,
    ZswapSettings,
};
use crate::knobs::{self, KnobError};
use crate::units::Bytes;
use swaptune_kernel::nearest;

/// Priority of a swap area when none is written, as in the guide that the `idle-guide` profile follows.
const DEFAULT_SWAP_PRIORITY: i64 = 10;
/// Priority of zram when none is written: above every disk.
const DEFAULT_ZRAM_PRIORITY: i64 = 100;

/// The smallest area that mkswap(8) makes: ten pages of 4 KiB.
const SWAP_MIN: Bytes = Bytes::from_kib(40);
/// Less RAM than Linux boots with is a slip of the pen.
const SMALLEST_RAM: Bytes = Bytes::from_mib(16);
/// `NR_CPUS` of the largest kernels (arch/x86/Kconfig).
const MOST_CPUS: i64 = 8192;

/// What was wrong with a configuration, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct SettingsError {
    /// File and line, or the flag.
    pub place: String,
    /// One sentence: what was found and what was expected.
    pub problem: String,
}

/// A table with the text that it came from, for line numbers and provenance.
struct Reader<'a> {
    path: &'a str,
    text: &'a str,
    /// `None` for a file, else the profile whose text this is.
    profile: Option<&'a str>,
}

type Entry<'a, 'b> = (&'b str, &'b Spanned<DeValue<'a>>);

impl Reader<'_> {
    fn line(&self, span: Range<usize>) -> usize {
        self.text.as_bytes().iter().take(span.start).filter(|byte| **byte == b'\n').count() + 1
    }

    fn error(&self, span: Range<usize>, problem: impl Into<String>) -> SettingsError {
        SettingsError { place: format!("{}:{}", self.path, self.line(span)), problem: problem.into() }
    }

    fn setting<T>(&self, span: Range<usize>, value: T) -> Setting<T> {
        let provenance = match self.profile {
            Some(name) => Provenance::Profile(name.to_owned()),
            None => Provenance::File { path: self.path.to_owned(), line: self.line(span) },
        };
        Setting::new(value, provenance)
    }

    /// The entries of a table, after a check that all its keys are known.
    fn entries<'a, 'b>(&self, place: &str, table: &'b DeTable<'a>, known: &[&str]) -> Result<Vec<Entry<'a, 'b>>, SettingsError> {
        for (key, _) in table.iter() {
            let name: &str = key.as_ref();
            if !known.contains(&name) {
                let problem = match nearest(name, known.iter().copied()) {
                    Some(near) => format!("unknown key `{name}`{place}; did you mean `{near}`?"),
                    None => format!("unknown key `{name}`{place}; known are {}", known.join(", ")),
                };
                return Err(self.error(key.span(), problem));
            }
        }
        Ok(table.iter().map(|(key, value)| (key.as_ref().as_ref(), value)).collect())
    }

    fn wrong(&self, key: &str, value: &Spanned<DeValue<'_>>, expected: &str) -> SettingsError {
        let found = match value.as_ref() {
            DeValue::String(text) => format!("\"{text}\""),
            DeValue::Integer(number) => number.to_string(),
            other => other.type_str().to_owned(),
        };
        self.error(value.span(), format!("{key}: found {found}, expected {expected}"))
    }

    fn boolean(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Result<Setting<bool>, SettingsError> {
        match value.as_ref() {
            DeValue::Boolean(flag) => Ok(self.setting(value.span(), *flag)),
            _ => Err(self.wrong(key, value, "true or false")),
        }
    }

    fn integer(&self, key: &str, value: &Spanned<DeValue<'_>>, range: Range<i64>) -> Result<Setting<i64>, SettingsError> {
        let expected = format!("a whole number from {} to {}", range.start, range.end - 1);
        let DeValue::Integer(number) = value.as_ref() else {
            return Err(self.wrong(key, value, &expected));
        };
        match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) if range.contains(&number) => Ok(self.setting(value.span(), number)),
            _ => Err(self.wrong(key, value, &expected)),
        }
    }

    fn string(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Result<Setting<String>, SettingsError> {
        match value.as_ref() {
            DeValue::String(text) if !text.trim().is_empty() => Ok(self.setting(value.span(), text.to_string())),
            _ => Err(self.wrong(key, value, "a text in quotes")),
        }
    }

    fn size(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Result<Setting<Bytes>, SettingsError> {
        let text = self.string(key, value).map_err(|_| self.wrong(key, value, "a size in quotes such as \"3G\""))?;
        let bytes = text.value.parse().map_err(|_| self.wrong(key, value, "a size such as \"3G\""))?;
        Ok(Setting::new(bytes, text.provenance))
    }

    /// One name or a list of names in order of preference.
    fn names(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Result<Setting<Vec<String>>, SettingsError> {
        let DeValue::Array(array) = value.as_ref() else {
            return self.string(key, value).map(|text| Setting::new(vec![text.value], text.provenance));
        };
        let names = array.iter().map(|item| self.string(key, item).map(|text| text.value)).collect::<Result<Vec<_>, _>>()?;
        if names.is_empty() {
            return Err(self.wrong(key, value, "at least one name"));
        }
        Ok(self.setting(value.span(), names))
    }

    fn table<'a, 'b>(&self, key: &str, value: &'b Spanned<DeValue<'a>>) -> Result<&'b DeTable<'a>, SettingsError> {
        match value.as_ref() {
            DeValue::Table(table) => Ok(table),
            _ => Err(self.wrong(key, value, &format!("a table: [{key}]"))),
        }
    }

    fn tables<'a, 'b>(
        &self,
        key: &str,
        value: &'b Spanned<DeValue<'a>>,
    ) -> Result<Vec<(Range<usize>, &'b DeTable<'a>)>, SettingsError> {
        let expected = format!("a list of tables: [[{key}]]");
        let DeValue::Array(array) = value.as_ref() else {
            return Err(self.wrong(key, value, &expected));
        };
        let table = |item: &'b Spanned<DeValue<'a>>| match item.as_ref() {
            DeValue::Table(table) => Ok((item.span(), table)),
            _ => Err(self.wrong(key, item, &expected)),
        };
        array.iter().map(table).collect()
    }

    fn zswap(&self, value: &Spanned<DeValue<'_>>) -> Result<ZswapSettings, SettingsError> {
        let known =
            ["enabled", "compressor", "zpool", "pool", "max_pool_percent", "accept_threshold_percent", "shrinker_enabled"];
        let mut zswap = ZswapSettings::default();
        for (key, value) in self.entries(" in [zswap]", self.table("zswap", value)?, &known)? {
            match key {
                "enabled" => zswap.enabled = Some(self.boolean(key, value)?),
                "compressor" => zswap.compressor = Some(self.names(key, value)?),
                "zpool" => zswap.zpool = Some(self.names(key, value)?),
                "pool" | "max_pool_percent" if zswap.pool.is_some() => {
                    return Err(self.error(value.span(), "pool and max_pool_percent say the same thing: keep one of them"));
                }
                "pool" => {
                    let size = self.size(key, value)?;
                    if size.value == Bytes(0) {
                        return Err(self.wrong(key, value, "a size above 0; `enabled = false` switches zswap off"));
                    }
                    zswap.pool = Some(Setting::new(PoolLimit::Size(size.value), size.provenance));
                }
                "max_pool_percent" => {
                    let percent = self.integer(key, value, 0..101)?;
                    zswap.pool = Some(Setting::new(PoolLimit::Percent(percent.value.unsigned_abs()), percent.provenance));
                }
                "accept_threshold_percent" => {
                    let percent = self.integer(key, value, 0..101)?;
                    zswap.accept_threshold_percent = Some(Setting::new(percent.value.unsigned_abs(), percent.provenance));
                }
                _ => zswap.shrinker_enabled = Some(self.boolean(key, value)?),
            }
        }
        Ok(zswap)
    }

    fn swap_area(&self, span: Range<usize>, table: &DeTable<'_>) -> Result<SwapWanted, SettingsError> {
        let mut area = SwapWanted {
            path: String::new(),
            size: None,
            priority: DEFAULT_SWAP_PRIORITY as i32,
            optional: None,
            discard_once: false,
        };
        for (key, value) in self.entries(" in [[swap]]", table, &["path", "size", "priority", "optional", "discard_once"])? {
            match key {
                "path" => area.path = self.string(key, value)?.value,
                "size" => area.size = Some(self.area_size(key, value)?),
                "priority" => area.priority = self.priority(key, value)?,
                "optional" => area.optional = Some(self.boolean(key, value)?.value),
                _ => area.discard_once = self.boolean(key, value)?.value,
            }
        }
        if crate::facts::is_place(&area.path) {
            Ok(area)
        } else {
            Err(self.error(
                span,
                "[[swap]] needs a path: a device, UUID=, LABEL=, PARTUUID=, PARTLABEL= or ID=, or the absolute path of a file",
            ))
        }
    }

    fn zram_device(&self, span: Range<usize>, table: &DeTable<'_>) -> Result<ZramWanted, SettingsError> {
        let algorithm = ["zstd", "lz4", "lzo-rle"].map(str::to_owned).to_vec();
        let mut zram = ZramWanted { size: Bytes(0), algorithm, priority: DEFAULT_ZRAM_PRIORITY as i32, mem_limit: Bytes(0) };
        for (key, value) in self.entries(" in [[zram]]", table, &["size", "algorithm", "priority", "mem_limit"])? {
            match key {
                "size" => zram.size = self.size(key, value)?.value,
                "algorithm" => zram.algorithm = self.names(key, value)?.value,
                "priority" => zram.priority = self.priority(key, value)?,
                _ => zram.mem_limit = self.size(key, value)?.value,
            }
        }
        if zram.size == Bytes(0) {
            return Err(self.error(span, "[[zram]] needs a size: the uncompressed capacity, for example size = \"4G\""));
        }
        Ok(zram)
    }

    fn area_size(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Result<Bytes, SettingsError> {
        let size = self.size(key, value)?.value;
        let expected = format!("at least \"{}\", the smallest area that mkswap(8) makes", SWAP_MIN.compact());
        if size < SWAP_MIN { Err(self.wrong(key, value, &expected)) } else { Ok(size) }
    }

    fn priority(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Result<i32, SettingsError> {
        let number = self.integer(key, value, 0..32768)?.value;
        Ok(i32::try_from(number).unwrap_or(i32::MAX))
    }

    fn boot(&self, value: &Spanned<DeValue<'_>>) -> Result<BootSettings, SettingsError> {
        let mut boot = BootSettings::default();
        for (key, value) in self.entries(" in [boot]", self.table("boot", value)?, &["kernel_arguments", "initramfs"])? {
            let slot = if key == "initramfs" { &mut boot.initramfs } else { &mut boot.kernel_arguments };
            *slot = Some(self.boolean(key, value)?);
        }
        Ok(boot)
    }

    fn safety(&self, value: &Spanned<DeValue<'_>>) -> Result<SafetySettings, SettingsError> {
        let mut safety = SafetySettings::default();
        for (key, value) in self.entries(" in [safety]", self.table("safety", value)?, &["kubelet"])? {
            let text = self.string(key, value)?;
            let rule = [KubeletRule::Refuse, KubeletRule::Allow].into_iter().find(|rule| rule.name() == text.value);
            let rule = rule.ok_or_else(|| self.wrong(key, value, "\"refuse\" or \"allow\""))?;
            safety.kubelet = Some(Setting::new(rule, text.provenance));
        }
        Ok(safety)
    }

    fn machine(&self, value: &Spanned<DeValue<'_>>) -> Result<MachineSettings, SettingsError> {
        let mut machine = MachineSettings::default();
        for (key, value) in self.entries(" in [machine]", self.table("machine", value)?, &["ram", "cpus"])? {
            if key == "ram" {
                let ram = self.size(key, value)?;
                if ram.value < SMALLEST_RAM {
                    return Err(self.wrong(key, value, "at least \"16M\", the RAM of the machine that the image is for"));
                }
                machine.ram = Some(ram);
            } else {
                let cpus = self.integer(key, value, 1..MOST_CPUS + 1)?;
                machine.cpus = Some(Setting::new(u32::try_from(cpus.value).unwrap_or(1), cpus.provenance));
            }
        }
        Ok(machine)
    }

    fn knobs(&self, value: &Spanned<DeValue<'_>>) -> Result<BTreeMap<String, Setting<String>>, SettingsError> {
        let mut wanted = BTreeMap::new();
        for (key, value) in self.table("knobs", value)?.iter() {
            let name: &str = key.as_ref();
            let knob = knobs::get(name).map_err(|error| self.error(key.span(), error.to_string()))?;
            if let Some(place) = belongs_elsewhere(name) {
                return Err(self.error(key.span(), format!("{name} is not set under [knobs]: {place}")));
            }
            let text = match value.as_ref() {
                DeValue::Integer(number) => number.to_string(),
                DeValue::Boolean(flag) => flag.to_string(),
                DeValue::String(text) => text.to_string(),
                _ => return Err(self.wrong(name, value, &knob.expected())),
            };
            let text = knob.normalise(&text).map_err(|error| self.error(value.span(), error.to_string()))?.into_owned();
            wanted.insert(name.to_owned(), self.setting(value.span(), text));
        }
        Ok(wanted)
    }

    fn remarks(&self, value: &Spanned<DeValue<'_>>) -> Result<BTreeMap<String, String>, SettingsError> {
        let table = self.table("remarks", value)?;
        table.iter().map(|(key, value)| Ok((key.as_ref().to_string(), self.string(key.as_ref(), value)?.value))).collect()
    }
}

/// Where a knob that has a section of its own is set instead.
fn belongs_elsewhere(name: &str) -> Option<&'static str> {
    if name.starts_with("zswap.") {
        Some("use the [zswap] section")
    } else if name.starts_with("zram.") {
        Some("use a [[zram]] section")
    } else if knobs::find(name).is_some_and(|knob| knob.is_pattern()) {
        Some("it exists once per device; swaptune derives it")
    } else {
        None
    }
}

/// Reads one configuration text. `path` is named in errors and provenance; `profile` marks the text of a profile.
///
/// # Errors
/// [`SettingsError`] for text that is not TOML, an unknown key (with the nearest name), a wrong type or a value out of range.
pub fn read_toml(path: &str, text: &str, profile: Option<&str>) -> Result<Settings, SettingsError> {
    let reader = Reader { path, text, profile };
    let root = DeTable::parse(text).map_err(|error| {
        let problem = format!("not valid TOML: {}", error.message());
        reader.error(error.span().unwrap_or(0..0), problem)
    })?;
    let mut settings = Settings::default();
    let known = ["profile", "zswap", "swap", "zram", "boot", "machine", "safety", "knobs", "remarks"];
    for (key, value) in reader.entries("", root.as_ref(), &known)? {
        match key {
            "profile" => settings.profile = Some(reader.string(key, value)?),
            "zswap" => settings.zswap = reader.zswap(value)?,
            "swap" => {
                let areas = reader.tables(key, value)?;
                let areas = areas.into_iter().map(|(span, table)| reader.swap_area(span, table)).collect::<Result<_, _>>()?;
                settings.swap = Some(reader.setting(value.span(), areas));
            }
            "zram" => {
                let devices = reader.tables(key, value)?;
                let devices =
                    devices.into_iter().map(|(span, table)| reader.zram_device(span, table)).collect::<Result<_, _>>()?;
                settings.zram = Some(reader.setting(value.span(), devices));
            }
            "boot" => settings.boot = reader.boot(value)?,
            "safety" => settings.safety = reader.safety(value)?,
            "machine" => settings.machine = reader.machine(value)?,
            "knobs" => settings.knobs = reader.knobs(value)?,
            _ => settings.remarks = reader.remarks(value)?,
        }
    }
    Ok(settings)
}

/// Reads `KNOB=VALUE`: a knob of the table, or a field of `[zswap]` or `[safety]` as `zswap.pool=3G`, `safety.kubelet=allow`.
pub(super) fn flag(flag: &str) -> Result<Settings, SettingsError> {
    let error = |problem: String| SettingsError { place: format!("--set {flag}"), problem };
    let (name, value) = flag.split_once('=').ok_or_else(|| error("expected KNOB=VALUE, for example vm.swappiness=100".into()))?;
    let text = if let Some(field) = name.strip_prefix("zswap.") {
        let bare = value.parse::<i64>().is_ok() || matches!(value, "true" | "false");
        let value = match (field, value) {
            ("enabled" | "shrinker_enabled", "Y" | "1") => "true".to_owned(),
            ("enabled" | "shrinker_enabled", "N" | "0") => "false".to_owned(),
            _ if bare => value.to_owned(),
            _ => toml::Value::String(value.to_owned()).to_string(),
        };
        format!("[zswap]\n{field} = {value}")
    } else if let Some(field) = name.strip_prefix("safety.") {
        format!("[safety]\n{field} = {}", toml::Value::String(value.to_owned()))
    } else {
        knobs::get(name).map_err(|unknown: KnobError| error(unknown.to_string()))?;
        format!("[knobs]\n\"{name}\" = {}", toml::Value::String(value.to_owned()))
    };
    let mut settings = read_toml("--set", &text, None).map_err(|inner| error(inner.problem))?;
    let provenance = || Provenance::Flag(format!("--set {flag}"));
    for setting in settings.knobs.values_mut() {
        setting.provenance = provenance();
    }
    let zswap = &mut settings.zswap;
    mark(&mut zswap.enabled, provenance());
    mark(&mut zswap.compressor, provenance());
    mark(&mut zswap.zpool, provenance());
    mark(&mut zswap.pool, provenance());
    mark(&mut zswap.accept_threshold_percent, provenance());
    mark(&mut zswap.shrinker_enabled, provenance());
    mark(&mut settings.safety.kubelet, provenance());
    Ok(settings)
}

fn mark<T>(setting: &mut Option<Setting<T>>, provenance: Provenance) {
    if let Some(setting) = setting {
        setting.provenance = provenance;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = r#"
profile = "idle-guide"
[zswap]
enabled = true
compressor = ["lz4", "zstd"]
pool = "3G"
shrinker_enabled = true
[[swap]]
path = "/dev/vdb"
priority = 10
optional = false
[[zram]]
size = "4G"
[knobs]
"vm.swappiness" = 80
"transparent_hugepage.enabled" = "madvise"
"#;

    #[test]
    fn a_whole_file_is_read_with_provenance() {
        let settings = read_toml("/etc/swaptune/config.toml", WHOLE, None).unwrap();
        assert_eq!(settings.zswap.pool.unwrap().value, PoolLimit::Size(Bytes::from_gib(3)));
        assert_eq!(settings.zswap.compressor.unwrap().value, ["lz4", "zstd"]);
        let swap = settings.swap.unwrap().value;
        assert!((swap[0].path.as_str(), swap[0].priority, swap[0].optional) == ("/dev/vdb", 10, Some(false)));
        let swappiness = &settings.knobs["vm.swappiness"];
        assert_eq!(swappiness.value, "80");
        assert_eq!(swappiness.provenance.to_string(), "/etc/swaptune/config.toml:15");
    }

    #[test]
    fn bad_configurations_get_a_sentence_with_the_line() {
        let check = |text: &str, expect: &str| {
            let error = read_toml("c.toml", text, None).unwrap_err().to_string();
            assert!(error.contains(expect), "{text:?} gave: {error}");
        };
        check("[zswap]\ncompresser = \"lz4\"", "c.toml:2: unknown key `compresser` in [zswap]; did you mean `compressor`?");
        check("[zswap]\nenabled = \"yes\"", "c.toml:2: enabled: found \"yes\", expected true or false");
        check("[zswap]\nmax_pool_percent = 150", "found 150, expected a whole number from 0 to 100");
        check("[zswap]\npool = 3", "found 3, expected a size in quotes");
        check("[zswap]\npool = \"3G\"\nmax_pool_percent = 20", "keep one of them");
        check("[[swap]]\nsize = \"1G\"", "[[swap]] needs a path");
        check("swap = 3", "expected a list of tables: [[swap]]");
        check("[[zram]]\npriority = 5", "[[zram]] needs a size");
        check("[knobs]\n\"vm.swapiness\" = 3", "did you mean `vm.swappiness`?");
        check("[knobs]\n\"vm.swappiness\" = 300", "expected a whole number from 0 to 200");
        check("[knobs]\n\"zswap.enabled\" = true", "use the [zswap] section");
        check("[[swap]]\npath = \"/x\"\npriority = 40000", "from 0 to 32767");
        check("[[swap]]\npath = \"/x\"\npriority = -1", "found -1, expected a whole number from 0 to 32767");
        check("[[zram]]\nsize = \"1G\"\npriority = 32768", "from 0 to 32767");
        check("[[swap]]\npath = \"/x\"\nsize = \"0\"", "c.toml:3: size: found \"0\", expected at least \"40K\"");
        check("[[zram]]\nsize = \"0\"", "[[zram]] needs a size");
        check("[[zram]]\nsize = \"99999999T\"", "expected a size such as");
        check("[zswap]\npool = \"0\"", "expected a size above 0");
        check("[safety]\nkubelet = \"yes\"", "c.toml:2: kubelet: found \"yes\", expected \"refuse\" or \"allow\"");
        check("[safety]\nkublet = \"allow\"", "did you mean `kubelet`?");
        check("profile = ", "c.toml:1: not valid TOML");
        check("[machine]\nram = 4", "found 4, expected a size in quotes");
        check("[machine]\nram = \"4K\"", "expected at least \"16M\"");
        check("[machine]\ncpus = 0", "found 0, expected a whole number from 1 to 8192");
        check("[machine]\ndisk = \"nvme\"", "unknown key `disk` in [machine]; known are ram, cpus");
        check("colour = 1", "unknown key `colour`; known are profile");
    }

    #[test]
    fn flags_are_settings_too() {
        let settings = Settings::from_flag("vm.swappiness=100").unwrap();
        assert_eq!(settings.knobs["vm.swappiness"].provenance.to_string(), "flag --set vm.swappiness=100");
        assert_eq!(Settings::from_flag("zswap.pool=3G").unwrap().zswap.pool.unwrap().value, PoolLimit::Size(Bytes::from_gib(3)));
        assert_eq!(Settings::from_flag("zswap.compressor=lz4").unwrap().zswap.compressor.unwrap().value, ["lz4"]);
        assert!(Settings::from_flag("zswap.enabled=N").unwrap().zswap.enabled.is_some_and(|on| !on.value));
        let allowed = Settings::from_flag("safety.kubelet=allow").unwrap();
        assert!(allowed.allows_kubelet() && !Settings::from_flag("safety.kubelet=refuse").unwrap().allows_kubelet());
        assert_eq!(allowed.safety.kubelet.unwrap().provenance.to_string(), "flag --set safety.kubelet=allow");
        for bad in [
            "safety.kubelet=maybe",
            "safety.node=allow",
            "vm.swappiness",
            "vm.swapiness=3",
            "vm.swappiness=900",
            "zswap.pol=3G",
            "zswap.enabled=maybe",
        ] {
            let error = Settings::from_flag(bad).unwrap_err();
            assert!(error.place.contains(bad), "{error}");
        }
    }

    #[test]
    fn a_later_layer_wins_field_by_field() {
        let below = read_toml("a", "[zswap]\nenabled = true\npool = \"1G\"\n[knobs]\n\"vm.swappiness\" = 10", None).unwrap();
        let above = read_toml("b", "[zswap]\npool = \"2G\"\n[knobs]\n\"vm.page-cluster\" = 0", None).unwrap();
        let both = below.overlay(above);
        assert!(both.wants_zswap());
        assert_eq!(both.zswap.pool.unwrap().value, PoolLimit::Size(Bytes::from_gib(2)));
        assert_eq!(both.knobs.len(), 2);
    }
}
