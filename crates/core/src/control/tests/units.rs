//! The law of idle units on a machine that is played.

use super::*;

#[test]
fn an_idle_unit_gives_memory_in_small_parts_until_it_takes_it_back() {
    let figures = Figures { reclaim_idle_s: 60, reclaim_cpu_us: 1000, ..Figures::default() };
    let mut laws = laws(figures);
    let mut now = Moment { pool: Bytes(0), stored: Bytes(0), ..quiet() };
    let units = |at_ms: u64, memory: Bytes, busy_us: u64, refaults: u64| {
        let make = |path: &str, cpu_us: u64| UnitMoment { at_ms, cpu_us, refaults, ..unit(path, memory) };
        let protected = UnitMoment { protected: memory, ..make("/protected.service", 0) };
        let closed = UnitMoment { may_swap: false, ..make("/closed.service", 0) };
        vec![
            make("/busy.service", busy_us),
            make("/system.slice/idle.service", 0),
            make("/a/never.service", 0),
            protected,
            closed,
        ]
    };
    let mut probes = Vec::new();
    for second in 0..75 {
        let mut next = later(&now);
        next.units = units(next.at_ms, Bytes::from_mib(100), second * 10_000, 0);
        for decision in laws.decide(&ground(), 43, &now, &next) {
            let Decision::Reclaim(probe) = decision else { panic!("{decision:?}") };
            laws.reclaim.took(&laws.figures, &probe, next.at_ms, probe.bytes);
            probes.push((second, probe.path, probe.bytes));
        }
        now = next;
    }
    // The first one after a minute, then every five seconds; never the busy one, nor what is protected or left out.
    let expect = |second| (second, "/system.slice/idle.service".to_owned(), Bytes::from_mib(5));
    assert_eq!(probes, [expect(60), expect(65), expect(70)]);
    // It takes back a thousand pages in a second: left alone for five minutes.
    for second in 0..200 {
        let mut next = later(&now);
        next.units = units(next.at_ms, Bytes::from_mib(100), 0, 1000);
        let decisions = laws.decide(&ground(), 43, &now, &next);
        let of_idle = decisions.iter().any(|d| matches!(d, Decision::Reclaim(probe) if probe.path.ends_with("/idle.service")));
        assert!(!of_idle, "{second}: {decisions:?}");
        now = next;
    }
}

/// Seconds at which a unit of 100 MiB is probed; `at` gives the time of each look, and what the unit took back until then.
fn probed(laws: &mut Laws, looks: u64, at: impl Fn(u64) -> (u64, u64)) -> Vec<u64> {
    let mut probes = Vec::new();
    let mut now = Moment { pool: Bytes(0), stored: Bytes(0), ..quiet() };
    for look in 1..looks {
        let (at_ms, refaults) = at(look);
        let units = vec![UnitMoment { at_ms, refaults, ..unit("/a.scope", Bytes::from_mib(100)) }];
        let next = Moment { at_ms, units, ..now.clone() };
        for decision in laws.decide(&ground(), 43, &now, &next) {
            let Decision::Reclaim(probe) = decision else { panic!("{decision:?}") };
            match laws.reclaim.still(&laws.figures, &probe, &next.units[0]) {
                Some(bytes) => {
                    laws.reclaim.took(&laws.figures, &probe, at_ms, bytes);
                    probes.push(look);
                }
                None => laws.reclaim.took(&laws.figures, &probe, at_ms, Bytes(0)),
            }
        }
        now = next;
    }
    probes
}

#[test]
fn a_machine_that_slept_is_not_idle() {
    let figures = || Figures { reclaim_idle_s: 60, reclaim_pause_s: 1, ..Figures::default() };
    let second = |look: u64| (1_000_000 + look * 1000, 0);
    // Half a minute of looks, an hour of sleep: nothing is probed before a minute of looks has gone by since.
    let slept = |look: u64| (1_000_000 + look * 1000 + if look > 30 { 3_600_000 } else { 0 }, 0);
    assert_eq!(probed(&mut laws(figures()), 65, second).first(), Some(&61));
    let mut laws = laws(figures());
    assert_eq!(probed(&mut laws, 32, slept), [0_u64; 0]);
    assert!(laws.standing.reclaim.contains("not looked at for 3601 s"), "{}", laws.standing.reclaim);
    let mut again = self::laws(figures());
    assert_eq!(probed(&mut again, 95, slept).first(), Some(&91));
}

