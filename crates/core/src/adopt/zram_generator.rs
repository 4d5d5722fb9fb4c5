//! zram-generator: its swap devices.

use super::{Taken, at, is_active};
use crate::facts::{Facts, ZramDevice};
use crate::parse::expression::{self, ExpressionError};
use crate::parse::zram_generator::{GeneratorDevice, GeneratorKey, devices_of};
use crate::settings::{SettingsError, ZramWanted};
use crate::units::Bytes;

/// What the generator makes where no size is written.
const DEFAULT_SIZE: &str = "min(ram / 2, 4096)";
const DEFAULT_PRIORITY: i32 = 100;

/// Why devices stay with the generator.
enum Stays {
    /// The configuration is wrong, and the generator would say so too.
    Wrong(SettingsError),
    /// It says what swaptune cannot.
    Beyond(String, String),
}

/// All devices, or none: the silence that is put on the generator is for all of its swap devices.
pub(super) fn read(facts: &Facts, taken: &mut Taken) -> Result<(), SettingsError> {
    // rpi-swap writes drop-ins of the generator at boot; what it wants is in its own file.
    if !is_active(facts, "zram-generator") || is_active(facts, "rpi-swap") {
        return Ok(());
    }
    let ram = facts.memory.total();
    let devices = devices_of(facts, "");
    let devices: Vec<&GeneratorDevice> = devices.iter().filter(|device| device.is_swap() && !device.is_left_out(ram)).collect();
    match devices.iter().enumerate().map(|(number, device)| wanted(facts, number, device)).collect::<Result<Vec<_>, _>>() {
        Ok(wanted) => {
            devices.iter().for_each(|device| left_out(taken, device));
            let place = devices.first().map_or_else(|| at("", 0), |device| place(device));
            taken.zram("zram-generator", wanted, place)
        }
        Err(Stays::Wrong(error)) => Err(error),
        Err(Stays::Beyond(why, place)) => {
            taken
                .note(format!("zram stays with zram-generator: {why}; a [[zram]] section with a size would take it over"), place);
            Ok(())
        }
    }
}

/// Where a device is configured: its first key, else its file.
fn place(device: &GeneratorDevice) -> crate::settings::Provenance {
    let key = device.keys.get("zram-size").or_else(|| device.keys.values().next());
    key.map_or_else(|| at(&device.path, 1), |key| at(&key.path, key.line))
}

fn wanted(facts: &Facts, number: usize, device: &GeneratorDevice) -> Result<ZramWanted, Stays> {
    if device.name != format!("zram{number}") {
        let why = format!("{} would become zram{number}, for swaptune counts its devices from zram0", device.name);
        return Err(Stays::Beyond(why, place(device).to_string()));
    }
    if let Some(key) = device.keys.iter().find(|(name, _)| name.starts_with("set!")).map(|(_, key)| key) {
        let why = format!("{} takes a variable from a program", device.name);
        return Err(Stays::Beyond(why, line_of(key)));
    }
    let live = facts.zram.devices.iter().find(|live| live.name == device.name && live.disksize > Bytes(0));
    let mut algorithms = algorithms(device).into_iter();
    Ok(ZramWanted {
        size: rounded(size(facts, device)?, live),
        algorithm: algorithms.next().map_or_else(|| kernels_own(facts, live), |name| vec![name]),
        priority: priority(device)?,
        mem_limit: limit(facts, device)?,
        recomp_algorithm: algorithms.take(3).collect(),
        backing_dev: device.keys.get("writeback-device").map(|key| key.value.clone()).filter(|path| path.starts_with("/dev/")),
    })
}

fn line_of(key: &GeneratorKey) -> String {
    format!("{}:{}", key.path, key.line)
}

/// The capacity; the older keys count where one of them is there.
fn size(facts: &Facts, device: &GeneratorDevice) -> Result<Bytes, Stays> {
    let key = |name: &str| device.keys.get(name);
    let (fraction, most) = (key("zram-fraction"), key("max-zram-size"));
    if key("zram-size").is_some() || (fraction.is_none() && most.is_none()) {
        return evaluated(facts, key("zram-size"), DEFAULT_SIZE);
    }
    let share = number(fraction, 0.5)?;
    let most = if most.is_some_and(|most| most.value == "none") { f64::INFINITY } else { number(most, 4096.0)? };
    Ok(of_mib((facts.memory.total().mib() as f64 * share).floor().min(most)))
}

