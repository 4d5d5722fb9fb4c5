//! Built by the compiler of Debian stable for another architecture: run here by an emulator of its user mode, and on a kernel of its own.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use swaptune_vm::command::{command, run};
use swaptune_vm::guest::Minimal;
use swaptune_vm::kernels::Kernel;
use swaptune_vm::toolchain::{CROSS, Cross};
use swaptune_vm::{payload, swaptune};

/// What is asked of both: a host that is planned for and simulated, each value of a table, a proof that is refused.
const ASKED: [&[&str]; 3] = [
    &["plan", "--simulate", "--explain", "--root", "HOST"],
    &["inspect", "--json", "--root", "HOST"],
    &["knobs", "--json", "--root", "HOST"],
];

/// The same questions get the same answers, byte for byte.
pub fn same_answers() -> Result<()> {
    CROSS.iter().try_for_each(answers)
}

fn answers(cross: &Cross) -> Result<()> {
    let other = cross.programs()?.swaptune;
    let host = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/hosts/debian13-6.12");
    let host = host.to_str().context("the path of the fixture is UTF-8")?;
    for words in ASKED {
        let words: Vec<&str> = words.iter().map(|word| if *word == "HOST" { host } else { word }).collect();
        let here = run(Command::new(swaptune::binary()?).args(&words))?;
        let there = run(command(cross.emulator).arg(&other).args(&words))?;
        ensure!(!here.is_empty() && here == there, "{words:?} says on {}:\n{there}\nand here:\n{here}", cross.debian);
    }
    Ok(())
}

/// Apply, prove, roll back on another processor, with pages of another size.
pub fn circle(kernel: Kernel) -> Result<()> {
    let programs = Cross::named(kernel.architecture.debian)?.programs()?;
    let guest = Minimal::new(kernel.fetch()?, payload::APPLY_LIVE)
        .file(programs.swaptune, "/usr/local/bin/swaptune")
        .file(programs.guest_tool, "/bin/guest-tool")
        .text("/rounds", "zstd zsmalloc\n");
    guest.run()?.ensure_success()
}
