//! The initramfs: which tool builds it, and which compressor modules the image really contains.
//!
//! The image is read as the kernel reads it: archives one after the other, plain or compressed, zeros between them.

use std::collections::BTreeSet;
use std::io::{BufReader, Chain, Cursor, Read};

use flate2::bufread::GzDecoder;
use swaptune_core::Fact;
use swaptune_core::facts::{InitramfsFacts, InitramfsTool, KernelFacts};
use swaptune_core::parse::cpio::{Fed, Scanner};
use swaptune_core::parse::shell;
use swaptune_core::plan::{INITRAMFS_BUILDERS, InitramfsBuilder};

use super::boot::OSTREE;
use crate::machine::{Machine, ReadError};

const PIECE: usize = 256 << 10;
/// What an image may unpack to before it counts as broken.
const UNPACKED_LIMIT: u64 = 8 << 30;
/// Beginnings of the names of modules that matter.
const MODULES: [&str; 9] = ["lzo", "lz4", "zstd", "842", "deflate", "zsmalloc", "zbud", "z3fold", "zram"];

pub(super) fn inspect(machine: &Machine, kernel: &KernelFacts) -> InitramfsFacts {
    InitramfsFacts {
        tool: tool(machine),
        image: image(machine, kernel),
        modules_setting: modules_setting(machine),
        contents: Fact::default(),
    }
}

/// The image of the running kernel.
pub(super) fn image(machine: &Machine, kernel: &KernelFacts) -> Fact<String> {
    let Some(release) = kernel.release.value() else { return Fact::absent(kernel.release.source()) };
    let candidates = [
        format!("/boot/initrd.img-{release}"),
        format!("/boot/initramfs-{release}.img"),
        format!("/boot/initrd-{release}"),
        format!("/usr/lib/modules/{release}/initrd"),
        format!("/usr/lib/modules/{release}/initramfs.img"),
        "/boot/initramfs-linux.img".to_owned(),
    ];
    match candidates.iter().find(|path| machine.exists(path)) {
        Some(path) => Fact::known(path.clone(), path.clone()),
        None => Fact::absent(format!("{}: no such file, nor the names that other distributions use", candidates[0])),
    }
}

/// Names of interest in the image.
pub(super) fn contents(machine: &Machine, image: &Fact<String>) -> Fact<Vec<String>> {
    let Some(path) = image.value() else { return Fact::absent(image.source()) };
    let text = machine.derived("initramfs-modules", || {
        let file = machine.open_unrecorded(path)?;
        let names = names(BufReader::with_capacity(PIECE, file)).map_err(|error| ReadError::from_io(path, &error))?;
        Ok(names.into_iter().map(|name| name + "\n").collect())
    });
    match text {
        Ok(text) => Fact::known(text.lines().map(str::to_owned).collect(), path.clone()),
        Err(error) => error.absent(),
    }
}

fn tool(machine: &Machine) -> Fact<InitramfsTool> {
    if machine.exists(OSTREE) {
        return Fact::absent(format!("{OSTREE}: the initramfs belongs to the deployment; see rpm-ostree initramfs"));
    }
    let is_here = |builder: &&InitramfsBuilder| builder.beside.is_empty() || machine.exists(builder.beside);
    let program = |builder: &InitramfsBuilder| {
        let path = builder.programs.iter().find(|path| machine.exists(path))?;
        Some(Fact::known(builder.tool, *path))
    };
    INITRAMFS_BUILDERS.iter().filter(is_here).find_map(program).unwrap_or_else(|| Fact::absent(none()))
}

/// Says which programs were looked for.
fn none() -> String {
    let name = |builder: &InitramfsBuilder| builder.programs.first().and_then(|path| path.rsplit('/').next());
    let names: Vec<&str> = INITRAMFS_BUILDERS.iter().filter_map(name).collect();
    let (last, others) = names.split_last().unwrap_or((&"", &[]));
    format!("no {} or {last}", others.join(", "))
}

/// `MODULES=` after `initramfs.conf` and its drop-ins, in the order of mkinitramfs(8).
fn modules_setting(machine: &Machine) -> Fact<String> {
    let main = "/etc/initramfs-tools/initramfs.conf";
    let dropins = ["/usr/share/initramfs-tools/conf.d", "/etc/initramfs-tools/conf.d"].map(|folder| machine.files_in(folder, ""));
    let mut found = Fact::absent(format!("{main}: no such file, or no MODULES in it"));
    for path in std::iter::once(main.to_owned()).chain(dropins.into_iter().flatten()) {
        if let Some(value) = machine.read_text(&path).ok().and_then(|text| shell::get(&text, "MODULES")) {
            found = Fact::known(value, path);
        }
    }
    found
}

