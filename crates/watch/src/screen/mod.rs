//! The screen: a loop of samples, keys and drawing. What is drawn is a function of [`View`]; only this file touches a terminal.

mod decisions;
mod draw;
mod marks;
#[cfg(test)]
mod tests;
mod view;
mod words;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::DefaultTerminal;
use swaptune_host::stop::Stop;

use crate::record::SampleRecorder;
use crate::{Pace, SampleSource};

pub use draw::draw;
pub use marks::ScreenMarks;
pub use view::{KeyAction, Sort, View};
pub use words::{ScreenWord, WORDS};

/// Longest time without a look at the flag of signals: the terminal's own wait does not end with them.
const GLANCE: Duration = Duration::from_millis(250);

/// Shows samples until `q`, a signal, or a terminal that is gone.
///
/// # Errors
/// What the terminal says. The terminal is as it was in any case.
pub fn run(
    source: &mut SampleSource<'_>,
    view: View,
    interval: Duration,
    recording: RecordingState,
    stop: &Stop,
) -> io::Result<()> {
    let mut terminal = ratatui::try_init()?;
    let mut screen = Screen { source, view, recording, has_ended: false };
    let ended = screen.turn(&mut terminal, Pace::new(interval), stop);
    ratatui::try_restore()?;
    ended
}

/// Where samples are recorded to, and whether they are now.
#[derive(Debug)]
pub struct RecordingState {
    /// The file that `r` records to.
    pub path: PathBuf,
    /// Recorded from the beginning on.
    pub recorder: Option<SampleRecorder>,
}

struct Screen<'a, 'b> {
    source: &'a mut SampleSource<'b>,
    view: View,
    recording: RecordingState,
    has_ended: bool,
}

impl Screen<'_, '_> {
    fn turn(&mut self, terminal: &mut DefaultTerminal, mut pace: Pace, stop: &Stop) -> io::Result<()> {
        self.view.recording = self.recording.recorder.as_ref().map(|recorder| shown(recorder.path()));
        self.sample();
        let mut is_new = true;
        while !stop.is_asked() {
            if std::mem::take(&mut is_new) {
                terminal.draw(|frame| draw(frame, &self.view))?;
            }
            if event::poll(pace.left().min(GLANCE))? {
                is_new = true;
                match key(&event::read()?) {
                    Some(KeyAction::Quit) => return Ok(()),
                    Some(KeyAction::Record) => self.record(),
                    Some(key) => self.view.press(key),
                    None => {}
                }
            }
            if pace.left().is_zero() {
                is_new = true;
                pace.advance();
                self.sample();
            }
        }
        Ok(())
    }

    /// The next sample. A screen that stands still goes on recording; a recording that is shown waits.
    fn sample(&mut self) {
        if self.has_ended || self.view.paused && !self.source.is_live() {
            return;
        }
        let Some(sample) = self.source.next(self.view.wanted()) else { return };
        self.has_ended = !self.source.goes_on();
        if let Some(Err(error)) = self.recording.recorder.as_mut().map(|recorder| recorder.append(&sample)) {
            self.complain(&swaptune_host::error_chain(&error));
        }
        if !self.view.paused {
            self.view.push(sample);
        }
    }

    fn record(&mut self) {
        if self.recording.recorder.take().is_some() {
            self.view.recording = None;
            return;
        }
        if !self.source.is_live() {
            self.view.complaint = Some("only a running machine is recorded".to_owned());
            return;
        }
        match SampleRecorder::open(&self.recording.path) {
            Ok(recorder) => {
                (self.view.recording, self.view.complaint) = (Some(shown(recorder.path())), None);
                self.recording.recorder = Some(recorder);
            }
            Err(error) => self.complain(&swaptune_host::error_chain(&error)),
        }
    }

    fn complain(&mut self, why: &str) {
        self.recording.recorder = None;
        self.view.recording = None;
        self.view.complaint = Some(why.to_owned());
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// What a key means; keys without a meaning, and everything that is no key, only draw anew.
fn key(event: &Event) -> Option<KeyAction> {
    let Event::Key(KeyEvent { code, modifiers, kind: KeyEventKind::Press, .. }) = event else { return None };
    match code {
        KeyCode::Char('c' | 'd') if modifiers.contains(KeyModifiers::CONTROL) => Some(KeyAction::Quit),
        KeyCode::Char('q') => Some(KeyAction::Quit),
        KeyCode::Char('r') => Some(KeyAction::Record),
        KeyCode::Char('p' | ' ') => Some(KeyAction::Pause),
        KeyCode::Char('s') => Some(KeyAction::Sort),
        KeyCode::Char('d') => Some(KeyAction::Decisions),
        KeyCode::Char('?' | 'h') => Some(KeyAction::Help),
        KeyCode::Down | KeyCode::Char('j') => Some(KeyAction::Scroll(1)),
        KeyCode::Up | KeyCode::Char('k') => Some(KeyAction::Scroll(-1)),
        KeyCode::PageDown => Some(KeyAction::Scroll(20)),
        KeyCode::PageUp => Some(KeyAction::Scroll(-20)),
        _ => None,
    }
}
