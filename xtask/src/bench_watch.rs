//! P16 and P17: what `watch` costs at 1 Hz beside its peers, with 500 processes and 500 control groups on the machine.
//!
//! Programs run one after the other, in an order that turns from round to round. Of each: processor time of the process and of children that
//! ended, as a share of one core; its most resident memory; the time from SIGTERM to its end. Peers that are not installed are named
//! and left out: `apt-get install --no-install-recommends prometheus-node-exporter atop`, `cargo install below`.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, kill_process};

/// Processes, and control groups with one of them each.
const POPULATION: usize = 500;
/// Time for a program to start, and for its first tick.
const START: Duration = Duration::from_secs(3);
/// Ticks of `/proc/PID/stat` in a second (`USER_HZ`, the same on all architectures that Linux has now).
const USER_HZ: f64 = 100.0;
const GROUP: &str = "swaptune-bench-watch";

/// A program that is measured.
struct MeasuredProgram {
    name: &'static str,
    words: &'static [&'static str],
    /// Where it is asked once a second.
    scraped: Option<&'static str>,
}

const PROGRAMS: &[MeasuredProgram] = &[
    MeasuredProgram { name: "watch --csv", words: &["target/release/swaptune", "watch", "--csv"], scraped: None },
    MeasuredProgram { name: "watch --json", words: &["target/release/swaptune", "watch", "--json"], scraped: None },
    MeasuredProgram {
        name: "watch --listen",
        words: &["target/release/swaptune", "watch", "--listen", "127.0.0.1:19877"],
        scraped: Some("127.0.0.1:19877"),
    },
    MeasuredProgram {
        name: "node_exporter",
        words: &["prometheus-node-exporter", "--web.listen-address=127.0.0.1:19878", "--log.level=error"],
        scraped: Some("127.0.0.1:19878"),
    },
    MeasuredProgram { name: "atop", words: &["atop", "-w", "target/bench-watch.atop", "1"], scraped: None },
    MeasuredProgram { name: "below record", words: &["below", "record", "--interval-s", "1"], scraped: None },
];

/// What one run cost.
#[derive(Clone, Copy)]
struct RunCost {
    /// Percent of one core.
    core: f64,
    /// MiB.
    resident: f64,
    /// From SIGTERM to the end, seconds.
    ends: f64,
}

/// Prints the costs of `rounds` rounds of `seconds` each.
pub fn run(seconds: u64, rounds: usize) -> anyhow::Result<()> {
    if !Path::new("target/release/swaptune").exists() {
        bail!("target/release/swaptune: not found; build it: cargo build --release --package swaptune");
    }
    let population = Population::make()?;
    println!("{}", conditions(&population, seconds, rounds)?);
    let mut found: Vec<Vec<RunCost>> = PROGRAMS.iter().map(|_| Vec::new()).collect();
    for round in 0..rounds {
        for turn in 0..PROGRAMS.len() {
            let index = (turn + round) % PROGRAMS.len();
            let program = &PROGRAMS[index];
            if is_there(program) {
                eprintln!("round {} of {rounds}: {}", round + 1, program.name);
                found[index].push(measure(program, seconds).with_context(|| program.name)?);
            }
        }
    }
    println!("{:<16}{:>24}{:>20}{:>18}", "PROGRAM", "% OF A CORE", "MOST RESIDENT", "SIGTERM TO END");
    for (program, costs) in PROGRAMS.iter().zip(&found) {
        if costs.is_empty() {
            println!("{:<16}not installed: {}", program.name, program.words[0]);
            continue;
        }
        let of = |value: fn(&RunCost) -> f64| spread(costs.iter().map(value).collect());
        let (core, resident, ends) = (of(|cost| cost.core), of(|cost| cost.resident), of(|cost| cost.ends));
        println!(
            "{:<16}{:>9.2} ({:.2} to {:.2}){:>12.1} MiB{:>16.2} s",
            program.name, core.1, core.0, core.2, resident.2, ends.2
        );
    }
    Ok(())
}

/// Least, median and most.
fn spread(mut values: Vec<f64>) -> (f64, f64, f64) {
    values.sort_by(f64::total_cmp);
    let last = values.len() - 1;
    (values[0], values[values.len() / 2], values[last])
}

