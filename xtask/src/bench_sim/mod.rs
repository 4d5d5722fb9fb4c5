//! How fast the simulator is, beside libcachesim from PyPI: exact replays, curves, import, memory of a run.
//!
//! Both sides run in turn, on one thread, and are timed by the processor time they took; each round gives a ratio, and the
//! median of the ratios is printed with an interval. Miss counts must be equal, or the figures are worth nothing. The peer
//! decodes its records and hashes their ids while it replays, from memory that the file is mapped to. swaptune's figures are given
//! three times: for the replay alone (its page numbers are made once, at import), with reading its own form, and end to end from the
//! very file that the peer reads. Nothing is asserted but the counts.

mod import;
mod model;
mod pairs;
mod peer;

use std::fs::{self, File};
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};
use rustix::time::{ClockId, clock_gettime};
use swaptune_tiers::generate::generate;
use swaptune_tiers::replay::{Curve, REPLAYS, ReplayJob, ReplayRow, Sizes, exact_curve, run_all, sampled_curve};
use swaptune_tiers::trace::{KeptColumns, Trace, TraceFormat, TraceReading, read, write};

use pairs::Rounds;
use peer::Peer;

/// Where traces and the peer are kept between runs.
const FOLDER: &str = "target/bench-sim";
/// Rounds when `BENCH_SIM_ROUNDS` does not say how many.
const ROUNDS: usize = 10;

/// A reference trace, what is known of it, and how the peer is asked.
struct Reference {
    name: &'static str,
    spec: &'static str,
    size: u32,
    /// Policy here, there, and how many misses there are.
    contests: &'static [(&'static str, &'static str, u64)],
    /// Sizes of the peer's hash table, as powers of two: as it comes, and the best for this trace.
    hashpowers: [u32; 2],
}

const REFERENCES: [Reference; 2] = [
    Reference {
        name: "A",
        spec: "zipf:pages=1M,events=20M,theta=1,seed=1",
        size: 100_000,
        contests: &[("lru", "LRU", 4_435_543), ("fifo", "FIFO", 5_037_240), ("clock", "Clock", 4_297_763)],
        hashpowers: [24, 18],
    },
    Reference {
        name: "B",
        spec: "zipf:pages=10M,events=20M,theta=0.8,seed=2",
        size: 1_000_000,
        contests: &[("lru", "LRU", 10_209_821), ("fifo", "FIFO", 10_914_732), ("clock", "Clock", 10_006_745)],
        hashpowers: [24, 21],
    },
];

/// Traces of other kinds, on which both sides must count the same.
const OTHERS: [&str; 3] =
    ["idle:apps=40,pages=2000,seconds=3000", "heap:ram=40k,percent=150,events=2M", "hold:pages=200k,reads=3"];

/// Prints all figures.
pub fn run() -> anyhow::Result<()> {
    let (mut peer, rounds) = begin()?;
    equality(&mut peer)?;
    for reference in &REFERENCES {
        let files = Files::prepare(reference)?;
        let trace = load(&files.own)?;
        println!(
            "\ntrace {}: {}; {} pages accessed; memory of {} pages",
            reference.name,
            reference.spec,
            trace.page_count(),
            reference.size
        );
        contests(reference, &files, &trace, &mut peer, rounds)?;
        curves(reference, &trace, rounds)?;
        import::run(&files, &trace, &mut peer, rounds)?;
        model::run(
            &trace,
            reference.size,
            rounds,
            || load(&files.records),
            || {
                let mut ask = |hashpower| peer.replay(&files.records, "LRU", reference.size, hashpower);
                let [stock, tuned] = reference.hashpowers;
                Ok([ask(stock)?.0, ask(tuned)?.0])
            },
        )?;
        memory(reference, &files, &trace)?;
    }
    batch()
}

/// Prints how fast traces are read, and nothing else.
pub fn run_import() -> anyhow::Result<()> {
    let (mut peer, rounds) = begin()?;
    for reference in &REFERENCES {
        let files = Files::prepare(reference)?;
        println!("\ntrace {}: {}", reference.name, reference.spec);
        import::run(&files, &load(&files.own)?, &mut peer, rounds)?;
    }
    Ok(())
}

/// The peer, running, and how many rounds are wanted; prints the conditions.
fn begin() -> anyhow::Result<(Peer, usize)> {
    let rounds =
        std::env::var("BENCH_SIM_ROUNDS").map_or(Ok(ROUNDS), |text| text.parse()).context("BENCH_SIM_ROUNDS: a number")?;
    ensure!(rounds >= 2, "BENCH_SIM_ROUNDS: at least 2 rounds");
    let peer = Peer::start(Path::new(FOLDER))?;
    crate::bench::conditions();
    println!(
        "peer: libcachesim {} from PyPI; {rounds} rounds in turn; processor time of one thread; Mev/s = 10⁶ events a second",
        peer::VERSION
    );
    Ok((peer, rounds))
}

/// The files of a trace: swaptune's own form, and records for the peer.
struct Files {
    own: PathBuf,
    records: PathBuf,
}

