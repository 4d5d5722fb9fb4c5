//! The laws on a machine that is played: what they must never do, whatever happens to it.

mod units;

use proptest::prelude::*;
use swaptune_kernel::v;

use super::ground::tests::good as ground;
use super::pacing::CanaryPace;
use super::*;

const PAGE: u64 = 4096;

fn quiet() -> Moment {
    Moment {
        at_ms: 1_000_000,
        ram: Bytes::from_gib(4),
        page: Bytes(PAGE),
        pool: Bytes::from_mib(1700),
        stored: Bytes::from_mib(4200),
        swap: Bytes::from_gib(16),
        swap_free: Bytes::from_gib(10),
        limit_percent: 43,
        accept_percent: 90,
        memory_stall_us: Some(0),
        io_stall_us: Some(0),
        ..Moment::default()
    }
}

/// The same a second later.
fn later(moment: &Moment) -> Moment {
    Moment { at_ms: moment.at_ms + 1000, ..moment.clone() }
}

/// One whose target is never reached.
const NO_BURST: Burst =
    Burst { limit_percent: 1, accept_percent: 100, target: Bytes(0), allowed: Bytes(0), until_ms: 0, worker: WorkerKind::Kept };

fn laws(figures: Figures) -> Laws {
    let never = UnitPolicy { never: Some(true), ..UnitPolicy::default() };
    let units = [("never.service".to_owned(), never)].into_iter().collect();
    let wishes = Wishes { figures, wanted: WantedLaws { limit: true, pacing: true, reclaim: true, zram: true }, units };
    Laws::new(wishes, crate::profiles::auto::largest_pool, Budget::default(), Budget::default())
}

fn unit(path: &str, memory: Bytes) -> UnitMoment {
    UnitMoment { path: path.into(), id: 7, memory, anon: memory, may_swap: true, ..UnitMoment::default() }
}

#[test]
fn the_limit_follows_what_comes_back() {
    let mut laws = laws(Figures::default());
    let before = quiet();
    let now = later(&before);
    let moved = |decisions: &[Decision]| match decisions {
        [Decision::Limit(moved), ..] => Some((moved.from, moved.to)),
        _ => None,
    };
    // 1700 MiB are 97 % of 43 %: near its limit.
    assert_eq!(moved(&laws.decide(&ground(), 43, &before, &now)), Some((43, 48)));
    // It has just moved.
    let next = later(&now);
    assert_eq!(moved(&laws.decide(&ground(), 43, &now, &next)), None);
    // Tasks wait for pages of swap: a larger pool would have kept them.
    let swaps = Moment {
        at_ms: next.at_ms + 5000,
        memory_stall_us: Some(600_000),
        pswpin: next.pswpin + 20_000,
        refault_file: next.refault_file + 5000,
        ..next.clone()
    };
    assert_eq!(moved(&laws.decide(&ground(), 43, &next, &swaps)), Some((43, 48)), "{:?}", laws.standing);
    // They wait for pages of files: a smaller one would, but not below the configured one.
    let files = Moment {
        at_ms: swaps.at_ms + 5000,
        memory_stall_us: Some(1_200_000),
        refault_file: swaps.refault_file + 20_000,
        ..swaps.clone()
    };
    assert_eq!(moved(&laws.decide(&ground(), 43, &swaps, &files)), None, "{:?}", laws.standing);
    // Nor below the pool, which takes 41.5 %.
    assert_eq!(moved(&laws.decide(&ground(), 40, &swaps, &files)), Some((43, 42)), "{:?}", laws.standing);
    // The same pages without waiting lower nothing, and raise nothing.
    let idle = Moment { at_ms: files.at_ms + 5000, refault_file: files.refault_file + 20_000, ..files.clone() };
    assert_eq!(moved(&laws.decide(&ground(), 43, &files, &idle)), None, "{:?}", laws.standing);
    assert!(laws.standing.limit.contains("4000 pages of files a second come back"), "{}", laws.standing.limit);
}

