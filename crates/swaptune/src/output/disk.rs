//! What `bench disk` measured, as a table, a chart and sentences.

use std::fmt::Write;

use serde::Serialize;
use swaptune_core::Facts;
use swaptune_core::facts::BlockDevice;
use swaptune_core::measurement::{Conditions, DiskFigures, DiskShape, Estimate, IoFigures, areas_gain, sweet_spot};
use swaptune_core::stats::Nanos;

use super::text::{columns, count, wrap};

/// Columns of the longest bar of the chart.
const BAR: usize = 30;

/// What the rows say.
#[derive(Debug, Serialize)]
pub struct DiskReport<'a> {
    #[serde(skip)]
    rows: &'a [&'a DiskFigures],
    /// What the machine was doing when it began.
    #[serde(skip)]
    began: &'a Conditions,
    /// Bound on the p99 of reads.
    bound: Nanos,
    /// For each disk that was measured alone: the most that keeps the bound.
    sweet_spots: Vec<SweetSpot>,
    /// For each load on several areas: its gain over the same load on one.
    gains: Vec<SpreadGain>,
}

#[derive(Debug, Serialize)]
struct SweetSpot {
    disks: Vec<String>,
    /// Jobs, operations a second and p99 of reads; none when no point keeps the bound.
    best: Option<(u32, f64, Nanos)>,
}

#[derive(Debug, Serialize)]
struct SpreadGain {
    shape: DiskShape,
    jobs: u32,
    disks: Vec<String>,
    areas: usize,
    against: String,
    /// Operations a second by those of one area; none with too few rounds for an interval.
    gain: Option<Estimate>,
}

