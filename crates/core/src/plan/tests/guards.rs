//! What a plan refuses for the machine's sake: names that nothing has, sizes that nothing holds, swap beside a kubelet.

use super::*;

/// The server with an empty file system table and no swap: only what is configured counts.
fn bare() -> Facts {
    let mut facts = server();
    facts.swaps.clear();
    facts.block_devices.retain(|device| device.name != "vda3");
    facts
}

fn hinted(plan: &Plan, words: &str) -> bool {
    plan.refusals.iter().any(|refusal| refusal.hint.contains(words))
}

fn wants_zram(plan: &Plan) -> bool {
    plan.steps.iter().any(|step| matches!(step.change, Change::Zram { .. }))
}

#[test]
fn a_device_that_does_not_exist_is_refused_and_changes_no_design() {
    let config = "[[swap]]\npath = \"/dev/sdx9\"\n";
    let plan = plan_with(&bare(), config, &[]);
    assert!(refused(&plan, "no device of this name is there") && hinted(&plan, "optional = true"), "{:?}", plan.refusals);
    assert!(!wants_zram(&plan), "a typing error must not turn zswap into zram");
    assert_eq!(knob(&plan, "zswap.enabled"), Some(("N", "Y")));
    let optional = plan_with(&bare(), &format!("{config}optional = true\n"), &[]);
    assert_eq!(optional.refusals, []);
    assert!(noted(&optional, "/dev/sdx9 is not there: skipped") && !wants_zram(&optional));
    assert_eq!(knob(&optional, "zswap.enabled"), Some(("N", "Y")));
    let said = plan_with(&bare(), &format!("{config}optional = false\n"), &[]);
    assert!(refused(&said, "no device of this name is there"));
}

#[test]
fn an_area_boots_without_its_device_unless_the_configuration_says_otherwise() {
    let line = |optional: &str| {
        let plan = plan_with(&bare(), &format!("[[swap]]\npath = \"/dev/vdb\"\n{optional}"), &[]);
        file(&plan, "/etc/fstab").unwrap().contains("nofail")
    };
    assert!(line("") && line("optional = true\n") && !line("optional = false\n"));
}

#[test]
fn where_no_disk_is_fit_each_says_why() {
    let mut facts = bare();
    facts.mounts[0].read_only = true;
    facts.block_devices.push(BlockDevice { name: "mmcblk0".into(), transport: Transport::Mmc, ..BlockDevice::default() });
    let plan = plan_with(&facts, "", &[]);
    let reasons: Vec<&str> = plan.steps.iter().map(|step| step.reason.as_str()).collect();
    let zram = reasons.iter().find(|reason| reason.contains("no disk here is fit for swap")).unwrap();
    for words in ["vda: / is mounted read-only", "mmcblk0: an SD card or eMMC", "vdb: not the disk of /; name one"] {
        assert!(zram.contains(words), "{zram}");
    }
}

#[test]
fn sizes_that_nothing_holds_are_refused_with_the_largest_that_makes_sense() {
    let check = |config: &str, why: &str, hint: &str| {
        let plan = plan_with(&bare(), config, &[]);
        assert!(refused(&plan, why) && hinted(&plan, hint), "{config}: {:?}", plan.refusals);
    };
    check("[[zram]]\nsize = \"90T\"\n", "90 TiB wanted on 8 GiB of RAM", "write size = \"32G\" or less under [[zram]]");
    check("[[zram]]\nsize = \"20G\"\n[[zram]]\nsize = \"20G\"\n", "40 GiB wanted", "32G");
    check("[[zram]]\nsize = \"8G\"\nmem_limit = \"9G\"\n", "mem_limit 9 GiB is more than the 8 GiB", "mem_limit = \"8G\"");
    check("[[swap]]\npath = \"/dev/vdb\"\nsize = \"90T\"\n", "the device has 4 GiB", "leave size out");
    check(
        "[[swap]]\npath = \"/swapfile\"\nsize = \"90T\"\n",
        "90 TiB wanted, 30 GiB free on /",
        "write size = \"30464M\" or less",
    );
    check("[[swap]]\npath = \"/swapfile\"\nsize = \"30G\"\n", "256 MiB stay free: 29.8 GiB is the most", "30464M");
    let two = "[[swap]]\npath = \"/a\"\nsize = \"20G\"\n[[swap]]\npath = \"/b\"\nsize = \"20G\"\n";
    check(two, "20 GiB wanted, 30 GiB free on /, of which 256 MiB stay free and 20 GiB go to files before it", "9984M");
    for fits in [
        "[[zram]]\nsize = \"32G\"\n",
        "[[zram]]\nsize = \"8G\"\nmem_limit = \"8G\"\n",
        "[[swap]]\npath = \"/swapfile\"\nsize = \"30464M\"\n",
        "[[swap]]\npath = \"/dev/vdb\"\nsize = \"4G\"\n",
    ] {
        assert_eq!(plan_with(&bare(), fits, &[]).refusals, [], "{fits}");
    }
}

fn node(fails: Fact<bool>, behavior: &str) -> Facts {
    let swap_behavior = Fact::known(behavior.into(), "/var/lib/kubelet/config.yaml:9");
    let (name, evidence) = ("kubelet".into(), "process 812 (kubelet)".into());
    let kubelet = Kubelet { name, evidence, config: "/var/lib/kubelet/config.yaml".into(), fail_swap_on: fails, swap_behavior };
    let mut facts = server();
    facts.system.kubelets.push(kubelet);
    facts
}

fn fails() -> Fact<bool> {
    Fact::known(true, "/var/lib/kubelet/config.yaml:4")
}