fn number(key: Option<&GeneratorKey>, default: f64) -> Result<f64, Stays> {
    let Some(key) = key else { return Ok(default) };
    let number = key.value.parse::<f64>().ok().filter(|number| *number >= 0.0 && number.is_finite());
    number.ok_or_else(|| wrong(key, "a number"))
}

fn wrong(key: &GeneratorKey, expected: &str) -> Stays {
    Stays::Wrong(SettingsError { place: line_of(key), problem: format!("found \"{}\", expected {expected}", key.value) })
}

fn of_mib(mib: f64) -> Bytes {
    Bytes((mib * f64::from(1u32 << 20)) as u64)
}

/// An expression on this machine's RAM.
fn evaluated(facts: &Facts, key: Option<&GeneratorKey>, default: &str) -> Result<Bytes, Stays> {
    let text = key.map_or(default, |key| key.value.as_str());
    let place = key.map_or_else(|| "zram-generator.conf(5)".to_owned(), line_of);
    let ram = facts.memory.total();
    if ram == Bytes(0) {
        return Err(Stays::Beyond(format!("`{text}` needs the size of RAM, which is unknown here"), place));
    }
    match expression::mib(text, ram.0 as f64 / f64::from(1u32 << 20)) {
        Ok(mib) => Ok(of_mib(mib)),
        Err(ExpressionError::Unknown(name)) => Err(Stays::Beyond(ExpressionError::Unknown(name).to_string(), place)),
        Err(error) => Err(Stays::Wrong(SettingsError { place, problem: format!("`{text}`: {error}") })),
    }
}

/// The size of the device that is on, where it is the same to the MiB: the kernel rounds to pages.
fn rounded(size: Bytes, live: Option<&ZramDevice>) -> Bytes {
    live.map(|live| live.disksize).filter(|live| live.0.abs_diff(size.0) < Bytes::from_mib(1).0).unwrap_or(size)
}

/// The compressors without their parameters: the first one, and those for recompression. A group in parentheses that follows no
/// name is for all, and the generator itself does nothing with it (zram-generator 1.2.1, src/config.rs).
fn algorithms(device: &GeneratorDevice) -> Vec<String> {
    let text = device.keys.get("compression-algorithm").map_or("", |key| key.value.as_str());
    let words = text.split(')').flat_map(|part| part.split('(').next().unwrap_or_default().split_whitespace());
    words.map(str::to_owned).collect()
}

/// What a device has where no compressor was asked for.
pub(super) fn kernels_own(facts: &Facts, live: Option<&ZramDevice>) -> Vec<String> {
    let of_live = live.and_then(|live| live.algorithm.value().cloned());
    let config = facts.kernel.config.value().and_then(|config| config.get("CONFIG_ZRAM_DEF_COMP").cloned());
    let first = of_live.or(config.map(|name| name.trim_matches('"').to_owned()));
    first.map_or_else(|| ["lzo-rle", "lzo"].map(str::to_owned).to_vec(), |name| vec![name])
}

fn priority(device: &GeneratorDevice) -> Result<i32, Stays> {
    let Some(key) = device.keys.get("swap-priority") else { return Ok(DEFAULT_PRIORITY) };
    match key.value.parse::<i32>() {
        Ok(number @ 0..=32767) => Ok(number),
        Ok(-1) => Err(Stays::Beyond("-1 leaves the order of areas to the kernel".into(), line_of(key))),
        _ => Err(wrong(key, "a priority from -1 to 32767")),
    }
}

fn limit(facts: &Facts, device: &GeneratorDevice) -> Result<Bytes, Stays> {
    match device.keys.get("zram-resident-limit") {
        Some(key) if key.value != "0" => evaluated(facts, Some(key), "0"),
        _ => Ok(Bytes(0)),
    }
}

/// What a device has that swaptune does not set up.
fn left_out(taken: &mut Taken, device: &GeneratorDevice) {
    let key = |name: &str| device.keys.get(name);
    if let Some(key) = key("compression-algorithm").filter(|key| key.value.contains('(')) {
        let text = format!(
            "of `{}` the names are taken, without parameters; which pages are compressed again `swaptune daemon` decides",
            key.value
        );
        taken.note(text, line_of(key));
    }
    if let Some(key) = key("writeback-device").filter(|key| !key.value.is_empty() && !key.value.starts_with("/dev/")) {
        taken.note(format!("writeback-device `{}` is left out: it is no block device", key.value), line_of(key));
    }
    if let Some(key) = key("options").filter(|key| key.value != "discard") {
        taken.note(
            format!("{}: the options `{}` are left out; freed slots are given back in any case", device.name, key.value),
            line_of(key),
        );
    }
}
