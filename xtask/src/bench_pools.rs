//! P7: the model of zsmalloc against the kernel's document, for every chain length that a kernel can be built with.

use swaptune_tiers::alloc::{DOCUMENTED, Rule, Zsmalloc};

/// Prints how many rows of the document the model reproduces.
pub fn run() -> anyhow::Result<()> {
    let (mut classes, mut by_the_new_rule, mut thresholds) = (0, 0, 0);
    for (chain, old, new, huge) in DOCUMENTED {
        let (before, since) = (Zsmalloc::new(chain, Rule::UsedPercent)?, Zsmalloc::new(chain, Rule::LeastWaste)?);
        classes += usize::from(before.classes().len() == old);
        by_the_new_rule += usize::from(since.classes().len() == new);
        thresholds += usize::from(before.huge_threshold() == huge && since.huge_threshold() == huge);
    }
    let rows = DOCUMENTED.len();
    println!("\nzsmalloc's classes against the kernel's document, chains of 4 to 16 pages");
    println!(
        "classes by the rule until 6.2: {classes} of {rows}; by the rule since: {by_the_new_rule} of {rows}; huge objects by both: {thresholds} of {rows}"
    );
    println!("pools on this kernel: cargo test -p swaptune-bench --test pool_prediction");
    Ok(())
}
