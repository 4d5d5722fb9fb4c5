//! What lies where a configuration wants swap: whether a file or device that is not on holds swap, something else, nothing,
//! or bytes without a signature.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::FileTypeExt;

use swaptune_core::facts::{Facts, Holds, SwapPlace};
use swaptune_core::settings::Settings;
use swaptune_core::{Bytes, Fact};

use crate::machine::{Machine, ReadError};
use crate::swap_header;

/// Fills in what lies at each place that the settings name and that is not on as swap, backing devices of zram among them.
pub fn look_at_places(machine: &Machine, facts: &mut Facts, settings: &Settings) {
    let disk = settings.swap.iter().flat_map(|list| &list.value).map(|wanted| wanted.path.clone());
    let zram = settings.zram.iter().flat_map(|list| &list.value).enumerate().map(|(number, _)| format!("/dev/zram{number}"));
    let is_set_up = |path: &String| {
        facts.zram.devices.iter().any(|device| path.strip_prefix("/dev/") == Some(&device.name) && device.disksize > Bytes(0))
    };
    let backing = settings.zram.iter().flat_map(|list| &list.value).filter_map(|wanted| wanted.backing_dev.clone());
    let places = disk.chain(zram.filter(is_set_up)).chain(backing).filter_map(|path| place(machine, facts, path)).collect();
    facts.swap_places = places;
}

fn place(machine: &Machine, facts: &Facts, path: String) -> Option<SwapPlace> {
    let device = facts.block_devices.iter().find(|device| device.is_named(&path));
    let file = device.map_or_else(|| path.clone(), |device| format!("/dev/{}", device.name.replace('!', "/")));
    let real = machine.real_path(&file).ok()?;
    let is_on = |on: &str| on == real || on == path || device.is_some_and(|device| on == format!("/dev/{}", device.name));
    if !real.starts_with('/') || facts.swaps.iter().any(|area| is_on(&area.path)) {
        return None;
    }
    // Anything but a file or a disk is not even opened: opening a tape rewinds it.
    let found = fs::metadata(machine.resolve(&file).ok()?).ok()?;
    if !found.is_file() && !found.file_type().is_block_device() {
        let kind = Holds::Other { kind: "something that is neither a file nor a disk".into() };
        return Some(SwapPlace { path, size: Bytes(0), holds: Fact::known(kind, real) });
    }
    let (size, holds) = match look(machine, &file) {
        Ok((size, holds)) => (size, Fact::known(holds, real)),
        Err(error) => (found.len(), error.absent()),
    };
    Some(SwapPlace { path, size: Bytes(size), holds })
}

fn look(machine: &Machine, path: &str) -> Result<(u64, Holds), ReadError> {
    let mut file = machine.open_unrecorded(path)?;
    let mut look = || {
        let size = file.seek(SeekFrom::End(0))?;
        Ok((size, holds(&mut file, size, machine.page_size().0)?))
    };
    look().map_err(|error: std::io::Error| ReadError::from_io(path, &error))
}

fn holds(file: &mut File, size: u64, page_size: u64) -> std::io::Result<Holds> {
    if let Some(header) = swap_header::read(file, page_size)? {
        return Ok(Holds::Swap { uuid: header.uuid, label: header.label });
    }
    let kinds = swap_header::probe(file, size)?;
    Ok(match kinds.first().map(String::as_str) {
        Some("swap") => Holds::Other { kind: "swap of another page size".into() },
        Some(kind) => Holds::Other { kind: kind.to_owned() },
        None if swap_header::is_blank(file, size)? => Holds::Blank,
        None => Holds::Unknown,
    })
}

#[cfg(test)]
mod tests {
    use swaptune_core::settings::read_toml;

    use super::*;

    /// What is found at `/swapfile` with these bytes.
    fn found(bytes: &[u8]) -> Option<SwapPlace> {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("swapfile"), bytes).unwrap();
        let settings = read_toml("test", "[[swap]]\npath = \"/swapfile\"\nsize = \"1M\"\n", None).unwrap();
        let mut facts = Facts::default();
        look_at_places(&Machine::at(dir.path()), &mut facts, &settings);
        facts.swap_places.pop()
    }

    #[test]
    fn what_a_file_holds_is_looked_at() {
        let uuid = "8f2a0102-0304-0506-0708-090a0b0c0d0e";
        let mut swap = swap_header::page(uuid, "mine", 1 << 20, 4096).unwrap();
        swap.resize(1 << 20, 9);
        let mut ext = vec![0; 1 << 20];
        ext[1080..1082].copy_from_slice(&[0x53, 0xef]);
        let mut one_byte = vec![0; 1 << 20];
        one_byte[700_000] = 1;
        for (bytes, expect) in [
            (swap, Holds::Swap { uuid: uuid.into(), label: "mine".into() }),
            (ext, Holds::Other { kind: "ext2".into() }),
            (vec![0xff; 1 << 20], Holds::Blank),
            (one_byte, Holds::Unknown),
        ] {
            let place = found(&bytes).unwrap();
            assert_eq!((place.path.as_str(), place.size), ("/swapfile", Bytes::from_mib(1)));
            assert_eq!(place.holds.value(), Some(&expect));
        }
    }

    #[test]
    fn nothing_there_is_no_place() {
        let settings = read_toml("test", "[[swap]]\npath = \"/none\"\nsize = \"1M\"\n", None).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let mut facts = Facts::default();
        look_at_places(&Machine::at(dir.path()), &mut facts, &settings);
        assert!(facts.swap_places.is_empty());
    }
}
