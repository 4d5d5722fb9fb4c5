//! The daemon asks a zram device to mark, to write back and to compress again; the kernel's limit of write-back is put back whatever happens.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod fixture;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fixture::daemon::{Ends, keep_time, kill_at_each, quiet_counters, tell_checkpoints, write};
use fixture::*;
use swaptune_core::Bytes;
use swaptune_core::control::{Budget, DaemonReport, DecisionEntry, Figures, Laws, WantedLaws, Wishes};
use swaptune_core::profiles::auto::largest_pool;
use swaptune_double::install;
use swaptune_host::keep::{Caller, DaemonOptions, run};
use swaptune_host::machine::Machine;
use swaptune_host::stop::Stop;
use swaptune_host::temporary::guardian;

const ROOT: &str = "SWAPTUNE_KEEP_ZRAM_TEST_ROOT";
const DEVICE: &str = "sys/block/zram0";

/// Not a test: the guardian of the others, when this program is started as one.
#[test]
fn temporary_guardian() {
    install();
    assert!(guardian::play_and_tell());
}

fn set(fixture: &Fixture, attribute: &str, text: &str) {
    write(fixture, &format!("{DEVICE}/{attribute}"), text);
}

fn get(fixture: &Fixture, attribute: &str) -> String {
    fixture.text(&format!("{DEVICE}/{attribute}")).trim().to_owned()
}

/// A quiet machine whose swap is a zram device of 400 MiB with 3000 idle pages and a backing device.
fn quiet() -> Fixture {
    let fixture = Fixture::new();
    write(&fixture, "proc/swaps", "Filename Type Size Used Priority\n/dev/zram0 partition 4096000 1000000 100\n");
    write(&fixture, "proc/sys/kernel/osrelease", "6.18.1\n");
    quiet_counters(&fixture);
    write(&fixture, "sys/block/vdb/queue/rotational", "0\n");
    for (attribute, text) in [
        ("initstate", "1\n"),
        ("disksize", "4194304000\n"),
        ("mm_stat", "900000000 400000000 419430400 0 419430400 0 0 0 0\n"),
        ("bd_stat", "0 0 0\n"),
        ("backing_dev", "/dev/vdb\n"),
        ("writeback", ""),
        ("writeback_limit", "5\n"),
        ("writeback_limit_enable", "0\n"),
        ("idle", ""),
        ("fixture_idle", "3000"),
    ] {
        set(&fixture, attribute, text);
    }
    fixture
}

fn laws(figures: Figures) -> Laws {
    let wanted = WantedLaws { limit: false, pacing: false, reclaim: false, zram: true };
    Laws::new(Wishes { figures, wanted, ..Wishes::default() }, largest_pool, Budget::default(), Budget::default())
}

/// Keeps what it hears, and asks the daemon to stop when it has heard enough.
struct Hears<'a> {
    said: Vec<String>,
    last: &'a str,
    stop: &'a Stop,
}

impl Caller for Hears<'_> {
    fn tell(&mut self, entry: &DecisionEntry) {
        assert_eq!((entry.law.as_str(), entry.why.is_empty()), ("zram", false), "{entry:?}");
        self.said.push(entry.did.clone());
        if entry.did.contains(self.last) {
            self.stop.ask();
        }
    }

    fn reload(&mut self) -> Option<Result<Wishes, String>> {
        None
    }
}

