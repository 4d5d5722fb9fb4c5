//! The daemon: looks once a second, asks the laws of `swaptune_core::control` what is to be done, and does it.
//!
//! What it sets are temporary settings: journalled before they are made, put back when it ends, when it is paused, when another command
//! wants to change the machine, and by a guardian when it is killed. One thread; it ends within a tick.

pub mod burst;
pub mod canary;
mod groups;
mod look;
mod notify;
mod processes;
mod spent;
mod units;
mod zram;

use std::io;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use swaptune_core::Bytes;
use swaptune_core::control::pacing;
use swaptune_core::control::{
    Burst, DaemonReport, Decision, DecisionEntry, Laws, LimitMove, Mode, Moment, Probe, UnitMoment, Wishes,
};
use swaptune_core::facts::{DAEMON_STATUS, MovedSetting};
use tracing::{info, warn};

use canary::CanaryProcess;
use look::Looker;
use notify::Notify;
use spent::Ledger;
pub use spent::SpentToday;
use units::ReclaimError;

use crate::aside::{self, Asked};
use crate::daemon_status as status;
use crate::error_chain;
use crate::inspect::boot_id;
use crate::lock::{Lock, LockError};
use crate::machine::Machine;
use crate::stop::Stop;
use crate::sys;
use crate::temporary::{TemporaryError, TemporarySettings};

/// From one look to the next.
const TICK: Duration = Duration::from_secs(1);
/// How often the end of a tick is waited for.
const SLICE: Duration = Duration::from_millis(100);
/// Steps after which the journal is begun anew, as soon as none of them stands.
const STEPS: usize = 64;
/// How long a law that failed is left alone, ticks.
const PENALTY: u32 = 60;
/// What the log calls a reload.
const CONFIGURATION: &str = "configuration";
const LIMIT: &str = "zswap.max_pool_percent";

/// How it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DaemonOptions {
    /// Decide, and do nothing.
    pub dry_run: bool,
    /// One decision, from two looks, and no more.
    pub once: bool,
}

/// Why it does not run.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// Another one runs.
    #[error("a daemon is running already{}", pid.map(|pid| format!(" (process {pid})")).unwrap_or_default())]
    Running {
        /// Its process number.
        pid: Option<u32>,
    },
    /// Its folder cannot be used.
    #[error("/run/swaptune")]
    Folder(#[source] io::Error),
    /// Not everything could be put back.
    #[error(transparent)]
    Settings(#[from] TemporaryError),
}

/// Who runs it: hears what it decides, and is asked for the configuration.
pub trait Caller {
    /// A decision that was made.
    fn tell(&mut self, entry: &DecisionEntry);

    /// What the configuration asks for, where it is to be read anew now; the reason where it cannot be used.
    fn reload(&mut self) -> Option<Result<Wishes, String>>;
}

/// A daemon at work.
struct Keeper<'a> {
    machine: &'a Machine,
    laws: Laws,
    looker: Looker<'a>,
    settings: Option<TemporarySettings>,
    canaries: Option<CanaryProcess>,
    words: units::Words,
    /// The limit that was found, and the one that was set over it.
    moved: Option<(u64, u64)>,
    report: DaemonReport,
    penalty: u32,
    ours_us: u64,
    /// Canaries that went to the disk.
    canaries_written: u64,
    ours_io_us: u64,
    dry_run: bool,
}

