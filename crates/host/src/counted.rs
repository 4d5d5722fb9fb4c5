//! The counters of the kernel at the moment of a change, kept for as long as the boot lasts: findings count from there.

use swaptune_core::facts::CountersSinceBoot;

use crate::checkpoint::NoFaults;
use crate::inspect::{COUNTERS, InspectScope, inspect};
use crate::kernel::Kernel;
use crate::machine::Machine;
use crate::stamp::Stamp;
use crate::transaction::{Run, StepError};

/// Only what is counted.
const SCOPE: InspectScope = InspectScope { signatures: false, log: false, ..InspectScope::STATUS };

/// Keeps what is counted now; `by` says what changed the configuration. Says what went wrong, which does no harm: counters then count
/// from boot.
#[must_use]
pub fn keep(machine: &Machine, kernel: &dyn Kernel, by: &str) -> Option<String> {
    let run = Run { machine, kernel, faults: &NoFaults, progress: &|_| () };
    let boot = run.boot_id();
    if boot.is_empty() {
        return None;
    }
    let counted = CountersSinceBoot::of(&inspect(machine, SCOPE), by.to_owned(), Stamp::now().text(), boot);
    write(&run, &counted).err().map(|error| format!("findings count from boot: {error}"))
}

fn write(run: &Run<'_>, counted: &CountersSinceBoot) -> Result<(), StepError> {
    let text = serde_json::to_string(counted).map_err(|error| StepError::io("write", COUNTERS, error.into()))?;
    let real = run.real(COUNTERS)?;
    run.make_folders(&run.missing_folders(&real))?;
    run.put_text(&real, "counters", &text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::BOOT_ID;
    use crate::kernel::LiveKernel;
    use crate::testing::write;

    #[test]
    fn counters_are_kept_for_one_boot() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "/proc/vmstat", "pswpout 700\nnr_free_pages 5\n");
        let machine = Machine::at(dir.path());
        let known = || inspect(&machine, SCOPE).memory.counted;
        assert_eq!(keep(&machine, &LiveKernel, "apply a"), None);
        assert!(!known().is_known(), "without a boot id it belongs to no known boot");
        write(dir.path(), BOOT_ID, "one\n");
        assert_eq!(keep(&machine, &LiveKernel, "apply b"), None);
        let counted = known().value().cloned().unwrap();
        assert_eq!((counted.by.as_str(), counted.boot.as_str()), ("apply b", "one"));
        assert_eq!(counted.vmstat, [("pswpout".to_owned(), 700)].into(), "only what grows is kept");
        write(dir.path(), BOOT_ID, "two\n");
        assert!(known().source().contains("of another boot"), "{:?}", known());
        write(dir.path(), COUNTERS, "{");
        assert!(!known().is_known());
    }
}
