//! The screen as it is drawn, at two sizes, with and without what a terminal may lack.
//!
//! `SWAPTUNE_ACCEPT=1 cargo test -p swaptune-watch` accepts what is drawn now; read the difference.

use std::path::Path;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;
use swaptune_core::control::{DaemonReport, Totals, WantedLaws};
use swaptune_core::facts::{Pressure, SwapArea, SwapKind, ZramDevice, ZramMmStat, ZswapFacts};
use swaptune_core::metrics::{ProcessUse, Sample, UnitUse};
use swaptune_core::parse::block_stat::BlockStat;
use swaptune_core::parse::keyed;
use swaptune_core::{Bytes, Fact};

use super::*;

/// A machine that swaps more at each step.
fn sample(step: u64) -> Sample {
    let mut sample = Sample { steady_us: 1_000_000 * step, ..Sample::default() };
    let total = step * (step + 1) / 2;
    let facts = &mut sample.facts;
    facts.kernel.page_size = Bytes(4096);
    let meminfo = "MemTotal: 4096000 kB\nMemFree: 300000 kB\nMemAvailable: 900000 kB\nAnonPages: 1900000 kB\nCached: 400000 kB\n\
                   Slab: 150000 kB\nZswap: 1200000 kB\nZswapped: 3600000 kB\n";
    facts.memory.meminfo = Fact::known(keyed::meminfo(meminfo), "/proc/meminfo");
    let vmstat = format!(
        "pswpin {}\npswpout {}\nzswpin {}\nzswpout {}\nzswpwb {}\nworkingset_refault_anon {}\n",
        3 * total,
        9 * total,
        250 * total,
        700 * total,
        total,
        100 * total
    );
    facts.memory.vmstat = Fact::known(keyed::counts(&vmstat), "/proc/vmstat");
    facts.memory.pressure = Fact::known(Pressure { some_total_us: 12_000 * total, ..Pressure::default() }, "psi");
    let parameters = [("max_pool_percent", "50"), ("accept_threshold_percent", "90")];
    let parameters = parameters.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let why = "/sys/kernel/debug/zswap: permission denied, try as root";
    facts.zswap =
        Fact::known(ZswapFacts { enabled: true, parameters, counters: Fact::absent(why), ..ZswapFacts::default() }, "zswap");
    let stat = ZramMmStat { orig_data_size: Bytes::from_mib(64), mem_used_total: Bytes::from_mib(16), ..ZramMmStat::default() };
    facts.zram.devices.push(ZramDevice {
        name: "zram0".into(),
        disksize: Bytes::from_mib(256),
        mm_stat: Fact::known(stat, "mm_stat"),
        ..ZramDevice::default()
    });
    for (number, path) in ["/dev/vda3", "/var/lib/a-rather-long-name/of/a/swapfile"].into_iter().enumerate() {
        facts.swaps.push(SwapArea {
            path: path.into(),
            kind: SwapKind::Partition,
            size: Bytes::from_gib(4),
            used: Bytes::from_mib(1500 * (number as u64 + 1)),
            priority: 10,
            device: if number == 0 { Fact::known("vda3".into(), "test") } else { Fact::absent("no device") },
            uuid: Fact::default(),
            encryption: Fact::default(),
            filesystem: Fact::default(),
        });
    }
    let stat = BlockStat {
        reads: 3 * total,
        read: Bytes(12_288 * total),
        read_ms: 7 * total,
        writes: 9 * total,
        written: Bytes(36_864 * total),
        write_ms: 40 * total,
    };
    sample.disks.insert("vda3".into(), stat);
    let unit = |name: &str, swap, pool| UnitUse {
        name: name.into(),
        swap: Some(Bytes::from_mib(swap)),
        pool: Some(Bytes::from_mib(pool)),
        refaults: Some(swap * total),
        refaults_per_second: Some((swap * step) as f64),
    };
    sample.units =
        Fact::known(vec![unit("web.service", 900, 200), unit("database.service", 1200, 100), unit("/box", 0, 0)], "test");
    let process = |pid, name: &str, swap| ProcessUse { pid, name: name.into(), swap: Bytes::from_mib(swap) };
    sample.processes = Fact::known(vec![process(7, "postgres", 800), process(1234, "python3", 700)], "test");
    sample.daemon = Fact::known(daemon(step), "test");
    sample
}

