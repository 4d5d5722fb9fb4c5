//! THE table of programs that build an initramfs: how each is recognized, and what it is given.
//!
//! To add one is to add a variant of [`InitramfsTool`], its row here, and what an image needs of it (`plan/image.rs`).

use super::owned::header;
use crate::facts::InitramfsTool;

/// Stands for the release of the kernel in a command.
const RELEASE: &str = "RELEASE";

/// A program that builds an initramfs.
#[derive(Debug)]
pub struct InitramfsBuilder {
    /// Which one it is.
    pub tool: InitramfsTool,
    /// Where its program may be; one of these paths is enough.
    pub programs: &'static [&'static str],
    /// Another program that must be there too; empty for none.
    pub beside: &'static str,
    /// Its manual page.
    pub manual: &'static str,
    /// The file of ours that puts modules into the image.
    pub file: &'static str,
    /// Permissions of that file.
    pub mode: u32,
    /// Its text below the header, for modules with spaces between.
    lines: fn(&str) -> String,
    /// A line above the header; empty for none.
    first: &'static str,
    command: &'static [&'static str],
}

const INITRAMFS_TOOLS: InitramfsBuilder = InitramfsBuilder {
    tool: InitramfsTool::InitramfsTools,
    programs: &["/usr/sbin/update-initramfs"],
    // Debian's dracut package brings an update-initramfs of its own.
    beside: "/usr/sbin/mkinitramfs",
    manual: "initramfs-tools(7)",
    file: "/etc/initramfs-tools/hooks/swaptune",
    mode: 0o755,
    lines: hook,
    first: "#!/bin/sh\n",
    command: &["update-initramfs", "-u", "-k", RELEASE],
};

const DRACUT: InitramfsBuilder = InitramfsBuilder {
    tool: InitramfsTool::Dracut,
    programs: &["/usr/bin/dracut", "/usr/sbin/dracut"],
    beside: "",
    manual: "dracut.conf(5)",
    file: "/etc/dracut.conf.d/50-swaptune.conf",
    mode: 0o644,
    lines: |modules| format!("add_drivers+=\" {modules} \"\n"),
    first: "",
    command: &["dracut", "--force", "--kver", RELEASE],
};

const MKINITCPIO: InitramfsBuilder = InitramfsBuilder {
    tool: InitramfsTool::Mkinitcpio,
    programs: &["/usr/bin/mkinitcpio"],
    beside: "",
    manual: "mkinitcpio.conf(5)",
    file: "/etc/mkinitcpio.conf.d/50-swaptune.conf",
    mode: 0o644,
    lines: |modules| format!("MODULES+=({modules})\n"),
    first: "",
    command: &["mkinitcpio", "-P"],
};

/// The table, in the order in which a machine is asked.
pub static INITRAMFS_BUILDERS: &[InitramfsBuilder] = &[INITRAMFS_TOOLS, DRACUT, MKINITCPIO];

impl InitramfsTool {
    /// Its row.
    #[must_use]
    pub fn builder(self) -> &'static InitramfsBuilder {
        match self {
            Self::InitramfsTools => &INITRAMFS_TOOLS,
            Self::Dracut => &DRACUT,
            Self::Mkinitcpio => &MKINITCPIO,
        }
    }
}

impl InitramfsBuilder {
    /// Text of the file that puts these modules into the image.
    #[must_use]
    pub fn text(&self, modules: &[&str]) -> String {
        format!("{}{}{}", self.first, header(), (self.lines)(&modules.join(" ")))
    }

    /// The command that rebuilds the initramfs of one kernel release.
    #[must_use]
    pub fn command(&self, release: &str) -> Vec<String> {
        self.command.iter().map(|word| if *word == RELEASE { release } else { word }.to_owned()).collect()
    }
}

/// Debian's initramfs lacks liblzma, without which its kmod cannot unpack `.ko.xz` before `/sys` is mounted; so the hook
/// brings the library along with the modules.
fn hook(modules: &str) -> String {
    format!(
        "if [ \"$1\" = prereqs ]; then echo; exit 0; fi\n\
         . /usr/share/initramfs-tools/hook-functions\n\
         manual_add_modules {modules}\n\
         for library in /usr/lib/*/liblzma.so.5 /lib/*/liblzma.so.5; do\n\
         \x20   if [ -e \"$library\" ]; then copy_exec \"$library\"; break; fi\n\
         done\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_whole_and_each_is_that_of_its_tool() {
        for row in INITRAMFS_BUILDERS {
            assert_eq!(row.tool.builder().file, row.file);
            assert!(row.file.contains("swaptune") && row.manual.ends_with(')') && !row.programs.is_empty(), "{row:?}");
            let text = row.text(&["zstd", "zstd_compress"]);
            assert!(text.contains("zstd zstd_compress") && text.contains(&header()), "{text}");
            assert!(row.mode == 0o644 || text.starts_with("#!"), "{row:?}");
        }
    }

    #[test]
    fn the_release_stands_where_a_command_takes_it() {
        let command = |tool: InitramfsTool| tool.builder().command("6.12.1").join(" ");
        assert_eq!(command(InitramfsTool::InitramfsTools), "update-initramfs -u -k 6.12.1");
        assert_eq!(command(InitramfsTool::Dracut), "dracut --force --kver 6.12.1");
        assert_eq!(command(InitramfsTool::Mkinitcpio), "mkinitcpio -P");
    }
}