/// A daemon that says nothing more is stopped after forty seconds.
fn stop_late(stop: &Stop, over: &AtomicBool) {
    for _ in 0..400 {
        if over.load(Ordering::Relaxed) {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    stop.ask();
}

/// Runs the daemon until it has said `last`, or has had time enough to say it.
fn keep(machine: &Machine, figures: Figures, options: DaemonOptions, last: &str) -> (DaemonReport, Vec<String>) {
    install();
    let (stop, over) = (Stop::default(), AtomicBool::new(false));
    let mut hears = Hears { said: Vec::new(), last, stop: &stop };
    let report = std::thread::scope(|scope| {
        let _ends = Ends(&stop, &over);
        scope.spawn(|| keep_time(machine.root(), &over));
        scope.spawn(|| stop_late(&stop, &over));
        run(machine, laws(figures), options, &stop, &mut hears).unwrap()
    });
    (report, hears.said)
}

fn limits(fixture: &Fixture) -> (String, String) {
    (get(fixture, "writeback_limit"), get(fixture, "writeback_limit_enable"))
}

fn as_found() -> (String, String) {
    ("5".into(), "0".into())
}

#[test]
fn idle_pages_are_written_within_the_budget_and_the_limit_is_back() {
    let fixture = quiet();
    // Nine MiB a day in parts of four: 3000 pages do not fit.
    let figures = Figures { zram_budget: 9 << 20, zram_every_s: 1, ..Figures::default() };
    let (report, said) = keep(&fixture.machine(), figures, DaemonOptions::default(), "wrote back 1.0 MiB");
    let part = |mib: &str| format!("zram0 wrote back {mib} MiB, {mib} MiB less in RAM");
    assert_eq!(said[0], "marked what is idle in zram0");
    assert_eq!(said[1..], [part("4.0"), part("4.0"), part("1.0")].map(|text| text.replace(".0 MiB", " MiB")), "{report:?}");
    assert_eq!((get(&fixture, "idle"), get(&fixture, "writeback")), ("3600".into(), "huge_idle".into()));
    assert_eq!((get(&fixture, "bd_stat"), get(&fixture, "fixture_idle")), ("2304 0 2304".into(), "696".into()));
    assert_eq!(limits(&fixture), as_found());
    assert_eq!((report.totals.zram_written, report.totals.failures), (Bytes::from_mib(9), 0));
    assert_eq!(report.zram_written.left(200_000, Bytes::from_mib(9)), Bytes(0), "what was written last counts too");
}

#[test]
fn a_kernel_without_times_has_all_marked_and_an_age_later_they_go() {
    let fixture = quiet();
    set(&fixture, "fixture_no_times", "");
    let figures = Figures { zram_idle_s: 2, ..Figures::default() };
    let (_, said) = keep(&fixture.machine(), figures, DaemonOptions::default(), "wrote back 4");
    assert!(said[0].starts_with("marked all pages of zram0") && said.len() == 2, "{said:?}");
    assert_eq!(get(&fixture, "idle"), "all");
}

#[test]
fn a_secondary_compressor_takes_what_is_idle() {
    let fixture = quiet();
    set(&fixture, "backing_dev", "none\n");
    set(&fixture, "recomp_algorithm", "#1: lzo lz4 [zstd]\n#2: lzo [lz4] zstd\n");
    set(&fixture, "recompress", "");
    let figures = Figures { zram_recompress_chunk: 8 << 20, ..Figures::default() };
    let (report, said) = keep(&fixture.machine(), figures, DaemonOptions::default(), "again");
    assert_eq!(get(&fixture, "recompress"), "type=idle priority=1 max_pages=2048");
    assert!(said[1].contains("4 MiB smaller, 4 MiB less in RAM"), "{said:?}");
    assert_eq!((report.totals.zram_recompressed, get(&fixture, "writeback")), (1, String::new()));
}

#[test]
fn a_dry_run_says_what_it_would_do_and_does_nothing() {
    let fixture = quiet();
    let before = fixture.picture();
    let (_, said) = keep(
        &fixture.machine(),
        Figures::default(),
        DaemonOptions { dry_run: true, once: false },
        "idle pages of zram0 back that",
    );
    assert_eq!(said[0], "would mark pages of zram0 that were not used for 3600 s");
    assert!(said[1].starts_with("would write 4 MiB of idle pages"), "{said:?}");
    std::fs::write(fixture.path("proc/uptime"), "100.00 1.00\n").unwrap();
    assert_same(&fixture.picture(), &before, "after a dry run");
}

#[test]
fn what_cannot_be_done_is_said_and_nothing_is_marked() {
    for (attribute, text, why) in [
        ("backing_dev", "none\n", "zram0: it has no backing device; this kernel compresses nothing again"),
        ("writeback_limit_enable", "1\n", "another program has set its writeback_limit_enable"),
        ("../vdb/queue/rotational", "1\n", "its backing device /dev/vdb spins"),
        ("../../../proc/swaps", "", "no zram device is swap"),
    ] {
        let fixture = quiet();
        set(&fixture, attribute, text);
        let options = DaemonOptions { once: true, dry_run: false };
        let (report, _) = keep(&fixture.machine(), Figures::default(), options, "nothing stops it earlier");
        assert!(report.zram.contains(why), "{}", report.zram);
        assert_eq!(get(&fixture, "idle"), "", "{why}");
    }
}

/// Not a test: the process that is killed. It says how many checkpoints it passed.
#[test]
fn worker() {
    let Ok(root) = std::env::var(ROOT) else { return };
    let machine = Machine::at(&root);
    keep(&machine, Figures::default(), DaemonOptions::default(), "wrote back");
    tell_checkpoints(&root);
}

/// The kernel counts the limit down while it writes: what is left of it is put back too.
#[test]
fn whatever_kills_it_while_it_writes_the_limit_is_back() {
    kill_at_each(ROOT, 10, quiet, |fixture, said| assert_eq!(limits(fixture), as_found(), "{said}"));
}