/// A daemon that has probed a unit at each step.
fn daemon(step: u64) -> DaemonReport {
    let totals = Totals { taken: Bytes::from_mib(step), drained: Bytes::from_mib(25), ..Totals::default() };
    let mut report = DaemonReport {
        out: Some(Bytes::from_mib(step / 2)),
        works: WantedLaws { limit: true, pacing: false, reclaim: true, zram: false },
        limit: "the pool is far from its limit".into(),
        pacing: "zswap's shrinker is on".into(),
        reclaim: "2 of 3 units are idle, and none of them has memory to give now".into(),
        totals,
        ..DaemonReport::default()
    };
    report.unix_ms = 1000 * step;
    report.log("limit", "43 % → 45 %".into(), "RAM is not short");
    report.log("reclaim", "took 1 MiB from /system.slice/web.service, 600 KiB less in RAM".into(), "idle for 601 s");
    report.unix_ms += 12_000;
    report
}

const PLAIN: ScreenMarks = ScreenMarks { colour: false, ascii: false };

fn view(marks: ScreenMarks, steps: u64) -> View {
    let mut view = View::new(marks, "web1".into());
    (1..=steps).for_each(|step| view.push(sample(step)));
    view
}

fn terminal(view: &View, width: u16, height: u16) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, view)).unwrap();
    terminal
}

fn text(view: &View, width: u16, height: u16) -> String {
    let terminal = terminal(view, width, height);
    let cells = terminal.backend().buffer().content();
    let lines = cells.chunks(usize::from(width)).map(|line| line.iter().map(ratatui::buffer::Cell::symbol).collect::<String>());
    lines.map(|line| line.trim_end().to_owned() + "\n").collect()
}

fn check(name: &str, drawn: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/screens").join(name);
    if std::env::var_os("SWAPTUNE_ACCEPT").is_some_and(|value| value == "1") {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, drawn).unwrap();
    }
    let expect = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(drawn, expect, "{name}; SWAPTUNE_ACCEPT=1 accepts it");
}

#[test]
fn the_screen_at_two_sizes() {
    check("80x24.txt", &text(&view(PLAIN, 30), 80, 24));
    check("120x40.txt", &text(&view(PLAIN, 30), 120, 40));
}

#[test]
fn in_ascii_there_is_nothing_else() {
    let marks = ScreenMarks { ascii: true, ..PLAIN };
    let mut view = view(marks, 30);
    let drawn = text(&view, 80, 24);
    assert!(drawn.is_ascii(), "{drawn}");
    check("80x24-ascii.txt", &drawn);
    view.press(KeyAction::Help);
    assert!(text(&view, 80, 200).is_ascii());
}

#[test]
fn the_help_explains_every_word_that_the_screen_shows() {
    let mut view = view(PLAIN, 3);
    check("80x24-help.txt", &{
        view.press(KeyAction::Help);
        text(&view, 80, 24)
    });
    let help = text(&view, 120, 200);
    view.press(KeyAction::Help);
    let screen = text(&view, 120, 40);
    for word in WORDS {
        assert!(help.contains(word.word), "{} is not explained", word.word);
        assert!(screen.contains(word.word), "{} is explained and not on the screen", word.word);
    }
    // Headings and first words of lines are words; figures, names and keys are not.
    for line in screen.lines().filter(|line| line.chars().take(3).all(|letter| letter.is_uppercase())) {
        for word in line
            .split_whitespace()
            .filter(|word| word.len() > 2 && word.chars().all(|letter| letter.is_uppercase() || letter == '-'))
        {
            assert!(WORDS.iter().any(|known| known.word == word), "{word} is on the screen and not explained");
        }
    }
    assert!(help.contains("try as root"), "why there is none here is said\n{help}");
}