/// Runs until it is asked to stop. Everything is as it was before when this returns.
///
/// # Errors
/// [`KeepError`]; another daemon that runs, or something that could not be put back.
pub fn run(
    machine: &Machine,
    laws: Laws,
    options: DaemonOptions,
    stop: &Stop,
    caller: &mut dyn Caller,
) -> Result<DaemonReport, KeepError> {
    let _lock = if options.dry_run { None } else { Some(begin(machine)?) };
    let notify = Notify::of_environment();
    let asked = Asked::new(machine);
    let mut keeper = Keeper::new(machine, laws, options);
    let mut ledger = (!options.dry_run).then(|| Ledger::new(machine));
    let mut before: Option<Moment> = None;
    let mut is_locked = false;
    notify.say("READY=1\nSTATUS=looking\n");
    while !stop.is_asked() {
        let mode = keeper.mode(&asked);
        let told = keeper.report.log.back().cloned();
        keeper.report.unix_ms = unix_ms();
        keeper.report.mode = mode;
        if let Some(wishes) = caller.reload() {
            keeper.reload(wishes, &notify);
        }
        let now = keeper.look();
        if matches!(mode, Mode::Paused | Mode::Aside) {
            keeper.let_go();
        } else if let Some(was) = &before {
            keeper.tick(was, &now, stop, &asked);
        }
        let new = keeper.report.log.iter().rev().take_while(|entry| Some(*entry) != told.as_ref()).count();
        keeper.report.log.iter().skip(keeper.report.log.len() - new).for_each(|entry| caller.tell(entry));
        keeper.publish(&now, &notify);
        if let Some(ledger) = &mut ledger {
            ledger.now_and_then(&keeper.report);
        }
        let is_last = options.once && before.is_some();
        before = (!matches!(mode, Mode::Paused | Mode::Aside)).then_some(now);
        // After the first look, so that what only the start needed is given up. A daemon that waits for its own pages is of no use.
        if machine.is_live() && !std::mem::replace(&mut is_locked, true) {
            sys::lock_what_is_used().unwrap_or_else(|error| info!("its memory is not locked: {error}"));
        }
        if is_last || !rest(stop, || !options.dry_run && asked.is_asked() && mode != Mode::Aside) {
            break;
        }
    }
    notify.say("STOPPING=1\n");
    if let Some(was) = before.filter(|_| !options.once) {
        // What the worker still writes counts against the budget of the next one.
        keeper.laws.pacing.spend(&was, &Moment { canaries: keeper.canaries_written, ..keeper.looker.within_burst() });
        keeper.report.written = keeper.laws.pacing.budget().clone();
        keeper.laws.zram.learn(&Moment { at_ms: was.at_ms, zram: zram::moments(machine), ..Moment::default() });
        keeper.report.zram_written = keeper.laws.zram.budget().clone();
    }
    let is_back = keeper.put_back();
    if let Some(ledger) = &mut ledger {
        ledger.write(&keeper.report);
    }
    is_back?;
    keeper.canaries = None;
    keeper.report.mode = if options.dry_run { Mode::DryRun } else { Mode::Stopped };
    keeper.report.moved.clear();
    keeper.write();
    Ok(keeper.report)
}

/// The folder, and the lock that only one daemon has. What a killed one left is put back when settings are opened.
fn begin(machine: &Machine) -> Result<Lock, KeepError> {
    status::make_folder(machine).map_err(KeepError::Folder)?;
    let lock = Lock::take(&aside::daemon_lock(machine)).map_err(|error| match error {
        LockError::Held { pid } => KeepError::Running { pid },
        LockError::Io { source, .. } => KeepError::Folder(source),
    })?;
    match crate::temporary::recover(machine) {
        Ok(Some(what)) => info!("{what}"),
        Err(error @ TemporaryError::NotRestored { .. }) => return Err(error.into()),
        // Another command changes the machine: what it finds left it puts back itself.
        Ok(None) | Err(_) => {}
    }
    Ok(lock)
}

/// Waits for the next tick; false when it is time to stop. Something else may end the wait.
fn rest(stop: &Stop, hurry: impl Fn() -> bool) -> bool {
    let began = Instant::now();
    while began.elapsed() < TICK {
        if stop.is_asked() {
            return false;
        }
        if hurry() {
            return true;
        }
        std::thread::sleep(SLICE.min(TICK.saturating_sub(began.elapsed())));
    }
    true
}

fn unix_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(0))
}

/// What a burst sets, for those that look at the machine meanwhile: its limit, its threshold, and the one that has the kernel look again.
fn lowered(burst: &Burst, began: &Moment, home: u64) -> [MovedSetting; 3] {
    let moved =
        |name: &str, before: u64, now: u64| MovedSetting { name: name.into(), before: before.to_string(), now: now.to_string() };
    let accept = |now| moved(burst::ACCEPT, began.accept_percent, now);
    [moved(LIMIT, home, burst.limit_percent), accept(burst.accept_percent), accept(100)]
}

impl<'a> Keeper<'a> {
    fn new(machine: &'a Machine, laws: Laws, options: DaemonOptions) -> Self {
        let boot = boot_id(machine);
        let now = unix_ms();
        let mut looker = Looker::new(machine);
        let words = units::Words::of(looker.ground().kernel);
        let report = DaemonReport { pid: std::process::id(), boot, since_unix_ms: now, unix_ms: now, ..DaemonReport::default() };
        Self {
            machine,
            laws,
            looker,
            settings: None,
            canaries: None,
            words,
            moved: None,
            report,
            penalty: 0,
            ours_us: 0,
            canaries_written: 0,
            ours_io_us: 0,
            dry_run: options.dry_run,
        }
    }

