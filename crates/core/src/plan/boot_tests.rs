//! What reaches the kernel's command line: drop-ins in their order, lines that go on, files that a loader reads.

use super::tests::*;
use super::*;
use crate::Fact;
use crate::change::Change;
use crate::facts::{BootLoader, Facts, ImageFacts, KernelArgStore};

const DROPIN: &str = "/etc/default/grub.d/99-swaptune.cfg";
const LAST: &str = "/etc/default/grub.d/zz-last.cfg";
const GUIDE: &str = "profile = \"idle-guide\"";

/// The server with these files of GRUB, and the arguments that they give.
fn grub(files: &[(&str, &str)]) -> Facts {
    let mut facts = server();
    let main = ("/etc/default/grub", "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\n");
    for (path, text) in std::iter::once(&main).chain(files) {
        facts.files.insert((*path).into(), Fact::known((*text).to_owned(), "t"));
    }
    evaluate(&mut facts);
    facts
}

/// The arguments as inspect reads them off the files.
fn evaluate(facts: &mut Facts) {
    let read = |path: &&String| path.starts_with("/etc/default/grub");
    let files: Vec<(&str, &str)> =
        facts.files.keys().filter(read).filter_map(|path| Some((path.as_str(), facts.file(path)?))).collect();
    let configured = crate::edit::grub::effective(&files).expect("plain").arguments();
    let in_generated = facts.boot.arguments.value().map_or_else(Vec::new, |store| store.in_generated.clone());
    facts.boot.arguments = Fact::known(KernelArgStore { in_generated, ..grub_store(&configured) }, "t");
}

fn in_loader(facts: &mut Facts, lines: &[&str]) {
    if let Fact::Known { value, .. } = &mut facts.boot.arguments {
        value.in_generated = lines.iter().map(|line| (*line).to_owned()).collect();
    }
}

fn apply_files(facts: &mut Facts, plan: &Plan) {
    for step in &plan.steps {
        if let Change::File { path, after: Some(text), .. } = &step.change {
            facts.files.insert(path.clone(), Fact::known(text.clone(), "t"));
        }
    }
    evaluate(facts);
}

fn regenerates(plan: &Plan) -> bool {
    targets(plan).contains(&"boot loader configuration")
}

#[test]
fn a_later_drop_in_that_sets_the_variable_anew_gets_the_words_too() {
    let mut facts = grub(&[(LAST, "# mine\nGRUB_CMDLINE_LINUX_DEFAULT='quiet splash'\n")]);
    let plan = plan_with(&facts, GUIDE, &[]);
    let text = file(&plan, LAST).unwrap();
    assert!(text.starts_with("# mine\nGRUB_CMDLINE_LINUX_DEFAULT='quiet splash zswap.enabled=1 "), "{text}");
    assert!(file(&plan, DROPIN).is_some() && regenerates(&plan));
    apply_files(&mut facts, &plan);
    let configured = &facts.boot.arguments.value().unwrap().configured;
    assert_eq!(configured.matches("zswap.enabled=1").count(), 1, "{configured}");
    let again = plan_with(&facts, GUIDE, &[]);
    assert!(file(&again, LAST).is_none() && !regenerates(&again));
}

#[test]
fn a_drop_in_that_came_after_an_apply_is_seen() {
    let mut facts = grub(&[]);
    let plan = plan_with(&facts, GUIDE, &[]);
    apply_files(&mut facts, &plan);
    assert!(!regenerates(&plan_with(&facts, GUIDE, &[])));
    facts.files.insert(LAST.into(), Fact::known("GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\n".into(), "t"));
    evaluate(&mut facts);
    let plan = plan_with(&facts, GUIDE, &[]);
    assert!(file(&plan, LAST).unwrap().contains("zswap.enabled=1") && file(&plan, DROPIN).is_none() && regenerates(&plan));
}

#[test]
fn a_drop_in_that_only_adds_stays_as_it_is() {
    let plan = plan_with(&grub(&[(LAST, "GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT more\"\n")]), GUIDE, &[]);
    assert!(file(&plan, LAST).is_none() && regenerates(&plan));
}

