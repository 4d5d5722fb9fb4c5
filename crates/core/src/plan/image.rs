//! What a plan for an image can do and what it leaves to the machine that will run it.

use super::draft::Draft;
use crate::facts::{ImageFacts, InitramfsTool};
use crate::settings::Settings;
use crate::units::Bytes;

/// Where the size of a machine that does not run is written.
const HOW: &str = "write `[machine]` with `ram = \"4G\"` and `cpus = 2` into its /etc/swaptune/config.toml";

/// What is not known of an image's machine, and what is taken for it.
pub(super) fn note(draft: &mut Draft<'_>) {
    let facts = draft.facts();
    let Some(image) = &facts.image else { return other_machine(draft) };
    if let [newest, _, ..] = image.kernels.as_slice() {
        let text = format!("planned for Linux {newest}, the newest of {} that are installed in it", image.kernels.len());
        draft.note("kernel", text, facts.kernel.release.source());
    }
    let ram = (facts.memory.total() == Bytes(0)).then_some("RAM");
    let cpus = (!facts.kernel.cpus.is_known()).then_some("processors");
    let unknown: Vec<&str> = ram.into_iter().chain(cpus).collect();
    if !unknown.is_empty() {
        let text = format!(
            "{} of the machine that will run this image are not known here, so what depends on them is left out: {HOW}, or apply \
             again on that machine",
            unknown.join(" and ")
        );
        draft.note("machine", text, "an image has no /proc");
    }
    let wanted = draft.settings();
    if wanted.zswap.enabled().is_none() && !wanted.wants_zram() {
        let text = "neither zswap nor zram is set up: its /etc/fstab lists no swap area, and a zram device needs the size of RAM";
        draft.note("swap", text, "/etc/fstab");
    }
}

/// A running machine knows its size itself; what was assumed for its image may have been wrong.
fn other_machine(draft: &mut Draft<'_>) {
    let (facts, assumed) = (draft.facts(), &draft.settings().machine);
    let ram = facts.memory.total();
    // The kernel keeps a part of RAM to itself.
    let differs = |assumed: Bytes| assumed.0.abs_diff(ram.0) > assumed.0.max(ram.0) / 8;
    let other = |assumed: u32| facts.kernel.cpus.value().is_some_and(|cpus| *cpus != assumed);
    let ram_differs = assumed.ram.as_ref().is_some_and(|wanted| differs(wanted.value));
    if ram_differs || assumed.cpus.as_ref().is_some_and(|wanted| other(wanted.value)) {
        let said = [assumed.ram.as_ref().map(|ram| ram.value.to_string()), assumed.cpus.as_ref().map(|n| processors(n.value))];
        let said: Vec<String> = said.into_iter().flatten().collect();
        let has = facts.kernel.cpus.value().map_or_else(|| "?".into(), |cpus| processors(*cpus));
        let text = format!("[machine] says {}; this machine has {ram}, {has}, and that counts here", said.join(", "));
        draft.note("machine", text, "/proc/meminfo");
    }
}

fn processors(count: u32) -> String {
    if count == 1 { "1 processor".into() } else { format!("{count} processors") }
}

/// Why the loader's files are left to the machine itself, and what says so; `None` where they are made now.
pub(super) fn why_not_loader(draft: &Draft<'_>, outputs: &[String]) -> Option<(String, String)> {
    let image = draft.facts().image.as_ref()?;
    if let Some(why) = not_here(image) {
        return Some(why);
    }
    if !image.device.is_known() {
        return Some((image.device.source().to_owned(), "grub-probe finds the disk below the root folder".into()));
    }
    let grub = outputs.iter().all(|output| output.ends_with("/grub.cfg"));
    if !grub || outputs.is_empty() {
        return Some(("what makes them looks at the machine that it runs on".into(), "kernel-install(8)".into()));
    }
    let missing = outputs.iter().find(|output| !image.loader_files.contains(output))?;
    Some((format!("{missing} is not there yet: what makes the image bootable makes it"), image.device.source().to_owned()))
}

/// Why the initramfs is left to the machine itself.
pub(super) fn why_not_initramfs(draft: &Draft<'_>, tool: InitramfsTool) -> Option<(String, String)> {
    let facts = draft.facts();
    let image = facts.image.as_ref()?;
    if let Some(why) = not_here(image) {
        return Some(why);
    }
    let setting = facts.initramfs.modules_setting.value().map(String::as_str);
    match tool {
        InitramfsTool::InitramfsTools if setting == Some("most") => {}
        InitramfsTool::InitramfsTools => {
            let why = format!("with MODULES={} it takes the drivers of the machine that makes it", setting.unwrap_or("?"));
            return Some((why, "initramfs.conf(5)".into()));
        }
        InitramfsTool::Dracut | InitramfsTool::Mkinitcpio => {
            return Some(("it takes the drivers of the machine that makes it".into(), tool.builder().manual.into()));
        }
    }
    (!facts.initramfs.image.is_known()).then(|| (facts.initramfs.image.source().to_owned(), "/boot".into()))
}

fn not_here(image: &ImageFacts) -> Option<(String, String)> {
    (!image.runs_here.is_known()).then(|| (image.runs_here.source().to_owned(), "chroot(2)".into()))
}

/// Says what to run there.
pub(super) fn leave(draft: &mut Draft<'_>, what: &str, command: &[String], (why, evidence): (String, String)) {
    let text = format!(
        "not made anew, and the old one stays: {why}. Run `{}` on the machine once it runs; until then the service sets zswap",
        command.join(" ")
    );
    draft.note(what, text, evidence);
}

/// The facts of an image with the size that the settings name for its machine.
pub fn assume(facts: &mut crate::Facts, settings: &Settings) {
    if facts.image.is_none() {
        return;
    }
    if let Some(ram) = &settings.machine.ram {
        let only = std::collections::BTreeMap::from([("MemTotal".to_owned(), ram.value)]);
        facts.memory.meminfo = crate::Fact::known(only, ram.provenance.to_string());
    }
    if let Some(cpus) = &settings.machine.cpus {
        facts.kernel.cpus = crate::Fact::known(cpus.value, cpus.provenance.to_string());
    }
}
