//! A recording as text.

use std::cmp::Reverse;
use std::path::Path;

use swaptune_bench::sample::record::{AccessRecording, Events, RecordedGroup};
use swaptune_core::Bytes;

use super::text::{columns, count, wrap};

/// Lines of the table; the JSON form has all of them.
const LINES: usize = 15;

/// What the file holds, how far it can be believed, and what to do with it.
pub fn text(recording: &AccessRecording, file: &Path) -> String {
    let events = recording.events;
    let mut page = format!(
        "{}: {} of {}, {:.0} s in {} of {}, {} ended\n",
        file.display(),
        counted(events.all(), "event"),
        counted(u64::from(recording.pages), "page"),
        recording.seconds,
        counted(u64::from(recording.looks), "look"),
        processes(recording.processes),
        recording.ended,
    );
    page += &format!("\n{}\n{}\n", columns(&kinds(events), &[1], 0), columns(&groups(recording), &[1, 2, 3, 4, 5], 0));
    for note in notes(recording) {
        page += &wrap(&note, 0);
    }
    page + &format!("next: swaptune simulate replay --trace {}\n", file.display())
}

fn counted(number: u64, noun: &str) -> String {
    count(usize::try_from(number).unwrap_or(usize::MAX), noun)
}

fn processes(number: u64) -> String {
    format!("{number} process{}", if number == 1 { "" } else { "es" })
}

fn kinds(events: Events) -> Vec<Vec<String>> {
    let row = |name: &str, number: u64, what: &str| vec![name.to_owned(), number.to_string(), what.to_owned()];
    vec![
        row("held", events.held, "pages that were there when their process was first looked at, written in the trace"),
        row("made", events.made, "pages made since, written in the trace"),
        row("writes", events.writes, "pages in intervals in which they were written"),
        row("reads", events.reads, "pages in intervals in which they were used and not seen to be written"),
        row("frees", events.frees, "pages that went"),
    ]
}

fn groups(recording: &AccessRecording) -> Vec<Vec<String>> {
    let mut rows = vec![["UNIT OR PROCESS", "CGROUP", "HELD", "MADE", "USES", "FREES"].map(str::to_owned).to_vec()];
    let mut groups: Vec<(usize, &RecordedGroup)> = recording.groups.iter().enumerate().collect();
    groups.sort_by_key(|(number, group)| (Reverse(group.events.all()), *number));
    let cells = |name: String, number: String, events: Events| {
        let uses = events.writes + events.reads;
        [vec![name, number], [events.held, events.made, uses, events.frees].map(|number| number.to_string()).to_vec()].concat()
    };
    rows.extend(groups.iter().take(LINES).map(|(number, group)| cells(group.name.clone(), number.to_string(), group.events)));
    if groups.len() > LINES {
        rows.push(vec![format!("and {} more: --json shows all", groups.len() - LINES)]);
    }
    rows
}

/// What the trace cannot say, here and now.
fn notes(recording: &AccessRecording) -> Vec<String> {
    let (events, mut notes) = (recording.events, Vec::new());
    let uses = events.writes + events.reads;
    notes.push(format!(
        "One event is one page that was used within {:.3} s, however often; their order in between is by process and address.",
        recording.interval_seconds
    ));
    if events.assumed > 0 {
        notes.push(format!(
            "Of {} of {uses} uses ({:.0} %) only the mapping is known, for this kernel has no idle page tracking: the pages used last are \
             taken to be used again.",
            events.assumed,
            100.0 * events.assumed as f64 / uses as f64
        ));
    }
    if !recording.writes_seen {
        notes.push("This kernel has no soft-dirty marks (CONFIG_MEM_SOFT_DIRTY): which uses were writes is not known.".into());
    }
    if recording.late > 0 {
        let mean = recording.looking_seconds / f64::from(recording.looks.max(1));
        notes.push(format!(
            "{} began late: one takes {mean:.2} s. A longer --interval, or fewer processes, make them even.",
            counted(u64::from(recording.late), "look")
        ));
    }
    if recording.forbidden + recording.failed > 0 {
        notes.push(format!(
            "Left out: {} with {} that may not be looked at (as root they may), {} for another reason.",
            processes(recording.forbidden),
            Bytes(recording.forbidden_memory.0),
            recording.failed
        ));
    }
    notes
}
