//! Kubelets: what runs or starts one here, and what its configuration says of swap, file by file.

use swaptune_core::Fact;
use swaptune_core::facts::Kubelet;
use swaptune_core::parse::kubelet::{self, Said};
use swaptune_core::parse::yaml::YamlError;

use super::managers::Enabled;
use super::residents::{RunningResidents, evidence, kept};
use crate::machine::Machine;

/// Something that brings a kubelet.
struct KubeletRow {
    name: &'static str,
    processes: &'static [&'static str],
    services: &'static [&'static str],
    /// Files that are there where it was set up.
    traces: &'static [&'static str],
    /// Where its configuration is changed.
    config: &'static str,
    reads: Reads,
}

/// Where its settings come from, lowest first.
enum Reads {
    /// `KubeletConfiguration`, its drop-ins, then flags in files and of the process.
    Kubelet { flags: &'static [&'static str] },
    /// `kubelet-arg` of a configuration file, its drop-ins and of the process; drop-ins of its own kubelet in a folder.
    Rancher { folder: &'static str },
}

const TABLE: &[KubeletRow] = &[
    KubeletRow {
        name: "k3s",
        processes: &["k3s", "k3s-server", "k3s-agent"],
        services: &["k3s", "k3s-agent"],
        traces: &["/etc/rancher/k3s/config.yaml", "/var/lib/rancher/k3s/agent"],
        config: "/etc/rancher/k3s/config.yaml",
        reads: Reads::Rancher { folder: "/var/lib/rancher/k3s/agent/etc/kubelet.conf.d" },
    },
    KubeletRow {
        name: "rke2",
        processes: &["rke2", "rke2-server", "rke2-agent"],
        services: &["rke2-server", "rke2-agent"],
        traces: &["/etc/rancher/rke2/config.yaml", "/var/lib/rancher/rke2/agent"],
        config: "/etc/rancher/rke2/config.yaml",
        reads: Reads::Rancher { folder: "/var/lib/rancher/rke2/agent/etc/kubelet.conf.d" },
    },
    KubeletRow {
        name: "microk8s",
        processes: &["kubelite"],
        services: &[],
        traces: &["/var/snap/microk8s/current/args/kubelet"],
        config: "/var/snap/microk8s/current/args/kubelet",
        reads: Reads::Kubelet { flags: &["/var/snap/microk8s/current/args/kubelet"] },
    },
    KubeletRow {
        name: "kubelet",
        processes: &["kubelet"],
        services: &["kubelet"],
        traces: &[CONFIG, "/etc/kubernetes/kubelet.conf"],
        config: CONFIG,
        reads: Reads::Kubelet {
            flags: &["/var/lib/kubelet/kubeadm-flags.env", "/etc/default/kubelet", "/etc/sysconfig/kubelet"],
        },
    },
];
/// Where kubeadm puts it, and most others.
const CONFIG: &str = "/var/lib/kubelet/config.yaml";

pub(super) fn is_process(name: &str) -> bool {
    TABLE.iter().any(|row| row.processes.contains(&name))
}

pub(super) fn inspect(machine: &Machine, running: &RunningResidents) -> Vec<Kubelet> {
    kept(machine, "kubelets", || {
        let enabled = Enabled::read(machine, |name| TABLE.iter().any(|row| row.services.contains(&name)));
        TABLE.iter().filter_map(|row| row.inspect(machine, running, &enabled)).collect()
    })
}

impl KubeletRow {
    fn inspect(&self, machine: &Machine, running: &RunningResidents, enabled: &Enabled) -> Option<Kubelet> {
        let process = running.any(self.processes);
        // RKE2 starts a kubelet of its own, which is judged with it.
        if process.is_some_and(|process| self.name == "kubelet" && process.words.contains("/rancher/")) {
            return None;
        }
        let trace = || self.traces.iter().find(|path| machine.exists(path)).map(|path| (*path).to_owned());
        let evidence = evidence(running, enabled, self.processes, self.services).or_else(trace)?;
        let words = process.map(|process| process.words.clone()).unwrap_or_default();
        let place = process.map_or_else(String::new, |process| format!("command line of process {}", process.pid));
        let mut settings = KubeletSettings::new(machine);
        match &self.reads {
            Reads::Kubelet { flags } => settings.kubelet(flags, &words, &place),
            Reads::Rancher { folder } => settings.rancher(self, folder, &words, &place),
        }
        Some(settings.kubelet_of(self, evidence))
    }
}

