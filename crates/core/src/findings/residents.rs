//! Programs that want no swap, or a kernel set up otherwise for its sake: what their makers advise beside what this machine has.
//!
//! None of it forbids a plan, but for a kubelet, whose refusal is in `plan/kubernetes.rs`.

use super::ask::{knob_exhibit, number, paths, swap_lines};
use super::{Finding, FindingEvidence, Severity};
use crate::facts::{Facts, Kubelet, Resident, SwapArea};
use crate::plan::{APPLIED_FILE, APPLIED_NOW_FILE};
use crate::settings::read_toml;

pub(super) static ROWS: &[Finding] = &[
    Finding {
        code: "kubelet-fails-on-swap",
        severity: Severity::Warning,
        title: "swap is on and the kubelet does not start with it",
        source: "Kubernetes documentation, Swap memory management: failSwapOn",
        detect: kubelet_fails,
    },
    Finding {
        code: "kubelet-pods-without-swap",
        severity: Severity::Info,
        title: "swap is on and pods may not use it",
        source: "Kubernetes documentation, Linux Node Swap Behaviors: NoSwap is the default",
        detect: pods_without,
    },
    Finding {
        code: "elasticsearch-swappable",
        severity: Severity::Warning,
        title: "Elasticsearch's heap can be swapped out",
        source: "Elasticsearch documentation, Disable swapping; bootstrap check of bootstrap.memory_lock",
        detect: |facts| unlocked(facts, "elasticsearch"),
    },
    Finding {
        code: "opensearch-swappable",
        severity: Severity::Warning,
        title: "OpenSearch's heap can be swapped out",
        source: "OpenSearch documentation, Installing OpenSearch, important settings: bootstrap.memory_lock, swapoff",
        detect: |facts| unlocked(facts, "opensearch"),
    },
    Finding {
        code: "cassandra-swappable",
        severity: Severity::Warning,
        title: "Cassandra runs beside swap",
        source: "DataStax, Recommended production settings: Disable swap; Cassandra's own start-up check warns of it",
        detect: cassandra,
    },
    Finding {
        code: "redis-overcommit",
        severity: Severity::Warning,
        title: "Redis may fail to fork for its snapshots",
        source: "Redis documentation, Redis administration: vm.overcommit_memory = 1; the server warns at its start",
        detect: redis_overcommit,
    },
    Finding {
        code: "redis-huge-pages",
        severity: Severity::Warning,
        title: "Redis runs with huge pages always on",
        source: "Redis documentation, Redis administration and Diagnosing latency issues: transparent huge pages off",
        detect: redis_huge_pages,
    },
    Finding {
        code: "mongodb-swappiness",
        severity: Severity::Info,
        title: "MongoDB wants swap as a last resort only",
        source: "MongoDB documentation, Production Notes: vm.swappiness 1 or 0",
        detect: mongodb,
    },
    Finding {
        code: "postgresql-overcommit",
        severity: Severity::Info,
        title: "PostgreSQL runs where memory is promised without limit",
        source: "PostgreSQL documentation, Linux Memory Overcommit: vm.overcommit_memory = 2",
        detect: postgresql,
    },
];

fn resident<'a>(facts: &'a Facts, names: &[&str]) -> Option<&'a Resident> {
    facts.system.residents.iter().find(|resident| names.contains(&resident.name.as_str()))
}

fn areas(facts: &Facts) -> Vec<&SwapArea> {
    facts.swaps.iter().collect()
}

/// Whether the administrator answers for swap beside a kubelet.
fn answered_for(facts: &Facts) -> bool {
    let applied = [APPLIED_NOW_FILE, APPLIED_FILE].into_iter().filter_map(|path| read_toml(path, facts.file(path)?, None).ok());
    applied.into_iter().any(|settings| settings.allows_kubelet())
}

fn kubelet(facts: &Facts, which: impl Fn(&Kubelet) -> bool, what: &str) -> Option<FindingEvidence> {
    let areas = areas(facts);
    let wanted = |kubelet: &&Kubelet| which(kubelet) && !areas.is_empty() && !answered_for(facts);
    let kubelet = facts.system.kubelets.iter().find(wanted)?;
    let objection = kubelet.objection()?;
    let found = FindingEvidence::new(format!("{} {what}, and {objection}", kubelet.name), format!("editor {}", kubelet.config));
    Some(found.seen(kubelet.evidence.clone(), kubelet.name.clone()).seen_all(swap_lines(&areas)))
}

