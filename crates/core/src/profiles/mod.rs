//! Profiles: named starting points for settings, kept as data files beside this one.
//!
//! `idle-guide` and `off` are plain configuration texts. `auto` derives its values from facts: [`auto::derive`] holds the
//! rules and `auto.toml` the figures that they assume.

pub mod auto;

use crate::facts::Facts;
use crate::forecast::Forecast;
use crate::measurement::Evidence;
use crate::settings::{NOTHING_DERIVED, Provenance, Setting, Settings, SettingsError, read_toml};
use swaptune_kernel::nearest;

/// The profile that is taken when none is named.
pub const DEFAULT: &str = "auto";

/// Every profile: name and what it is for.
pub const NAMES: &[(&str, &str)] = &[
    ("auto", "values derived from this machine, each with its reason (the default)"),
    ("idle-guide", "the values of a widely copied guide for many idle applications on 8 GB"),
    ("none", "only what the configuration says: nothing is derived, everything else stays as it is"),
    ("off", "knobs and kernel arguments that swaptune set go back to the kernel's defaults"),
];

/// The settings of a profile for this machine, of which the evidence is what was measured on it; `above` is what the user configured, which a derivation must respect.
///
/// # Errors
/// [`SettingsError`] for a name that is no profile.
pub fn load(
    name: &str,
    facts: &Facts,
    evidence: &Evidence,
    forecast: Option<&Forecast>,
    above: &Settings,
) -> Result<Settings, SettingsError> {
    let text = match name {
        "auto" => return Ok(named(auto::derive(facts, evidence, forecast, above), name)),
        "idle-guide" => include_str!("idle-guide.toml"),
        "off" => include_str!("off.toml"),
        NOTHING_DERIVED => return Ok(named(Settings::default(), name)),
        _ => return Err(unknown(name)),
    };
    let mut settings = read_toml(&format!("profiles/{name}.toml"), text, Some(name))?;
    if name == "idle-guide" {
        let areas = auto::existing_areas(facts);
        settings.swap = (!areas.is_empty()).then(|| Setting::new(areas, Provenance::Profile(name.to_owned())));
    }
    Ok(named(settings, name))
}

fn named(mut settings: Settings, name: &str) -> Settings {
    settings.profile = Some(Setting::new(name.to_owned(), Provenance::Profile(name.to_owned())));
    settings
}

fn unknown(name: &str) -> SettingsError {
    let names = NAMES.iter().map(|(name, _)| *name);
    let problem = match nearest(name, names.clone()) {
        Some(near) => format!("unknown profile; did you mean `{near}`?"),
        None => format!("unknown profile; expected one of {}", names.collect::<Vec<_>>().join(", ")),
    };
    SettingsError { place: format!("profile `{name}`"), problem }
}

/// Resolves the layers of configuration, lowest first, into settings: the profile that they name lies below all of them, and a forecast
/// may outweigh its rules.
///
/// # Errors
/// [`SettingsError`] for an unknown profile.
pub fn resolve(
    layers: Vec<Settings>,
    facts: &Facts,
    evidence: &Evidence,
    forecast: Option<&Forecast>,
) -> Result<Settings, SettingsError> {
    let above = layers.into_iter().fold(Settings::default(), Settings::overlay);
    let name = above.profile.as_ref().map_or(DEFAULT, |profile| profile.value.as_str()).to_owned();
    let below =
        load(&name, facts, evidence, forecast, &above).map_err(|error| match above.profile.as_ref().map(|p| &p.provenance) {
            Some(place @ Provenance::File { .. }) => SettingsError { place: format!("{place}: {}", error.place), ..error },
            _ => error,
        })?;
    Ok(below.overlay(above))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::PoolLimit;
    use crate::units::Bytes;

    #[test]
    fn the_guide_gives_what_the_guide_says() {
        let guide = load("idle-guide", &Facts::default(), &Evidence::default(), None, &Settings::default()).unwrap();
        let value = |name: &str| guide.knobs[name].value.as_str();
        assert_eq!(guide.zswap.pool().unwrap().value, PoolLimit::Size(Bytes::from_gib(3)));
        assert_eq!(guide.zswap.compressor().unwrap().value, ["lz4", "zstd", "lzo"]);
        assert_eq!(value("vm.swappiness"), "80");
        assert_eq!(value("vm.overcommit_memory"), "1");
        assert_eq!(value("transparent_hugepage.defrag"), "never");
        assert_eq!(guide.knobs.len(), 13);
        assert_eq!(guide.swap, None, "there is no area to set a priority of");
        assert!(guide.remarks.keys().all(|name| crate::knobs::find(name).is_some()));
    }

    #[test]
    fn a_pool_of_3072_mb_on_8_gb_is_38_percent() {
        let limit = PoolLimit::Size(Bytes::from_gib(3));
        assert_eq!(limit.percent(Bytes::from_gib(8)), Some(38));
    }

    #[test]
    fn an_unknown_profile_gets_its_nearest() {
        let error = load("idle-guid", &Facts::default(), &Evidence::default(), None, &Settings::default()).unwrap_err();
        assert_eq!(error.to_string(), "profile `idle-guid`: unknown profile; did you mean `idle-guide`?");
    }
}
