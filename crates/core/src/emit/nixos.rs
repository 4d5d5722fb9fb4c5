//! A module of NixOS. zswap's parameters are rules of tmpfiles.d and no words of the kernel: those of a compressor that is a module come
//! too early, and the option `boot.zswap` writes words that newer kernels ignore.

use std::fmt::Write;

use super::{Emitted, EmittedValues, HEADER, path_of, systemd};
use crate::settings::{SwapWanted, ZramWanted};

pub(super) fn write(values: &EmittedValues<'_>, emitted: &mut Emitted) {
    let mut text = format!("{HEADER}{{ ... }}:\n\n{{\n");
    if !values.sysctls.is_empty() {
        text.push_str("  boot.kernel.sysctl = {\n");
        for (name, value) in &values.sysctls {
            let value = if value.parse::<i64>().is_ok() { value.clone() } else { quoted(value) };
            let _ = writeln!(text, "    {} = {value};", quoted(name));
        }
        text.push_str("  };\n");
    }
    let rules = systemd::rules(values);
    if !rules.is_empty() {
        text.push_str("  systemd.tmpfiles.rules = [\n");
        rules.iter().for_each(|rule| _ = writeln!(text, "    {}", quoted(rule)));
        text.push_str("  ];\n");
    }
    if !values.areas.is_empty() {
        text.push_str("  swapDevices = [\n");
        for area in values.areas {
            match path_of(&area.path) {
                Some(path) => device(&mut text, area, &path),
                None => emitted.note(format!("{:?} is left out: swapDevices needs the path of a device or a file", area.path)),
            }
        }
        text.push_str("  ];\n");
        systemd::note_encrypted(values.areas, emitted);
        emitted.note(
            "an entry of the same device in swapDevices of hardware-configuration.nix has to go: NixOS joins both lists, and the area would be there twice",
        );
    }
    match values.zrams.as_slice() {
        [] => {}
        [zram, others @ ..] => {
            device_of_zram(&mut text, zram, values.ram);
            if zram.mem_limit.0 > 0 {
                emitted.note("the option zramSwap knows no limit of RAM: mem_limit is left out");
            }
            if !zram.recomp_algorithm.is_empty() {
                emitted.note("the option zramSwap knows no second compressor: recomp_algorithm is left out");
            }
            if !others.is_empty() {
                emitted
                    .note("the option zramSwap makes devices that are all alike: only the first one of the plan is written down");
            }
        }
    }
    text.push_str("}\n");
    emitted.file("swaptune.nix", text);
    emitted.note("add ./swaptune.nix to `imports` of configuration.nix; `nixos-rebuild test` tries it until the next boot");
}

fn device(text: &mut String, area: &SwapWanted, path: &str) {
    let _ = write!(text, "    {{\n      device = {};\n      priority = {};\n", quoted(path), area.priority);
    if let Some(size) = area.size {
        // MiB.
        let _ = writeln!(text, "      size = {};", size.0.div_ceil(1 << 20));
    }
    if area.discard_once {
        text.push_str("      discardPolicy = \"once\";\n");
    }
    if area.boots_without() {
        text.push_str("      options = [ \"nofail\" ];\n");
    }
    text.push_str("    }\n");
}

fn device_of_zram(text: &mut String, zram: &ZramWanted, ram: u64) {
    let percent = (zram.size.0 * 100).div_ceil(ram.max(1));
    let _ = write!(
        text,
        "  zramSwap = {{\n    enable = true;\n    priority = {};\n    memoryPercent = {percent};\n    memoryMax = {};\n",
        zram.priority, zram.size.0
    );
    if let Some(algorithm) = zram.algorithm.first() {
        let _ = writeln!(text, "    algorithm = {};", quoted(algorithm));
    }
    if let Some(device) = &zram.backing_dev {
        let _ = writeln!(text, "    writebackDevice = {};", quoted(device));
    }
    text.push_str("  };\n");
}

/// A string of the language: `${` begins an expression in it.
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace("${", "\\${").replace('\n', "\\n").replace('\r', "\\r");
    format!("\"{}\"", escaped.replace('\t', "\\t"))
}
