//! A Debian tree that does not run, as a plan sees it: its own kernel, no machine around it, and generators that are left alone.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::fs;
use std::path::Path;

use swaptune_core::Facts;
use swaptune_core::change::Change;
use swaptune_core::measurement::Evidence;
use swaptune_core::plan::{Plan, PlanRequest, Step, When, assume, plan};
use swaptune_core::profiles;
use swaptune_core::settings::read_toml;
use swaptune_double::FixtureKernel;
use swaptune_host::inspect::{InspectScope, inspect};
use swaptune_host::journal::StateDir;
use swaptune_host::kernel::ImageKernel;
use swaptune_host::machine::Machine;
use swaptune_host::transaction::{ApplyOptions, UndoOutcome, execute, rollback};
use tempfile::TempDir;

/// What an installer leaves behind, as far as it is looked at.
fn debian(swap_line: &str) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    swaptune_double::debian_image(dir.path(), swap_line).unwrap();
    dir
}

const SWAP: &str = "UUID=5a5a none swap sw 0 0\n";

fn planned(root: &Path, config: &str) -> (Facts, Plan) {
    let mut facts = inspect(&Machine::at(root), InspectScope::PLAN);
    let evidence = Evidence::default();
    let layer = read_toml("c.toml", config, None).unwrap();
    assume(&mut facts, &layer);
    let settings = profiles::resolve(vec![layer], &facts, &evidence, None).unwrap();
    let request = PlanRequest {
        facts: &facts,
        settings: &settings,
        evidence: &evidence,
        forecast: None,
        now: false,
        boot: true,
        record: true,
        wipe: &[],
        binary: "/usr/local/bin/swaptune",
        installed: true,
        seed: 0,
    };
    let plan = plan(&request);
    (facts, plan)
}

fn file<'a>(plan: &'a Plan, name: &str) -> &'a str {
    let text = plan.steps.iter().find_map(|step| match &step.change {
        Change::File { path, after: Some(text), .. } if path == name => Some(text.as_str()),
        _ => None,
    });
    text.unwrap_or_else(|| panic!("no step makes {name}: {plan:#?}"))
}

#[track_caller]
fn note(plan: &Plan, about: &str, words: &str) {
    let found = plan.notes.iter().any(|note| note.about == about && note.text.contains(words));
    assert!(found, "no note on {about} with `{words}`: {:#?}", plan.notes);
}

#[test]
fn an_image_is_judged_by_the_newest_kernel_in_it() {
    let dir = debian(SWAP);
    let (facts, plan) = planned(dir.path(), "");
    assert_eq!(facts.kernel.release.value().unwrap(), "6.12.9-amd64");
    assert_eq!(facts.zswap.source(), "/boot/config-6.12.9-amd64: CONFIG_ZSWAP=y");
    let zswap = facts.zswap.value().unwrap();
    assert!(!zswap.enabled && zswap.parameter("compressor") == Some("lzo"), "{zswap:?}");
    assert!(zswap.parameter("shrinker_enabled").is_some() && zswap.parameter("same_filled_pages_enabled").is_none());
    note(&plan, "kernel", "planned for Linux 6.12.9-amd64, the newest of 2");
    assert!(plan.steps.iter().all(|step| step.when == When::Boot), "{:#?}", plan.steps);
    assert!(file(&plan, "/etc/swaptune/applied.toml").contains("enabled = true"));
    // Without zswap in the newest kernel there is none to plan for, whatever an older one has.
    fs::write(dir.path().join("boot/config-6.12.9-amd64"), "# CONFIG_ZSWAP is not set\nCONFIG_ZRAM=m\n").unwrap();
    assert!(planned(dir.path(), "").0.zswap.source().contains("CONFIG_ZSWAP is not set"));
}

#[test]
fn an_image_claims_neither_ram_nor_processors() {
    let dir = debian("");
    let (facts, plan) = planned(dir.path(), "");
    assert!(!facts.kernel.cpus.is_known() && !facts.memory.meminfo.is_known());
    note(&plan, "machine", "RAM and processors of the machine that will run this image are not known");
    let applied = file(&plan, "/etc/swaptune/applied.toml");
    assert!(!applied.contains("[[zram]]") && !applied.contains("size"), "{applied}");
    let (_, plan) = planned(dir.path(), "[machine]\nram = \"4G\"\ncpus = 2\n");
    assert!(plan.notes.iter().all(|note| note.about != "machine"), "{:#?}", plan.notes);
    let applied = file(&plan, "/etc/swaptune/applied.toml");
    assert!(applied.contains("[[zram]]\nsize = \"4G\"") && applied.contains("ram = \"4G\""), "{applied}");
}

#[test]
fn sysctls_that_the_kernel_of_an_image_has_are_written() {
    let dir = debian(SWAP);
    let (_, plan) = planned(dir.path(), "[knobs]\n\"vm.swappiness\" = 77\n");
    let text = file(&plan, "/etc/sysctl.d/99-zz-swaptune.conf");
    assert!(text.contains("vm.swappiness = 77") && text.contains("vm.page-cluster = "), "{text}");
    assert!(plan.notes.iter().all(|note| note.about != "vm.swappiness"), "{:#?}", plan.notes);
}