#[test]
fn above_what_a_plan_sets_the_limit_rises_while_swap_disks_are_read() {
    let mut laws = laws(Figures::default());
    // At 1.19 : 1 a plan sets 43 %, which the pool nears.
    let before = Moment { stored: Bytes::from_mib(2031), ..quiet() };
    let now = later(&before);
    laws.wanted.pacing = false;
    assert!(laws.decide(&ground(), 43, &before, &now).is_empty());
    assert!(laws.standing.limit.contains("at its largest, 43 % unless swap disks are read"), "{}", laws.standing.limit);
    let reads = Moment { pswpin: now.pswpin + 5000, ..later(&now) };
    let decisions = laws.decide(&ground(), 43, &now, &reads);
    assert!(matches!(&decisions[..], [Decision::Limit(moved)] if moved.to == 48), "{decisions:?}");
    // More of files come back: what runs has no room to spare.
    let files = Moment { pswpin: reads.pswpin + 5000, refault_file: 6000, ..later(&reads) };
    assert!(laws.decide(&ground(), 43, &reads, &files).is_empty(), "{:?}", laws.standing);
    // Never above the figure for it.
    let most = Moment { limit_percent: 70, pool: Bytes::from_mib(2800), stored: Bytes::from_mib(5600), ..quiet() };
    let full = Moment { pswpin: most.pswpin + 5000, ..later(&most) };
    assert!(laws.decide(&ground(), 43, &most, &full).is_empty());
    assert!(laws.standing.limit.ends_with("at its largest, 70 %"), "{}", laws.standing.limit);
}

#[test]
fn a_pool_that_has_emptied_gets_its_configured_limit_back() {
    let mut laws = laws(Figures::default());
    let before = Moment { limit_percent: 55, pool: Bytes::from_mib(100), stored: Bytes::from_mib(300), ..quiet() };
    let decisions = laws.decide(&ground(), 43, &before, &later(&before));
    assert!(matches!(&decisions[..], [Decision::Limit(moved)] if moved.to == 43), "{decisions:?}");
}

#[test]
fn the_pool_is_drained_at_a_limit_that_cannot_rise() {
    let mut laws = laws(Figures::default());
    laws.wanted.limit = false;
    let before = quiet();
    let now = later(&before);
    let decisions = laws.decide(&ground(), 43, &before, &now);
    let [Decision::Pacing { burst, .. }, ..] = &decisions[..] else { panic!("{decisions:?} {:?}", laws.standing) };
    // 1700 of 4096 MiB are 41.5 %. The first burst takes a MiB and no more: with a limit of 1 %, 41 MiB, a threshold has steps of 0.4 MiB.
    let steps = now.of_ram(1).0 / PAGE * 4148 / 100 * PAGE;
    assert_eq!((burst.limit_percent, burst.accept_percent, burst.target), (1, 4148, Bytes(steps)));
    assert!(burst.target < now.pool && burst.target >= Bytes::from_mib(1698), "{}", burst.target);
    let poll = |change: fn(&mut Moment)| {
        let mut next = Moment { at_ms: now.at_ms + 20, ..now.clone() };
        change(&mut next);
        next
    };
    let mut goes_on = |next: &Moment| laws.pacing.goes_on(&laws.figures, burst, &now, &now, next);
    assert_eq!(goes_on(&poll(|_| ())), Ok(()));
    // A page or two that come in are no load; a hundred are, as are pages that go past zswap.
    assert_eq!(goes_on(&poll(|next| next.pswpin += 2)), Ok(()));
    assert!(goes_on(&poll(|next| next.pswpin += 100)).unwrap_err().contains("come from swap"));
    assert!(goes_on(&poll(|next| next.pswpout += 100)).unwrap_err().contains("past zswap"));
    assert!(goes_on(&poll(|next| (next.pswpout, next.zswpwb) = (100, 100))).is_ok());
    assert!(goes_on(&poll(|next| next.pool = Bytes::from_mib(1698))).unwrap_err().contains("at its target"));
    assert!(goes_on(&Moment { at_ms: burst.until_ms, ..now.clone() }).unwrap_err().contains("took"));
}

#[test]
fn a_pool_that_cannot_be_written_back_is_left_alone_for_longer_each_time() {
    let mut laws = laws(Figures::default());
    laws.wanted.limit = false;
    let begins = |laws: &mut Laws, was: &Moment, now: &Moment| {
        let decisions = laws.decide(&ground(), 43, was, now);
        decisions.iter().any(|decision| matches!(decision, Decision::Pacing { .. }))
    };
    let (mut now, mut began) = (quiet(), Vec::new());
    let entries = now.stored.0 / PAGE;
    for second in 0..1000 {
        let next = later(&now);
        let was = std::mem::replace(&mut now, next);
        if begins(&mut laws, &was, &now) {
            began.push(second);
            // A canary has the worker visit 16 entries, and each may be visited twice: four such bursts.
            laws.pacing.ended(&NO_BURST, &now, entries / 32);
        }
    }
    assert_eq!(began[..9], [0, 1, 2, 3, 63, 64, 65, 66, 186]);
    assert!(laws.standing.pacing.contains("left alone for 16 min"), "{}", laws.standing.pacing);
    // Pages that are written back begin it all anew.
    now = Moment { at_ms: now.at_ms + 3_600_000, zswpwb: now.zswpwb + 257, ..now };
    let next = later(&now);
    assert!(!begins(&mut laws, &now, &next) && laws.standing.pacing.contains("still written to"), "{}", laws.standing.pacing);
    let (now, next) = (later(&next), later(&later(&next)));
    assert!(begins(&mut laws, &now, &next));
    laws.pacing.ended(&NO_BURST, &next, u64::MAX);
    assert!(begins(&mut laws, &next, &later(&next)));
}

