//! `grub.cfg` as generators write it: what its entries start, and from where.

use std::collections::BTreeSet;

/// The commands that load a kernel (grub2's `linux16` and `linuxefi` are older spellings).
const LOAD: [&str; 3] = ["linux", "linux16", "linuxefi"];

/// The root file systems (`root=UUID=…`) of all entries that load a kernel, and how many entries there are.
fn roots(text: &str) -> (BTreeSet<&str>, usize) {
    let loads = |line: &&str| line.split_whitespace().next().is_some_and(|word| LOAD.contains(&word));
    let entries: Vec<&str> = text.lines().filter(loads).collect();
    let roots = entries.iter().flat_map(|line| line.split_whitespace().filter(|word| word.starts_with("root=")));
    (roots.collect(), entries.len())
}

/// Why a file that was made anew must not take the place of the one before; `None` when it may.
///
/// A generator that runs on another machine than the one that it writes for may find that one's disks: then the entries name a root
/// that is not there when they boot.
#[must_use]
pub fn why_not(before: Option<&str>, after: &str) -> Option<String> {
    let (new, entries) = roots(after);
    if entries == 0 {
        return Some("no entry of it loads a kernel".into());
    }
    let (old, _) = before.map(roots).unwrap_or_default();
    let other = new.iter().find(|root| !old.contains(*root)).filter(|_| !old.is_empty())?;
    let old: Vec<&str> = old.into_iter().collect();
    Some(format!("it boots {other}, and the one before {}", old.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "menuentry 'Debian' {\n\tlinux\t/boot/vmlinuz-6.12 root=UUID=5eaf ro quiet\n\tinitrd /boot/initrd.img\n}\n";

    #[test]
    fn the_same_root_with_other_words_may_take_its_place() {
        let new = OLD.replace("quiet", "quiet zswap.enabled=1");
        assert_eq!(why_not(Some(OLD), &new), None);
        assert_eq!(why_not(None, &new), None);
        assert_eq!(why_not(Some("# nothing yet\n"), &new), None);
    }

    #[test]
    fn another_root_or_no_kernel_may_not() {
        let loop_device = OLD.replace("UUID=5eaf", "/dev/loop0");
        assert_eq!(
            why_not(Some(OLD), &loop_device).as_deref(),
            Some("it boots root=/dev/loop0, and the one before root=UUID=5eaf")
        );
        for text in ["", "# made by update-grub\nGRUB_CMDLINE_LINUX=\"quiet\"\n", "menuentry 'UEFI' { fwsetup }\n"] {
            assert_eq!(why_not(Some(OLD), text).as_deref(), Some("no entry of it loads a kernel"), "{text}");
        }
    }
}