/// A value and where it stands.
type Place<T> = Option<(T, String)>;

/// What was read so far; a later value stands over an earlier one.
struct KubeletSettings<'a> {
    machine: &'a Machine,
    fails: Place<bool>,
    behavior: Place<String>,
    /// The last file that could hold them.
    looked_at: String,
    /// A file that could not be understood: nothing is allowed by what is not known.
    broken: Option<String>,
}

impl<'a> KubeletSettings<'a> {
    fn new(machine: &'a Machine) -> Self {
        Self { machine, fails: None, behavior: None, looked_at: String::new(), broken: None }
    }

    fn kubelet(&mut self, files: &[&str], words: &str, place: &str) {
        let mut flags: Vec<(String, Said)> = Vec::new();
        for path in files {
            if let Some(text) = self.text(path) {
                flags.push(((*path).to_owned(), kubelet::flags(&text)));
            }
        }
        if !words.is_empty() {
            flags.push((place.to_owned(), kubelet::flags(&words.replace('\n', " "))));
        }
        self.file(&config(&flags).unwrap_or_else(|| CONFIG.to_owned()), kubelet::configuration);
        if let Some((folder, _)) = flags.iter().rev().find_map(|(_, said)| said.config_dir.as_ref()) {
            self.folder(folder, kubelet::configuration);
        }
        self.over(&flags);
    }

    fn rancher(&mut self, row: &KubeletRow, folder: &str, words: &str, place: &str) {
        // k3s and RKE2 start their kubelet with --fail-swap-on=false, whatever is configured otherwise.
        self.fails = Some((false, format!("{}'s own default, --fail-swap-on=false", row.name)));
        let dropins = self.machine.files_in(&format!("{}.d", row.config), ".yaml");
        let mut flags = Vec::new();
        for path in std::iter::once(row.config.to_owned()).chain(dropins) {
            if let Some(said) = self.read(&path, kubelet::rancher_file) {
                flags.push((path, said));
            }
        }
        if !words.is_empty() {
            flags.push((place.to_owned(), kubelet::rancher_words(words)));
        }
        if let Some(path) = config(&flags) {
            self.file(&path, kubelet::configuration);
        }
        self.folder(folder, kubelet::configuration);
        self.over(&flags);
        row.config.clone_into(&mut self.looked_at);
    }

    fn folder(&mut self, folder: &str, parse: fn(&str) -> Result<Said, YamlError>) {
        for path in self.machine.files_in(folder.trim_end_matches('/'), ".conf") {
            self.file(&path, parse);
        }
    }

    fn file(&mut self, path: &str, parse: fn(&str) -> Result<Said, YamlError>) {
        path.clone_into(&mut self.looked_at);
        if let Some(said) = self.read(path, parse) {
            self.over(&[(path.to_owned(), said)]);
        }
    }

    /// A file that is missing says nothing; one that cannot be read or understood might say anything.
    fn read(&mut self, path: &str, parse: fn(&str) -> Result<Said, YamlError>) -> Option<Said> {
        let text = self.text(path)?;
        parse(&text).map_err(|error| self.broken = Some(format!("{path}: {error}"))).ok()
    }

    fn text(&mut self, path: &str) -> Option<String> {
        let read = self.machine.read_text(path);
        if read.is_ok() {
            self.machine.keep_instead(path, Vec::new);
        }
        read.map_err(|error| self.broken = (!error.missing).then(|| error.to_string()).or(self.broken.take())).ok()
    }

