//! Times of this machine, as the simulator's clock takes them.

use std::collections::BTreeMap;

use serde::Serialize;
use swaptune_core::stats::Nanos;
use swaptune_tiers::model::{CodecCosts, Costs, DeviceTimes, ModelSettings};

/// A time that was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MeasuredTime {
    /// What takes it.
    pub what: String,
    /// How long, for one page or step.
    pub time: Nanos,
}

/// The times of this machine; what was not measured has its usual figure.
#[derive(Clone, Debug, Default)]
pub(super) struct MachineTimes {
    pub costs: Costs,
    pub codecs: BTreeMap<String, CodecCosts>,
    pub device: Option<DeviceTimes>,
    pub told: Vec<MeasuredTime>,
}

impl MachineTimes {
    /// Gives a machine these times. All its areas lie in one folder, and so on one disk.
    pub fn put(&self, machine: &mut ModelSettings) {
        machine.costs = self.costs;
        if let Some(zswap) = &mut machine.zswap {
            zswap.codec = self.codecs.get(zswap.codec.name).copied().unwrap_or(zswap.codec);
        }
        if let Some(device) = self.device {
            machine.devices.fill(device);
        }
    }

    /// Two times are measured: of a page, and of a read beside it. Requests, seeks and the end of a write are within them.
    pub fn device(&mut self) -> &mut DeviceTimes {
        self.device.get_or_insert(DeviceTimes { request: 0, page: 0, seek: 0, read_latency: 0, write_latency: 0 })
    }
}