#[test]
fn a_key_shows_what_the_daemon_decided_and_what_its_laws_say() {
    let mut view = view(PLAIN, 30);
    view.press(KeyAction::Decisions);
    let drawn = text(&view, 80, 24);
    for part in ["at work", "off: zswap's shrinker is on", "2 of 3 units are idle", "12 s ago", "43 % → 45 %", "idle for 601 s"]
    {
        assert!(drawn.contains(part), "{part}\n{drawn}");
    }
    assert!(!drawn.contains("stores"), "{drawn}");
    view.press(KeyAction::Help);
    assert!(view.help.is_some() && !view.decisions, "one page at a time");
    view.press(KeyAction::Decisions);
    view.press(KeyAction::Decisions);
    assert!(text(&view, 80, 24).contains("stores"));
    view.push(Sample { daemon: Fact::absent("no daemon has run"), ..sample(31) });
    assert!(!text(&view, 80, 24).contains("decided"), "no line without a daemon");
    view.press(KeyAction::Decisions);
    assert!(text(&view, 80, 24).contains("no daemon has run"));
}

#[test]
fn keys_beyond_the_end_of_the_help_are_not_to_be_taken_back() {
    let mut view = view(PLAIN, 3);
    view.press(KeyAction::Help);
    let first = text(&view, 80, 24);
    (0..500).for_each(|_| view.press(KeyAction::Scroll(1)));
    let last = text(&view, 80, 24);
    assert_ne!(first, last);
    view.press(KeyAction::Scroll(-1));
    assert_ne!(text(&view, 80, 24), last, "the first key upwards moves it");
}

#[test]
fn any_size_can_be_drawn() {
    let view = view(PLAIN, 3);
    for (width, height) in [(1, 1), (10, 3), (40, 10), (79, 23), (300, 100)] {
        assert_eq!(text(&view, width, height).lines().count(), usize::from(height));
    }
    assert!(text(&View::new(PLAIN, "a".into()), 80, 24).contains("waiting"));
}

#[test]
fn without_colour_no_cell_has_one_and_with_it_the_text_is_the_same() {
    let colours = |marks: ScreenMarks| {
        let terminal = terminal(&view(marks, 30), 80, 24);
        terminal.backend().buffer().content().iter().any(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset)
    };
    let coloured = ScreenMarks { colour: true, ..PLAIN };
    assert!(!colours(PLAIN) && colours(coloured));
    assert_eq!(text(&view(PLAIN, 30), 80, 24), text(&view(coloured, 30), 80, 24));
}

#[test]
fn keys_sort_and_units_follow() {
    let mut view = view(PLAIN, 30);
    let first = |view: &View| {
        let drawn = text(view, 120, 40);
        let at = drawn.lines().position(|line| line.starts_with("UNIT")).unwrap();
        drawn.lines().nth(at + 1).unwrap().split_whitespace().next().unwrap().to_owned()
    };
    assert_eq!(first(&view), "database.service");
    view.press(KeyAction::Sort);
    assert_eq!(first(&view), "web.service");
    assert!(view.wanted().pool && !view.wanted().refaults, "only what is shown is read");
    for (code, expect) in [
        ('q', KeyAction::Quit),
        ('r', KeyAction::Record),
        ('p', KeyAction::Pause),
        ('?', KeyAction::Help),
        ('s', KeyAction::Sort),
        ('d', KeyAction::Decisions),
    ] {
        assert_eq!(key(&Event::Key(KeyEvent::new(KeyCode::Char(code), KeyModifiers::NONE))), Some(expect));
    }
    assert_eq!(key(&Event::Resize(80, 24)), None);
}
