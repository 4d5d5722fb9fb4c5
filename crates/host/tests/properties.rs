//! Whatever is applied can be taken back: random sequences of changes, on a machine in a folder, with and without a
//! fault in the middle.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod fixture;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use fixture::*;
use proptest::prelude::*;
use swaptune_core::Bytes;
use swaptune_core::change::{Change, SwapFileState, SwapHeaderState, SwapState};
use swaptune_host::checkpoint::Faults;
use swaptune_host::journal::pending;
use swaptune_host::transaction::{ApplyOptions, execute, rollback};

/// A wish; what it means depends on what the wishes before it have made of the machine.
#[derive(Clone, Debug)]
enum Wish {
    Knob(usize, usize),
    File(usize, Option<String>),
    Link(usize, Option<String>),
    Header(usize, usize),
    Swap(usize, Option<i32>),
    SwapFile(Option<u64>),
    Zram(Option<u64>),
    Module(bool),
    Table(usize),
    Key,
    Volume(usize),
    Mapping(bool),
    Generated,
}

const KNOBS: [(&str, &str, &str, [&str; 3]); 6] = [
    ("vm.swappiness", "/proc/sys/vm/swappiness", "60", ["0", "100", "200"]),
    ("vm.page-cluster", "/proc/sys/vm/page-cluster", "3", ["0", "1", "3"]),
    ("zswap.enabled", "/sys/module/zswap/parameters/enabled", "N", ["Y", "1", "N"]),
    ("zswap.compressor", "/sys/module/zswap/parameters/compressor", "lzo", ["zstd", "lz4", "lzo"]),
    ("transparent_hugepage.enabled", "/sys/kernel/mm/transparent_hugepage/enabled", "always", ["always", "madvise", "never"]),
    ("vm.dirty_bytes", "/proc/sys/vm/dirty_bytes", "0", ["1048576", "2097152", "4194304"]),
];
const PATHS: [&str; 4] = ["/etc/fstab", "/etc/sysctl.d/99-x.conf", "/etc/new/folder/x.conf", "/etc/new/y.conf"];
const LINKS: [&str; 2] = ["/etc/new/link", "/etc/systemd/system/a.wants/b.service"];
const AREAS: [&str; 3] = ["/dev/vdb", "/dev/vdc", "/swap/file"];

fn wish() -> impl Strategy<Value = Wish> {
    let text = || proptest::option::of("[a-z\n]{0,40}");
    prop_oneof![
        3 => (0..KNOBS.len(), 0..3_usize).prop_map(|(knob, value)| Wish::Knob(knob, value)),
        3 => (0..PATHS.len(), text()).prop_map(|(path, text)| Wish::File(path, text)),
        1 => (0..LINKS.len(), proptest::option::of("[a-z]{1,8}")).prop_map(|(path, to)| Wish::Link(path, to)),
        2 => (0..AREAS.len(), 0..UUIDS.len()).prop_map(|(area, uuid)| Wish::Header(area, uuid)),
        3 => (0..AREAS.len(), proptest::option::of(0..100)).prop_map(|(area, priority)| Wish::Swap(area, priority)),
        1 => proptest::option::of(1..4_u64).prop_map(Wish::SwapFile),
        1 => proptest::option::of(1..4_u64).prop_map(Wish::Zram),
        1 => any::<bool>().prop_map(Wish::Module),
        2 => (0..UUIDS.len()).prop_map(Wish::Table),
        2 => Just(Wish::Key),
        2 => (0..UUIDS.len()).prop_map(Wish::Volume),
        2 => any::<bool>().prop_map(Wish::Mapping),
        1 => Just(Wish::Generated),
    ]
}

/// What the machine will be after the wishes so far.
struct Model {
    knobs: Vec<String>,
    files: BTreeMap<&'static str, String>,
    links: BTreeMap<&'static str, String>,
    headers: BTreeMap<&'static str, SwapHeaderState>,
    areas: BTreeMap<&'static str, i32>,
    swap_file: Option<u64>,
    zram: Option<u64>,
    module: bool,
    table: bool,
    key: bool,
    volume: bool,
    mapping: bool,
}

impl Model {
    fn new(fixture: &Fixture) -> Self {
        let old = SwapHeaderState { uuid: "0dd00000-0000-0000-0000-00000000000d".into(), label: "old".into() };
        Self {
            knobs: KNOBS.iter().map(|(.., value, _)| (*value).to_owned()).collect(),
            files: BTreeMap::from([("/etc/fstab", fixture.text("etc/fstab"))]),
            links: BTreeMap::new(),
            headers: BTreeMap::from([("/dev/vdc", old)]),
            areas: BTreeMap::from([("/dev/vdc", -2)]),
            swap_file: None,
            zram: None,
            module: false,
            table: false,
            key: false,
            volume: false,
            mapping: false,
        }
    }

