//! zswap as it was asked for against zswap as it is: compressor, allocator, words of the kernel command line.

use super::ask::{booted_with, command_lines, config, does, log, parameter, release, zswap_on, zswap_words};
use super::{Exhibit, Finding, FindingEvidence, Severity};
use crate::facts::{Availability, Facts, ZswapFacts};
use crate::knobs::{self, Knob, KnobKind};
use crate::parse::cmdline;
use swaptune_kernel::behaviours;
use swaptune_kernel::nearest;

pub(super) static ROWS: &[Finding] = &[
    Finding {
        code: "zswap-compressor-fallback",
        severity: Severity::Warning,
        title: "zswap runs another compressor than the one asked for",
        source: "mm/zswap.c: a compressor that is not there at late_initcall is replaced by CONFIG_ZSWAP_COMPRESSOR_DEFAULT",
        detect: compressor_fallback,
    },
    Finding {
        code: "zswap-compressor-late",
        severity: Severity::Info,
        title: "zswap got its compressor only after boot",
        source: "mm/zswap.c: pages stored before the switch stay in the old pool",
        detect: compressor_late,
    },
    Finding {
        code: "zswap-zpool-fallback",
        severity: Severity::Warning,
        title: "zswap runs another allocator than the one asked for",
        source: "mm/zswap.c: __zswap_pool_create_fallback (up to 6.17)",
        detect: zpool_fallback,
    },
    Finding {
        code: "zswap-no-pool",
        severity: Severity::Error,
        title: "zswap could not make a pool and is off",
        source: "mm/zswap.c: zswap_setup",
        detect: no_pool,
    },
    Finding {
        code: "zswap-compressor-unchecked",
        severity: Severity::Warning,
        title: "the name of zswap's compressor is not checked yet",
        source: "mm/zswap.c: names are taken as they come until the first enable (6.3 and later)",
        detect: compressor_unchecked,
    },
    Finding {
        code: "zswap-zpool-unchecked",
        severity: Severity::Warning,
        title: "the name of zswap's allocator is not checked yet",
        source: "mm/zswap.c: names are taken as they come until the first enable (6.3 to 6.17)",
        detect: zpool_unchecked,
    },
    Finding {
        code: "zswap-stale-word",
        severity: Severity::Warning,
        title: "the kernel command line has a zswap parameter that this kernel does not know",
        source: "init/main.c: unknown_bootoption drops names with a dot without a word",
        detect: stale_word,
    },
    Finding {
        code: "zswap-allocator-gone",
        severity: Severity::Warning,
        title: "the kernel command line names an allocator that is gone",
        source: "mm/: zbud and z3fold were removed in 6.15",
        detect: allocator_gone,
    },
    Finding {
        code: "zswap-word-contradicted",
        severity: Severity::Warning,
        title: "zswap is not set as the kernel command line asks",
        source: "Documentation/admin-guide/mm/zswap.rst",
        detect: word_contradicted,
    },
    Finding {
        code: "zswap-asked-but-absent",
        severity: Severity::Warning,
        title: "the kernel command line configures zswap, and this kernel has none",
        source: "mm/Kconfig: ZSWAP is built in or absent, never a module",
        detect: asked_but_absent,
    },
    Finding {
        code: "zswap-cloud-kernel",
        severity: Severity::Info,
        title: "a cloud kernel without zswap",
        source: "Debian linux-config: CONFIG_ZSWAP is not set in the cloud flavour up to 6.18",
        detect: cloud_kernel,
    },
];

/// What was asked for, what came instead, and the line that says so.
struct Fallback {
    asked: String,
    got: String,
    line: Exhibit,
}

fn log_line(line: &str) -> Exhibit {
    Exhibit { source: "kernel log".into(), text: line.to_owned() }
}

/// The last complaint `zswap: KIND X not available, using default Y`.
fn complaint(zswap: &ZswapFacts, kind: &str) -> Option<Fallback> {
    zswap.complaints.iter().rev().find_map(|line| {
        let (_, rest) = line.split_once(&format!("{kind} "))?;
        let (asked, got) = rest.split_once(" not available, using default ")?;
        Some(Fallback { asked: asked.trim().to_owned(), got: got.trim().to_owned(), line: log_line(line) })
    })
}

/// The complaint about the compressor, or the same conclusion from the command line when the log does not reach back.
fn compressor_complaint(facts: &Facts, zswap: &ZswapFacts) -> Option<Fallback> {
    complaint(zswap, "compressor").or_else(|| {
        let asked = booted_with(facts, "zswap.compressor").filter(|asked| !asked.is_empty())?;
        let got = config(facts, "CONFIG_ZSWAP_COMPRESSOR_DEFAULT").unwrap_or("lzo").to_owned();
        let line = Exhibit { source: facts.kernel.cmdline.source().to_owned(), text: format!("zswap.compressor={asked}") };
        Some(Fallback { asked, got, line })
    })
}

fn usable(facts: &Facts, compressor: &str) -> bool {
    facts.compressors.iter().any(|c| c.name == compressor && c.availability.usable())
}