fn tolerates() -> Fact<bool> {
    Fact::known(false, "/var/lib/kubelet/config.yaml:4")
}

#[test]
fn swap_is_refused_on_a_node_whose_kubelet_does_not_allow_it() {
    let plan = plan_with(&node(fails(), "LimitedSwap"), "", &[]);
    assert!(refused(&plan, "failSwapOn is true (/var/lib/kubelet/config.yaml:4)") && refused(&plan, "process 812 (kubelet)"));
    assert!(hinted(&plan, "--set safety.kubelet=allow") && hinted(&plan, "in /var/lib/kubelet/config.yaml"));
    let swap = |plan: &Plan| plan.steps.iter().any(|step| matches!(step.change, Change::Swap { .. }));
    assert!(!swap(&plan) && file(&plan, "/etc/fstab").is_none() && knob(&plan, "zswap.enabled").is_none());
    let unsaid = Fact::absent("/var/lib/kubelet/config.yaml: no failSwapOn, and the default is true");
    assert!(refused(&plan_with(&node(unsaid, "LimitedSwap"), "", &[]), "no failSwapOn, and the default is true"));
    assert!(refused(
        &plan_with(&node(tolerates(), "NoSwap"), "", &[]),
        "swapBehavior is NoSwap (/var/lib/kubelet/config.yaml:9)"
    ));
    let zram = plan_with(&node(fails(), "NoSwap"), "[[zram]]\nsize = \"1G\"\n", &[]);
    assert!(refused(&zram, "failSwapOn is true") && !wants_zram(&zram));
}

#[test]
fn a_kubelet_that_allows_swap_and_an_administrator_who_answers_for_it() {
    let plan = plan_with(&node(tolerates(), "LimitedSwap"), "", &[]);
    assert_eq!(plan, plan_with(&server(), "", &[]), "nothing is different where it is allowed");
    let allowed = plan_with(&node(fails(), "NoSwap"), "[safety]\nkubelet = \"allow\"\n", &[]);
    assert_eq!(allowed.refusals, []);
    assert!(noted(&allowed, "failSwapOn is true") && noted(&allowed, "c.toml:2 allows swap all the same"));
    assert_eq!(knob(&allowed, "zswap.enabled"), Some(("N", "Y")));
    assert!(file(&allowed, "/etc/swaptune/applied.toml").unwrap().contains("kubelet = \"allow\""), "for verify and the service");
    let refused_by_name = plan_with(&node(fails(), "NoSwap"), "[safety]\nkubelet = \"refuse\"\n", &[]);
    assert!(refused(&refused_by_name, "failSwapOn is true"));
}

#[test]
fn what_brings_no_swap_is_no_business_of_a_kubelet() {
    let mut facts = node(fails(), "NoSwap");
    facts.swaps.clear();
    facts.zswap = Fact::absent("CONFIG_ZSWAP is not set");
    facts.zram.driver = Fact::absent("CONFIG_ZRAM is not set");
    facts.mounts[0].read_only = true;
    let plan = plan_with(&facts, "[knobs]\n\"vm.swappiness\" = 10\n", &[]);
    assert_eq!(plan.refusals, []);
    assert_eq!(knob(&plan, "vm.swappiness"), Some(("60", "10")));
    assert_eq!(plan_with(&node(fails(), "NoSwap"), "profile = \"off\"\n", &[]).refusals, []);
}

#[test]
fn zswap_that_was_asked_for_has_an_area_of_a_disk_behind_it() {
    let mut bare = server();
    bare.swaps.clear();
    bare.files.insert("/etc/fstab".into(), Fact::known(String::new(), "t"));
    bare.mounts[0].read_only = true;
    let mut in_zram = bare.clone();
    in_zram.swaps = vec![area("/dev/zram0", "zram0", 100, 0)];
    let on = "[zswap]\nenabled = true\n";
    for facts in [&bare, &in_zram] {
        let plan = plan_with(facts, on, &[]);
        let refusal = plan.refusals.first().unwrap();
        assert!(refusal.why.starts_with("zswap needs a swap area") && refusal.hint == "name one under [[swap]]", "{refusal:?}");
        let guide = plan_with(facts, "profile = \"idle-guide\"\n", &[]);
        assert!(guide.refusals.is_empty() && guide.notes.iter().any(|note| note.text.starts_with("zswap needs a swap area")));
    }
    let both = plan_with(&server(), &format!("{on}[[zram]]\nsize = \"1G\"\n"), &[]);
    assert_eq!(both.refusals.first().unwrap().what, "zswap and zram");
    // A file can stand behind it, and zram makes way.
    in_zram.mounts[0].read_only = false;
    let plan = plan_with(&in_zram, on, &[]);
    assert!(plan.refusals.is_empty(), "{:?}", plan.refusals);
    assert!(plan.steps.iter().any(|step| matches!(&step.change, Change::SwapFile { after: Some(_), .. })), "{plan:?}");
    assert!(plan.steps.iter().any(|step| matches!(&step.change, Change::Swap { path, after: None, .. } if path == "/dev/zram0")));
}

#[test]
fn a_kernel_that_no_table_knows_is_refused_once() {
    let mut facts = server();
    for (version, is_refused) in [(v(4, 19), true), (v(5, 4), true), (v(5, 10), false), (v(7, 1), false)] {
        facts.kernel.version = Fact::known(version, "uname");
        let plan = plan_with(&facts, "", &[]);
        assert_eq!(!plan.refusals.is_empty(), is_refused, "{version}: {:?}", plan.refusals);
        if let [refusal] = plan.refusals.as_slice() {
            assert_eq!(refusal.why, format!("Linux {version} found, 5.10 or later expected"));
            assert!(plan.is_empty());
        }
    }
}