#[test]
fn a_unit_that_takes_pages_back_is_left_alone_for_as_long_as_it_was_told() {
    let mut laws = laws(Figures { reclaim_idle_s: 60, reclaim_pause_s: 1, ..Figures::default() });
    // The fresh look before a probe sees what came back first: that look takes nothing, and does not shorten the wait.
    let probe = Probe { path: "/a.scope".into(), id: 7, bytes: Bytes::from_mib(5), why: String::new() };
    let at = |at_ms: u64, refaults: u64| UnitMoment { at_ms, refaults, ..unit("/a.scope", Bytes::from_mib(100)) };
    let learn = |laws: &mut Laws, unit: UnitMoment| {
        let moment = Moment { at_ms: unit.at_ms, units: vec![unit], ..quiet() };
        laws.reclaim.learn(&laws.figures, &moment);
    };
    (0..=7).for_each(|tens| learn(&mut laws, at(1_000_000 + tens * 10_000, 0)));
    assert!(laws.reclaim.still(&laws.figures, &probe, &at(1_070_500, 0)).is_some());
    for (round, left_alone_s) in [(0, 300), (1, 600), (2, 1200)] {
        let now = 2_000_000 + round * 2_000_000;
        (0..=7).for_each(|tens| learn(&mut laws, at(now + tens * 10_000, round * 100_000)));
        laws.reclaim.took(&laws.figures, &probe, now + 70_000, Bytes::from_mib(5));
        let back = at(now + 71_000, (round + 1) * 100_000);
        assert_eq!(laws.reclaim.still(&laws.figures, &probe, &back), None);
        laws.reclaim.took(&laws.figures, &probe, now + 71_000, Bytes(0));
        let may = |laws: &mut Laws, at_s: u64| {
            let fresh = at(now + 71_000 + at_s * 1000, (round + 1) * 100_000);
            let mut law = laws.reclaim.clone();
            (1..at_s / 10).for_each(|tens| {
                let unit = at(now + 71_000 + tens * 10_000, (round + 1) * 100_000);
                law.learn(&laws.figures, &Moment { at_ms: unit.at_ms, units: vec![unit], ..quiet() });
            });
            law.still(&laws.figures, &probe, &fresh).is_some()
        };
        assert_eq!([left_alone_s - 10, left_alone_s + 10].map(|at_s| may(&mut laws, at_s)), [false, true], "{round}");
    }
}

#[test]
fn a_unit_is_reclaimed_by_its_own_figures() {
    let mut laws = laws(Figures { reclaim_idle_s: 60, ..Figures::default() });
    let soon = UnitPolicy { idle_s: Some(20), floor: Some(Bytes::from_mib(90)), ..UnitPolicy::default() };
    laws.reclaim.heed([("soon.slice".to_owned(), soon)].into_iter().collect());
    let mut now = Moment { pool: Bytes(0), stored: Bytes(0), ..quiet() };
    let (mut left, mut probes) = ([Bytes::from_mib(100); 2], Vec::new());
    for second in 0..300 {
        let mut next = later(&now);
        let units = ["/soon.slice/a.service", "/b.service"];
        next.units =
            units.iter().zip(left).map(|(path, memory)| UnitMoment { at_ms: next.at_ms, ..unit(path, memory) }).collect();
        for decision in laws.decide(&ground(), 43, &now, &next) {
            let Decision::Reclaim(probe) = decision else { panic!("{decision:?}") };
            let asked = units.iter().position(|path| *path == probe.path).unwrap();
            left[asked].0 -= probe.bytes.0;
            laws.reclaim.took(&laws.figures, &probe, next.at_ms, probe.bytes);
            probes.push((asked, second));
        }
        now = next;
    }
    let first = |unit| probes.iter().find(|(asked, _)| *asked == unit).map(|(_, second)| *second);
    assert_eq!((first(0), first(1)), (Some(20), Some(60)), "{probes:?}");
    assert!(left[0] >= Bytes::from_mib(90) && left[1] < Bytes::from_mib(20), "{left:?}");
}

