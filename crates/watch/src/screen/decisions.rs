//! What of the daemon is on the screen: two lines among the others, and a page of its laws and decisions.

use ratatui::text::{Line, Span};
use swaptune_core::control::DaemonReport;
use swaptune_core::metrics::SampleLook;

use super::draw::{WORD, cut, wrapped};
use super::view::View;
use crate::daemon::{decision, state, sums};

/// What it does and did last; nothing where none runs or should.
pub(super) fn lines(view: &View, look: &SampleLook<'_>, width: usize) -> Vec<Line<'static>> {
    let Some(report) = look.now.daemon.value() else { return Vec::new() };
    let line = |word: &str, text: &str| {
        let text = cut(&view.marks.text(text), width.saturating_sub(WORD));
        Line::from(format!("{word:<WORD$}{text}"))
    };
    let last = report.log.back().map(|entry| decision(report, entry));
    let last = last.map(|(ago, what)| line("decided", &format!("{ago} {what}")));
    std::iter::once(line("daemon", &sums(report))).chain(last).collect()
}

/// The page: its state, what each law says now, its last decisions, the newest first.
pub(super) fn page(view: &View, look: Option<&SampleLook<'_>>, width: usize) -> Vec<Line<'static>> {
    match look.map(|look| &look.now.daemon) {
        None => vec![Line::from("waiting for the first sample")],
        Some(daemon) => match daemon.value() {
            Some(report) => of(view, report, width),
            None => vec![Line::from(cut(&format!("no daemon: {}", daemon.source()), width))],
        },
    }
}

fn of(view: &View, report: &DaemonReport, width: usize) -> Vec<Line<'static>> {
    let mut lines = labelled(view, "daemon", state(report.mode), width);
    for (law, works, says) in report.laws() {
        let says = if works { says.to_owned() } else { format!("off: {says}") };
        lines.extend(labelled(view, law, &says, width));
    }
    for entry in report.log.iter().rev() {
        let (ago, what) = decision(report, entry);
        lines.extend(labelled(view, &ago, &what, width));
    }
    lines
}

fn labelled(view: &View, label: &str, text: &str, width: usize) -> Vec<Line<'static>> {
    let parts = wrapped(&view.marks.text(text), width.saturating_sub(WORD)).into_iter().enumerate();
    let head = |index| if index == 0 { label } else { "" };
    let line = |(index, part)| {
        let head: &str = head(index);
        Line::from(vec![Span::styled(format!("{head:<WORD$}"), view.marks.heading()), Span::raw(part)])
    };
    parts.map(line).collect()
}
