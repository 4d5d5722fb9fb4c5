//! Many machines at once: which of them get the same plan, and what they hold together.
//!
//! Both take a machine at a time and keep sums and a few names, so that what they take does not grow with the number of machines.

mod groups;
mod state;

pub use groups::{Fleet, MachineGroup, OUTLIER};
pub use state::{Advised, FleetState, Summary};

/// The number of names that are kept of machines alike.
pub const EXAMPLES: usize = 5;

/// Keeps the first names, in whatever order they come.
fn keep_example(examples: &mut Vec<String>, name: &str) {
    let place = examples.partition_point(|known| known.as_str() < name);
    examples.insert(place, name.to_owned());
    examples.truncate(EXAMPLES);
}
