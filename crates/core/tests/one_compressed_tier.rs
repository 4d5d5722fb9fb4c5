//! No plan that may be carried out leaves zswap in front of zram, on any captured machine.
#![allow(clippy::unwrap_used, reason = "helpers of tests may panic")]

use swaptune_core::facts::SwapArea;
use swaptune_core::measurement::Evidence;
use swaptune_core::plan::{PlanRequest, Planned, planned};
use swaptune_core::settings::read_toml;
use swaptune_core::{Facts, profiles};

/// What was found on each captured machine.
const HOSTS: [&str; 6] = [
    include_str!("../../../tests/fixtures/hosts/busybox-6.1-cloud/expected/facts.json"),
    include_str!("../../../tests/fixtures/hosts/busybox-6.12-zswap/expected/facts.json"),
    include_str!("../../../tests/fixtures/hosts/busybox-6.18-both/expected/facts.json"),
    include_str!("../../../tests/fixtures/hosts/debian12-6.1/expected/facts.json"),
    include_str!("../../../tests/fixtures/hosts/debian13-6.12/expected/facts.json"),
    include_str!("../../../tests/fixtures/hosts/microvm-6.18/expected/facts.json"),
];
const ZSWAP: &str = "[zswap]\nenabled = true\n";
const ZRAM: &str = "[[zram]]\nsize = \"256M\"\n";

fn of(facts: &Facts, config: &str) -> Planned {
    let evidence = Evidence::default();
    let settings = profiles::resolve(vec![read_toml("c.toml", config, None).unwrap()], facts, &evidence, None).unwrap();
    planned(&PlanRequest {
        facts,
        settings: &settings,
        evidence: &evidence,
        forecast: None,
        now: true,
        boot: true,
        record: true,
        wipe: &[],
        binary: "/usr/local/bin/swaptune",
        installed: true,
        seed: 7,
    })
}

#[test]
fn no_plan_leaves_zswap_in_front_of_zram() {
    let (mut made, mut refused) = (0, 0);
    for host in HOSTS {
        let with_swap: Facts = serde_json::from_str(host).unwrap();
        let without = Facts { swaps: Vec::new(), mounts: Vec::new(), files: [].into(), ..with_swap.clone() };
        for facts in [&with_swap, &without] {
            for config in ["", ZSWAP, ZRAM, &format!("{ZSWAP}{ZRAM}"), "profile = \"idle-guide\"\n"] {
                let Planned { plan, after } = of(facts, config);
                if !plan.refusals.is_empty() {
                    refused += 1;
                    continue;
                }
                made += 1;
                let both = after.zswap_is_on() && after.swaps.iter().any(SwapArea::is_zram);
                assert!(!both, "{:?}, {config:?}: {:?}", facts.kernel.release, plan.steps);
            }
        }
    }
    assert!(made > 0 && refused > 0, "{made} {refused}");
}
