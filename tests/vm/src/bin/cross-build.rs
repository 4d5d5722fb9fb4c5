//! `cross-build ARCHITECTURE FILE`: builds swaptune for another architecture of Debian, with the compiler of Debian stable.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use swaptune_vm::toolchain::Cross;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [architecture, file] = arguments.as_slice() else {
        eprintln!("usage: cross-build ARCHITECTURE FILE");
        return ExitCode::from(2);
    };
    if let Err(error) = build(architecture, Path::new(file)) {
        eprintln!("{error:#}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn build(architecture: &str, file: &Path) -> Result<()> {
    let program = Cross::named(architecture)?.release()?;
    fs::copy(program, file).with_context(|| format!("write {}", file.display()))?;
    Ok(())
}
