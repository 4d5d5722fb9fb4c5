//! A simulated machine as the daemon of a real one sees it.
//!
//! A scenario may be made smaller (`scale`): the laws see the machine that it stands for. What is counted in pages is multiplied, and so are
//! times that tasks wait, for a wake of the real one touches as many times more pages; more than all of the time none can wait, and what
//! is left over is told later.

use swaptune_core::Bytes;
use swaptune_core::control::{Ground, Moment, UnitMoment};
use swaptune_tiers::model::{Backing, MachineSeen, ModelSettings};
use swaptune_tiers::scenario::Play;

/// Bytes of a page of the model.
const PAGE: u64 = 4096;
const MILLISECOND: u64 = 1_000_000;
const MICROSECOND: u64 = 1_000;
/// Time from one canary to the next, ns (crates/host/src/keep/canary.rs).
const CANARY: u64 = 100 * MICROSECOND;
/// A unit is read at every tenth tick (crates/host/src/keep/look.rs).
const TURNS: u64 = 10;

/// Waiting time of the machine that a smaller one stands for, ns.
#[derive(Clone, Copy, Debug, Default)]
struct Stretched {
    seen: u64,
    left: u64,
    at: u64,
    told: u64,
}

impl Stretched {
    fn tell(&mut self, seen: u64, scale: u64, now: u64) -> u64 {
        self.left += (seen - self.seen) * scale;
        let told = self.left.min(now - self.at);
        *self = Self { seen, left: self.left - told, at: now, told: self.told + told };
        self.told / MICROSECOND
    }
}

/// A machine that plays its trace, and what the daemon remembers of its looks.
pub(super) struct PlayedMachine<'a> {
    pub(super) play: Play<'a>,
    scale: u64,
    ground: Ground,
    memory_stall: Stretched,
    io_stall: Stretched,
    ticks: u64,
    units: Vec<UnitMoment>,
}

impl<'a> PlayedMachine<'a> {
    pub(super) fn new(play: Play<'a>, scale: u32, settings: &ModelSettings) -> Self {
        let units = vec![UnitMoment::default(); usize::from(play.model.groups())];
        let (memory_stall, io_stall) = (Stretched::default(), Stretched::default());
        Self { play, scale: scale.into(), ground: ground(settings), memory_stall, io_stall, ticks: 0, units }
    }

    pub(super) fn ground(&self) -> &Ground {
        &self.ground
    }

    pub(super) fn seen(&self) -> MachineSeen {
        self.play.model.seen()
    }

    /// Bytes of the real machine as pages of the simulated one.
    pub(super) fn pages(&self, bytes: Bytes) -> u64 {
        bytes.0.div_ceil(PAGE * self.scale)
    }

    fn bytes(&self, pages: u64) -> Bytes {
        Bytes(pages * PAGE * self.scale)
    }

    /// Plays on for so long. `false` when the trace has ended.
    pub(super) fn pass(&mut self, ms: u64) -> bool {
        let until = self.seen().now + ms * MILLISECOND;
        self.play.pass(until)
    }

    /// The same while canaries are offered. Tells how many it were.
    pub(super) fn pass_with_canaries(&mut self, ms: u64) -> (bool, u64) {
        let until = self.seen().now + ms * MILLISECOND;
        let mut offered = 0;
        while self.seen().now < until {
            self.play.model.offer_canary();
            offered += 1;
            if !self.play.pass(self.seen().now + CANARY) {
                return (false, offered);
            }
        }
        (true, offered)
    }

    /// Canaries with which the worker would have visited as large a part of the pool of the machine that this one stands for.
    pub(super) fn canaries(&self, offered: u64) -> u64 {
        offered * self.scale
    }

    /// Everything, at each tick; units in turns.
    pub(super) fn tick(&mut self) -> Moment {
        let now = self.look();
        for group in 0..self.units.len() {
            if self.units[group].at_ms == 0 || group as u64 % TURNS == self.ticks % TURNS {
                self.units[group] = self.unit(group as u16).unwrap_or_default();
            }
        }
        self.ticks += 1;
        let units = self.units.iter().filter(|unit| unit.at_ms > 0).cloned().collect();
        Moment { units, ..now }
    }

    /// What a burst goes by.
    pub(super) fn look(&mut self) -> Moment {
        let seen = self.seen();
        let MachineSeen { now, ram, pool, stored, slots, slots_free, .. } = seen;
        Moment {
            at_ms: now / MILLISECOND,
            ram: self.bytes(ram),
            page: Bytes(PAGE),
            pool: self.bytes(pool),
            stored: self.bytes(stored),
            swap: self.bytes(slots),
            swap_free: self.bytes(slots_free),
            limit_percent: seen.max_pool_percent,
            accept_percent: seen.accept_threshold_percent,
            pswpin: seen.pswpin * self.scale,
            pswpout: seen.pswpout * self.scale,
            zswpwb: seen.zswpwb * self.scale,
            memory_stall_us: Some(self.memory_stall.tell(seen.memory_stall, self.scale, now)),
            io_stall_us: Some(self.io_stall.tell(seen.io_stall, self.scale, now)),
            ..Moment::default()
        }
    }

    /// A control group as it is now; `None` while no process of it has run.
    pub(super) fn unit(&self, group: u16) -> Option<UnitMoment> {
        let awake = self.play.awake(group);
        let seen = self.play.model.group(group);
        (awake > 0).then(|| UnitMoment {
            path: format!("/app-{group}.scope"),
            id: u64::from(group) + 1,
            at_ms: (self.seen().now / MILLISECOND).max(1),
            cpu_us: awake * self.scale / MICROSECOND,
            memory: self.bytes(seen.memory),
            pooled: Bytes(seen.pooled * self.scale),
            refaults: seen.refaults * self.scale,
            anon: self.bytes(seen.memory),
            may_swap: true,
            ..UnitMoment::default()
        })
    }
}

/// What a machine is to the laws. Files of control groups are there where groups are charged for their part of the pool: version 2.
fn ground(settings: &ModelSettings) -> Ground {
    let is_zram = |backing: &Backing| matches!(backing, Backing::Zram { .. });
    let is_rotational = |backing: &Backing| matches!(backing, Backing::Disk { rotational: true, .. });
    let areas = &settings.areas;
    let rotational = areas.iter().zip(0..).filter(|(area, _)| is_rotational(&area.backing));
    Ground {
        kernel: Some(settings.kernel),
        zswap: settings.zswap.is_some(),
        shrinker: settings.zswap.as_ref().is_some_and(|zswap| zswap.policy.shrinker),
        areas: areas.len(),
        rotational: rotational.map(|(_, number): (_, usize)| format!("the disk of area {number}")).collect(),
        counts_written: true,
        only_zram: !areas.is_empty() && areas.iter().all(|area| is_zram(&area.backing)),
        memory_groups: settings.charge_zswap,
        memory_controller: true,
        writeback_switch: settings.charge_zswap,
        reclaim_file: settings.charge_zswap,
        // Neither single processes nor settings of zram devices are modelled for a daemon.
        ..Ground::default()
    }
}