fn compressor_fallback(facts: &Facts) -> Option<FindingEvidence> {
    let zswap = zswap_on(facts)?;
    let live = zswap.parameter("compressor")?;
    let fallback = compressor_complaint(facts, zswap).filter(|f| f.got == live && f.asked != live)?;
    let Fallback { asked, line, .. } = fallback;
    let there = facts.compressors.iter().find(|c| c.name == asked);
    let (why, cure) = match there.map(|compressor| compressor.availability) {
        Some(Availability::BuiltIn) => ("it is built in, so something chose otherwise since", "swaptune apply --now"),
        Some(Availability::Loaded | Availability::Module) => {
            ("its module was not loadable that early, and is now: the service writes it after each boot", "swaptune apply")
        }
        Some(Availability::Absent) => ("this kernel does not have it", "swaptune plan --explain"),
        None => ("whether this kernel has it is not known", "swaptune plan --explain"),
    };
    let what = format!("zswap compresses with {live} although {asked} was asked for: {why}");
    let module = there.map(|compressor| Exhibit { source: compressor.source.clone(), text: asked.clone() });
    Some(FindingEvidence::new(what, cure).seen_all([line, parameter("compressor", live)]).seen_all(module))
}

fn compressor_late(facts: &Facts) -> Option<FindingEvidence> {
    let zswap = zswap_on(facts)?;
    let live = zswap.parameter("compressor")?;
    let Fallback { got, line, .. } = complaint(zswap, "compressor").filter(|f| f.asked == live)?;
    let what = format!(
        "zswap compresses with {live} now, but the kernel booted with {got}: pages stored before the switch are still in the {got} pool"
    );
    Some(FindingEvidence::new(what, "swaptune apply --boot").seen_all([line, parameter("compressor", live)]))
}

fn zpool_fallback(facts: &Facts) -> Option<FindingEvidence> {
    let zswap = zswap_on(facts)?;
    let live = zswap.parameter("zpool")?;
    let Fallback { asked, line, .. } = complaint(zswap, "zpool").filter(|f| f.got == live && f.asked != live)?;
    let what = format!("zswap stores in {live} although {asked} was asked for: its module was not loadable that early");
    Some(FindingEvidence::new(what, "swaptune apply").seen_all([line, parameter("zpool", live)]))
}

fn no_pool(facts: &Facts) -> Option<FindingEvidence> {
    let zswap = facts.zswap.value().filter(|zswap| !zswap.enabled)?;
    let fatal = |line: &str| {
        let texts = ["pool creation failed", "zswap: default compressor", "zswap: default zpool", "zswap: can't enable"];
        texts.iter().any(|text| line.contains(text))
    };
    let from_log = log(facts, |line| line.starts_with("zswap: ") && fatal(line));
    let from_zswap = zswap.complaints.iter().filter(|line| fatal(line));
    let mut exhibits: Vec<Exhibit> = from_zswap.map(|line| log_line(line)).collect();
    if exhibits.is_empty() {
        exhibits = from_log;
    }
    let first = exhibits.first()?.text.clone();
    let what = format!("zswap is off because it could not make a pool: \"{first}\"");
    Some(FindingEvidence::new(what, "swaptune plan --explain").seen_all(exhibits))
}

fn compressor_unchecked(facts: &Facts) -> Option<FindingEvidence> {
    let zswap = facts.zswap.value().filter(|zswap| !zswap.enabled && !zswap.loaded.is_known())?;
    let name = zswap.parameter("compressor")?;
    if !does(facts, &behaviours::COMPRESSOR_CHECKED_LATE) || facts.compressors.is_empty() || usable(facts, name) {
        return None;
    }
    let known: Vec<&str> = facts.compressors.iter().filter(|c| c.availability.usable()).map(|c| c.name.as_str()).collect();
    let what = format!(
        "zswap was never enabled, so its compressor `{name}` was taken unchecked; this kernel has {}, and the first enable would silently replace it",
        known.join(", ")
    );
    Some(FindingEvidence::new(what, "swaptune apply").seen_all([parameter("compressor", name), parameter("enabled", "N")]))
}

fn zpool_unchecked(facts: &Facts) -> Option<FindingEvidence> {
    let zswap = facts.zswap.value().filter(|zswap| !zswap.enabled && !zswap.loaded.is_known())?;
    let name = zswap.parameter("zpool")?;
    let known: &[&str] = if does(facts, &behaviours::ONLY_ZSMALLOC) { &["zsmalloc"] } else { &["zbud", "z3fold", "zsmalloc"] };
    if !does(facts, &behaviours::COMPRESSOR_CHECKED_LATE) || known.contains(&name) {
        return None;
    }
    let what = format!(
        "zswap was never enabled, so its allocator `{name}` was taken unchecked; {} knows {}, and the first enable would silently replace it",
        release(facts),
        known.join(", ")
    );
    Some(FindingEvidence::new(what, "swaptune apply").seen_all([parameter("zpool", name), parameter("enabled", "N")]))
}

