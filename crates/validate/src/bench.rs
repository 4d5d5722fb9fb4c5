//! One play of a sequence on the running kernel.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;

use swaptune_bench::process::{Helper, HelperError, HelperProgram};
use swaptune_core::parse::keyed;
use swaptune_core::{Bytes, Facts};
use swaptune_host::cgroup::{HierarchyVersion, LimitedGroup};
use swaptune_host::inspect::inspect;
use swaptune_host::machine::Machine;
use swaptune_host::prove::counters::CounterFiles;
use swaptune_host::stop::Stop;
use swaptune_host::temporary::TemporarySettings;
use swaptune_tiers::model::ModelSettings;

use crate::compare::KernelRound;
use crate::content::PAGE;
use crate::level::{LOOK, Level};
use crate::player::{Played, PlayerReady};
use crate::sequence::Sequence;
use crate::tiering::{KernelTiering, full_pool};
use crate::{SCOPE, ValidateError, ValidationOptions, model};

/// Areas are this many times larger than the workload: swap that is more than half full is used differently.
const ROOM: u64 = 5;
/// What all cases share.
pub(super) struct ValidationBench<'a> {
    pub machine: &'a Machine,
    pub facts: &'a Facts,
    pub options: &'a ValidationOptions,
    pub program: &'a HelperProgram,
    pub stop: &'a Stop,
    pub temporary: &'a mut TemporarySettings,
}

impl ValidationBench<'_> {
    /// Sets a tiering up and plays a sequence once. Tells what the kernel showed, the machine as the simulator has it, and the version of
    /// the group.
    pub(super) fn play(
        &mut self,
        tiering: &KernelTiering,
        sequence: &Sequence,
    ) -> Result<(KernelRound, ModelSettings, HierarchyVersion), ValidateError> {
        let room = Bytes(u64::from(sequence.script.task.pages) * PAGE as u64 * ROOM / 2);
        tiering.set_up(self.machine, self.temporary, &self.options.folder, room)?;
        let facts = inspect(self.machine, SCOPE);
        let group = LimitedGroup::create(self.machine, "validate", self.options.limit)?;
        let settings = model::machine(&facts, group.version(), self.options.limit)?;
        let mut helper = Helper::start(self.program, None)?;
        helper.say(&sequence.script.task)?;
        helper.send(&sequence.script.bytes())?;
        helper.answer::<PlayerReady>("had what it needs")?;
        group.add(helper.pid())?;
        let counters = CounterFiles::new(self.machine, &facts);
        let before = counters.read()?;
        helper.say(&"go")?;
        let mut level = tiering.fills_pool().then(|| Level::of(full_pool(self.facts)));
        let played: Played = looking_on(self.machine, &group, level.as_mut(), || helper.answer("was done"))?;
        let after = counters.read()?;
        if played.wrong > 0 {
            return Err(ValidateError::Corrupt { case: tiering.to_string(), count: played.wrong });
        }
        // After each pause caches and processor belong to other processes: the time of such a sequence says nothing.
        let nanos = sequence.script.task.pauses.is_none().then_some(played.nanos);
        let level = level.and_then(|level| level.mean());
        Ok((KernelRound { before, after, nanos, level }, settings, group.version()))
    }
}

/// Does something, and looks at the pool meanwhile if that is wanted. Also reads the group's `memory.stat` every few milliseconds, which
/// makes the kernel sum up what its processors counted. By itself it does so every two seconds, and reclaim goes by those sums when it asks whether a list is too short (mm/memcontrol.c:
/// `FLUSH_TIME`; mm/vmscan.c: `inactive_is_low`): a group that is younger than that may be out of memory with all its pages active.
fn looking_on<T>(machine: &Machine, group: &LimitedGroup, mut level: Option<&mut Level>, work: impl FnOnce() -> T) -> T {
    let (done, wait) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            while wait.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                let _ = group.counters();
                if let Some(level) = &mut level {
                    let pool =
                        machine.read_text("/proc/meminfo").ok().and_then(|text| keyed::meminfo(&text).get("Zswap").copied());
                    pool.into_iter().for_each(|bytes| level.see(bytes.0));
                }
            }
        });
        let result = work();
        drop(done);
        result
    })
}

impl From<HelperError> for ValidateError {
    fn from(error: HelperError) -> Self {
        match error {
            HelperError::Killed(why) | HelperError::Lost(why) => Self::Player(why),
            HelperError::Group(error) => Self::Group(error),
        }
    }
}