    fn mode(&self, asked: &Asked) -> Mode {
        match self.dry_run {
            true => Mode::DryRun,
            false if asked.is_asked() => Mode::Aside,
            false if status::is_paused(self.machine) => Mode::Paused,
            false => Mode::Working,
        }
    }

    /// Goes by another configuration without a gap: what is set stays set, but for the limit where it shall not move any more.
    fn reload(&mut self, wishes: Result<Wishes, String>, notify: &Notify) {
        notify.say("RELOADING=1\n");
        match wishes {
            Ok(wishes) => {
                if !wishes.wanted.limit && self.moved.is_some() {
                    self.let_go();
                }
                self.laws.configure(wishes);
                self.report.log(CONFIGURATION, "read anew".into(), "SIGHUP");
            }
            Err(why) => {
                warn!("{CONFIGURATION}: {why}");
                self.report.log(CONFIGURATION, "goes on with the one before".into(), &why);
            }
        }
        notify.say("READY=1\n");
    }

    fn look(&mut self) -> Moment {
        self.looker.ground();
        let Self { ours_us, ours_io_us, canaries_written: canaries, .. } = *self;
        Moment { ours_us, ours_io_us, canaries, ..self.looker.tick() }
    }

    fn tick(&mut self, before: &Moment, now: &Moment, stop: &Stop, asked: &Asked) {
        let home = self.home(now);
        let decisions = self.laws.decide(&self.looker.ground().clone(), home, before, now);
        self.penalty = self.penalty.saturating_sub(1);
        for decision in decisions {
            if stop.is_asked() || self.penalty > 0 {
                return;
            }
            let sets = !matches!(decision, Decision::Reclaim(_)) && !self.dry_run;
            if sets && !self.may_set(asked) {
                return;
            }
            match decision {
                Decision::Limit(moved) => self.limit(&moved, home),
                Decision::Pacing { burst, why } => self.pace(&burst, &why, now, stop),
                Decision::Reclaim(probe) => self.reclaim(&probe, now),
                Decision::Zram(chore) => self.upkeep(&chore, now),
            }
        }
    }

    /// Whether settings are ours to make: a command may have asked for the machine, or have it, since this tick began. That is no failure.
    fn may_set(&mut self, asked: &Asked) -> bool {
        if !asked.is_asked() {
            match self.settings() {
                Err(TemporaryError::Busy(LockError::Held { .. })) => return false,
                // What else is wrong is told by whoever needs them.
                _ if !asked.is_asked() => return true,
                _ => {}
            }
        }
        self.let_go();
        false
    }

    /// The limit that is configured. One that another program has set since is that from now on.
    fn home(&mut self, now: &Moment) -> u64 {
        match self.moved {
            Some((home, set)) if set == now.limit_percent => home,
            Some((_, set)) => {
                let why = format!("it was {set} %, set here, and another program has set it since");
                self.report.log("limit", format!("takes {} % as configured", now.limit_percent), &why);
                self.let_go();
                now.limit_percent
            }
            None => now.limit_percent,
        }
    }

    fn limit(&mut self, moved: &LimitMove, home: u64) {
        let did = format!("{} % → {} %", moved.from, moved.to);
        if self.dry_run {
            return self.report.log("limit", format!("would move {did}"), &moved.why);
        }
        let result = match moved.to == home {
            // Back where it was is the undoing of what was set, not one more setting.
            true => self.put_back(),
            false => self.settings().and_then(|settings| settings.knob(LIMIT, &moved.to.to_string())),
        };
        match result {
            Ok(()) => {
                self.moved = (moved.to != home).then_some((home, moved.to));
                self.report.totals.moves += 1;
                self.report.log("limit", did, &moved.why);
            }
            Err(error) => self.failed("limit", &did, &error_chain(&error)),
        }
    }

    fn pace(&mut self, burst: &Burst, why: &str, began: &Moment, stop: &Stop) {
        let did = format!("drain the pool from {} to {}", began.pool, burst.target);
        if self.dry_run {
            return self.report.log("pacing", format!("would {did}"), why);
        }
        if let Err(error) = self.burst(burst, why, began, stop) {
            self.failed("pacing", &did, &error);
        }
    }

