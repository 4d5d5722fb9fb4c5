//! Recording of a real process with the real calls: this program starts itself as a process that does what it is told.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write, stdin};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::time::Duration;

use libtest_mimic::{Arguments, Failed, Trial};
use swaptune_bench::sample::record::{AccessRecordError, AccessRecording, RecordRequest, record};
use swaptune_bench::sample::{GroupKind, SampleError};
use swaptune_host::machine::Machine;
use swaptune_host::processes::{Locator, ProcessChoice, page_bytes};
use swaptune_host::stop::Stop;
use swaptune_host::sys::{MadviseAdvice, OwnRegion};
use swaptune_tiers::trace::{Event, KeptColumns, Op, Trace, TraceReading, read};

/// Pages of the regions of the process: one that is read again and again, one that is written once, one that is left alone.
const READ: usize = 40;
const WRITTEN: usize = 30;
const ALONE: usize = 50;
/// Pages that it maps and unmaps.
const PASSING: usize = 20;

type Test = fn() -> Result<(), Failed>;

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("--obey") {
        obey();
        return ExitCode::SUCCESS;
    }
    let tests: [(&str, Test); 4] = [
        ("what_a_process_does_is_in_the_trace", known),
        ("of_half_a_mapping_the_count_is_right", half),
        ("a_wish_to_stop_ends_it_with_a_whole_trace", stopped),
        ("one_that_has_ended_is_an_error_with_a_name", ended),
    ];
    let trials = tests.map(|(name, test)| Trial::test(name, test));
    libtest_mimic::run(&Arguments::from_args(), trials.into()).exit_code()
}

/// Regions of different advice: the kernel keeps them as mappings of their own.
fn region(pages: usize, advice: &[MadviseAdvice]) -> OwnRegion {
    let mut region = OwnRegion::new(pages * page_bytes()).unwrap();
    advice.iter().for_each(|advice| region.advise(0, pages * page_bytes(), *advice).unwrap());
    write(&mut region);
    region
}

fn write(region: &mut OwnRegion) {
    region.bytes_mut().iter_mut().step_by(page_bytes()).for_each(|byte| *byte += 1);
}

/// Does what it is told, line by line, and says when it is done.
fn obey() {
    let [read, mut written, alone] = [
        region(READ, &[MadviseAdvice::NoHugePage]),
        region(WRITTEN, &[MadviseAdvice::NoHugePage, MadviseAdvice::DontFork]),
        region(ALONE, &[MadviseAdvice::DontFork]),
    ];
    let mut passing = None;
    println!("{} {} {}", read.address(), written.address(), alone.address());
    for line in stdin().lock().lines() {
        match line.unwrap().as_str() {
            "read" => (0..READ).for_each(|page| read.touch(page * page_bytes())),
            "read half" => (0..READ).step_by(2).for_each(|page| read.touch(page * page_bytes())),
            "write" => write(&mut written),
            "map" => passing = Some(region(PASSING, &[])),
            "unmap" => drop(passing.take()),
            _ => return,
        }
        println!("done");
    }
}

struct Obedient {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    /// Numbers in the trace of the pages of the three regions: all pages of the process are numbered by address.
    regions: [BTreeSet<u32>; 3],
}

impl Obedient {
    fn start() -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let mut child = command.arg("--obey").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let stdin = child.stdin.take();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let starts: Vec<u64> = line.split_whitespace().map(|number| number.parse().unwrap()).collect();
        let mut process = Self { child, stdin, stdout, regions: Default::default() };
        // The first order makes pages, such as the buffer it is read into: pages are numbered when all of them are there.
        process.tell("read");
        let page = page_bytes() as u64;
        let located = Locator::new().locate(process.child.id()).unwrap();
        let runs = located.runs.iter().chain(&located.swapped_runs);
        let mut pages: Vec<u64> = runs.flat_map(|run| (0..run.pages).map(|index| run.start + index * page)).collect();
        pages.sort_unstable();
        let numbers = |start: u64, count: usize| {
            let range = start..start + count as u64 * page;
            pages.iter().zip(0..).filter(|(address, _)| range.contains(address)).map(|(_, number)| number).collect()
        };
        process.regions = [numbers(starts[0], READ), numbers(starts[1], WRITTEN), numbers(starts[2], ALONE)];
        process
    }

    fn tell(&mut self, what: &str) {
        if what == "end" {
            self.stdin = None;
            self.child.wait().unwrap();
            return;
        }
        writeln!(self.stdin.as_mut().unwrap(), "{what}").unwrap();
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        assert_eq!(line, "done\n");
    }

    /// Records it while it does these things, one list between two looks.
    fn record(&mut self, orders: &[&[&str]], stop: &Stop) -> (AccessRecording, Trace) {
        let choice = ProcessChoice { pids: vec![self.child.id()], ..ProcessChoice::default() };
        let (interval, length) = (Duration::from_millis(20), Duration::from_secs(60));
        let request = RecordRequest { choice, by_unit: false, interval, length };
        let mut given = 0;
        let mut on = |_: Duration, recording: &AccessRecording| {
            if recording.looks as usize > given {
                let orders = orders.get(given).copied().unwrap_or_default();
                given += 1;
                orders.iter().for_each(|what| if *what == "stop" { stop.ask() } else { self.tell(what) });
            }
        };
        let (recording, bytes) = record(&Machine::live(), &request, Vec::new(), stop, &mut on).unwrap();
        let trace = read(&bytes[..], &TraceReading { format: None, layout: None, keep: KeptColumns::Everything }).unwrap();
        (recording, trace)
    }
}

