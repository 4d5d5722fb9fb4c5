//! Memory around swap: out of memory in spite of it, pressure that is not measured, cgroups without zswap's files.

use super::ask::{booted_with, config, grown, log, percent, zram_areas, zswap_on};
use super::{Exhibit, Finding, FindingEvidence, Severity};
use crate::Bytes;
use crate::facts::Facts;
use crate::profiles::auto::pool_percent_max;

pub(super) static ROWS: &[Finding] = &[
    Finding {
        code: "memory-oom",
        severity: Severity::Warning,
        title: "processes were killed for memory in spite of compressed swap",
        source: "Documentation/admin-guide/mm/concepts.rst: OOM killer",
        detect: oom,
    },
    Finding {
        code: "memory-psi-off",
        severity: Severity::Info,
        title: "memory pressure is not measured",
        source: "Documentation/accounting/psi.rst; CONFIG_PSI_DEFAULT_DISABLED",
        detect: psi_off,
    },
    Finding {
        code: "memory-cgroup-v1",
        severity: Severity::Info,
        title: "cgroup version 1 has no zswap limits",
        source: "Documentation/admin-guide/cgroup-v2.rst: memory.zswap.max, memory.zswap.writeback",
        detect: cgroup_v1,
    },
    Finding {
        code: "memory-container",
        severity: Severity::Info,
        title: "swap belongs to the host of this container",
        source: "namespaces(7): swap, zswap and zram are not namespaced",
        detect: container,
    },
];

fn oom(facts: &Facts) -> Option<FindingEvidence> {
    // A kill at the limit of a control group says "Memory cgroup out of memory", and is no fault of swap.
    let lines = log(facts, |line| line.contains("Out of memory"));
    let zswap = zswap_on(facts);
    if lines.is_empty() || zswap.is_none() && zram_areas(facts).is_empty() {
        return None;
    }
    let mut causes = Vec::new();
    let share =
        zswap.and_then(|zswap| percent(zswap, "max_pool_percent")).filter(|share| *share > pool_percent_max(&facts.memory));
    causes.extend(share.map(|share| format!("the pool may take {share} % of RAM, which leaves too little to run in")));
    if grown(facts, "pool_limit_hit").is_some_and(|hits| hits > 0) {
        causes.push("the pool was at its limit".to_owned());
    }
    if facts
        .memory
        .get("SwapFree")
        .zip(facts.memory.get("SwapTotal"))
        .is_some_and(|(free, total)| total > Bytes(0) && u128::from(free.0) * 10 <= u128::from(total.0))
    {
        causes.push("swap is nearly full".to_owned());
    }
    let why = if causes.is_empty() { "nothing in the counters says why".to_owned() } else { causes.join(", ") };
    let what = format!("the kernel log has {} lines of the OOM killer although compressed swap is on: {why}", lines.len());
    Some(FindingEvidence::new(what, "swaptune plan --explain").seen_all(lines))
}

fn psi_off(facts: &Facts) -> Option<FindingEvidence> {
    let asked = booted_with(facts, "psi").and_then(|value| crate::parse::cmdline::boolean(&value));
    if facts.memory.pressure.is_known() {
        return None;
    }
    let (why, cure, line) = match (config(facts, "CONFIG_PSI"), config(facts, "CONFIG_PSI_DEFAULT_DISABLED"), asked) {
        (Some("n"), ..) => ("this kernel is built without it", "swaptune inspect", ("CONFIG_PSI", "n")),
        (_, _, Some(false)) => {
            ("the command line switches it off", "sed -i 's/ *psi=[^ \"]*//' /etc/default/grub && update-grub", ("psi", "0"))
        }
        (_, Some("y"), None) => {
            ("it is off unless psi=1 is on the command line", "swaptune plan --explain", ("CONFIG_PSI_DEFAULT_DISABLED", "y"))
        }
        _ => return None,
    };
    let what =
        format!("there is no /proc/pressure/memory: {why}; stalls, the best measure of too little memory, are not counted");
    Some(FindingEvidence::new(what, cure).seen(facts.kernel.config.source(), format!("{}={}", line.0, line.1)))
}

fn cgroup_v1(facts: &Facts) -> Option<FindingEvidence> {
    zswap_on(facts)?;
    let version = facts.system.cgroup_version.value().filter(|version| **version == 1)?;
    let what = "the memory controller is version 1: zswap cannot be limited or kept from writing back for one service, and its shrinker does nothing";
    let line = Exhibit { source: facts.system.cgroup_version.source().to_owned(), text: format!("cgroup version {version}") };
    Some(FindingEvidence::new(what, "swaptune inspect").seen_all([line]))
}

fn container(facts: &Facts) -> Option<FindingEvidence> {
    let kind = &facts.system.container.value()?.kind;
    let what =
        format!("this is a {kind} container: what is said about swap is that of its host, and nothing can be changed from here");
    Some(FindingEvidence::new(what, "swaptune status").seen(facts.system.container.source(), kind.clone()))
}