impl Files {
    fn prepare(reference: &Reference) -> anyhow::Result<Self> {
        let path = |ending: &str| Path::new(FOLDER).join(format!("{}.{ending}", reference.name));
        let files = Self { own: path("swtrace"), records: path("oracleGeneral") };
        if files.own.exists() && files.records.exists() {
            return Ok(files);
        }
        let trace = generate(reference.spec)?;
        for (path, format) in [(&files.own, TraceFormat::Swaptune), (&files.records, TraceFormat::OracleGeneral)] {
            let unfinished = path.with_extension("unfinished");
            write(&trace, format, &mut std::io::BufWriter::with_capacity(1 << 20, File::create(&unfinished)?))?;
            fs::rename(&unfinished, path)?;
        }
        Ok(files)
    }
}

fn load(path: &Path) -> anyhow::Result<Trace> {
    let reading = TraceReading { format: None, layout: None, keep: KeptColumns::Pages };
    Ok(read(File::open(path)?, &reading)?)
}

/// Seconds of this thread's processor time that something takes, and what comes of it.
fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let now = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    };
    let start = now();
    let result = black_box(work());
    (now() - start, result)
}

/// Exact replays against the peer's.
fn contests(reference: &Reference, files: &Files, trace: &Trace, peer: &mut Peer, rounds: usize) -> anyhow::Result<()> {
    let events = trace.len() as f64 / 1e6;
    for &(policy, theirs, expected) in reference.contests {
        let row = ReplayRow::named(policy).with_context(|| format!("no policy {policy}"))?;
        let [stock, tuned] = reference.hashpowers;
        let mut times = Rounds::new(["replay alone", "own form and replay", "the peer's file and replay", "stock", "tuned"]);
        for _ in 0..rounds {
            let (replayed, misses) = timed(|| row.misses(trace, reference.size));
            let end_to_end = |path: &Path| timed(|| load(path).map(|trace| row.misses(&trace, reference.size)));
            let ((whole, again), (same, once_more)) = (end_to_end(&files.own), end_to_end(&files.records));
            let mut ask = |hashpower| peer.replay(&files.records, theirs, reference.size, hashpower);
            let ((stock, stock_ratio), (tuned, tuned_ratio)) = (ask(stock)?, ask(tuned)?);
            let count = |ratio: f64| (ratio * trace.len() as f64).round() as u64;
            let counts = [misses, again?, once_more?, count(stock_ratio), count(tuned_ratio)];
            if counts != [expected; 5] {
                bail!("{policy}: {counts:?} misses here, here, here, there, there; expected {expected} of all");
            }
            times.add([replayed, whole, same, stock, tuned]);
        }
        println!("  {policy}: {expected} misses on both sides");
        println!("    Mev/s: {}", times.rates(events));
        println!(
            "    replay alone to stock peer (hashpower {stock}): {}; to tuned peer ({tuned}): {}",
            times.ratio(3, 0),
            times.ratio(4, 0)
        );
        println!("    with reading our own form: {} to stock, {} to tuned", times.ratio(3, 1), times.ratio(4, 1));
        println!("    end to end, both from the same file: {} to stock, {} to tuned", times.ratio(3, 2), times.ratio(4, 2));
    }
    Ok(())
}

/// Miss-ratio curves, and how far a sample is off at 20 sizes.
fn curves(reference: &Reference, trace: &Trace, rounds: usize) -> anyhow::Result<()> {
    let lru = reference.contests[0].2;
    let pages = f64::from(trace.page_count());
    let sizes: Vec<u32> = (1..=20).map(|step| (pages * f64::from(step) / 21.0) as u32).collect();
    let mut times = Rounds::new(["exact", "sampled 1 %", "sampled 10 %"]);
    let mut made: Option<[Curve; 3]> = None;
    for _ in 0..rounds {
        let (exact_time, exact) = timed(|| exact_curve(trace));
        let (percent_time, percent) = timed(|| sampled_curve(trace, 0.01));
        let (tenth_time, tenth) = timed(|| sampled_curve(trace, 0.1));
        times.add([exact_time, percent_time, tenth_time]);
        made = Some([exact, percent, tenth]);
    }
    let [exact, percent, tenth] = made.context("at least one round")?;
    ensure!(exact.misses(&[reference.size]) == [lru], "the curve does not go through the replay");
    let truth = exact.miss_ratios(&sizes);
    let worst =
        |curve: &Curve| curve.miss_ratios(&sizes).iter().zip(&truth).map(|(a, b)| (a - b).abs() * 100.0).fold(0.0, f64::max);
    println!("  curves of lru");
    println!("    Mev/s: {}", times.rates(trace.len() as f64 / 1e6));
    println!("    largest error at 20 sizes: {:.2} points of 1 %, {:.2} of 10 %", worst(&percent), worst(&tenth));
    Ok(())
}

