//! What configurations of a kubelet say of swap: its own file, its flags, and the files of programs that start it.

use super::yaml::{self, YamlError};

/// What one text says. Each value stands with its line, from 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// `failSwapOn`, `--fail-swap-on`.
    pub fail_swap_on: Option<(String, usize)>,
    /// `memorySwap.swapBehavior`; there is no flag for it.
    pub swap_behavior: Option<(String, usize)>,
    /// `--config`: the file of its configuration.
    pub config: Option<(String, usize)>,
    /// `--config-dir`: a folder whose `*.conf` files lie over it.
    pub config_dir: Option<(String, usize)>,
}

impl Said {
    /// One flag, with or without its dashes.
    fn flag(&mut self, word: &str, line: usize) {
        let word = word.trim_start_matches('-');
        let (slot, value) = match word.split_once('=').unwrap_or((word, "")) {
            ("fail-swap-on", "") => (&mut self.fail_swap_on, "true"),
            ("fail-swap-on", value) => (&mut self.fail_swap_on, value),
            ("config", path) if !path.is_empty() => (&mut self.config, path),
            ("config-dir", path) if !path.is_empty() => (&mut self.config_dir, path),
            _ => return,
        };
        *slot = Some((value.to_owned(), line));
    }
}

/// A `KubeletConfiguration`, in YAML or JSON.
///
/// # Errors
/// [`YamlError`] for a text that is neither.
pub fn configuration(text: &str) -> Result<Said, YamlError> {
    let mut said = Said::default();
    for value in yaml::values(text)? {
        if value.is_at(&["failSwapOn"]) {
            said.fail_swap_on = Some((value.text, value.line));
        } else if value.is_at(&["memorySwap", "swapBehavior"]) {
            said.swap_behavior = Some((value.text, value.line));
        }
    }
    Ok(said)
}

/// Flags of a command line or of files that hold some: `KUBELET_EXTRA_ARGS="--a=b --c"`, one a line, words of a process.
#[must_use]
pub fn flags(text: &str) -> Said {
    let mut said = Said::default();
    for (line, text) in (1..).zip(text.lines()).filter(|(_, text)| !text.trim_start().starts_with('#')) {
        let bare = text.replace(['"', '\''], " ");
        let mut words =
            bare.split_whitespace().filter_map(|word| word.find("--").map_or(Some(word), |at| word.get(at..))).peekable();
        while let Some(word) = words.next() {
            // A file may stand in a word of its own, a switch may not.
            match words.peek() {
                Some(value) if matches!(word, "--config" | "--config-dir") => said.flag(&format!("{word}={value}"), line),
                _ if word.starts_with("--") => said.flag(word, line),
                _ => {}
            }
        }
    }
    said
}

/// `kubelet-arg` in a configuration file of k3s or RKE2.
///
/// # Errors
/// [`YamlError`] for a text that is no YAML.
pub fn rancher_file(text: &str) -> Result<Said, YamlError> {
    let mut said = Said::default();
    let ours = |value: &yaml::Value| value.is_at(&["kubelet-arg"]) || value.is_at(&["kubelet-arg+"]);
    for value in yaml::values(text)?.into_iter().filter(ours) {
        said.flag(&value.text, value.line);
    }
    Ok(said)
}

/// `--kubelet-arg` on a command line of k3s or RKE2, one word a line.
#[must_use]
pub fn rancher_words(text: &str) -> Said {
    let mut said = Said::default();
    let mut words = text.lines();
    while let Some(word) = words.next() {
        let argument = if word == "--kubelet-arg" { words.next() } else { word.strip_prefix("--kubelet-arg=") };
        if let Some(argument) = argument {
            said.flag(argument, 1);
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(value: &str, line: usize) -> Option<(String, usize)> {
        Some((value.to_owned(), line))
    }

    #[test]
    fn a_kubelets_own_file() {
        let text = "apiVersion: kubelet.config.k8s.io/v1beta1\nfailSwapOn: false\nmemorySwap:\n  swapBehavior: LimitedSwap\n";
        let said = configuration(text).unwrap();
        assert_eq!((said.fail_swap_on, said.swap_behavior), (at("false", 2), at("LimitedSwap", 4)));
        let said = configuration("memorySwap: {}\n# failSwapOn: false\nother:\n  failSwapOn: false\n").unwrap();
        assert_eq!(said, Said::default(), "a comment and a key of something else say nothing");
        assert_eq!(configuration("{\"failSwapOn\": true}").unwrap().fail_swap_on, at("true", 1));
        assert!(configuration("a: [").is_err());
    }

    #[test]
    fn flags_where_they_stand() {
        let env = "# --fail-swap-on=true\nKUBELET_KUBEADM_ARGS=\"--node-ip=1.2.3.4 --fail-swap-on=false\"\n";
        assert_eq!(flags(env).fail_swap_on, at("false", 2));
        assert_eq!(flags("KUBELET_EXTRA_ARGS=--fail-swap-on").fail_swap_on, at("true", 1));
        let words = flags("/usr/bin/kubelet --config /etc/k.yaml --config-dir=/etc/k.d");
        assert_eq!((words.config, words.config_dir), (at("/etc/k.yaml", 1), at("/etc/k.d", 1)));
    }

    #[test]
    fn arguments_that_k3s_passes_on() {
        let list = "token: secret\nkubelet-arg:\n  - \"fail-swap-on=false\"\n  - config=/etc/k.yaml\n";
        let said = rancher_file(list).unwrap();
        assert_eq!((said.fail_swap_on, said.config), (at("false", 3), at("/etc/k.yaml", 4)));
        assert_eq!(rancher_file("kubelet-arg+: fail-swap-on=true\n").unwrap().fail_swap_on, at("true", 1));
        let words = "k3s\nserver\n--config\n/etc/rancher/k3s/x.yaml\n--kubelet-arg\nfail-swap-on=true\n--kubelet-arg=config=/k\n";
        let said = rancher_words(words);
        assert_eq!((said.fail_swap_on, said.config), (at("true", 1), at("/k", 1)), "--config is k3s's own file");
    }
}