#[test]
fn a_burst_takes_what_the_disk_takes_by_the_next_look() {
    let mut laws = laws(Figures::default());
    laws.wanted.limit = false;
    let mut now = quiet();
    // What a burst takes, MiB in powers of two, when one before it has not reached its target, or left pages to be written a second later.
    let mut next = |wrote: u64, reached: bool, queued: u64| {
        let look = |laws: &mut Laws, now: &mut Moment, writeback: u64| {
            let was = now.clone();
            *now = Moment { writeback, ..later(&was) };
            let decisions = laws.decide(&ground(), 43, &was, now);
            decisions.iter().find_map(|decision| match decision {
                Decision::Pacing { burst, .. } => Some(*burst),
                _ => None,
            })
        };
        if queued > 256 {
            assert_eq!(look(&mut laws, &mut now, queued), None, "none begins while the disk is written to");
            assert!(laws.standing.pacing.contains("still written to"), "{}", laws.standing.pacing);
        }
        let burst = look(&mut laws, &mut now, queued.min(256)).unwrap();
        let taken = now.pool.0 - burst.target.0;
        now = Moment { pool: if reached { burst.target } else { now.pool }, zswpwb: now.zswpwb + wrote, ..now.clone() };
        laws.pacing.ended(&burst, &now, 100);
        now.pool = quiet().pool;
        taken.ilog2() - 20
    };
    // A burst of which nothing is written says nothing of the disk.
    assert_eq!([0, 300].map(|wrote| next(wrote, true, 0)), [0, 0]);
    assert_eq!([true, true, true, false, true].map(|reached| next(300, reached, 256)), [1, 2, 3, 3, 2]);
    assert_eq!([0, 1000, 1000, 1000, 1000].map(|queued| next(300, true, queued)), [3, 2, 1, 0, 0]);
}

#[test]
fn canaries_that_are_written_count_and_are_no_paging_of_others() {
    let before = quiet();
    let now = later(&before);
    let begin = |kernel, budget_mib: u64| {
        let figures = Figures { pacing_budget: budget_mib << 20, ..Figures::default() };
        let mut laws = laws(figures);
        laws.wanted.limit = false;
        let ground = Ground { kernel: Some(kernel), memory_groups: false, writeback_switch: false, ..ground() };
        let decisions = laws.decide(&ground, 43, &before, &now);
        let burst = decisions.iter().find_map(|decision| match decision {
            Decision::Pacing { burst, .. } => Some(*burst),
            _ => None,
        });
        (laws, burst)
    };
    let paces = |worker: WorkerKind| [false, true].map(|writes| worker.pace(writes));
    assert_eq!(paces(WorkerKind::Kept), [CanaryPace::Fast; 2]);
    assert_eq!(paces(WorkerKind::OnePage), [CanaryPace::Fast; 2]);
    assert_eq!(paces(WorkerKind::ToThreshold), [CanaryPace::Steady, CanaryPace::Slow]);
    // 6.6 writes down to the threshold, as later kernels do; 6.2 one page for each store above the limit, which is where it ends: 41.3 %.
    let (mut laws, burst) = begin(v(6, 6), 100);
    let burst = burst.unwrap();
    assert_eq!((burst.worker, burst.limit_percent, burst.accept_percent), (WorkerKind::ToThreshold, 1, 4148));
    let one_page = begin(v(6, 2), 100).1.unwrap();
    assert_eq!((one_page.worker, one_page.limit_percent, one_page.accept_percent), (WorkerKind::OnePage, 41, 100));
    assert_eq!(one_page.target, Bytes::from_mib(1692));
    assert!(one_page.allowed < Bytes::from_mib(100), "a margin stays");
    let mut goes_on = |pages: u64, canaries: u64| {
        let next = Moment { at_ms: now.at_ms + 20, pswpout: pages, canaries, ..now.clone() };
        laws.pacing.goes_on(&laws.figures, &burst, &now, &now, &next)
    };
    assert_eq!(goes_on(100, 100), Ok(()));
    assert!(goes_on(200, 100).unwrap_err().contains("past zswap"));
    assert!(goes_on(30_000, 30_000).unwrap_err().contains("as much as a burst may"));
    laws.pacing.spend(&now, &Moment { canaries: 10, zswpwb: 5, ..later(&now) });
    assert_eq!(laws.pacing.budget().left(now.at_ms, Bytes(100 * PAGE)), Bytes(85 * PAGE));
    // Too little is left for canaries, too.
    assert_eq!(begin(v(6, 6), 8).1, None);
}

