//! Boot loader, kernel arguments, initramfs.

use serde::{Deserialize, Serialize};

use crate::fact::Fact;

/// The boot loader that starts this machine, as far as its files tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BootLoader {
    /// GRUB 2 with `/etc/default/grub`.
    Grub,
    /// Boot Loader Specification entries (systemd-boot, or GRUB on Fedora-like systems).
    Bls,
    /// A unified kernel image whose command line is inside the image.
    Uki,
    /// extlinux or U-Boot's `extlinux.conf`.
    Extlinux,
    /// The Raspberry Pi firmware's `cmdline.txt`.
    Raspberry,
    /// No loader on this machine: direct kernel boot, a cloud microVM, a container.
    None,
}

/// Where the configured kernel arguments live.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelArgStore {
    /// The file to edit or the drop-in folder's main file (`/etc/default/grub`, `/etc/kernel/cmdline`).
    pub path: String,
    /// The arguments as they are configured for the next boot.
    pub configured: String,
    /// True when `/etc/default/grub.d/*.cfg` is read by this distribution's GRUB.
    pub reads_dropins: bool,
    /// The generated files that the loader reads (`/boot/grub/grub.cfg`, BLS entries).
    pub generated: Vec<String>,
    /// The arguments of the normal entries in the generated file; empty when it is unreadable or has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_generated: Vec<String>,
    /// The command that regenerates it, absent when none was found.
    pub regenerate: Option<Vec<String>>,
}

/// Boot facts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BootFacts {
    /// Which loader.
    pub loader: Fact<BootLoader>,
    /// Where its kernel arguments are kept.
    pub arguments: Fact<KernelArgStore>,
}

/// The program that builds the initramfs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InitramfsTool {
    /// Debian's.
    InitramfsTools,
    /// dracut.
    Dracut,
    /// Arch's.
    Mkinitcpio,
}

/// Initramfs facts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InitramfsFacts {
    /// Which tool is installed.
    pub tool: Fact<InitramfsTool>,
    /// The image for the running kernel.
    pub image: Fact<String>,
    /// `MODULES=` of initramfs-tools (`most`, `dep`).
    pub modules_setting: Fact<String>,
    /// Modules that matter here and are in the image, as file names (`zstd.ko.xz`); `liblzma`, `libzstd` and `modprobe` when
    /// the library or the program is in it: without them a compressed module, or any, cannot be loaded.
    pub contents: Fact<Vec<String>>,
}

impl InitramfsFacts {
    /// Why a module cannot be loaded before the root file system is there; `None` when it can, or when that is not known.
    ///
    /// On Debian 13 modules are `.ko.xz`: until `/sys` is mounted kmod unpacks them itself, with a library that the image lacks.
    #[must_use]
    pub fn why_not_loadable(&self, module: &str) -> Option<String> {
        let contents = self.contents.value()?;
        let image = self.contents.source();
        let has = |name: &str| contents.iter().any(|entry| entry.contains(name));
        let lacks = |ending: &str, library: &str| {
            format!("{image} has {module}.ko{ending}, but not the {library} that kmod needs to unpack it before /sys is mounted")
        };
        match contents.iter().find_map(|entry| entry.strip_prefix(module)?.strip_prefix(".ko")) {
            None if self.modules_setting.value().is_some_and(|setting| setting == "dep") => {
                Some(format!("{module} is not in {image}, because MODULES=dep takes only what the root file system needs"))
            }
            None => Some(format!("{module} is not in {image}")),
            Some(".xz") if !has("liblzma") => Some(lacks(".xz", "liblzma")),
            Some(".zst") if !has("libzstd") => Some(lacks(".zst", "libzstd")),
            Some(_) => None,
        }
    }

    /// True when it is known that the module can be loaded before the root file system is there.
    #[must_use]
    pub fn can_load(&self, module: &str) -> bool {
        self.contents.is_known() && self.why_not_loadable(module).is_none()
    }
}
