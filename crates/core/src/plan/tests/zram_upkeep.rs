//! Recompression and write-back of zram: what a kernel can do, and what may be overwritten.

use super::*;
use crate::change::ZramState;
use crate::facts::ZramMmStat;
use crate::plan::APPLIED_FILE;

const CONFIG: &str =
    "profile = \"none\"\n[[zram]]\nsize = \"1G\"\nalgorithm = \"lz4\"\nrecomp_algorithm = \"zstd\"\nbacking_dev = \"/dev/vdb\"\n";

/// The server with zram loaded, and this on its empty disk.
fn with(holds: Holds) -> Facts {
    let mut facts = server();
    facts.zram.driver = Fact::known(Availability::Loaded, "t");
    facts.zram.devices = vec![ZramDevice {
        name: "zram0".into(),
        algorithm: Fact::known("lz4".into(), "t"),
        algorithms: vec!["lz4".into(), "zstd".into()],
        backing_dev: Fact::known("none".into(), "t"),
        recomp_algorithm: Fact::known(Vec::new(), "t"),
        ..Default::default()
    }];
    facts.swap_places = vec![place("/dev/vdb", 4096, holds)];
    facts
}

fn state(plan: &Plan) -> ZramState {
    let state = plan.steps.iter().find_map(|step| match &step.change {
        Change::Zram { after, .. } => after.clone(),
        _ => None,
    });
    state.unwrap_or_else(|| panic!("no device: {:?}", plan.refusals))
}

#[test]
fn both_are_set_with_the_device() {
    let plan = plan_with(&with(Holds::Blank), CONFIG, &[]);
    assert_eq!(plan.refusals, []);
    assert_eq!(state(&plan).words(), "1 GiB lz4, again with zstd, backed by /dev/vdb");
}

#[test]
fn what_would_be_lost_is_refused() {
    let ext4 = plan_with(&with(Holds::Other { kind: "ext4".into() }), CONFIG, &["/dev/vdb".to_owned()]);
    assert!(refused(&ext4, "carries ext4, which write-back would destroy"), "{:?}", ext4.refusals);
    assert_eq!(state(&ext4).backing_dev, None, "a boot sets up what it can");
    let unknown = plan_with(&with(Holds::Unknown), CONFIG, &[]);
    assert!(refused(&unknown, "data without a known signature"));
    assert_eq!(plan_with(&with(Holds::Unknown), CONFIG, &["/dev/vdb".to_owned()]).refusals, []);
    let unread = Facts { swap_places: Vec::new(), ..with(Holds::Blank) };
    assert!(refused(&plan_with(&unread, CONFIG, &[]), "what it holds is unknown"));
}

#[test]
fn what_was_written_back_is_no_obstacle_at_the_next_boot() {
    let mut facts = with(Holds::Unknown);
    facts.files.insert(APPLIED_FILE.into(), Fact::known(CONFIG.into(), "t"));
    assert_eq!(plan_with(&facts, CONFIG, &[]).refusals, []);
    let other = CONFIG.replace("/dev/vdb", "/dev/vda4");
    facts.files.insert(APPLIED_FILE.into(), Fact::known(other, "t"));
    assert!(refused(&plan_with(&facts, CONFIG, &[]), "data without a known signature"));
}

#[test]
fn a_device_in_use_is_refused_whatever_is_named() {
    for (name, why) in [
        ("/dev/vda3", "in use as swap"),
        ("/dev/vda2", "is mounted at /"),
        ("/dev/vda", "is mounted at /"),
        ("/dev/vdx", "no block device of this name"),
    ] {
        let plan = plan_with(&with(Holds::Blank), &CONFIG.replace("/dev/vdb", name), &[name.to_owned()]);
        assert!(refused(&plan, why), "{name}: {:?}", plan.refusals);
    }
    let too = format!("{CONFIG}[[swap]]\npath = \"/dev/vdb\"\n");
    assert!(refused(&plan_with(&with(Holds::Blank), &too, &[]), "[[swap]] names it too"));
    let again = format!("{CONFIG}[[zram]]\nsize = \"1G\"\nbacking_dev = \"/dev/vdb\"\n");
    assert!(refused(&plan_with(&with(Holds::Blank), &again, &[]), "another [[zram]] names it too"));
}

