//! The module lists of depmod(8): `modules.builtin`, `modules.dep`, and the names in `/proc/modules`.
//!
//! A module's name is its file's name without folders and suffixes, with `-` written as `_` (modprobe(8)).

/// The name of a module from its path: `kernel/crypto/lz4hc.ko.xz` → `lz4hc`.
#[must_use]
pub fn name(path: &str) -> String {
    let file = path.rsplit('/').next().unwrap_or(path);
    let stem = file.find(".ko").map_or(file, |at| &file[..at]);
    stem.replace('-', "_")
}

/// The line of `modules.builtin` or `modules.dep` for this module: its path, without the dependencies.
#[must_use]
pub fn find<'a>(list: &'a str, module: &str) -> Option<&'a str> {
    list.lines().map(|line| line.split(':').next().unwrap_or(line).trim()).find(|path| is(path, module))
}

/// True when `/proc/modules` shows this module as live.
#[must_use]
pub fn loaded(proc_modules: &str, module: &str) -> bool {
    proc_modules.lines().any(|line| line.split(' ').next() == Some(module))
}

fn is(path: &str, module: &str) -> bool {
    // The lists have thousands of lines: compare without building a string for each.
    let file = path.rsplit('/').next().unwrap_or(path);
    let Some(end) = file.find(".ko") else { return false };
    let same = |(a, b): (u8, u8)| a == b || (a == b'-' && b == b'_');
    end == module.len() && file.bytes().zip(module.bytes()).all(same)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_from_paths() {
        for (path, expect) in [
            ("kernel/crypto/lz4hc.ko.xz", "lz4hc"),
            ("kernel/crypto/lzo-rle.ko", "lzo_rle"),
            ("zram.ko.zst", "zram"),
            ("plain", "plain"),
            ("", ""),
        ] {
            assert_eq!(name(path), expect);
        }
    }

    #[test]
    fn modules_are_found_in_the_lists_of_depmod() {
        let dep = "kernel/crypto/zstd.ko.xz: kernel/lib/zstd/zstd_compress.ko.xz\nkernel/crypto/lzo-rle.ko.xz:\n";
        assert_eq!(find(dep, "zstd"), Some("kernel/crypto/zstd.ko.xz"));
        assert_eq!(find(dep, "lzo_rle"), Some("kernel/crypto/lzo-rle.ko.xz"));
        assert_eq!(find(dep, "zstd_compress"), None);
        assert_eq!(find("kernel/crypto/lzo.ko\n", "lzo"), Some("kernel/crypto/lzo.ko"));
        assert_eq!(find("", ""), None);
    }

    #[test]
    fn loaded_modules_are_listed_by_name() {
        let text = "zram 45056 1 - Live 0x0000000000000000\nlz4_compress 24576 1 zram, Live 0x0\n";
        assert!(loaded(text, "zram") && loaded(text, "lz4_compress") && !loaded(text, "lz4"));
    }
}
