//! What makes a configuration last: sysctl drop-in, boot service, kernel arguments, initramfs.

use std::collections::BTreeMap;

use super::When;
use super::draft::{Draft, Why, first_usable};
use super::image;
use super::owned;
use crate::change::Change;
use crate::edit::{cmdline, grub, sysctl};
use crate::facts::{Availability, BootLoader, Facts, InitSystem, KernelArgStore, SysctlSource};
use crate::knobs;
use crate::settings::{Provenance, to_toml};

/// All of it.
pub(super) fn plan(draft: &mut Draft<'_>) {
    sysctls(draft);
    initramfs(draft);
    kernel_arguments(draft);
    service(draft);
}

/// Sysctls in one owned drop-in; a file that would win over it gets its line commented out.
fn sysctls(draft: &mut Draft<'_>) {
    let settings = draft.settings();
    let mut entries = Vec::new();
    let mut silenced = Silenced::new();
    for (name, setting) in &settings.knobs {
        let Some(row) = knobs::find(name).filter(|row| row.is_sysctl()) else { continue };
        if !draft.facts().has_knob(row) {
            continue;
        }
        let why = match &setting.provenance {
            Provenance::Derived { reason, .. } => reason.clone(),
            // Figures change with each run; a file must change only with its values.
            Provenance::Measured { .. } => "measured on this machine; `swaptune plan --explain` says how".to_owned(),
            Provenance::Simulated { .. } => {
                "simulated for this machine; `swaptune plan --simulate --explain` says how".to_owned()
            }
            other => other.to_string(),
        };
        entries.push((row.name, setting.value.as_str(), why));
        silence(draft, name, &setting.value, &mut silenced);
    }
    for (path, (text, lines)) in silenced {
        let reason = format!("{} would be read after our drop-in and win", lines.join(", "));
        draft.file(&path, Some(text), 0o644, Why::rule(reason, "sysctl.d(5): the last file wins"));
    }
    if entries.is_empty() {
        return;
    }
    let rows: Vec<(&str, &str, &str)> = entries.iter().map(|(name, value, why)| (*name, *value, why.as_str())).collect();
    let text = sysctl::dropin(owned::header().trim_start_matches(['#', ' ']).trim_end(), &rows);
    let why = Why::rule("the sysctls above at each boot", "sysctl.d(5)");
    draft.file(owned::SYSCTL_FILE, Some(text), 0o644, why);
}

/// Files that are read after ours and set the same key otherwise: path → the text that they shall have, and why.
type Silenced = BTreeMap<String, (String, Vec<String>)>;

/// Takes one key out of every file that is read after ours.
fn silence(draft: &mut Draft<'_>, name: &str, value: &str, silenced: &mut Silenced) {
    let facts = draft.facts();
    let sources = facts.sysctl_sources.get(name).map_or(&[][..], Vec::as_slice);
    let base = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let ours = base(owned::SYSCTL_FILE);
    let later = |source: &&SysctlSource| base(&source.path) > ours && source.value.trim() != value;
    for source in sources.iter().filter(later) {
        let Some(text) = facts.file(&source.path).filter(|_| source.path.starts_with("/etc/")) else {
            let text = format!("{}:{} sets {} after our file and wins", source.path, source.line, source.value);
            draft.note(name, text, source.path.clone());
            continue;
        };
        let (text, lines) = silenced.entry(source.path.clone()).or_insert_with(|| (text.to_owned(), Vec::new()));
        *text = sysctl::comment_out(text, name, "swaptune sets it");
        lines.push(format!("line {} ({name} = {})", source.line, source.value));
    }
}

fn init_is_systemd(facts: &Facts) -> bool {
    facts.system.init.value() == Some(&InitSystem::Systemd)
}

/// What was resolved: for the next boot, or, when only the running system is changed, for as long as that runs.
pub(super) fn record(draft: &mut Draft<'_>) {
    let text = format!("{}{}", owned::header(), to_toml(draft.settings()));
    let why = Why::rule("what this plan resolved, for verify and for the boot service", "swaptune(5)");
    if draft.request.boot {
        draft.file(owned::APPLIED_FILE, Some(text), 0o644, why);
        let stale = Why::rule("an earlier apply --now is replaced by this one", "swaptune(5)");
        draft.file_when(When::Now, owned::APPLIED_NOW_FILE, None, 0o644, stale);
    } else {
        draft.file_when(When::Now, owned::APPLIED_NOW_FILE, Some(text), 0o644, why);
    }
}

