//! Properties of changes: the inverse of the inverse is the change, and JSON keeps everything.

use proptest::prelude::*;
use swaptune_core::Bytes;
use swaptune_core::change::{
    Change, DeviceFormat, MappingKey, MappingState, PartitionState, SwapFileState, SwapHeaderState, SwapState, ZramState,
};

fn text() -> impl Strategy<Value = String> {
    "[ -~]{0,12}"
}

fn maybe<T: std::fmt::Debug>(value: impl Strategy<Value = T>) -> impl Strategy<Value = Option<T>> {
    proptest::option::of(value)
}

fn file_state() -> impl Strategy<Value = SwapFileState> {
    (any::<u64>(), any::<bool>()).prop_map(|(size, nocow)| SwapFileState { size: Bytes(size), nocow })
}

fn header_state() -> impl Strategy<Value = SwapHeaderState> {
    (text(), text()).prop_map(|(uuid, label)| SwapHeaderState { uuid, label })
}

fn area_state() -> impl Strategy<Value = SwapState> {
    (any::<i32>(), any::<bool>(), any::<bool>()).prop_map(|(priority, discard_once, discard_pages)| SwapState {
        priority,
        discard_once,
        discard_pages,
    })
}

fn zram_state() -> impl Strategy<Value = ZramState> {
    let secondary = proptest::collection::vec(text(), 0..3);
    let fields = (text(), any::<u64>(), any::<u64>(), secondary, proptest::option::of(text()));
    fields.prop_map(|(algorithm, size, limit, recomp_algorithm, backing_dev)| ZramState {
        algorithm,
        disksize: Bytes(size),
        mem_limit: Bytes(limit),
        recomp_algorithm,
        backing_dev,
    })
}

fn partition() -> impl Strategy<Value = PartitionState> {
    (text(), text(), text(), any::<u64>(), any::<u64>()).prop_map(|(uuid, name, guid, start, size)| PartitionState {
        uuid,
        name,
        guid,
        start: Bytes(start),
        size: Bytes(size),
    })
}

fn format() -> impl Strategy<Value = DeviceFormat> {
    prop_oneof![
        (text(), proptest::collection::vec(partition(), 0..3))
            .prop_map(|(uuid, partitions)| DeviceFormat::Gpt { uuid, partitions }),
        (text(), text(), text(), any::<u32>(), text()).prop_map(|(uuid, label, cipher, key_bits, key_file)| DeviceFormat::Luks {
            uuid,
            label,
            cipher,
            key_bits,
            key_file
        }),
        text().prop_map(|uuid| DeviceFormat::Swap { uuid }),
    ]
}

fn mapping() -> impl Strategy<Value = MappingState> {
    let key = prop_oneof![
        (text(), any::<u32>()).prop_map(|(cipher, key_bits)| MappingKey::Random { cipher, key_bits }),
        text().prop_map(|path| MappingKey::File { path }),
    ];
    (text(), key, any::<bool>(), header_state()).prop_map(|(source, key, discard, swap)| MappingState {
        source,
        key,
        discard,
        swap,
    })
}

fn change() -> impl Strategy<Value = Change> {
    let list = || proptest::collection::vec(text(), 0..3);
    prop_oneof![
        (text(), text(), text(), text(), list()).prop_map(|(name, path, before, after, fallbacks)| Change::Knob {
            name,
            path,
            before,
            after,
            fallbacks
        }),
        (text(), maybe(text()), maybe(text()), any::<u32>()).prop_map(|(path, before, after, mode)| Change::File {
            path,
            before,
            after,
            mode
        }),
        (text(), maybe(text()), maybe(text())).prop_map(|(path, before, after)| Change::Link { path, before, after }),
        (text(), maybe(file_state()), maybe(file_state())).prop_map(|(path, before, after)| Change::SwapFile {
            path,
            before,
            after
        }),
        (text(), maybe(header_state()), maybe(header_state()), any::<bool>())
            .prop_map(|(path, before, after, wipe)| Change::SwapHeader { path, before, after, wipe }),
        (text(), maybe(area_state()), maybe(area_state())).prop_map(|(path, before, after)| Change::Swap { path, before, after }),
        (text(), maybe(zram_state()), maybe(zram_state())).prop_map(|(name, before, after)| Change::Zram { name, before, after }),
        (text(), any::<bool>(), any::<bool>()).prop_map(|(name, before, after)| Change::Module { name, before, after }),
        (text(), maybe(format()), maybe(format()), any::<bool>()).prop_map(|(path, before, after, wipe)| Change::Format {
            path,
            before,
            after,
            wipe
        }),
        (text(), any::<bool>(), any::<bool>()).prop_map(|(path, before, after)| Change::KeyFile { path, before, after }),
        (text(), maybe(mapping()), maybe(mapping())).prop_map(|(name, before, after)| Change::Mapping { name, before, after }),
        (text(), list(), list(), any::<bool>(), any::<bool>())
            .prop_map(|(what, command, outputs, before, after)| { Change::Generated { what, command, outputs, before, after } }),
    ]
}

proptest! {
    #[test]
    fn the_inverse_of_the_inverse_is_the_change(change in change()) {
        prop_assert_eq!(&change.inverse().inverse(), &change);
        let (before, after) = change.sides();
        if !matches!(change, Change::Link { .. } | Change::SwapHeader { .. }) {
            // These two word their sides differently on purpose: "as before", "→ target".
            prop_assert_eq!(change.inverse().sides(), (after, before));
        }
        let inverse = change.inverse();
        prop_assert_eq!(inverse.target(), change.target());
        prop_assert_eq!(inverse.is_volatile(), change.is_volatile());
    }

    #[test]
    fn json_keeps_a_change(change in change()) {
        let json = serde_json::to_string(&change).expect("a change is JSON");
        let read: Change = serde_json::from_str(&json).expect("our own JSON");
        prop_assert_eq!(read, change);
    }
}
