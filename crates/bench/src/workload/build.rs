//! A C program that is made and compiled.

use std::fmt::Write;
use std::path::Path;
use std::process::{Child, Command};
use std::{fs, io};

use super::Ask;

/// Compilers at a time, at least.
const JOBS: u64 = 2;
/// Files for each compiler that runs at a time.
const FILES: u64 = 2;
/// Memory that gcc 12 takes for such a file without functions, and for each function: the size that is asked for is that of all compilers
/// that run at a time, about.
const OF_A_FILE: u64 = 25 << 20;
const OF_A_FUNCTION: u64 = 104 << 10;
/// Functions of a file at least, and at most: with 4000 gcc collects its garbage and takes no more than with 2800.
const LEAST: u64 = 10;
const MOST: u64 = 2000;

/// How many compilers run at a time, and functions of a file, for a size in bytes.
fn shape(size: u64) -> (u64, u64) {
    let jobs = size.div_ceil(OF_A_FILE + MOST * OF_A_FUNCTION).max(JOBS);
    (jobs, ((size / jobs).saturating_sub(OF_A_FILE) / OF_A_FUNCTION).max(LEAST))
}

/// Writes the files, compiles them, and takes them away.
pub(super) fn run(ask: &Ask) -> io::Result<()> {
    let folder = ask.folder.join(format!("swaptune-build-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let built = build(ask, &folder, &["cc"]);
    let removed = fs::remove_dir_all(&folder);
    built.and(removed)
}

fn build(ask: &Ask, folder: &Path, compiler: &[&str]) -> io::Result<()> {
    let mut running = Vec::new();
    let built = compile(ask, folder, compiler, &mut running);
    // Those that still run write into a folder that is taken away.
    let ended: Vec<io::Result<()>> = running.into_iter().map(done).collect();
    built.and(ended.into_iter().collect())
}

/// Starts all compilers, some at a time; `running` has those that were not waited for.
fn compile(ask: &Ask, folder: &Path, compiler: &[&str], running: &mut Vec<(u64, Child)>) -> io::Result<()> {
    let (jobs, functions) = shape(ask.size.0);
    for file in 0..jobs * FILES {
        fs::write(folder.join(format!("{file}.c")), source(file, functions, ask.seed))?;
    }
    for file in 0..jobs * FILES {
        if running.len() as u64 == jobs {
            done(running.remove(0))?;
        }
        let name = compiler.first().copied().unwrap_or_default();
        let child = Command::new(name)
            .args(compiler.iter().skip(1))
            .args(["-O1", "-c", "-o"])
            .arg(folder.join(format!("{file}.o")))
            .arg(folder.join(format!("{file}.c")))
            .spawn();
        running.push((file, child.map_err(|error| io::Error::new(error.kind(), format!("{name}: {error}")))?));
    }
    Ok(())
}

fn done((file, mut compiler): (u64, Child)) -> io::Result<()> {
    let status = compiler.wait()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("cc {file}.c ended with {status}"))) }
}

/// Functions that call each other, with loops that an optimizer has work with.
fn source(file: u64, functions: u64, seed: u64) -> String {
    let mut text = String::from("typedef unsigned long word;\n");
    for number in 0..functions {
        let mixed = (number + 1).wrapping_mul(seed.wrapping_mul(2).wrapping_add(0x9e37_79b9_7f4a_7c15)) >> 40;
        let call = if number == 0 { "a".to_owned() } else { format!("f{file}_{}(a, b + i)", number - 1) };
        let _ = writeln!(
            text,
            "__attribute__((noinline)) word f{file}_{number}(word a, word b) {{ word t[16]; for (word i = 0; i < 16; i++) t[i] = (a * {mixed}u) ^ (b >> (i & 7)); \
             word s = 0; for (word i = 0; i < 16; i++) {{ if (t[i] & 1) s += t[(i * {}) & 15] / (b | 1); else s ^= {call}; }} return s; }}",
            mixed % 13 + 1
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use swaptune_core::Bytes;

    use super::*;

    #[test]
    fn an_error_of_one_compiler_waits_for_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("cc.sh");
        // Its fourth word is what it writes, its fifth what it reads.
        fs::write(&script, "case $5 in */0.c) exit 3;; esac; sleep 0.3; echo > $4\n").unwrap();
        let ask = Ask { size: Bytes::from_mib(2), seed: 1, folder: folder.path().to_owned() };
        let built = build(&ask, folder.path(), &["sh", &script.display().to_string()]);
        assert_eq!(built.unwrap_err().to_string(), "cc 0.c ended with exit status: 3");
        assert!(folder.path().join("1.o").exists() && !folder.path().join("2.o").exists());
    }

    #[test]
    fn more_memory_is_more_compilers_of_a_size_that_gcc_really_takes() {
        let mib = |count: u64| count << 20;
        assert_eq!(shape(mib(2)), (2, LEAST));
        for size in [mib(200), mib(456), mib(600), mib(1024), mib(8192)] {
            let (jobs, functions) = shape(size);
            let taken = jobs * (OF_A_FILE + functions * OF_A_FUNCTION);
            assert!(functions <= MOST && size - taken <= jobs * OF_A_FUNCTION, "{size}: {jobs} compilers, {functions} functions");
        }
        assert_eq!(shape(mib(1024)).0, 5);
    }
}
