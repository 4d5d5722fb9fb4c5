//! `grub.cfg`: the arguments that GRUB will really give the kernel.
//!
//! The file is a script, but `grub-mkconfig` writes its `linux` lines plainly, and its sections between remarks that name
//! the script which made them. Entries of other systems (`30_os-prober`) and for recovery have arguments of their own.

/// Opens the section of this system's kernels.
const BEGIN: &str = "### BEGIN /etc/grub.d/10_linux";
/// Closes a section.
const END: &str = "### END";

/// True for a line that [`arguments`] looks at; a capture needs no other.
#[must_use]
pub fn matters(line: &str) -> bool {
    let line = line.trim_start();
    kernel(line).is_some() || line.starts_with("menuentry ") || line.starts_with("### ")
}

/// The arguments of each entry that boots this system normally; of the first entry in a file that was not generated.
#[must_use]
pub fn arguments(text: &str) -> Vec<String> {
    let generated = text.lines().any(|line| line.starts_with(BEGIN));
    let (mut ours, mut recovery) = (!generated, false);
    let mut found = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.starts_with("### ") {
            ours = line.starts_with(BEGIN) || !line.starts_with(END) && ours;
        } else if line.starts_with("menuentry ") {
            // The title is translated, the identifier is not.
            recovery = line.contains("-recovery-");
        } else if let Some(arguments) = kernel(line).filter(|_| ours && !recovery) {
            found.push(arguments.to_owned());
        }
    }
    if !generated {
        found.truncate(1);
    }
    found
}

/// What stands behind the kernel's path on a line that loads one.
fn kernel(line: &str) -> Option<&str> {
    let (command, rest) = line.split_once([' ', '\t'])?;
    let rest = rest.trim_start();
    let behind = rest.find([' ', '\t']).map_or("", |at| rest[at..].trim());
    matches!(command, "linux" | "linuxefi" | "linux16").then_some(behind)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DEBIAN: &str = "password_pbkdf2 root geheim\n### BEGIN /etc/grub.d/10_linux ###\nmenuentry 'Debian' --class debian {\n\
        \tlinux\t/boot/vmlinuz-6.12 root=UUID=1 ro console=ttyS0 quiet zswap.enabled=1\n\tinitrd\t/boot/initrd\n}\n\
        submenu 'Advanced' {\n\tmenuentry 'Debian (Wiederherstellung)' $menuentry_id_option 'gnulinux-6.12-recovery-1' {\n\
        \t\tlinux /boot/vmlinuz-6.12 root=UUID=1 ro single\n\t}\n\tmenuentry 'old' 'gnulinux-6.1-advanced-1' {\n\
        \t\tlinux /boot/vmlinuz-6.1\n\t}\n}\n### END /etc/grub.d/10_linux ###\n### BEGIN /etc/grub.d/30_os-prober ###\n\
        menuentry 'Other' {\n linux /vmlinuz other\n}\n### END /etc/grub.d/30_os-prober ###\n";

    #[test]
    fn the_normal_entries_of_this_system() {
        assert_eq!(arguments(DEBIAN), ["root=UUID=1 ro console=ttyS0 quiet zswap.enabled=1", ""]);
        let kept: String = DEBIAN.split_inclusive('\n').filter(|line| matters(line)).collect();
        assert_eq!(arguments(&kept), arguments(DEBIAN));
        assert!(!kept.contains("geheim"));
    }

    #[test]
    fn a_file_by_hand_counts_with_its_first_entry() {
        assert_eq!(arguments("menuentry a {\nlinux16 /k a=1  b\n}\nmenuentry b {\nlinuxefi /k c\n}\n"), ["a=1  b"]);
        assert!(arguments("").is_empty() && arguments("# linux /x y\nlinux\n").is_empty());
    }

    proptest! {
        #[test]
        fn a_capture_gives_the_same(
            text in "(?s)(.|\n|linux |menuentry |-recovery-|### BEGIN /etc/grub.d/10_linux|### END){0,30}",
        ) {
            let kept: String = text.split_inclusive('\n').filter(|line| matters(line)).collect();
            prop_assert_eq!(arguments(&kept), arguments(&text));
        }
    }
}