#[test]
fn a_generated_file_without_the_words_is_made_anew() {
    let mut facts = grub(&[]);
    let plan = plan_with(&facts, GUIDE, &[]);
    apply_files(&mut facts, &plan);
    let configured = facts.boot.arguments.value().unwrap().configured.clone();
    for (lines, expect) in [
        (vec![], false),
        (vec![configured.as_str()], false),
        (vec![configured.as_str(), "quiet"], true),
        (vec!["quiet zswap.enabled=0"], true),
    ] {
        in_loader(&mut facts, &lines);
        let plan = plan_with(&facts, GUIDE, &[]);
        assert_eq!(regenerates(&plan), expect, "{lines:?}");
        assert!(file(&plan, DROPIN).is_none(), "only the generated file is wrong");
    }
}

#[test]
fn old_words_leave_a_line_that_goes_on() {
    let main = "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet \\\n  zswap.zpool=z3fold \\\n  splash\"\n";
    for config in ["", GUIDE] {
        let plan = plan_with(&grub(&[("/etc/default/grub", main)]), config, &[]);
        assert_eq!(plan.refusals, []);
        assert_eq!(file(&plan, "/etc/default/grub"), Some("GRUB_CMDLINE_LINUX_DEFAULT=\"quiet \\\n  splash\"\n"));
    }
}

#[test]
fn off_takes_the_words_from_wherever_an_apply_put_them() {
    let off = |facts: &Facts| plan_with(facts, "profile = \"off\"", &[]);
    let applied =
        |facts: &mut Facts| facts.files.insert(APPLIED_FILE.into(), Fact::known("[zswap]\nenabled = true\n".into(), "t"));
    let words = "quiet zswap.enabled=1 zswap.compressor=lzo";
    // A main file without drop-ins.
    let mut facts = grub(&[("/etc/default/grub", &format!("GRUB_CMDLINE_LINUX_DEFAULT=\"{words}\"\n"))]);
    if let Fact::Known { value, .. } = &mut facts.boot.arguments {
        value.reads_dropins = false;
    }
    assert!(file(&off(&facts), "/etc/default/grub").is_none(), "nothing was applied: they are not ours");
    applied(&mut facts);
    assert_eq!(file(&off(&facts), "/etc/default/grub"), Some("GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\n"));
    assert!(regenerates(&off(&facts)));
    // A drop-in of ours, and a later one that sets the variable anew.
    let mut facts = grub(&[(LAST, "GRUB_CMDLINE_LINUX_DEFAULT='quiet splash'\n")]);
    let plan = plan_with(&facts, GUIDE, &[]);
    apply_files(&mut facts, &plan);
    let plan = off(&facts);
    assert_eq!(file(&plan, LAST), Some("GRUB_CMDLINE_LINUX_DEFAULT='quiet splash'\n"));
    assert_eq!(targets(&plan).iter().filter(|target| **target == DROPIN).count(), 1);
    assert!(regenerates(&plan));
    // One line that the firmware reads as it is.
    let mut facts = server();
    let path = "/boot/firmware/cmdline.txt";
    facts.boot.loader = Fact::known(BootLoader::Raspberry, "t");
    facts.boot.arguments = Fact::known(KernelArgStore { path: path.into(), regenerate: None, ..grub_store(words) }, "t");
    facts.files.insert(path.into(), Fact::known(format!("{words}\n"), "t"));
    applied(&mut facts);
    assert_eq!(file(&off(&facts), path), Some("quiet\n"));
}

#[test]
fn off_says_which_masks_stay() {
    let mut facts = server();
    let path = "/etc/systemd/system/zramswap.service";
    facts.files.insert(path.into(), Fact::known(String::new(), "t"));
    let off = |facts: &Facts| plan_with(facts, "profile = \"off\"", &[]);
    assert!(!noted(&off(&facts), "stays masked"), "nothing was applied");
    facts.files.insert(APPLIED_FILE.into(), Fact::known("[zswap]\nenabled = true\n".into(), "t"));
    assert!(noted(&off(&facts), "zramswap.service stays masked") && !targets(&off(&facts)).contains(&path));
}

#[test]
fn the_hint_of_a_refusal_helps() {
    let mut facts = server();
    let main = "GRUB_CMDLINE_LINUX_DEFAULT=\"$(cat /x) zswap.enabled=0\"\n";
    facts.files.insert("/etc/default/grub".into(), Fact::known(main.into(), "t"));
    facts.boot.arguments = Fact::known(grub_store("zswap.enabled=0"), "t");
    let plan = plan_with(&facts, GUIDE, &[]);
    let refusal = plan.refusals.iter().find(|refusal| refusal.what == "/etc/default/grub").unwrap();
    assert!(refusal.hint.contains("set [boot] kernel_arguments = false"));
    let plan = plan_with(&facts, "profile = \"idle-guide\"\n[boot]\nkernel_arguments = false\n", &[]);
    assert_eq!(plan.refusals, []);
    assert!(noted(&plan, "zswap's older words stay in /etc/default/grub"));
}