/// The service that switches them on.
fn service(draft: &mut Draft<'_>) {
    if !init_is_systemd(draft.facts()) {
        let needs = draft.settings().wants_zram()
            || draft.settings().knobs.keys().any(|name| !knobs::find(name).is_some_and(knobs::Knob::is_sysctl));
        if needs {
            let text = "no systemd here: run `swaptune service start` from your init to set what sysctl.d, fstab and the kernel command line cannot";
            draft.note("boot", text, draft.facts().system.init.source());
        }
    }
    let why = || {
        Why::rule("switches the applied configuration on before swap comes up, and off by systemctl stop", "systemd.special(7)")
    };
    if !init_is_systemd(draft.facts()) {
        return;
    }
    if !draft.request.installed {
        let text = format!("the boot service calls {}, which is not there yet: sudo make install", draft.request.binary);
        draft.note("swaptune.service", text, owned::UNIT_FILE);
    }
    draft.file(owned::UNIT_FILE, Some(owned::unit(draft.request.binary)), 0o644, why());
    let before = draft.facts().file(owned::UNIT_LINK).map(|_| owned::UNIT_FILE.to_owned());
    if before.is_none() {
        let change = Change::Link { path: owned::UNIT_LINK.into(), before, after: Some(owned::UNIT_FILE.into()) };
        draft.step(When::Boot, change, why());
    }
}

/// zswap's words for the kernel command line: only parameters that this kernel has, and a compressor that it can load
/// before the root file system is there. The service writes the wanted one once modules are loaded.
fn words(draft: &mut Draft<'_>) -> Vec<(String, String)> {
    let (facts, settings) = (draft.facts(), draft.settings());
    let Some(zswap) = facts.zswap.value() else { return Vec::new() };
    let flag = |on: bool| if on { "1" } else { "0" }.to_owned();
    let wanted = &settings.zswap;
    let mut words = Vec::new();
    if let Some(on) = &wanted.enabled {
        words.push(("enabled", flag(on.value)));
    }
    if settings.wants_zswap() {
        if let Some(name) = wanted.compressor.as_ref().and_then(|list| first_usable(facts, &list.value)) {
            words.push(("compressor", early_compressor(draft, name)));
        }
        if let Some(name) = wanted.zpool.as_ref().and_then(|list| list.value.first()) {
            words.push(("zpool", early_zpool(draft, name)));
        }
        if let Some(percent) = wanted.pool.as_ref().and_then(|limit| limit.value.percent(facts.memory.total())) {
            words.push(("max_pool_percent", percent.to_string()));
        }
        if let Some(percent) = &wanted.accept_threshold_percent {
            words.push(("accept_threshold_percent", percent.value.to_string()));
        }
        if let Some(on) = &wanted.shrinker_enabled {
            words.push(("shrinker_enabled", flag(on.value)));
        }
    }
    words.retain(|(field, _)| zswap.parameter(field).is_some());
    words.into_iter().map(|(field, value)| (format!("zswap.{field}"), value)).collect()
}

/// The compressor itself when it is there at boot, else the best built-in one.
fn early_compressor(draft: &mut Draft<'_>, name: String) -> String {
    let facts = draft.facts();
    let state = facts.compressors.iter().find(|c| c.name == name).map(|c| c.availability);
    if state == Some(Availability::BuiltIn) || facts.initramfs.can_load(&name) {
        return name;
    }
    let built_in =
        |candidate: &&&str| facts.compressors.iter().any(|c| c.name == ***candidate && c.availability == Availability::BuiltIn);
    let early = ["lz4", "lzo-rle", "lzo"].iter().find(built_in).copied().unwrap_or("lzo");
    let why = facts.initramfs.why_not_loadable(&name).unwrap_or_else(|| facts.initramfs.contents.source().to_owned());
    let text = format!(
        "{name} is not loadable when the kernel reads its command line ({}): it boots with {early}, and the service writes {name} once modules are loaded",
        why
    );
    draft.note(
        "zswap.compressor",
        text,
        "mm/zswap.c: zswap_setup at late_initcall; on Debian 13 kmod also needs liblzma in the initramfs",
    );
    early.into()
}

