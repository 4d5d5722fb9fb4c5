//! One configuration in one round: more and more services until they no longer fit.

use std::time::{Duration, Instant};

use swaptune_core::measurement::{DensityCounts, DensityEnd, DensityLevel, DensityRound};
use swaptune_core::parse::{keyed, pressure};
use swaptune_core::stats::{Nanos, Quantiles};
use swaptune_host::cgroup::LimitedGroup;
use swaptune_host::machine::Machine;
use swaptune_host::stop::Stop;

use super::load::{Broken, LoadWindow, WakeSchedule, play};
use super::service::{Service, Wait};
use super::services::Launch;
use super::{DensityError, DensityOptions};
use crate::order::shuffled;
use crate::space::SmallSpace;

/// A service that takes longer than this to start will not be of use.
const START: Duration = Duration::from_secs(120);

/// What every round needs.
pub(super) struct DensityBench<'a> {
    pub(super) machine: &'a Machine,
    pub(super) options: &'a DensityOptions,
    pub(super) launch: &'a Launch,
    pub(super) space: SmallSpace<'a>,
    pub(super) stop: &'a Stop,
}

/// Services that run, with the group that limits them. Dropped in this order: a group must be empty before it goes.
struct Crowd {
    services: Vec<Service>,
    group: Option<LimitedGroup>,
}

/// How often a number of services is measured at most: one slow window of few wakes may be chance, two of three are not.
const WINDOWS: u64 = 3;

impl DensityBench<'_> {
    /// Finds the most services that fit: of the numbers that were asked for, or upwards from about `first`. `None` when the user stopped
    /// it. `show` is told each level.
    pub(super) fn round(&self, first: u32, seed: u64, show: &mut dyn FnMut(u32)) -> Result<Option<DensityRound>, DensityError> {
        if self.options.at.is_empty() { self.search(first, seed, show) } else { self.asked_for(seed, show) }
    }

    /// Measures every number that was asked for once, also those past what fits, until the machine cannot go on.
    fn asked_for(&self, seed: u64, show: &mut dyn FnMut(u32)) -> Result<Option<DensityRound>, DensityError> {
        let mut round = DensityRound { fits: 0, levels: Vec::new() };
        let mut crowd = self.crowd()?;
        for services in &self.options.at {
            show(*services);
            let Some(level) = self.level(&mut crowd, *services, seed)? else { return Ok(None) };
            if level.end == DensityEnd::Held && round.levels.iter().all(|level| level.end == DensityEnd::Held) {
                round.fits = *services;
            }
            let goes_on = matches!(level.end, DensityEnd::Held | DensityEnd::Slow);
            round.levels.push(level);
            if !goes_on {
                break;
            }
        }
        Ok(Some(round))
    }

    fn search(&self, first: u32, seed: u64, show: &mut dyn FnMut(u32)) -> Result<Option<DensityRound>, DensityError> {
        let grid = grid(self.options.step_percent, self.options.most);
        let mut at = grid.partition_point(|services| *services < first).min(grid.len() - 1);
        let mut round = DensityRound { fits: 0, levels: Vec::new() };
        let mut crowd = self.crowd()?;
        loop {
            show(grid[at]);
            let Some(held) = self.held(&mut crowd, grid[at], seed, &mut round.levels)? else { return Ok(None) };
            let tried = |services: u32| round.levels.iter().any(|level| level.services == services);
            if held {
                round.fits = grid[at];
                if at + 1 == grid.len() || tried(grid[at + 1]) {
                    return Ok(Some(round));
                }
                at += 1;
            } else {
                if round.fits > 0 || at == 0 {
                    return Ok(Some(round));
                }
                // It began too high: pages that went out for more services than fit must not be in the way of fewer.
                drop(crowd);
                crowd = self.crowd()?;
                at = at.saturating_sub(2);
            }
        }
    }

    /// Whether a number of services is held: one that is too slow is measured again at other moments, and two windows of three decide.
    fn held(
        &self,
        crowd: &mut Crowd,
        services: u32,
        seed: u64,
        levels: &mut Vec<DensityLevel>,
    ) -> Result<Option<bool>, DensityError> {
        let mut slow = 0;
        for window in 0..WINDOWS {
            let Some(level) = self.level(crowd, services, seed.wrapping_add(window << 32))? else { return Ok(None) };
            let end = level.end;
            levels.push(level);
            match end {
                DensityEnd::Held if window == 0 => return Ok(Some(true)),
                DensityEnd::Held => {}
                DensityEnd::Slow => slow += 1,
                _ => return Ok(Some(false)),
            }
            if slow == 2 {
                return Ok(Some(false));
            }
        }
        Ok(Some(true))
    }

    fn crowd(&self) -> Result<Crowd, DensityError> {
        Ok(Crowd { services: Vec::new(), group: self.space.group(self.machine)? })
    }

    /// Starts what is missing, wakes each once, and measures. `None` when the user stopped it.
    fn level(&self, crowd: &mut Crowd, services: u32, seed: u64) -> Result<Option<DensityLevel>, DensityError> {
        let mut begun = (Instant::now(), self.counts());
        let mut window = LoadWindow { took: Vec::new(), broken: self.grow(crowd, services as usize, seed)? };
        if window.broken.is_none() {
            let schedule = WakeSchedule::draw(services as usize, self.options.wakes, self.options.load(), seed);
            begun = (Instant::now(), self.counts());
            window = play(&mut crowd.services, &schedule, &mut || self.look());
        }
        // Whatever broke the window: who asks to stop may have ended a service too.
        if self.stop.is_asked() {
            return Ok(None);
        }
        let end = match window.broken {
            None => DensityEnd::Held,
            Some(Broken::Off(end)) => end,
            Some(Broken::Stopped) => return Ok(None),
            Some(Broken::Gone(place)) => {
                let fate = crowd.services.get_mut(place).map(Service::fate).unwrap_or_default();
                tracing::info!("service {place} of {services} {fate}");
                DensityEnd::Killed
            }
        };
        let wake = Quantiles::of(&mut window.took, Nanos(0));
        let late = wake.is_some_and(|wake| wake.p99 > self.options.bound);
        Ok(Some(DensityLevel {
            services,
            end: if end == DensityEnd::Held && late { DensityEnd::Slow } else { end },
            wake,
            seconds: begun.0.elapsed().as_secs_f64(),
            counts: difference(self.counts(), begun.1),
        }))
    }

    /// Starts services up to this number, and wakes each of them once, so that all have been used alike.
    fn grow(&self, crowd: &mut Crowd, services: usize, seed: u64) -> Result<Option<Broken>, DensityError> {
        while crowd.services.len() < services {
            let number = crowd.services.len();
            match Service::start(self.launch, own_number(seed, number), crowd.group.as_ref()) {
                Ok(service) => crowd.services.push(service),
                // Processes and open files come to an end too; what was measured until then stands.
                Err(DensityError::Service { why, .. }) => {
                    tracing::info!("service {number} of {services} was not started: {why}");
                    return Ok(Some(Broken::Off(DensityEnd::NotStarted)));
                }
                Err(error) => return Err(error),
            }
            if let Some(broken) = self.wait(crowd, number) {
                return Ok(Some(broken));
            }
        }
        for place in shuffled(services, seed) {
            if let Some(service) = crowd.services.get_mut(place) {
                service.wake(Instant::now());
            }
            if let Some(broken) = self.wait(crowd, place).or_else(|| self.look()) {
                return Ok(Some(broken));
            }
        }
        Ok(None)
    }

    /// Waits until a service that was started or woken answers.
    fn wait(&self, crowd: &mut Crowd, place: usize) -> Option<Broken> {
        let service = crowd.services.get_mut(place)?;
        match service.wait(Instant::now() + START, &|| self.stop.is_asked()) {
            Wait::Stopped => Some(Broken::Stopped),
            Wait::Late => Some(Broken::Off(DensityEnd::Behind)),
            Wait::Gone => Some(Broken::Gone(place)),
            Wait::Answered => None,
        }
    }

    /// Whether to go on.
    fn look(&self) -> Option<Broken> {
        if self.stop.is_asked() {
            return Some(Broken::Stopped);
        }
        let text = self.machine.read_text("/proc/pressure/memory").unwrap_or_default();
        let full = pressure::parse(&text).map_or(0.0, |pressure| pressure.full_avg10);
        (full > self.options.stall_percent).then_some(Broken::Off(DensityEnd::Stalled))
    }

    /// What the kernel has counted until now.
    fn counts(&self) -> DensityCounts {
        let text = |path| self.machine.read_text(path).unwrap_or_default();
        let vmstat = keyed::counts(&text("/proc/vmstat"));
        let stall = pressure::parse(&text("/proc/pressure/memory"));
        let count = |key: &str| vmstat.get(key).copied().unwrap_or(0);
        DensityCounts {
            swap_reads: count("pswpin"),
            swap_writes: count("pswpout"),
            loads: count("zswpin"),
            stores: count("zswpout"),
            written_back: count("zswpwb"),
            some_stall_us: stall.map_or(0, |stall| stall.some_total_us),
            full_stall_us: stall.map_or(0, |stall| stall.full_total_us),
        }
    }
}

