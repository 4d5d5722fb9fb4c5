//! Wakes in an open loop: when the next one is due does not depend on whether the last one was answered, so a slow machine cannot
//! make itself look better by being asked less (coordinated omission). Latency counts from when a wake was due.

use std::time::{Duration, Instant};

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;
use swaptune_core::measurement::DensityEnd;

use super::service::{Service, readable};
use crate::order::uniform;

/// How often a window looks at pressure and at being asked to stop.
const LOOK: Duration = Duration::from_millis(200);
/// A window that takes this many times as long as planned is broken off.
const OVERRUN: u32 = 3;
/// And this much longer at least.
const GRACE: Duration = Duration::from_secs(5);

/// When each wake is due, after the beginning, and whose it is.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct WakeSchedule(pub(super) Vec<(Duration, usize)>);

impl WakeSchedule {
    /// `wakes` at exponential intervals, `rate` a second, each to one of `services` by chance: to the n-th of them as often as `skew` (Zipf's
    /// exponent) says, to all of them evenly at 0.
    pub(super) fn draw(services: usize, wakes: u32, (rate, skew): (f64, f64), seed: u64) -> Self {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let mut sum = 0.0;
        let sums: Vec<f64> = (1..=services)
            .map(|place| {
                sum += (place as f64).powf(-skew);
                sum
            })
            .collect();
        let mut at = 0.0;
        let due = (0..wakes).map(|_| {
            at -= (1.0 - uniform(&mut rng)).ln() / rate;
            let drawn = uniform(&mut rng) * sum;
            (Duration::from_secs_f64(at), sums.partition_point(|sum| *sum <= drawn))
        });
        Self(due.collect())
    }
}

/// What came of a window.
#[derive(Debug, Default)]
pub(super) struct LoadWindow {
    /// How long each wake that was due took, ns; each that was not answered counts with the time until the window was broken off.
    pub(super) took: Vec<u64>,
    /// Why it was broken off.
    pub(super) broken: Option<Broken>,
}

/// Why a window was broken off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// The machine cannot do more.
    Off(DensityEnd),
    /// A service is gone: its place.
    Gone(usize),
    /// The user wants to end.
    Stopped,
}

/// Wakes services as a schedule says. `look` is asked now and then whether to go on.
pub(super) fn play(services: &mut [Service], schedule: &WakeSchedule, look: &mut dyn FnMut() -> Option<Broken>) -> LoadWindow {
    let begun = Instant::now();
    let planned = schedule.0.last().map_or(Duration::ZERO, |(at, _)| *at);
    let latest = begun + (planned * OVERRUN).max(planned + GRACE);
    let mut window = LoadWindow::default();
    let mut due = schedule.0.iter().peekable();
    let mut looked = Instant::now();
    window.broken = loop {
        while let Some((at, whose)) = due.next_if(|(at, _)| begun + *at <= Instant::now()) {
            if let Some(service) = services.get_mut(*whose) {
                service.wake(begun + *at);
            }
        }
        if due.peek().is_none() && services.iter().all(|service| service.open() == 0) {
            return window;
        }
        let next = due.peek().map_or(LOOK, |(at, _)| (begun + *at).saturating_duration_since(Instant::now()).min(LOOK));
        if let Some(gone) = take_answers(services, next, &mut window.took) {
            break Some(Broken::Gone(gone));
        }
        if Instant::now() > latest {
            break Some(Broken::Off(DensityEnd::Behind));
        }
        if looked.elapsed() >= LOOK {
            looked = Instant::now();
            if let Some(broken) = look() {
                break Some(broken);
            }
        }
    };
    window.took.extend(services.iter().flat_map(Service::unanswered).map(|open| open.as_nanos() as u64));
    window
}

/// Waits for answers at most so long, and takes them. The place of a service that is gone.
fn take_answers(services: &mut [Service], timeout: Duration, took: &mut Vec<u64>) -> Option<usize> {
    let said = readable(services, timeout).unwrap_or_default();
    for place in said {
        match services.get_mut(place)?.answers() {
            Some(answers) => took.extend(answers.iter().map(|took| took.as_nanos() as u64)),
            None => return Some(place),
        }
    }
    None
}