impl<'a> DiskReport<'a> {
    /// What the rows of several areas say against one; `bound` is the longest p99 that counts.
    pub fn new(rows: &'a [&'a DiskFigures], began: &'a Conditions, bound: Nanos) -> Self {
        let single: Vec<&DiskFigures> = rows.iter().copied().filter(|row| row.places.len() == 1).collect();
        let mut disks: Vec<&Vec<String>> = single.iter().map(|row| &row.disks).collect();
        disks.dedup();
        disks.sort_unstable();
        disks.dedup();
        let spot = |disks: &Vec<String>| {
            let best = sweet_spot(single.iter().copied().filter(|row| row.disks == *disks), bound);
            let best = best.and_then(|row| Some((row.jobs, row.iops(), row.read?.latency.p99)));
            SweetSpot { disks: disks.clone(), best }
        };
        let sweet_spots = disks.into_iter().map(spot).collect();
        let gains = rows.iter().filter(|row| row.places.len() > 1).filter_map(|row| gain(row, &single)).collect();
        Self { rows, began, bound, sweet_spots, gains }
    }

    /// All of it.
    pub fn text(&self, fio: &str, facts: &Facts) -> String {
        let mut out = String::new();
        if let Some(row) = self.rows.first() {
            let rounds = count(row.rounds.len(), "round");
            let _ =
                writeln!(out, "{}, {} each, {fio} {}, {rounds} of {} s", self.disks(facts), row.size, row.engine, row.seconds);
        }
        for (shape, title) in TITLES {
            let rows: Vec<&DiskFigures> = self.rows.iter().copied().filter(|row| row.shape == *shape).collect();
            if !rows.is_empty() {
                let _ = write!(out, "\n{title}\n{}", self.table(&rows));
            }
        }
        out + &self.chart() + "\n" + &self.sentences()
    }

    fn disks(&self, facts: &Facts) -> String {
        let mut names: Vec<&String> = self.rows.iter().flat_map(|row| &row.disks).collect();
        names.sort_unstable();
        names.dedup();
        let disk = |name: &&String| facts.block_device(name).map_or_else(|| (*name).clone(), kind);
        names.iter().map(disk).collect::<Vec<_>>().join(", ")
    }

    fn table(&self, rows: &[&DiskFigures]) -> String {
        let head = ["ON", "JOBS", "READ IOPS", "WRITE IOPS", "MB/s", "READ p50", "p99", "p99.9", "WRITE p99", "AGAINST ONE"];
        let mut cells = vec![head.map(str::to_owned).to_vec()];
        for row in rows {
            let iops = |io: Option<IoFigures>| io.map_or_else(none, |io| format!("{:.0}", io.iops));
            let read =
                |of: fn(&IoFigures) -> Option<Nanos>| row.read.as_ref().and_then(of).map_or_else(none, |nanos| nanos.to_string());
            let write = row.write.map_or_else(none, |io| io.latency.p99.to_string());
            let gain = self.gains.iter().find(|gain| gain.is_of(row)).and_then(|gain| gain.gain);
            cells.push(vec![
                on(row),
                row.jobs.to_string(),
                iops(row.read),
                iops(row.write),
                format!("{:.0}", row.bytes_per_second() / 1e6),
                read(|io| Some(io.latency.p50)),
                read(|io| Some(io.latency.p99)),
                read(|io| io.latency.p999),
                write,
                gain.map_or_else(String::new, |gain| format!("{:.2} ({:.2}–{:.2})", gain.value, gain.low, gain.high)),
            ]);
        }
        columns(&cells, &[1, 2, 3, 4, 5, 6, 7, 8], 2)
    }

    /// Bars of the mixed load on single areas: what more jobs bring, and what they cost.
    fn chart(&self) -> String {
        let mixed = |row: &&&DiskFigures| row.shape == DiskShape::Mixed && row.places.len() == 1;
        let rows: Vec<(&DiskFigures, Nanos)> =
            self.rows.iter().filter(mixed).filter_map(|row| Some((*row, row.read?.latency.p99))).collect();
        if rows.len() < 2 {
            return String::new();
        }
        let most = rows.iter().map(|(row, _)| row.iops()).fold(1.0, f64::max);
        let longest = rows.iter().map(|(_, p99)| p99.0 as f64).fold(1.0, f64::max);
        let mut cells = vec![["ON", "JOBS", "IOPS", "", "READ p99", ""].map(str::to_owned).to_vec()];
        for (row, p99) in rows {
            let over = if p99 > self.bound { format!(" > {}", self.bound) } else { String::new() };
            cells.push(vec![
                on(row),
                row.jobs.to_string(),
                format!("{:.0}", row.iops()),
                bar(row.iops() / most),
                p99.to_string(),
                bar(p99.0 as f64 / longest / 2.0) + &over,
            ]);
        }
        format!("\n{}", columns(&cells, &[1, 2, 4], 2))
    }

    fn sentences(&self) -> String {
        let spots = self.sweet_spots.iter().map(|spot| self.spot(spot));
        let gains = self.gains.iter().filter_map(SpreadGain::sentence);
        spots.chain(gains).chain(self.caveats()).map(|sentence| wrap(&sentence, 0)).collect()
    }

    /// More was to be run than there are processors, before anything was measured.
    fn was_busy(&self) -> bool {
        self.began.load > f64::from(self.began.cpus)
    }

    /// What else these figures contain.
    fn caveats(&self) -> Vec<String> {
        let mut caveats = Vec::new();
        if self.was_busy() {
            caveats.push(format!(
                "note: the machine was busy (load {:.1}, {}): latencies contain the wait for a processor. Measure again when it is quiet.",
                self.began.load,
                count(self.began.cpus as usize, "processor")
            ));
        }
        if let Some(hypervisor) = &self.began.hypervisor {
            let of = if hypervisor == "unknown" { String::new() } else { format!(" of {hypervisor}") };
            caveats.push(format!(
                "note: this is a guest{of}: the host may answer out of its own memory, and shares the disk with others."
            ));
        }
        caveats
    }

    fn spot(&self, spot: &SweetSpot) -> String {
        let disks = spot.disks.join("+");
        match spot.best {
            Some((jobs, iops, p99)) => format!(
                "sweet spot of {disks}: {}, {iops:.0} IOPS with 99 of 100 reads within {p99} (bound {}). With up to {} requests \
                 under way at once a fault still comes back in time; more get more done together and each waits longer.",
                count(jobs as usize, "job"),
                self.bound,
                jobs * 4
            ),
            None if self.was_busy() => format!(
                "no sweet spot on {disks}: at none of these loads 99 of 100 reads came back within {}, but that may be the machine and \
                 not the disk.",
                self.bound
            ),
            None => format!(
                "no sweet spot on {disks}: at none of these loads 99 of 100 reads come back within {}. Let as little as possible \
                 fault on this disk: a larger compressed pool, less swappiness.",
                self.bound
            ),
        }
    }
}