#[test]
fn the_words_name_a_compressor_that_this_plan_brings_into_the_initramfs() {
    let config = "profile = \"idle-guide\"\n[boot]\ninitramfs = true\n";
    let mut facts = grub(&[]);
    let plan = plan_with(&facts, config, &[]);
    let names = targets(&plan);
    let at = |target: &str| names.iter().position(|name| *name == target).unwrap_or_else(|| panic!("no {target}: {names:?}"));
    assert!(at("initramfs") < at("boot loader configuration"), "first the module, then its name");
    assert!(file(&plan, DROPIN).unwrap().contains("zswap.compressor=lz4 ") && !noted(&plan, "it boots with"));
    // Made anew, the image has it: nothing is left to do.
    apply_files(&mut facts, &plan);
    facts.initramfs.contents = Fact::known(vec!["lz4.ko.xz".into(), "liblzma.so.5".into()], "initrd");
    let again = plan_with(&facts, config, &[]);
    assert!(!targets(&again).iter().any(|name| *name == "initramfs" || *name == DROPIN), "{:?}", targets(&again));
    // The file is there, but the image was made without it.
    facts.initramfs.contents = Fact::known(vec!["zstd.ko.xz".into()], "initrd");
    let again = plan_with(&facts, config, &[]);
    let step = again.steps.iter().find(|step| step.change.target() == "initramfs").unwrap();
    assert!(step.reason.contains("lz4 is not in initrd") && file(&again, DROPIN).is_none());
    // An image whose initramfs is left to its machine boots the one that it has.
    facts.image = Some(ImageFacts { runs_here: Fact::absent("another architecture"), ..ImageFacts::default() });
    let image = plan_with(&facts, config, &[]);
    assert!(file(&image, DROPIN).unwrap().contains("zswap.compressor=lzo-rle") && !targets(&image).contains(&"initramfs"));
    facts.image = None;
    // Without the library the module cannot be unpacked, whatever the plan asks for.
    facts.initramfs.contents = Fact::known(vec!["lz4.ko.xz".into()], "initrd");
    assert!(file(&plan_with(&facts, config, &[]), DROPIN).unwrap().contains("zswap.compressor=lzo-rle"));
}

#[test]
fn nixos_gets_what_is_live_and_is_told_how_to_keep_it() {
    let mut facts = server();
    facts.system.os_id = Fact::known("nixos".into(), "t");
    let settings = resolved(&facts, GUIDE);
    let live = plan(&request(&facts, &settings, &[]));
    assert!(live.refusals.is_empty() && live.steps.iter().all(|step| step.when == When::Now), "{live:#?}");
    assert!(!live.steps.is_empty() && noted(&live, "swaptune emit nixos"), "{live:#?}");
    let lasting = plan(&PlanRequest { now: false, ..request(&facts, &settings, &[]) });
    assert!(lasting.steps.is_empty() && lasting.refusals[0].hint.contains("swaptune emit nixos"), "{lasting:#?}");
}

#[test]
fn the_firmware_of_a_raspberry_reads_the_file_that_was_edited() {
    let mut facts = server();
    let path = "/boot/firmware/cmdline.txt";
    facts.boot.loader = Fact::known(crate::facts::BootLoader::Raspberry, path);
    let store = KernelArgStore {
        path: path.into(),
        configured: "root=PARTUUID=1-02".into(),
        reads_dropins: false,
        generated: Vec::new(),
        in_generated: Vec::new(),
        regenerate: None,
    };
    facts.boot.arguments = Fact::known(store, path);
    facts.files.insert(path.into(), Fact::known("root=PARTUUID=1-02\n".into(), path));
    let plan = plan_with(&facts, GUIDE, &[]);
    assert!(file(&plan, path).is_some_and(|text| text.contains("zswap.enabled=1")), "{plan:#?}");
    assert!(!regenerates(&plan) && !noted(&plan, "rebuilds the loader's files"), "{plan:#?}");
}