#[test]
fn areas_of_an_image_are_the_lines_of_its_fstab() {
    let dir = debian(SWAP);
    let (_, plan) = planned(dir.path(), "");
    assert!(file(&plan, "/etc/fstab").contains("UUID=5a5a none swap sw,pri=10,nofail 0 0\n"));
    let (_, plan) = planned(dir.path(), "[[swap]]\npath = \"/dev/vdz\"\n");
    note(&plan, "/dev/vdz", "cannot be seen from here");
    assert!(plan.steps.iter().all(|step| step.change.target() != "/etc/fstab"), "{:#?}", plan.steps);
}

#[test]
fn generators_are_left_to_the_machine_where_they_would_see_another_one() {
    let dir = debian(SWAP);
    let config = "[boot]\nkernel_arguments = true\ninitramfs = true\n";
    let (_, plan) = planned(dir.path(), config);
    let generated = |plan: &Plan| plan.steps.iter().filter(|step| matches!(step.change, Change::Generated { .. })).count();
    // Its programs are no programs; on a machine where they are, the folder would still be no disk of its own.
    assert_eq!(generated(&plan), 0, "{:#?}", plan.steps);
    note(&plan, "boot loader configuration", "Run `update-grub` on the machine once it runs");
    note(&plan, "initramfs", "Run `update-initramfs -u -k 6.12.9-amd64` on the machine once it runs");
    assert!(
        file(&plan, "/etc/default/grub.d/99-swaptune.cfg").contains("zswap.enabled=1"),
        "what they read is written all the same"
    );
    fs::write(dir.path().join("etc/initramfs-tools/initramfs.conf"), "MODULES=dep\n").unwrap();
    note(&planned(dir.path(), config).1, "initramfs", "");
}

#[test]
fn the_running_machine_mounted_into_an_image_is_not_the_image() {
    // Work in an image needs /proc, so people mount their own.
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let dir = debian(SWAP);
    let (root, script) = (dir.path(), "mkdir -p $0/proc && mount --bind /proc $0/proc && exec $1 --exact child --nocapture");
    let program = std::env::current_exe().unwrap();
    let output = std::process::Command::new("unshare")
        .args(["--mount", "sh", "-ec", script])
        .arg(root)
        .arg(program)
        .env("SWAPTUNE_IMAGE_ROOT", root)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("IMAGE true RAM false"), "{text}{}", String::from_utf8_lossy(&output.stderr));
}

/// A machine that does not boot any more is mended from another one.
#[test]
fn what_was_applied_while_it_ran_is_taken_back_while_it_does_not() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    for (path, text) in
        [("proc/sys/vm/swappiness", "60\n"), ("etc/default/grub", "old\n"), ("boot/grub/grub.cfg", "# the distribution's\n")]
    {
        fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        fs::write(root.join(path), text).unwrap();
    }
    let machine = Machine::at(root);
    let (state, options) = (StateDir::persistent(&machine), ApplyOptions::default());
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
    let changes = [
        Change::Knob {
            name: "vm.swappiness".into(),
            path: "/proc/sys/vm/swappiness".into(),
            before: "60".into(),
            after: "100".into(),
            fallbacks: Vec::new(),
        },
        Change::File { path: "/etc/default/grub".into(), before: Some("old\n".into()), after: Some("new\n".into()), mode: 0o644 },
        Change::Generated {
            what: "grub.cfg".into(),
            command: words(&["update-grub"]),
            outputs: words(&["/boot/grub/grub.cfg"]),
            before: false,
            after: true,
        },
    ];
    let step = |change| Step {
        change,
        when: When::Now,
        reason: "a test".into(),
        evidence: "none".into(),
        provenance: "test".into(),
        risk: String::new(),
    };
    let steps = changes.map(step).to_vec();
    let plan = Plan { schema: swaptune_core::plan::SCHEMA, profile: "test".into(), steps, ..Plan::default() };
    let applied = execute(&machine, &FixtureKernel::new(root), &state, &plan, &options).unwrap();
    // Switched off, its knobs are as its kernel will set them.
    fs::remove_dir_all(root.join("proc")).unwrap();
    let report = rollback(&machine, &ImageKernel::new(root), &state, &applied.id.unwrap(), &options).unwrap();
    assert!(report.left().is_empty(), "{report:?}");
    assert!(matches!(&report.steps[2].outcome, UndoOutcome::Kept { why } if why.contains("does not run")), "{report:?}");
    assert_eq!(fs::read_to_string(root.join("etc/default/grub")).unwrap(), "old\n");
    assert_eq!(fs::read_to_string(root.join("boot/grub/grub.cfg")).unwrap(), "# the distribution's\n");
}

/// Not a test of its own: looks at the image where `/proc` is mounted in it.
#[test]
fn child() {
    let Some(root) = std::env::var_os("SWAPTUNE_IMAGE_ROOT") else { return };
    let facts = inspect(&Machine::at(root), InspectScope::PLAN);
    println!("IMAGE {} RAM {}", facts.image.is_some(), facts.memory.meminfo.is_known());
}