impl SpreadGain {
    fn is_of(&self, row: &DiskFigures) -> bool {
        (self.shape, self.jobs, self.areas, &self.disks) == (row.shape, row.jobs, row.places.len(), &row.disks)
    }

    /// What the comparison means, for the load of swapping only.
    fn sentence(&self) -> Option<String> {
        let gain = self.gain.filter(|_| self.shape == DiskShape::Mixed)?;
        let verdict = match (gain.low > 1.0, gain.high < 1.0) {
            (true, _) => "faster",
            (_, true) => "slower",
            _ => "no difference that these rounds show",
        };
        Some(format!(
            "{} areas on {} against one on {}, {}: {:.2} times the operations ({:.2} to {:.2}): {verdict}.",
            self.areas,
            self.disks.join("+"),
            self.against,
            count(self.jobs as usize, "job"),
            gain.value,
            gain.low,
            gain.high
        ))
    }
}

/// The loads in the order of the report.
const TITLES: &[(DiskShape, &str)] = &[
    (DiskShape::Mixed, "swap under pressure: 4 KiB at random, 70 % reads, 30 % writes, 4 requests a job"),
    (DiskShape::ClusterWrite, "reclaim: clusters of 2 MiB written in requests of 512 KiB"),
    (DiskShape::PageRead, "faults: one page at random, one request a job"),
    (DiskShape::BufferedRead, "sequential reads of 2 MiB through an empty page cache (hdparm -t)"),
    (DiskShape::CachedRead, "the same out of the page cache: RAM, not the disk (hdparm -T)"),
];

/// The gain over the first single area on a disk of this row, measured in the same group.
fn gain(row: &DiskFigures, single: &[&DiskFigures]) -> Option<SpreadGain> {
    let one = single
        .iter()
        .find(|one| (one.shape, one.jobs) == (row.shape, row.jobs) && one.disks.iter().all(|disk| row.disks.contains(disk)))?;
    Some(SpreadGain {
        shape: row.shape,
        jobs: row.jobs,
        disks: row.disks.clone(),
        areas: row.places.len(),
        against: one.disks.join("+"),
        gain: areas_gain(row, one),
    })
}

fn kind(device: &BlockDevice) -> String {
    let spins = match device.rotational.value() {
        Some(true) => ", rotational by the kernel's word",
        Some(false) => ", not rotational",
        None => "",
    };
    format!("{} ({:?}{spins})", device.name, device.transport).to_lowercase()
}

fn on(row: &DiskFigures) -> String {
    format!("{} of {}", count(row.places.len(), "area"), row.disks.join("+"))
}

fn none() -> String {
    "–".into()
}

fn bar(share: f64) -> String {
    "█".repeat(((BAR as f64 * share).round() as usize).clamp(1, BAR))
}

#[cfg(test)]
mod tests {
    use super::*;
    use swaptune_core::Bytes;
    use swaptune_core::stats::Quantiles;

    fn row(shape: DiskShape, areas: usize, jobs: u32, iops: f64, p99: u64) -> DiskFigures {
        let mut latencies = vec![p99; 100];
        let latency = Quantiles::of(&mut latencies, Nanos(0)).unwrap();
        let io = |iops: f64| Some(IoFigures { iops, bytes_per_second: iops * 4096.0, latency });
        DiskFigures {
            disks: vec!["vda".into()],
            identities: Vec::new(),
            places: (1..=areas).map(|number| format!("scratch file {number} in /var/tmp")).collect(),
            shape,
            jobs,
            size: Bytes::from_gib(1),
            seconds: 2.0,
            engine: "libaio".into(),
            rounds: vec![iops, iops * 1.02, iops * 0.98],
            read: io(iops * 0.7),
            write: io(iops * 0.3),
        }
    }

