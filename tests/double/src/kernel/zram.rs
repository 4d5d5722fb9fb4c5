//! The zram driver of a fixture: folders and files that follow what is written to them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{FixtureKernel, gone};

/// Attributes of a device that is not set up.
const ATTRIBUTES: [(&str, &str); 9] = [
    ("disksize", "0\n"),
    ("initstate", "0\n"),
    ("comp_algorithm", "lzo [lzo-rle] lz4 zstd\n"),
    ("mem_limit", ""),
    ("reset", ""),
    ("mm_stat", "0 0 0 0 0 0 0 0 0\n"),
    ("backing_dev", "none\n"),
    ("recomp_algorithm", ""),
    ("size", "0\n"),
];

/// A file of a fixture that says how many pages are idle: so many can be written back, or shrink to half when they are compressed again.
const IDLE: &str = "fixture_idle";
/// A fixture with this file notes no times of pages.
const NO_TIMES: &str = "fixture_no_times";

pub(crate) fn load(kernel: &FixtureKernel) -> io::Result<()> {
    let control = kernel.path("/sys/class/zram-control");
    if !control.exists() {
        fs::create_dir_all(&control)?;
        fs::write(control.join("hot_add"), "")?;
        fs::write(control.join("hot_remove"), "")?;
        // num_devices is 1 by default: loading the module makes zram0.
        add(kernel)?;
    }
    Ok(())
}

/// All devices, which must not be in use.
pub(crate) fn remove_all(kernel: &FixtureKernel) -> io::Result<()> {
    for number in 0..32 {
        let name = format!("zram{number}");
        if device(kernel, &name).exists() {
            remove(kernel, &name)?;
        }
    }
    Ok(())
}

/// The driver, of which no device is left.
pub(crate) fn unload(kernel: &FixtureKernel) -> io::Result<()> {
    gone(fs::remove_dir_all(kernel.path("/sys/class/zram-control")))
}

pub(crate) fn add(kernel: &FixtureKernel) -> io::Result<String> {
    if !kernel.path("/sys/class/zram-control").exists() {
        return Err(io::Error::from_raw_os_error(libc::ENOENT));
    }
    let free = (0..32).map(|number| format!("zram{number}")).find(|name| !device(kernel, name).exists());
    let name = free.ok_or_else(|| io::Error::from_raw_os_error(libc::ENOSPC))?;
    let made = aside(kernel, &name)?;
    fs::create_dir_all(&made)?;
    for (attribute, text) in ATTRIBUTES {
        fs::write(made.join(attribute), text)?;
    }
    fs::create_dir_all(kernel.path("/sys/block"))?;
    fs::rename(made, device(kernel, &name))?;
    fs::create_dir_all(kernel.path("/dev"))?;
    fs::write(kernel.path(&format!("/dev/{name}")), "")?;
    Ok(name)
}

/// Where the folder of a device is made and taken apart, so that a kill leaves all of its attributes or none, as with a kernel. What an
/// earlier kill left there is gone.
fn aside(kernel: &FixtureKernel, name: &str) -> io::Result<PathBuf> {
    let path = kernel.path(&format!("/run/fixture-{name}"));
    gone(fs::remove_dir_all(&path))?;
    fs::create_dir_all(kernel.path("/run")).map(|()| path)
}

/// A kernel removes a device with its node in one go. Here a kill may leave one without a node, and removing that must work: the folder, by
/// which a device is known, goes last.
pub(crate) fn remove(kernel: &FixtureKernel, name: &str) -> io::Result<()> {
    match fs::read_to_string(device(kernel, name).join("initstate")) {
        Ok(state) if state.trim() != "0" => return Err(io::Error::from_raw_os_error(libc::EBUSY)),
        read => drop(read?),
    }
    gone(fs::remove_file(kernel.path(&format!("/dev/{name}"))))?;
    let taken_apart = aside(kernel, name)?;
    fs::rename(device(kernel, name), &taken_apart)?;
    fs::remove_dir_all(taken_apart)
}

/// What follows from a write to an attribute.
pub(crate) fn written(kernel: &FixtureKernel, path: &Path, value: &str) -> io::Result<()> {
    let name = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
    let attribute = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let folder = device(kernel, &name);
    if !name.starts_with("zram") || path.parent() != Some(&folder) {
        return Ok(());
    }
    match attribute.as_str() {
        "disksize" => set_up(kernel, &name, value.parse().unwrap_or(0)),
        "mem_limit" => {
            kernel.replace(path, "")?;
            kernel.replace(&folder.join("mm_stat"), &format!("0 0 0 {value} 0 0 0 0 0\n"))
        }
        "recomp_algorithm" => add_secondary(kernel, &folder, value),
        "backing_dev" => kernel.replace(path, &format!("{value}\n")),
        "idle" if value != "all" && folder.join(NO_TIMES).exists() => Err(io::Error::from_raw_os_error(libc::EINVAL)),
        "writeback" => write_back(&folder),
        "recompress" => recompress(&folder, value),
        "reset" => {
            for (attribute, text) in ATTRIBUTES {
                kernel.replace(&folder.join(attribute), text)?;
            }
            fs::write(kernel.path(&format!("/dev/{name}")), "")
        }
        _ => Ok(()),
    }
}

