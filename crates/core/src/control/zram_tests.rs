//! Devices that are played: what rounds do in which order, and what they must never do.

use proptest::prelude::*;
use swaptune_kernel::v;

use super::super::ground::{WantedLaws, zram_is_off};
use super::super::moment::Stalled;
use super::*;

fn attributes() -> Attributes {
    Attributes {
        backing_dev: Some("/dev/vdb".into()),
        spins: Some(false),
        recomp_algorithm: Some("#1: lzo lzo-rle lz4 [zstd] \n".into()),
    }
}

fn ground(devices: Vec<DeviceGround>) -> Ground {
    Ground { zram: devices, areas: 1, only_zram: true, ..Ground::default() }
}

fn able() -> Ground {
    ground(vec![DeviceGround::of("zram0", &attributes(), Some(v(6, 18)))])
}

fn found(used_mib: u64, written: u64) -> DeviceMoment {
    DeviceMoment { name: "zram0".into(), id: 7, used: Bytes::from_mib(used_mib), written: Bytes(written), limited: false }
}

fn moment(at_ms: u64, device: DeviceMoment) -> Moment {
    Moment { at_ms, memory_stall_us: Some(0), io_stall_us: Some(0), zram: vec![device], ..Moment::default() }
}

fn quiet() -> Span {
    Span {
        ms: 1000,
        swapped_in: 0.0,
        past_zswap: 0.0,
        refaults: 0.0,
        memory_stall: Some(0.0),
        io_stall: Some(0.0),
        written_back: 0,
    }
}

/// A device whose pages are played: how much is idle and not yet written, and what a call writes.
struct Played {
    law: UpkeepState,
    figures: Figures,
    at_ms: u64,
    written: u64,
}

impl Played {
    fn new(figures: Figures) -> Self {
        Self { law: UpkeepState::default(), figures, at_ms: 1_000_000, written: 0 }
    }

    /// A second later: what is to be done.
    fn tick(&mut self, ground: &Ground) -> Result<Chore, String> {
        self.at_ms += 1000;
        let now = moment(self.at_ms, found(500, self.written));
        self.law.learn(&now);
        self.law.decide(&self.figures, ground, &quiet(), &now)
    }

    fn did(&mut self, chore: &Chore, outcome: UpkeepOutcome) {
        if let UpkeepOutcome::Wrote(bytes) = outcome {
            self.written += bytes.0;
        }
        self.law.did(&self.figures, chore, self.at_ms, outcome);
    }
}

#[test]
fn a_round_marks_writes_what_does_not_compress_first_and_compresses_the_rest() {
    let mut played = Played::new(Figures::default());
    let mut round = Vec::new();
    let mut parts = [Bytes::from_mib(4), Bytes(0), Bytes::from_mib(4), Bytes::from_mib(1), Bytes(0)].into_iter();
    while let Ok(chore) = played.tick(&able()) {
        let outcome = match chore.work {
            UpkeepWork::Mark { .. } => UpkeepOutcome::Marked { by_age: true },
            UpkeepWork::WriteBack { .. } => UpkeepOutcome::Wrote(parts.next().unwrap()),
            UpkeepWork::Recompress { .. } => UpkeepOutcome::Recompressed(Bytes(0)),
        };
        played.did(&chore, outcome);
        round.push(chore.work);
    }
    let write = |huge| UpkeepWork::WriteBack { huge, bytes: Bytes::from_mib(4) };
    let again = UpkeepWork::Recompress { priority: 1, bytes: Bytes::from_mib(16) };
    let mark = UpkeepWork::Mark { age_s: Some(3600) };
    assert_eq!(round, [mark, write(true), write(true), write(false), write(false), write(false), again]);
    // Then it rests.
    assert!(played.tick(&able()).unwrap_err().contains("looked at again in"));
    played.at_ms += 600_000;
    assert_eq!(played.tick(&able()).unwrap().work, mark);
}

#[test]
fn without_times_all_are_marked_and_what_is_marked_an_age_later_is_idle() {
    let mut played = Played::new(Figures::default());
    let chore = played.tick(&able()).unwrap();
    played.did(&chore, UpkeepOutcome::Marked { by_age: false });
    assert!(played.tick(&able()).unwrap_err().contains("looked at again in 3599 s"));
    played.at_ms += 3_600_000;
    let chore = played.tick(&able()).unwrap();
    assert!(matches!(chore.work, UpkeepWork::WriteBack { huge: true, .. }));
    // An age is not asked for again.
    played.did(&chore, UpkeepOutcome::Left);
    played.at_ms += 600_000;
    assert_eq!(played.tick(&able()).unwrap().work, UpkeepWork::Mark { age_s: None });
}

