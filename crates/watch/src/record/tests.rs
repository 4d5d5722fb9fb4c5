//! What a kill at any byte leaves, and what damage does.

use super::*;

fn sample(number: u64) -> Sample {
    let mut sample = Sample { unix_ms: 1_700_000_000_000 + number * 1000, steady_us: number * 1_000_000, ..Sample::default() };
    let vmstat = (0..60).map(|key| (format!("counter_{key}"), number * key)).collect();
    sample.facts.memory.vmstat = swaptune_core::Fact::known(vmstat, "/proc/vmstat");
    sample
}

fn recording(path: &Path, samples: std::ops::Range<u64>) {
    let mut recorder = SampleRecorder::open(path).unwrap();
    samples.for_each(|number| recorder.append(&sample(number)).unwrap());
}

fn read(path: &Path) -> (Vec<Sample>, End) {
    let mut reader = RecordReader::open(path).unwrap();
    let samples: Vec<Sample> = reader.by_ref().collect();
    (samples, reader.end())
}

#[test]
fn what_is_recorded_is_read_back_and_later_frames_are_small() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.swrec");
    recording(&path, 0..1);
    let first = path.metadata().unwrap().len();
    std::fs::remove_file(&path).unwrap();
    recording(&path, 0..5);
    assert_eq!(read(&path), ((0..5).map(sample).collect(), End::Whole));
    assert!(path.metadata().unwrap().len() < 3 * first, "{} bytes, the first sample {first}", path.metadata().unwrap().len());
}

#[test]
fn cut_at_any_byte_all_whole_frames_are_kept_and_recording_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.swrec");
    let mut ends = vec![MAGIC.len()];
    let mut recorder = SampleRecorder::open(&path).unwrap();
    for number in 0..4 {
        recorder.append(&sample(number)).unwrap();
        ends.push(usize::try_from(path.metadata().unwrap().len()).unwrap());
    }
    let whole = std::fs::read(&path).unwrap();
    for cut in 1..=whole.len() {
        let path = dir.path().join("cut.swrec");
        std::fs::write(&path, &whole[..cut]).unwrap();
        let kept = ends.iter().filter(|end| **end <= cut).count().saturating_sub(1) as u64;
        let (samples, end) = read(&path);
        assert_eq!(samples, (0..kept).map(sample).collect::<Vec<_>>(), "cut at {cut}");
        assert_eq!(end == End::Whole, ends.contains(&cut), "cut at {cut}: {end:?}");
        recording(&path, 7..9);
        let (samples, end) = read(&path);
        // The clock of the second run goes on where that of the first one ended.
        let shift = if kept == 0 { 0 } else { sample(7).steady_us - sample(kept - 1).steady_us };
        let second = (7..9).map(|number| Sample { steady_us: sample(number).steady_us - shift, ..sample(number) });
        assert_eq!((samples, end), ((0..kept).map(sample).chain(second).collect(), End::Whole), "went on after {cut}");
    }
}

#[test]
fn a_changed_byte_in_the_middle_is_damage_and_nothing_is_appended_behind_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.swrec");
    recording(&path, 0..3);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[MAGIC.len() + HEAD + 4] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    assert_eq!(read(&path), (Vec::new(), End::Damaged { at: MAGIC.len() as u64 }));
    assert!(matches!(SampleRecorder::open(&path), Err(RecordError::Damaged { at: 17, .. })));
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}

/// What a file has that grew before a loss of power, and whose bytes were not written.
#[test]
fn zeros_at_the_end_are_cut_off() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.swrec");
    recording(&path, 0..3);
    for zeros in [HEAD - 1, HEAD, 5000] {
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, [whole.as_slice(), &vec![0; zeros]].concat()).unwrap();
        assert_eq!(read(&path), ((0..3).map(sample).collect(), End::Torn { bytes: zeros as u64 }));
        assert_eq!(SampleRecorder::open(&path).unwrap().cut, zeros as u64);
        assert_eq!(std::fs::read(&path).unwrap(), whole);
    }
}

#[test]
fn a_second_recorder_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.swrec");
    let first = SampleRecorder::open(&path).unwrap();
    assert!(matches!(SampleRecorder::open(&path), Err(RecordError::Busy { .. })));
    drop(first);
    assert!(SampleRecorder::open(&path).is_ok());
}

#[test]
fn another_file_is_left_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    for text in ["short", "a long text that is no recording at all\n"] {
        let path = dir.path().join("notes.txt");
        std::fs::write(&path, text).unwrap();
        assert!(matches!(SampleRecorder::open(&path), Err(RecordError::Other { .. })));
        assert!(matches!(RecordReader::open(&path), Err(RecordError::Other { .. })));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
}

proptest::proptest! {
    /// No bytes make a reader panic, and none make it read more than was written.
    #[test]
    fn any_bytes_behind_the_first_line_are_read_without_a_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.swrec");
        std::fs::write(&path, [MAGIC, &bytes].concat()).unwrap();
        let (samples, _) = read(&path);
        proptest::prop_assert!(samples.is_empty());
    }
}
