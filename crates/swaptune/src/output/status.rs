//! One screen: what memory really is.

use swaptune_core::memory_map::{Capacity, MemoryMap, PoolTime, Since, ZramPool, ZswapPool};
use swaptune_core::{Bytes, Fact};

use super::daemon;
use super::text::{columns, count, wrap};

/// The screen.
pub fn text(map: &MemoryMap) -> String {
    let mut out = ram(map);
    out += &pools(map);
    out += &areas(map);
    if let Some(capacity) = map.capacity.value() {
        out += &capacity_text(capacity, map);
    }
    if let Some(since) = &map.since {
        out += &format!("\n{}", wrap(&since_text(since), 0));
    }
    if let Some(daemon) = &map.daemon {
        out += &format!("\n{}", daemon::summary(daemon));
    }
    if let Some(advice) = &map.advice {
        out += &format!("\n{}", wrap(&format!("advice: {}", advice.text), 0));
    }
    out
}

fn ram(map: &MemoryMap) -> String {
    let ram = match &map.ram {
        Fact::Known { value, .. } => value,
        Fact::Absent { absent } => return wrap(&format!("RAM unknown: {absent}"), 0),
    };
    let share = |part: swaptune_core::Bytes| part.0 as f64 * 100.0 / (ram.total.0.max(1)) as f64;
    let mut rows: Vec<Vec<String>> = Vec::new();
    for (name, part) in ram.parts() {
        if part.0 == 0 && matches!(name, "huge pages" | "other") {
            continue;
        }
        let bar = "█".repeat((share(part) / 2.5).round() as usize);
        rows.push(vec![name.into(), part.to_string(), format!("{:.1} %", share(part)), bar]);
    }
    let available = ram.available.map_or_else(String::new, |available| format!(", {available} available"));
    format!("RAM {}{available}\n{}", ram.total, columns(&rows, &[1, 2], 2))
}

fn pools(map: &MemoryMap) -> String {
    let mut out = String::from("\nCompressed\n");
    match &map.zswap {
        Fact::Known { value, .. } => out += &zswap(value),
        Fact::Absent { absent } => out += &wrap(&format!("zswap: none ({absent})"), 2),
    }
    let used: Vec<&ZramPool> = map.zram.iter().filter(|device| device.disksize.0 > 0).collect();
    if used.is_empty() {
        out += "  zram: no device in use\n";
    }
    for device in used {
        out += &zram(device);
    }
    out
}

fn shown<T: std::fmt::Display>(fact: &Fact<T>) -> String {
    fact.value().map_or_else(|| "unknown".into(), T::to_string)
}

/// `holds 90 MiB in 30 MiB (3.00 : 1)`.
fn holding(original: &Fact<swaptune_core::Bytes>, ram: &Fact<swaptune_core::Bytes>, ratio: Option<String>) -> String {
    match (original.value(), ram.value()) {
        (Some(original), Some(ram)) if original.0 == 0 => format!("empty ({ram} of RAM)"),
        (Some(original), Some(ram)) => {
            format!("{original} in {ram} of RAM{}", ratio.map_or_else(String::new, |ratio| format!(" ({ratio} : 1)")))
        }
        _ => format!("contents unknown: {}", original.source()),
    }
}

fn details(same: &Fact<swaptune_core::Bytes>, incompressible: &Fact<swaptune_core::Bytes>) -> String {
    let mut parts = Vec::new();
    if let Some(same) = same.value().filter(|same| same.0 > 0) {
        parts.push(format!("{same} same-filled"));
    }
    if let Some(bad) = incompressible.value().filter(|bad| bad.0 > 0) {
        parts.push(format!("{bad} incompressible"));
    }
    if parts.is_empty() { String::new() } else { format!(", of it {}", parts.join(" and ")) }
}

