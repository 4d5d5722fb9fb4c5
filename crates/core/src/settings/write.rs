//! Settings → configuration text that [`super::read_toml`] reads back to the same values.
//!
//! `apply` writes what it resolved to `/etc/swaptune/applied.toml`, so that the boot service switches on exactly what was
//! planned and never derives anything anew in early boot.

use std::fmt::Write;

use super::{Setting, Settings, SwapWanted, WantedParameter, ZramWanted, ZswapSettings};

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn names(names: &[String]) -> String {
    format!("[{}]", names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", "))
}

/// The settings as configuration text, provenance as comments.
#[must_use]
pub fn to_toml(settings: &Settings) -> String {
    let mut text = String::new();
    if let Some(profile) = &settings.profile {
        let _ = writeln!(text, "profile = {}", quoted(&profile.value));
    }
    zswap(&mut text, settings);
    boot(&mut text, settings);
    machine(&mut text, settings);
    safety(&mut text, settings);
    for area in settings.swap.iter().flat_map(|list| &list.value) {
        swap_area(&mut text, area);
    }
    for device in settings.zram.iter().flat_map(|list| &list.value) {
        zram_device(&mut text, device);
    }
    if !settings.knobs.is_empty() {
        text.push_str("\n[knobs]\n");
    }
    for (name, setting) in &settings.knobs {
        let _ = writeln!(text, "{} = {} # {}", quoted(name), quoted(&setting.value), setting.provenance.lasting());
    }
    text
}

fn line<T>(text: &mut String, key: &str, setting: Option<&Setting<T>>, show: impl Fn(&T) -> String) {
    if let Some(setting) = setting {
        let _ = writeln!(text, "{key} = {} # {}", show(&setting.value), setting.provenance.lasting());
    }
}

fn zswap(text: &mut String, settings: &Settings) {
    if !settings.zswap.is_empty() {
        text.push_str("\n[zswap]\n");
    }
    for row in ZswapSettings::rows() {
        let Some(setting) = settings.zswap.get(row.parameter()) else { continue };
        let (key, value) = match &setting.value {
            WantedParameter::Flag(on) => (row.parameter(), on.to_string()),
            WantedParameter::Number(number) => (row.parameter(), number.to_string()),
            WantedParameter::Names(list) => (row.parameter(), names(list)),
            WantedParameter::Size(size) => ("pool", quoted(&size.compact())),
        };
        let _ = writeln!(text, "{key} = {value} # {}", setting.provenance.lasting());
    }
}

fn boot(text: &mut String, settings: &Settings) {
    if settings.boot == super::BootSettings::default() {
        return;
    }
    text.push_str("\n[boot]\n");
    line(text, "kernel_arguments", settings.boot.kernel_arguments.as_ref(), bool::to_string);
    line(text, "initramfs", settings.boot.initramfs.as_ref(), bool::to_string);
}

fn safety(text: &mut String, settings: &Settings) {
    if settings.safety.kubelet.is_some() {
        text.push_str("\n[safety]\n");
    }
    line(text, "kubelet", settings.safety.kubelet.as_ref(), |rule| quoted(rule.name()));
}

fn machine(text: &mut String, settings: &Settings) {
    if settings.machine == super::MachineSettings::default() {
        return;
    }
    text.push_str("\n[machine]\n");
    line(text, "ram", settings.machine.ram.as_ref(), |ram| quoted(&ram.compact()));
    line(text, "cpus", settings.machine.cpus.as_ref(), u32::to_string);
}

/// One `[[swap]]` section, with a blank line before it.
pub(crate) fn swap_area(text: &mut String, area: &SwapWanted) {
    let _ = write!(text, "\n[[swap]]\npath = {}\n", quoted(&area.path));
    if let Some(size) = area.size {
        let _ = writeln!(text, "size = {}", quoted(&size.compact()));
    }
    let _ = writeln!(text, "priority = {}", area.priority);
    if let Some(optional) = area.optional {
        let _ = writeln!(text, "optional = {optional}");
    }
    let _ = writeln!(text, "discard_once = {}", area.discard_once);
    if let Some(rule) = area.encrypt {
        let _ = writeln!(text, "encrypt = {}", quoted(rule.name()));
    }
}

fn zram_device(text: &mut String, zram: &ZramWanted) {
    let ZramWanted { size, algorithm, priority, mem_limit, recomp_algorithm, backing_dev } = zram;
    let (size, algorithm) = (quoted(&size.compact()), names(algorithm));
    let _ = write!(text, "\n[[zram]]\nsize = {size}\nalgorithm = {algorithm}\npriority = {priority}\n");
    if mem_limit.0 > 0 {
        let _ = writeln!(text, "mem_limit = {}", quoted(&mem_limit.compact()));
    }
    if !recomp_algorithm.is_empty() {
        let _ = writeln!(text, "recomp_algorithm = {}", names(recomp_algorithm));
    }
    if let Some(device) = backing_dev {
        let _ = writeln!(text, "backing_dev = {}", quoted(device));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::read_toml;

    #[test]
    fn what_is_written_reads_back() {
        let text = "profile = \"auto\"\n[zswap]\nenabled = true\ncompressor = [\"zstd\", \"lz4\"]\nzpool = \"zbud\"\npool = \"1536M\"\n\
                    accept_threshold_percent = 90\nshrinker_enabled = false\n[boot]\nkernel_arguments = true\n[machine]\nram = \"4G\"\ncpus = 2\n[safety]\nkubelet = \"allow\"\n[[swap]]\npath = \"/a b\"\n\
                    size = \"1G\"\n[[swap]]\npath = \"UUID=1-2\"\npriority = 3\noptional = false\ndiscard_once = true\nencrypt = \"luks\"\n[[swap]]\npartuuid = \"3-4\"\n[[zram]]\nsize = \"4G\"\n\
                    mem_limit = \"1G\"\nrecomp_algorithm = [\"zstd\", \"deflate\"]\nbacking_dev = \"PARTUUID=5-6\"\n[knobs]\n\"vm.swappiness\" = 133\n\"vm.page-cluster\" = 0\n";
        let settings = read_toml("x", text, None).unwrap();
        let again = read_toml("x", &to_toml(&settings), None).unwrap();
        assert_eq!(to_toml(&settings), to_toml(&again));
        // What a person writes above a value does not change what is kept of it.
        let below = read_toml("x", &format!("# a remark\n\n{text}"), None).unwrap();
        assert_eq!(to_toml(&settings), to_toml(&below));
        assert!(again.allows_kubelet());
        assert_eq!(again.swap.unwrap().value, settings.swap.unwrap().value);
        assert_eq!(again.zram.unwrap().value, settings.zram.unwrap().value);
        assert_eq!(again.zswap.pool().unwrap().value, settings.zswap.pool().unwrap().value);
    }
}
