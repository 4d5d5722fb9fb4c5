//! The model's generator `services` done to real processes: they write their memory once and sleep; all wake once in turn, then one drawn
//! at a time, and touch pages in a row. Nothing runs meanwhile but the one that is awake.

use std::fs;
use std::hint::black_box;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::{Kind, Outcome, PAGE, WORDS, fill, say, sys};

/// How long nothing may have moved before the next wake.
const QUIET: Duration = Duration::from_millis(100);

/// What a load is made of, as the generator's parameters name it; shares in percent.
struct Load {
    apps: usize,
    pages: usize,
    wakes: usize,
    touch: usize,
    write: usize,
    seed: u64,
}

/// Starts the services, each in a group of its own below a folder of control groups, and wakes them. Says `started` and waits for a line before
/// the first writes a page, so that what processes take by themselves can be told.
pub fn drive(groups: &str, words: &[&str]) -> Outcome {
    let numbers: Result<Vec<usize>, _> = words.iter().map(|word| word.parse()).collect();
    let Ok(&[apps, pages, wakes, touch, write, seed]) = numbers.as_deref() else { return Err((2, crate::USAGE.to_owned())) };
    run(groups, &Load { apps, pages, wakes, touch, write, seed: seed as u64 }).map_err(|error| (1, format!("services: {error}")))
}

fn run(groups: &str, load: &Load) -> Result<(), std::io::Error> {
    let mut services = (0..load.apps).map(|number| Service::start(groups, number, load)).collect::<Result<Vec<_>, _>>()?;
    say("started");
    std::io::stdin().read_line(&mut String::new())?;
    let mut random = Random::new(load.seed);
    let touched = load.pages * load.touch / 100;
    for wake in 0..2 * load.apps + load.wakes {
        let (is_start, is_settling) = (wake < load.apps, wake < 2 * load.apps);
        let app = if is_settling { wake % load.apps } else { random.below(load.apps) };
        let (first, count) = if is_start { (0, load.pages) } else { (random.below(load.pages - touched + 1), touched) };
        services[app].wake(&format!("{} {first} {count} {}", if is_start { 100 } else { load.write }, random.next()))?;
        let mut before = moved()?;
        loop {
            sleep(QUIET);
            let now = moved()?;
            if now == before {
                break;
            }
            before = now;
        }
    }
    say("done");
    // They live until what came of it has been read.
    std::io::stdin().read_line(&mut String::new())?;
    services.iter_mut().try_for_each(|service| service.process.kill())
}

/// What kswapd and the worker of zswap have done so far.
fn moved() -> Result<u64, std::io::Error> {
    let is_theirs = |name: &str| ["pgscan_kswapd", "pswpout", "zswpwb"].contains(&name);
    let counters = fs::read_to_string("/proc/vmstat")?;
    let pairs = counters.lines().filter_map(|line| line.split_once(' ')).filter(|(name, _)| is_theirs(name));
    Ok(pairs.filter_map(|(_, value)| value.parse::<u64>().ok()).sum())
}

/// A process that touches its pages when it is told to.
struct Service {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Service {
    fn start(groups: &str, number: usize, load: &Load) -> Result<Self, std::io::Error> {
        let group = format!("{groups}/{number}");
        fs::create_dir_all(&group)?;
        let mut process = Command::new("/proc/self/exe")
            .args(["service", &group, &load.pages.to_string(), &(number * load.pages).to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (input, output) = (process.stdin.take(), process.stdout.take());
        let (Some(input), Some(output)) = (input, output) else { return Err(std::io::Error::other("no pipes")) };
        let mut service = Self { process, input, output: BufReader::new(output) };
        service.answer()?;
        Ok(service)
    }

    fn wake(&mut self, order: &str) -> Result<(), std::io::Error> {
        writeln!(self.input, "{order}")?;
        self.answer()
    }

    fn answer(&mut self) -> Result<(), std::io::Error> {
        match self.output.read_line(&mut String::new())? {
            0 => Err(std::io::Error::other("a service is gone")),
            _ => Ok(()),
        }
    }
}

/// A service, which lives in a control group and fills pages of a kind with contents that begin at a number. What each line orders: percent of the
/// accesses that write, first page, count of pages, and a seed.
pub fn serve(group: &str, pages: &str, number: &str, kind: Kind) -> Outcome {
    let count = |word: &str| word.parse::<usize>().map_err(|_| (2, crate::USAGE.to_owned()));
    let (pages, number) = (count(pages)?, count(number)?);
    fs::write(format!("{group}/cgroup.procs"), "0").map_err(|error| (1, format!("{group}: {error}")))?;
    let memory = sys::map(pages * PAGE, false).map_err(|error| (1, format!("mmap: {error}")))?;
    let mut filled = 0;
    say("ready");
    for line in std::io::stdin().lines().map_while(Result::ok) {
        let words: Vec<u64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
        let &[write, first, count, seed] = words.as_slice() else { return Err((2, crate::USAGE.to_owned())) };
        let mut random = Random::new(seed);
        for page in first as usize..(first + count) as usize {
            let content = &mut memory[page * WORDS..(page + 1) * WORDS];
            if page >= filled {
                fill(number + page, kind, content);
                filled = page + 1;
            } else if random.below(100) < write as usize {
                content[0] += 1;
            } else {
                black_box(content[0]);
            }
        }
        say("done");
    }
    Ok(())
}

/// `SplitMix64`.
struct Random(u64);

impl Random {
    const fn new(seed: u64) -> Self {
        Self(seed)
    }

    const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below a bound.
    const fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}
