//! A long compile: a few jobs at a time, each a compiler that grows, works on what it read last, and gives all its memory back;
//! at the end a linker that holds the most.

use rand::RngExt;
use rand_distr::{Distribution, Exp, LogNormal};
use rand_pcg::Pcg64;

use super::content::{self, POOR, SAME, SIZE};
use super::{GeneratorRow, GeneratorValues, ParameterRow, SEED};
use crate::trace::{Event, Op, Trace, TraceBuilder, TraceError, intern::Interner};

/// Time between accesses of all jobs together.
const NANOS_PER_ACCESS: u64 = 1_000;
/// Sigma of the sizes of units: a few are many times as large as the median.
const SPREAD: f64 = 0.6;
/// Accesses of a job before another one runs.
const SLICE: u32 = 64;

pub(super) const ROW: GeneratorRow = GeneratorRow {
    name: "compile",
    doc: "compilers side by side, each of which grows, looks back at what it has, and frees all; then a linker; others sleep beside them",
    parameters: &[
        ParameterRow { name: "jobs", default: "4", min: 1.0, max: 1024.0, doc: "compilers at a time" },
        ParameterRow { name: "units", default: "100", min: 1.0, max: 1e6, doc: "files to compile" },
        ParameterRow { name: "pages", default: "50k", min: 1.0, max: 4_194_304.0, doc: "median pages of a compiler" },
        ParameterRow { name: "look", default: "4", min: 0.0, max: 1000.0, doc: "accesses to older pages for each new page" },
        ParameterRow { name: "link", default: "4", min: 0.0, max: 100.0, doc: "size of the linker, in median compilers" },
        ParameterRow {
            name: "resident",
            default: "0",
            min: 0.0,
            max: 16_777_216.0,
            doc: "pages of programs that were there before, filled at the start and left alone",
        },
        SAME,
        POOR,
        SIZE,
        SEED,
    ],
    make,
};

/// A compiler at work.
struct CompilerJob {
    place: u32,
    pages: u32,
    grown: u32,
    look: u32,
    /// Accesses to older pages that are due before it grows.
    due: u32,
}

fn make(values: &GeneratorValues) -> Result<Trace, TraceError> {
    let mut random = values.random();
    let (jobs, look) = (values.count("jobs"), values.count("look"));
    let median = f64::from(values.count("pages"));
    let sizes = LogNormal::new(0.0, SPREAD);
    let mut out = Out { builder: values.builder(), interner: Interner::default(), number: Vec::new() };
    let mut left = values.count("units");
    (0..values.count("resident")).try_for_each(|page| out.access(u32::MAX, page, Op::Write))?;
    let mut running: Vec<CompilerJob> = Vec::new();
    loop {
        for place in 0..jobs {
            if left > 0 && running.iter().all(|job| job.place != place) {
                left -= 1;
                let factor = sizes.map_or(1.0, |sizes| sizes.sample(&mut random)).clamp(0.1, 8.0);
                running.push(CompilerJob { place, pages: (median * factor).max(1.0) as u32, grown: 0, look, due: 0 });
            }
        }
        if running.is_empty() {
            break;
        }
        let chosen = random.random_range(0..running.len());
        if running[chosen].work(&mut out, &mut random)? {
            running.swap_remove(chosen);
        }
    }
    let linked = (median * values.float("link")) as u32;
    let mut linker = CompilerJob { place: jobs, pages: linked, grown: 0, look, due: 0 };
    while linked > 0 && !linker.work(&mut out, &mut random)? {}
    let count = out.interner.len();
    out.builder.sizes(content::sizes(values, count, &mut random));
    out.builder.finish(Some(count))
}

/// Events; the pages of a job's place are used again by the next compiler in that place.
struct Out {
    builder: TraceBuilder,
    interner: Interner,
    number: Vec<u32>,
}

impl Out {
    fn access(&mut self, place: u32, page: u32, op: Op) -> Result<(), TraceError> {
        self.number.clear();
        self.interner.number_all(&[u64::from(place) << 32 | u64::from(page)], &mut self.number);
        let time = self.builder.len() as u64 * NANOS_PER_ACCESS;
        self.builder.push(Event { time, page: self.number[0], cgroup: 0, op })
    }
}

impl CompilerJob {
    /// Does a slice of work; says whether it is finished, in which case all was given back.
    fn work(&mut self, out: &mut Out, random: &mut Pcg64) -> Result<bool, TraceError> {
        // How far it looks back: exponential, with a mean of an eighth of what it has.
        let back = Exp::new(8.0);
        for _ in 0..SLICE {
            if self.due == 0 && self.grown == self.pages {
                (0..self.pages).try_for_each(|page| out.access(self.place, page, Op::Free))?;
                return Ok(true);
            }
            if self.due == 0 {
                out.access(self.place, self.grown, Op::Write)?;
                self.grown += 1;
                self.due = self.look;
            } else {
                let share = back.map_or(0.0f64, |back| back.sample(random)).min(1.0);
                let page = (f64::from(self.grown - 1) * (1.0 - share)) as u32;
                let op = if random.random_range(0..4) == 0 { Op::Write } else { Op::Read };
                out.access(self.place, page, op)?;
                self.due -= 1;
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use crate::generate::generate;
    use crate::trace::Op;

    #[test]
    fn all_that_is_allocated_is_freed_and_no_freed_page_is_read() {
        let trace = generate("compile:jobs=3,units=10,pages=100,look=2,link=5").unwrap();
        let (mut held, mut most) = (HashSet::new(), 0);
        for event in trace.iter() {
            match event.op {
                Op::Write => _ = held.insert(event.page),
                Op::Read => assert!(held.contains(&event.page)),
                Op::Free => assert!(held.remove(&event.page)),
            }
            most = most.max(held.len());
        }
        assert!(held.is_empty());
        assert!(most >= 500, "the linker holds 500");
        let resident = generate("compile:jobs=3,units=10,pages=100,look=2,link=5,resident=77").unwrap();
        assert_eq!((resident.len(), resident.page_count()), (trace.len() + 77, trace.page_count() + 77));
        let sleepers = |event: &crate::trace::Event| event.page < 77;
        assert_eq!(resident.iter().filter(sleepers).count(), 77, "what was there before is not touched");
    }
}
