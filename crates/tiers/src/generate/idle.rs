//! Applications that sleep most of the time: what a desktop with many windows, or a host of small services, looks like.
//!
//! Each application is started, writes all of its pages once, and then wakes now and again. A wake touches its core, which is
//! the same pages every time, and as many others of its pages drawn at random. Times between wakes are exponential, and their
//! mean differs between applications by a log-normal factor: some wake often, most seldom. In a rush all wake besides, one after the
//! other: a working day begins, or a job goes through all of them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rand::RngExt;
use rand_distr::{Distribution, Exp, LogNormal};
use rand_pcg::Pcg64;

use super::content::{self, POOR, SAME, SIZE};
use super::{GeneratorRow, GeneratorValues, ParameterRow, SEED};
use crate::trace::{Event, Op, Trace, TraceBuilder, TraceError};

const SECOND: f64 = 1e9;
/// Time between accesses while an application is awake.
const NANOS_PER_ACCESS: u64 = 1_000;
/// Time between starts.
const NANOS_PER_START: u64 = 1_000_000_000;
/// Sigma of the factor between mean times of applications.
const SPREAD: f64 = 1.0;

pub(super) const ROW: GeneratorRow = GeneratorRow {
    name: "idle",
    doc: "applications that start one after the other, then sleep and wake now and again to touch a part of their pages",
    parameters: &[
        ParameterRow { name: "apps", default: "50", min: 1.0, max: 65_535.0, doc: "applications, each its own cgroup" },
        ParameterRow { name: "pages", default: "25k", min: 1.0, max: 16_777_216.0, doc: "pages of each" },
        ParameterRow { name: "seconds", default: "3600", min: 1.0, max: 1e7, doc: "how long" },
        ParameterRow { name: "wake", default: "120", min: 0.01, max: 1e7, doc: "mean seconds between wakes of one application" },
        ParameterRow { name: "touch", default: "0.3", min: 0.0, max: 1.0, doc: "share of its pages that a wake touches" },
        ParameterRow { name: "core", default: "0.5", min: 0.0, max: 1.0, doc: "share of those that is the same every time" },
        ParameterRow {
            name: "ended",
            default: "0",
            min: 0.0,
            max: 1.0,
            doc: "share of the applications that end as soon as they have started: the first ones; their cgroups stay, empty",
        },
        ParameterRow {
            name: "rush",
            default: "0",
            min: 0.0,
            max: 1e7,
            doc: "seconds from one rush to the next, in which each application wakes once, one after the other; 0: none",
        },
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
    let end = (values.float("seconds") * SECOND) as u64;
    let mut wakes = NextWakes::new(values, apps, &mut random);
    let mut clock = WakeClock { builder: values.builder(), now: 0 };
    let mut started = 0;
    let ended = (f64::from(apps) * values.float("ended")) as u32;
    for app in 0..apps {
        wakes.until(u64::from(app) * NANOS_PER_START, &mut clock, &mut random)?;
        if app > 0 && u64::from(app) * NANOS_PER_START > end {
            break;
        }
        clock.now = clock.now.max(u64::from(app) * NANOS_PER_START);
        for page in 0..pages {
            clock.access(app, app * pages + page, Op::Write)?;
        }
        if app < ended {
            (0..pages).try_for_each(|page| clock.access(app, app * pages + page, Op::Free))?;
        } else {
            wakes.add(app, clock.now, &mut random);
        }
        started += pages;
    }
    let rush = (values.float("rush") * SECOND) as u64;
    for time in (1..).map(|number| number * rush).take_while(|time| rush > 0 && *time < end) {
        wakes.until(time, &mut clock, &mut random)?;
        clock.now = clock.now.max(time);
        (ended..apps.min(started / pages)).try_for_each(|app| wakes.touch(app, &mut clock, &mut random))?;
    }
    wakes.until(end, &mut clock, &mut random)?;
    clock.builder.sizes(content::sizes(values, started, &mut random));
    clock.builder.finish(Some(started))
}

/// Events with a time that never goes back: who would wake while another is awake waits for it.
struct WakeClock {
    builder: TraceBuilder,
    now: u64,
}

impl WakeClock {
    fn access(&mut self, app: u32, page: u32, op: Op) -> Result<(), TraceError> {
        let event = Event { time: self.now, page, cgroup: app as u16, op };
        self.now += NANOS_PER_ACCESS;
        self.builder.push(event)
    }
}

/// When each application wakes next, and what it does then.
struct NextWakes {
    next: BinaryHeap<Reverse<(u64, u32)>>,
    /// Mean nanoseconds between wakes of each application.
    means: Vec<f64>,
    pages: u32,
    core: u32,
    others: u32,
    write: f64,
}

impl NextWakes {
    fn new(values: &GeneratorValues, apps: u32, random: &mut Pcg64) -> Self {
        // Of a log-normal factor with this location the mean is 1.
        let factor = LogNormal::new(-SPREAD * SPREAD / 2.0, SPREAD);
        let mean = values.float("wake") * SECOND;
        let means = (0..apps).map(|_| mean * factor.map_or(1.0, |factor| factor.sample(random))).collect();
        let pages = values.count("pages");
        let touched = (f64::from(pages) * values.float("touch")) as u32;
        let core = (f64::from(touched) * values.float("core")) as u32;
        Self { next: BinaryHeap::new(), means, pages, core, others: touched - core, write: values.float("write") }
    }

    /// Plans the next wake of an application that fell asleep at `now`.
    fn add(&mut self, app: u32, now: u64, random: &mut Pcg64) {
        let mean = self.means[app as usize];
        let sleep = Exp::new(1.0 / mean).map_or(mean, |exp| exp.sample(random));
        self.next.push(Reverse((now.saturating_add(sleep as u64), app)));
    }

    /// Lets all wake whose time comes before `end`.
    fn until(&mut self, end: u64, clock: &mut WakeClock, random: &mut Pcg64) -> Result<(), TraceError> {
        while let Some(&Reverse((time, app))) = self.next.peek().filter(|Reverse((time, _))| *time < end) {
            self.next.pop();
            clock.now = clock.now.max(time);
            self.touch(app, clock, random)?;
            self.add(app, clock.now, random);
        }
        Ok(())
    }

    /// An application is awake: its core, and as many others of its pages.
    fn touch(&self, app: u32, clock: &mut WakeClock, random: &mut Pcg64) -> Result<(), TraceError> {
        for touched in 0..self.core + self.others {
            let page = if touched < self.core { touched } else { random.random_range(0..self.pages) };
            let op = if random.random::<f64>() < self.write { Op::Write } else { Op::Read };
            clock.access(app, app * self.pages + page, op)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::generate;

    #[test]
    fn applications_wake_as_often_and_touch_as_much_as_was_asked_for() {
        let trace = generate("idle:apps=200,pages=100,seconds=20000,wake=100,touch=0.4,core=0.5,write=0.25").unwrap();
        assert_eq!(trace.page_count(), 20_000);
        let awake: Vec<Event> = trace.iter().skip_while(|event| event.cgroup != 199).skip(100).collect();
        // About (20000 − 200) / 100 wakes of each; log-normal means make the mean of rates higher than the rate of the mean.
        let wakes = awake.len() as f64 / 40.0 / 200.0;
        assert!((198.0..198.0 * 4.0).contains(&wakes), "{wakes}");
        let writes = awake.iter().filter(|event| event.op == Op::Write).count() as f64 / awake.len() as f64;
        assert!((writes - 0.25).abs() < 0.02, "{writes}");
        let core = awake.iter().filter(|event| event.page % 100 < 20).count() as f64 / awake.len() as f64;
        assert!((core - 0.6).abs() < 0.02, "half by right and a fifth of the rest by chance: {core}");
        assert!(trace.iter().all(|event| event.page / 100 == u32::from(event.cgroup)), "pages belong to one application");
    }

    #[test]
    fn in_a_rush_all_wake_one_after_the_other() {
        let spec = |more: &str| generate(&format!("idle:apps=5,pages=10,seconds=1000,wake=1e6,touch=0.4{more}")).unwrap();
        let (calm, rushes) = (spec(""), spec(",rush=300"));
        let events: Vec<Event> = rushes.iter().collect();
        // The starts are the same; after them three rushes, in which five touch four pages each.
        assert!(calm.len() < 70 && calm.iter().take(50).eq(rushes.iter().take(50)));
        assert_eq!(events.len() - calm.len(), 3 * 5 * 4);
        for number in 1..=3 {
            let from = number * 300_000_000_000;
            let rush = events.iter().filter(|event| (from..from + 1_000_000).contains(&event.time));
            assert_eq!(rush.map(|event| event.cgroup).collect::<Vec<_>>(), (0..5).flat_map(|app| [app; 4]).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_first_ones_end_at_once_and_never_wake() {
        let trace = generate("idle:apps=10,pages=7,seconds=1000,wake=10,ended=0.4").unwrap();
        let of = |app: u16| trace.iter().filter(move |event| event.cgroup == app);
        assert!((0..4).all(|app| of(app).count() == 14 && of(app).skip(7).all(|event| event.op == Op::Free)));
        assert!((4..10).all(|app| of(app).count() > 14 && of(app).all(|event| event.op != Op::Free)));
    }

    #[test]
    fn applications_that_do_not_start_in_time_have_no_pages() {
        let trace = generate("idle:apps=10,pages=7,seconds=3").unwrap();
        assert_eq!(trace.page_count(), 28);
        assert_eq!(trace.sizes().len(), 28);
    }
}
