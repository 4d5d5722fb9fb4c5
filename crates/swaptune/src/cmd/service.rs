//! `swaptune service start|stop`: what swaptune.service calls.
//!
//! Start switches on exactly what the last apply resolved; stop puts the live values back until the next start. Both are
//! recorded in `/run`, where a reboot takes the record away together with the state that it describes.

use swaptune_core::measurement::Evidence;
use swaptune_core::plan::Plan;
use swaptune_host::counted;
use swaptune_host::inspect::{InspectScope, inspect};
use swaptune_host::journal::{StateDir, TransactionKind};
use swaptune_host::transaction::{ApplyOptions, ApplyReport, deactivate, execute};

use super::change::{kernel, print_report};
use super::{Context, plan, temporary};
use crate::cli::{ServiceAction, ServiceArgs, WhenArgs};
use crate::failure::{Failure, USAGE};
use crate::{configuration, output};

/// Switches on or off.
pub fn run(context: &Context, args: &ServiceArgs) -> Result<u8, Failure> {
    temporary::recover(context)?;
    let volatile = StateDir::volatile(&context.machine);
    let options = ApplyOptions { kind: TransactionKind::Service, ..ApplyOptions::default() };
    let kernel = kernel(context, true)?;
    let report = match args.action {
        ServiceAction::Start => {
            let mut report = start(context, &*kernel, &volatile, &options)?;
            report.warnings.extend(counted::keep(&context.machine, &*kernel, "the start of the service"));
            report
        }
        ServiceAction::Stop => {
            let persistent = StateDir::persistent(&context.machine);
            deactivate(&context.machine, &*kernel, &[&persistent, &volatile], &volatile, &options)?
        }
    };
    print_report(context, &report)?;
    Ok(0)
}

fn start(
    context: &Context,
    kernel: &dyn swaptune_host::kernel::Kernel,
    state: &StateDir,
    options: &ApplyOptions<'_>,
) -> Result<ApplyReport, Failure> {
    let facts = inspect(&context.machine, InspectScope::PLAN);
    let Some(settings) = configuration::applied_for_boot(&facts)? else {
        let message = format!("nothing was applied: there is no {}", swaptune_core::plan::APPLIED_FILE);
        return Err(Failure::new(USAGE, message).hint("swaptune apply"));
    };
    let when = WhenArgs { now: true, boot: false };
    let plan = plan::for_settings(
        context,
        &facts,
        plan::PlanBasis::recorded(context, &settings, &Evidence::default()),
        &when,
        plan::RecordResolved(false),
        &[],
    );
    // What cannot be set at this boot is said, and the rest is switched on: a machine must come up with what it has.
    // Devices of disk areas may not be there yet: fstab has them waited for, and switched on.
    let is_of_fstab = |what: &str| settings.swap.iter().flat_map(|list| &list.value).any(|area| area.path == what);
    for refusal in plan.refusals.iter().filter(|refusal| !is_of_fstab(&refusal.what)) {
        output::message(&format!("left out: {}: {}", refusal.what, refusal.why));
    }
    let plan = Plan { refusals: Vec::new(), ..plan }.without(|step| !step.change.is_of_service());
    Ok(execute(&context.machine, kernel, state, &plan, options)?)
}
