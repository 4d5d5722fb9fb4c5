//! The judgement itself.

use super::behaviour::{Destination, SwapBehaviour};
use super::checks::{self, CounterCheck, moved};
use super::landing::{Landing, landings, surplus};
use super::observation::{ClassObservation, Impossible, Observation};
use super::problems::{self, Problem, problem};
use super::{ClassProof, IncompressiblePages, Proof, Verdict};
use crate::canary::CanaryClass;
use crate::memory_map::Ratio;
use crate::units::Bytes;

/// What this observation means.
#[must_use]
pub fn judge(observation: &Observation) -> Proof {
    if let Some(impossible) = &observation.impossible {
        return impossible_proof(observation, impossible.clone());
    }
    let behaviour = &observation.behaviour;
    let classes: Vec<_> = observation.classes.iter().map(|class| class_proof(behaviour, class)).collect();
    if observation.classes.iter().all(|class| class.swapped == 0) && !any_corrupt(observation) {
        let why = problems::why_stuck(&observation.cgroup, observation.classes.first());
        return impossible_proof(observation, why);
    }
    let zswap_takes_text = classes.iter().any(|class| {
        class.class == CanaryClass::Text && class.landed.first().is_some_and(|landing| landing.destination == Destination::Zswap)
    });
    let checks: Vec<_> = observation
        .classes
        .iter()
        .zip(&classes)
        .flat_map(|(class, proof)| checks::check(behaviour, class, &proof.landed, zswap_takes_text))
        .collect();
    let mut problems: Vec<_> = observation
        .classes
        .iter()
        .zip(&classes)
        .flat_map(|(class, proof)| problems::of_class(observation, class, proof))
        .collect();
    problems.extend(undocumented(behaviour, &checks));
    merge_alike(&mut problems);
    problems.sort_by_key(|problem| !matches!(problem.code.as_str(), "corrupt" | "unreadable"));
    let verdict = verdict(observation, &classes);
    let bytes_checked = Bytes(observation.classes.iter().map(|class| class.bytes_checked.0).sum());
    let documented = checks.iter().all(|check| check.holds);
    Proof {
        summary: summary(verdict, observation, &classes, bytes_checked),
        verdict,
        impossible: None,
        ratio: ratio(observation, &classes),
        incompressible: incompressible(&classes),
        documented,
        checks,
        bytes_checked,
        problems,
        notes: notes(observation),
        overhead_store: observation.overhead_store,
        overhead_load: observation.overhead_load,
        elapsed: observation.elapsed,
        classes,
    }
}

/// One problem that several classes have is one problem.
fn merge_alike(problems: &mut Vec<Problem>) {
    let mut merged: Vec<Problem> = Vec::new();
    for problem in problems.drain(..) {
        match merged.iter_mut().find(|known| known.code == problem.code && known.cure == problem.cure) {
            Some(known) => known.text = format!("{}; {}", known.text, problem.text),
            None => merged.push(problem),
        }
    }
    *problems = merged;
}

fn any_corrupt(observation: &Observation) -> bool {
    observation.classes.iter().any(|class| class.corrupt.is_some() || class.unreadable > 0)
}

fn impossible_proof(observation: &Observation, why: Impossible) -> Proof {
    Proof {
        verdict: Verdict::Impossible,
        summary: format!("nothing can be proved: {}", why.reason),
        classes: Vec::new(),
        ratio: None,
        incompressible: None,
        checks: Vec::new(),
        documented: true,
        bytes_checked: Bytes(observation.classes.iter().map(|class| class.bytes_checked.0).sum()),
        problems: vec![problem("impossible", why.reason.clone(), why.remedy.clone())],
        impossible: Some(why),
        notes: observation.blind.clone(),
        overhead_store: observation.overhead_store,
        overhead_load: observation.overhead_load,
        elapsed: observation.elapsed,
    }
}

