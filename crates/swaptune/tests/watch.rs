//! `swaptune watch` as a process: lines, a recording that is killed, the listener, and how it ends.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn swaptune(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_swaptune"));
    command.arg("watch").args(words).current_dir(root());
    command
}

fn host() -> &'static str {
    "tests/fixtures/hosts/busybox-6.18-both"
}

fn success(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

#[test]
fn flags_that_exclude_a_global_one_are_told() {
    let words: [&[&str]; 4] = [
        &["--csv", "--json"],
        &["--textfile", "/nonexistent/file", "--json"],
        &["--listen", "127.0.0.1:0", "--json"],
        &["--replay", "/nonexistent", "--root", host()],
    ];
    for words in words {
        let output = swaptune(words).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && told.contains("cannot be used with"), "{words:?}: {told}");
    }
}

/// As `| head -1` leaves it: the next sample has no reader.
#[test]
fn it_ends_when_its_reader_has_gone() {
    let mut child = swaptune(&["--csv", "--interval", "100ms"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert!(first.starts_with("unix_ms,"), "{first}");
    assert!(child.wait().unwrap().success());
}

#[test]
fn json_and_csv_of_a_folder() {
    let json = success(&swaptune(&["--once", "--json", "--root", host()]).output().unwrap());
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["schema"], 1);
    assert_eq!(json["metrics"]["area_size_bytes"]["/dev/vda"]["value"], 262_140 << 10);
    assert_eq!(json["metrics"]["zswap_in_bytes"]["per_second"], serde_json::Value::Null, "one sample has no rate");
    let csv = success(&swaptune(&["--csv", "--root", host()]).output().unwrap());
    assert_eq!(csv.lines().count(), 2, "a folder stands still: {csv}");
}

/// This machine: what it lacks is absent, and two samples have a rate.
#[test]
fn one_look_at_this_machine_takes_two_samples() {
    let json = success(&swaptune(&["--once", "--json", "--interval", "100ms"]).output().unwrap());
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(json["seconds"].as_f64().unwrap() > 0.0, "two samples lie apart");
    assert!(json["metrics"]["ram_total_bytes"]["value"].as_u64().unwrap() > 0);
}

#[test]
fn a_recording_that_is_killed_is_replayed_and_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.swrec");
    let path = file.to_str().unwrap();
    let mut child = swaptune(&["--csv", "--interval", "100ms", "--record", path]).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().take(4).count();
    assert_eq!(lines, 4, "a header and three samples");
    child.kill().unwrap();
    child.wait().unwrap();
    let replayed = success(&swaptune(&["--replay", path, "--csv"]).output().unwrap());
    let count = replayed.lines().count();
    assert!(count >= 4, "{replayed}");
    // As a kill in the middle of a write would leave it.
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..bytes.len() - 3]).unwrap();
    let output = swaptune(&["--replay", path, "--csv"]).output().unwrap();
    assert_eq!(success(&output).lines().count(), count - 1);
    assert!(String::from_utf8_lossy(&output.stderr).contains("unfinished and left out"), "{output:?}");
    let output = swaptune(&["--once", "--record", path, "--root", host()]).output().unwrap();
    success(&output);
    assert!(String::from_utf8_lossy(&output.stderr).contains("cut off"), "{output:?}");
    let output = swaptune(&["--replay", path, "--csv"]).output().unwrap();
    assert_eq!((success(&output).lines().count(), output.stderr.len()), (count, 0));
}

#[test]
fn the_listener_answers_and_ends_with_a_signal() {
    let mut child = swaptune(&["--listen", "127.0.0.1:0", "--root", host()]).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut said).unwrap();
    let address = said.trim().strip_prefix("http://").unwrap().strip_suffix("/metrics").unwrap();
    for _ in 0..2 {
        let mut client = TcpStream::connect(address).unwrap();
        client.write_all(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert!(answer.contains("\nswaptune_area_size_bytes{area=\"/dev/vda\"} 268431360\n"), "{answer}");
    }
    send(&child, Signal::TERM);
    assert!(child.wait().unwrap().success());
}

/// The socket of systemd: the program is told to take descriptor 3, as sd_listen_fds(3) has it.
#[test]
fn a_socket_that_is_handed_over_is_used() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let handed = std::os::fd::OwnedFd::from(listener);
    // A shell puts it in the place; its own number is that of the program that it becomes.
    let script = "exec 3<&0 0</dev/null; LISTEN_PID=$$ LISTEN_FDS=1 exec \"$0\" watch --listen --root \"$1\"";
    let mut child = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_swaptune"), host()])
        .current_dir(root())
        .stdin(Stdio::from(handed))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut said).unwrap();
    assert_eq!(said, format!("http://{address}/metrics\n"));
    send(&child, Signal::TERM);
    assert!(child.wait().unwrap().success());
}

#[test]
fn lines_end_with_a_signal_however_long_the_interval_is() {
    let mut child = swaptune(&["--csv", "--interval", "1h"]).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().take(2).count();
    assert_eq!(lines, 2);
    send(&child, Signal::TERM);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_text_file_is_written_as_a_whole() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("swaptune.prom");
    success(&swaptune(&["--once", "--textfile", file.to_str().unwrap(), "--root", host()]).output().unwrap());
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("# TYPE swaptune_zswap_in_bytes_total counter\n"), "{text}");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}
