//! Figures of this machine, where they are asked for.

use std::collections::BTreeSet;

use swaptune_bench::this_machine::{Cite, Known, Machine, Subject, now};
use swaptune_core::Bytes;
use swaptune_host::inspect::{Scope, inspect};
use swaptune_tiers::model::{Backing, Figures, Lru};
use swaptune_tiers::scenario::{Now, Scenario, Tiering};

use crate::cli::{TieringArgs, WantedArgs};
use crate::cmd::Context;
use crate::configuration;
use crate::failure::{Failure, USAGE};

/// Keys of `[machine]` of a scenario, and what they are.
type Keys = Vec<(&'static str, String)>;

/// What is known of this machine; of a run without `--measured`, the usual figures.
#[derive(Default)]
pub struct Measured {
    known: Known,
    machine: Keys,
}

impl Measured {
    /// What the flags ask for.
    pub fn of(context: &Context, args: &TieringArgs) -> Result<Self, Failure> {
        if !args.measured {
            return Ok(Self::default());
        }
        let wanted = WantedArgs { measured: true, ..WantedArgs::default() };
        let (evidence, _) = configuration::evidence(&context.machine, &wanted)?;
        let facts = inspect(&context.machine, Scope { config: true, ..Scope::STATUS });
        let known = Known::of(&facts, &evidence);
        if !known.is_measured() {
            let message = "--measured: nothing that the model takes was measured on this machine under this kernel";
            return Err(
                Failure::new(USAGE, message).hint("measure first: `sudo swaptune bench swap`, `bench codecs`, `bench disk`")
            );
        }
        let machine = Machine::of(&facts).map_err(|error| Failure::new(USAGE, format!("--measured: {error}")))?;
        Ok(Self { known, machine: keys(&machine) })
    }

    /// Figures for the model.
    pub fn figures(&self) -> &Figures {
        &self.known.figures
    }

    /// Keys of `[machine]` of a scenario that is typed.
    pub fn machine(&self) -> &[(&'static str, String)] {
        &self.machine
    }

    /// The machine as it is set up now, and keys of `[machine]` that go with it.
    pub fn now(&self, context: &Context) -> Result<(Now, Keys), Failure> {
        let facts = inspect(&context.machine, Scope { config: true, ..Scope::STATUS });
        let known = now(&facts, self.figures()).and_then(|now| Ok((now, keys(&Machine::of(&facts)?))));
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

fn keys(machine: &Machine) -> Keys {
    let lru = if machine.lru == Lru::Generational { "generational" } else { "classic" };
    let mut keys =
        vec![("kernel", machine.kernel.to_string()), ("lru", lru.to_owned()), ("charge-zswap", machine.charge_zswap.to_string())];
    keys.extend(machine.swappiness.map(|value| ("swappiness", value.to_string())));
    keys.extend(machine.page_cluster.map(|value| ("page-cluster", value.to_string())));
    keys.extend(machine.watermark_scale_factor.map(|value| ("watermark-scale-factor", value.to_string())));
    keys.extend(machine.zsmalloc_chain.map(|value| ("zsmalloc-chain", value.to_string())));
    keys
}

/// RAM of this machine, as `--ram` takes it.
pub fn ram(context: &Context) -> Result<String, Failure> {
    let Bytes(total) = inspect(&context.machine, Scope::STATUS).memory.total();
    let unknown = || Failure::new(USAGE, "--ram this: MemTotal is not known here").hint("say how much: --ram 4G");
    (total > 0).then(|| total.to_string()).ok_or_else(unknown)
}
