//! Files that swaptune owns as a whole: their paths and their texts.
//!
//! Owned drop-ins come first wherever a system reads them: to take one back is to delete it.

/// What the last apply resolved; the boot service switches on exactly this.
pub const APPLIED_FILE: &str = "/etc/swaptune/applied.toml";
/// What the last `apply --now` resolved; a reboot takes it away together with what it describes.
pub const APPLIED_NOW_FILE: &str = "/run/swaptune/applied.toml";
/// The administrator's configuration.
pub const CONFIG_FILE: &str = "/etc/swaptune/config.toml";
/// Sysctls. The name sorts behind `99-sysctl.conf`, which many distributions link to `/etc/sysctl.conf`.
pub const SYSCTL_FILE: &str = "/etc/sysctl.d/99-zz-swaptune.conf";
/// The boot service.
pub const UNIT_FILE: &str = "/etc/systemd/system/swaptune.service";
/// What enables it.
pub const UNIT_LINK: &str = "/etc/systemd/system/swap.target.wants/swaptune.service";
/// Block devices that only claim to spin.
pub const UDEV_FILE: &str = "/etc/udev/rules.d/60-swaptune.rules";
/// Kernel arguments where GRUB reads drop-ins.
pub const GRUB_FILE: &str = "/etc/default/grub.d/99-swaptune.cfg";

/// What keeps zram-generator from making swap: the name sorts behind other drop-ins.
pub const ZRAM_GENERATOR_FILE: &str = "/etc/systemd/zram-generator.conf.d/zz-swaptune.conf";

/// All of them but the initramfs files, for the `off` profile.
pub const ALL: &[&str] = &[APPLIED_FILE, SYSCTL_FILE, UNIT_LINK, UNIT_FILE, UDEV_FILE, GRUB_FILE, ZRAM_GENERATOR_FILE];

/// First lines of every owned file.
#[must_use]
pub fn header() -> String {
    "# Written by swaptune; `swaptune rollback` takes it back. Change /etc/swaptune/config.toml instead and apply again.\n".into()
}

/// The unit that switches the applied configuration on at boot and, by `systemctl stop`, off.
///
/// It runs before swap is reached and after modules and sysctls are loaded. Without default dependencies it can neither
/// close an ordering cycle with `swap.target` nor delay the boot of anything else. It does not conflict with
/// `shutdown.target`: emptying zram or restoring knobs while the machine goes down would only make that slow.
#[must_use]
pub fn unit(binary: &str) -> String {
    format!(
        "{}[Unit]\n\
         Description=Compressed swap as planned by swaptune\n\
         Documentation=man:swaptune(8)\n\
         DefaultDependencies=no\n\
         RequiresMountsFor={binary} /etc/swaptune\n\
         After=systemd-modules-load.service systemd-sysctl.service systemd-remount-fs.service\n\
         Before=swap.target\n\
         ConditionPathExists={APPLIED_FILE}\n\
         ConditionFileIsExecutable={binary}\n\
         \n\
         [Service]\n\
         Type=oneshot\n\
         RemainAfterExit=yes\n\
         ExecStart={binary} service start\n\
         ExecStop={binary} service stop\n\
         TimeoutStartSec=90s\n\
         \n\
         [Install]\n\
         WantedBy=swap.target\n",
        header()
    )
}

/// A udev rule for disks that do not spin whatever they say.
#[must_use]
pub fn udev_rules(disks: &[String]) -> String {
    let rule = |disk: &String| {
        format!("ACTION==\"add|change\", SUBSYSTEM==\"block\", KERNEL==\"{disk}\", ATTR{{queue/rotational}}=\"0\"\n")
    };
    header() + &disks.iter().map(rule).collect::<String>()
}

/// A drop-in of zram-generator that leaves these devices out on every machine: each has more RAM than the limit.
#[must_use]
pub fn zram_generator(devices: &[&str]) -> String {
    header() + &devices.iter().map(|name| format!("[{name}]\nhost-memory-limit = 0\n")).collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_sysctl_file_sorts_behind_the_usual_last_one() {
        assert!(SYSCTL_FILE > "/etc/sysctl.d/99-sysctl.conf");
    }

    #[test]
    fn the_unit_cannot_close_an_ordering_cycle() {
        let unit = unit("/usr/local/bin/swaptune");
        assert!(unit.contains("DefaultDependencies=no") && unit.contains("Before=swap.target"));
        // After=swap.target, local-fs.target or basic.target together with Before=swap.target would be a cycle.
        assert!(!unit.lines().any(|line| line.starts_with("After=") && line.contains(".target")));
        assert!(!unit.contains("shutdown.target"), "a shutdown must not wait for it");
        assert!(unit.contains("ExecStart=/usr/local/bin/swaptune service start\n"));
    }
}
