use proptest::prelude::*;

use super::*;
use crate::trace::{TraceFormat, TraceReading};

const FAULTS: &str = include_str!("../../tests/traces/page_fault_user.perf.txt");
const COUNTED: &str = include_str!("../../tests/traces/page-faults.perf.txt");

fn parse(text: &str) -> Result<Trace, TraceError> {
    read(TraceSource::new(text.as_bytes()).unwrap(), KeptColumns::Everything)
}

fn events(text: &str) -> Vec<(u64, u32, Op, u16)> {
    parse(text).unwrap().iter().map(|e| (e.time, e.page, e.op, e.cgroup)).collect()
}

/// The six pages that the program maps: in which order each process reads and writes them.
fn mapped(trace: &Trace, text: &str, first_page: &str) -> Vec<(u16, u32, Op)> {
    let line = text.lines().position(|line| line.contains(first_page)).unwrap();
    let base = trace.get(line).page;
    let ours = |event: &Event| event.cgroup == 0 && (base..base + 6).contains(&event.page);
    trace.iter().filter(ours).map(|event| (event.cgroup, event.page - base, event.op)).collect()
}

#[test]
fn faults_of_two_processes_are_reads_and_writes_of_their_own_pages() {
    let trace = parse(FAULTS).unwrap();
    assert_eq!(trace.len(), 64);
    let expected: Vec<_> = [Op::Read, Op::Write].into_iter().flat_map(|op| (0..6).map(move |page| (0, page, op))).collect();
    assert_eq!(mapped(&trace, FAULTS, "address=0x7f5d1d6d6000"), expected);
    // The child has pages of its own at the same addresses.
    let count = |cgroup| trace.iter().filter(|event| event.cgroup == cgroup).count();
    assert_eq!((count(0), count(1)), (39, 25));
    let pages = |cgroup| trace.iter().filter(|e| e.cgroup == cgroup).map(|e| e.page).collect::<std::collections::BTreeSet<_>>();
    assert!(pages(0).is_disjoint(&pages(1)));
    assert_eq!((trace.get(0).time, trace.get(1).time, trace.end()), (0, 7_000, 5_065_000));
}

#[test]
fn samples_with_an_address_field_are_reads() {
    let trace = parse(COUNTED).unwrap();
    assert_eq!((trace.len(), trace.iter().map(|event| event.cgroup).max()), (70, Some(1)));
    assert!(trace.iter().all(|event| event.op == Op::Read));
}

#[test]
fn loads_stores_and_other_fields_are_understood() {
    let read = [(0, 0, Op::Read, 0)];
    for (line, expected) in [
        ("a 1 5.0: page-faults: 7f001", &read[..]),
        ("5.0:     7f001", &read),
        ("a 1 [002] 5.0:   1 page-faults:   7f001   ffffffff817554ea elf_load+0x28a ([kernel.kallsyms])", &read),
        (
            "a 1 5.0: 10000 \tcpu_core/mem-loads,ldlat=3/:  7f001   10268100142 |OP LOAD|LVL L1 hit|SNP None 5 7 401136 f (b)",
            &read,
        ),
        ("a 1 5.0: 1 ibs_op/mem/:  7f001   10268100142 |OP STORE|LVL L1 hit|SNP None 5 7 401136 f (b)", &[(0, 0, Op::Write, 0)]),
        ("a 1 5.0: 1 cpu/mem-stores/P:  7f001", &[(0, 0, Op::Write, 0)]),
        ("a 1 5.0: exceptions:page_fault_kernel: address=0x7f001 ip=0xffffffff81000000 error_code=0x2", &[(0, 0, Op::Write, 0)]),
        ("# a comment\n\na 1 5.0: x:  7f001\n\tffffffff817554ea elf_load ([kernel])\n\n", &read),
        ("a 1 5.0: x: 7f001\na 1 5.5: x: ffff888000000000\na 1 5.5: x: 0\n", &read),
    ] {
        assert_eq!(events(line), expected, "{line}");
    }
    // The same page of one process, a page of another, and a tag in the highest byte.
    let text = "a 7/8 5.0: x: 7f001\nb 9/9 5.1: x: 7f001\na 7/7 5.2: x: 2b0000000007f002\n";
    assert_eq!(events(text), [(0, 0, Op::Read, 0), (100_000_000, 1, Op::Read, 1), (200_000_000, 0, Op::Read, 0)]);
}

#[test]
fn faults_are_named_with_their_line_and_what_to_type() {
    let address = "expected the address of the data (perf record -d, then perf script -F comm,pid,tid,time,event,addr)";
    for (text, says) in [
        (
            "a 1 5.0: x: 7f001\nnonsense\n",
            "line 2: found `nonsense`, expected a sample with its time, SECONDS.FRACTION:".to_owned(),
        ),
        // What perf script prints when it is not asked for anything: the instruction.
        (
            "a 1 5.0: 1 page-faults:  7f486be5bb70 _start+0x0 (/lib/ld.so)",
            format!("line 1: found `7f486be5bb70 _start+0x0 (/lib/ld.so)`, {address}"),
        ),
        ("a 1 5.0: sched:sched_switch: prev_comm=a", format!("line 1: found `prev_comm=a`, {address}")),
        ("a 1 5.0: page-faults:", format!("line 1: found `page-faults`, {address}")),
        (
            "PERFILE2\0\0\x01",
            "header: found perf's binary file, expected its text: perf script -i FILE -F comm,pid,tid,time,event,addr".to_owned(),
        ),
    ] {
        assert_eq!(parse(text).unwrap_err().to_string(), says);
    }
    let many: String = (0..=65536).map(|pid| format!("a {pid} 5.0: x: 7f001\n")).collect();
    assert_eq!(parse(&many).unwrap_err().to_string(), "line 65537: found `65536`, expected at most 65536 processes");
}

#[test]
fn the_format_is_told_by_its_content() {
    let reading = TraceReading { format: None, layout: None, keep: KeptColumns::Pages };
    for text in [FAULTS, COUNTED] {
        assert_eq!(crate::trace::read(text.as_bytes(), &reading).unwrap().len(), parse(text).unwrap().len());
    }
    let long = format!("# ========\n{}a 1 5.0: x: 7f001\n", "# cmdline : perf\n".repeat(400));
    assert_eq!(crate::trace::read(long.as_bytes(), &reading).unwrap().len(), 1);
    let error = crate::trace::read(&b"PERFILE2\0\0"[..], &reading).unwrap_err();
    assert!(error.to_string().contains("perf script"), "{error}");
    assert_eq!(TraceFormat::named("perf"), Some(TraceFormat::Perf));
}

proptest! {
    #[test]
    fn nothing_panics(text in "[0-9a-f:. x=#\n\t|/-]{0,120}", line in 0..64usize, at in 0..90usize) {
        let _ = parse(&text);
        let mut mangled: Vec<String> = FAULTS.lines().map(str::to_owned).collect();
        let at = at.min(mangled[line].len());
        mangled[line].insert_str(at, &text);
        let _ = parse(&mangled.join("\n"));
    }
}