fn early_zpool(draft: &mut Draft<'_>, name: &str) -> String {
    let facts = draft.facts();
    let built_in = facts
        .kernel
        .config
        .value()
        .and_then(|config| config.get(&format!("CONFIG_{}", name.to_uppercase())))
        .is_some_and(|v| v == "y");
    if built_in || facts.initramfs.can_load(name) || !facts.kernel.config.is_known() {
        return name.into();
    }
    let text = format!(
        "{name} is a module outside the initramfs: the kernel boots with zbud, and the service writes {name} once modules are loaded"
    );
    draft.note("zswap.zpool", text, facts.initramfs.contents.source().to_owned());
    "zbud".into()
}

/// Prefix of zswap's words.
const ZSWAP: &str = "zswap.";

/// How many words of a command line are zswap's.
pub(super) fn zswap_words(arguments: &str) -> usize {
    cmdline::parse(arguments).iter().filter(|word| word.name.starts_with(ZSWAP)).count()
}

/// The loader's arguments: wanted words, and no older `zswap.*` word beside them.
fn kernel_arguments(draft: &mut Draft<'_>) {
    let facts = draft.facts();
    let asked = draft.settings().boot.kernel_arguments.as_ref().is_some_and(|on| on.value);
    let crate::Fact::Known { value: store, .. } = &facts.boot.arguments else {
        if asked {
            draft.note("kernel arguments", format!("left alone: {}", facts.boot.arguments.source()), facts.boot.loader.source());
        }
        return;
    };
    let present = zswap_words(&store.configured);
    let stale = present > 0;
    if !asked && !stale {
        return;
    }
    let words = words(draft);
    let right =
        present == words.len() && words.iter().all(|(name, value)| cmdline::get(&store.configured, name).as_ref() == Some(value));
    if right {
        return;
    }
    match facts.boot.loader.value() {
        Some(BootLoader::Grub) => grub_arguments(draft, store, &words),
        Some(BootLoader::Bls | BootLoader::Uki | BootLoader::Raspberry) => one_line_arguments(draft, store, &words),
        _ => {
            let list: Vec<String> = words.iter().map(|(name, value)| format!("{name}={value}")).collect();
            draft.note(
                "kernel arguments",
                format!("add them to your loader by hand: {}", list.join(" ")),
                facts.boot.loader.source(),
            );
        }
    }
}

const ARGUMENTS: &str = "zswap is configured from the first moment, and no older zswap word contradicts it";

/// GRUB: older words leave the main file; the wanted ones go to a drop-in where GRUB reads one.
fn grub_arguments(draft: &mut Draft<'_>, store: &KernelArgStore, words: &[(String, String)]) {
    let facts = draft.facts();
    let mut changed = false;
    let here: Vec<(&str, &str)> = words.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    for (path, text) in facts.files.iter().filter(|(path, _)| grub_file(path, &store.path) && path.as_str() != owned::GRUB_FILE) {
        let Some(text) = text.value() else { continue };
        let main = *path == store.path;
        let wanted: &[(&str, &str)] = if main && !store.reads_dropins { &here } else { &[] };
        match grub::set(text, wanted, &[ZSWAP]) {
            Ok(edited) if edited != *text => changed |= draft.file(path, Some(edited), 0o644, Why::rule(ARGUMENTS, "mm/zswap.c")),
            Ok(_) => {}
            Err(error) => {
                return draft.refuse(
                    path.clone(),
                    error.to_string(),
                    "write the value as one quoted text, or set [boot] kernel_arguments = false",
                );
            }
        }
    }
    if store.reads_dropins {
        changed |= draft.file(owned::GRUB_FILE, Some(grub::dropin(&here)), 0o644, Why::rule(ARGUMENTS, "mm/zswap.c"));
    }
    if changed {
        regenerate(draft, store);
    }
}

fn grub_file(path: &str, main: &str) -> bool {
    path == main || path.starts_with("/etc/default/grub.d/")
}

/// `/etc/kernel/cmdline` and `cmdline.txt` are one line; a loader entry has them behind `options`.
fn one_line_arguments(draft: &mut Draft<'_>, store: &KernelArgStore, words: &[(String, String)]) {
    let Some(text) = draft.facts().file(&store.path) else {
        return draft.note("kernel arguments", format!("{} is not readable", store.path), store.path.clone());
    };
    let words: Vec<(&str, &str)> = words.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let entry = store.path.ends_with(".conf");
    let edited = if entry { edit_entry(text, &words) } else { edit_whole(text, &words) };
    if draft.file(&store.path, Some(edited), 0o644, Why::rule(ARGUMENTS, "mm/zswap.c")) && !entry {
        regenerate(draft, store);
    }
}

