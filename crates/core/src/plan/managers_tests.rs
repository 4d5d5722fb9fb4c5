//! Other programs that set up swap: none is passed over in silence.

use super::managers::{Makes, TABLE};
use super::tests::*;
use super::*;
use crate::Fact;
use crate::facts::{Facts, InitSystem, KnobWriter, MANAGERS_OF_ZRAM, Manager, WriterKind};
use crate::units::Bytes;

const OWN: &str = "/etc/systemd/zram-generator.conf.d/zz-swaptune.conf";

fn with(names: &[&str]) -> Facts {
    let mut facts = server();
    let manager = |name: &&str| Manager { name: (*name).into(), evidence: format!("/usr/{name}"), active: true };
    facts.system.managers = names.iter().map(manager).collect();
    facts
}

fn text(facts: &mut Facts, path: &str, text: &str) {
    facts.files.insert(path.into(), Fact::known(text.into(), "t"));
}

/// True when a step or a note is about this manager.
fn speaks_of(plan: &Plan, name: &str) -> bool {
    let evidence = format!("/usr/{name}");
    plan.notes.iter().any(|note| note.about == name) || plan.steps.iter().any(|step| step.evidence == evidence)
}

#[test]
fn a_plan_speaks_of_every_manager() {
    for row in TABLE {
        for (tier, config) in [("zswap", ""), ("zram", "[[zram]]\nsize = \"1G\"\n")] {
            for init in [InitSystem::Systemd, InitSystem::Openrc] {
                let mut facts = with(&[row.name]);
                facts.system.init = Fact::known(init, "t");
                text(&mut facts, "/usr/lib/systemd/zram-generator.conf", "[zram0]\n");
                let settings = resolved(&facts, config);
                for boot in [true, false] {
                    let plan = plan(&PlanRequest { boot, ..request(&facts, &settings, &[]) });
                    assert!(speaks_of(&plan, row.name), "{} with {tier}, {init:?}, boot {boot}", row.name);
                }
            }
        }
        let of_zram = MANAGERS_OF_ZRAM.contains(&row.name);
        assert!(of_zram == (row.makes == Makes::Zram) || of_zram && row.makes == Makes::Zswap, "{}", row.name);
    }
}

#[test]
fn what_is_not_on_is_not_spoken_of() {
    let mut facts = with(&["tuned", "zram-tools"]);
    facts.system.managers.iter_mut().for_each(|manager| manager.active = false);
    let plan = plan_with(&facts, "", &[]);
    assert!(!speaks_of(&plan, "tuned") && !speaks_of(&plan, "zram-tools"));
}

#[test]
fn zram_that_a_manager_set_up_is_left_to_it() {
    let mut facts = with(&["zram-generator"]);
    facts.swaps = vec![area("/dev/zram0", "zram0", 100, 0)];
    text(&mut facts, "/usr/lib/systemd/zram-generator.conf", "[zram0]\n");
    let plan = plan_with(&facts, "", &[]);
    assert!(noted(&plan, "this plan leaves that to it") && !targets(&plan).contains(&OWN));
}

#[test]
fn drop_ins_of_zram_generator_are_silenced_and_file_systems_stay() {
    let mut facts = with(&["zram-generator"]);
    text(
        &mut facts,
        "/etc/systemd/zram-generator.conf.d/50-mine.conf",
        "[zram0]\nzram-size = ram\n[zram1]\nmount-point = /var/log\n",
    );
    text(&mut facts, "/run/systemd/zram-generator.conf.d/20-x.conf", "[zram2]\nzram-size = 100\n");
    text(&mut facts, "/usr/lib/systemd/zram-generator.conf.d/50-mine.conf", "[zram7]\n");
    let plan = plan_with(&facts, "", &[]);
    let own = file(&plan, OWN).unwrap();
    assert!(own.ends_with("\n[zram2]\nhost-memory-limit = 0\n[zram0]\nhost-memory-limit = 0\n"), "{own}");
    assert!(!plan.steps.iter().any(|step| step.change.target().contains("50-mine")), "the administrator's files stay");
    carry_out(&mut facts, &plan);
    let left = crate::parse::zram_generator::devices_of(&facts, "");
    let swaps = left.iter().filter(|device| device.is_swap());
    assert!(swaps.clone().count() == 2 && swaps.clone().all(|device| device.is_left_out(Bytes::from_mib(500))));
    assert!(left.iter().any(|device| !device.is_swap() && !device.is_left_out(Bytes::from_mib(500))), "{left:?}");
    assert!(!targets(&plan_with(&facts, "", &[])).contains(&OWN), "once is enough");
}

#[test]
fn larger_pages_are_said() {
    let mut facts = server();
    assert!(!noted(&plan_with(&facts, "", &[]), "pages of"));
    facts.kernel.page_size = Bytes(16384);
    assert!(noted(&plan_with(&facts, "", &[]), "this kernel has pages of 16 KiB"));
}

#[test]
fn who_sets_a_knob_at_boot_is_named_with_who_wins() {
    let mut facts = server();
    let writer = |knob: &str, value: Option<&str>, kind, by: &str| KnobWriter {
        knob: knob.into(),
        value: value.map(str::to_owned),
        path: "/etc/x".into(),
        line: 5,
        kind,
        by: by.into(),
    };
    facts.system.writers = vec![
        writer("transparent_hugepage.enabled", Some("always"), WriterKind::Unit, "thp-config.service"),
        writer("zswap.compressor", Some("lzo"), WriterKind::Tmpfiles, "/etc/x"),
        writer("vm.page-cluster", Some("0"), WriterKind::Cron, "/etc/x"),
        writer("vm.max_map_count", Some("1"), WriterKind::Cron, "/etc/x"),
        writer("zswap.enabled", Some("0"), WriterKind::Modprobe, "/etc/x"),
    ];
    let plan = plan_with(&facts, "", &[]);
    let said: Vec<&Note> = plan.notes.iter().filter(|note| note.evidence == "/etc/x:5").collect();
    assert_eq!(said.len(), 2, "what agrees, what this plan does not set and what has no effect is passed over: {said:?}");
    assert!(said[0].text.starts_with("thp-config.service sets always (/etc/x:5), not madvise: it runs after"), "{said:?}");
    assert!(said[1].text.starts_with("/etc/x:5 sets lzo, not zstd: it has no order"), "{said:?}");
    let settings = resolved(&facts, "");
    assert!(
        !super::plan(&PlanRequest { boot: false, ..request(&facts, &settings, &[]) })
            .notes
            .iter()
            .any(|n| n.evidence == "/etc/x:5")
    );
}