impl Drop for Obedient {
    fn drop(&mut self) {
        // Ended already is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Events of each look.
fn looks(trace: &Trace) -> Vec<Vec<Event>> {
    let events: Vec<Event> = trace.iter().collect();
    events.chunk_by(|a, b| a.time == b.time).map(<[Event]>::to_vec).collect()
}

fn pages(events: &[Event], op: impl Fn(Op) -> bool) -> BTreeSet<u32> {
    events.iter().filter(|event| op(event.op)).map(|event| event.page).collect()
}

fn known() -> Result<(), Failed> {
    let mut process = Obedient::start();
    let [again, once, alone] = process.regions.clone();
    assert_eq!((again.len(), once.len(), alone.len()), (READ, WRITTEN, ALONE));
    let orders: [&[&str]; 5] = [&["read", "write"], &["read"], &["read", "map"], &["read", "unmap"], &["end"]];
    let (recording, trace) = process.record(&orders, &Stop::default());
    let looks = looks(&trace);
    assert_eq!((recording.looks, looks.len()), (6, 6));
    let held: Vec<u32> = looks[0].iter().map(|event| event.page).collect();
    assert_eq!(held, (0..held.len() as u32).collect::<Vec<u32>>(), "all pages, by address");
    for (look, expected) in looks[1..5].iter().zip([true, false, false, false]) {
        let used = pages(look, |op| op != Op::Free);
        assert!(again.is_subset(&used) && alone.is_disjoint(&used), "{used:?} of {again:?}, {alone:?}");
        assert_eq!((once.is_subset(&used), once.is_disjoint(&used)), (expected, !expected), "{used:?} of {once:?}");
        assert_eq!(look.len(), look.iter().map(|event| event.page).collect::<BTreeSet<u32>>().len(), "each page once");
    }
    let is = |wanted| move |op| op == wanted;
    assert!(again.is_subset(&pages(&looks[1], is(Op::Read))));
    assert!(once.is_subset(&pages(&looks[1], is(if recording.writes_seen { Op::Write } else { Op::Read }))));
    // What was mapped is new, and what was unmapped goes; a page or two of the heap may do so too.
    let is_new = |page: &&u32| **page >= held.len() as u32;
    let (made, gone) = (pages(&looks[3], is(Op::Write)), pages(&looks[4], is(Op::Free)));
    let passing: BTreeSet<u32> = made.iter().filter(is_new).copied().collect();
    assert!(
        (PASSING..PASSING + 10).contains(&passing.len()) && passing.intersection(&gone).count() >= PASSING,
        "{made:?} {gone:?}"
    );
    // In the end all of it goes.
    let there: BTreeSet<u32> = (0..trace.page_count()).filter(|page| !gone.contains(page)).collect();
    assert!(looks[5].iter().all(|event| event.op == Op::Free) && there.is_subset(&pages(&looks[5], is(Op::Free))));
    assert_eq!((recording.processes, recording.ended, recording.forbidden, recording.failed), (1, 1, 0, 0));
    assert_eq!((recording.events.all(), recording.pages), (trace.len() as u64, trace.page_count()));
    let [group] = &recording.groups[..] else { return Err(format!("{:?}", recording.groups).into()) };
    assert_eq!((group.kind, group.events), (GroupKind::Process, recording.events));
    Ok(())
}

fn half() -> Result<(), Failed> {
    let mut process = Obedient::start();
    let again = process.regions[0].clone();
    let (recording, trace) = process.record(&[&["read half"], &["read half"], &["end"]], &Stop::default());
    for look in &looks(&trace)[1..3] {
        let used = pages(look, |op| op != Op::Free);
        assert_eq!(used.intersection(&again).count(), READ / 2);
    }
    // Which half it was is known with idle page tracking only, and said.
    assert_eq!(recording.events.assumed >= READ as u64, !recording.each_page, "{recording:?}");
    Ok(())
}

fn stopped() -> Result<(), Failed> {
    let mut process = Obedient::start();
    let stop = Stop::default();
    let (recording, trace) = process.record(&[&["read"], &["stop"]], &stop);
    assert_eq!((recording.looks, recording.ended), (2, 0));
    assert_eq!(trace.len() as u64, recording.events.all());
    Ok(())
}

fn ended() -> Result<(), Failed> {
    let mut process = Obedient::start();
    let choice = ProcessChoice { pids: vec![process.child.id()], ..ProcessChoice::default() };
    process.tell("end");
    let request = RecordRequest { choice, by_unit: false, interval: Duration::from_secs(1), length: Duration::from_secs(1) };
    match record(&Machine::live(), &request, Vec::new(), &Stop::default(), &mut |_, _| ()) {
        Err(AccessRecordError::Nothing(error @ SampleError::NoneMatches(_))) => {
            assert!(error.to_string().ends_with(&format!("pid {}", process.child.id())), "{error}");
            Ok(())
        }
        other => Err(format!("{other:?}").into()),
    }
}
