//! THE table of what the laws go by: each figure with its unit, its range, its default and where that comes from. `[keep]` has a key of
//! the same name for each.

use crate::units::Bytes;

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureUnit {
    /// Percent of what its sentence names.
    Percent,
    /// Microseconds of each second that tasks wait: 1000 are 0.1 %.
    Stall,
    /// Pages a second.
    Pages,
    /// Bytes; written as a size in quotes.
    Bytes,
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
}

impl FigureUnit {
    /// The word behind a number.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Percent => "%",
            Self::Stall => "µs/s",
            Self::Pages => "pages/s",
            Self::Bytes => "bytes",
            Self::Seconds => "s",
            Self::Milliseconds => "ms",
        }
    }

    /// A value with its unit.
    #[must_use]
    pub fn show(self, value: u64) -> String {
        match self {
            Self::Bytes => Bytes(value).compact(),
            Self::Percent => format!("{value} %"),
            _ => format!("{value} {}", self.name()),
        }
    }
}

/// One figure.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// Key in `[keep]`; its first word is the law.
    pub name: &'static str,
    /// What it counts.
    pub unit: FigureUnit,
    /// Value when none is configured.
    pub default: u64,
    /// Smallest value that is taken.
    pub min: u64,
    /// Largest value that is taken.
    pub max: u64,
    /// What it is, as one sentence without a full stop.
    pub about: &'static str,
    /// Where the default comes from.
    pub source: &'static str,
    /// Sets it.
    pub set: fn(&mut Figures, u64),
    /// Its value.
    pub get: fn(&Figures) -> u64,
}

macro_rules! figures {
    ($($name:ident: $unit:ident, $default:expr, $min:expr => $max:expr, $about:literal, $source:literal;)+) => {
        /// The figures of one machine. Each is within the range of its row.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Figures {
            $(#[doc = $about] pub $name: u64,)+
        }

        impl Default for Figures {
            fn default() -> Self {
                Self { $($name: $default,)+ }
            }
        }

        /// Every row, by law.
        pub const TABLE: &[Figure] = &[$(Figure {
            name: stringify!($name),
            unit: FigureUnit::$unit,
            default: $default,
            min: $min,
            max: $max,
            about: $about,
            source: $source,
            set: |figures, value| figures.$name = value,
            get: |figures| figures.$name,
        },)+];
    };
}

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