fn is_there(program: &MeasuredProgram) -> bool {
    let name = program.words[0];
    let paths = std::env::var_os("PATH").unwrap_or_default();
    name.contains('/') || std::env::split_paths(&paths).any(|folder| folder.join(name).exists())
}

fn conditions(population: &Population, seconds: u64, rounds: usize) -> anyhow::Result<String> {
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease")?;
    let load = fs::read_to_string("/proc/loadavg")?;
    let cores = std::thread::available_parallelism()?;
    let all = fs::read_dir("/proc")?.flatten().filter(|entry| entry.file_name().to_string_lossy().parse::<u32>().is_ok()).count();
    Ok(format!(
        "Linux {}, {cores} cores, load {}; {all} processes, {} groups of {}; 1 Hz, {rounds} rounds of {seconds} s; median (least to most)\n",
        kernel.trim(),
        load.split_whitespace().next().unwrap_or_default(),
        population.groups.len(),
        population.kind
    ))
}

fn measure(program: &MeasuredProgram, seconds: u64) -> anyhow::Result<RunCost> {
    let (name, words) = program.words.split_first().context("a program has a name")?;
    let mut child =
        RunningProgram(Command::new(name).args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?);
    sleep(START);
    let (begun, before) = (Instant::now(), processor_time(child.0.id())?);
    for tick in 1..=seconds {
        if let Some(address) = program.scraped {
            scrape(address)?;
        }
        sleep((begun + Duration::from_secs(tick)).saturating_duration_since(Instant::now()));
    }
    let core = (processor_time(child.0.id())? - before) / begun.elapsed().as_secs_f64() * 100.0;
    let resident = most_resident(child.0.id())?;
    let asked = Instant::now();
    kill_process(Pid::from_raw(child.0.id() as i32).context("a process has an id")?, Signal::TERM)?;
    child.0.wait()?;
    Ok(RunCost { core, resident, ends: asked.elapsed().as_secs_f64() })
}

/// A program that ends with us.
struct RunningProgram(Child);

impl Drop for RunningProgram {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Seconds of processor time of a process and of its children that ended.
fn processor_time(pid: u32) -> anyhow::Result<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let behind_name = text.rsplit_once(')').context("a name in /proc/PID/stat")?.1;
    // utime, stime, cutime, cstime are fields 14 to 17; the state, field 3, is the first behind the name.
    let ticks = behind_name.split_whitespace().skip(11).take(4).map(str::parse::<f64>).sum::<Result<f64, _>>()?;
    Ok(ticks / USER_HZ)
}

/// `VmHWM`, MiB.
fn most_resident(pid: u32) -> anyhow::Result<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("VmHWM")?;
    let kib: f64 = line.split_whitespace().next().context("a size")?.parse()?;
    Ok(kib / 1024.0)
}

fn scrape(address: &str) -> anyhow::Result<()> {
    let mut stream = TcpStream::connect(address)?;
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    if answer.starts_with(b"HTTP/1.1 200") {
        Ok(())
    } else {
        bail!("{address}: {}", String::from_utf8_lossy(&answer[..answer.len().min(80)]))
    }
}

/// Processes that sleep, each in a group of its own.
struct Population {
    processes: Vec<Child>,
    groups: Vec<PathBuf>,
    kind: &'static str,
}

impl Population {
    fn make() -> anyhow::Result<Self> {
        let (root, kind) = match Path::new("/sys/fs/cgroup/cgroup.controllers").exists() {
            true => (Path::new("/sys/fs/cgroup"), "cgroup v2"),
            false => (Path::new("/sys/fs/cgroup/memory"), "cgroup v1 (memory)"),
        };
        let mut population = Self { processes: Vec::new(), groups: Vec::new(), kind };
        for number in 0..POPULATION {
            let group = root.join(format!("{GROUP}-{number}"));
            // One that a killed run left is as good.
            fs::create_dir_all(&group).with_context(|| format!("{}: needs root", group.display()))?;
            population.groups.push(group.clone());
            let process = Command::new("sleep").arg("infinity").stdin(Stdio::null()).spawn()?;
            fs::write(group.join("cgroup.procs"), process.id().to_string())?;
            population.processes.push(process);
        }
        Ok(population)
    }
}

impl Drop for Population {
    fn drop(&mut self) {
        for process in &mut self.processes {
            let _ = process.kill();
            let _ = process.wait();
        }
        for group in &self.groups {
            let _ = fs::remove_dir(group);
        }
    }
}
