//! A disk as the model has it, from the loads of `bench disk`.

use swaptune_core::measurement::{DiskFigures, DiskShape, Evidence, MeasuredAnswer};
use swaptune_tiers::model::DeviceTimes;

const SECOND: f64 = 1e9;
/// Requests in flight of a job of the mixed load.
const IN_FLIGHT: u64 = 4;

/// Times of a disk of this name, when its loads were measured; one that spins seeks, another has a limit of requests.
///
/// A page takes its bytes (`page_size`) of the most bytes a second that any load moved. What a request takes at the most single pages a second,
/// less that, is the time of a request, or of a seek. What a lone read takes longer than both is its latency; of writes, what one of
/// the four in flight in the mixed load of one job takes longer than the four need by themselves.
#[must_use]
pub fn device(evidence: &Evidence, disk: &str, spins: bool, page_size: u64) -> Option<MeasuredAnswer<DeviceTimes>> {
    let MeasuredAnswer { value: loads, source } = evidence.disk_loads(disk)?;
    times(&loads, spins, page_size).map(|value| MeasuredAnswer { value, source })
}

fn times(loads: &[&DiskFigures], spins: bool, page_size: u64) -> Option<DeviceTimes> {
    let most =
        |of: fn(&DiskFigures) -> f64, rows: &mut dyn Iterator<Item = &&DiskFigures>| rows.map(|row| of(row)).fold(0.0, f64::max);
    let bytes = most(DiskFigures::bytes_per_second, &mut loads.iter());
    let single = |row: &&&DiskFigures| matches!(row.shape, DiskShape::Mixed | DiskShape::PageRead);
    let pages = most(DiskFigures::iops, &mut loads.iter().filter(single));
    let lone = loads.iter().find(|row| row.shape == DiskShape::PageRead && row.jobs == 1)?.read?;
    if bytes <= 0.0 || pages <= 0.0 {
        return None;
    }
    let page = (page_size as f64 * SECOND / bytes) as u64;
    let begin = ((SECOND / pages) as u64).saturating_sub(page);
    let mixed = loads.iter().find(|row| row.shape == DiskShape::Mixed && row.jobs == 1).and_then(|row| row.write);
    let busy = begin + page;
    Some(DeviceTimes {
        request: if spins { 0 } else { begin },
        page,
        seek: if spins { begin } else { 0 },
        read_latency: lone.latency.p50.0.saturating_sub(busy),
        write_latency: mixed.map_or(0, |write| write.latency.p50.0.saturating_sub(IN_FLIGHT * busy)),
    })
}

#[cfg(test)]
mod tests {
    use swaptune_core::Bytes;
    use swaptune_core::measurement::IoFigures;
    use swaptune_core::stats::{Nanos, Quantiles};

    use super::*;

    fn load(shape: DiskShape, jobs: u32, iops: f64, block: f64, nanos: u64) -> DiskFigures {
        let latency = Quantiles::of(&mut vec![nanos; 100], Nanos(0)).unwrap();
        let io = |share: f64| Some(IoFigures { iops: iops * share, bytes_per_second: iops * share * block, latency });
        let (read, write) = match shape {
            DiskShape::Mixed => (io(0.7), io(0.3)),
            DiskShape::ClusterWrite => (None, io(1.0)),
            _ => (io(1.0), None),
        };
        let places = vec!["/dev/vda2".into()];
        let engine = "libaio".to_owned();
        DiskFigures {
            disks: vec!["vda".into()],
            identities: Vec::new(),
            places,
            shape,
            jobs,
            size: Bytes(1),
            seconds: 1.0,
            engine,
            rounds: vec![],
            read,
            write,
        }
    }

    #[test]
    fn a_solid_state_disk_has_requests_and_latencies() {
        let rows = [
            load(DiskShape::Mixed, 1, 20_000.0, 4096.0, 150_000),
            load(DiskShape::Mixed, 8, 50_000.0, 4096.0, 600_000),
            load(DiskShape::ClusterWrite, 1, 2_000.0, 524_288.0, 2_000_000),
            load(DiskShape::PageRead, 1, 10_000.0, 4096.0, 100_000),
        ];
        let times = times(&rows.iter().collect::<Vec<_>>(), false, 4096).unwrap();
        // 1.05 GB a second; 20 µs for each of 50 000 pages; 100 µs for a lone read; 150 µs with four in flight.
        let expected = DeviceTimes { request: 16_094, page: 3_906, seek: 0, read_latency: 80_000, write_latency: 70_000 };
        assert_eq!(times, expected);
    }

    #[test]
    fn a_rotational_one_seeks() {
        let rows = [load(DiskShape::Mixed, 4, 200.0, 4096.0, 1), load(DiskShape::PageRead, 1, 100.0, 4096.0, 9_000_000)];
        let times = times(&rows.iter().collect::<Vec<_>>(), true, 4096).unwrap();
        assert_eq!((times.request, times.seek + times.page, times.read_latency), (0, 5_000_000, 4_000_000));
    }

    #[test]
    fn without_a_lone_read_nothing_is_known() {
        assert_eq!(times(&[&load(DiskShape::Mixed, 1, 200.0, 4096.0, 1)], false, 4096), None);
    }
}
