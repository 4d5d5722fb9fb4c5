//! What must be known to trust a number.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::units::Bytes;

/// The machine and its state while something was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    /// Names the machine without giving it away: a hash of its machine id. Results of another machine are evidence of nothing here.
    pub machine: String,
    /// `uname -r`.
    pub kernel: String,
    /// Model of the processor, as `/proc/cpuinfo` has it.
    pub cpu: String,
    /// Processors online.
    pub cpus: u32,
    /// RAM.
    pub ram: Bytes,
    /// Anonymous memory and tmpfs when the measurement began, of whatever else is there: with swap it goes out and makes room. `None` in
    /// results of before it was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub swappable: Option<Bytes>,
    /// The hypervisor; `None` on bare metal or when unknown.
    pub hypervisor: Option<String>,
    /// Load average of the last minute when the measurement began.
    pub load: f64,
    /// Share of all processor time that the hypervisor took away while measuring, percent.
    pub steal_percent: f64,
    /// Kernel settings that bear on the result, by knob name.
    pub parameters: BTreeMap<String, String>,
    /// Version of swaptune, with the commit when it is known: `0.1.0 (a559f20)`.
    pub swaptune: String,
}
