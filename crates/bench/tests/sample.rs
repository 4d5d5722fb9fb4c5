//! Sampling of real processes with the real calls: this program starts itself as a process whose pages are known.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::time::Duration;

use libtest_mimic::{Arguments, Failed, Trial};
use swaptune_bench::codec::CodecSetting;
use swaptune_bench::sample::{EstimatedPools, MemorySample, Numbers, PageSet, SampleError, SampleRequest, SampleStep, take};
use swaptune_core::facts::KernelFacts;
use swaptune_core::measurement::Estimate;
use swaptune_host::machine::Machine;
use swaptune_host::processes::ProcessChoice;
use swaptune_tiers::page_set::PageClass;

/// Pages of each kind that the process has.
const ZERO: usize = 1500;
const SAME: usize = 500;
const TEXT: usize = 2000;
const NOISE: usize = 1000;
const ALL: usize = ZERO + SAME + TEXT + NOISE;
const PAGE: usize = 4096;
/// More than the rest of such a process has: stack, heap, data of its libraries.
const REST: usize = 400;

type Test = fn() -> Result<(), Failed>;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("--hold") => hold(false),
        Some("--touch") => hold(true),
        _ => {
            let tests: [(&str, Test); 6] = [
                ("shares_are_those_of_the_process", shares),
                ("intervals_hold_the_truth", intervals),
                ("a_process_that_dies_half_way_is_counted", death),
                ("pages_that_nobody_touches_are_cold", cold),
                ("pages_shared_after_a_fork_are_counted", fork),
                ("nobody_is_an_error_with_a_name", nobody),
            ];
            let trials = tests.map(|(name, test)| Trial::test(name, test));
            libtest_mimic::run(&Arguments::from_args(), trials.into()).exit_code()
        }
    }
}

