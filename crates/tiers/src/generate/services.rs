//! Services that write their memory once and sleep, of which one at a time wakes: what a driver can do to real processes too, so that
//! a simulation and a kernel can be set side by side by what they count.

use rand::RngExt;

use super::content::{self, POOR, SAME, SIZE};
use super::{GeneratorRow, GeneratorValues, ParameterRow, SEED};
use crate::trace::{Event, Op, Trace, TraceError};

/// Time between accesses while a service is awake.
const NANOS_PER_ACCESS: u64 = 1_000;
/// Time between starts and between wakes: nothing is left to do from the one to the next.
const NANOS_PER_WAKE: u64 = 2_000_000_000;

pub(super) const ROW: GeneratorRow = GeneratorRow {
    name: "services",
    doc: "services that write their pages once and sleep; all wake once in turn, then one drawn at a time, and touch pages in a row",
    parameters: &[
        ParameterRow { name: "apps", default: "34", min: 1.0, max: 65_535.0, doc: "services, each its own cgroup" },
        ParameterRow { name: "pages", default: "2048", min: 1.0, max: 16_777_216.0, doc: "pages of each" },
        ParameterRow { name: "wakes", default: "150", min: 0.0, max: 1e9, doc: "wakes after each has woken once" },
        ParameterRow { name: "touch", default: "0.3", min: 0.0, max: 1.0, doc: "share of its pages that a wake touches" },
        ParameterRow { name: "write", default: "0.2", min: 0.0, max: 1.0, doc: "share of accesses that write" },
        SAME,
        POOR,
        SIZE,
        SEED,
    ],
    make,
};

fn make(values: &GeneratorValues) -> Result<Trace, TraceError> {
    let mut random = values.random();
    let (apps, pages) = (values.count("apps"), values.count("pages"));
    let touched = (f64::from(pages) * values.float("touch")) as u32;
    let mut builder = values.builder();
    for (awake, wake) in (0..2 * u64::from(apps) + values.whole("wakes")).enumerate() {
        let (is_start, is_settling) = (wake < u64::from(apps), wake < 2 * u64::from(apps));
        let app = if is_settling { (wake % u64::from(apps)) as u32 } else { random.random_range(0..apps) };
        let (first, count) = if is_start { (0, pages) } else { (random.random_range(0..=pages - touched), touched) };
        for page in first..first + count {
            let time = awake as u64 * NANOS_PER_WAKE + u64::from(page - first) * NANOS_PER_ACCESS;
            let writes = is_start || random.random::<f64>() < values.float("write");
            let op = if writes { Op::Write } else { Op::Read };
            builder.push(Event { time, page: app * pages + page, cgroup: app as u16, op })?;
        }
    }
    builder.sizes(content::sizes(values, apps * pages, &mut random));
    builder.finish(Some(apps * pages))
}

#[cfg(test)]
mod tests {
    use crate::generate::generate;
    use crate::trace::Op;

    #[test]
    fn each_starts_wakes_once_and_then_one_at_a_time_touches_pages_in_a_row() {
        let trace = generate("services:apps=5,pages=100,wakes=40,touch=0.3,write=0.5").unwrap();
        let events: Vec<_> = trace.iter().collect();
        assert_eq!((trace.page_count(), events.len()), (500, 500 + 45 * 30));
        assert!(events[..500].iter().zip(0..).all(|(event, page)| event.page == page && event.op == Op::Write));
        let wakes: Vec<_> = events[500..].chunks(30).collect();
        let in_a_row = |wake: &[crate::trace::Event]| wake.windows(2).all(|two| two[1].page == two[0].page + 1);
        assert!(wakes.iter().all(|wake| in_a_row(wake) && wake[0].page / 100 == u32::from(wake[29].cgroup)));
        assert_eq!(wakes[..5].iter().map(|wake| wake[0].cgroup).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
        let writes = events[500..].iter().filter(|event| event.op == Op::Write).count() as f64 / (45.0 * 30.0);
        assert!((writes - 0.5).abs() < 0.05, "{writes}");
    }
}