#[test]
fn time_asleep_is_no_age() {
    // The kernel's ages count it, and so would a round that waits for marks to go.
    for by_age in [true, false] {
        let mut played = Played::new(Figures::default());
        let chore = played.tick(&able()).unwrap();
        played.did(&chore, UpkeepOutcome::Marked { by_age });
        if by_age {
            let chore = played.tick(&able()).unwrap();
            played.did(&chore, UpkeepOutcome::Left);
        }
        let before = moment(played.at_ms, found(500, 0));
        played.at_ms += 7_200_000;
        played.law.slept(&played.figures, &before, &moment(played.at_ms, found(500, 0)));
        assert!(played.tick(&able()).unwrap_err().contains("looked at again in 3599 s"), "{by_age}");
        played.at_ms += 3_600_000;
        assert!(played.tick(&able()).is_ok(), "{by_age}");
    }
}

#[test]
fn a_full_disk_leaves_compressing() {
    let mut played = Played::new(Figures::default());
    let chore = played.tick(&able()).unwrap();
    played.did(&chore, UpkeepOutcome::Marked { by_age: true });
    let chore = played.tick(&able()).unwrap();
    played.did(&chore, UpkeepOutcome::Full);
    assert!(matches!(played.tick(&able()).unwrap().work, UpkeepWork::Recompress { .. }));
}

#[test]
fn another_device_of_the_same_name_begins_anew() {
    let mut played = Played::new(Figures::default());
    let chore = played.tick(&able()).unwrap();
    played.did(&chore, UpkeepOutcome::Marked { by_age: true });
    assert!(matches!(played.tick(&able()).unwrap().work, UpkeepWork::WriteBack { .. }));
    for device in [DeviceMoment { id: 8, ..found(500, 0) }, found(500, 0)] {
        let now = moment(played.at_ms, DeviceMoment { written: Bytes(4096), ..device.clone() });
        played.law.learn(&now);
        // Removed and made again, or reset: what was written began anew.
        let now = moment(played.at_ms, device);
        played.law.learn(&now);
        let chore = played.law.decide(&played.figures, &able(), &quiet(), &now).unwrap();
        assert!(matches!(chore.work, UpkeepWork::Mark { .. }), "{chore:?}");
    }
    // One that is gone is forgotten, and what came of its last chore is no error.
    played.law.learn(&Moment::default());
    played.did(&chore, UpkeepOutcome::Left);
    let said = |law: &mut UpkeepState, now: &Moment| law.decide(&Figures::default(), &able(), &quiet(), now).unwrap_err();
    assert_eq!(said(&mut played.law, &Moment::default()), "no zram device is swap any more");
    // One that came since the machine was looked at has to wait.
    let other = moment(played.at_ms, DeviceMoment { name: "zram1".into(), ..found(500, 0) });
    played.law.learn(&other);
    assert!(said(&mut played.law, &other).starts_with("zram1: it is new"));
}

#[test]
fn it_waits_for_quiet() {
    let figures = Figures::default();
    for (span, why) in [
        (Span { memory_stall: None, ..quiet() }, "does not say"),
        (Span { memory_stall: Some(2000.0), ..quiet() }, "waits for memory"),
        (Span { io_stall: Some(200_000.0), ..quiet() }, "waits for I/O"),
        (Span { swapped_in: 100.0, ..quiet() }, "come from swap"),
        (Span { past_zswap: 100.0, ..quiet() }, "go to swap"),
    ] {
        let mut law = UpkeepState::default();
        let now = moment(1_000_000, found(500, 0));
        law.learn(&now);
        assert!(law.decide(&figures, &able(), &span, &now).unwrap_err().contains(why));
        let later = |ms: u64| moment(1_000_000 + ms, found(500, 0));
        assert!(law.decide(&figures, &able(), &quiet(), &later(4000)).unwrap_err().contains("left alone"));
        assert!(law.decide(&figures, &able(), &quiet(), &later(5000)).is_ok());
    }
}

#[test]
fn what_it_waits_itself_for_the_disk_is_no_stall() {
    let was = moment(1_000_000, found(500, 0));
    let now = Moment { at_ms: 1_002_000, io_stall_us: Some(500_000), ours_io_us: 400_000, ..was.clone() };
    assert_eq!(Stalled::of(&now).io_since(&Stalled::of(&was)), Some(50_000.0));
}

