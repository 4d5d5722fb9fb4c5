//! Figures of this machine, where they are asked for.

use std::collections::BTreeSet;

use swaptune_bench::this_machine::{Cite, KnownCosts, Subject, base, now};
use swaptune_core::Bytes;
use swaptune_host::inspect::{InspectScope, inspect};
use swaptune_tiers::alloc::PAGE_SIZE;
use swaptune_tiers::model::{Backing, ModelFigures};
use swaptune_tiers::scenario::{BaseSpec, MachineSpec, Scenario, Size, Tiering};

use crate::cli::{TieringArgs, WantedArgs};
use crate::cmd::Context;
use crate::configuration;
use crate::failure::{Failure, USAGE};

/// What is known of this machine; of a run without `--measured`, the usual figures.
#[derive(Default)]
pub struct MeasuredMachine {
    known: KnownCosts,
    base: Option<BaseSpec>,
}

impl MeasuredMachine {
    /// What the flags ask for.
    pub fn of(context: &Context, args: &TieringArgs) -> Result<Self, Failure> {
        if !args.measured {
            return Ok(Self::default());
        }
        let wanted = WantedArgs { measured: true, ..WantedArgs::default() };
        let (evidence, _) = configuration::evidence(&context.machine, &wanted)?;
        let facts = inspect(&context.machine, InspectScope { config: true, ..InspectScope::STATUS });
        let known = KnownCosts::of(&facts, &evidence);
        if !known.is_measured() {
            let message = "--measured: nothing that the model takes was measured on this machine under this kernel";
            return Err(
                Failure::new(USAGE, message).hint("measure first: `sudo swaptune bench swap`, `bench codecs`, `bench disk`")
            );
        }
        let base = base(&facts).map_err(|error| Failure::new(USAGE, format!("--measured: {error}")))?;
        Ok(Self { known, base: Some(base) })
    }

    /// Figures for the model.
    pub fn figures(&self) -> &ModelFigures {
        &self.known.figures
    }

    /// The machine without its tiers, where it was looked at.
    pub const fn base(&self) -> Option<&BaseSpec> {
        self.base.as_ref()
    }

    /// The machine as it is set up now.
    pub fn now(&self, context: &Context) -> Result<MachineSpec, Failure> {
        let facts = inspect(&context.machine, InspectScope { config: true, ..InspectScope::STATUS });
        let known = now(&facts, self.figures());
        let hint = "type what this machine has, for example --tiering zswap:zstd,disk";
        known.map_err(|error| Failure::new(USAGE, format!("--tiering now: {error}")).hint(hint))
    }

    /// What of the figures a scenario used.
    pub fn cites(&self, scenarios: &[Scenario]) -> Vec<&Cite> {
        let tierings = scenarios.iter().flat_map(|scenario| &scenario.points).flat_map(|point| &point.tierings);
        let mut used = BTreeSet::new();
        tierings.for_each(|tiering| used.append(&mut names(tiering)));
        let is_used = |subject: &Subject| match subject {
            Subject::Costs => true,
            Subject::Zswap(name) => used.contains(&("zswap", name.clone())),
            Subject::Zram(name) => used.contains(&("zram", name.clone())),
            Subject::Device(name) => used.contains(&("device", name.clone())),
        };
        self.known.cites.iter().filter(|cite| is_used(&cite.subject)).collect()
    }
}

/// What a tiering names, with where it names it.
fn names(tiering: &Tiering) -> BTreeSet<(&'static str, String)> {
    let zswap = tiering.settings.zswap.iter().map(|zswap| ("zswap", zswap.codec.name.to_owned()));
    let zram = tiering.settings.areas.iter().filter_map(|area| match &area.backing {
        Backing::Zram { codec, .. } => Some(("zram", codec.name.to_owned())),
        Backing::Disk { .. } => None,
    });
    let devices = tiering.devices.iter().map(|name| ("device", name.clone()));
    zswap.chain(zram).chain(devices).collect()
}

/// RAM of this machine.
pub fn ram(context: &Context) -> Result<Size, Failure> {
    let Bytes(total) = inspect(&context.machine, InspectScope::STATUS).memory.total();
    let unknown = || Failure::new(USAGE, "--ram this: MemTotal is not known here").hint("say how much: --ram 4G");
    (total > 0).then_some(Size::Pages(total / u64::from(PAGE_SIZE))).ok_or_else(unknown)
}
