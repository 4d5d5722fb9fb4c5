//! The boot loader, and where its kernel arguments are kept.
//!
//! Several loaders may have left files on one machine. What the firmware says it started comes first; then the file
//! that is specific to a loader, from the most specific on.

use swaptune_core::Fact;
use swaptune_core::edit::grub;
use swaptune_core::facts::{BootFacts, BootLoader, KernelArgStore, KernelFacts, SystemFacts};
use swaptune_core::parse::{bls, grub_cfg, shell};

use crate::machine::Machine;

/// Set by systemd-boot: its name and version in UTF-16 (systemd's boot loader interface).
const LOADER_INFO: &str = "/sys/firmware/efi/efivars/LoaderInfo-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";
const ENTRY_FOLDERS: [&str; 3] = ["/boot/loader/entries", "/efi/loader/entries", "/boot/efi/loader/entries"];
const IMAGE_FOLDERS: [&str; 3] = ["/boot/EFI/Linux", "/efi/EFI/Linux", "/boot/efi/EFI/Linux"];
const EXTLINUX: [&str; 3] = ["/boot/extlinux/extlinux.conf", "/extlinux/extlinux.conf", "/boot/extlinux.conf"];
const RASPBERRY: [&str; 2] = ["/boot/firmware", "/boot"];
/// ostree(1): this deployment is one of several, and what boots it is made with it.
pub(super) const OSTREE: &str = "/run/ostree-booted";
const GRUB_DEFAULTS: &str = "/etc/default/grub";
pub(super) const GRUB_CONFIGS: [&str; 2] = ["/boot/grub/grub.cfg", "/boot/grub2/grub.cfg"];
const MKCONFIGS: [&str; 4] =
    ["/usr/sbin/grub-mkconfig", "/usr/bin/grub-mkconfig", "/usr/sbin/grub2-mkconfig", "/usr/bin/grub2-mkconfig"];
const KERNEL_CMDLINE: &str = "/etc/kernel/cmdline";

pub(super) fn inspect(machine: &Machine, kernel: &KernelFacts, system: &SystemFacts) -> BootFacts {
    let loader = match system.container.value() {
        Some(container) => {
            Fact::known(BootLoader::None, format!("{}: a container ({})", system.container.source(), container.kind))
        }
        None => loader(machine),
    };
    let arguments = match loader.value() {
        Some(_) if machine.exists(OSTREE) => {
            Fact::absent(format!("{OSTREE}: ostree makes the loader's entries; use rpm-ostree kargs"))
        }
        Some(BootLoader::Grub) => grub_store(machine),
        Some(BootLoader::Bls) => bls_store(machine, kernel),
        Some(BootLoader::Uki) => uki_store(machine, kernel),
        Some(BootLoader::Extlinux) => extlinux_store(machine, loader.source()),
        Some(BootLoader::Raspberry) => raspberry_store(machine, loader.source()),
        Some(BootLoader::None) | None => Fact::absent(format!("no boot loader: {}", loader.source())),
    };
    BootFacts { loader, arguments }
}

fn loader(machine: &Machine) -> Fact<BootLoader> {
    for folder in RASPBERRY {
        let path = format!("{folder}/cmdline.txt");
        if machine.exists(&path) && machine.exists(&format!("{folder}/config.txt")) {
            return Fact::known(BootLoader::Raspberry, path);
        }
    }
    let entries = with_files(machine, &ENTRY_FOLDERS, ".conf");
    let images = with_files(machine, &IMAGE_FOLDERS, ".efi");
    let info = machine.read_bytes(LOADER_INFO, 256).unwrap_or_default();
    let name: String = info.iter().filter(|byte| byte.is_ascii_graphic()).map(|byte| char::from(*byte)).collect();
    if name.contains("systemd-boot") {
        // Without entry files it starts unified images.
        let kind = if entries.is_none() && images.is_some() { BootLoader::Uki } else { BootLoader::Bls };
        return Fact::known(kind, LOADER_INFO);
    }
    if let Ok(text) = machine.read_text(GRUB_DEFAULTS) {
        let bls = shell::get(&text, "GRUB_ENABLE_BLSCFG").is_some_and(|value| value == "true");
        match (bls, entries) {
            (true, Some(folder)) => {
                return Fact::known(BootLoader::Bls, format!("{GRUB_DEFAULTS}: GRUB_ENABLE_BLSCFG; {folder}"));
            }
            _ if mkconfig(machine).is_some() || generated(machine).is_some() => {
                return Fact::known(BootLoader::Grub, GRUB_DEFAULTS);
            }
            _ => {}
        }
    }
    if let Some(folder) = entries {
        return Fact::known(BootLoader::Bls, folder);
    }
    if let Some(folder) = images {
        return Fact::known(BootLoader::Uki, folder);
    }
    if let Some(path) = first(machine, &EXTLINUX) {
        return Fact::known(BootLoader::Extlinux, path);
    }
    Fact::known(BootLoader::None, "no GRUB, loader entries, unified images, extlinux.conf or cmdline.txt")
}