fn zswap(pool: &ZswapPool) -> String {
    let state = if pool.enabled { "on" } else { "off" };
    let ratio = pool.ratio.value().map(ToString::to_string);
    let holds = holding(&pool.original, &pool.ram, ratio);
    let limit = pool.limit.value().map_or_else(String::new, |limit| format!(", limit {limit}"));
    let compressor = shown(&pool.compressor);
    wrap(&format!("zswap: {state}, {compressor}, {holds}{}{limit}", details(&pool.same_filled, &pool.incompressible)), 2)
}

fn zram(device: &ZramPool) -> String {
    let ratio = device.ratio.value().map(ToString::to_string);
    let holds = holding(&device.original, &device.ram, ratio);
    let role = if device.is_swap { "swap" } else { "not swap" };
    let compressor = shown(&device.compressor);
    let extra = details(&device.same_filled, &device.incompressible);
    wrap(&format!("{}: {role}, {compressor}, {}, {holds}{extra}", device.name, device.disksize), 2)
}

fn areas(map: &MemoryMap) -> String {
    if map.swap.areas.is_empty() {
        return "\nSwap areas\n  none\n".into();
    }
    let mut rows = vec![["AREA", "SIZE", "USED", "PRIORITY"].map(str::to_owned).to_vec()];
    for area in &map.swap.areas {
        rows.push(vec![area.path.clone(), area.size.to_string(), area.used.to_string(), area.priority.to_string()]);
    }
    let mut out = format!("\nSwap areas\n{}", columns(&rows, &[1, 2, 3], 2));
    if map.swap.used.0 > 0 {
        out += &format!("  really on a disk: at most {}\n", map.swap.on_disk_at_most);
    }
    out
}

/// What was gained, from the kernel's counters, or that there was nothing to gain.
fn since_text(since: &Since) -> String {
    let head = format!("Since {} ({})", since.by, since.at);
    if since.is_quiet() {
        return format!("{head}: no pressure, nothing has been swapped");
    }
    let saved = match u64::try_from(since.saved) {
        Ok(saved) => format!("{} more fit into RAM now", Bytes(saved)),
        Err(_) => format!("the pools take {} more than they hold", Bytes(since.saved.unsigned_abs())),
    };
    let loads = match since.loads {
        0 => String::new(),
        loads => format!(", {} came back from zswap without a read", count(usize::try_from(loads).unwrap_or(usize::MAX), "page")),
    };
    let reads = count(usize::try_from(since.swap_reads).unwrap_or(usize::MAX), "page");
    format!("{head}: {saved}{loads}, {reads} were read from swap areas; {}", spent_text(since.spent.as_ref()))
}

fn spent_text(spent: Option<&PoolTime>) -> String {
    let Some(PoolTime { time, store, load, source }) = spent else {
        return "`swaptune bench swap` measures what processor time a page takes here".into();
    };
    format!("compressing took {time} of processor time, at {store} a page out and {load} a page back ({source})")
}

fn capacity_text(capacity: &Capacity, map: &MemoryMap) -> String {
    let swap = map.swap.total.0 > 0;
    if !swap && capacity.pool_ram.0 == 0 {
        return format!("\nCapacity {}: RAM only, no swap stands behind it\n", capacity.total);
    }
    if capacity.pool_ram.0 == 0 {
        return format!(
            "\nCapacity {}\n  {} RAM + {} on disk, nothing compressed\n",
            capacity.total, capacity.ram, capacity.disk
        );
    }
    let basis = if capacity.measured { "measured" } else { "assumed" };
    let ratio = map.zswap.value().filter(|pool| pool.enabled).map(|pool| &pool.planning);
    let ratio = ratio.or_else(|| map.zram.iter().find(|device| device.is_swap).map(|device| &device.planning));
    let how = ratio.map_or_else(String::new, |ratio| format!(", ratio {ratio}"));
    let sum = format!(
        "{} RAM − {} for the full pool + {} held compressed + {} on disk",
        capacity.ram, capacity.pool_ram, capacity.compressed, capacity.disk
    );
    format!("\nCapacity {} ({basis})\n{}", capacity.total, wrap(&format!("{sum}{how}"), 2))
}
