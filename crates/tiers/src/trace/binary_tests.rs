use proptest::prelude::*;

use super::*;

fn parse(bytes: &[u8]) -> Result<Trace, TraceError> {
    read(TraceSource::new(bytes).unwrap(), KeptColumns::Everything)
}

fn event() -> impl Strategy<Value = Event> {
    let op = prop_oneof![Just(Op::Read), Just(Op::Write), Just(Op::Free)];
    (0..50u32, any::<u64>(), 0..3u16, op).prop_map(|(page, time, cgroup, op)| Event { page, time, cgroup, op })
}

/// A trace whose pages are numbered in the order of their first event, and the bytes of its file.
fn sample(events: &[Event], sized: bool) -> (Trace, Vec<u8>) {
    let (mut builder, mut seen) = (TraceBuilder::new(KeptColumns::Everything), Vec::new());
    for event in events {
        let page = seen.iter().position(|&page| page == event.page).unwrap_or_else(|| {
            seen.push(event.page);
            seen.len() - 1
        });
        builder.push(Event { page: page as u32, ..*event }).unwrap();
    }
    builder.sizes(if sized { seen.iter().map(|&page| page as u16 * 80).collect() } else { Vec::new() });
    let trace = builder.finish(None).unwrap();
    let mut bytes = Vec::new();
    write(&trace, &mut bytes).unwrap();
    (trace, bytes)
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(events in prop::collection::vec(event(), 0..200), sized: bool) {
        let (trace, bytes) = sample(&events, sized);
        let back = parse(&bytes).unwrap();
        prop_assert_eq!(back.iter().collect::<Vec<_>>(), trace.iter().collect::<Vec<_>>());
        prop_assert_eq!((back.page_count(), back.sizes()), (trace.page_count(), trace.sizes()));
    }

    #[test]
    fn any_changed_byte_and_any_cut_is_found(events in prop::collection::vec(event(), 1..60), at: prop::sample::Index, flip in 1..=255u8) {
        let (_, bytes) = sample(&events, true);
        let mut changed = bytes.clone();
        changed[at.index(bytes.len())] ^= flip;
        prop_assert!(parse(&changed).is_err());
        prop_assert!(parse(&bytes[..at.index(bytes.len())]).is_err());
    }

    #[test]
    fn nothing_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(&bytes);
        let _ = parse(&[&MAGIC[..], &bytes].concat());
    }
}

#[test]
fn several_blocks_and_regular_times_take_little_room() {
    let mut builder = TraceBuilder::new(KeptColumns::Everything);
    let events = BLOCK_MAX * 2 + 5;
    for i in 0..events {
        builder.push(Event { page: (i % 1000) as u32, time: i as u64 * 10, ..Event::default() }).unwrap();
    }
    let (trace, mut bytes) = (builder.finish(None).unwrap(), Vec::new());
    write(&trace, &mut bytes).unwrap();
    assert_eq!(bytes.len(), HEADER + 3 * 8 + events * 4 + 8 + 16);
    assert_eq!(parse(&bytes).unwrap(), trace);
}

#[test]
fn faults_are_named_with_their_place() {
    let (_, bytes) = sample(&[Event::default(); 3], false);
    let say = |bytes: &[u8]| parse(bytes).unwrap_err().to_string();
    assert_eq!(say(b"swtrace"), "header: found the end after 7 bytes, expected 28 bytes");
    assert!(say(&[b'x'; 40]).starts_with("header: found [78, 78"), "{}", say(&[b'x'; 40]));
    assert_eq!(say(&bytes[..bytes.len() - 24]), "block 2: found the end after 0 bytes, expected 8 bytes");
    assert_eq!(say(&[&bytes[..], b"x"].concat()), "block 2: found more bytes after the closing block, expected the end");
    let mut newer = bytes.clone();
    newer[8] = 2;
    let checksum = crc32fast::hash(&newer[..24]).to_le_bytes();
    newer[24..28].copy_from_slice(&checksum);
    assert_eq!(say(&newer), "header: found version 2, expected version 1");
}

#[test]
fn pages_that_are_not_in_order_of_appearance_are_renumbered_with_their_sizes() {
    let mut builder = TraceBuilder::new(KeptColumns::Everything);
    for page in [2, 0, 2, 1] {
        builder.push(Event { page, ..Event::default() }).unwrap();
    }
    builder.sizes(vec![10, 11, 12]);
    let mut bytes = Vec::new();
    write(&builder.finish(None).unwrap(), &mut bytes).unwrap();
    let back = parse(&bytes).unwrap();
    assert_eq!((back.pages(), back.sizes()), (&[0, 1, 0, 2][..], &[12, 10, 11][..]));
}
