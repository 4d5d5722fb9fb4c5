//! The zram driver of a fixture: folders and files that follow what is written to them.

use std::fs;
use std::io;
use std::path::Path;

use super::FixtureKernel;

/// Attributes of a device that is not set up.
const ATTRIBUTES: [(&str, &str); 8] = [
    ("disksize", "0\n"),
    ("initstate", "0\n"),
    ("comp_algorithm", "lzo [lzo-rle] lz4 zstd\n"),
    ("mem_limit", ""),
    ("reset", ""),
    ("mm_stat", "0 0 0 0 0 0 0 0 0\n"),
    ("backing_dev", "none\n"),
    ("size", "0\n"),
];

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

pub(crate) fn unload(kernel: &FixtureKernel) -> io::Result<()> {
    for number in 0..32 {
        let name = format!("zram{number}");
        if device(kernel, &name).exists() {
            remove(kernel, &name)?;
        }
    }
    fs::remove_dir_all(kernel.path("/sys/class/zram-control"))
}

pub(crate) fn add(kernel: &FixtureKernel) -> io::Result<String> {
    if !kernel.path("/sys/class/zram-control").exists() {
        return Err(io::Error::from_raw_os_error(libc::ENOENT));
    }
    let free = (0..32).map(|number| format!("zram{number}")).find(|name| !device(kernel, name).exists());
    let name = free.ok_or_else(|| io::Error::from_raw_os_error(libc::ENOSPC))?;
    fs::create_dir_all(device(kernel, &name))?;
    for (attribute, text) in ATTRIBUTES {
        fs::write(device(kernel, &name).join(attribute), text)?;
    }
    fs::create_dir_all(kernel.path("/dev"))?;
    fs::write(kernel.path(&format!("/dev/{name}")), "")?;
    Ok(name)
}

/// A kernel removes a device in one go. Here a kill may leave half of one, and removing that half must work: the folder, by
/// which a device is known, goes last.
pub(crate) fn remove(kernel: &FixtureKernel, name: &str) -> io::Result<()> {
    match fs::read_to_string(device(kernel, name).join("initstate")) {
        Ok(state) if state.trim() != "0" => return Err(io::Error::from_raw_os_error(libc::EBUSY)),
        Err(error) if error.kind() == io::ErrorKind::NotFound && device(kernel, name).exists() => {}
        read => drop(read?),
    }
    match fs::remove_file(kernel.path(&format!("/dev/{name}"))) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::remove_dir_all(device(kernel, name))
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
            fs::write(path, "")?;
            fs::write(folder.join("mm_stat"), format!("0 0 0 {value} 0 0 0 0 0\n"))
        }
        "reset" => {
            for (attribute, text) in ATTRIBUTES {
                fs::write(folder.join(attribute), text)?;
            }
            fs::write(kernel.path(&format!("/dev/{name}")), "")
        }
        _ => Ok(()),
    }
}

fn set_up(kernel: &FixtureKernel, name: &str, size: u64) -> io::Result<()> {
    fs::write(device(kernel, name).join("initstate"), "1\n")?;
    fs::write(device(kernel, name).join("size"), format!("{}\n", size >> 9))?;
    fs::File::create(kernel.path(&format!("/dev/{name}")))?.set_len(size)
}

fn device(kernel: &FixtureKernel, name: &str) -> std::path::PathBuf {
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