    fn over(&mut self, said: &[(String, Said)]) {
        for (path, said) in said {
            // A command line has no lines.
            let place = |line: usize| if path.starts_with('/') { format!("{path}:{line}") } else { path.clone() };
            if let Some((value, line)) = &said.fail_swap_on {
                self.fails = Some((!value.eq_ignore_ascii_case("false"), place(*line)));
            }
            if let Some((value, line)) = &said.swap_behavior {
                self.behavior = Some((value.clone(), place(*line)));
            }
        }
    }

    fn kubelet_of(self, row: &KubeletRow, evidence: String) -> Kubelet {
        let at = self.looked_at;
        let unsaid = |key: &str, default: &str| format!("{at}: no {key}, and the default is {default}");
        let (fails, behavior) = (unsaid("failSwapOn", "true"), unsaid("memorySwap.swapBehavior", "NoSwap"));
        let (name, config, broken) = (row.name.to_owned(), row.config.to_owned(), self.broken.as_deref());
        let (fail_swap_on, swap_behavior) = (fact(self.fails, broken, fails), fact(self.behavior, broken, behavior));
        Kubelet { name, evidence, config, fail_swap_on, swap_behavior }
    }
}

fn fact<T>(known: Place<T>, broken: Option<&str>, unsaid: String) -> Fact<T> {
    match (broken, known) {
        (Some(why), _) => Fact::absent(why),
        (None, Some((value, place))) => Fact::known(value, place),
        (None, None) => Fact::absent(unsaid),
    }
}

/// The configuration that flags name. MicroK8s writes its folder as a variable.
fn config(flags: &[(String, Said)]) -> Option<String> {
    let (path, _) = flags.iter().rev().find_map(|(_, said)| said.config.as_ref())?;
    Some(path.replace("${SNAP_DATA}", "/var/snap/microk8s/current"))
}

#[cfg(test)]
mod tests {
    use super::super::residents::ResidentProcess;
    use super::*;
    use crate::testing::tree;

    const UNIT: (&str, &str) =
        ("etc/systemd/system/multi-user.target.wants/kubelet.service", "-> /usr/lib/systemd/system/kubelet.service");
    const ALLOWS: &str = "failSwapOn: false\nmemorySwap:\n  swapBehavior: LimitedSwap\n";

    fn found(files: &[(&str, &str)], processes: &[(&str, &str)]) -> Vec<Kubelet> {
        let dir = tree(files);
        let process =
            |(name, words): &(&str, &str)| ResidentProcess { pid: 812, name: (*name).into(), words: words.replace(' ', "\n") };
        inspect(&Machine::at(dir.path()), &RunningResidents(processes.iter().map(process).collect()))
    }

    fn objection(files: &[(&str, &str)], processes: &[(&str, &str)]) -> Option<String> {
        let kubelets = found(files, processes);
        assert_eq!(kubelets.len(), 1, "{kubelets:?}");
        kubelets[0].objection()
    }

    fn objects(files: &[(&str, &str)], processes: &[(&str, &str)], words: &str) {
        let objection = objection(files, processes);
        assert!(objection.as_ref().is_some_and(|text| text.contains(words)), "{objection:?} does not say {words}");
    }

    #[test]
    fn a_kubelet_is_seen_by_its_unit_its_files_or_its_process() {
        assert_eq!(found(&[("usr/bin/kubelet", ""), ("usr/lib/systemd/system/kubelet.service", "")], &[]), []);
        assert_eq!(found(&[UNIT], &[])[0].evidence, format!("/{}", UNIT.0));
        assert_eq!(found(&[("var/lib/kubelet/config.yaml", "")], &[])[0].evidence, CONFIG);
        assert_eq!(found(&[], &[("kubelet", "kubelet")])[0].evidence, "process 812 (kubelet)");
        assert_eq!(found(&[("etc/rancher/k3s/config.yaml", "")], &[])[0].name, "k3s");
        assert_eq!(found(&[], &[("kubelite", "/snap/microk8s/1/kubelite")])[0].name, "microk8s");
    }