fn class_proof(behaviour: &SwapBehaviour, class: &ClassObservation) -> ClassProof {
    let (expected, because) = behaviour.expect(class.class);
    let landed = landings(behaviour, class);
    let there = pages_in(&landed, expected);
    // What did not leave the list of another CPU says nothing; a few more may be in the swap cache.
    let stayed = class.pages.saturating_sub(class.swapped);
    let counted = if stayed <= STRAGGLERS.min(class.pages / STRAGGLERS_PART) { class.swapped } else { class.pages };
    let as_planned = there + counted / 20 >= counted;
    ClassProof {
        class: class.class,
        pages: class.pages,
        expected,
        because,
        text: sentence(class, &landed),
        landed,
        areas: class.areas.iter().map(|(path, pages)| (path.clone(), *pages)).collect(),
        as_planned,
        store: class.store,
        load: class.load,
    }
}

fn pages_in(landed: &[Landing], destination: Destination) -> u64 {
    landed.iter().filter(|landing| landing.destination == destination).map(|landing| landing.pages).sum()
}

/// Pages that may be caught on the list of a CPU that this process was moved away from, on which they cannot be found:
/// 31 at most per CPU (`PAGEVEC_SIZE`), rarely on more than two.
const STRAGGLERS: u64 = 62;
/// The part of a class that they are at most: with pages of 64 KiB a class has fewer than 62.
const STRAGGLERS_PART: u64 = 4;

/// Counters that a reader can look up to see the same.
const DECIDING: [&str; 5] = ["vmstat.swpout_zero", "vmstat.zswpout", "vmstat.pswpout", "vmstat.zswpwb", "zswap.stored_pages"];

fn sentence(class: &ClassObservation, landed: &[Landing]) -> String {
    let places: Vec<_> = landed
        .iter()
        .enumerate()
        .map(|(rank, landing)| {
            let of = if rank == 0 { format!(" of {} {} pages", class.pages, class.class) } else { String::new() };
            let certain =
                if landing.at_least == landing.pages { String::new() } else { format!(" (certainly {})", landing.at_least) };
            format!("{}{of} {}{certain}", landing.pages, landing.destination.place())
        })
        .collect();
    let counters: Vec<_> = DECIDING
        .iter()
        .filter_map(|name| Some((name, moved(&class.stored, &class.before, name)?)))
        .filter(|(_, delta)| *delta != 0)
        .map(|(name, delta)| format!("{name} {delta:+}"))
        .collect();
    let counters = if counters.is_empty() { "no deciding counter moved".to_owned() } else { counters.join(", ") };
    format!("{}: {counters}", places.join(", "))
}

fn verdict(observation: &Observation, classes: &[ClassProof]) -> Verdict {
    if any_corrupt(observation) {
        return Verdict::Corrupt;
    }
    if classes.iter().any(|class| !class.as_planned) {
        return Verdict::NotAsPlanned;
    }
    let certain = |(class, proof): (&ClassObservation, &ClassProof)| {
        let sure: u64 = proof.landed.iter().filter(|at| at.destination == proof.expected).map(|at| at.at_least).sum();
        // Without noise a lower bound below the likely number is only the swap cache speaking.
        sure * 10 >= class.pages * 9 || surplus(class) * 50 <= class.pages
    };
    match observation.classes.iter().zip(classes).all(certain) && unread(observation).is_none() {
        true => Verdict::Proved,
        false => Verdict::Undecided,
    }
}

/// A class of which more than a tenth had a copy in the swap cache when it was read back: those pages came from RAM, not from where they had gone.
fn unread(observation: &Observation) -> Option<&ClassObservation> {
    observation.classes.iter().find(|class| class.cached * 10 > class.pages)
}

fn undecided(observation: &Observation, classes: &[ClassProof]) -> String {
    let Some(class) = unread(observation) else {
        return "other processes swapped too much meanwhile to say where pages went: run it again".into();
    };
    let expected = classes.iter().find(|proof| proof.class == class.class).map_or(Destination::Disk, |proof| proof.expected);
    format!(
        "{} of {} {} pages had a copy in RAM and were not read back from {}: run it again when less than half of swap is in use",
        class.cached,
        class.pages,
        class.class,
        expected.name()
    )
}