    fn burst(&mut self, burst: &Burst, why: &str, began: &Moment, stop: &Stop) -> Result<(), String> {
        self.settings().map_err(|error| error_chain(&error))?;
        if self.canaries.is_none() {
            self.canaries = Some(CanaryProcess::start(self.machine, burst.worker).map_err(|error| error_chain(&error))?);
        }
        let (Some(settings), Some(canaries)) = (&mut self.settings, &mut self.canaries) else { return Ok(()) };
        // The process may have taken its time to start.
        let counted = self.canaries_written;
        let began = Moment { io_stall_us: began.io_stall_us, canaries: counted, ..self.looker.within_burst() };
        let burst = Burst { until_ms: began.at_ms + self.laws.figures.pacing_burst_ms, ..*burst };
        self.report.moved.extend(lowered(&burst, &began, self.moved.map_or(began.limit_percent, |(home, _)| home)));
        if let Err(error) = status::write(self.machine, &self.report) {
            warn!("{DAEMON_STATUS}: {error}");
        }
        let (looker, laws, mut last) = (&self.looker, &mut self.laws, began.clone());
        let mut seen = 0;
        let mut goes_on = |offered| {
            seen = offered;
            let now = Moment { canaries: counted + offered, ..looker.within_burst() };
            let goes_on = laws.pacing.goes_on(&laws.figures, &burst, &began, &last, &now);
            let pace = burst.worker.pace(now.zswpwb > last.zswpwb);
            last = now;
            if stop.is_asked() { Err("it is time to stop".into()) } else { goes_on.map(|()| pace) }
        };
        let is_full = |now: &Moment| now.pool > now.limit().percent(began.accept_percent);
        let ended = burst::carry_out(settings, canaries, &burst, &mut || is_full(&looker.within_burst()), &mut goes_on);
        let offered = ended.as_ref().map_or(seen, |ended| ended.canaries);
        self.canaries_written += if burst.worker.writes_canaries() { offered } else { 0 };
        let ended = ended.inspect_err(|_| self.canaries = None).map_err(|error| error_chain(&error))?;
        let after = Moment { canaries: self.canaries_written, ..self.looker.within_burst() };
        self.laws.pacing.ended(&burst, &after, ended.canaries);
        let totals = &mut self.report.totals;
        let (drained, written) = (Bytes(began.pool.0.saturating_sub(after.pool.0)), pacing::written(&began, &after));
        totals.bursts += 1;
        totals.canaries += ended.canaries;
        totals.drained.0 += drained.0;
        totals.written.0 += written.0;
        let did = format!(
            "drained the pool from {} to {} in {} ms, {written} written, {} canaries: {}",
            began.pool,
            after.pool,
            after.at_ms.saturating_sub(began.at_ms),
            ended.canaries,
            ended.why
        );
        self.report.log("pacing", did, why);
        Ok(())
    }

    fn reclaim(&mut self, probe: &Probe, now: &Moment) {
        // The unit may have been read some seconds ago.
        let fresh = self.looker.unit(&probe.path);
        let still = fresh.and_then(|unit| Some((self.laws.reclaim.still(&self.laws.figures, probe, &unit)?, unit)));
        let Some((bytes, fresh)) = still else {
            return self.laws.reclaim.took(&self.laws.figures, probe, now.at_ms, Bytes(0));
        };
        if self.dry_run {
            self.report.log("reclaim", format!("would take {bytes} from {}", probe.path), &probe.why);
            return self.laws.reclaim.took(&self.laws.figures, probe, now.at_ms, bytes);
        }
        let result = match self.looker.processes().is_some() {
            true => self.take_from_processes(probe, bytes),
            false => self.take_from_group(probe, bytes, &fresh),
        };
        self.laws.reclaim.took(&self.laws.figures, probe, now.at_ms, result.as_ref().map_or(Bytes(0), |(taken, _)| *taken));
        match result {
            Ok((taken, freed)) => {
                self.report.totals.probes += 1;
                self.report.totals.taken.0 += taken.0;
                self.report.totals.freed.0 += freed.0;
                self.report.log("reclaim", format!("took {taken} from {}, {freed} less in RAM", probe.path), &probe.why);
            }
            Err(error) => self.report.log("reclaim", format!("left {} alone", probe.path), &error.to_string()),
        }
    }