    /// A guide's own table, whole. It names 8 to 12 jobs for a p99 of about 1 ms; with a bound of 1 ms, which is the default, it is one.
    #[test]
    fn the_documents_own_table_has_its_sweet_spot_at_one_job_with_the_default_bound() {
        let rows = [
            row(DiskShape::Mixed, 1, 1, 24_400.0, 803_000),
            row(DiskShape::Mixed, 1, 8, 25_700.0, 1_123_000),
            row(DiskShape::Mixed, 1, 16, 33_600.0, 1_483_000),
            row(DiskShape::Mixed, 1, 32, 42_900.0, 1_713_000),
        ];
        let rows: Vec<&DiskFigures> = rows.iter().collect();
        let words = |bound| {
            let text = DiskReport::new(&rows, &Conditions::default(), Nanos(bound)).text("fio-3.33", &Facts::default());
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let default = words(1_000_000);
        assert!(default.contains("sweet spot of vda: 1 job, 24400 IOPS with 99 of 100 reads within 803"), "{default}");
        assert!(default.contains("(bound 1.0 ms)") && default.contains("1.5 ms █████████████ > 1.0 ms"), "{default}");
        let wider = words(1_200_000);
        assert!(
            wider.contains("sweet spot of vda: 8 jobs, 25700 IOPS with 99 of 100 reads within 1.1 ms (bound 1.2 ms)"),
            "{wider}"
        );
        assert!(wider.contains("up to 32 requests"), "{wider}");
        assert!(words(1000).contains("no sweet spot on vda"));
    }

    /// What 2.5 times the operations with several areas would look like.
    #[test]
    fn a_gain_of_several_areas_is_told() {
        let rows = [
            row(DiskShape::Mixed, 1, 1, 24_400.0, 803_000),
            row(DiskShape::Mixed, 4, 1, 61_000.0, 803_000),
            row(DiskShape::Mixed, 1, 8, 25_700.0, 1_123_000),
            row(DiskShape::Mixed, 4, 8, 25_700.0, 1_123_000),
        ];
        let rows: Vec<&DiskFigures> = rows.iter().collect();
        let text = DiskReport::new(&rows, &Conditions::default(), Nanos(1_000_000)).text("fio-3.33", &Facts::default());
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("4 areas on vda against one on vda, 1 job: 2.50 times the operations (2.50 to 2.50): faster."));
        assert!(words.contains("8 jobs: 1.00 times the operations (1.00 to 1.00): no difference"), "{text}");
    }

    #[test]
    fn a_busy_guest_is_told_so() {
        let row = row(DiskShape::Mixed, 1, 1, 1.0, 2);
        let text = |conditions: &Conditions| DiskReport::new(&[&row], conditions, Nanos(1)).text("fio-3.33", &Facts::default());
        let busy = Conditions { load: 7.4, cpus: 2, hypervisor: Some("kvm".into()), ..Conditions::default() };
        let words = text(&busy);
        assert!(words.contains("busy (load 7.4, 2 processors)") && words.contains("a guest of kvm"), "{words}");
        let flat = words.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains("may be the machine and not the disk") && !flat.contains("less swappiness"), "{words}");
        let quiet = text(&Conditions { cpus: 2, ..Conditions::default() });
        assert!(!quiet.contains("note:") && quiet.contains("less swappiness"), "{quiet}");
    }

    #[test]
    fn each_load_has_its_table() {
        let page = DiskFigures { write: None, ..row(DiskShape::PageRead, 1, 1, 10_000.0, 90_000) };
        let text = DiskReport::new(&[&page], &Conditions::default(), Nanos(1_000_000)).text("fio-3.33", &Facts::default());
        assert!(text.contains("faults: one page at random") && text.contains("7000           –"), "{text}");
        assert!(!text.contains("reclaim:"), "{text}");
    }
}
