//! What the machines of a fleet hold together, and which need a hand first.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::keep_example;
use crate::fact::Fact;
use crate::memory_map::{MemoryMap, ZramPool};
use crate::units::Bytes;

/// Machines that are kept by name: those that gain most.
const NAMED: usize = 50;

/// What one machine holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// Its name.
    pub name: String,
    /// RAM.
    pub ram: Bytes,
    /// What fits on it.
    pub capacity: Bytes,
    /// RAM that zswap's pool and zram devices in use as swap take.
    pub pools: Bytes,
    /// What these hold, uncompressed.
    pub held: Bytes,
    /// At most this much is really on disks.
    pub on_disk: Bytes,
}

impl Summary {
    fn of(name: &str, map: &MemoryMap) -> Self {
        let known = |fact: &Fact<Bytes>| fact.value().copied().unwrap_or_default().0;
        let zram = || map.zram.iter().filter(|device: &&ZramPool| device.is_swap);
        let zswap = map.zswap.value();
        let sum = |zswap: Option<u64>, zram: u64| Bytes(zswap.unwrap_or(0).saturating_add(zram));
        Self {
            name: name.to_owned(),
            ram: map.ram.value().map_or(Bytes(0), |ram| ram.total),
            capacity: map.capacity.value().map_or(Bytes(0), |capacity| capacity.total),
            pools: sum(zswap.map(|pool| known(&pool.ram)), zram().map(|device| known(&device.ram)).sum()),
            held: sum(zswap.map(|pool| known(&pool.original)), zram().map(|device| known(&device.original)).sum()),
            on_disk: map.swap.on_disk_at_most,
        }
    }

    /// What more fits into RAM because pages are compressed; 0 where the pools take more than they hold.
    #[must_use]
    pub fn saved(&self) -> Bytes {
        Bytes(self.held.0.saturating_sub(self.pools.0))
    }

    fn add(&mut self, other: &Self) {
        let pairs = [
            (&mut self.ram, other.ram),
            (&mut self.capacity, other.capacity),
            (&mut self.pools, other.pools),
            (&mut self.held, other.held),
            (&mut self.on_disk, other.on_disk),
        ];
        pairs.into_iter().for_each(|(sum, more)| sum.0 = sum.0.saturating_add(more.0));
    }
}

/// Machines to which `status` gives the same advice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Advised {
    /// How many.
    pub machines: u64,
    /// Names of the first of them.
    pub examples: Vec<String>,
    /// What the first of them is told.
    pub text: String,
}

/// A fleet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FleetState {
    /// Machines that were added.
    pub machines: u64,
    /// Their sum.
    pub total: Summary,
    /// Machines on which something of ours was applied since they booted.
    pub applied: u64,
    /// Of these, pages that came back from zswap without a read of the disk since then.
    pub loads: u64,
    /// Of these, pages that were read from swap areas.
    pub swap_reads: u64,
    /// Advice by its code.
    pub advice: BTreeMap<String, Advised>,
    /// Those that gain most, the first at the head.
    pub most: Vec<Summary>,
}

impl FleetState {
    /// Adds a machine.
    pub fn add(&mut self, name: &str, map: &MemoryMap) {
        let summary = Summary::of(name, map);
        self.machines += 1;
        self.total.add(&summary);
        if let Some(since) = &map.since {
            self.applied += 1;
            self.loads = self.loads.saturating_add(since.loads);
            self.swap_reads = self.swap_reads.saturating_add(since.swap_reads);
        }
        if let Some(advice) = &map.advice {
            let advised = self.advice.entry(advice.code.clone()).or_default();
            advised.machines += 1;
            keep_example(&mut advised.examples, name);
            if advised.examples.first().is_some_and(|first| first == name) {
                advised.text.clone_from(&advice.text);
            }
        }
        let before = |known: &Summary| (known.saved(), &summary.name) > (summary.saved(), &known.name);
        let place = self.most.partition_point(before);
        self.most.insert(place, summary);
        self.most.truncate(NAMED);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Facts;
    use crate::memory_map::{Advice, PlanningRatio, Ram};

    fn machine(ram: u64, pool: u64, held: u64) -> MemoryMap {
        let mut map = MemoryMap::from_facts(&Facts::default());
        let known = |mib| Fact::known(Bytes::from_mib(mib), "test");
        map.ram = Fact::known(Ram { total: Bytes::from_mib(ram), ..Default::default() }, "test");
        map.zram = vec![ZramPool {
            name: "zram0".into(),
            is_swap: true,
            compressor: Fact::absent(""),
            disksize: Bytes(0),
            ram: known(pool),
            original: known(held),
            ratio: Fact::absent(""),
            same_filled: Fact::absent(""),
            incompressible: Fact::absent(""),
            limit: Fact::absent(""),
            planning: PlanningRatio::choose(None, 0, None, None),
        }];
        map.advice = None;
        map
    }

    #[test]
    fn sums_are_those_of_all_machines_and_names_those_of_the_greatest_gain() {
        let mut state = FleetState::default();
        for number in 0..200_u64 {
            state.add(&format!("m{number:03}"), &machine(1024, 10, 10 + number));
        }
        assert_eq!((state.machines, state.total.ram, state.total.pools), (200, Bytes::from_gib(200), Bytes::from_mib(2000)));
        assert_eq!(state.total.saved(), Bytes::from_mib(199 * 200 / 2));
        assert_eq!((state.most.len(), state.most[0].name.as_str(), state.most[49].name.as_str()), (NAMED, "m199", "m150"));
    }

    #[test]
    fn equal_advice_is_told_once_with_the_first_names() {
        let mut state = FleetState::default();
        for name in ["z", "b", "a"] {
            let advice = Some(Advice { code: "swap-full".into(), text: format!("{name} is full") });
            state.add(name, &MemoryMap { advice, ..machine(1, 0, 0) });
        }
        let advised = &state.advice["swap-full"];
        assert_eq!((advised.machines, advised.text.as_str()), (3, "a is full"));
        assert_eq!(advised.examples, ["a", "b", "z"]);
    }
}