fn kubelet_fails(facts: &Facts) -> Option<FindingEvidence> {
    let fails = |kubelet: &Kubelet| kubelet.fail_swap_on.value() != Some(&false);
    kubelet(facts, fails, "runs on this machine, swap is on")
}

fn pods_without(facts: &Facts) -> Option<FindingEvidence> {
    let runs = |kubelet: &Kubelet| kubelet.fail_swap_on.value() == Some(&false);
    kubelet(facts, runs, "runs on this machine, swap serves everything but its pods")
}

fn unlocked(facts: &Facts, name: &str) -> Option<FindingEvidence> {
    let found = resident(facts, &[name]).filter(|found| found.memory_lock.value() != Some(&true))?;
    let areas = areas(facts);
    if areas.is_empty() {
        return None;
    }
    let what = format!(
        "{name} runs beside swap ({}) and does not lock its memory ({}): a collection of garbage reads its whole heap back",
        paths(&areas),
        found.memory_lock.source()
    );
    let evidence = FindingEvidence::new(what, format!("editor /etc/{name}/{name}.yml"));
    Some(evidence.seen(found.evidence.clone(), name).seen_all(swap_lines(&areas)))
}

fn cassandra(facts: &Facts) -> Option<FindingEvidence> {
    let found = resident(facts, &["cassandra"])?;
    let areas = areas(facts);
    let what = "cassandra runs beside swap: its makers would rather lose a node than have one that answers late";
    let cure = format!("swapoff {}", areas.first()?.path);
    Some(FindingEvidence::new(what, cure).seen(found.evidence.clone(), "cassandra").seen_all(swap_lines(&areas)))
}

fn redis_overcommit(facts: &Facts) -> Option<FindingEvidence> {
    let found = resident(facts, &["redis", "valkey"])?;
    let mode = number(facts, "vm.overcommit_memory").filter(|mode| *mode != 1)?;
    let what = format!(
        "{} runs with vm.overcommit_memory = {mode}: where it holds more than is free, the fork of a snapshot is refused",
        found.name
    );
    let evidence = FindingEvidence::new(what, "swaptune apply --set vm.overcommit_memory=1");
    Some(evidence.seen(found.evidence.clone(), found.name.clone()).seen_all([knob_exhibit(facts, "vm.overcommit_memory")]))
}

fn redis_huge_pages(facts: &Facts) -> Option<FindingEvidence> {
    let found = resident(facts, &["redis", "valkey"])?;
    let knob = "transparent_hugepage.enabled";
    facts.knob(knob).filter(|value| *value == "always")?;
    let what = format!("{} runs with huge pages always on: after a fork each write copies a huge page", found.name);
    let evidence = FindingEvidence::new(what, format!("swaptune apply --set {knob}=madvise"));
    Some(evidence.seen(found.evidence.clone(), found.name.clone()).seen_all([knob_exhibit(facts, knob)]))
}

fn mongodb(facts: &Facts) -> Option<FindingEvidence> {
    let found = resident(facts, &["mongodb"]).filter(|_| !facts.swaps.is_empty())?;
    let swappiness = number(facts, "vm.swappiness").filter(|value| *value > 1)?;
    let what = format!("mongodb runs beside swap with vm.swappiness {swappiness}, where its makers want 1 or 0");
    let evidence = FindingEvidence::new(what, "swaptune apply --set vm.swappiness=1");
    Some(evidence.seen(found.evidence.clone(), "mongodb").seen_all([knob_exhibit(facts, "vm.swappiness")]))
}

fn postgresql(facts: &Facts) -> Option<FindingEvidence> {
    let found = resident(facts, &["postgresql"])?;
    number(facts, "vm.overcommit_memory").filter(|mode| *mode == 1)?;
    let what =
        "postgresql runs with vm.overcommit_memory = 1: no allocation fails, so that the kernel kills a server when memory ends";
    let evidence = FindingEvidence::new(what, "swaptune knobs vm.overcommit_memory");
    Some(evidence.seen(found.evidence.clone(), "postgresql").seen_all([knob_exhibit(facts, "vm.overcommit_memory")]))
}