fn grub_store(machine: &Machine) -> Fact<KernelArgStore> {
    let main = match machine.read_text(GRUB_DEFAULTS) {
        Ok(text) => text,
        Err(error) => return error.absent(),
    };
    // Debian and Ubuntu patch this loop into grub-mkconfig; GRUB itself has no drop-ins.
    let script = mkconfig(machine);
    let reads_dropins = script.and_then(|path| machine.read_text(path).ok()).is_some_and(|text| text.contains("grub.d/*.cfg"));
    let dropins = if reads_dropins { machine.files_in("/etc/default/grub.d", ".cfg") } else { Vec::new() };
    let texts = dropins.into_iter().filter_map(|path| machine.read_text(&path).ok().map(|text| (path, text)));
    let files: Vec<(String, String)> = std::iter::once((GRUB_DEFAULTS.to_owned(), main)).chain(texts).collect();
    // What grub-mkconfig is going to write counts even before it was ever run.
    let fallback = if script.is_some_and(|path| path.ends_with("grub2-mkconfig")) { GRUB_CONFIGS[1] } else { GRUB_CONFIGS[0] };
    let output = generated(machine).unwrap_or(fallback);
    let command = if machine.exists("/usr/sbin/update-grub") {
        Some(vec!["update-grub".to_owned()])
    } else {
        let name = script.and_then(|path| path.rsplit('/').next());
        name.map(|name| [name, "-o", output].map(str::to_owned).to_vec())
    };
    let store = KernelArgStore {
        path: GRUB_DEFAULTS.to_owned(),
        configured: grub_arguments(&files),
        reads_dropins,
        in_generated: machine.read_lines(output, grub_cfg::matters).map(|text| grub_cfg::arguments(&text)).unwrap_or_default(),
        generated: vec![output.to_owned()],
        regenerate: command,
    };
    Fact::known(store, GRUB_DEFAULTS)
}

/// The arguments of a normal entry; where the files are too odd for an editor, as far as plain assignments tell.
fn grub_arguments(files: &[(String, String)]) -> String {
    let named: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    match grub::effective(&named) {
        Ok(effective) => effective.arguments(),
        Err(_) => {
            let mut variables = shell::evaluate(named.iter().map(|(_, text)| *text));
            let linux = variables.remove(grub::LINUX).unwrap_or_default();
            grub::Effective { linux, default: variables.remove(grub::DEFAULT).unwrap_or_default() }.arguments()
        }
    }
}

fn bls_store(machine: &Machine, kernel: &KernelFacts) -> Fact<KernelArgStore> {
    let entry = entry_of(machine, kernel.release.value().map(String::as_str));
    let options = entry.as_ref().and_then(|(_, text)| bls::options(text));
    let path = entry.map(|(path, _)| path);
    if let Ok(text) = machine.read_text(KERNEL_CMDLINE) {
        let store = store(KERNEL_CMDLINE, &text, path.as_deref(), kernel_install(machine, kernel));
        return Fact::known(KernelArgStore { in_generated: options.into_iter().collect(), ..store }, KERNEL_CMDLINE);
    }
    match (path, options) {
        // Without /etc/kernel/cmdline the entry itself is what counts, and the loader reads it as it is; for later kernels
        // kernel-install copies the running command line.
        (Some(path), Some(options)) => Fact::known(store(&path, &options, None, None), path),
        _ => Fact::absent(format!("{KERNEL_CMDLINE}: no such file, and no readable entry has options")),
    }
}

