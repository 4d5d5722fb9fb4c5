//! What makes a configuration last: sysctl drop-in, boot service, kernel arguments, initramfs.

use std::collections::BTreeMap;

use super::draft::{Draft, Why};
use super::{When, image, initramfs, owned};
use crate::change::Change;
use crate::edit::{cmdline, grub, sysctl};
use crate::facts::{BootLoader, Facts, KernelArgStore, SysctlSource};
use crate::knobs::{self, Knob};
use crate::settings::{Provenance, WantedParameter, ZswapSettings, to_toml};

/// All of it.
pub(super) fn plan(draft: &mut Draft<'_>) {
    sysctls(draft);
    initramfs::plan(draft);
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
            other => other.lasting(),
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

/// What was resolved: for the next boot, or, when only the running system is changed, for as long as that runs.
pub(super) fn record(draft: &mut Draft<'_>) {
    let text = format!("{}{}", owned::header(), to_toml(draft.settings()));
    let why = Why::rule("the settings of this plan, for verify and the boot service", "swaptune(5)");
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
    if !draft.facts().system.has_systemd() {
        let needs = draft.settings().wants_zram()
            || draft.settings().knobs.keys().any(|name| !knobs::find(name).is_some_and(knobs::Knob::is_sysctl));
        if needs {
            let text = "no systemd here: run `swaptune service start` from your init to set what sysctl.d, fstab and the kernel command line cannot";
            draft.note("boot", text, draft.facts().system.init.source());
        }
    }
    let why = || {
        Why::rule(
            "switches the applied configuration on before swap comes up; systemctl stop switches it off",
            "systemd.special(7)",
        )
    };
    if !draft.facts().system.has_systemd() {
        return;
    }
    if !draft.request.installed {
        let text = format!("the boot service calls {}, which does not exist yet: sudo make install", draft.request.binary);
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
    let counts = |row: &&Knob| settings.wants_zswap() || row.name == "zswap.enabled";
    let mut words = Vec::new();
    for row in ZswapSettings::rows().filter(counts).filter(|row| zswap.parameter(row.parameter()).is_some()) {
        let word = settings.zswap.get(row.parameter()).and_then(|setting| word(draft, row, &setting.value));
        words.extend(word.map(|word| (row.name.to_owned(), word)));
    }
    words
}

/// The value of one word.
fn word(draft: &mut Draft<'_>, row: &Knob, wanted: &WantedParameter) -> Option<String> {
    let facts = draft.facts();
    Some(match (wanted, row.name) {
        (WantedParameter::Flag(on), _) => u8::from(*on).to_string(),
        (WantedParameter::Names(names), "zswap.compressor") => early_compressor(draft, facts.first_usable(names)?),
        (WantedParameter::Names(names), "zswap.zpool") => early_zpool(draft, names.first()?),
        _ => wanted.text(facts.memory.total())?,
    })
}

/// The compressor itself when it is there at boot, be it in the initramfs that this plan makes, else the best built-in one.
fn early_compressor(draft: &mut Draft<'_>, name: String) -> String {
    let facts = draft.facts();
    if initramfs::is_built_in(facts, &name) || facts.initramfs.can_load(&name) || initramfs::is_made_with(draft, &name) {
        return name;
    }
    let early = ["lz4", "lzo-rle", "lzo"].into_iter().find(|candidate| initramfs::is_built_in(facts, candidate)).unwrap_or("lzo");
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
fn zswap_words(arguments: &str) -> usize {
    cmdline::parse(arguments).iter().filter(|word| word.name.starts_with(ZSWAP)).count()
}

/// The loader's arguments: wanted words, and no older `zswap.*` word beside them.
fn kernel_arguments(draft: &mut Draft<'_>) {
    let facts = draft.facts();
    let asked = draft.settings().boot.kernel_arguments.as_ref().is_some_and(|on| on.value);
    let crate::Fact::Known { value: store, .. } = &facts.boot.arguments else {
        if asked {
            let text = format!("left alone: {}; they would be {}", facts.boot.arguments.source(), joined(&words(draft)));
            draft.note("kernel arguments", text, facts.boot.loader.source());
        }
        return;
    };
    // Where nothing is derived and nothing of zswap is asked for, there is no word to write, and those of the administrator are no older ones.
    let is_left_alone = draft.settings().derives_nothing() && draft.settings().zswap.is_empty();
    let stale = zswap_words(&store.configured) > 0;
    if is_left_alone || !asked && !stale {
        return;
    }
    let words = words(draft);
    if right(&store.configured, &words) {
        // What is configured counts only once it is in the file that the loader reads.
        if !store.in_generated.iter().all(|line| right(line, &words)) {
            regenerate(draft, store, NOT_IN_GENERATED);
        }
        return;
    }
    set_arguments(draft, store, &words, asked);
}

/// Takes every word of zswap out of the loader's arguments: an apply left none but its own.
pub(super) fn no_kernel_arguments(draft: &mut Draft<'_>) {
    let facts = draft.facts();
    let Some(store) = facts.boot.arguments.value().filter(|store| zswap_words(&store.configured) > 0) else { return };
    set_arguments(draft, store, &[], false);
}

/// Edits what the loader of this machine reads.
fn set_arguments(draft: &mut Draft<'_>, store: &KernelArgStore, words: &[(String, String)], asked: bool) {
    let loader = &draft.facts().boot.loader;
    match loader.value() {
        Some(BootLoader::Grub) => grub_arguments(draft, store, words, asked),
        Some(BootLoader::Bls | BootLoader::Uki | BootLoader::Raspberry) => one_line_arguments(draft, store, words),
        _ => {
            let then = store.regenerate.as_ref().map_or_else(String::new, |command| format!(", and run {}", command.join(" ")));
            let text = match words {
                [] => format!("take zswap's out of {} by hand{then}", store.path),
                _ => format!("add them to {} by hand{then}: {}", store.path, joined(words)),
            };
            draft.note("kernel arguments", text, loader.source());
        }
    }
}

fn joined(words: &[(String, String)]) -> String {
    words.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}

/// True when a command line has these words of zswap and no others.
fn right(line: &str, words: &[(String, String)]) -> bool {
    zswap_words(line) == words.len() && words.iter().all(|(name, value)| cmdline::get(line, name).as_ref() == Some(value))
}

const ARGUMENTS: &str = "zswap is configured from the first moment, and no older zswap word contradicts it";
const NO_ARGUMENTS: &str = "no word of zswap stays on the kernel command line";
const EDITED: &str = "the loader reads the generated file, not the edited one; it counts from the next boot";
const NOT_IN_GENERATED: &str = "the arguments are configured, but the file that the loader reads does not have them";
const SETS_ANEW: &str = "it is read after our drop-in and sets the variable anew, so the words go into its value";

fn why_words(words: &[(&str, &str)]) -> &'static str {
    if words.is_empty() { NO_ARGUMENTS } else { ARGUMENTS }
}

/// GRUB: older words leave the main file; the wanted ones go to a drop-in where GRUB reads one, and into the value of a later
/// drop-in that sets the variable anew.
fn grub_arguments(draft: &mut Draft<'_>, store: &KernelArgStore, words: &[(String, String)], asked: bool) {
    let words: Vec<(&str, &str)> = words.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    match grub_files(draft.facts(), store, &words) {
        Ok(files) => {
            let mut changed = false;
            for (path, text, why) in files {
                changed |= draft.file(&path, text, 0o644, Why::rule(why, "mm/zswap.c; grub-mkconfig reads grub.d by name"));
            }
            if changed {
                regenerate(draft, store, EDITED);
            }
        }
        Err(error) if asked => {
            let hint = "write the value as one quoted text, or set [boot] kernel_arguments = false";
            let why = grub::GrubError { path: String::new(), ..error.clone() };
            draft.refuse(error.path, why.to_string(), hint);
        }
        Err(error) => {
            let text = format!(
                "zswap's older words stay in {}, which only a shell could edit ({error}): they hold until the \
                 service has started",
                error.path
            );
            draft.note("kernel arguments", text, error.path.clone());
        }
    }
}

/// A file by its path, its text, none where it goes, and why.
type EditedFile = (String, Option<String>, &'static str);

/// Every file that grub-mkconfig sources, in its order, as it shall be, and why.
fn grub_files(facts: &Facts, store: &KernelArgStore, words: &[(&str, &str)]) -> Result<Vec<EditedFile>, grub::GrubError> {
    let read = |path: &str| path == store.path || store.reads_dropins && path.starts_with("/etc/default/grub.d/");
    let others = facts.files.iter().filter(|(path, _)| read(path) && path.as_str() != owned::GRUB_FILE);
    let mut files = Vec::new();
    for (path, text) in others.filter_map(|(path, text)| Some((path, text.value()?))) {
        let in_file = |error: grub::GrubError| grub::GrubError { path: path.clone(), ..error };
        let wins = store.reads_dropins && path.as_str() > owned::GRUB_FILE && grub::sets_anew(text).map_err(in_file)?;
        let holds = wins || *path == store.path && !store.reads_dropins;
        let edited = grub::set(text, if holds { words } else { &[] }, &[ZSWAP]).map_err(in_file)?;
        files.push((path.clone(), Some(edited), if wins && !words.is_empty() { SETS_ANEW } else { why_words(words) }));
    }
    if store.reads_dropins {
        let dropin = (!words.is_empty()).then(|| grub::dropin(words));
        files.push((owned::GRUB_FILE.to_owned(), dropin, why_words(words)));
    }
    Ok(files)
}

/// `/etc/kernel/cmdline` and `cmdline.txt` are one line; a loader entry has them behind `options`.
fn one_line_arguments(draft: &mut Draft<'_>, store: &KernelArgStore, words: &[(String, String)]) {
    let Some(text) = draft.facts().file(&store.path) else {
        return draft.note("kernel arguments", format!("{} is not readable", store.path), store.path.clone());
    };
    let words: Vec<(&str, &str)> = words.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let entry = store.path.ends_with(".conf");
    let edited = if entry { edit_entry(text, &words) } else { edit_whole(text, &words) };
    let read_as_it_is = entry || draft.facts().boot.loader.value() == Some(&BootLoader::Raspberry);
    if draft.file(&store.path, Some(edited), 0o644, Why::rule(why_words(&words), "mm/zswap.c")) && !read_as_it_is {
        regenerate(draft, store, EDITED);
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

/// Has the loader's files made anew, for this reason.
pub(super) fn regenerate(draft: &mut Draft<'_>, store: &KernelArgStore, reason: &str) {
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
        ..Why::rule(reason, store.path.clone())
    };
    draft.step(When::Boot, change, why);
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
