//! One program that allocates memory, fills it, and holds it: the shape of the benchmark of Takero Funaki's zswap shrinker series
//! (2024), which times the allocation of 2 GB of partly compressible data.

use super::content::{self, POOR, SAME, SIZE};
use super::{GeneratorRow, GeneratorValues, ParameterRow, SEED};
use crate::trace::{Event, Op, Trace, TraceError};

pub(super) const ROW: GeneratorRow = GeneratorRow {
    name: "hold",
    doc: "a program that writes each of its pages once, in order, and keeps them; then it may read them all again",
    parameters: &[
        ParameterRow { name: "pages", default: "524288", min: 1.0, max: 268_435_456.0, doc: "pages" },
        ParameterRow { name: "nanos", default: "500", min: 0.0, max: 1e9, doc: "nanoseconds from one page to the next" },
        ParameterRow { name: "reads", default: "0", min: 0.0, max: 1000.0, doc: "times that it reads all of them afterwards" },
        SAME,
        POOR,
        SIZE,
        SEED,
    ],
    make,
};

fn make(values: &GeneratorValues) -> Result<Trace, TraceError> {
    let (pages, nanos) = (values.count("pages"), values.whole("nanos"));
    let mut builder = values.builder();
    for pass in 0..=values.whole("reads") {
        let op = if pass == 0 { Op::Write } else { Op::Read };
        for page in 0..pages {
            builder.push(Event { time: builder.len() as u64 * nanos, page, cgroup: 0, op })?;
        }
    }
    builder.sizes(content::sizes(values, pages, &mut values.random()));
    builder.finish(Some(pages))
}

#[cfg(test)]
mod tests {
    use crate::generate::generate;
    use crate::trace::Op;

    #[test]
    fn all_is_written_once_and_read_as_often_as_asked() {
        let trace = generate("hold:pages=10,reads=2,nanos=7").unwrap();
        assert_eq!((trace.len(), trace.end()), (30, 29 * 7));
        assert!(trace.iter().enumerate().all(|(i, e)| e.page == i as u32 % 10 && (e.op == Op::Write) == (i < 10)));
    }
}