fn uki_store(machine: &Machine, kernel: &KernelFacts) -> Fact<KernelArgStore> {
    let regenerate = kernel_install(machine, kernel).or_else(|| {
        let mkinitcpio = machine.exists("/usr/bin/mkinitcpio").then(|| vec!["mkinitcpio".to_owned(), "-P".to_owned()]);
        mkinitcpio.or_else(|| {
            machine.exists("/usr/bin/dracut").then(|| ["dracut", "--regenerate-all", "--force"].map(str::to_owned).to_vec())
        })
    });
    match machine.read_text(KERNEL_CMDLINE) {
        Ok(text) => Fact::known(store(KERNEL_CMDLINE, &text, None, regenerate), KERNEL_CMDLINE),
        Err(error) => Fact::absent(format!("{error}: the command line is inside the image")),
    }
}

fn extlinux_store(machine: &Machine, path: &str) -> Fact<KernelArgStore> {
    // Alpine's update-extlinux writes extlinux.conf from here.
    let alpine = "/etc/update-extlinux.conf";
    if let Ok(text) = machine.read_text(alpine) {
        let configured = shell::get(&text, "default_kernel_opts").unwrap_or_default();
        return Fact::known(store(alpine, &configured, Some(path), Some(vec!["update-extlinux".to_owned()])), alpine);
    }
    // Debian's u-boot-menu writes extlinux.conf from here.
    let defaults = "/etc/default/u-boot";
    if machine.exists("/usr/sbin/u-boot-update") {
        let text = machine.read_text(defaults).unwrap_or_default();
        let configured = shell::get(&text, "U_BOOT_PARAMETERS").unwrap_or_default();
        let store = store(defaults, &configured, Some(path), Some(vec!["u-boot-update".to_owned()]));
        return Fact::known(store, defaults);
    }
    match machine.read_text(path).map(|text| bls::extlinux_append(&text)) {
        Ok(Some(append)) => Fact::known(store(path, &append, None, None), path),
        Ok(None) => Fact::absent(format!("{path}: no line `append`")),
        Err(error) => error.absent(),
    }
}

fn raspberry_store(machine: &Machine, path: &str) -> Fact<KernelArgStore> {
    match machine.read_text(path) {
        Ok(text) => Fact::known(store(path, &text, None, None), path),
        Err(error) => error.absent(),
    }
}

fn store(path: &str, configured: &str, generated: Option<&str>, regenerate: Option<Vec<String>>) -> KernelArgStore {
    let configured = configured.split_whitespace().collect::<Vec<_>>().join(" ");
    let generated = generated.map(str::to_owned).into_iter().collect();
    KernelArgStore { path: path.to_owned(), configured, reads_dropins: false, generated, in_generated: Vec::new(), regenerate }
}

/// `kernel-install add RELEASE IMAGE` (kernel-install(8)).
fn kernel_install(machine: &Machine, kernel: &KernelFacts) -> Option<Vec<String>> {
    let release = kernel.release.value()?;
    let images = ["/usr/lib/modules/", "/lib/modules/"].map(|base| format!("{base}{release}/vmlinuz"));
    let image = images.into_iter().chain([format!("/boot/vmlinuz-{release}")]).find(|path| machine.exists(path))?;
    let command = || ["kernel-install", "add", release, &image].map(str::to_owned).to_vec();
    machine.exists("/usr/bin/kernel-install").then(command)
}

/// The entry of the running kernel, or the last one.
fn entry_of(machine: &Machine, release: Option<&str>) -> Option<(String, String)> {
    let folder = with_files(machine, &ENTRY_FOLDERS, ".conf")?;
    let read = |path: String| Some((path.clone(), machine.read_text(&path).ok()?));
    let mut entries: Vec<(String, String)> = machine.files_in(folder, ".conf").into_iter().filter_map(read).collect();
    let ours = entries.iter().position(|(_, text)| release.is_some() && bls::first(text, "version") == release);
    if entries.is_empty() { None } else { Some(entries.swap_remove(ours.unwrap_or(entries.len() - 1))) }
}

fn mkconfig(machine: &Machine) -> Option<&'static str> {
    first(machine, &MKCONFIGS)
}

fn generated(machine: &Machine) -> Option<&'static str> {
    first(machine, &GRUB_CONFIGS)
}

