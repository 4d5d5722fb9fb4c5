//! What may be concluded from loads on disks: how much may be asked of one at once, and whether several areas do more than one.

use super::{DiskFigures, DiskShape, Estimate};
use crate::stats::{self, Nanos};

/// The row of the mixed load with the most operations a second whose reads keep to `bound` in 99 of 100 cases.
///
/// Reads, because a fault waits for one; reclaim waits for no write. `None` when no row keeps to it.
pub fn sweet_spot<'a>(rows: impl IntoIterator<Item = &'a DiskFigures>, bound: Nanos) -> Option<&'a DiskFigures> {
    let keeps = |row: &&DiskFigures| row.shape == DiskShape::Mixed && row.read.is_some_and(|read| read.latency.p99 <= bound);
    rows.into_iter().filter(keeps).max_by(|a, b| a.iops().total_cmp(&b.iops()))
}

/// Operations a second of one row by those of another that was measured beside it, round for round, with the interval of
/// [`stats::paired_ratio`]. `None` when they are not the same load, or have too few rounds for an interval.
#[must_use]
pub fn areas_gain(several: &DiskFigures, one: &DiskFigures) -> Option<Estimate> {
    let same = |row: &DiskFigures| (row.shape, row.jobs, row.rounds.len());
    if same(several) != same(one) {
        return None;
    }
    let pairs: Vec<(f64, f64)> = several.rounds.iter().copied().zip(one.rounds.iter().copied()).collect();
    stats::paired_ratio(&pairs)
}

impl DiskFigures {
    /// Operations a second, reads and writes together.
    #[must_use]
    pub fn iops(&self) -> f64 {
        [self.read, self.write].iter().flatten().map(|io| io.iops).sum()
    }

    /// Bytes a second, reads and writes together.
    #[must_use]
    pub fn bytes_per_second(&self) -> f64 {
        [self.read, self.write].iter().flatten().map(|io| io.bytes_per_second).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::IoFigures;
    use crate::stats::Quantiles;
    use crate::units::Bytes;

    fn row(jobs: u32, iops: f64, p99: u64) -> DiskFigures {
        let mut latencies = vec![p99; 100];
        let latency = Quantiles::of(&mut latencies, Nanos(0)).unwrap();
        let io = |iops: f64| Some(IoFigures { iops, bytes_per_second: iops * 4096.0, latency });
        DiskFigures {
            disks: vec!["vda".into()],
            identities: Vec::new(),
            places: vec!["/dev/vda2".into()],
            shape: DiskShape::Mixed,
            jobs,
            size: Bytes::from_gib(1),
            seconds: 1.0,
            engine: "libaio".into(),
            rounds: vec![iops, iops * 1.1, iops * 0.9],
            read: io(iops * 0.7),
            write: io(iops * 0.3),
        }
    }

    /// The document's own table. It calls 8 to 12 jobs the best for a p99 of about 1 ms; with a bound of exactly that, the default, one job is.
    #[test]
    fn the_sweet_spot_is_the_most_that_keeps_the_bound() {
        let rows =
            [row(1, 24_400.0, 803_000), row(8, 25_700.0, 1_123_000), row(16, 33_600.0, 1_483_000), row(32, 42_900.0, 1_713_000)];
        let jobs = |bound| sweet_spot(&rows, Nanos(bound)).map(|row| row.jobs);
        assert_eq!(jobs(1_000_000), Some(1));
        assert_eq!(jobs(1_200_000), Some(8));
        assert_eq!(jobs(1_713_000), Some(32));
        assert_eq!(jobs(500_000), None);
        let other = DiskFigures { shape: DiskShape::PageRead, ..row(1, 1e6, 1) };
        assert_eq!(sweet_spot([&other], Nanos(u64::MAX)), None, "another load says nothing about it");
    }

    #[test]
    fn rows_are_compared_round_for_round() {
        let (one, several) = (row(8, 10_000.0, 1), row(8, 25_000.0, 1));
        let gain = areas_gain(&several, &one).unwrap();
        // The same noise in both: every pair has the same ratio.
        for value in [gain.value, gain.low, gain.high] {
            assert!((value - 2.5).abs() < 1e-9, "{gain:?}");
        }
        assert_eq!(areas_gain(&several, &row(1, 10_000.0, 1)), None, "another number of jobs");
        let short = DiskFigures { rounds: vec![1.0], ..one };
        assert_eq!(areas_gain(&several, &short), None);
    }

    #[test]
    fn both_directions_count() {
        let row = row(1, 1000.0, 1);
        assert!((row.iops() - 1000.0).abs() < 1e-6 && (row.bytes_per_second() - 4_096_000.0).abs() < 1e-3);
    }
}
