//! Configuration files and flags → settings.

use swaptune_bench::conditions::machine_name;
use swaptune_bench::disk::identity;
use swaptune_bench::results::Store;
use swaptune_core::adopt::{Taken, adopt};
use swaptune_core::facts::Facts;
use swaptune_core::forecast::Forecast;
use swaptune_core::measurement::Evidence;
use swaptune_core::plan::{APPLIED_FILE, APPLIED_NOW_FILE, CONFIG_FILE, Note};
use swaptune_core::profiles;
use swaptune_core::settings::{KeepSettings, Provenance, Setting, Settings, read_toml};
use swaptune_host::machine::Machine;

use crate::cli::{WantedArgs, WhenArgs};
use crate::failure::{Failure, USAGE};

const DROPIN_DIR: &str = "/etc/swaptune/config.d";

/// The settings that these flags and files ask for on this machine.
pub fn resolve(
    machine: &Machine,
    facts: &Facts,
    evidence: &Evidence,
    forecast: Option<&Forecast>,
    wanted: &WantedArgs,
) -> Result<Settings, Failure> {
    let adopted = adopted(facts, wanted)?.map(|taken| taken.settings);
    let layers = adopted.into_iter().chain(layers(machine, wanted)?).collect();
    Ok(profiles::resolve(layers, facts, evidence, forecast)?)
}

/// What other files configure on this machine, where it is to be taken over.
pub fn adopted(facts: &Facts, wanted: &WantedArgs) -> Result<Option<Taken>, Failure> {
    Ok(wanted.adopt.then(|| adopt(facts)).transpose()?)
}

/// True when neither flags nor files ask for anything: what is planned is our own proposal.
pub fn is_silent(machine: &Machine, wanted: &WantedArgs) -> Result<bool, Failure> {
    Ok(!wanted.adopt && layers(machine, wanted)?.into_iter().fold(Settings::default(), Settings::overlay) == Settings::default())
}

/// What the files of the machine say, without a profile.
pub fn of_files(machine: &Machine) -> Result<Settings, Failure> {
    Ok(layers(machine, &WantedArgs::default())?.into_iter().fold(Settings::default(), Settings::overlay))
}

/// Tells the facts of an image what its configuration says of its machine; a running machine says it itself.
pub fn assume(machine: &Machine, facts: &mut Facts, wanted: &WantedArgs) -> Result<(), Failure> {
    let settings = layers(machine, wanted)?.into_iter().fold(Settings::default(), Settings::overlay);
    swaptune_core::plan::assume(facts, &settings);
    Ok(())
}

/// What the daemon is told: by the machine's files, or by the one that is named instead.
pub fn keep(machine: &Machine, named: Option<&std::path::Path>) -> Result<KeepSettings, Failure> {
    let layers = match named {
        Some(path) => vec![file(path)?],
        None => machine_files(machine)?,
    };
    Ok(layers.into_iter().fold(Settings::default(), Settings::overlay).keep)
}

/// What files and flags say, lowest first.
fn layers(machine: &Machine, wanted: &WantedArgs) -> Result<Vec<Settings>, Failure> {
    let files = if wanted.config.is_none() { machine_files(machine)? } else { Vec::new() };
    Ok([files, asked_for(wanted)?].concat())
}

/// What flags say, and the file that they name, lowest first.
pub fn asked_for(wanted: &WantedArgs) -> Result<Vec<Settings>, Failure> {
    let mut layers = Vec::new();
    if let Some(path) = &wanted.config {
        if wanted.config_read.get().is_none() {
            let _ = wanted.config_read.set(file(path)?);
        }
        layers.extend(wanted.config_read.get().cloned());
    }
    if let Some(name) = &wanted.profile {
        let profile = Setting::new(name.clone(), Provenance::Flag("--profile".into()));
        layers.push(Settings { profile: Some(profile), ..Settings::default() });
    }
    for flag in &wanted.set {
        layers.push(Settings::from_flag(flag)?);
    }
    Ok(layers)
}

/// What was measured on this machine, as far as the flags let it count, and a note on results that cannot be read.
pub fn evidence(machine: &Machine, wanted: &WantedArgs) -> Result<(Evidence, Option<Note>), Failure> {
    if wanted.no_measured {
        return Ok((Evidence::default(), None));
    }
    let store = Store::usual(machine);
    let results = match store.read() {
        Ok(results) => results,
        // Results make a plan better; without them it rests on what is assumed, as on the first day.
        Err(error) if !wanted.measured => return Ok((Evidence::default(), Some(unread(&store, &error.source.to_string())))),
        Err(error) => return Err(Failure::new(USAGE, error).hint("leave --measured out to rest on assumed figures")),
    };
    let spoilt = results.unread.first().map(|(line, why)| {
        let (first, more) = (format!("line {line}: {why}"), results.unread.len() - 1);
        unread(&store, &if more == 0 { first } else { format!("{first}, and {more} more") })
    });
    let hidden = results.hidden.map(|why| Note {
        about: "results".into(),
        text: format!("{why}; `sudo swaptune plan` rests on it"),
        evidence: "Permission denied".into(),
        pending: false,
    });
    let kernel = machine.read_text("/proc/sys/kernel/osrelease").unwrap_or_default();
    let evidence =
        Evidence::new(results.measurements, &machine_name(machine), kernel.trim()).of_disks(|name| identity(machine, name));
    if wanted.measured && evidence.is_empty() {
        let message = format!("{}: holds no result of this machine", store.path().display());
        return Err(
            Failure::new(USAGE, message).hint("measure first: `sudo swaptune sample --all`, then `sudo swaptune bench swap`")
        );
    }
    Ok((evidence, spoilt.or(hidden)))
}

fn unread(store: &Store, why: &str) -> Note {
    let path = store.path().display().to_string();
    let text =
        format!("{path} cannot be read ({why}): what was measured there does not count; `swaptune bench list` shows what does");
    Note { about: "results".into(), text, evidence: path, pending: false }
}

/// What the last apply resolved for every boot; `None` when there was none.
pub fn applied_for_boot(facts: &Facts) -> Result<Option<Settings>, Failure> {
    recorded(facts, APPLIED_FILE)
}

/// What was applied and when it counts: a later `apply --now` stands for as long as the system runs.
pub fn applied(facts: &Facts) -> Result<Option<(Settings, WhenArgs)>, Failure> {
    if let Some(settings) = recorded(facts, APPLIED_NOW_FILE)? {
        return Ok(Some((settings, WhenArgs { now: true, boot: false })));
    }
    Ok(applied_for_boot(facts)?.map(|settings| (settings, WhenArgs::default())))
}

fn recorded(facts: &Facts, path: &str) -> Result<Option<Settings>, Failure> {
    facts.file(path).map(|text| read_toml(path, text, None)).transpose().map_err(Failure::from)
}

fn file(path: &std::path::Path) -> Result<Settings, Failure> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::new(USAGE, format!("{name}: {error}")).hint("--config takes the path of a TOML file"))?;
    Ok(read_toml(&name, &text, None)?)
}

/// The administrator's file, then its drop-ins by name.
fn machine_files(machine: &Machine) -> Result<Vec<Settings>, Failure> {
    let mut paths = vec![CONFIG_FILE.to_owned()];
    paths.extend(machine.files_in(DROPIN_DIR, ".toml"));
    let mut layers = Vec::new();
    for path in paths.iter().filter(|path| machine.exists(path)) {
        let text = machine.read_text(path).map_err(|error| Failure::new(USAGE, error))?;
        layers.push(read_toml(path, &text, None)?);
    }
    Ok(layers)
}