#[test]
fn a_group_that_was_made_again_begins_anew() {
    let mut laws = laws(Figures { reclaim_idle_s: 5, ..Figures::default() });
    let mut now = Moment { pool: Bytes(0), stored: Bytes(0), ..quiet() };
    for second in 0..60 {
        let mut next = later(&now);
        // Another group at this path each fourth second: none of them is idle for five.
        next.units = vec![UnitMoment { at_ms: next.at_ms, id: second / 4, ..unit("/a.scope", Bytes::from_mib(100)) }];
        assert_eq!(laws.decide(&ground(), 43, &now, &next), []);
        now = next;
    }
}

#[test]
fn what_is_still_out_is_at_most_what_was_taken_and_what_is_in_swap() {
    let mut reclaim = Reclaim::default();
    let figures = Figures::default();
    let mut at_ms = 1000;
    let mut see = |reclaim: &mut Reclaim, swapped: Option<u64>| {
        at_ms += 1000;
        let unit = UnitMoment { at_ms, swapped: swapped.map(Bytes::from_mib), ..unit("/a.service", Bytes::from_mib(100)) };
        reclaim.learn(&figures, &Moment { units: vec![unit], ..quiet() });
        reclaim.out()
    };
    assert_eq!(reclaim.out(), None, "nothing was read yet");
    assert_eq!(see(&mut reclaim, None), None, "swap is not counted by group");
    assert_eq!(see(&mut reclaim, Some(50)), Some(Bytes(0)), "what was in swap before is not ours");
    let probe = Probe { path: "/a.service".into(), id: 7, bytes: Bytes::from_mib(5), why: String::new() };
    reclaim.took(&figures, &probe, 3000, Bytes::from_mib(5));
    assert_eq!(see(&mut reclaim, Some(54)), Some(Bytes::from_mib(5)));
    assert_eq!(see(&mut reclaim, Some(3)), Some(Bytes::from_mib(3)), "it came back");
    assert_eq!(see(&mut reclaim, Some(60)), Some(Bytes::from_mib(3)), "what is swapped later is not ours");
}

proptest! {
    #[test]
    fn probes_stay_above_what_is_protected_and_within_the_budget(
        units in proptest::collection::vec((0_u64..500, 0_u64..500, 0_u64..500), 1..8),
        budget_mib in 0_u64..100, probe_mib in 1_u64..64, ticks in 1_u64..200,
    ) {
        let figures = Figures {
            reclaim_idle_s: 5,
            reclaim_budget: budget_mib << 20,
            reclaim_probe: probe_mib << 20,
            ..Figures::default()
        };
        let mut laws = laws(figures);
        let mut now = Moment { pool: Bytes(0), stored: Bytes(0), ..quiet() };
        let mut memory: Vec<u64> = units.iter().map(|(memory, _, _)| memory << 20).collect();
        let mut taken = 0;
        for _ in 0..ticks {
            let mut next = later(&now);
            next.units = units.iter().zip(&memory).enumerate().map(|(number, ((_, protected, anon), memory))| UnitMoment {
                at_ms: next.at_ms,
                protected: Bytes::from_mib(*protected),
                anon: Bytes((anon << 20).min(*memory)),
                ..unit(&format!("/{number}"), Bytes(*memory))
            }).collect();
            for decision in laws.decide(&ground(), 43, &now, &next) {
                let Decision::Reclaim(probe) = decision else { continue };
                let number: usize = probe.path[1..].parse().unwrap();
                memory[number] -= probe.bytes.0;
                taken += probe.bytes.0;
                let protected = units[number].1 << 20;
                prop_assert!(memory[number] >= protected.max(laws.figures.reclaim_floor));
                prop_assert!(probe.bytes.0 <= laws.figures.reclaim_probe);
                laws.reclaim.took(&laws.figures, &probe, next.at_ms, probe.bytes);
            }
            now = next;
        }
        prop_assert!(taken <= budget_mib << 20);
    }
}