/// A text that is all arguments, with its final newline as it was.
fn edit_whole(text: &str, words: &[(&str, &str)]) -> String {
    let body = text.trim_end_matches(['\n', '\r']);
    cmdline::set(body, words, &[ZSWAP]) + &text[body.len()..]
}

/// A loader entry: every line but `options` stays.
fn edit_entry(text: &str, words: &[(&str, &str)]) -> String {
    let edit = |line: &str| match line.strip_prefix("options").filter(|rest| rest.starts_with([' ', '\t'])) {
        Some(rest) => {
            let start = line.len() - rest.trim_start().len();
            format!("{}{}", &line[..start], edit_whole(&line[start..], words))
        }
        None => line.to_owned(),
    };
    text.split_inclusive('\n').map(edit).collect()
}

pub(super) fn regenerate(draft: &mut Draft<'_>, store: &KernelArgStore) {
    let Some(command) = &store.regenerate else {
        return draft.note(
            "kernel arguments",
            "no command was found that rebuilds the loader's files: run yours",
            store.path.clone(),
        );
    };
    let outputs = store.generated.clone();
    if let Some(why) = image::why_not_loader(draft, &outputs) {
        return image::leave(draft, "boot loader configuration", command, why);
    }
    let change = Change::Generated {
        what: "boot loader configuration".into(),
        command: command.clone(),
        outputs,
        before: false,
        after: true,
    };
    let why = Why {
        risk: "a loader file that does not boot; the old one is kept and rollback restores it byte for byte",
        ..Why::rule("the loader reads the generated file, not the edited one; it counts from the next boot", store.path.clone())
    };
    draft.step(When::Boot, change, why);
}

/// The compressor's modules in the initramfs, when that is asked for.
fn initramfs(draft: &mut Draft<'_>) {
    let (facts, settings) = (draft.facts(), draft.settings());
    if !settings.boot.initramfs.as_ref().is_some_and(|on| on.value) || !settings.wants_zswap() {
        return;
    }
    let Some(tool) = facts.initramfs.tool.value().copied() else {
        return draft.note("initramfs", format!("left alone: {}", facts.initramfs.tool.source()), facts.initramfs.tool.source());
    };
    let Some(name) = settings.zswap.compressor.as_ref().and_then(|list| first_usable(facts, &list.value)) else { return };
    if facts.compressors.iter().any(|c| c.name == name && c.availability == Availability::BuiltIn) {
        return draft.note("initramfs", format!("{name} is built in: nothing to add"), "modules.builtin");
    }
    let also = format!("{name}_compress");
    let (path, text, mode) = owned::initramfs_file(tool, &[&name, &also]);
    let why = || {
        Why::rule(
            format!("{name} is loadable before the root file system is there"),
            "initramfs-tools(7), dracut.conf(5), mkinitcpio.conf(5)",
        )
    };
    if !draft.file(path, Some(text), mode, why()) {
        return;
    }
    let release = facts.kernel.release.value().cloned().unwrap_or_default();
    let outputs = facts.initramfs.image.value().cloned().into_iter().collect();
    let command = owned::initramfs_command(tool, &release);
    if let Some(why) = image::why_not_initramfs(draft, tool) {
        return image::leave(draft, "initramfs", &command, why);
    }
    draft.step(When::Boot, Change::Generated { what: "initramfs".into(), command, outputs, before: false, after: true }, why());
}

#[cfg(test)]
mod tests {
    use super::{edit_entry, edit_whole};

    #[test]
    fn only_the_options_of_a_loader_entry_are_edited() {
        let entry = "title Debian\noptions root=UUID=1 ro zswap.zpool=zbud\ninitrd /initrd\noptionsfile x";
        let edited = "title Debian\noptions root=UUID=1 ro zswap.enabled=1\ninitrd /initrd\noptionsfile x";
        assert_eq!(edit_entry(entry, &[("zswap.enabled", "1")]), edited);
    }

    #[test]
    fn a_command_line_file_keeps_its_end() {
        assert_eq!(edit_whole("root=UUID=1 ro\n\n", &[("zswap.enabled", "1")]), "root=UUID=1 ro zswap.enabled=1\n\n");
        assert_eq!(edit_whole("root=UUID=1", &[]), "root=UUID=1");
    }
}