/// Has known pages until its standard input ends; touches the first half of them all the time if asked to.
fn hold(touch: bool) -> ExitCode {
    let pages = known_pages();
    println!("ready");
    if touch {
        std::thread::spawn(move || {
            loop {
                let sum: u64 = pages[..ALL / 2 * PAGE].iter().step_by(PAGE).map(|byte| u64::from(*byte)).sum();
                std::hint::black_box(sum);
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let _ = std::io::stdin().read(&mut [0]);
        return ExitCode::SUCCESS;
    }
    let _ = std::io::stdin().read(&mut [0]);
    std::hint::black_box(&pages);
    ExitCode::SUCCESS
}

fn known_pages() -> Vec<u8> {
    // Ones first: zeros that were never written are no pages.
    let mut pages = vec![1_u8; ALL * PAGE];
    let (zero, rest) = pages.split_at_mut(ZERO * PAGE);
    let (same, rest) = rest.split_at_mut(SAME * PAGE);
    let (text, noise) = rest.split_at_mut(TEXT * PAGE);
    zero.fill(0);
    same.fill(0x5a);
    for (page, number) in text.chunks_exact_mut(PAGE).zip(0_u32..) {
        let words = (0..1000).flat_map(|word| format!("word {} ", number.wrapping_mul(31).wrapping_add(word) % 977).into_bytes());
        page.iter_mut().zip(words).for_each(|(byte, word)| *byte = word);
    }
    let mut state = 1_u64;
    for byte in noise {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *byte = (state >> 56) as u8;
    }
    pages
}

/// A process that is ended with the test.
struct Held {
    child: Child,
    _stdin: ChildStdin,
    _stdout: BufReader<ChildStdout>,
}

impl Held {
    fn start(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Self { child, _stdin: stdin, _stdout: stdout }
    }

    fn ourselves(how: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg(how);
        Self::start(command)
    }

    fn pid(&self) -> u32 {
        self.child.id()
    }

    fn end(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // Ended already is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn request(pids: &[u32], pages: u64, seed: u64) -> SampleRequest {
    let codecs: Vec<CodecSetting> = ["lz4", "zstd"].iter().map(|name| name.parse().unwrap()).collect();
    let choice = ProcessChoice { pids: pids.to_vec(), ..ProcessChoice::default() };
    SampleRequest { choice, pages, cold_seconds: None, seed, codecs, by_unit: false }
}

fn of(pid: u32, pages: u64, seed: u64) -> MemorySample {
    take(&Machine::live(), &request(&[pid], pages, seed), &mut |_| ()).unwrap()
}

fn pools() -> EstimatedPools {
    EstimatedPools::of(&KernelFacts::default())
}

fn numbers(set: &PageSet) -> Numbers {
    Numbers::whole(set, &pools()).unwrap()
}

fn count(set: &PageSet, class: PageClass) -> usize {
    set.class.iter().filter(|known| **known == class).count()
}

fn is_about(found: usize, expected: usize) -> bool {
    // The memory may begin in the middle of a page: then a page at each border is half this, half that.
    (expected - 1..expected + REST).contains(&found)
}

fn shares() -> Result<(), Failed> {
    let held = Held::ourselves("--hold");
    let sample = of(held.pid(), 1_000_000, 1);
    let set = &sample.set;
    let (zero, same, data) = (count(set, PageClass::Zero), count(set, PageClass::SameFilled), count(set, PageClass::Data));
    let noise = set.sizes["lz4"].iter().filter(|size| **size == 4096).count();
    if !is_about(zero, ZERO) || !is_about(same, SAME) || !is_about(data, TEXT + NOISE) || !is_about(noise, NOISE) {
        return Err(format!("{zero} zero, {same} same-filled, {data} other, {noise} incompressible pages").into());
    }
    let whole = numbers(set);
    assert_eq!((whole.sampled, sample.tally.vanished_pages, sample.tally.unread()), (whole.present, 0, 0));
    assert_eq!((whole.zero.low, whole.zero.high), (whole.zero.value, whole.zero.value), "all pages are no sample");
    // A third of what is no filled page is noise; the rest is text of few words.
    let ratio = |codec: &str| whole.codecs.iter().find(|known| known.codec == codec).unwrap().ratio.value;
    assert!(1.5 < ratio("lz4") && ratio("lz4") < ratio("zstd") && ratio("zstd") < 3.1, "{whole:?}");
    let name = std::fs::read_to_string(format!("/proc/{}/comm", held.pid()))?;
    assert_eq!(set.groups[0].name, format!("{}[{}]", name.trim(), held.pid()));
    // What is kept of it is read back.
    assert_eq!(&PageSet::from_json(&set.to_json()?)?, set);
    Ok(())
}

fn intervals() -> Result<(), Failed> {
    let held = Held::ourselves("--hold");
    let truth = numbers(&of(held.pid(), 1_000_000, 1).set);
    let holds = |estimate: Estimate, truth: Estimate| u32::from((estimate.low..=estimate.high).contains(&truth.value));
    let (mut zero, mut ratio) = (0, 0);
    for seed in 1..=60 {
        let sampled = numbers(&of(held.pid(), 500, seed).set);
        zero += holds(sampled.zero, truth.zero);
        ratio += holds(sampled.codecs[1].ratio, truth.codecs[1].ratio);
    }
    // 57 of 60 are to be expected; fewer than 51 are one chance in 200, and seeds and pages are the same each time.
    if zero < 51 || ratio < 51 {
        return Err(format!("of 60 intervals {zero} and {ratio} hold the truth").into());
    }
    Ok(())
}

fn death() -> Result<(), Failed> {
    let (mut dies, lives) = (Held::ourselves("--hold"), Held::ourselves("--hold"));
    let pids = [dies.pid(), lives.pid()];
    // It ends while pages are located: before its own are, or after.
    let sample = take(&Machine::live(), &request(&pids, 4000, 3), &mut |step| {
        if step == (SampleStep::Locating { done: 1, of: 2 }) {
            dies.end();
        }
    })?;
    let tally = sample.tally;
    assert_eq!((tally.processes, tally.forbidden, tally.failed), (2, 0, 0));
    assert!(tally.vanished == 1 || tally.vanished_pages > 1000, "{tally:?}");
    let zero = numbers(&sample.set).zero;
    assert!((0.2..0.4).contains(&zero.value), "the other one is still known: {zero:?}");
    Ok(())
}

fn cold() -> Result<(), Failed> {
    let (half, none) = (Held::ourselves("--touch"), Held::ourselves("--hold"));
    let request = SampleRequest { cold_seconds: Some(2), ..request(&[half.pid(), none.pid()], 1_000_000, 1) };
    let mut watched = 0;
    let sample = take(&Machine::live(), &request, &mut |step| watched += u64::from(matches!(step, SampleStep::Watching { .. })))?;
    let how = sample.cold.as_ref().unwrap();
    assert_eq!((how.seconds, watched), (2, 2));
    let each = Numbers::each(&sample.set, &pools());
    let share = |held: &Held| {
        let name = format!("[{}]", held.pid());
        let at = sample.set.groups.iter().position(|group| group.name.ends_with(&name)).unwrap();
        each[at].as_ref().unwrap().cold.unwrap().value
    };
    let (half, none) = (share(&half), share(&none));
    if !(0.4..0.6).contains(&half) || none < 0.9 {
        return Err(format!("{half} of one that touches half, {none} of one that sleeps, by {}", how.method).into());
    }
    Ok(())
}

fn fork() -> Result<(), Failed> {
    let mut command = Command::new("sh");
    // The subshell is a fork of the shell and shares what both do not write to.
    command.args(["-c", "x=$(seq 1 400000); (read line; echo $x | wc -c) & echo ready; read line; echo $x | wc -c"]);
    let held = Held::start(command);
    let sample = of(held.pid(), 100_000, 1);
    let read = sample.set.len() as u64;
    assert!(sample.tally.shared_pages * 2 > read && sample.tally.shared_pages <= read, "{:?} of {read}", sample.tally);
    Ok(())
}

fn nobody() -> Result<(), Failed> {
    match take(&Machine::live(), &request(&[u32::MAX], 10, 1), &mut |_| ()) {
        Err(error @ SampleError::NoneMatches(_)) => {
            assert_eq!(error.to_string(), "no process with memory of its own: pid 4294967295");
            Ok(())
        }
        other => Err(format!("{other:?}").into()),
    }
}