/// What a run takes beyond its trace: each in a process of its own, whose peak is set back once the trace is there.
fn memory(reference: &Reference, files: &Files, trace: &Trace) -> anyhow::Result<()> {
    let one = |&(policy, _, expected): &(&str, &str, u64)| -> anyhow::Result<String> {
        let (misses, bytes) = run_apart(policy, reference.size, &files.own)?;
        ensure!(misses == expected, "{policy}: {misses} misses, expected {expected}");
        Ok(format!("{policy} {:.1}", bytes / f64::from(trace.page_count())))
    };
    let mut all: Vec<String> = reference.contests.iter().map(one).collect::<Result<_, _>>()?;
    let model = run_apart(model::NAME, reference.size, &files.own)?.1;
    all.push(format!("full model {:.1}", model / f64::from(trace.page_count())));
    println!("  memory of a run beyond its trace, bytes a page: {}", all.join(", "));
    Ok(())
}

/// A replay in a process of its own: its misses, and the bytes by which it grew.
fn run_apart(policy: &str, size: u32, file: &Path) -> anyhow::Result<(u64, f64)> {
    let mut command = Command::new(std::env::current_exe()?);
    let output = command.args(["bench-sim", "memory", policy, &size.to_string()]).arg(file).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (misses, bytes) = text.trim().split_once(' ').with_context(|| format!("{policy}: {output:?}"))?;
    Ok((misses.parse()?, bytes.parse()?))
}

/// Prints the misses of one replay, or the major faults of the full model, and the bytes by which this process grew at most meanwhile.
pub fn run_memory(policy: &str, size: &str, file: &str) -> anyhow::Result<()> {
    let status = |name: &str| -> anyhow::Result<u64> {
        let text = fs::read_to_string("/proc/self/status")?;
        let line =
            text.lines().find_map(|line| line.strip_prefix(name)).with_context(|| format!("{name} in /proc/self/status"))?;
        Ok(line.trim_start_matches(':').trim().trim_end_matches("kB").trim().parse()?)
    };
    let trace = load(Path::new(file))?;
    // 5 sets the peak back to what is resident now, proc(5).
    fs::write("/proc/self/clear_refs", "5")?;
    let before = status("VmRSS")?;
    let misses = match ReplayRow::named(policy) {
        Some(row) => row.misses(&trace, size.parse()?),
        None if policy == model::NAME => model::faults(&trace, size.parse()?, 1)?,
        None => bail!("no policy {policy}"),
    };
    println!("{misses} {}", (status("VmHWM")? - before) * 1024);
    Ok(())
}

/// Traces of other kinds: the same misses on both sides.
fn equality(peer: &mut Peer) -> anyhow::Result<()> {
    let path = Path::new(FOLDER).join("other.oracleGeneral");
    for spec in OTHERS {
        let trace = generate(spec)?;
        write(&trace, TraceFormat::OracleGeneral, &mut std::io::BufWriter::new(File::create(&path)?))?;
        let sizes = [100, 10, 2].map(|part| trace.page_count() / part);
        for size in sizes {
            for &(policy, theirs, _) in REFERENCES[0].contests {
                let row = ReplayRow::named(policy).with_context(|| format!("no policy {policy}"))?;
                let (_, ratio) = peer.replay(&path, theirs, size, 20)?;
                let (here, there) = (row.misses(&trace, size), (ratio * trace.len() as f64).round() as u64);
                ensure!(here == there, "{spec}, {policy}, {size} pages: {here} misses here, {there} there");
            }
        }
        println!("equal misses: {spec}, {} events, lru, fifo and clock at {sizes:?} pages", trace.len());
    }
    Ok(fs::remove_file(path)?)
}

/// A thousand configurations of a trace of ten million events, on all processors, and forty of the full model.
fn batch() -> anyhow::Result<()> {
    let trace = generate("zipf:pages=1M,events=10M,theta=1,seed=3")?;
    let sizes = "0.1%..100%:334".parse::<Sizes>()?.of(trace.page_count());
    let jobs: Vec<ReplayJob> = REPLAYS.iter().flat_map(|policy| sizes.iter().map(|&size| ReplayJob { policy, size })).collect();
    let threads = std::thread::available_parallelism()?.get();
    let (wall, cpu) = timed_on_all(|| run_all(&trace, &jobs, threads, &|_| ()));
    let count = jobs.len();
    println!("\ntrace of 10 M events, {threads} threads");
    println!("  {count} configurations (three policies, misses only): {wall:.1} s, {cpu:.1} s of processor time");
    let sizes = "1%..50%:40".parse::<Sizes>()?.of(trace.page_count());
    let (wall, cpu) = timed_on_all(|| model::batch(&trace, &sizes, threads));
    let (count, thousand) = (sizes.len(), 1000.0 / sizes.len() as f64 / 60.0);
    println!(
        "  {count} configurations of the full model: {wall:.1} s, {cpu:.1} s of processor time; a thousand would take {:.1} minutes",
        wall * thousand
    );
    Ok(())
}

/// Seconds on the wall and of processor time of the whole process.
fn timed_on_all<T>(work: impl FnOnce() -> T) -> (f64, f64) {
    let processor = || {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    };
    let (start, before) = (std::time::Instant::now(), processor());
    black_box(work());
    (start.elapsed().as_secs_f64(), processor() - before)
}
