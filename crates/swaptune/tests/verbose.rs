//! `-v` and `RUST_LOG` say on standard error what is done, and change nothing else.

use std::path::Path;
use std::process::{Command, Output};

fn plan(words: &[&str], variable: Option<&str>) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/hosts/debian13-6.12");
    let mut command = Command::new(env!("CARGO_BIN_EXE_swaptune"));
    command.args(words).arg("plan").arg("--root").arg(root).env_remove("RUST_LOG");
    command.envs(variable.map(|directives| ("RUST_LOG", directives))).output().expect("the program runs")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn more_of_it_is_said_with_each_v_and_standard_output_is_the_same() {
    let quiet = plan(&[], None);
    assert_eq!((quiet.status.code(), said(&quiet).as_str()), (Some(0), ""));
    let levels = ["-v", "-vv", "-vvv"].map(|flag| plan(&[flag], None));
    for output in &levels {
        assert!(output.status == quiet.status && output.stdout == quiet.stdout, "{}", said(output));
        assert!(!said(output).contains('\u{1b}'), "no colour without a terminal");
    }
    let [info, debug, trace] = levels.each_ref().map(said);
    assert!(info.contains("INFO swaptune_host::inspect: inspect ") && !info.contains("DEBUG"), "{info}");
    assert!(debug.contains("DEBUG swaptune_host::machine: read /proc/swaps: ") && !debug.contains("TRACE"), "{debug}");
    assert!(trace.contains("TRACE swaptune_host::machine: not read: /proc/config.gz: "), "{trace}");
}

#[test]
fn the_variable_says_more_exactly_and_is_refused_when_it_is_wrong() {
    let output = plan(&[], Some("swaptune_host::machine=debug"));
    assert!(said(&output).contains("read /proc/swaps: ") && !said(&output).contains("INFO"), "{}", said(&output));
    let wrong = plan(&["-v"], Some("a=b=c"));
    assert_eq!(wrong.status.code(), Some(2));
    assert!(said(&wrong).starts_with("error: RUST_LOG=a=b=c: ") && said(&wrong).contains("hint: "), "{}", said(&wrong));
}
