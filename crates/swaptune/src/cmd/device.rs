//! `swaptune device`: a swap device from its partition table to its end.

use swaptune_core::facts::{Encryption, Facts, SwapPlace};
use swaptune_core::measurement::Evidence;
use swaptune_core::plan::device::{DeviceWish, KeyFile, Programs, adopt, prepare, retire};
use swaptune_core::plan::{Plan, PlanRequest, When};
use swaptune_core::settings::{EncryptRule, Settings, SwapWanted};
use swaptune_host::counted;
use swaptune_host::inspect::{InspectScope, inspect, look_at_places};
use swaptune_host::journal::{StateDir, TransactionKind};
use swaptune_host::kernel::unfit_key;
use swaptune_host::transaction::{ApplyOptions, execute};

use super::apply::refuse;
use super::change::{confirmed, kernel, needs_root, options, print_report_of};
use super::plan::fresh_seed;
use super::{Context, temporary};
use crate::cli::{DeviceArgs, DeviceCommand, Encrypt, PrepareArgs, Rest, WantedArgs};
use crate::failure::{Failure, REFUSED};
use crate::{configuration, output};

/// One of the four verbs.
pub fn run(context: &Context, args: &DeviceArgs) -> Result<u8, Failure> {
    let plain = |device| DeviceWish {
        device,
        swap: None,
        cache: false,
        encrypt: EncryptRule::None,
        optional: false,
        priority: 0,
        key_file: None,
        programs: programs(context),
    };
    match &args.what {
        DeviceCommand::Plan(args) => show(context, &plan(context, prepare, &wish(context, args), args.wipe)?),
        DeviceCommand::Prepare(args) => {
            let wanted = &args.wanted;
            let make = || plan(context, prepare, &wish(context, wanted), wanted.wipe);
            carry_out(context, make, args.yes, "Prepare this device?", TransactionKind::Apply)
        }
        DeviceCommand::Adopt(args) => {
            let key_file = args.key_file.clone().map(|path| KeyFile { path, unfit: None });
            let wish = DeviceWish { optional: args.optional, priority: args.priority, key_file, ..plain(&args.device) };
            let make = || plan(context, adopt, &wish, false);
            carry_out(context, make, args.yes, "Take this area into the configuration?", TransactionKind::Apply)
        }
        DeviceCommand::Retire(args) => {
            let make = || plan(context, retire, &plain(&args.device), false);
            carry_out(context, make, args.yes, "Retire this device and destroy its keys?", TransactionKind::Retire)
        }
    }
}

fn wish<'a>(context: &Context, args: &'a PrepareArgs) -> DeviceWish<'a> {
    DeviceWish {
        device: &args.device,
        swap: args.swap,
        cache: args.rest == Some(Rest::Cache),
        encrypt: match args.encrypt {
            Encrypt::Random => EncryptRule::Random,
            Encrypt::Luks => EncryptRule::Luks,
            Encrypt::None => EncryptRule::None,
        },
        optional: args.optional,
        priority: args.priority,
        key_file: None,
        programs: programs(context),
    }
}

/// What the machine has of the programs that are needed.
fn programs(context: &Context) -> Programs {
    let has = |names: &[&str]| names.iter().any(|name| context.machine.exists(name));
    Programs {
        sfdisk: has(&["/usr/sbin/sfdisk", "/sbin/sfdisk", "/usr/bin/sfdisk"]),
        cryptsetup: has(&["/usr/sbin/cryptsetup", "/sbin/cryptsetup", "/usr/bin/cryptsetup"]),
        crypttab: has(&[
            "/usr/lib/systemd/system-generators/systemd-cryptsetup-generator",
            "/lib/systemd/system-generators/systemd-cryptsetup-generator",
        ]),
    }
}

fn plan(
    context: &Context,
    make: fn(&PlanRequest<'_>, &DeviceWish<'_>) -> Plan,
    wish: &DeviceWish<'_>,
    wipe: bool,
) -> Result<Plan, Failure> {
    let mut facts = inspect(&context.machine, InspectScope::PLAN);
    facts.swap_places = places(context, &facts, wish.device);
    let wish = &DeviceWish { key_file: wish.key_file.as_ref().map(|key| tried(&facts, wish.device, key)), ..wish.clone() };
    let settings = configuration::of_files(&context.machine)?;
    let (evidence, unread) = configuration::evidence(&context.machine, &WantedArgs::default())?;
    let named = [wish.device.to_owned()];
    let mut plan = make(&request(context, &facts, &settings, &evidence, if wipe { &named } else { &[] }), wish);
    plan.notes.extend(unread);
    Ok(plan)
}

/// The key file after the volume was asked whether it takes it.
fn tried(facts: &Facts, device: &str, key: &KeyFile) -> KeyFile {
    let volume = facts.device_named(device).filter(|device| matches!(device.dm_crypt(), Some(Encryption::Luks { .. })));
    let below = volume.and_then(|volume| facts.block_device(volume.lies_on.first()?));
    KeyFile { unfit: below.and_then(|below| unfit_key(&key.path, &below.node())), ..key.clone() }
}

fn request<'a>(
    context: &Context,
    facts: &'a Facts,
    settings: &'a Settings,
    evidence: &'a Evidence,
    wipe: &'a [String],
) -> PlanRequest<'a> {
    PlanRequest {
        facts,
        settings,
        evidence,
        forecast: None,
        now: true,
        boot: true,
        record: false,
        wipe,
        binary: "",
        installed: false,
        seed: fresh_seed(context),
    }
}

/// What lies on the device.
fn places(context: &Context, facts: &Facts, device: &str) -> Vec<SwapPlace> {
    use swaptune_core::settings::{Provenance, Setting};
    let wanted =
        SwapWanted { path: device.to_owned(), size: None, priority: 0, optional: None, discard_once: false, encrypt: None };
    let list = Setting::new(vec![wanted], Provenance::Flag("device".into()));
    let mut facts = facts.clone();
    look_at_places(&context.machine, &mut facts, &Settings { swap: Some(list), ..Settings::default() });
    facts.swap_places
}

fn show(context: &Context, plan: &Plan) -> Result<u8, Failure> {
    if context.json {
        output::json(plan)?
    } else {
        output::data(&output::plan::steps(plan, true))?
    }
    Ok(if plan.refusals.is_empty() { 0 } else { REFUSED })
}

/// Shows every step, asks, and carries the plan out as one transaction.
fn carry_out(
    context: &Context,
    make: impl FnOnce() -> Result<Plan, Failure>,
    yes: bool,
    question: &str,
    kind: TransactionKind,
) -> Result<u8, Failure> {
    needs_root(context)?;
    temporary::recover(context)?;
    super::history::remind(context)?;
    let plan = make()?;
    refuse(&plan, "swaptune device plan")?;
    if plan.is_empty() {
        return show(context, &plan);
    }
    let kernel = kernel(context, plan.steps.iter().any(|step| step.when == When::Now))?;
    output::message(&output::plan::steps(&plan, false));
    if !confirmed(yes, question)? {
        output::message("nothing was changed");
        return Ok(0);
    }
    let state = StateDir::persistent(&context.machine);
    let mut report = execute(&context.machine, &*kernel, &state, &plan, &ApplyOptions { kind, ..options() })?;
    let what = format!("{} {}", plan.profile, report.id.as_deref().unwrap_or_default());
    report.warnings.extend(counted::keep(&context.machine, &*kernel, &what));
    print_report_of(context, kind, &report)?;
    Ok(0)
}