    /// Says what was taken, and by how much less RAM there is in use by that.
    fn take_from_group(&mut self, probe: &Probe, bytes: Bytes, fresh: &UnitMoment) -> Result<(Bytes, Bytes), ReclaimError> {
        let began = Instant::now();
        let result = units::reclaim(self.machine, &probe.path, probe.id, bytes, &mut self.words);
        self.ours_us += u64::try_from(began.elapsed().as_micros()).unwrap_or(0);
        result?;
        let left = self.looker.unit(&probe.path).unwrap_or_else(|| fresh.clone());
        let taken = Bytes(fresh.memory.0.saturating_sub(left.memory.0));
        // What went into the pool still takes RAM there.
        let freed = Bytes((fresh.memory.0 + fresh.pooled.0).saturating_sub(left.memory.0 + left.pooled.0));
        Ok((taken, freed))
    }

    /// The same of processes. Nothing says what each of them has in the pool: what that grew by meanwhile, through others too, counts as
    /// theirs. The kernel does not count this call as waiting for memory (mm/vmscan.c, `reclaim_pages`).
    fn take_from_processes(&mut self, probe: &Probe, bytes: Bytes) -> Result<(Bytes, Bytes), ReclaimError> {
        let pool = self.looker.within_burst().pool;
        let taken = self.looker.processes().ok_or(ReclaimError::Other)?.take(&probe.path, bytes)?;
        let grew = self.looker.within_burst().pool.0.saturating_sub(pool.0);
        Ok((taken, Bytes(taken.0.saturating_sub(grew))))
    }

    /// Temporary settings that can be added to. A journal that has grown long is begun anew: each step that is added reads all of it. A limit
    /// that was moved is as configured for that moment.
    fn settings(&mut self) -> Result<&mut TemporarySettings, TemporaryError> {
        let is_long = self.settings.as_ref().map(TemporarySettings::mark).transpose()?.is_some_and(|mark| mark.steps() >= STEPS);
        let moved = self.moved.filter(|_| is_long);
        if is_long {
            self.put_back()?;
        }
        let settings = match self.settings.take() {
            Some(settings) => settings,
            None => TemporarySettings::open_in_daemon(self.machine, "swaptune daemon")?,
        };
        let settings = self.settings.insert(settings);
        if let Some((home, set)) = moved {
            settings.knob(LIMIT, &set.to_string())?;
            self.moved = Some((home, set));
        }
        Ok(settings)
    }

    /// Puts everything back and gives up the lock.
    fn put_back(&mut self) -> Result<(), TemporaryError> {
        self.moved = None;
        self.settings.take().map_or(Ok(()), TemporarySettings::close)
    }

    /// The same where another program has set what we had set: it is left as it is.
    fn let_go(&mut self) {
        if let Err(error) = self.put_back() {
            warn!("{}", error_chain(&error));
        }
    }

    fn failed(&mut self, law: &str, what: &str, why: &str) {
        warn!("{law}: {what}: {why}");
        self.report.totals.failures += 1;
        self.report.log(law, format!("failed to {what}"), why);
        self.let_go();
        self.penalty = PENALTY;
    }

    /// Writes down what is so, and tells the service manager that we live.
    fn publish(&mut self, now: &Moment, notify: &Notify) {
        let report = &mut self.report;
        report.pool = now.pool;
        report.limit_percent = self.moved.map_or(now.limit_percent, |(_, set)| set);
        report.home_percent = self.moved.map_or(now.limit_percent, |(home, _)| home);
        report.units = now.units.len();
        report.idle = self.laws.reclaim.idle(&self.laws.figures);
        report.out = self.laws.reclaim.out();
        report.say(&self.laws.standing);
        report.written = self.laws.pacing.budget().clone();
        report.taken = self.laws.reclaim.budget().clone();
        report.zram_written = self.laws.zram.budget().clone();
        let moved = |(home, set): (u64, u64)| MovedSetting { name: LIMIT.into(), before: home.to_string(), now: set.to_string() };
        report.moved = self.moved.map(moved).into_iter().collect();
        let totals = &report.totals;
        notify.say(&format!(
            "WATCHDOG=1\nSTATUS={:?}: {} given back by units, {} written by draining\n",
            report.mode, totals.freed, totals.written
        ));
        self.write();
    }

    /// A dry run says nothing to others: it may be one beside a daemon that works.
    fn write(&self) {
        if let Err(error) = if self.dry_run { Ok(()) } else { status::write(self.machine, &self.report) } {
            warn!("{DAEMON_STATUS}: {error}");
        }
    }
}
