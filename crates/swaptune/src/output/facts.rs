//! Facts as text: sections, one line a fact, the source or the reason of absence behind it.

use std::fmt::Write;

use serde::Serialize;
use serde_json::Value;
use swaptune_core::Fact;
use swaptune_core::facts::Facts;

/// Everything, for people.
pub fn text(facts: &Facts) -> String {
    let mut out = String::new();
    kernel(&mut out, facts);
    memory(&mut out, facts);
    swap(&mut out, facts);
    zswap(&mut out, facts);
    zram(&mut out, facts);
    storage(&mut out, facts);
    boot(&mut out, facts);
    sysctls(&mut out, facts);
    out
}

fn section(out: &mut String, title: &str) {
    let gap = if out.is_empty() { "" } else { "\n" };
    let _ = writeln!(out, "{gap}{title}");
}

fn line(out: &mut String, name: &str, value: impl std::fmt::Display, source: &str) {
    let source = if source.is_empty() { String::new() } else { format!("  [{source}]") };
    let _ = writeln!(out, "  {name:<20} {value}{source}");
}

/// Any fact by its JSON form, so that every type shows the words that programs see.
fn fact<T: Serialize>(out: &mut String, name: &str, fact: &Fact<T>) {
    match fact {
        Fact::Known { value, source } => line(out, name, words(&serde_json::to_value(value).unwrap_or_default()), source),
        Fact::Absent { absent } => line(out, name, format!("– ({absent})"), ""),
    }
}

fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(true) => "yes".into(),
        Value::Bool(false) => "no".into(),
        Value::Array(items) => items.iter().map(words).collect::<Vec<_>>().join(", "),
        Value::Object(map) => map.iter().map(|(key, value)| format!("{key}={}", words(value))).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

fn kernel(out: &mut String, facts: &Facts) {
    let (kernel, system) = (&facts.kernel, &facts.system);
    section(out, "Kernel and system");
    fact(out, "release", &kernel.release);
    fact(out, "processors", &kernel.cpus);
    line(out, "page size", kernel.page_size, "");
    fact(out, "command line", &kernel.cmdline);
    fact(out, "modules loadable", &kernel.modules_loadable);
    match &kernel.config {
        Fact::Known { value, source } => line(out, "build options", format!("{} that matter", value.len()), source),
        Fact::Absent { absent } => line(out, "build options", format!("– ({absent})"), ""),
    }
    fact(out, "distribution", &system.os);
    fact(out, "init", &system.init);
    fact(out, "container", &system.container);
    fact(out, "hypervisor", &system.hypervisor);
    fact(out, "cgroup version", &system.cgroup_version);
    fact(out, "memory controller", &system.memory_controller);
    for manager in &system.managers {
        let state = if manager.active { "active" } else { "installed, not active" };
        line(out, "manager", format!("{} ({state})", manager.name), &manager.evidence);
    }
}

fn memory(out: &mut String, facts: &Facts) {
    section(out, "Memory");
    for key in ["MemTotal", "MemAvailable", "SwapTotal", "SwapFree", "Zswap", "Zswapped"] {
        match facts.memory.get(key) {
            Some(bytes) => line(out, key, bytes, facts.memory.meminfo.source()),
            None => line(out, key, "– (not in this kernel's meminfo)", ""),
        }
    }
    fact(out, "pressure", &facts.memory.pressure);
    fact(out, "huge pages", &facts.memory.thp);
}

fn swap(out: &mut String, facts: &Facts) {
    section(out, "Swap areas");
    if facts.swaps.is_empty() {
        line(out, "none", "", "/proc/swaps");
    }
    for area in &facts.swaps {
        let device = area.device.value().map_or_else(|| "?".to_owned(), Clone::clone);
        let sharing = facts.swaps.iter().filter(|other| same_disk(facts, other, area)).count();
        let shared = if sharing > 1 { format!(", one of {sharing} areas on this disk") } else { String::new() };
        line(
            out,
            &area.path,
            format!("{} used {} priority {} on {device}{shared}", area.size, area.used, area.priority),
            "/proc/swaps",
        );
        fact(out, "  encryption", &area.encryption);
        fact(out, "  UUID", &area.uuid);
        fact(out, "  file system", &area.filesystem);
    }
    for signature in &facts.swap_signatures {
        line(out, "signature", format!("{} {}", signature.path, signature.uuid.as_deref().unwrap_or("no UUID")), "");
    }
}