#[test]
fn after_paging_it_is_left_alone() {
    let figures = Figures { pacing_hold_ms: 3000, ..Figures::default() };
    let mut laws = laws(figures);
    laws.wanted.limit = false;
    let before = quiet();
    let busy = Moment { pswpin: 1000, ..later(&before) };
    let is_drained = |decisions: Vec<Decision>| decisions.iter().any(|decision| matches!(decision, Decision::Pacing { .. }));
    assert!(!is_drained(laws.decide(&ground(), 43, &before, &busy)));
    let (first, second) = (later(&busy), later(&later(&later(&busy))));
    assert!(!is_drained(laws.decide(&ground(), 43, &busy, &first)));
    assert!(is_drained(laws.decide(&ground(), 43, &first, &second)));
}

/// What happens to a machine in a tick.
#[derive(Clone, Debug)]
struct Event {
    pool_mib: u64,
    ratio_tenths: u64,
    files: u64,
    stall_us: u64,
    swapped_in: u64,
    wait_ms: u64,
}

fn event() -> impl Strategy<Value = Event> {
    (0_u64..3000, 10_u64..60, 0_u64..4096, prop_oneof![Just(0), 0_u64..300_000], prop_oneof![Just(0), 0_u64..5000], 1_u64..10_000)
        .prop_map(|(pool_mib, ratio_tenths, files, stall_us, swapped_in, wait_ms)| Event {
            pool_mib,
            ratio_tenths,
            files,
            stall_us,
            swapped_in,
            wait_ms,
        })
}

fn happen(now: &Moment, event: &Event, limit_percent: u64) -> Moment {
    let pool = Bytes::from_mib(event.pool_mib);
    Moment {
        at_ms: now.at_ms + event.wait_ms,
        pool,
        stored: Bytes(pool.0 * event.ratio_tenths / 10),
        refault_file: now.refault_file + event.files,
        memory_stall_us: now.memory_stall_us.map(|us| us + event.stall_us),
        pswpin: now.pswpin + event.swapped_in,
        limit_percent,
        ..now.clone()
    }
}

/// A burst on a machine whose kernel writes `speed` pages between two looks, down to the threshold or for a canary each, and that others may
/// disturb at one of them. Gives the last look, and what the machine is when the worker has come to its own end.
fn play(laws: &mut Laws, burst: &Burst, began: &Moment, speed: u64, disturbed_at: u64) -> (Moment, Moment) {
    let limit = began.of_ram(burst.limit_percent).0;
    // Nothing is written back between the threshold and the limit where each canary has one page written.
    let threshold = if burst.worker == WorkerKind::OnePage { limit } else { limit / PAGE * burst.accept_percent / 100 * PAGE };
    let write = |was: &Moment, most: u64| {
        let mut now = Moment { at_ms: was.at_ms + 20, ..was.clone() };
        // A page that leaves takes its part of the pool with it.
        let each = (now.pool.0 * PAGE).div_ceil(now.stored.0.max(1)).max(1);
        let canaries = match burst.worker {
            WorkerKind::Kept => 0,
            WorkerKind::ToThreshold => 2,
            WorkerKind::OnePage => most.min(200),
        };
        let most = if burst.worker == WorkerKind::OnePage { canaries } else { most };
        let pages = (now.pool.0.saturating_sub(threshold) / each).min(most);
        now.pool.0 -= pages * each;
        now.stored.0 = now.stored.0.saturating_sub(pages * PAGE);
        now.canaries += canaries;
        (now.pswpout, now.zswpwb) = (now.pswpout + pages + canaries, now.zswpwb + pages);
        now
    };
    let mut last = began.clone();
    for poll in 0..10_000 {
        let mut now = write(&last, speed);
        now.pswpin += if poll == disturbed_at { 1000 } else { 0 };
        let goes_on = laws.pacing.goes_on(&laws.figures, burst, began, &last, &now);
        last = now;
        if goes_on.is_err() {
            // A worker that has started goes on; canaries are offered no more.
            let rest = if burst.worker == WorkerKind::OnePage { 0 } else { u64::MAX };
            return (last.clone(), Moment { canaries: last.canaries, ..write(&last, rest) });
        }
    }
    panic!("a burst without an end: {burst:?}");
}

