//! What the real binary refuses, and what it says first: on copies of captured machines.
#![allow(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

mod support;

/// A copy of one machine of the fixtures.
fn machine(name: &str) -> TempDir {
    let host = support::hosts().into_iter().find(|host| host.name == name).unwrap();
    host.copy().unwrap_or_else(|error| panic!("{name}: {:?}", error.message()))
}

fn put(machine: &TempDir, path: &str, text: &str) {
    let path = machine.path().join(path.trim_start_matches('/'));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Exit code and everything that was printed, each run of space as one.
fn run(root: &Path, words: &[&str]) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_swaptune"));
    let output = command.args(words).arg("--root").arg(root).env("COLUMNS", "300").output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.code().unwrap_or(-1), text.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn says(machine: &TempDir, words: &[&str], code: i32, texts: &[&str]) -> String {
    let (ended, text) = run(machine.path(), words);
    assert_eq!(ended, code, "{words:?}: {text}");
    for expected in texts {
        assert!(text.contains(expected), "{words:?} does not say {expected:?}: {text}");
    }
    text
}

#[test]
fn a_node_of_kubernetes_gets_swap_only_where_the_administrator_answers_for_it() {
    let node = machine("kubernetes-node");
    let refusal = ["failSwapOn is true (/var/lib/kubelet/config.yaml:6)", "--set safety.kubelet=allow"];
    let text = says(&node, &["plan", "--explain"], 3, &refusal);
    assert!(!text.contains("zram0"), "{text}");
    let note = "flag --set safety.kubelet=allow allows swap all the same";
    says(&node, &["plan", "--explain", "--set", "safety.kubelet=allow"], 0, &["zram0: not set up", note]);
    put(&node, "/etc/swaptune/config.toml", "[safety]\nkubelet = \"allow\"\n");
    says(&node, &["plan", "--explain"], 0, &["/etc/swaptune/config.toml:2 allows swap all the same"]);
    says(&machine("k3s-with-swap"), &["plan", "--explain"], 0, &["/dev/vda3"]);
}

#[test]
fn a_configuration_from_a_pipe_is_read_once_and_counts() {
    let host = machine("debian13-6.12");
    let script = r#"printf '[knobs]\n"vm.swappiness" = 33\n' | "$0" plan --explain --config /dev/stdin --root "$1""#;
    let mut shell = Command::new("sh");
    let output = shell.args(["-c", script, env!("CARGO_BIN_EXE_swaptune")]).arg(host.path()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("vm.swappiness: 60 → 33"), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("/dev/stdin:2"), "{text}");
}

#[test]
fn names_and_sizes_of_a_configuration_are_refused_by_the_table_of_exit_codes() {
    let host = machine("debian13-6.12");
    let config = |text: &str| {
        put(&host, "/etc/swaptune/config.toml", text);
        host.path()
    };
    for (text, code, expected) in [
        ("[[swap]]\npath = \"/dev/sdx9\"\n", 3, "/dev/sdx9: no device of this name is there"),
        ("[[zram]]\nsize = \"90T\"\n", 3, "under [[zram]]"),
        ("[[swap]]\npath = \"/swapfile\"\nsize = \"90T\"\n", 3, "or less under its [[swap]]"),
        ("[[swap]]\npath = \"/dev/vda5\"\nsize = \"90T\"\n", 3, "the device has 256 MiB"),
        ("[[swap]]\npath = \"/swapfile\"\nsize = \"0\"\n", 2, "expected at least \"40K\""),
        ("[[swap]]\npath = \"/swapfile\"\npriority = 32768\n", 2, "from 0 to 32767"),
        ("[zswap]\npool = \"0\"\n", 2, "expected a size above 0"),
    ] {
        let (ended, said) = run(config(text), &["plan", "--explain"]);
        assert!(ended == code && said.contains(expected), "{text}: {ended}, {said}");
    }
    let (ended, said) = run(config("[[swap]]\npath = \"/dev/sdx9\"\noptional = true\n"), &["plan", "--explain"]);
    assert!(ended == 0 && said.contains("zswap.enabled: N → Y") && !said.contains("zram0"), "{ended}: {said}");
}

#[test]
fn applications_of_no_size_are_refused() {
    let host = machine("debian13-6.12");
    says(&host, &["plan", "--simulate", "--app-size", "0"], 2, &["expected a size above 0, for example 100M"]);
    says(&host, &["plan", "--simulate", "--app-size", "big"], 2, &["is not a size"]);
}

#[test]
fn a_plan_needs_no_results() {
    let host = machine("debian13-6.12");
    let results = "/var/lib/swaptune/measurements.jsonl";
    fs::create_dir_all(host.path().join(results.trim_start_matches('/'))).unwrap();
    let before = says(
        &host,
        &["plan", "--explain"],
        0,
        &["results: ", "measurements.jsonl cannot be read", "zram0: not set up → 960 MiB"],
    );
    assert!(before.contains("what was measured there does not count"));
    says(&host, &["plan", "--measured"], 2, &["measurements.jsonl", "leave --measured out"]);
    fs::remove_dir(host.path().join(results.trim_start_matches('/'))).unwrap();
    put(&host, results, "{\"schema\":1,\nnonsense\n");
    says(&host, &["plan", "--explain"], 0, &["cannot be read (line 1: ", "and 1 more)"]);
    let quiet = says(&host, &["plan", "--explain", "--no-measured"], 0, &[]);
    assert!(!quiet.contains("measurements.jsonl"), "{quiet}");
}

#[test]
fn a_plan_takes_the_flag_that_its_hint_names() {
    let host = machine("debian13-6.12");
    put(&host, "/run/udev/data/b254:5", "E:ID_FS_TYPE=ext4\nE:ID_FS_UUID=0b8c\n");
    put(&host, "/etc/swaptune/config.toml", "[[swap]]\npath = \"/dev/vda5\"\n");
    says(&host, &["plan", "--explain"], 3, &["it carries ext4", "--wipe /dev/vda5"]);
    says(&host, &["plan", "--explain", "--wipe", "/dev/vda5"], 0, &["/dev/vda5: no swap header"]);
}

#[test]
fn a_benchmark_of_no_size_is_refused() {
    let output =
        Command::new(env!("CARGO_BIN_EXE_swaptune")).args(["bench", "disk", "--size", "0", "--dir", "/tmp"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("expected a size above 0"), "{said}");
}

/// What a limited process is before it is its command: a shell that says whether it reads a pipe, and what it reads.
fn tethered(words: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_swaptune"));
    command.args(["bench", "tethered"]).args(words).arg(std::process::id().to_string());
    command.args(["sh", "-c", "[ -p /dev/stdin ] && echo pipe; cat"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn a_limited_process_is_no_command_before_it_is_told_that_it_is_limited() {
    for (words, input, said) in [(&[][..], "\nrest\n", "pipe\nrest\n"), (&["--no-input"], "\nrest\n", ""), (&[], "", "")] {
        let mut child = tethered(words);
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), said, "{words:?} {input:?}: {output:?}");
        assert_eq!(output.status.success(), !input.is_empty(), "{words:?} {input:?}: {output:?}");
    }
}

/// A journal that ends after the first of two steps.
const CUT_SHORT: &str = concat!(
    r#"{"v":1,"record":"begin","id":"20261121-000001-0000","time":"2026-11-21T06:52:12Z","tool":"0.1.0","kind":"apply","boot":"b","#,
    r#""profile":"auto","summary":"vm.swappiness: 60 → 100 and 1 more","steps":["#,
    r#"{"change":{"kind":"knob","name":"vm.swappiness","path":"/proc/sys/vm/swappiness","before":"60","after":"100"},"#,
    r#""when":"now","reason":"r","evidence":"e","provenance":"p"},"#,
    r#"{"change":{"kind":"knob","name":"vm.page-cluster","path":"/proc/sys/vm/page-cluster","before":"3","after":"0"},"#,
    r#""when":"now","reason":"r","evidence":"e","provenance":"p"}]}"#,
    "\n",
    r#"{"v":1,"record":"intent","seq":0,"saved":{"kind":"value","value":"60"}}"#,
    "\n",
    r#"{"v":1,"record":"done","seq":0,"outcome":{"is":"changed","before":"60","after":"100"}}"#,
    "\n",
);
const JOURNAL: &str = "/var/lib/swaptune/journal/20261121-000001-0000.jsonl";

#[test]
fn an_interrupted_apply_is_the_first_thing_to_say() {
    let host = machine("debian13-6.12");
    put(&host, JOURNAL, CUT_SHORT);
    let sentence = "apply 20261121-000001-0000 was interrupted with 1 change to go: `swaptune apply --resume` finishes it, \
                    `swaptune rollback 20261121-000001-0000` takes it back";
    let text = says(&host, &["verify"], 1, &[sentence]);
    assert!(text.starts_with("Unfinished: apply 20261121"), "{text}");
    says(&host, &["plan", "--explain"], 0, &[sentence]);
    says(&host, &["status"], 0, &[sentence]);
    let json = says(&host, &["verify", "--json"], 1, &["\"left\": 1", "\"id\": \"20261121-000001-0000\""]);
    assert!(json.contains("\"ok\": false"), "{json}");
    let undoing =
        format!("{CUT_SHORT}{{\"v\":1,\"record\":\"undo\",\"time\":\"2026-11-21T06:52:13Z\",\"boot\":\"b\",\"asked\":true}}\n");
    put(&host, JOURNAL, &undoing);
    says(&host, &["verify"], 1, &["Unfinished: the rollback of 20261121-000001-0000 was interrupted with 1 change to go"]);
    put(&host, JOURNAL, "{\"v\":1,\"record\":\"nonsense\"}\n");
    let (code, text) = run(host.path(), &["verify"]);
    assert!(code != 0 && text.contains(".jsonl, line 1"), "a damaged journal is no clean machine: {code}, {text}");
}

#[test]
fn a_machine_that_is_as_applied_is_not_clean_while_an_apply_is_pending() {
    let host = machine("busybox-6.18-both");
    let clean = run(host.path(), &["verify"]).0;
    put(&host, JOURNAL, CUT_SHORT);
    let (code, text) = run(host.path(), &["verify"]);
    assert!(code == 1 && text.starts_with("Unfinished: "), "before {clean}, then {code}: {text}");
}
