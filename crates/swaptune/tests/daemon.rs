//! `swaptune daemon` as a service manager runs it: it says when it is ready, reads its configuration anew when it is asked to, and ends.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixDatagram;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// Nothing that is waited for takes so long.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn a_service_reads_its_configuration_anew_and_keeps_the_one_before_when_it_cannot() {
    let folder = tempfile::tempdir().expect("a folder");
    let (config, socket) = (folder.path().join("keep.toml"), folder.path().join("notify"));
    fs::write(&config, "[keep]\nlimit = false\n").expect("a configuration");
    let manager = UnixDatagram::bind(&socket).expect("a socket");
    manager.set_read_timeout(Some(PATIENCE)).expect("a time-out");
    let mut daemon = Command::new(env!("CARGO_BIN_EXE_swaptune"))
        .args(["daemon", "--dry-run", "--config"])
        .arg(&config)
        .env("NOTIFY_SOCKET", &socket)
        .stderr(Stdio::piped())
        .spawn()
        .expect("a daemon");
    let heard = |word: &str| {
        let mut bytes = [0; 4096];
        loop {
            let length = manager.recv(&mut bytes).unwrap_or_else(|error| panic!("no {word}: {error}"));
            if String::from_utf8_lossy(&bytes[..length]).lines().any(|line| line == word) {
                return;
            }
        }
    };
    let hang_up = |signal| kill_process(Pid::from_child(&daemon), signal).expect("a signal");
    heard("READY=1");
    fs::write(&config, "[keep]\nlimt = true\n").expect("a wrong configuration");
    hang_up(Signal::HUP);
    heard("RELOADING=1");
    heard("READY=1");
    fs::write(&config, "[keep]\nlimit = true\n").expect("another configuration");
    hang_up(Signal::HUP);
    heard("RELOADING=1");
    heard("READY=1");
    // A tick later it has told all of it.
    heard("WATCHDOG=1");
    hang_up(Signal::TERM);
    heard("STOPPING=1");
    assert!(daemon.wait().expect("its end").success());
    let said: Vec<String> = BufReader::new(daemon.stderr.take().expect("its output")).lines().map_while(Result::ok).collect();
    let of_configuration: Vec<&String> = said.iter().filter(|line| line.contains("configuration")).collect();
    assert!(
        of_configuration.iter().any(|line| line.contains("unknown key `limt`") && line.contains("goes on with the one before"))
            && of_configuration.last().is_some_and(|line| line.contains("read anew")),
        "{said:#?}"
    );
}

#[test]
fn canaries_are_offered_at_each_pace_and_counted() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_swaptune"));
    let mut canary = command.arg("keep_canary").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a process");
    let mut tell = canary.stdin.take().expect("its input");
    let mut said = BufReader::new(canary.stdout.take().expect("its output"));
    let mut ask = |what: u8| {
        tell.write_all(&[what]).expect("it listens");
        let mut line = String::new();
        said.read_line(&mut line).expect("it answers");
        line.trim().strip_prefix("done ").and_then(|count| count.parse::<u64>().ok()).expect(&line)
    };
    // Once around its 64 pages, then some that are offered slower and slower.
    for (pace, enough) in [(b'f', 100), (b't', 10), (b'w', 3)] {
        let mut offered = 0;
        for _ in 0..10_000 {
            assert_eq!(ask(pace), 0);
            std::thread::sleep(Duration::from_millis(1));
            offered += ask(b's');
            if offered >= enough {
                break;
            }
        }
        assert!(offered >= enough, "{offered} of {enough}");
    }
    drop(tell);
    assert!(canary.wait().expect("its end").success());
}
