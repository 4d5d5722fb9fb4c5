//! zram-generator.conf(5).

use std::fmt::Write;

use super::{Emitted, EmittedValues, HEADER};
use crate::settings::ZramWanted;

/// The main file of the generator.
pub(super) const PATH: &str = "/etc/systemd/zram-generator.conf";

pub(super) fn write(values: &EmittedValues<'_>, emitted: &mut Emitted) {
    if values.zrams.is_empty() {
        emitted.note("the plan has no zram device, and zram-generator knows nothing else");
        return;
    }
    devices(values, emitted);
    if !(values.zswap.is_empty() && values.sysctls.is_empty() && values.areas.is_empty()) {
        emitted.note("zram-generator knows nothing but zram: `swaptune emit systemd` has the rest too");
    }
}

/// A section for each device.
pub(super) fn devices(values: &EmittedValues<'_>, emitted: &mut Emitted) {
    let mut text = HEADER.to_owned();
    for (number, zram) in values.zrams.iter().enumerate() {
        let ZramWanted { size, algorithm, priority, mem_limit, recomp_algorithm, backing_dev } = zram;
        let _ = write!(text, "\n[zram{number}]\n");
        // MiB, an expression; it rounds up to pages by itself.
        let _ = writeln!(text, "zram-size = {}", size.0.div_ceil(1 << 20));
        let algorithms: Vec<&str> = algorithm.iter().take(1).chain(recomp_algorithm).map(String::as_str).collect();
        if !algorithms.is_empty() {
            let _ = writeln!(text, "compression-algorithm = {}", algorithms.join(" "));
        }
        if let Some(device) = backing_dev {
            let _ = writeln!(text, "writeback-device = {device}");
        }
        if mem_limit.0 > 0 {
            let _ = writeln!(text, "zram-resident-limit = {}", mem_limit.0.div_ceil(1 << 20));
        }
        let _ = writeln!(text, "swap-priority = {}", priority);
    }
    emitted.file(PATH, text);
    if values.zrams.iter().any(|zram| zram.backing_dev.is_some() || !zram.recomp_algorithm.is_empty()) {
        emitted.note("zram-generator sets up what recompression and write-back need, and starts neither: `swaptune daemon` does");
    }
}
