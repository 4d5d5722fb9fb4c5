//! The codec benchmark beside Debian's own tools on the same file: speed as a ratio, sizes to the byte; and what timing pages costs.
//!
//! Peers: `lz4 -b1 -B4096` and `zstd -b3 -B4096`, which compress each 4 KiB block on its own. They report rates by the clock on the
//! wall; ours are by processor time. So theirs are divided by the share of a processor that they got.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};
use swaptune_core::proof::CanaryClass;

const PAGE: usize = 4096;
const PAGES: u64 = 8192;
const PAIRS: usize = 9;

/// Speed and size of one run.
#[derive(Clone, Copy, Debug)]
struct CodecRun {
    size: u64,
    compress: f64,
    decompress: f64,
}

/// Prints the figures.
pub fn run(binary: &Path) -> anyhow::Result<()> {
    let folder = tempfile::tempdir_in("target")?;
    let file = folder.path().join("pages");
    fs::write(&file, text_pages())?;
    println!("\ncodecs: {PAGES} pages of text, {PAIRS} interleaved pairs of 1 s a direction, quartiles in brackets");
    for (codec, peer, level) in [("lz4", "lz4", "-b1"), ("zstd:1", "zstd", "-b1"), ("zstd", "zstd", "-b3")] {
        match Command::new(peer).arg("--version").output() {
            Ok(version) => pairs(binary, &file, codec, peer, level, &String::from_utf8_lossy(&version.stdout))?,
            Err(_) => println!("  {codec}: left out (apt install {peer})"),
        }
    }
    let timer = Command::new(env!("CARGO"))
        .args(["run", "--release", "--quiet", "--package", "swaptune-bench", "--example", "page_timer"])
        .output()?;
    String::from_utf8_lossy(&timer.stdout).lines().for_each(|line| println!("  {line}"));
    Ok(())
}

fn text_pages() -> Vec<u8> {
    let mut bytes = vec![0; PAGES as usize * PAGE];
    bytes.chunks_exact_mut(PAGE).zip(0..).for_each(|(page, number)| CanaryClass::Text.fill(page, number, 11));
    bytes
}

fn pairs(binary: &Path, file: &Path, codec: &str, peer: &str, level: &str, version: &str) -> anyhow::Result<()> {
    let (mut compress, mut decompress, mut sizes) = (Vec::new(), Vec::new(), (0, 0));
    for _ in 0..PAIRS {
        let mine = ours(binary, file, codec)?;
        let theirs = theirs(peer, level, file)?;
        compress.push(mine.compress / theirs.compress);
        decompress.push(mine.decompress / theirs.decompress);
        sizes = (mine.size, theirs.size);
    }
    let version = version.split_whitespace().find(|word| word.starts_with('v') || word.starts_with("1.")).unwrap_or("?");
    let same = if sizes.0 == sizes.1 { "the same".into() } else { format!("{} and {}", sizes.0, sizes.1) };
    println!(
        "  {codec:<7} by `{peer} {level} -B4096` {}: compress {}, decompress {}, size {same}",
        version.trim_end_matches(','),
        quartiles(compress),
        quartiles(decompress)
    );
    Ok(())
}

fn quartiles(mut ratios: Vec<f64>) -> String {
    ratios.sort_by(f64::total_cmp);
    let at = |share: f64| ratios[((ratios.len() - 1) as f64 * share) as usize];
    format!("{:.2} ({:.2}–{:.2})", at(0.5), at(0.25), at(0.75))
}

fn ours(binary: &Path, file: &Path, codec: &str) -> anyhow::Result<CodecRun> {
    let words = ["bench", "codecs", "--json", "--no-save", "--same-filled", "--threads", "1", "--codec", codec, "--pages-of"];
    let output = Command::new(binary).args(words).arg(file).output()?;
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).context("bench codecs --json")?;
    let figures = &answer["rows"][0]["figures"];
    let number = |name: &str| figures[name].as_f64().with_context(|| format!("bench codecs: no {name}"));
    let size = (PAGES * PAGE as u64) as f64 / number("ratio")?;
    Ok(CodecRun { size: size.round() as u64, compress: number("compress_mb_s")?, decompress: number("decompress_mb_s")? })
}

/// The last report of the tool: `… :   1048576 ->    407340 (2.574), 566.9 MB/s ,3064.6 MB/s`.
fn theirs(peer: &str, level: &str, file: &Path) -> anyhow::Result<CodecRun> {
    let script = "TIMEFORMAT='%U %S %R'; time \"$@\"";
    let output = Command::new("bash").args(["-c", script, "bash", peer, level, "-B4096", "-i1"]).arg(file).output()?;
    let text = format!("{}\r{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let last = text.rsplit(['\r', '\n']).find(|line| !line.is_empty()).unwrap_or_default();
    let times: Vec<f64> = last.split(' ').filter_map(|time| time.parse().ok()).collect();
    let &[user, system, real] = times.as_slice() else { bail!("{peer} {level}: no times in {text:?}") };
    let share = (user + system) / real;
    let report = text.rsplit('\r').find(|line| line.matches("MB/s").count() == 2);
    let Some((_, report)) = report.and_then(|line| line.split_once("->")) else { bail!("{peer} {level}: no report in {text:?}") };
    let size = report.split_whitespace().next().and_then(|size| size.parse().ok());
    let rates: Vec<f64> =
        report.split("MB/s").filter_map(|part| part.trim_end().rsplit([' ', ',']).next()?.parse().ok()).collect();
    match (size, rates.as_slice()) {
        (Some(size), &[compress, decompress]) => {
            Ok(CodecRun { size, compress: compress / share, decompress: decompress / share })
        }
        _ => bail!("{peer} {level}: {report:?}"),
    }
}