    /// The change that a wish means now; `None` when it makes no sense.
    fn change(&mut self, wish: Wish) -> Option<Change> {
        match wish {
            Wish::Knob(index, value) => {
                let (name, path, _, values) = KNOBS[index];
                let before = std::mem::replace(&mut self.knobs[index], values[value].to_owned());
                Some(knob(name, path, &before, values[value]))
            }
            Wish::File(path, text) => {
                let path = PATHS[path];
                let before = put(&mut self.files, path, text.clone());
                Some(file(path, before.as_deref(), text.as_deref()))
            }
            Wish::Link(path, after) => {
                let path = LINKS[path];
                let before = put(&mut self.links, path, after.clone());
                Some(Change::Link { path: path.into(), before, after })
            }
            Wish::Header(area, uuid) => self.header(AREAS[area], UUIDS[uuid]),
            Wish::Swap(area, priority) => self.swap(AREAS[area], priority),
            Wish::SwapFile(size) => {
                let is_on = self.areas.contains_key("/swap/file");
                let state = |mib| SwapFileState { size: Bytes::from_mib(mib), nocow: false };
                let before = self.swap_file.filter(|_| !is_on);
                if is_on {
                    return None;
                }
                self.swap_file = size;
                self.headers.remove("/swap/file").filter(|_| before == size).map(|old| self.headers.insert("/swap/file", old));
                Some(Change::SwapFile { path: "/swap/file".into(), before: before.map(state), after: size.map(state) })
            }
            Wish::Zram(size) => {
                let before = std::mem::replace(&mut self.zram, size);
                Some(Change::Zram { name: "zram0".into(), before: before.map(zram_state), after: size.map(zram_state) })
            }
            Wish::Module(after) => {
                let before = std::mem::replace(&mut self.module, after);
                Some(Change::Module { name: "lz4-compress".into(), before, after })
            }
            // Each of these is made once: what is destroyed does not come back.
            Wish::Table(uuid) => once(&mut self.table, true).map(|()| gpt("/dev/vdd", UUIDS[uuid])),
            Wish::Key => once(&mut self.key, true).map(|()| key(true)),
            Wish::Volume(uuid) => {
                let can = self.table && self.key && !self.mapping;
                once(&mut self.volume, can).map(|()| luks("/dev/vdd1", UUIDS[uuid]))
            }
            Wish::Mapping(random) => {
                let can = if random { self.table && !self.volume } else { self.volume };
                let key = if random { by_chance() } else { by_file() };
                once(&mut self.mapping, can).map(|()| mapping("/dev/vdd1", key))
            }
            Wish::Generated => Some(generated("grub.cfg", &["update-grub"], &["/boot/grub/grub.cfg", "/boot/new.cfg"])),
        }
    }

    fn header(&mut self, path: &'static str, uuid: &str) -> Option<Change> {
        if self.areas.contains_key(path) || path == "/swap/file" && self.swap_file.is_none() {
            return None;
        }
        let after = SwapHeaderState { uuid: uuid.into(), label: "swaptune".into() };
        let before = self.headers.insert(path, after);
        // It holds bytes without a signature.
        let wipe = path == "/dev/vdb" && before.is_none();
        Some(header(path, before, uuid, wipe))
    }

    fn swap(&mut self, path: &'static str, priority: Option<i32>) -> Option<Change> {
        if priority.is_some() && !self.headers.contains_key(path) {
            return None;
        }
        let before = put(&mut self.areas, path, priority);
        let state = |priority| SwapState::at(priority);
        Some(Change::Swap { path: path.into(), before: before.map(state), after: priority.map(state) })
    }
}

/// True from now on, where it can be and is not yet.
fn once(state: &mut bool, can: bool) -> Option<()> {
    (can && !std::mem::replace(state, *state || can)).then_some(())
}

fn put<K: Ord, V>(map: &mut BTreeMap<K, V>, key: K, value: Option<V>) -> Option<V> {
    match value {
        Some(value) => map.insert(key, value),
        None => map.remove(&key),
    }
}

/// Fails one operation.
struct FailAt(usize, Cell<usize>);

impl Faults for FailAt {
    fn before(&self, _: &str, _: &Path) -> io::Result<()> {
        let count = self.1.replace(self.1.get() + 1);
        if count == self.0 { Err(io::Error::from_raw_os_error(libc::EIO)) } else { Ok(()) }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn apply_and_rollback_is_nothing(wishes in proptest::collection::vec(wish(), 1..14), fault in proptest::option::of(0..70_usize)) {
        let fixture = Fixture::new();
        let mut model = Model::new(&fixture);
        let changes: Vec<Change> = wishes.into_iter().filter_map(|wish| model.change(wish)).collect();
        let before = fixture.picture();
        let faults = FailAt(fault.unwrap_or(usize::MAX), Cell::new(0));
        let options = ApplyOptions { faults: &faults, ..ApplyOptions::default() };
        let (machine, kernel, state) = (fixture.machine(), fixture.kernel(), fixture.state());
        match execute(&machine, &kernel, &state, &plan(changes.clone()), &options) {
            Err(error) => {
                prop_assert!(fault.is_some(), "{error:?} in {changes:#?}");
                prop_assert!(error.exit_code() < 5, "{error}");
            }
            Ok(report) => if let Some(id) = report.id {
                let report = rollback(&machine, &kernel, &state, &id, &ApplyOptions::default()).unwrap();
                prop_assert!(report.left().is_empty(), "{:?} in {changes:#?}", report.left());
            }
        }
        prop_assert!(pending(&state).unwrap().is_none());
        let after = fixture.picture();
        prop_assert_eq!(&after, &before, "{:#?}", changes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever happens to a journal, reading it ends with a transaction or an error, and a cut never makes an error.
    #[test]
    fn any_journal_is_read_or_refused(file in 0..5_usize, at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>()) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/journals/v1");
        let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        let mut bytes = std::fs::read(&paths[file]).unwrap();
        let at = at.index(bytes.len());
        if cut {
            bytes.truncate(at);
        } else {
            bytes[at] = byte;
        }
        let read = swaptune_host::journal::parse(&paths[file], &bytes);
        prop_assert!(!cut || read.is_ok(), "{read:?}");
    }
}