fn summary(verdict: Verdict, observation: &Observation, classes: &[ClassProof], checked: Bytes) -> String {
    let landed = |class: &ClassProof| {
        let place = class.landed.first().map_or(Destination::Ram, |landing| landing.destination);
        format!("{} pages {}", class.class, place.place())
    };
    let strays = classes.iter().filter(|class| !class.as_planned);
    match verdict {
        Verdict::Proved => {
            let places: Vec<_> = classes.iter().map(landed).collect();
            format!("as planned: {}; {}", places.join(", "), came_back(checked))
        }
        Verdict::NotAsPlanned => {
            let places: Vec<_> = strays.map(|class| format!("{}, planned {}", landed(class), class.expected.place())).collect();
            format!("not as planned: {}; {}", places.join("; "), came_back(checked))
        }
        Verdict::Corrupt => "data came back changed or not at all: this swap is not safe to use".into(),
        Verdict::Undecided => undecided(observation, classes),
        Verdict::Impossible => "nothing can be proved".into(),
    }
}

fn came_back(checked: Bytes) -> String {
    if checked.0 == 0 { "no page was read back".into() } else { format!("all {checked} that had left RAM came back unchanged") }
}

/// The text canary's size before and after, from the gauges of where it landed.
fn ratio(observation: &Observation, classes: &[ClassProof]) -> Option<Ratio> {
    let (class, proof) = observation.classes.iter().zip(classes).find(|(class, _)| class.class == CanaryClass::Text)?;
    let landing = proof.landed.first()?;
    let page = observation.behaviour.page_size;
    let moved = |name: &str| moved(&class.stored, &class.before, name).filter(|delta| *delta > 0).map(i64::unsigned_abs);
    let (original, ram) = match landing.destination {
        Destination::Zswap => {
            let original = moved("meminfo.Zswapped").or_else(|| Some(moved("zswap.stored_pages")? * page.0))?;
            (original, moved("meminfo.Zswap").or_else(|| moved("zswap.pool_total_size"))?)
        }
        Destination::Zram => (moved("zram.*.orig_data_size")?, moved("zram.*.mem_used_total")?),
        _ => return None,
    };
    // Gauges that others moved too say nothing about our pages.
    let ours = landing.pages * page.0;
    (original.abs_diff(ours) * 10 <= ours).then(|| Ratio::of(Bytes(original), Bytes(ram))).flatten()
}

fn incompressible(classes: &[ClassProof]) -> Option<IncompressiblePages> {
    let class = classes.iter().find(|class| class.class == CanaryClass::Random)?;
    Some(match class.landed.first()?.destination {
        Destination::Zswap | Destination::ZeroMark => IncompressiblePages::StoredRaw,
        Destination::Zram => IncompressiblePages::StoredInZram,
        Destination::Disk => IncompressiblePages::WrittenToDisk,
        Destination::Ram => IncompressiblePages::KeptInRam,
    })
}

fn undocumented(behaviour: &SwapBehaviour, checks: &[CounterCheck]) -> Option<Problem> {
    let wrong: Vec<_> = checks
        .iter()
        .filter(|check| !check.holds)
        .map(|check| format!("{} {:+} for {} pages, expected {}", check.counter, check.moved, check.class, check.expected))
        .collect();
    let kernel = behaviour.version.map_or_else(|| "this kernel".to_owned(), |version| format!("Linux {version}"));
    (!wrong.is_empty()).then(|| {
        problem(
            "counters",
            format!("counters did not move as {kernel} documents: {}", wrong.join("; ")),
            "run it again when nothing else swaps; if it stays so, this kernel is patched: report it with the JSON output",
        )
    })
}

fn notes(observation: &Observation) -> Vec<String> {
    let mut notes = observation.blind.clone();
    let noise: u64 = observation.classes.iter().map(surplus).sum();
    if noise > 0 {
        notes.push(format!("other processes swapped {noise} pages meanwhile, as far as the counters tell"));
    }
    let written = observation.classes.iter().filter_map(|class| class.loaded.since(&class.before, "vmstat.zswpwb"));
    let written: i64 = written.filter(|delta| *delta > 0).sum();
    if written > 0 {
        notes.push(format!("zswap wrote {written} pages back to disk meanwhile (vmstat.zswpwb +{written})"));
    }
    let cached: u64 = observation.classes.iter().map(|class| class.cached).sum();
    if cached > 0 {
        notes.push(format!(
            "{cached} pages still had a copy in the swap cache when they were read back: not in the load latencies"
        ));
    }
    notes
}
