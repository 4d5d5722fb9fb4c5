use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use swaptune_core::KernelVersion;
use swaptune_kernel::v;

use super::*;
use crate::sys::{MadviseAdvice, OwnRegion};

fn ourselves() -> u32 {
    std::process::id()
}

/// The kernel that runs the tests.
fn kernel() -> Option<KernelVersion> {
    std::fs::read_to_string("/proc/sys/kernel/osrelease").ok().and_then(|release| KernelVersion::from_release(&release))
}

/// While this is held no other test clears the marks of this process.
pub(super) fn marks_are_ours() -> MutexGuard<'static, ()> {
    static MARKS: Mutex<()> = Mutex::new(());
    MARKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A region of our own with every second page written.
pub(super) fn half_written(pages: usize) -> OwnRegion {
    let page = page_bytes();
    let mut region = OwnRegion::new(pages * page).unwrap();
    region.advise(0, pages * page, MadviseAdvice::NoHugePage).unwrap();
    // Other tests start processes meanwhile.
    region.advise(0, pages * page, MadviseAdvice::DontFork).unwrap();
    for index in (0..pages).step_by(2) {
        region.bytes_mut()[index * page..][..8].copy_from_slice(&(index as u64 + 1).to_ne_bytes());
    }
    region
}

fn pages_in(located: &Located, region: &OwnRegion) -> Vec<u64> {
    let page = page_bytes() as u64;
    let (start, end) = (region.address() as u64, (region.address() + region.bytes_len()) as u64);
    let all = located.runs.iter().flat_map(|run| (0..run.pages).map(move |index| run.start + index * page));
    all.filter(|address| (start..end).contains(address)).collect()
}

#[test]
fn both_ways_find_the_same_pages() {
    let region = half_written(200);
    // Pages that were only read share the zero page and are no memory of theirs.
    for index in 101..150 {
        region.touch(index * page_bytes());
    }
    let expected: Vec<u64> = (0..100).map(|index| (region.address() + 2 * index * page_bytes()) as u64).collect();
    let scan = Locator::using(Method::Scan).locate(ourselves());
    let read = Locator::using(Method::Pagemap).locate(ourselves()).unwrap();
    if rustix::process::geteuid().is_root() {
        assert_eq!(pages_in(&read, &region), expected);
    }
    match scan {
        Ok(scan) => assert_eq!(pages_in(&scan, &region), expected),
        Err(error) => assert!(kernel() < Some(v(6, 7)), "PAGEMAP_SCAN came with 6.7: {error}"),
    }
}

