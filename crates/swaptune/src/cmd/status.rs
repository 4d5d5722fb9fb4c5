//! `swaptune status`: what memory really is.

use swaptune_core::memory_map::MemoryMap;
use swaptune_host::daemon_status;
use swaptune_host::inspect::{InspectScope, inspect, look_for_kubelets};

use super::Context;
use super::unfinished::Unfinished;
use crate::cli::WantedArgs;
use crate::configuration;
use crate::failure::{Failure, REFUSED};
use crate::output;

/// Prints one screen.
pub fn run(context: &Context) -> Result<u8, Failure> {
    let mut facts = inspect(&context.machine, InspectScope::STATUS);
    if facts.image.is_some() {
        let message = "status shows the memory of a running machine, and this image does not run";
        return Err(Failure::new(REFUSED, message).hint("`swaptune plan` shows what it would be set up with"));
    }
    // Who else has a say is looked for only where there is something to say: it takes a look at every process.
    if MemoryMap::from_facts(&facts).advice.is_some() {
        look_for_kubelets(&context.machine, &mut facts);
    }
    let (evidence, _) = configuration::evidence(&context.machine, &WantedArgs::default())?;
    let map = MemoryMap::from_facts(&facts).with_costs(&evidence).with_daemon(daemon_status::expected(&context.machine));
    if context.json {
        output::json_versioned(&map)?;
    } else {
        output::data(&output::status::text(&map))?;
        if let Ok(Ok(Some(unfinished))) = Unfinished::look(context) {
            output::data(&format!("\n{}", output::text::wrap(&format!("Unfinished: {}", unfinished.sentence()), 0)))?;
        }
    }
    Ok(0)
}