/// Names of interest in an image, or why it is none.
pub(crate) fn names(reader: impl Read) -> std::io::Result<BTreeSet<String>> {
    let mut reader = Segments { rest: Cursor::new(Vec::new()).chain(Box::new(reader)) };
    let mut found = BTreeSet::new();
    while let Some(compression) = reader.plain(&mut found)? {
        reader.compressed(compression, &mut found)?;
    }
    Ok(found)
}

/// The rest of an image: what was read ahead, then the file.
struct Segments<'a> {
    rest: Chain<Cursor<Vec<u8>>, Box<dyn Read + 'a>>,
}

#[derive(Clone, Copy, Debug)]
enum Compression {
    Gzip,
    Zstd,
    Xz,
    Lzma,
    Lz4,
}

impl Segments<'_> {
    /// Reads plain archives up to the end (`None`) or to compressed data.
    fn plain(&mut self, found: &mut BTreeSet<String>) -> std::io::Result<Option<Compression>> {
        let mut scanner = Scanner::default();
        let mut piece = vec![0; PIECE];
        loop {
            let length = fill(&mut self.rest, &mut piece)?;
            if length == 0 {
                return Ok(None);
            }
            if let Fed::Foreign { at } = scanner.feed(&piece[..length], |name| note(found, name)) {
                let ahead = piece[at..length].to_vec();
                let compression = compression(&ahead);
                self.put_back(ahead);
                return compression.map(Some);
            }
        }
    }

    fn compressed(&mut self, compression: Compression, found: &mut BTreeSet<String>) -> std::io::Result<()> {
        let mut input = BufReader::with_capacity(PIECE, &mut self.rest);
        match compression {
            Compression::Gzip => unpacked(GzDecoder::new(&mut input), found)?,
            Compression::Zstd => {
                unpacked(zstd::stream::read::Decoder::with_buffer(&mut input)?.single_frame(), found)?;
            }
            Compression::Xz => unpacked(lzma_rust2::XzReader::new(&mut input, false), found)?,
            Compression::Lzma => {
                let decoder = lzma_rust2::LzmaReader::new_mem_limit(&mut input, u32::MAX, None)?;
                unpacked(decoder, found)?;
            }
            Compression::Lz4 => unpacked(lz4_flex::frame::FrameDecoder::new(&mut input), found)?,
        }
        let ahead = input.buffer().to_vec();
        self.put_back(ahead);
        Ok(())
    }

    fn put_back(&mut self, mut ahead: Vec<u8>) {
        let file = std::mem::replace(&mut self.rest, Cursor::new(Vec::new()).chain(Box::new(std::io::empty())));
        let (cursor, file) = file.into_inner();
        let position = usize::try_from(cursor.position()).unwrap_or(usize::MAX);
        ahead.extend_from_slice(cursor.get_ref().get(position..).unwrap_or_default());
        self.rest = Cursor::new(ahead).chain(file);
    }
}

fn unpacked(reader: impl Read, found: &mut BTreeSet<String>) -> std::io::Result<()> {
    let mut reader = reader.take(UNPACKED_LIMIT);
    let mut scanner = Scanner::default();
    let mut piece = vec![0; PIECE];
    loop {
        let length = reader.read(&mut piece)?;
        if length == 0 {
            return Ok(());
        }
        if scanner.feed(&piece[..length], |name| note(found, name)) != Fed::All {
            return Err(std::io::Error::other("what it unpacks to is no cpio archive"));
        }
    }
}

/// Fills the buffer as far as the reader gives, so that a magic number is never cut in two.
fn fill(reader: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match reader.read(&mut buffer[length..])? {
            0 => break,
            more => length += more,
        }
    }
    Ok(length)
}

/// Magic numbers of lib/decompress.c.
fn compression(head: &[u8]) -> std::io::Result<Compression> {
    match head {
        [0x1f, 0x8b | 0x9e, ..] => Ok(Compression::Gzip),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Ok(Compression::Zstd),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Ok(Compression::Xz),
        [0x5d, 0, ..] => Ok(Compression::Lzma),
        [0x02, 0x21, 0x4c, 0x18, ..] | [0x04, 0x22, 0x4d, 0x18, ..] => Ok(Compression::Lz4),
        [b'B', b'Z', b'h', ..] => Err(std::io::Error::other("compressed with bzip2, which is not read here")),
        [0x89, b'L', b'Z', b'O', ..] => Err(std::io::Error::other("compressed with lzo, which is not read here")),
        _ => Err(std::io::Error::other("neither a cpio archive nor compressed in a known way")),
    }
}