figures! {
    limit_raise_at_percent: Percent, 75, 50 => 99,
        "Share of the limit that the pool fills when the limit is raised",
        "below pacing_start_percent: a pool that may grow is not written to the disk";
    limit_step_percent: Percent, 5, 1 => 10,
        "By how much of RAM the limit moves at once",
        "assumed: what one application stores at once when it goes to sleep";
    limit_every_s: Seconds, 2, 1 => 3600,
        "Time from one move of the limit to the next",
        "the kernel sums up waiting times every two seconds (PSI_FREQ)";
    limit_max_percent: Percent, 70, 1 => 90,
        "The limit is never raised above this share of RAM",
        "docs/evidence/keep.md: with 85 % services were killed where 70 % held them, and nothing between was tried";
    limit_lower_stall_us: Stall, 50_000, 200 => 900_000,
        "Time that some task waits for memory from which the limit is lowered, where more pages of files come back than of swap",
        "assumed: a tenth of what Fedora's systemd-oomd tolerates before it acts";
    limit_refaults: Pages, 200, 1 => 1_000_000,
        "Most pages of files a second that come back, where they are more than those of swap, when the limit is raised",
        "assumed: 800 KiB a second of 4 KiB pages";
    pacing_start_percent: Percent, 80, 10 => 100,
        "Share of the limit from which the pool is drained",
        "below the 90 % of accept_threshold_percent, so that a burst that is broken off leaves no pool that refuses pages";
    pacing_target_percent: Percent, 70, 5 => 95,
        "Share of the limit to which it is drained",
        "assumed: a tenth of the limit is room for one application that goes to sleep";
    pacing_hold_ms: Milliseconds, 500, 100 => 600_000,
        "How long it is left alone after paging, a refused store or I/O pressure",
        "T. Funaki, \"mm: zswap: global shrinker fix and proactive shrink\", 2024";
    pacing_pages: Pages, 64, 1 => 100_000,
        "Most pages a second that come from or go to swap past zswap while it is drained",
        "assumed: two batches of reclaim (SWAP_CLUSTER_MAX, 32)";
    pacing_io_stall_us: Stall, 100_000, 1_000 => 900_000,
        "Most time that some task waits for I/O while the pool is drained",
        "assumed: 10 %";
    pacing_burst_ms: Milliseconds, 500, 50 => 10_000,
        "Longest time for which the limit is lowered",
        "assumed: a store of another process is refused that long at most";
    pacing_chunk: Bytes, 8 * MIB, MIB => GIB,
        "What one burst takes from the pool at most, up to a step of the threshold: an eighth of it at first, twice as much when the disk has taken it a second later, half where not",
        "assumed: some 20 MiB of pages, 0.2 s of a disk that takes 100 MiB a second, 2 s of one that does 3000 operations";
    pacing_budget: Bytes, 8 * GIB, 0 => 1 << 50,
        "Once zswap has written this much back in 24 hours, whoever asked for it, nothing is drained",
        "assumed: a twentieth of the writes that 300 TB in five years allow a day";
    reclaim_idle_s: Seconds, 600, 5 => 86_400,
        "How long a unit must have been idle before its memory is reclaimed",
        "assumed: ten minutes, as DAMON-based reclaim and Android's cached apps have it in minutes";
    reclaim_cpu_us: Stall, 1_000, 0 => 100_000,
        "Processor time of each second up to which a unit counts as idle",
        "assumed: 0.1 %, timers of a sleeping service";
    reclaim_pause_s: Seconds, 5, 1 => 3600,
        "Time from one probe of a unit to the next",
        "J. Weiner et al., TMO, ASPLOS 2022: probes of seconds";
    reclaim_probe_percent: Percent, 5, 1 => 50,
        "What one probe takes of a unit's memory",
        "assumed; TMO takes 0.05 % of a unit that works, these are idle";
    reclaim_probe: Bytes, 16 * MIB, 64 << 10 => GIB,
        "What one probe takes at most",
        "assumed: it is one write of memory.reclaim or some calls of process_madvise, and a tick waits for it";
    reclaim_stall_us: Stall, 1_000, 10 => 500_000,
        "Most time that some task waits for memory, or for I/O, while units are reclaimed",
        "TMO, ASPLOS 2022: 0.1 % of memory pressure";
    reclaim_refaults: Pages, 16, 1 => 100_000,
        "Pages a second that a unit takes back after a probe from which it is left alone",
        "assumed: more than a timer touches";
    reclaim_backoff_s: Seconds, 300, 5 => 86_400,
        "How long it is left alone then; twice as long each time, up to a day",
        "assumed";
    reclaim_floor: Bytes, 4 * MIB, 0 => 1 << 50,
        "No unit is brought below this much memory; where processes are asked, anonymous memory",
        "assumed: its code and kernel memory, which are shared or cannot go";
    reclaim_budget: Bytes, 32 * GIB, 0 => 1 << 50,
        "What probes take from units in 24 hours at most",
        "assumed";
    zram_idle_s: Seconds, 3600, 1 => 604_800,
        "How long a page of zram must not have been used before it is idle",
        "assumed: what an hour did not use is seldom wanted at once";
    zram_every_s: Seconds, 600, 1 => 86_400,
        "Time from the end of one round over a zram device to the next",
        "assumed: marking walks over the whole device, some milliseconds a GiB";
    zram_floor: Bytes, 64 * MIB, 0 => 1 << 50,
        "A zram device that takes less RAM than this is left alone",
        "assumed: less is not worth a write to the disk";
    zram_chunk: Bytes, 4 * MIB, 64 << 10 => GIB,
        "What is written back at once at most, one part a second (writeback_limit)",
        "assumed: before Linux 6.19 it is page after page, 0.1 to 1 s on a slow solid-state disk, and a tick waits for it";
    zram_recompress_chunk: Bytes, 16 * MIB, 64 << 10 => GIB,
        "What is compressed again at once at most, one part a second (max_pages)",
        "assumed: 0.1 s at zstd's speed";
    zram_budget: Bytes, 8 * GIB, 0 => 1 << 50,
        "Once this much was written to backing devices in 24 hours, whoever asked for it, nothing more is",
        "as pacing_budget: a twentieth of the writes that 300 TB in five years allow a day";
    zram_stall_us: Stall, 1_000, 10 => 900_000,
        "Most time that some task waits for memory while zram devices are worked on",
        "as reclaim_stall_us";
    zram_io_stall_us: Stall, 100_000, 1_000 => 900_000,
        "Most time that some task waits for I/O meanwhile, what write-back itself waits left out",
        "as pacing_io_stall_us";
    zram_pages: Pages, 64, 1 => 100_000,
        "Most pages a second that come from or go to swap meanwhile",
        "as pacing_pages";
    zram_hold_ms: Milliseconds, 5_000, 100 => 600_000,
        "How long zram devices are left alone after a moment that was not quiet",
        "assumed: no task waits for it, unlike for room in a pool";
}

/// The row of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Figure> {
    TABLE.iter().find(|row| row.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_in_range_and_rows_are_whole() {
        for row in TABLE {
            assert!((row.min..=row.max).contains(&row.default), "{}", row.name);
            assert!(!row.about.ends_with('.') && !row.source.is_empty(), "{}", row.name);
            let law = row.name.split('_').next().unwrap();
            assert!(["limit", "pacing", "reclaim", "zram"].contains(&law), "{}", row.name);
            let mut figures = Figures::default();
            (row.set)(&mut figures, row.max);
            assert_eq!((row.get)(&figures), row.max, "{}", row.name);
        }
        assert_eq!(FigureUnit::Bytes.show(8 << 30), "8G");
    }
}
