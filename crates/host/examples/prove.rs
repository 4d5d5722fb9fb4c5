//! Proves the swap of this machine as it is and prints what was found: `prove [MIB] [RUNS]`, or `--json` at the end.

use swaptune_core::Bytes;
use swaptune_host::machine::Machine;
use swaptune_host::prove::{ProofOptions, ProveError, prove};

fn main() -> Result<(), ProveError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize| arguments.get(place).and_then(|text| text.parse().ok());
    let options = ProofOptions { size: Bytes::from_mib(number(0).unwrap_or(8)), ..ProofOptions::default() };
    for _ in 0..number(1).unwrap_or(1) {
        let proof = prove(&Machine::live(), &options)?;
        if arguments.last().is_some_and(|last| last == "--json") {
            println!("{}", serde_json::to_string_pretty(&proof).unwrap_or_default());
            continue;
        }
        println!("{:?} in {}: {}", proof.verdict, proof.elapsed, proof.summary);
        for class in &proof.classes {
            println!("  {}", class.text);
            for (what, latency) in [("store", class.store), ("load", class.load)] {
                if let Some(latency) = latency {
                    let (n, p50, p99, max) = (latency.samples, latency.p50, latency.p99, latency.max);
                    println!("    {what}: p50 {p50}, p99 {p99}, max {max} ({n} pages)");
                }
            }
            println!("    areas {:?}; expected {}: {}", class.areas, class.expected.place(), class.because);
        }
        println!("  ratio {:?}, incompressible {:?}, documented {}", proof.ratio, proof.incompressible, proof.documented);
        proof.problems.iter().for_each(|problem| println!("  {}: {}\n    → {}", problem.code, problem.text, problem.cure));
        proof.notes.iter().for_each(|note| println!("  note: {note}"));
    }
    Ok(())
}
