//! Configuration text → settings. Every error names the file, the line, what was found and what was expected.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{
    BootSettings, EncryptRule, KeepSettings, KubeletRule, MachineSettings, Provenance, SafetySettings, Setting, Settings,
    SwapWanted, UnitSettings, WantedParameter, ZramWanted, ZswapSettings, keep,
};
use crate::control::figures::{self, Figure, FigureUnit};
use crate::knobs::{self, Knob, KnobError, KnobKind};
use crate::units::Bytes;
use swaptune_kernel::nearest;

/// Priority of a swap area when none is written, as in the guide that the `idle-guide` profile follows.
const DEFAULT_SWAP_PRIORITY: i64 = 10;
/// Priority of zram when none is written: above every disk.
const DEFAULT_ZRAM_PRIORITY: i64 = 100;

/// The key of `[zswap]` that is no parameter: `max_pool_percent` as a size.
const POOL: &str = "pool";
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
struct TableReader<'a> {
    path: &'a str,
    text: &'a str,
    /// `None` for a file, else the profile whose text this is.
    profile: Option<&'a str>,
}

type Entry<'a, 'b> = (&'b str, &'b Spanned<DeValue<'a>>);

impl TableReader<'_> {
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
        Ok(text.map(|_| bytes))
    }

    /// One name or a list of names in order of preference.
    fn names(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Result<Setting<Vec<String>>, SettingsError> {
        let DeValue::Array(array) = value.as_ref() else {
            return self.string(key, value).map(|text| text.map(|name| vec![name]));
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
        let rows: Vec<&'static Knob> = ZswapSettings::rows().collect();
        let known: Vec<&str> = rows.iter().map(|row| row.parameter()).chain([POOL]).collect();
        let mut zswap = ZswapSettings::default();
        for (key, value) in self.entries(" in [zswap]", self.table("zswap", value)?, &known)? {
            let name = if key == POOL { "max_pool_percent" } else { key };
            let Some(row) = rows.iter().find(|row| row.parameter() == name) else { continue };
            let wanted = if key == POOL { self.pool(value)? } else { self.parameter(row, value)? };
            if zswap.set(row, wanted).is_some() {
                return Err(self.error(value.span(), "pool and max_pool_percent say the same thing: keep one of them"));
            }
        }
        Ok(zswap)
    }

    /// A value in the form that the kind of its row takes.
    fn parameter(&self, row: &Knob, value: &Spanned<DeValue<'_>>) -> Result<Setting<WantedParameter>, SettingsError> {
        let key = row.parameter();
        Ok(match row.kind {
            KnobKind::Bool => self.boolean(key, value)?.map(WantedParameter::Flag),
            KnobKind::Integer { min, max } => self.integer(key, value, min..max + 1)?.map(WantedParameter::Number),
            KnobKind::Choice(words) => self.choices(key, value, words)?.map(WantedParameter::Names),
            _ => self.names(key, value)?.map(WantedParameter::Names),
        })
    }

    /// Names of which each is one of these words.
    fn choices(&self, key: &str, value: &Spanned<DeValue<'_>>, words: &[&str]) -> Result<Setting<Vec<String>>, SettingsError> {
        let names = self.names(key, value)?;
        match names.value.iter().find(|name| !words.contains(&name.as_str())) {
            Some(name) => Err(self.error(value.span(), format!("{key}: found \"{name}\", expected one of {}", words.join(", ")))),
            None => Ok(names),
        }
    }

    /// The limit of the pool as a size.
    fn pool(&self, value: &Spanned<DeValue<'_>>) -> Result<Setting<WantedParameter>, SettingsError> {
        let size = self.size(POOL, value)?;
        if size.value == Bytes(0) {
            return Err(self.wrong(POOL, value, "a size above 0; `enabled = false` switches zswap off"));
        }
        Ok(size.map(WantedParameter::Size))
    }

    fn swap_area(&self, span: Range<usize>, table: &DeTable<'_>) -> Result<SwapWanted, SettingsError> {
        let mut area = SwapWanted {
            path: String::new(),
            size: None,
            priority: DEFAULT_SWAP_PRIORITY as i32,
            optional: None,
            discard_once: false,
            encrypt: None,
        };
        let known = ["path", "label", "partuuid", "size", "priority", "optional", "discard_once", "encrypt"];
        for (key, value) in self.entries(" in [[swap]]", table, &known)? {
            match key {
                "path" | "label" | "partuuid" if !area.path.is_empty() => {
                    return Err(self.error(value.span(), "path, label and partuuid each name the area: keep one of them"));
                }
                "path" => area.path = self.string(key, value)?.value,
                "label" | "partuuid" => {
                    area.path = format!("{}={}", key.to_ascii_uppercase(), self.string(key, value)?.value);
                }
                "encrypt" => area.encrypt = Some(self.encrypt(key, value)?),
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

    fn encrypt(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Result<EncryptRule, SettingsError> {
        let text = self.string(key, value)?.value;
        let rule = EncryptRule::ALL.into_iter().find(|rule| rule.name() == text);
        rule.ok_or_else(|| self.wrong(key, value, "\"random\", \"luks\" or \"none\""))
    }

    fn zram_device(&self, span: Range<usize>, table: &DeTable<'_>) -> Result<ZramWanted, SettingsError> {
        let algorithm = ["zstd", "lz4", "lzo-rle"].map(str::to_owned).to_vec();
        let mut zram = ZramWanted { algorithm, priority: DEFAULT_ZRAM_PRIORITY as i32, ..ZramWanted::default() };
        let keys = ["size", "algorithm", "priority", "mem_limit", "recomp_algorithm", "backing_dev"];
        for (key, value) in self.entries(" in [[zram]]", table, &keys)? {
            match key {
                "size" => zram.size = self.area_size(key, value)?,
                "algorithm" => zram.algorithm = self.names(key, value)?.value,
                "priority" => zram.priority = self.priority(key, value)?,
                "recomp_algorithm" => zram.recomp_algorithm = self.secondary(key, value)?,
                "backing_dev" => zram.backing_dev = Some(self.backing_dev(key, value)?),
                _ => zram.mem_limit = self.size(key, value)?.value,
            }
        }
        if zram.size == Bytes(0) {
            return Err(self.error(span, "[[zram]] needs a size: the uncompressed capacity, for example size = \"4G\""));
        }
        Ok(zram)
    }

    /// zram has four places for compressors, and the first one is the primary (drivers/block/zram/zram_drv.h, `ZRAM_MAX_COMPS`).
    fn secondary(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Result<Vec<String>, SettingsError> {
        let names = self.names(key, value)?.value;
        if names.len() > 3 { Err(self.wrong(key, value, "at most three compressors")) } else { Ok(names) }
    }

    fn backing_dev(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Result<String, SettingsError> {
        let name = self.string(key, value)?.value;
        let is_name =
            name.starts_with("/dev/") || name.split_once('=').is_some_and(|(tag, _)| tag == "PARTUUID" || tag == "PARTLABEL");
        if is_name {
            Ok(name)
        } else {
            Err(self.wrong(key, value, "a block device: \"/dev/…\", or \"PARTUUID=…\", by which a boot finds it again"))
        }
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
            safety.kubelet = Some(text.map(|_| rule));
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
                machine.cpus = Some(cpus.map(|cpus| u32::try_from(cpus).unwrap_or(1)));
            }
        }
        Ok(machine)
    }

    fn keep(&self, value: &Spanned<DeValue<'_>>) -> Result<KeepSettings, SettingsError> {
        let mut keep = KeepSettings::default();
        for (key, value) in self.entries(" in [keep]", self.table("keep", value)?, &KeepSettings::keys())? {
            if let Some(law) = keep::LAWS.into_iter().find(|law| *law == key) {
                keep.laws.insert(law, self.boolean(key, value)?);
            } else if let Some(row) = figures::find(key) {
                keep.figures.insert(row.name, self.figure(row, value)?);
            } else if key == keep::UNITS {
                keep.units = self.units(value)?;
            } else {
                keep.never = Some(self.names(key, value)?);
            }
        }
        Ok(keep)
    }

    fn units(&self, value: &Spanned<DeValue<'_>>) -> Result<BTreeMap<String, UnitSettings>, SettingsError> {
        let known: Vec<&str> = [keep::NEVER].into_iter().chain(keep::OF_UNITS).collect();
        let mut units = BTreeMap::new();
        for (name, value) in self.table("keep.units", value)?.iter() {
            let (name, mut unit) = (name.as_ref().as_ref(), UnitSettings::default());
            let DeValue::Table(table) = value.as_ref() else {
                return Err(self.wrong(name, value, &format!("a table: [keep.units.\"{name}\"]")));
            };
            for (key, value) in self.entries(&format!(" in [keep.units.\"{name}\"]"), table, &known)? {
                match figures::find(key) {
                    Some(row) => _ = unit.figures.insert(row.name, self.figure(row, value)?),
                    None => unit.never = Some(self.boolean(key, value)?),
                }
            }
            units.insert(name.to_owned(), unit);
        }
        Ok(units)
    }

    /// A figure in the form that its unit takes, within its range.
    fn figure(&self, row: &Figure, value: &Spanned<DeValue<'_>>) -> Result<Setting<u64>, SettingsError> {
        let range = row.min..=row.max;
        let (found, expected) = if row.unit == FigureUnit::Bytes {
            let size = self.size(row.name, value).ok().map(|size| size.map(|bytes| bytes.0));
            (size, format!("a size from {} to {}", row.unit.show(row.min), row.unit.show(row.max)))
        } else {
            let number = self.integer(row.name, value, 0..i64::MAX).ok().map(|number| number.map(i64::unsigned_abs));
            (number, format!("a whole number from {} to {} ({})", row.min, row.max, row.unit.name()))
        };
        found.filter(|found| range.contains(&found.value)).ok_or_else(|| self.wrong(row.name, value, &expected))
    }

    fn knobs(&self, value: &Spanned<DeValue<'_>>) -> Result<BTreeMap<String, Setting<String>>, SettingsError> {
        let mut wanted = BTreeMap::new();
        for (key, value) in self.table("knobs", value)?.iter() {
            let name: &str = key.as_ref();
            let knob = knobs::get(name).map_err(|error| self.error(key.span(), error.to_string()))?;
            let none = |why| self.error(key.span(), format!("{name} cannot be configured: {why}"));
            let (own, section) = knob.key().map_err(none)?;
            if section != "[knobs]" {
                return Err(self.error(key.span(), format!("{name} is not a key of [knobs]: write {own} under {section}")));
            }
            let text = match value.as_ref() {
                DeValue::Integer(number) => number.to_string(),
                DeValue::Boolean(flag) => flag.to_string(),
                DeValue::String(text) => text.to_string(),
                _ => return Err(self.wrong(name, value, &knob.expected())),
            };
            let text = knob.normalise(&text).map_err(|error| self.error(value.span(), error.to_string()))?.into_owned();
            if let Some(other) = knob.excluded().filter(|other| wanted.contains_key(other.name)) {
                let problem = format!(
                    "{name} and {} exclude each other: the kernel sets one to 0 when the other is written; keep one of them",
                    other.name
                );
                return Err(self.error(key.span(), problem));
            }
            wanted.insert(name.to_owned(), self.setting(value.span(), text));
        }
        Ok(wanted)
    }

    fn remarks(&self, value: &Spanned<DeValue<'_>>) -> Result<BTreeMap<String, String>, SettingsError> {
        let table = self.table("remarks", value)?;
        table.iter().map(|(key, value)| Ok((key.as_ref().to_string(), self.string(key.as_ref(), value)?.value))).collect()
    }
}

/// Reads one configuration text. `path` is named in errors and provenance; `profile` marks the text of a profile.
///
/// # Errors
/// [`SettingsError`] for text that is not TOML, an unknown key (with the nearest name), a wrong type or a value out of range.
pub fn read_toml(path: &str, text: &str, profile: Option<&str>) -> Result<Settings, SettingsError> {
    let reader = TableReader { path, text, profile };
    let root = DeTable::parse(text).map_err(|error| {
        let problem = format!("not valid TOML: {}", error.message());
        reader.error(error.span().unwrap_or(0..0), problem)
    })?;
    let mut settings = Settings::default();
    let known = ["profile", "zswap", "swap", "zram", "boot", "machine", "safety", "keep", "knobs", "remarks"];
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
            "keep" => settings.keep = reader.keep(value)?,
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
        let switch = knobs::find(name).filter(|row| row.kind == KnobKind::Bool).and_then(|row| row.normalise(value).ok());
        let value = match switch.as_deref() {
            Some(on) => (on == "Y").to_string(),
            None if bare => value.to_owned(),
            None => toml::Value::String(value.to_owned()).to_string(),
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
    settings.zswap.mark(&provenance());
    if let Some(rule) = &mut settings.safety.kubelet {
        rule.provenance = provenance();
    }
    Ok(settings)
}
