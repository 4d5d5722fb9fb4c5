//! Where samples come from: a machine that runs, a folder, or a recording.

use swaptune_core::metrics::Sample;
use swaptune_host::machine::Machine;
use swaptune_host::sampling::{SampledParts, Sampler};

use crate::record::RecordReader;

/// A source of samples.
#[derive(Debug)]
pub enum SampleSource<'a> {
    /// A machine. One that is a folder gives the same sample again and again, so it is looked at once.
    Machine {
        /// What reads it.
        sampler: Box<Sampler<'a>>,
        /// True for the machine that this process runs on.
        is_live: bool,
    },
    /// What a recording holds, oldest first, with the one that comes next.
    Recording {
        /// What reads it.
        reader: Box<RecordReader>,
        /// The sample after the last one that was given.
        next: Option<Box<Sample>>,
    },
}

impl<'a> SampleSource<'a> {
    /// A machine, live or as a folder.
    #[must_use]
    pub fn machine(machine: &'a Machine) -> Self {
        Self::Machine { sampler: Box::new(Sampler::new(machine)), is_live: machine.is_live() }
    }

    /// A recording.
    #[must_use]
    pub fn recording(mut reader: RecordReader) -> Self {
        let next = reader.next().map(Box::new);
        Self::Recording { reader: Box::new(reader), next }
    }

    /// The next sample; `None` at the end of a recording.
    pub fn next(&mut self, wanted: SampledParts) -> Option<Sample> {
        match self {
            Self::Machine { sampler, .. } => Some(sampler.look(wanted)),
            Self::Recording { reader, next } => {
                let after = reader.next().map(Box::new);
                std::mem::replace(next, after).map(|sample| *sample)
            }
        }
    }

    /// True when there is another sample after this one that may differ.
    #[must_use]
    pub fn goes_on(&self) -> bool {
        match self {
            Self::Machine { is_live, .. } => *is_live,
            Self::Recording { next, .. } => next.is_some(),
        }
    }

    /// True when its next sample must be waited for.
    #[must_use]
    pub fn is_live(&self) -> bool {
        matches!(self, Self::Machine { is_live: true, .. })
    }
}