/// `algo=zstd priority=1` becomes a line `#1: lzo lzo-rle lz4 [zstd]`, below those that were there (recomp_algorithm_show()).
fn add_secondary(kernel: &FixtureKernel, folder: &Path, words: &str) -> io::Result<()> {
    let word = |key: &str| words.split_whitespace().find_map(|word| word.strip_prefix(key));
    let (Some(name), Some(priority)) = (word("algo="), word("priority=")) else {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    };
    let offered = fs::read_to_string(folder.join("comp_algorithm"))?.replace(['[', ']'], "");
    if !offered.split_whitespace().any(|offered| offered == name) {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    let names: Vec<String> =
        offered.split_whitespace().map(|offered| if offered == name { format!("[{name}]") } else { offered.into() }).collect();
    let shown = folder.join("recomp_algorithm");
    let before = fs::read_to_string(&shown)?;
    kernel.replace(&shown, &format!("{before}#{priority}: {}\n", names.join(" ")))
}

fn number(folder: &Path, file: &str, place: usize) -> u64 {
    let text = fs::read_to_string(folder.join(file)).unwrap_or_default();
    text.split_whitespace().nth(place).and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// Writes idle pages until none is left or the limit is reached, which counts down (drivers/block/zram/zram_drv.c, writeback_store()).
fn write_back(folder: &Path) -> io::Result<()> {
    let (idle, limit) = (number(folder, IDLE, 0), number(folder, "writeback_limit", 0));
    let is_limited = number(folder, "writeback_limit_enable", 0) == 1;
    let pages = if is_limited { idle.min(limit) } else { idle };
    let (there, reads, written) = (number(folder, "bd_stat", 0), number(folder, "bd_stat", 1), number(folder, "bd_stat", 2));
    fs::write(folder.join("bd_stat"), format!("{} {reads} {}\n", there + pages, written + pages))?;
    fs::write(folder.join(IDLE), (idle - pages).to_string())?;
    shrink(folder, pages * 4096)?;
    if is_limited {
        fs::write(folder.join("writeback_limit"), format!("{}\n", limit - pages))?;
    }
    if pages < idle { Err(io::Error::from_raw_os_error(libc::EIO)) } else { Ok(()) }
}

fn recompress(folder: &Path, words: &str) -> io::Result<()> {
    let most = words.split_whitespace().find_map(|word| word.strip_prefix("max_pages=")?.parse().ok()).unwrap_or(u64::MAX);
    let (idle, pages) = (number(folder, IDLE, 0), number(folder, IDLE, 0).min(most));
    fs::write(folder.join(IDLE), (idle - pages).to_string())?;
    shrink(folder, pages * 2048)
}

fn shrink(folder: &Path, bytes: u64) -> io::Result<()> {
    let text = fs::read_to_string(folder.join("mm_stat"))?;
    let mut numbers: Vec<u64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    for number in numbers.iter_mut().skip(1).take(2) {
        *number = number.saturating_sub(bytes);
    }
    let words: Vec<String> = numbers.iter().map(u64::to_string).collect();
    fs::write(folder.join("mm_stat"), words.join(" ") + "\n")
}

fn set_up(kernel: &FixtureKernel, name: &str, size: u64) -> io::Result<()> {
    kernel.replace(&device(kernel, name).join("initstate"), "1\n")?;
    kernel.replace(&device(kernel, name).join("size"), &format!("{}\n", size >> 9))?;
    fs::File::create(kernel.path(&format!("/dev/{name}")))?.set_len(size)
}

fn device(kernel: &FixtureKernel, name: &str) -> PathBuf {
    kernel.path(&format!("/sys/block/{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use swaptune_host::kernel::Kernel;

    #[test]
    fn a_device_lives_and_goes() {
        let dir = tempfile::tempdir().unwrap();
        let kernel = FixtureKernel::new(dir.path());
        assert!(kernel.zram_add().is_err());
        kernel.load_module("zram").unwrap();
        assert_eq!(kernel.zram_add().unwrap(), "zram1");
        let folder = dir.path().join("sys/block/zram1");
        kernel.set(&folder.join("comp_algorithm"), "lz4").unwrap();
        kernel.set(&folder.join("mem_limit"), "4096").unwrap();
        kernel.set(&folder.join("disksize"), "1048576").unwrap();
        assert_eq!(fs::metadata(dir.path().join("dev/zram1")).unwrap().len(), 1 << 20);
        assert_eq!(kernel.zram_remove("zram1").unwrap_err().raw_os_error(), Some(libc::EBUSY));
        kernel.set(&folder.join("reset"), "1").unwrap();
        kernel.zram_remove("zram1").unwrap();
        kernel.unload_module("zram").unwrap();
        assert!(!dir.path().join("sys/module/zram").exists() && !dir.path().join("dev/zram0").exists());
    }
}