/// Why this kernel does not know a word of zswap.
fn why_unknown(facts: &Facts, name: &str) -> String {
    let row = knobs::find(&format!("zswap.{name}"));
    let version = facts.kernel.version.value().copied();
    if let Some(why) = row.zip(version).and_then(|(row, version)| row.why_absent(version)) {
        return why;
    }
    if name.contains("writethrough") || name.contains("write_through") {
        return "no kernel ever had it: zswap is write-back only".to_owned();
    }
    let names = knobs::all().filter_map(|knob| knob.name.strip_prefix("zswap."));
    match nearest(name, names).filter(|_| row.is_none()) {
        Some(near) => format!("unknown parameter; did you mean zswap.{near}?"),
        None => "this kernel does not have it".to_owned(),
    }
}

fn stale_word(facts: &Facts) -> Option<FindingEvidence> {
    let zswap = facts.zswap.value()?;
    let unknown = zswap_words(facts).into_iter().filter(|(_, word)| zswap.parameter(&word.name).is_none());
    let stale: Vec<(String, crate::parse::cmdline::Argument)> = unknown.collect();
    let (_, first) = stale.first()?;
    let why = why_unknown(facts, &first.name);
    let what = format!("`{}` is ignored without a message by {}: {why}", first.raw, release(facts));
    let exhibits = stale.iter().map(|(source, word)| Exhibit { source: source.clone(), text: word.raw.clone() });
    Some(FindingEvidence::new(what, "swaptune apply --boot").seen_all(exhibits))
}

fn allocator_gone(facts: &Facts) -> Option<FindingEvidence> {
    if !does(facts, &behaviours::ONLY_ZSMALLOC) || does(facts, &behaviours::NO_ZPOOL) {
        return None;
    }
    let gone = |value: &str| value == "zbud" || value == "z3fold";
    let words =
        zswap_words(facts).into_iter().filter(|(_, word)| word.name == "zpool" && word.value.as_deref().is_some_and(gone));
    let exhibits: Vec<Exhibit> = words.map(|(source, word)| Exhibit { source, text: word.raw }).collect();
    let what = format!("`{}` names an allocator that is gone since 6.15; zsmalloc is the only one left", exhibits.first()?.text);
    Some(FindingEvidence::new(what, "swaptune apply --boot").seen_all(exhibits))
}

/// Whether a live value is what a word asked for. Without a value the word is yes to a plain switch; `enabled` has a setter of its own,
/// to which the kernel hands no word without one.
fn is_as_asked(row: &Knob, asked: &str, live: &str) -> bool {
    let is_refused = asked.is_empty() && row.name == "zswap.enabled";
    match cmdline::boolean(asked).filter(|_| row.kind == KnobKind::Bool && !is_refused) {
        Some(yes) => row.same(if yes { "Y" } else { "N" }, live),
        None => row.same(asked, live),
    }
}

fn word_contradicted(facts: &Facts) -> Option<FindingEvidence> {
    let zswap = facts.zswap.value()?;
    let mut exhibits = Vec::new();
    let mut first = None;
    for (name, live) in &zswap.parameters {
        // Compressor and allocator have findings of their own, and are upgraded after boot on purpose.
        let Some(row) = knobs::find(&format!("zswap.{name}")).filter(|_| name != "compressor" && name != "zpool") else {
            continue;
        };
        let Some(asked) = booted_with(facts, row.name).filter(|asked| !is_as_asked(row, asked, live)) else { continue };
        first.get_or_insert_with(|| {
            format!("the kernel was booted with {}={asked}, and the live value is {}", row.name, live.trim())
        });
        exhibits.push(Exhibit { source: facts.kernel.cmdline.source().to_owned(), text: format!("{}={asked}", row.name) });
        exhibits.push(parameter(name, live));
    }
    Some(FindingEvidence::new(first?, "swaptune apply").seen_all(exhibits))
}

fn asked_but_absent(facts: &Facts) -> Option<FindingEvidence> {
    if facts.zswap.is_known() || facts.system.container.is_known() {
        return None;
    }
    let words: Vec<Exhibit> = zswap_words(facts).into_iter().map(|(source, word)| Exhibit { source, text: word.raw }).collect();
    let first = words.first()?.text.clone();
    let what = format!("`{first}` has no effect: {} has no zswap ({})", release(facts), facts.zswap.source());
    Some(FindingEvidence::new(what, "swaptune plan --explain").seen_all(words))
}

fn cloud_kernel(facts: &Facts) -> Option<FindingEvidence> {
    if facts.zswap.is_known()
        || !release(facts).contains("cloud")
        || command_lines(facts).iter().any(|(_, text)| text.contains("zswap."))
    {
        return None;
    }
    let what = format!(
        "{} is a cloud kernel without zswap; zram, plain swap or the ordinary kernel package are what is left",
        release(facts)
    );
    Some(
        FindingEvidence::new(what, "swaptune plan --explain")
            .seen(facts.kernel.release.source(), release(facts))
            .seen("zswap", facts.zswap.source()),
    )
}
