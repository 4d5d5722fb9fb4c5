//! Traces that are made: each generator is a function of its parameters, the seed among them.
//!
//! `zipf:pages=1M,events=20M,seed=1` names a generator and the parameters that differ from their defaults. Random numbers
//! come from PCG-64 and distributions computed without the platform's mathematics library, so that a trace is the same
//! everywhere. Only `zipf` uses SplitMix64, because the reference traces are made with it.

mod compile;
mod content;
mod heap;
mod hold;
mod idle;
mod services;
mod values;
mod zipf;

use crate::trace::{EVENTS_MAX, Trace, TraceError};

pub use values::GeneratorValues;
pub(crate) use values::number;

/// A parameter of a generator.
#[derive(Clone, Copy, Debug)]
pub struct ParameterRow {
    /// Its name.
    pub name: &'static str,
    /// Its value when nothing is said, as it would be typed.
    pub default: &'static str,
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
    /// What it is, with its unit.
    pub doc: &'static str,
}

/// A row of the table of generators.
#[derive(Clone, Copy, Debug)]
pub struct GeneratorRow {
    /// Its name.
    pub name: &'static str,
    /// What it imitates, in one sentence.
    pub doc: &'static str,
    /// Its parameters.
    pub parameters: &'static [ParameterRow],
    make: fn(&GeneratorValues) -> Result<Trace, TraceError>,
}

/// All generators.
pub const GENERATORS: [&GeneratorRow; 6] = [&zipf::ROW, &idle::ROW, &services::ROW, &hold::ROW, &heap::ROW, &compile::ROW];

/// The seed, which every generator has.
const SEED: ParameterRow = ParameterRow {
    name: "seed",
    default: "1",
    min: 0.0,
    max: 9_007_199_254_740_991.0,
    doc: "start of the random numbers; the same seed gives the same trace",
};

/// Why a trace cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum GenerateError {
    /// There is no generator of this name.
    #[error("no generator is called `{found}`; there are {known}")]
    Unknown {
        /// What was asked for.
        found: String,
        /// The names that there are.
        known: String,
    },
    /// A parameter is not what it should be.
    #[error("{generator}: found `{found}`, expected {expected}")]
    Parameter {
        /// The generator.
        generator: &'static str,
        /// What was asked for.
        found: String,
        /// What can be.
        expected: String,
    },
    /// What came out is not a trace.
    #[error(transparent)]
    Trace(#[from] TraceError),
}

/// Makes the trace that `spec` names.
///
/// # Errors
/// When there is no such generator or parameter, a value is out of its range, or the trace gets too long.
pub fn generate(spec: &str) -> Result<Trace, GenerateError> {
    generate_at_most(spec, EVENTS_MAX)
}

/// The same, of a trace that has no more events than `most`: what the memory of this machine holds is not known here.
///
/// # Errors
/// As [`generate`], and when there are more.
pub fn generate_at_most(spec: &str, most: u64) -> Result<Trace, GenerateError> {
    let (name, parameters) = spec.split_once(':').unwrap_or((spec, ""));
    let Some(row) = GENERATORS.iter().find(|row| row.name == name.trim()) else {
        let known: Vec<&str> = GENERATORS.iter().map(|row| row.name).collect();
        return Err(GenerateError::Unknown { found: name.to_owned(), known: known.join(", ") });
    };
    let values = GeneratorValues::parse(row.name, row.parameters, parameters)?.at_most(most);
    Ok((row.make)(&values)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small enough for a test of each.
    const SMALL: [&str; 6] = [
        "zipf:pages=500,events=5000",
        "idle:apps=5,pages=100,seconds=600",
        "services:apps=3,pages=40,wakes=5",
        "hold:pages=1000",
        "heap:ram=1000,percent=125,events=20000",
        "compile:units=12,pages=200",
    ];

    #[test]
    fn a_seed_makes_one_trace_and_another_seed_another() {
        for spec in SMALL {
            let make = |seed: u32| generate(&format!("{spec},seed={seed}")).unwrap();
            let (one, again, other) = (make(1), make(1), make(2));
            assert_eq!(one, again, "{spec}");
            assert!(one != other, "{spec}");
            assert!(!one.is_empty() && one.iter().all(|event| event.page < one.page_count()), "{spec}");
            assert!(one.iter().is_sorted_by_key(|event| event.time), "{spec}: time goes on");
        }
    }

    #[test]
    fn no_more_events_are_made_than_may_be() {
        for spec in SMALL {
            let events = generate(spec).unwrap().len() as u64;
            assert!(generate_at_most(spec, events).is_ok(), "{spec}");
            let says = format!("trace: found more events, expected at most {}; cut it into parts", events - 1);
            assert_eq!(generate_at_most(spec, events - 1).unwrap_err().to_string(), says, "{spec}");
        }
    }

    #[test]
    fn every_page_is_accessed() {
        for spec in SMALL {
            let trace = generate(spec).unwrap();
            let mut seen = vec![false; trace.page_count() as usize];
            trace.pages().iter().for_each(|&page| seen[page as usize] = true);
            assert!(seen.iter().all(|&seen| seen), "{spec}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (spec, says) in [
            ("zip", "no generator is called `zip`; there are zipf, idle, services, hold, heap, compile"),
            ("zipf:pags=1", "zipf: found `pags`, expected one of pages, events, theta, seed"),
            ("zipf:pages", "zipf: found `pages`, expected NAME=VALUE"),
            ("zipf:pages=0", "zipf: found `pages=0`, expected 1 to 268435456"),
            ("zipf:pages=x", "zipf: found `pages=x`, expected a number, for example 0.5, 20000, 20k, 20M"),
        ] {
            assert_eq!(generate(spec).unwrap_err().to_string(), says);
        }
    }

    #[test]
    fn defaults_are_within_their_ranges() {
        for row in GENERATORS {
            assert!(GeneratorValues::parse(row.name, row.parameters, "").is_ok(), "{}", row.name);
            assert!(row.parameters.iter().any(|parameter| parameter.name == "seed"), "{}", row.name);
        }
    }
}