fn note(found: &mut BTreeSet<String>, path: &str) {
    let name = path.rsplit('/').next().unwrap_or(path);
    let module = name.find(".ko").is_some_and(|_| MODULES.iter().any(|start| name.starts_with(start)));
    if module {
        found.insert(name.to_owned());
    } else if let Some(library) = ["liblzma", "libzstd"].into_iter().find(|library| name.starts_with(&format!("{library}.so"))) {
        found.insert(library.to_owned());
    } else if name == "modprobe" {
        found.insert(name.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::testing::tree;

    /// One archive with empty files of these names.
    fn archive(names: &[&str]) -> Vec<u8> {
        let mut out = Vec::new();
        for name in names.iter().chain(&["TRAILER!!!"]) {
            let fields: String = (0..13).map(|field| format!("{:08X}", if field == 11 { name.len() + 1 } else { 0 })).collect();
            out.extend(format!("070701{fields}{name}\0").bytes());
            out.resize(out.len().next_multiple_of(4), 0);
        }
        out.resize(out.len().next_multiple_of(512), 0);
        out
    }

    fn early() -> Vec<u8> {
        archive(&["kernel/x86/microcode/AuthenticAMD.bin", "usr/lib/modules/6.12/kernel/lib/zstd/zstd_compress.ko.xz"])
    }

    fn main() -> Vec<u8> {
        archive(&[
            "usr/lib/modules/6.12/kernel/crypto/lz4.ko",
            "usr/lib/modules/6.12/kernel/fs/ext4.ko",
            "usr/lib/x86_64-linux-gnu/liblzma.so.5",
            "usr/sbin/modprobe",
            "etc/modprobe.d",
        ])
    }

    fn check(packed: &[u8], expect: &[&str]) {
        let dir = tree(&[]);
        std::fs::write(dir.path().join("image"), [early(), packed.to_vec()].concat()).unwrap();
        let found = contents(&Machine::at(dir.path()), &Fact::known("/image".to_owned(), "test"));
        assert_eq!(
            found.value().map(Vec::as_slice),
            Some(expect.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>().as_slice()),
            "{found:?}"
        );
    }

    #[test]
    fn every_compression_after_an_early_archive() {
        let expect = ["liblzma", "lz4.ko", "modprobe", "zstd_compress.ko.xz"];
        check(&main(), &expect);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(&main()).unwrap();
        check(&gzip.finish().unwrap(), &expect);
        check(&zstd::encode_all(main().as_slice(), 1).unwrap(), &expect);
        let mut xz = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(1)).unwrap();
        xz.write_all(&main()).unwrap();
        check(&xz.finish().unwrap(), &expect);
        for legacy in [false, true] {
            let info = lz4_flex::frame::FrameInfo::new().legacy_frame(legacy);
            let mut lz4 = lz4_flex::frame::FrameEncoder::with_frame_info(info, Vec::new());
            lz4.write_all(&main()).unwrap();
            check(&lz4.finish().unwrap(), &expect);
        }
    }

    #[test]
    fn an_archive_that_was_appended_after_a_compressed_one() {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(&archive(&["lib/zram.ko"])).unwrap();
        check(
            &[gzip.finish().unwrap(), vec![0; 8], main()].concat(),
            &["liblzma", "lz4.ko", "modprobe", "zram.ko", "zstd_compress.ko.xz"],
        );
    }

    #[test]
    fn what_cannot_be_read_is_absent_with_its_reason() {
        for (image, reason) in [
            (b"BZh91AY".as_slice(), "/image: compressed with bzip2, which is not read here"),
            (b"hello", "/image: neither a cpio archive nor compressed in a known way"),
            (&[0x1f, 0x8b, 8, 0, 0], "/image: "),
            (&[0x28, 0xb5, 0x2f, 0xfd, 0], "/image: "),
        ] {
            let dir = tree(&[]);
            std::fs::write(dir.path().join("image"), image).unwrap();
            let found = contents(&Machine::at(dir.path()), &Fact::known("/image".to_owned(), "test"));
            assert!(!found.is_known() && found.source().starts_with(reason), "{found:?}");
        }
    }

    #[test]
    fn the_setting_of_the_last_file_wins() {
        let dir = tree(&[
            ("etc/initramfs-tools/initramfs.conf", "# MODULES=list\nMODULES=most\n"),
            ("etc/initramfs-tools/conf.d/driver-policy", "MODULES=dep\n"),
        ]);
        let found = modules_setting(&Machine::at(dir.path()));
        assert_eq!(found, Fact::known("dep".to_owned(), "/etc/initramfs-tools/conf.d/driver-policy"));
    }
}
