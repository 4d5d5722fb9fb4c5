//! A managed heap that is larger or smaller than RAM: the shape of the Java benchmark with which write-back and write-through
//! were compared, heaps of 75 to 175 % of RAM.
//!
//! Objects are reached with frequencies that follow Zipf's law over pages in random order, about as many are written as read,
//! and now and again the collector walks over the whole heap.

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_distr::{Distribution, Zipf};

use super::content::{self, POOR, SAME, SIZE};
use super::{GeneratorRow, GeneratorValues, ParameterRow, SEED};
use crate::trace::{Event, Op, Trace, TraceError};

/// Time between accesses.
const NANOS_PER_ACCESS: u64 = 1_000;

pub(super) const ROW: GeneratorRow = GeneratorRow {
    name: "heap",
    doc: "a managed heap of some percent of RAM: skewed reads and writes, and collections that walk over all of it",
    parameters: &[
        ParameterRow { name: "ram", default: "262144", min: 1.0, max: 67_108_864.0, doc: "pages of RAM that percent is of" },
        ParameterRow { name: "percent", default: "125", min: 1.0, max: 400.0, doc: "size of the heap, percent of RAM" },
        ParameterRow { name: "events", default: "10M", min: 1.0, max: 4e9, doc: "accesses after the heap has been filled" },
        ParameterRow { name: "theta", default: "0.8", min: 0.0, max: 10.0, doc: "skew of the accesses; 0 is uniform" },
        ParameterRow { name: "write", default: "0.5", min: 0.0, max: 1.0, doc: "share of accesses that write" },
        ParameterRow { name: "collections", default: "4", min: 0.0, max: 1e6, doc: "walks over the heap, evenly spread" },
        SAME,
        POOR,
        SIZE,
        SEED,
    ],
    make,
};

fn make(values: &GeneratorValues) -> Result<Trace, TraceError> {
    let mut random = values.random();
    let pages = ((values.float("ram") * values.float("percent") / 100.0) as u32).max(1);
    let (events, collections) = (values.whole("events"), values.whole("collections"));
    let mut builder = values.builder();
    let mut access = |page: u32, op: Op| {
        let time = builder.len() as u64 * NANOS_PER_ACCESS;
        builder.push(Event { time, page, cgroup: 0, op })
    };
    (0..pages).try_for_each(|page| access(page, Op::Write))?;
    let mut order: Vec<u32> = (0..pages).collect();
    order.shuffle(&mut random);
    let zipf = Zipf::new(f64::from(pages), values.float("theta"));
    let write = values.float("write");
    let mut collected = 0;
    for event in 0..events {
        let rank = zipf.map_or(1.0, |zipf| zipf.sample(&mut random)) as usize;
        let op = if random.random::<f64>() < write { Op::Write } else { Op::Read };
        access(order[rank.clamp(1, order.len()) - 1], op)?;
        if (event + 1) * (collections + 1) / events > collected + 1 || event + 1 == events && collected < collections {
            collected += 1;
            (0..pages).try_for_each(|page| access(page, Op::Read))?;
        }
    }
    builder.sizes(content::sizes(values, pages, &mut random));
    builder.finish(Some(pages))
}

#[cfg(test)]
mod tests {
    use crate::generate::generate;
    use crate::trace::Op;

    #[test]
    fn the_heap_is_filled_used_and_collected() {
        let trace = generate("heap:ram=1000,percent=175,events=100000,collections=3").unwrap();
        assert_eq!((trace.page_count(), trace.len()), (1750, 1750 + 100_000 + 3 * 1750));
        assert!(trace.iter().take(1750).all(|event| event.op == Op::Write));
        let writes = trace.iter().skip(1750).filter(|event| event.op == Op::Write).count();
        assert!((48_000..52_000).contains(&writes), "{writes}");
        let mut counts = vec![0; 1750];
        trace.pages().iter().for_each(|&page| counts[page as usize] += 1);
        counts.sort_unstable();
        assert!(counts[0] >= 4, "every page is filled and collected three times");
        assert!(counts[1749] > 30 * counts[874], "{} {}", counts[1749], counts[874]);
    }
}
