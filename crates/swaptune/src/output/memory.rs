//! `bench memory` as a table: each pattern in RAM and under pressure, side by side.

use std::collections::BTreeMap;
use std::fmt::Write;

use swaptune_core::measurement::{Measurement, MemoryData, MemoryFigures, MemoryOrder, ResultFigures};

use super::text;

/// Why zero pages are no measure.
const ZERO: &str = "zero: such pages flatter compressed swap. None is compressed: zram and zswap up to Linux 6.11 keep one as a \
                    value, and from 6.12 on the kernel notes it as a bit in the swap map, before zswap sees it (swpout_zero). \
                    Programs that measure memory with fresh buffers measure this.";
/// What repeats a word is not compressed everywhere either.
const LOW: &str = "low: byte i is i mod 8, so that each page repeats one 8-byte word. zram and zswap up to Linux 6.11 keep such a \
                   page as that word; zswap from 6.12 on compresses it.";
/// What the columns of every table mean.
const SPEED: &str = "MB/s are 10⁶ bytes a second. LOOP is the same loop over memory in the first cache: a figure near it says \
                     nothing about memory.";
/// What the columns of pressure mean.
const PRESSURE: &str = "The bytes are those that the program accessed, not those that were swapped: one byte of a page that is \
                        out brings in 4096. SWAPPED counts pages, on the whole machine, while it was measured.";

/// The table and what must be known to read it.
pub fn table(measured: &[Measurement]) -> String {
    let figures: Vec<&MemoryFigures> = measured
        .iter()
        .filter_map(|measurement| match &measurement.figures {
            ResultFigures::Memory(memory) => Some(memory),
            _ => None,
        })
        .collect();
    let Some(first) = figures.first() else { return String::new() };
    let pressed = figures.iter().find(|figures| is_pressed(figures)).copied();
    let head = ["DATA", "ORDER", "BLOCK", "THREADS", "LOOP", "IN RAM", "PRESSED", "SLOWER", "SWAPPED"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let mut shown: Vec<&MemoryFigures> = Vec::new();
    for one in &figures {
        if !shown.iter().any(|other| same(one, other)) {
            shown.push(one);
            let find = |pressed: bool| figures.iter().copied().find(|other| same(one, other) && is_pressed(other) == pressed);
            rows.push(row(one, find(false), find(true)));
        }
    }
    if pressed.is_none() {
        rows.iter_mut().for_each(|row| row.truncate(6));
    }
    let mut out = self::head(first, pressed);
    out += &text::columns(&rows, &[3, 4, 5, 6, 7], 0);
    let of = |kind: MemoryData| figures.iter().any(|figures| figures.data == kind && is_pressed(figures));
    let notes = [(true, SPEED), (pressed.is_some(), PRESSURE), (of(MemoryData::Zero), ZERO), (of(MemoryData::Low), LOW)];
    for (_, note) in notes.into_iter().filter(|(applies, _)| *applies) {
        out += &format!("\n{}", text::wrap(note, 0));
    }
    out
}

fn head(first: &MemoryFigures, pressed: Option<&MemoryFigures>) -> String {
    let access = if first.write { "Writes to" } else { "Reads of" };
    let mut out = format!("{access} {}, MB/s", first.size);
    if let Some(pressed) = pressed {
        let limit = pressed.limit.map(|limit| format!("with a limit of {limit}"));
        let hog = pressed.hog.map(|hog| format!("beside a hog of {hog}"));
        let words: Vec<String> = limit.into_iter().chain(hog).collect();
        let words = if words.is_empty() { "more than there is RAM".into() } else { words.join(" and ") };
        let tier = pressed.tier.as_ref().map_or_else(|| "no swap".to_owned(), ToString::to_string);
        let _ = write!(out, "; pressed: {words}, swap: {tier}");
    }
    out + "\n\n"
}

fn is_pressed(figures: &MemoryFigures) -> bool {
    figures.limit.is_some() || figures.hog.is_some() || figures.tier.is_some()
}

/// The same pattern.
fn same(one: &MemoryFigures, other: &MemoryFigures) -> bool {
    let key = |figures: &MemoryFigures| (figures.data, figures.order, figures.write, figures.block, figures.threads);
    key(one) == key(other)
}

fn row(pattern: &MemoryFigures, free: Option<&MemoryFigures>, pressed: Option<&MemoryFigures>) -> Vec<String> {
    let speed = |figures: Option<&MemoryFigures>| figures.map_or_else(|| "–".into(), |f| mb_s(f.mb_per_second));
    let slower = match (free, pressed) {
        (Some(free), Some(pressed)) if pressed.mb_per_second > 0.0 => {
            format!("{:.1} ×", free.mb_per_second / pressed.mb_per_second)
        }
        _ => "–".into(),
    };
    vec![
        data(pattern.data).into(),
        order(pattern.order).into(),
        pattern.block.compact(),
        pattern.threads.to_string(),
        mb_s(pattern.ceiling_mb_per_second),
        speed(free),
        speed(pressed),
        slower,
        pressed.map_or_else(String::new, |pressed| swapped(&pressed.swapping, &pressed.filling)),
    ]
}

/// Three digits are as many as there is truth in.
fn mb_s(value: f64) -> String {
    match value {
        v if v < 10.0 => format!("{v:.2}"),
        v if v < 100.0 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

/// Counters that rose, in the kernel's words.
fn swapped(swapping: &BTreeMap<String, u64>, filling: &BTreeMap<String, u64>) -> String {
    let risen = |counts: &BTreeMap<String, u64>| {
        let pages = counts.iter().filter(|(name, count)| **count > 0 && *name != "pgmajfault");
        pages.map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(" ")
    };
    match (risen(swapping), risen(filling)) {
        (now, _) if !now.is_empty() => now,
        (_, before) if !before.is_empty() => format!("nothing (while it was filled: {before})"),
        _ => "nothing".into(),
    }
}

/// The name of a content.
pub fn data(data: MemoryData) -> &'static str {
    match data {
        MemoryData::High => "high",
        MemoryData::Low => "low",
        MemoryData::Zero => "zero",
    }
}

/// The name of an order.
pub fn order(order: MemoryOrder) -> &'static str {
    match order {
        MemoryOrder::Sequential => "sequential",
        MemoryOrder::Random => "random",
    }
}