    #[test]
    fn what_the_file_of_a_kubelet_says_counts_by_its_line() {
        let with = |text: &'static str| [UNIT, ("var/lib/kubelet/config.yaml", text)];
        assert_eq!(objection(&with(ALLOWS), &[]), None);
        objects(&[UNIT], &[], "config.yaml: no failSwapOn, and the default is true");
        objects(&with("a: b\nfailSwapOn: true\n"), &[], "failSwapOn is true (/var/lib/kubelet/config.yaml:2)");
        objects(&with("failSwapOn: false\n"), &[], "no memorySwap.swapBehavior, and the default is NoSwap");
        objects(&with("failSwapOn: false\nmemorySwap: {swapBehavior: NoSwap}\n"), &[], "NoSwap (/var/lib/kubelet/config.yaml:2)");
        objects(&with("failSwapOn: false\n a: [\n"), &[], "not valid YAML");
    }

    #[test]
    fn flags_stand_over_files() {
        let files = [UNIT, ("etc/k.yaml", ALLOWS), ("etc/k.d/10.conf", "memorySwap: {swapBehavior: NoSwap}\n")];
        assert_eq!(objection(&files, &[("kubelet", "/usr/bin/kubelet --config=/etc/k.yaml")]), None);
        objects(&files, &[("kubelet", "kubelet --config /etc/k.yaml --fail-swap-on")], "command line of process 812)");
        objects(&files, &[("kubelet", "kubelet --config=/etc/k.yaml --config-dir=/etc/k.d")], "/etc/k.d/10.conf:1");
        let env = ("var/lib/kubelet/kubeadm-flags.env", "KUBELET_KUBEADM_ARGS=\"--fail-swap-on=true\"\n");
        objects(&[UNIT, ("var/lib/kubelet/config.yaml", ALLOWS), env], &[], "kubeadm-flags.env:1");
    }

    #[test]
    fn k3s_rke2_and_microk8s_have_files_of_their_own() {
        let k3s = |text: &'static str| [("etc/rancher/k3s/config.yaml", text), ("etc/k.yaml", ALLOWS)];
        objects(&k3s("token: x\n"), &[], "/etc/rancher/k3s/config.yaml: no memorySwap.swapBehavior");
        assert_eq!(objection(&k3s("kubelet-arg: [\"config=/etc/k.yaml\"]\n"), &[]), None);
        objects(&k3s("kubelet-arg:\n- config=/etc/k.yaml\n- fail-swap-on=true\n"), &[], "k3s/config.yaml:3");
        assert_eq!(objection(&k3s(""), &[("k3s-server", "k3s server --kubelet-arg=config=/etc/k.yaml")]), None);
        let dropin = ("etc/rancher/k3s/config.yaml.d/9.yaml", "kubelet-arg+: fail-swap-on=true\n");
        objects(&[k3s("kubelet-arg: config=/etc/k.yaml\n")[0], dropin, ("etc/k.yaml", ALLOWS)], &[], "config.yaml.d/9.yaml:1");
        let rke2 = [
            ("etc/rancher/rke2/config.yaml", "a: b\n"),
            ("var/lib/rancher/rke2/agent/etc/kubelet.conf.d/50-swap.conf", "memorySwap:\n  swapBehavior: LimitedSwap\n"),
        ];
        let its_own =
            [("rke2", "rke2 server"), ("kubelet", "kubelet --config-dir=/var/lib/rancher/rke2/agent/etc/kubelet.conf.d")];
        assert_eq!(objection(&rke2, &its_own), None);
        let micro = ("var/snap/microk8s/current/args/kubelet", "--fail-swap-on=false\n--config=${SNAP_DATA}/args/k.yaml\n");
        objects(&[micro], &[], "no memorySwap.swapBehavior");
        assert_eq!(objection(&[micro, ("var/snap/microk8s/current/args/k.yaml", ALLOWS)], &[]), None);
    }
}
