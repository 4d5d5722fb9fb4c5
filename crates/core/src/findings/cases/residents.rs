//! Programs with an opinion on swap.

use super::*;

const FILE: &str = "/var/lib/kubelet/config.yaml";

fn kubelet(facts: &mut Facts, fails: Fact<bool>, behavior: Fact<String>) {
    let evidence = "/etc/systemd/system/multi-user.target.wants/kubelet.service".to_owned();
    let (name, config) = ("kubelet".to_owned(), FILE.to_owned());
    facts.system.kubelets = vec![Kubelet { name, evidence, config, fail_swap_on: fails, swap_behavior: behavior }];
    facts.swaps = vec![area("/dev/vda3", 10)];
}

fn resident(facts: &mut Facts, name: &str) {
    let evidence = format!("/etc/systemd/system/multi-user.target.wants/{name}.service");
    let memory_lock = Fact::absent(format!("/etc/{name}/{name}.yml: no bootstrap.memory_lock"));
    facts.system.residents.push(Resident { name: name.into(), evidence, memory_lock });
    facts.swaps = vec![area("/dev/vda3", 10)];
}

fn locked(facts: &mut Facts) {
    facts.system.residents[0].memory_lock = Fact::known(true, "/etc/x.yml:3");
}

fn gone(facts: &mut Facts) {
    facts.system.residents.clear();
    facts.system.kubelets.clear();
}

fn no_areas(facts: &mut Facts) {
    facts.swaps.clear();
}

fn allowed(facts: &mut Facts) {
    file(facts, "/etc/swaptune/applied.toml", "[safety]\nkubelet = \"allow\"\n");
}

fn limited() -> Fact<String> {
    Fact::known("LimitedSwap".into(), format!("{FILE}:4"))
}

pub(super) const CASES: &[FindingCase] = &[
    FindingCase {
        code: "kubelet-fails-on-swap",
        base: |f| kubelet(f, Fact::absent(format!("{FILE}: no failSwapOn, and the default is true")), limited()),
        says: &["does not start where swap is on", "no failSwapOn", "editor /var/lib/kubelet/config.yaml", "/dev/vda3"],
        but_not: &[
            ("no kubelet", gone),
            ("no swap", no_areas),
            ("it is allowed", |f| kubelet(f, Fact::known(false, "x:1"), limited())),
            ("the administrator answers for it", allowed),
        ],
        also: &[("it is said", |f| kubelet(f, Fact::known(true, format!("{FILE}:9")), limited()), "config.yaml:9")],
    },
    FindingCase {
        code: "kubelet-pods-without-swap",
        base: |f| kubelet(f, Fact::known(false, "x:1"), Fact::absent(format!("{FILE}: no memorySwap.swapBehavior"))),
        says: &["everything but its pods", "no memorySwap.swapBehavior", "expected LimitedSwap"],
        but_not: &[
            ("no kubelet", gone),
            ("no swap", no_areas),
            ("they may", |f| kubelet(f, Fact::known(false, "x:1"), limited())),
            ("the administrator answers for it", allowed),
        ],
        also: &[("it is said", |f| kubelet(f, Fact::known(false, "x:1"), Fact::known("NoSwap".into(), "x:7")), "NoSwap (x:7)")],
    },
    FindingCase {
        code: "elasticsearch-swappable",
        base: |f| resident(f, "elasticsearch"),
        says: &["does not lock its memory", "/etc/elasticsearch/elasticsearch.yml", "/dev/vda3"],
        but_not: &[("it is gone", gone), ("no swap", no_areas), ("its memory is locked", locked)],
        also: &[],
    },
    FindingCase {
        code: "opensearch-swappable",
        base: |f| resident(f, "opensearch"),
        says: &["opensearch runs beside swap", "/etc/opensearch/opensearch.yml"],
        but_not: &[("it is gone", gone), ("no swap", no_areas), ("its memory is locked", locked)],
        also: &[],
    },
    FindingCase {
        code: "cassandra-swappable",
        base: |f| resident(f, "cassandra"),
        says: &["cassandra runs beside swap", "swapoff /dev/vda3"],
        but_not: &[("it is gone", gone), ("no swap", no_areas)],
        also: &[],
    },
    FindingCase {
        code: "redis-overcommit",
        base: |f| {
            resident(f, "redis");
            knob(f, "vm.overcommit_memory", "0");
        },
        says: &["vm.overcommit_memory = 0", "--set vm.overcommit_memory=1"],
        but_not: &[("it is gone", gone), ("it is set", |f| knob(f, "vm.overcommit_memory", "1"))],
        also: &[("without swap", no_areas, "redis"), ("valkey", |f| f.system.residents[0].name = "valkey".into(), "valkey runs")],
    },
    FindingCase {
        code: "redis-huge-pages",
        base: |f| {
            resident(f, "redis");
            knob(f, "transparent_hugepage.enabled", "always");
        },
        says: &["huge pages always on", "transparent_hugepage.enabled=madvise"],
        but_not: &[("it is gone", gone), ("on request", |f| knob(f, "transparent_hugepage.enabled", "madvise"))],
        also: &[],
    },
    FindingCase {
        code: "mongodb-swappiness",
        base: |f| {
            resident(f, "mongodb");
            knob(f, "vm.swappiness", "60");
        },
        says: &["vm.swappiness 60", "--set vm.swappiness=1"],
        but_not: &[("it is gone", gone), ("no swap", no_areas), ("it is set", |f| knob(f, "vm.swappiness", "1"))],
        also: &[],
    },
    FindingCase {
        code: "postgresql-overcommit",
        base: |f| {
            resident(f, "postgresql");
            knob(f, "vm.overcommit_memory", "1");
        },
        says: &["postgresql runs with vm.overcommit_memory = 1", "swaptune knobs vm.overcommit_memory"],
        but_not: &[("it is gone", gone), ("it is counted", |f| knob(f, "vm.overcommit_memory", "2"))],
        also: &[],
    },
];