/// A process of a shell that holds still; both ways must agree on all of it.
fn still() -> (Child, ChildStdin, BufReader<ChildStdout>) {
    let mut child = Command::new("sh")
        .args(["-c", "x=$(seq 1 20000); echo ready; read line; echo $x | wc -c"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    (child, stdin, stdout)
}

#[test]
fn both_ways_agree_about_another_process() {
    let (mut child, mut stdin, mut stdout) = still();
    let mut locator = Locator::new();
    let best = locator.locate(child.id()).unwrap();
    if rustix::process::geteuid().is_root() {
        assert_eq!(best, Locator::using(Method::Pagemap).locate(child.id()).unwrap(), "{:?}", locator.method());
    }
    assert!(best.present > 10 && best.swapped <= best.present, "{best:?}");
    // All of it can be read, and reading leaves it running.
    let addresses: Vec<u64> =
        best.runs.iter().flat_map(|run| (0..run.pages).map(|index| run.start + index * page_bytes() as u64)).collect();
    let mut nonzero = 0;
    let outcome = PageReader::new()
        .read(child.id(), &addresses, |page| nonzero += u64::from(page.bytes.iter().any(|byte| *byte != 0)))
        .unwrap();
    assert_eq!(outcome.read + outcome.vanished, addresses.len() as u64);
    assert!(outcome.vanished == 0 && nonzero > 10, "{outcome:?}, {nonzero} not zero");
    writeln!(stdin).unwrap();
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line.trim(), "108894");
    child.wait().unwrap();
}

#[test]
fn pages_are_read_in_batches_and_handed_over_in_order() {
    let region = half_written(1200);
    let located = Locator::new().locate(ourselves()).unwrap();
    let addresses = pages_in(&located, &region);
    assert_eq!(addresses.len(), 600);
    let mut seen = Vec::new();
    let outcome = PageReader::new()
        .read(ourselves(), &addresses, |page| {
            seen.push((page.index, u64::from_ne_bytes(page.bytes[..8].try_into().unwrap()), page.shared));
        })
        .unwrap();
    assert_eq!(outcome, ProcessRead { read: 600, vanished: 0, shared: 0 });
    assert!(seen.iter().enumerate().all(|(index, page)| *page == (index, 2 * index as u64 + 1, false)));
}

#[test]
fn a_page_that_vanished_is_counted_and_the_rest_is_read() {
    let page = page_bytes();
    let region = half_written(100);
    let mut addresses: Vec<u64> = (0..100).map(|index| (region.address() + index * page) as u64).collect();
    let mut seen = Vec::new();
    let outcome = PageReader::new().read(ourselves(), &addresses, |page| seen.push(page.index)).unwrap();
    assert_eq!(outcome, ProcessRead { read: 50, vanished: 50, shared: 0 });
    assert_eq!(seen, (0..100).step_by(2).collect::<Vec<_>>());
    // Not one page was made by looking.
    assert_eq!(pages_in(&Locator::new().locate(ourselves()).unwrap(), &region).len(), 50);
    // Unmapped memory in the middle of a batch.
    addresses.truncate(50);
    addresses.insert(0, page as u64);
    let outcome = PageReader::new().read(ourselves(), &addresses, |_| ()).unwrap();
    assert_eq!((outcome.read, outcome.vanished), (25, 26));
}

#[test]
fn a_process_that_ended_is_not_an_error_of_reading() {
    let (mut child, stdin, _stdout) = still();
    let located = Locator::new().locate(child.id()).unwrap();
    let first = located.runs[0].start;
    drop(stdin);
    child.kill().unwrap();
    child.wait().unwrap();
    let outcome = PageReader::new().read(child.id(), &[first], |_| ()).unwrap();
    assert_eq!(outcome, ProcessRead { vanished: 1, ..ProcessRead::default() });
    assert_eq!(Locator::new().locate(child.id()).unwrap_err(), Unseen::Vanished(child.id()));
}

#[test]
fn processes_are_listed_with_where_they_stand() {
    let machine = Machine::live();
    let (mut child, _stdin, _stdout) = still();
    let listing = list(&machine, &ProcessChoice { pids: vec![child.id()], ..ProcessChoice::default() }).unwrap();
    let [process] = &listing.processes[..] else { panic!("{listing:?}") };
    assert_eq!((process.pid, process.name.as_str()), (child.id(), "sh"));
    assert!(process.rss_anon > Bytes(0) && process.membership.path.starts_with('/'));
    let everything = list(&machine, &ProcessChoice::default()).unwrap();
    assert!(everything.processes.iter().any(|process| process.pid == child.id()));
    assert!(
        everything.processes.iter().all(|process| process.pid != ourselves() && process.pid != 2),
        "kernel threads, ourselves"
    );
    let group = ProcessChoice { cgroups: vec![process.membership.path.clone()], ..ProcessChoice::default() };
    assert!(list(&machine, &group).unwrap().processes.contains(process));
    let unit = ProcessChoice { units: vec!["no-such-unit.service".into()], ..ProcessChoice::default() };
    assert!(list(&machine, &unit).unwrap().processes.is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_folder_has_no_processes() {
    let folder = tempfile::tempdir().unwrap();
    assert!(list(&Machine::at(folder.path()), &ProcessChoice::default()).is_err());
}

#[test]
fn a_choice_says_what_it_is() {
    let choice = ProcessChoice { pids: vec![7], units: vec!["nginx".into()], cgroups: vec!["/a".into()] };
    assert_eq!(choice.to_string(), "pid 7, unit nginx, cgroup /a");
    assert_eq!(ProcessChoice::default().to_string(), "all processes");
}
