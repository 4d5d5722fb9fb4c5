//! `bench codecs` as it is typed: rows, results that are kept, and what is refused.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn codecs(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_swaptune")).args(["bench", "codecs"]).args(words).output().unwrap()
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn kept(path: &Path) -> Vec<Value> {
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn each_row_is_printed_and_kept() {
    let folder = folder();
    let results = folder.path().join("results.jsonl");
    let words = [
        "--pages-of",
        "synthetic",
        "--pages",
        "100",
        "--seconds",
        "0",
        "--threads",
        "2",
        "--codec",
        "memcpy,lz4,zstd:1",
        "--json",
        "--results",
    ];
    let output = codecs(&[words.as_slice(), &[results.to_str().unwrap()]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = printed["rows"].as_array().unwrap();
    let names: Vec<(&str, u64)> =
        rows.iter().map(|row| (row["figures"]["codec"].as_str().unwrap(), row["figures"]["threads"].as_u64().unwrap())).collect();
    assert_eq!(names, [("memcpy", 1), ("lz4", 1), ("zstd:1", 1), ("memcpy", 2), ("lz4", 2), ("zstd:1", 2)]);
    assert_eq!(rows[1]["figures"]["pages_of"], "synthetic text");
    assert!(rows[1]["verdict"].is_string() && rows[4].get("verdict").is_none());
    let kept = kept(&results);
    assert_eq!(kept.len(), rows.len());
    assert!(kept.iter().zip(rows).all(|(kept, row)| kept["figures"] == row["figures"] && kept["kind"] == "codec"));
    let command = kept[0]["command"].as_str().unwrap();
    assert_eq!(
        command,
        "swaptune bench codecs --pages-of synthetic --pages 100 --codec memcpy,lz4,zstd:1 --threads 2 --seconds 0"
    );
}

#[test]
fn pages_of_a_folder_are_measured_without_the_same_filled_ones() {
    let folder = folder();
    let text: Vec<u8> = (0..200_000_u32).flat_map(|number| (number / 7).to_le_bytes()).collect();
    fs::write(folder.path().join("numbers"), text).unwrap();
    fs::write(folder.path().join("zeros"), vec![0; 50 * 4096]).unwrap();
    let output = codecs(&[
        "--pages-of",
        folder.path().to_str().unwrap(),
        "--codec",
        "lz4",
        "--seconds",
        "0",
        "--threads",
        "1",
        "--no-save",
    ]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.starts_with("195 pages of 4 KiB of ") && text.contains("; 50 same-filled left out;"), "{text}");
    assert!(text.lines().any(|line| line.starts_with("lz4 ") && line.contains("fastest load")), "{text}");
}

#[test]
fn what_cannot_be_measured_is_refused_with_a_hint() {
    let empty = folder();
    for (words, says) in [
        (vec!["--codec", "lz5"], "no codec is called `lz5`"),
        (vec!["--codec", "lz4,lzo"], "--codec lzo: only the kernel has it"),
        (vec!["--dir", "/tmp"], "--kernel"),
        (vec!["--codec", "zstd:99"], "zstd has no level `99`"),
        (vec!["--pages-of", "/no/such"], "`/no/such` is neither"),
        (vec!["--pages-of", empty.path().to_str().unwrap()], "no regular file with a whole page"),
        (vec!["--seconds", "1e9"], "--seconds 1000000000: expected 0 to 3600"),
        (vec!["--pool", "much"], "--pool: `much` is not a size"),
        (
            vec!["--root", concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/hosts/microvm-6.18")],
            "--root: a benchmark measures the machine that it runs on",
        ),
    ] {
        let output = codecs(&[words.as_slice(), &["--no-save"]].concat());
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{words:?}: {error}");
        assert!(error.contains(says), "{words:?}: {error}");
    }
}