#[test]
fn a_kernel_without_them_leaves_them_out() {
    let mut facts = with(Holds::Blank);
    facts.zram.devices[0].recomp_algorithm = Fact::absent("no such file");
    facts.zram.devices[0].backing_dev = Fact::absent("no such file");
    let plan = plan_with(&facts, CONFIG, &[]);
    assert_eq!((plan.refusals.len(), state(&plan).words()), (0, "1 GiB lz4".to_owned()));
    let notes: Vec<&str> = plan.notes.iter().map(|note| note.about.as_str()).collect();
    assert!(notes.contains(&"zram.recomp_algorithm") && notes.contains(&"zram.backing_dev"), "{notes:?}");
    // Before there is a device, the configuration of the kernel says it.
    facts.zram.devices.clear();
    let set = |facts: &mut Facts, value: &str| {
        let built = ["CONFIG_ZRAM_BACKEND_LZ4", "CONFIG_ZRAM_BACKEND_ZSTD"].map(|name| (name.to_owned(), "y".to_owned()));
        let options = ["CONFIG_ZRAM_MULTI_COMP", "CONFIG_ZRAM_WRITEBACK"].map(|name| (name.to_owned(), value.to_owned()));
        facts.kernel.config = Fact::known([built, options].concat().into_iter().collect(), "t");
    };
    set(&mut facts, "n");
    assert_eq!(state(&plan_with(&facts, CONFIG, &[])).words(), "1 GiB lz4");
    set(&mut facts, "y");
    assert_eq!(state(&plan_with(&facts, CONFIG, &[])).words(), "1 GiB lz4, again with zstd, backed by /dev/vdb");
    facts.kernel.version = Fact::known(v(6, 1), "t");
    assert_eq!(state(&plan_with(&facts, CONFIG, &[])).words(), "1 GiB lz4, backed by /dev/vdb");
}

#[test]
fn a_compressor_that_zram_lacks_is_passed_over_or_refused() {
    let mut facts = with(Holds::Blank);
    facts.zram.devices.clear();
    facts.kernel.version = Fact::known(v(6, 12), "t");
    let options = ["LZ4", "ZSTD"].map(|name| (format!("CONFIG_ZRAM_BACKEND_{name}"), "y".to_owned()));
    facts.kernel.config = Fact::known(options.into(), "t");
    let planned =
        |names: &str| plan_with(&facts, &format!("profile = \"none\"\n[[zram]]\nsize = \"1G\"\nalgorithm = {names}\n"), &[]);
    let plan = planned("[\"lzo-rle\", \"zstd\"]");
    assert_eq!((state(&plan).words(), plan.refusals.len()), ("1 GiB zstd".to_owned(), 0));
    assert!(
        plan.notes.iter().any(|note| note.text.starts_with("lzo-rle is not among this kernel's zram compressors (lz4, zstd)"))
    );
    let plan = planned("\"zsdt\"");
    assert!(refused(&plan, "this kernel's zram has none of zsdt; it has lz4, zstd"), "{:?}", plan.refusals);
    assert_eq!(state(&plan).words(), "1 GiB lz4", "a boot, which passes over a refusal, has zram");
}

#[test]
fn a_device_that_is_on_and_differs_waits_for_the_next_boot() {
    let mut facts = with(Holds::Blank);
    facts.zram.devices[0].disksize = Bytes::from_gib(1);
    facts.swaps.push(area("/dev/zram0", "zram0", 100, 5));
    let pending = |facts: &Facts| plan_with(facts, CONFIG, &[]).notes.into_iter().filter(|note| note.pending).count();
    assert_eq!(pending(&facts), 1);
    facts.zram.devices[0].backing_dev = Fact::known("/dev/vdb".into(), "t");
    facts.zram.devices[0].recomp_algorithm = Fact::known(vec!["zstd".into()], "t");
    assert_eq!(pending(&facts), 0);
    // Its compressor, where the device offers the wanted one, and its limit, in whole pages.
    let device = facts.zram.devices[0].clone();
    facts.zram.devices[0].algorithm = Fact::known("lzo-rle".into(), "t");
    assert_eq!(pending(&facts), 1);
    facts.zram.devices[0].algorithms = vec!["lzo-rle".into()];
    assert_eq!(pending(&facts), 0, "it has no lz4");
    for (limit, expect) in [(4096, 1), (0, 0)] {
        let stat = ZramMmStat { mem_limit: Bytes(limit), ..ZramMmStat::default() };
        facts.zram.devices = vec![ZramDevice { mm_stat: Fact::known(stat, "t"), ..device.clone() }];
        assert_eq!(pending(&facts), expect, "{limit}");
    }
}
