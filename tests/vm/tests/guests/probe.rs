//! What each kernel offers, compared with what was seen when the tables were made.

use anyhow::{Result, ensure};
use swaptune_vm::guest::Minimal;
use swaptune_vm::kernels::{Kernel, Tree};
use swaptune_vm::payload;

/// Boots the kernel and checks its zswap against the facts of its version.
pub fn run(kernel: Kernel) -> Result<()> {
    let tree = kernel.fetch()?;
    let outcome = Minimal::new(tree.clone(), payload::PROBE).run()?;
    outcome.ensure_success()?;
    for (key, expected) in expectations(&tree) {
        let found: Vec<&str> = outcome.values(key).collect();
        ensure!(found == expected, "{key}: expected {expected:?}, found {found:?}\n{outcome}");
    }
    Ok(())
}

/// Words on the command line that name what cannot be loaded: zswap comes up with its defaults and says so.
pub fn boot_words(kernel: Kernel) -> Result<()> {
    let outcome = Minimal::new(kernel.fetch()?, payload::BOOT_WORDS)
        .command_line("zswap.enabled=1 zswap.compressor=bogus zswap.max_pool_percent=33")
        .run()?;
    outcome.ensure_success()
}

type Expectation<'a> = (&'static str, Vec<&'a str>);

fn expectations(tree: &Tree) -> Vec<Expectation<'_>> {
    let release = ("release", vec![tree.release.as_str()]);
    if !has_zswap(tree) {
        return vec![release, ("zswap", vec!["absent"])];
    }
    let version = tree.version();
    let mut rows = vec![
        release,
        ("zswap", vec!["present"]),
        ("enabled", vec!["Y"]),
        ("param", parameters(version)),
        ("compressor", COMPRESSORS.to_vec()),
        ("zpool", zpools(version)),
        ("max_pool_percent", PERCENTS.to_vec()),
        ("debugfs-after-enable", vec!["present"]),
        ("bogus-after", vec!["refused lzo"]),
        ("vmstat", vmstat(version)),
    ];
    // From 6.4 on zswap is set up at its first enable, and names are looked at only then.
    rows.extend(if version < (6, 4) {
        [("debugfs-before-enable", vec!["present"]), ("bogus-before", vec!["refused lzo"])]
    } else {
        [("debugfs-before-enable", vec!["absent"]), ("bogus-before", vec!["taken bogus"])]
    });
    rows
}

/// Cloud flavours are built with zswap only since 7.2 (7.0 and 7.1 were never seen bootable).
fn has_zswap(tree: &Tree) -> bool {
    tree.kernel.zswap || tree.version() >= (7, 2)
}

/// 842 is in no Debian kernel; a refused name leaves the last one in place.
const COMPRESSORS: [&str; 7] = [
    "lzo taken lzo",
    "lzo-rle taken lzo-rle",
    "lz4 taken lz4",
    "lz4hc taken lz4hc",
    "zstd taken zstd",
    "deflate taken deflate",
    "842 refused deflate",
];

/// No upper limit is checked, up to the newest kernel seen.
const PERCENTS: [&str; 5] = ["0 taken 0", "100 taken 100", "150 taken 150", "-1 refused 150", "abc refused 150"];

fn parameters(version: (u32, u32)) -> Vec<&'static str> {
    let mut names = vec!["accept_threshold_percent 90", "compressor lzo", "enabled N", "max_pool_percent 20"];
    match version {
        (5, _) => names.extend(["same_filled_pages_enabled Y", "zpool zbud"]),
        (6, ..=7) => names.extend(["non_same_filled_pages_enabled Y", "same_filled_pages_enabled Y", "zpool zbud"]),
        (6, ..=17) => names.extend(["shrinker_enabled N", "zpool zsmalloc"]),
        _ => names.push("shrinker_enabled N"),
    }
    names
}

fn zpools(version: (u32, u32)) -> Vec<&'static str> {
    let z3fold = match version {
        (5, _) | (6, ..=11) => "z3fold taken z3fold",
        (6, ..=17) => "z3fold refused zbud",
        _ => return Vec::new(),
    };
    vec!["zbud taken zbud", z3fold, "zsmalloc taken zsmalloc", "bogus refused zsmalloc"]
}

fn vmstat(version: (u32, u32)) -> Vec<&'static str> {
    match version {
        (5, _) => Vec::new(),
        (6, ..=7) => vec!["zswpin", "zswpout"],
        _ => vec!["zswpin", "zswpout", "zswpwb", "swpin_zero"],
    }
}