#[test]
fn each_reason_is_named() {
    let of = |read: Attributes, kernel| DeviceGround::of("zram0", &read, Some(kernel));
    let good = of(attributes(), v(6, 18));
    assert_eq!((good.backing, good.secondary), (Ok("/dev/vdb".into()), Ok(1)));
    let off = |read: Attributes, kernel| {
        let device = of(read, kernel);
        zram_is_off(WantedLaws::default(), &ground(vec![device])).unwrap_or_default()
    };
    let none = Attributes { backing_dev: Some("none\n".into()), recomp_algorithm: Some(String::new()), ..attributes() };
    assert_eq!(off(none.clone(), v(6, 18)), "zram0: it has no backing device; it has no secondary compressor (recomp_algorithm)");
    let lean = off(Attributes::default(), v(6, 18));
    assert!(lean.contains("CONFIG_ZRAM_WRITEBACK") && lean.contains("CONFIG_ZRAM_MULTI_COMP"), "{lean}");
    let old = off(Attributes { backing_dev: None, ..attributes() }, v(6, 9));
    assert!(old.contains("Linux 6.10"), "{old}");
    for (spins, why) in [(Some(true), "/dev/vdb spins"), (None, "is not known")] {
        assert!(off(Attributes { spins, recomp_algorithm: None, ..attributes() }, v(6, 18)).contains(why));
    }
    // One of two that can do something is enough.
    let both = vec![DeviceGround::of("zram0", &none, Some(v(6, 18))), able().zram.remove(0)];
    assert_eq!(zram_is_off(WantedLaws::default(), &ground(both)), None);
    assert_eq!(zram_is_off(WantedLaws::default(), &ground(Vec::new())).as_deref(), Some("no zram device is swap"));
    assert!(zram_is_off(WantedLaws { zram: false, ..WantedLaws::default() }, &able()).unwrap().contains("[keep]"));
}

#[test]
fn small_devices_and_budgets_of_others_are_left_alone() {
    let figures = Figures::default();
    let writes_only = ground(vec![DeviceGround::of("zram0", &Attributes { recomp_algorithm: None, ..attributes() }, None)]);
    let said = |device: DeviceMoment| {
        let mut law = UpkeepState::default();
        let now = moment(1_000_000, device);
        law.learn(&now);
        law.decide(&figures, &writes_only, &quiet(), &now).map(|_| ()).unwrap_err()
    };
    assert!(said(found(63, 0)).contains("63 MiB of RAM, from 64 MiB on"));
    assert!(said(DeviceMoment { limited: true, ..found(500, 0) }).contains("another program"));
}

proptest! {
    #[test]
    fn no_day_writes_more_than_the_budget(
        ticks in proptest::collection::vec((0_u64..40, 0_u64..5_000_000, any::<bool>()), 1..200),
        budget_mib in 0_u64..300, chunk_mib in 1_u64..64,
    ) {
        let figures = Figures { zram_budget: budget_mib << 20, zram_chunk: chunk_mib << 20, zram_every_s: 1, ..Figures::default() };
        let mut played = Played::new(figures);
        let mut log: Vec<(u64, u64)> = Vec::new();
        for (mib, wait_ms, by_age) in ticks {
            played.at_ms += wait_ms;
            let Ok(chore) = played.tick(&able()) else { continue };
            let outcome = match chore.work {
                UpkeepWork::Mark { age_s } => UpkeepOutcome::Marked { by_age: by_age && age_s.is_some() },
                UpkeepWork::WriteBack { bytes, .. } => {
                    prop_assert!(bytes.0 > 0 && bytes.0 <= chunk_mib << 20);
                    // The kernel's limit holds.
                    let wrote = (mib << 20).min(bytes.0);
                    log.push((played.at_ms, wrote));
                    UpkeepOutcome::Wrote(Bytes(wrote))
                }
                UpkeepWork::Recompress { bytes, .. } => {
                    prop_assert!(bytes.0 <= played.figures.zram_recompress_chunk);
                    UpkeepOutcome::Recompressed(Bytes(mib << 20))
                }
            };
            played.did(&chore, outcome);
            let day = log.iter().filter(|(at, _)| played.at_ms - at < 86_400_000).map(|(_, bytes)| bytes).sum::<u64>();
            prop_assert!(day <= budget_mib << 20);
        }
    }

    #[test]
    fn nothing_is_written_without_a_backing_device(
        ticks in proptest::collection::vec((0_u64..5_000_000, any::<bool>()), 1..100),
    ) {
        let read = Attributes { backing_dev: Some("none".into()), ..attributes() };
        let ground = ground(vec![DeviceGround::of("zram0", &read, Some(v(6, 18)))]);
        let mut played = Played::new(Figures::default());
        for (wait_ms, by_age) in ticks {
            played.at_ms += wait_ms;
            let Ok(chore) = played.tick(&ground) else { continue };
            let is_write = matches!(chore.work, UpkeepWork::WriteBack { .. });
            prop_assert!(!is_write);
            let marked = UpkeepOutcome::Marked { by_age };
            played.did(&chore, if matches!(chore.work, UpkeepWork::Mark { .. }) { marked } else { UpkeepOutcome::Recompressed(Bytes(0)) });
        }
    }
}
