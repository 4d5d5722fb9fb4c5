//! zswap: parameters, counters, and what the kernel log says was really loaded.

use std::collections::BTreeMap;

use swaptune_core::Fact;
use swaptune_core::facts::{DAEMON_STATUS, KernelFacts, ZswapFacts, moved};
use swaptune_core::knobs::{self, Knob};
use swaptune_core::parse::klog;

use crate::machine::Machine;

const PARAMETERS: &str = "/sys/module/zswap/parameters";

pub(super) fn inspect(machine: &Machine, kernel: &KernelFacts) -> Fact<ZswapFacts> {
    let names = match machine.list(PARAMETERS) {
        Ok(names) => names,
        Err(error) if error.missing => {
            let at_boot = super::image::is_image(machine).then(|| at_boot(kernel)).flatten();
            return at_boot.unwrap_or_else(|| Fact::absent(why_missing(machine, kernel)));
        }
        Err(error) => return error.absent(),
    };
    let read = |name: String| Some((name.clone(), machine.read_text(&format!("{PARAMETERS}/{name}")).ok()?.trim().to_owned()));
    let parameters: BTreeMap<String, String> = names.into_iter().filter_map(read).collect();
    let log = kernel.log.value();
    let facts = ZswapFacts {
        enabled: parameters.get("enabled").is_some_and(|value| value == "Y"),
        counters: counters(machine),
        loaded: match log {
            Some(lines) => match klog::zswap_loaded(lines) {
                Some(pool) => Fact::known(pool.to_owned(), kernel.log.source()),
                None => Fact::absent(format!("{}: no line \"zswap: loaded using pool\"", kernel.log.source())),
            },
            None => Fact::absent(kernel.log.source()),
        },
        complaints: log.map(|lines| klog::zswap_complaints(lines)).unwrap_or_default(),
        moved: machine.read_text(DAEMON_STATUS).map(|status| moved(&status)).unwrap_or_default(),
        parameters,
    };
    Fact::known(facts, PARAMETERS)
}

/// What zswap will be when an image boots, before anything is set: the parameters that its kernel has, with the defaults of its build.
fn at_boot(kernel: &KernelFacts) -> Option<Fact<ZswapFacts>> {
    let config = kernel.config.value().filter(|config| config.get("CONFIG_ZSWAP").is_some_and(|built| built == "y"))?;
    let has = |knob: &&Knob| kernel.version.value().is_none_or(|version| knob.why_absent(*version).is_none());
    let named = |knob: &Knob| {
        Some((
            knob.name.strip_prefix("zswap.")?.to_owned(),
            knob.default_of(Some(config)).unwrap_or_else(|| knob.default.to_owned()),
        ))
    };
    let parameters: BTreeMap<String, String> = knobs::all().filter(has).filter_map(named).collect();
    let none = || "an image runs no kernel";
    let facts = ZswapFacts {
        enabled: parameters.get("enabled").is_some_and(|value| value == "Y"),
        counters: Fact::absent(none()),
        loaded: Fact::absent(none()),
        complaints: Vec::new(),
        moved: Vec::new(),
        parameters,
    };
    Some(Fact::known(facts, format!("{}: CONFIG_ZSWAP=y", kernel.config.source())))
}

fn why_missing(machine: &Machine, kernel: &KernelFacts) -> String {
    let option = kernel.config.value().map(|config| config.get("CONFIG_ZSWAP").map_or("n", String::as_str));
    match option {
        Some("n") => format!("{}: CONFIG_ZSWAP is not set: this kernel has no zswap", kernel.config.source()),
        // zswap cannot be a module: without its folder it is not there, whatever a configuration file says.
        _ if machine.exists("/sys/module") => format!("{PARAMETERS}: no such file: this kernel has no zswap"),
        _ => format!("{PARAMETERS}: no such file"),
    }
}

/// `/sys/kernel/debug/zswap/*`; from 6.3 on the folder appears when zswap is first enabled.
fn counters(machine: &Machine) -> Fact<BTreeMap<String, u64>> {
    match machine.debugfs("zswap") {
        Ok(files) => {
            let number = |(name, text): (String, String)| Some((name, text.trim().parse().ok()?));
            Fact::known(files.into_iter().filter_map(number).collect(), "/sys/kernel/debug/zswap")
        }
        Err(error) if error.missing => {
            Fact::absent(format!("{error}: zswap was not enabled since boot, or debugfs is not mounted"))
        }
        Err(error) => error.absent(),
    }
}
