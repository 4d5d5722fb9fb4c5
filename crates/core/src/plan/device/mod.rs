//! Plans for one device: prepared for swap, taken into the configuration, retired.
//!
//! They are plans like any other: pure, with a reason at each step, carried out and taken back by the same transaction.

mod adopt;
mod lines;
mod prepare;
mod retire;
mod target;
#[cfg(test)]
mod tests;

use super::{Draft, Plan, PlanRequest};
use crate::settings::EncryptRule;
use crate::units::Bytes;

pub use adopt::adopt;
pub use prepare::prepare;
pub use retire::retire;
pub(super) use target::in_use;

/// How much of a disk becomes swap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskShare {
    /// A share of what a table can hold.
    Percent(u64),
    /// A size.
    Size(Bytes),
}

/// Which programs the machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Programs {
    /// sfdisk and blockdev of util-linux.
    pub sfdisk: bool,
    /// cryptsetup.
    pub cryptsetup: bool,
    /// What opens the mappings of crypttab at boot: systemd's generator.
    pub crypttab: bool,
}

/// A key file that shall open a volume at each boot, and what was found of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyFile {
    /// Its path.
    pub path: String,
    /// What speaks against it: it is not there, others can read it, or it does not open the volume.
    pub unfit: Option<String>,
}

/// What is wanted of a device.
#[derive(Clone, Debug)]
pub struct DeviceWish<'a> {
    /// The device as it was typed.
    pub device: &'a str,
    /// How much of a whole disk becomes swap: all, or 60 % beside a cache.
    pub swap: Option<DiskShare>,
    /// Make a second partition of the rest, for a cache.
    pub cache: bool,
    /// How it is encrypted.
    pub encrypt: EncryptRule,
    /// Whether a boot goes on without it after a short wait, and `verify` takes its absence as it is.
    pub optional: bool,
    /// Swap priority.
    pub priority: i32,
    /// What opens a volume that is adopted and that crypttab does not list.
    pub key_file: Option<KeyFile>,
    /// What is there to do it with.
    pub programs: Programs,
}

/// A draft of a plan for a device; `None` with the refusal where no device can be touched.
fn begin<'a>(request: &'a PlanRequest<'a>, what: &str) -> Draft<'a> {
    let mut draft = Draft::new(request);
    draft.rename(what);
    if let Some(container) = request.facts.system.container.value() {
        let why = format!("this is a {} container: devices belong to its host", container.kind);
        draft.refuse("this machine", why, "run swaptune on the host");
    } else if request.facts.image.is_some() {
        draft.refuse(what, "an image has no devices", "run it on the machine itself, without --root");
    }
    draft
}

/// The plan, with what a node of Kubernetes allows.
fn finish(mut draft: Draft<'_>) -> Plan {
    super::kubernetes::guard(&mut draft);
    without_capacity(draft)
}

/// What a plan says of capacity is for the whole machine.
fn without_capacity(draft: Draft<'_>) -> Plan {
    Plan { capacity: None, ..draft.finish().plan }
}
