//! Tasks of the project: generated pages and benchmarks.
//!
//! `cargo xtask reference` writes the pages and pictures that come from tables and results, `--check` fails when one is out of date.
//! `cargo xtask man DIR` writes man pages and completions below DIR, as /usr/share has them; `make install` calls it.
//! `cargo xtask dist` makes binaries, archives and packages below target/dist, `dist deb [REVISION]` one Debian package.
//! `cargo xtask bench` prints figures with their conditions, `bench codecs` and `bench sampling` only those; it asserts nothing.
//! `cargo xtask bench-sim` prints how fast the simulator is beside a peer, `bench-sim import` only how fast traces are read; only
//! counts must be equal.
//! `cargo xtask bench-watch` prints what `watch` costs beside other programs that look at a machine once a second.

mod bench;
mod bench_codecs;
mod bench_pools;
mod bench_sampling;
mod bench_sim;
mod bench_watch;
#[path = "../../crates/swaptune/src/cli/mod.rs"]
#[allow(dead_code, reason = "the form of the command line is read here, not what a run keeps in it")]
mod cli;
mod dist;
mod man;
mod pictures;
mod reference;

use std::path::Path;

use anyhow::bail;

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["reference"] => reference::write(),
        ["reference", "--check"] => reference::check(),
        ["man", share] => man::write(Path::new(share)),
        ["dist"] => dist::run(),
        ["dist", "deb"] => dist::run_deb(1),
        ["dist", "deb", revision] => dist::run_deb(revision.parse()?),
        ["bench"] => bench::run(),
        ["bench", "codecs"] => bench::run_codecs(),
        ["bench", "sampling"] => bench_sampling::run(),
        ["bench-sim"] => bench_sim::run(),
        ["bench-sim", "import"] => bench_sim::run_import(),
        ["bench-sim", "memory", policy, size, file] => bench_sim::run_memory(policy, size, file),
        ["bench-watch"] => bench_watch::run(60, 3),
        ["bench-watch", seconds, rounds] => bench_watch::run(seconds.parse()?, rounds.parse()?),
        _ => bail!(
            "usage: cargo xtask reference [--check] | man DIR | dist [deb [REVISION]] | bench [codecs|sampling] | bench-sim [import] | bench-watch [SECONDS ROUNDS]"
        ),
    }
}
