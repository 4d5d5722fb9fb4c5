//! THE words of the screen: each with the row of the metric table that it shows, or a sentence of its own. `?` lists them.

use swaptune_core::Fact;
use swaptune_core::metrics::{SampleLook, find};

/// One word.
#[derive(Clone, Copy, Debug)]
pub struct ScreenWord {
    /// As it stands on the screen.
    pub word: &'static str,
    /// The row that it shows; none for words that only name a thing.
    pub metric: &'static str,
    /// One sentence where the row's own is none or too much.
    pub sentence: &'static str,
}

/// Rates with a history, in display order: word, row, label.
pub const RATES: &[(&str, &str, &str)] = &[
    ("stores", "zswap_out_bytes", ""),
    ("loads", "zswap_in_bytes", ""),
    ("written back", "zswap_written_back_bytes", ""),
    ("rejected", "zswap_rejected", ""),
    ("device in", "swap_in_bytes", "device"),
    ("device out", "swap_out_bytes", "device"),
    ("refaults", "refault_anon_bytes", ""),
    ("stalled", "memory_stall_some_seconds", ""),
];

const fn row(word: &'static str, metric: &'static str) -> ScreenWord {
    ScreenWord { word, metric, sentence: "" }
}

const fn own(word: &'static str, sentence: &'static str) -> ScreenWord {
    ScreenWord { word, metric: "", sentence }
}

/// Every word.
pub const WORDS: &[ScreenWord] = &[
    row("RAM", "ram_total_bytes"),
    row("apps", "ram_applications_bytes"),
    row("pool", "ram_compressed_pool_bytes"),
    row("cache", "ram_page_cache_bytes"),
    row("kernel", "ram_kernel_bytes"),
    row("other", "ram_other_bytes"),
    row("free", "ram_free_bytes"),
    row("available", "ram_available_bytes"),
    own("zswap", "The kernel's compressed pool in front of the swap areas; the bar is its fill against its limit"),
    row("limit", "zswap_pool_limit_bytes"),
    row("accepts below", "zswap_accept_threshold_bytes"),
    row("saved", "ram_saved_bytes"),
    row("effective", "compressed_effective_ratio"),
    row("incompressible", "zswap_incompressible_ratio"),
    own("daemon", "What `swaptune daemon` does, and what it took from idle units and drained from the pool since it began"),
    own("decided", "The last thing that it did, and why; `d` lists those before it, and what each of its laws says now"),
    row("stores", "zswap_out_bytes"),
    row("loads", "zswap_in_bytes"),
    row("written back", "zswap_written_back_bytes"),
    row("rejected", "zswap_rejected"),
    row("device in", "swap_in_bytes"),
    row("device out", "swap_out_bytes"),
    row("refaults", "refault_anon_bytes"),
    row("stalled", "memory_stall_some_seconds"),
    own("AREA", "A swap area: a partition, a file or a zram device"),
    row("SIZE", "area_size_bytes"),
    row("USED", "area_used_bytes"),
    row("READ", "area_read_bytes"),
    row("WRITTEN", "area_written_bytes"),
    row("R-LAT", "area_read_latency_seconds"),
    row("W-LAT", "area_write_latency_seconds"),
    own("ZRAM", "A zram device: a disk in RAM whose pages are compressed"),
    row("HOLDS", "zram_original_bytes"),
    row("TAKES", "zram_pool_bytes"),
    row("RATIO", "zram_compression_ratio"),
    own("UNIT", "A systemd unit, or a control group that belongs to none; `s` changes what they are sorted by"),
    row("SWAP", "unit_swap_bytes"),
    row("POOL", "unit_zswap_bytes"),
    row("REFAULT", "unit_refault_bytes"),
    own("PROCESS", "A process with memory in swap (VmSwap); the kernel counts the pool and refaults by unit only"),
];

impl ScreenWord {
    /// What it means, and why there is no value where there is none.
    #[must_use]
    pub fn explained(&self, look: Option<&SampleLook<'_>>) -> String {
        let Some(metric) = find(self.metric) else { return self.sentence.to_owned() };
        let absent = look.and_then(|look| metric.readings(look).into_iter().find_map(|reading| reason(reading.value)));
        absent.map_or_else(|| metric.help.to_owned(), |why| format!("{}; none here: {why}", metric.help))
    }
}

fn reason(value: Fact<f64>) -> Option<String> {
    match value {
        Fact::Known { .. } => None,
        Fact::Absent { absent } => Some(absent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_has_one_meaning() {
        for word in WORDS {
            assert_ne!(find(word.metric).is_some(), !word.sentence.is_empty(), "{}: a row or a sentence", word.word);
            assert!(!word.explained(None).is_empty());
        }
        let mut words: Vec<_> = WORDS.iter().map(|word| word.word).collect();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), WORDS.len());
        for (word, metric, _) in RATES {
            assert!(WORDS.iter().any(|known| known.word == *word && known.metric == *metric), "{word}");
        }
    }
}