fn difference(now: DensityCounts, then: DensityCounts) -> DensityCounts {
    DensityCounts {
        swap_reads: now.swap_reads.saturating_sub(then.swap_reads),
        swap_writes: now.swap_writes.saturating_sub(then.swap_writes),
        loads: now.loads.saturating_sub(then.loads),
        stores: now.stores.saturating_sub(then.stores),
        written_back: now.written_back.saturating_sub(then.written_back),
        some_stall_us: now.some_stall_us.saturating_sub(then.some_stall_us),
        full_stall_us: now.full_stall_us.saturating_sub(then.full_stall_us),
    }
}

/// Numbers of services that are tried, the same for every configuration: each a step more than the one before.
fn grid(step_percent: u32, most: u32) -> Vec<u32> {
    let next = |services: &u32| {
        let step = (f64::from(*services) * f64::from(step_percent) / 100.0).round() as u32;
        (*services < most).then(|| services.saturating_add(step.max(1)).min(most))
    };
    std::iter::successors(Some(1), next).collect()
}

/// The number that a service has for itself in its round. Each step can be undone, so no two services have the same, and neighbours have
/// nothing in common (the finalizer of MurmurHash3, which is in the public domain).
fn own_number(seed: u64, service: usize) -> u32 {
    let mut number = (seed as u32).wrapping_add(service as u32);
    for (shift, factor) in [(16, 0x85eb_ca6b), (13, 0xc2b2_ae35)] {
        number = (number ^ (number >> shift)).wrapping_mul(factor);
    }
    number ^ (number >> 16)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_services_of_a_round_have_the_same_number() {
        for seed in [0, 1, 7, 0xffff_fff0, 1 << 40, u64::MAX] {
            let numbers: BTreeSet<u32> = (0..10_000).map(|service| own_number(seed, service)).collect();
            assert_eq!(numbers.len(), 10_000, "{seed}");
        }
        assert_ne!(own_number(1, 0), own_number(2, 0));
    }

    #[test]
    fn steps_grow_with_the_number_of_services() {
        assert_eq!(grid(10, 20), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 17, 19, 20]);
        assert_eq!(grid(100, 9), [1, 2, 4, 8, 9]);
        assert_eq!(grid(10, 1), [1]);
    }
}