fn first(machine: &Machine, paths: &[&'static str]) -> Option<&'static str> {
    paths.iter().copied().find(|path| machine.exists(path))
}

fn with_files(machine: &Machine, folders: &[&'static str], ending: &str) -> Option<&'static str> {
    folders.iter().copied().find(|folder| !machine.files_in(folder, ending).is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::tree;

    fn boot(files: &[(&str, &str)]) -> BootFacts {
        let dir = tree(files);
        let machine = Machine::at(dir.path());
        let kernel = super::super::kernel::inspect(&machine, super::super::InspectScope::PLAN);
        let system = super::super::system::inspect(&machine, &kernel, &[]);
        inspect(&machine, &kernel, &system)
    }

    #[test]
    fn grub_of_debian_reads_dropins() {
        let facts = boot(&[
            ("etc/default/grub", "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\nGRUB_CMDLINE_LINUX=\"\"\n"),
            ("etc/default/grub.d/50-x.cfg", "GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT zswap.enabled=1\"\n"),
            ("usr/sbin/grub-mkconfig", "for x in ${sysconfdir}/default/grub.d/*.cfg ; do\n"),
            ("usr/sbin/update-grub", ""),
            ("boot/grub/grub.cfg", "secret\n### BEGIN /etc/grub.d/10_linux ###\n\tlinux /vmlinuz root=x quiet\n"),
        ]);
        assert_eq!(facts.loader.value(), Some(&BootLoader::Grub));
        let store = facts.arguments.value().unwrap();
        assert_eq!(store.configured, "quiet zswap.enabled=1");
        assert_eq!(store.in_generated, ["root=x quiet"], "made before the drop-in");
        assert!(store.reads_dropins);
        assert_eq!(store.regenerate.as_deref(), Some(["update-grub".to_owned()].as_slice()));
    }

    #[test]
    fn grub_elsewhere_does_not() {
        let facts = boot(&[
            ("etc/default/grub", "GRUB_CMDLINE_LINUX_DEFAULT='loglevel=3 quiet'\n"),
            ("etc/default/grub.d/50-x.cfg", "GRUB_CMDLINE_LINUX_DEFAULT=ignored\n"),
            ("usr/bin/grub-mkconfig", "#!/bin/sh\n"),
            ("boot/grub/grub.cfg", ""),
        ]);
        let store = facts.arguments.value().unwrap();
        assert_eq!((store.configured.as_str(), store.reads_dropins), ("loglevel=3 quiet", false));
        assert_eq!(
            store.regenerate.as_deref(),
            Some(["grub-mkconfig", "-o", "/boot/grub/grub.cfg"].map(str::to_owned).as_slice())
        );
    }

    #[test]
    fn entries_of_systemd_boot_and_of_fedora() {
        let entry = ("boot/loader/entries/a-6.12.1.conf", "version 6.12.1\noptions root=UUID=1 ro\n");
        let release = ("proc/sys/kernel/osrelease", "6.12.1\n");
        let facts = boot(&[entry, release, ("boot/loader/entries/b-6.13.conf", "version 6.13\noptions other\n")]);
        assert_eq!(facts.loader.value(), Some(&BootLoader::Bls));
        assert_eq!(facts.arguments.value().unwrap().configured, "root=UUID=1 ro");
        let facts = boot(&[
            entry,
            release,
            ("etc/default/grub", "GRUB_ENABLE_BLSCFG=true\n"),
            ("etc/kernel/cmdline", "root=UUID=1\n quiet\n"),
        ]);
        assert_eq!(facts.loader.value(), Some(&BootLoader::Bls));
        assert_eq!(facts.arguments.value().unwrap().path, "/etc/kernel/cmdline");
        assert_eq!(facts.arguments.value().unwrap().configured, "root=UUID=1 quiet");
    }

    #[test]
    fn small_machines() {
        let facts = boot(&[("boot/firmware/cmdline.txt", "console=tty1 root=PARTUUID=1-02\n"), ("boot/firmware/config.txt", "")]);
        assert_eq!(facts.loader.value(), Some(&BootLoader::Raspberry));
        assert_eq!(facts.arguments.value().unwrap().configured, "console=tty1 root=PARTUUID=1-02");
        let facts = boot(&[("boot/extlinux/extlinux.conf", "label l0\n append root=/dev/mmcblk0p2\n")]);
        assert_eq!(facts.arguments.value().unwrap().configured, "root=/dev/mmcblk0p2");
        assert_eq!(boot(&[]).loader.value(), Some(&BootLoader::None));
        let facts = boot(&[("run/systemd/container", "lxc"), ("boot/loader/entries/a.conf", "options x")]);
        assert_eq!(facts.loader.value(), Some(&BootLoader::None));
    }
}
