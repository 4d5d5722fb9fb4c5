//! What lies in `contrib/` names metrics that the table has, and Prometheus's own tool takes it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use swaptune_core::metrics::{Exposition, MetricKind, SampleLook, all, exposition};
use swaptune_host::machine::Machine;
use swaptune_host::sampling::{SampledParts, Sampler};
use swaptune_trials::{TestResult, program, run, trials};

fn main() -> ExitCode {
    run(trials![every_metric_that_is_named_is_in_the_table, promtool_takes_the_alerts, promtool_takes_the_metrics])
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Words that begin as our metrics do.
fn named(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.filter(|word| word.starts_with("swaptune_")).map(str::to_owned).collect()
}

fn every_metric_that_is_named_is_in_the_table() -> TestResult {
    let exported: BTreeSet<String> = all()
        .map(|metric| format!("swaptune_{}{}", metric.name, if metric.kind == MetricKind::Counter { "_total" } else { "" }))
        .collect();
    for file in ["contrib/grafana/swaptune.json", "contrib/prometheus/swaptune.rules.yml"] {
        let text = std::fs::read_to_string(root().join(file))?;
        let names = named(&text);
        assert!(names.len() > 5, "{file} names {names:?}");
        let unknown: Vec<_> = names.difference(&exported).collect();
        assert!(unknown.is_empty(), "{file} names what is not exported: {unknown:?}");
    }
    let dashboard: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(root().join("contrib/grafana/swaptune.json"))?)?;
    assert!(dashboard["panels"].as_array().is_some_and(|panels| panels.len() > 10));
    Ok(())
}

fn promtool_takes_the_alerts() -> TestResult {
    program("promtool", &["--version"])?;
    let output =
        Command::new("promtool").args(["check", "rules"]).arg(root().join("contrib/prometheus/swaptune.rules.yml")).output()?;
    assert!(output.status.success(), "{output:?}");
    Ok(())
}

/// Of a machine that a folder holds: labels, counters and gauges, and much that is absent.
fn promtool_takes_the_metrics() -> TestResult {
    program("promtool", &["--version"])?;
    for host in ["busybox-6.18-both", "debian12-6.1"] {
        let machine = Machine::at(root().join("tests/fixtures/hosts").join(host));
        let sample = Sampler::new(&machine).look(SampledParts::ALL);
        let text = exposition(&SampleLook::new(&sample, None), Exposition::Text);
        let mut child = Command::new("promtool")
            .args(["check", "metrics"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        child.stdin.take().unwrap().write_all(text.as_bytes())?;
        let output = child.wait_with_output()?;
        assert!(output.status.success(), "{host}: {output:?}\n{text}");
    }
    Ok(())
}
