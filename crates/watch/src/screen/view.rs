//! What is shown: the newest samples, the history of the rates, and what was typed.

use std::cell::Cell;
use std::collections::VecDeque;

use swaptune_core::Fact;
use swaptune_core::metrics::{Sample, SampleLook, find};
use swaptune_host::sampling::SampledParts;

use super::marks::ScreenMarks;
use super::words::RATES;

/// Values of each rate that are kept: more than any terminal is wide.
const HISTORY: usize = 500;

/// What units are sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// Slots.
    #[default]
    Swap,
    /// Compressed bytes in the pool.
    Pool,
    /// Refaults.
    Refaults,
}

impl Sort {
    /// The word of the column.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Swap => "SWAP",
            Self::Pool => "POOL",
            Self::Refaults => "REFAULT",
        }
    }

    fn next(self) -> Self {
        match self {
            Self::Swap => Self::Pool,
            Self::Pool => Self::Refaults,
            Self::Refaults => Self::Swap,
        }
    }
}

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyAction {
    /// End.
    Quit,
    /// Begin or end a recording.
    Record,
    /// Stop the screen, or go on.
    Pause,
    /// Sort units by the next column.
    Sort,
    /// Show the words, or go back.
    Help,
    /// Show what the daemon decided, or go back.
    Decisions,
    /// Down and up in the words.
    Scroll(i16),
}

/// The state of the screen.
#[derive(Debug)]
pub struct View {
    /// Characters and colours.
    pub marks: ScreenMarks,
    /// What is watched: `/` or a folder, or the name of a recording.
    pub title: String,
    /// The last sample and the one before it.
    pub samples: (Option<Sample>, Option<Sample>),
    /// Rates, oldest first, in the order in which they are shown.
    pub history: Vec<VecDeque<Option<f64>>>,
    /// The screen stands still.
    pub paused: bool,
    /// What units are sorted by.
    pub sort: Sort,
    /// The words are shown, from this line on.
    pub help: Option<u16>,
    /// The last line that this may be, of the size of the screen: noted by whoever draws, so that no key is lost beyond the end.
    pub(super) help_end: Cell<u16>,
    /// What the daemon decided is shown.
    pub decisions: bool,
    /// The file that is recorded to.
    pub recording: Option<String>,
    /// What went wrong last.
    pub complaint: Option<String>,
}

impl View {
    /// Nothing yet.
    #[must_use]
    pub fn new(marks: ScreenMarks, title: String) -> Self {
        Self {
            marks,
            title,
            samples: (None, None),
            history: vec![VecDeque::new(); RATES.len()],
            paused: false,
            sort: Sort::default(),
            help: None,
            help_end: Cell::new(u16::MAX),
            decisions: false,
            recording: None,
            complaint: None,
        }
    }

    /// Takes a sample.
    pub fn push(&mut self, sample: Sample) {
        self.samples.1 = self.samples.0.replace(sample);
        let Some(look) = look(&self.samples) else { return };
        let rates: Vec<Option<f64>> = RATES.iter().map(|(_, metric, label)| per_second(&look, metric, label)).collect();
        for (history, rate) in self.history.iter_mut().zip(rates) {
            history.push_back(rate);
            if history.len() > HISTORY {
                history.pop_front();
            }
        }
    }

    /// The newest look.
    #[must_use]
    pub fn look(&self) -> Option<SampleLook<'_>> {
        look(&self.samples)
    }

    /// What of units and processes is worth reading: what the screen is sorted by.
    #[must_use]
    pub fn wanted(&self) -> SampledParts {
        if self.recording.is_some() {
            return SampledParts::ALL;
        }
        SampledParts { swap: true, pool: self.sort == Sort::Pool, refaults: self.sort == Sort::Refaults, processes: true }
    }

    /// Does what a key asks for, as far as it is about the screen.
    pub fn press(&mut self, key: KeyAction) {
        match key {
            KeyAction::Pause => self.paused = !self.paused,
            KeyAction::Sort => self.sort = self.sort.next(),
            KeyAction::Help => (self.help, self.decisions) = (if self.help.is_some() { None } else { Some(0) }, false),
            KeyAction::Decisions => (self.help, self.decisions) = (None, !self.decisions),
            KeyAction::Scroll(lines) => {
                self.help = self.help.map(|line| line.saturating_add_signed(lines).min(self.help_end.get()))
            }
            KeyAction::Quit | KeyAction::Record => {}
        }
    }
}

fn look(samples: &(Option<Sample>, Option<Sample>)) -> Option<SampleLook<'_>> {
    samples.0.as_ref().map(|now| SampleLook::new(now, samples.1.as_ref()))
}

/// The rate of a row: of one of its labels, or of all of them together.
#[must_use]
pub fn per_second(look: &SampleLook<'_>, metric: &str, label: &str) -> Option<f64> {
    let readings = find(metric)?.readings(look);
    let chosen = readings.iter().filter(|reading| label.is_empty() || reading.label == label);
    chosen.filter_map(|reading| reading.per_second.as_ref().and_then(Fact::value).copied()).reduce(|a, b| a + b)
}
