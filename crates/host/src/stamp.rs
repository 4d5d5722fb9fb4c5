//! Time, and names made of it: of transactions and of runs of a benchmark.

use std::time::{SystemTime, UNIX_EPOCH};

/// A moment in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    seconds: u64,
    nanos: u32,
}

impl Stamp {
    /// This moment.
    #[must_use]
    pub fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { seconds: since.as_secs(), nanos: since.subsec_nanos() }
    }

    /// `2026-11-21T05:48:01Z`.
    #[must_use]
    pub fn text(self) -> String {
        let (year, month, day) = self.date();
        let (hour, minute, second) = self.clock();
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }

    /// `20261121-054801-a1b2`: sorts by time; the end tells two of one second apart.
    #[must_use]
    pub fn id(self) -> String {
        let (year, month, day) = self.date();
        let (hour, minute, second) = self.clock();
        let end = (self.nanos >> 8 ^ std::process::id()) & 0xffff;
        format!("{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}-{end:04x}")
    }

    fn clock(self) -> (u64, u64, u64) {
        let seconds = self.seconds % 86_400;
        (seconds / 3600, seconds / 60 % 60, seconds % 60)
    }

    /// Gregorian date from days since 1970, in eras of 400 years that begin on the first of March.
    fn date(self) -> (u64, u64, u64) {
        let days = self.seconds / 86_400 + 719_468;
        let (era, day_of_era) = (days / 146_097, days % 146_097);
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * shifted + 2) / 5 + 1;
        let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
        (era * 400 + year_of_era + u64::from(month <= 2), month, day)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_date_1() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_795_240_081, "2026-11-21T05:48:01Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(Stamp { seconds, nanos: 0 }.text(), text);
        }
    }

    #[test]
    fn ids_sort_by_time() {
        let at = |seconds| Stamp { seconds, nanos: 7 }.id();
        assert!(at(1_795_240_081).starts_with("20261121-054801-"));
        assert!(at(1_795_240_081) < at(1_795_240_082));
    }
}