fn same_disk(facts: &Facts, a: &swaptune_core::facts::SwapArea, b: &swaptune_core::facts::SwapArea) -> bool {
    let disk = |area: &swaptune_core::facts::SwapArea| facts.disk_of(area.device.value()?).map(|disk| disk.name.clone());
    disk(a).is_some() && disk(a) == disk(b)
}

fn zswap(out: &mut String, facts: &Facts) {
    section(out, "zswap");
    let zswap = match &facts.zswap {
        Fact::Known { value, .. } => value,
        Fact::Absent { absent } => return line(out, "zswap", format!("– ({absent})"), ""),
    };
    for (name, value) in &zswap.parameters {
        line(out, name, value, "/sys/module/zswap/parameters");
    }
    fact(out, "loaded", &zswap.loaded);
    fact(out, "counters", &zswap.counters);
    for complaint in &zswap.complaints {
        line(out, "complaint", complaint, "kernel log");
    }
    for compressor in &facts.compressors {
        let state = serde_json::to_value(compressor.availability).map(|value| words(&value)).unwrap_or_default();
        line(out, &format!("compressor {}", compressor.name), state, &compressor.source);
    }
}

fn zram(out: &mut String, facts: &Facts) {
    section(out, "zram");
    fact(out, "driver", &facts.zram.driver);
    for device in &facts.zram.devices {
        line(out, &device.name, format!("{} offers {}", device.disksize, device.algorithms.join(" ")), "/sys/block");
        fact(out, "  algorithm", &device.algorithm);
        fact(out, "  mm_stat", &device.mm_stat);
        fact(out, "  backing_dev", &device.backing_dev);
        let secondary =
            device.recomp_algorithm.clone().map(|names| if names.is_empty() { "none".into() } else { names.join(" ") });
        fact(out, "  recomp_algorithm", &secondary);
    }
}

fn storage(out: &mut String, facts: &Facts) {
    section(out, "Block devices");
    for device in &facts.block_devices {
        let contents = device.contents.value().map_or("?", String::as_str);
        let spin = match device.rotational.value() {
            Some(true) => "rotational",
            Some(false) => "not rotational",
            None => "rotation unknown",
        };
        let transport = serde_json::to_value(device.transport).map(|value| words(&value)).unwrap_or_default();
        let at = device.mounted_at.as_ref().map_or_else(String::new, |at| format!(" at {at}"));
        line(out, &device.name, format!("{} {transport}, {spin}, holds {contents}{at}", device.size), device.rotational.source());
    }
    for mount in &facts.mounts {
        let free = mount.free.value().map_or_else(|| "?".to_owned(), ToString::to_string);
        line(out, &mount.at, format!("{} on {}, {free} free", mount.filesystem, mount.source), "/proc/self/mountinfo");
    }
}

fn boot(out: &mut String, facts: &Facts) {
    section(out, "Boot");
    fact(out, "loader", &facts.boot.loader);
    match &facts.boot.arguments {
        Fact::Known { value, .. } => {
            line(out, "next boot", &value.configured, &value.path);
            line(out, "generated", value.generated.join(" "), &value.regenerate.clone().unwrap_or_default().join(" "));
        }
        Fact::Absent { absent } => line(out, "kernel arguments", format!("– ({absent})"), ""),
    }
    fact(out, "initramfs tool", &facts.initramfs.tool);
    fact(out, "initramfs image", &facts.initramfs.image);
    fact(out, "MODULES", &facts.initramfs.modules_setting);
    fact(out, "initramfs contents", &facts.initramfs.contents);
}

fn sysctls(out: &mut String, facts: &Facts) {
    section(out, "Knobs");
    for (name, value) in &facts.knobs {
        let Fact::Known { value, source } = value else { continue };
        let winner = facts.sysctl_sources.get(name).and_then(|sources| sources.last());
        let set_by = winner.map_or_else(String::new, |by| format!(", set by {}:{} to {}", by.path, by.line, by.value));
        line(out, name, value, &format!("{source}{set_by}"));
    }
}