proptest! {
    #[test]
    fn the_limit_stays_within_its_bounds(
        events in proptest::collection::vec(event(), 1..60), home in 1_u64..90, largest in 1_u64..90, step in 1_u64..10,
    ) {
        let figures = Figures { limit_max_percent: largest, limit_step_percent: step, ..Figures::default() };
        let mut laws = laws(figures);
        let (mut now, mut limit) = (quiet(), home);
        for event in &events {
            let next = happen(&now, event, limit);
            let bounds = laws.bounds(home, &next);
            prop_assert!(bounds.floor <= home && home <= bounds.planned);
            prop_assert!(bounds.planned <= bounds.ceiling && bounds.ceiling == home.max(largest));
            for decision in laws.decide(&ground(), home, &now, &next) {
                if let Decision::Limit(moved) = decision {
                    prop_assert_eq!(moved.from, limit);
                    prop_assert!(moved.to >= bounds.floor.min(limit));
                    prop_assert!(moved.to <= bounds.ceiling.max(limit), "{:?} {:?}", moved, bounds);
                    prop_assert!(moved.to == home || moved.to.abs_diff(limit) <= step);
                    // Lowered, it never refuses what the pool holds already.
                    prop_assert!(moved.to >= limit || next.of_ram(moved.to) > next.pool || moved.to == home);
                    limit = moved.to;
                }
            }
            now = next;
        }
    }

    #[test]
    fn the_same_moments_make_the_same_decisions(events in proptest::collection::vec(event(), 1..40)) {
        let run = || {
            let (mut laws, mut now, mut all) = (laws(Figures::default()), quiet(), Vec::new());
            for event in &events {
                let next = happen(&now, event, 43);
                all.push(laws.decide(&ground(), 43, &now, &next));
                now = next;
            }
            (all, laws.standing)
        };
        prop_assert_eq!(run(), run());
    }

    #[test]
    fn bursts_end_within_their_bounds_and_budget(
        pools in proptest::collection::vec((1200_u64..1762, 10_u64..50, 0_u64..40), 1..60),
        speed in 1_u64..2000, budget_mib in 0_u64..400, chunk_mib in 1_u64..200,
        kernel in prop_oneof![Just((6, 2)), Just((6, 6)), Just((6, 12))],
    ) {
        let ground = Ground { kernel: Some(v(kernel.0, kernel.1)), ..ground() };
        let figures = Figures {
            pacing_budget: budget_mib << 20,
            pacing_chunk: chunk_mib << 20,
            ..Figures::default()
        };
        let mut laws = laws(figures);
        laws.wanted.limit = false;
        let mut now = quiet();
        let mut last = now.clone();
        for (pool_mib, ratio_tenths, disturbed_at) in pools {
            let pool = Bytes::from_mib(pool_mib);
            // A quiet second, at the end of which all that was written since the moment before is known.
            let quiet = Moment { at_ms: now.at_ms + 1000, ..now.clone() };
            laws.pacing.spend(&last, &quiet);
            now = Moment { pool, stored: Bytes(pool.0 * ratio_tenths / 10), ..later(&quiet) };
            for decision in laws.decide(&ground, 43, &quiet, &now) {
                let Decision::Pacing { burst, .. } = decision else { continue };
                prop_assert_eq!(burst.worker, ground::worker(&ground));
                prop_assert!((1..=43).contains(&burst.limit_percent) && burst.target < now.pool);
                prop_assert!(now.of_ram(burst.limit_percent) <= now.pool, "no store would be refused");
                let goal = now.limit().percent(laws.figures.pacing_target_percent);
                prop_assert!(burst.target.0 + now.ram.percent(1).0 >= goal.0);
                let (end, after) = play(&mut laws, &burst, &now, speed, disturbed_at);
                prop_assert!(end.at_ms <= burst.until_ms + 20);
                (last, now) = (now, after);
            }
            last = if last.zswpwb == now.zswpwb { now.clone() } else { last };
            // All within one day, so that all counts.
            let written = (now.zswpwb + now.canaries) * PAGE;
            prop_assert!(written <= budget_mib << 20, "{} MiB of {budget_mib}", written >> 20);
        }
    }
}
