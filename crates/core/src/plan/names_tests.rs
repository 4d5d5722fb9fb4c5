//! One device, many names: whatever fstab and the configuration call it, it is one area with one line.

use super::tests::*;
use super::*;
use crate::Fact;
use crate::change::Change;
use crate::facts::Facts;

/// Every name of the swap partition of [`named`].
const NAMES: &[&str] = &[
    "/dev/vda3",
    "UUID=5A5A",
    "LABEL=\"my swap\"",
    "PARTUUID=0003-ab",
    "PARTLABEL=swap-part",
    "ID=virtio-x-part3",
    "/dev/disk/by-uuid/5a5a",
    "/dev/disk/by-label/my\\x20swap",
    "/dev/disk/by-partuuid/0003-ab",
    "/dev/disk/by-partlabel/swap-part",
    "/dev/disk/by-id/virtio-x-part3",
    "/dev/disk/by-path/pci-0-part3",
];

/// The server whose swap partition has all names that there are.
fn named() -> Facts {
    let mut facts = server();
    let device = facts.block_devices.iter_mut().find(|device| device.name == "vda3").unwrap();
    device.label = Some("my swap".into());
    device.partuuid = Some("0003-ab".into());
    device.partlabel = Some("swap-part".into());
    device.links = ["disk/by-id/virtio-x-part3", "disk/by-path/pci-0-part3"].map(str::to_owned).to_vec();
    facts
}

fn fstab(facts: &mut Facts, lines: &str) {
    facts.files.insert("/etc/fstab".into(), Fact::known(format!("UUID=root / ext4 defaults 0 1\n{lines}"), "t"));
}

#[test]
fn an_older_line_of_the_same_device_goes_whatever_it_calls_it() {
    for name in NAMES {
        let mut facts = named();
        fstab(&mut facts, &format!("{} none swap sw,pri=7 0 0\n", crate::escape::escape(name)));
        let plan = plan_with(&facts, "", &[]);
        let expect = "UUID=root / ext4 defaults 0 1\nUUID=5a5a none swap sw,pri=10,nofail 0 0\n";
        assert_eq!(file(&plan, "/etc/fstab"), Some(expect), "{name}");
    }
}

#[test]
fn a_configuration_may_use_any_name() {
    for name in NAMES {
        let mut facts = named();
        facts.swaps.clear();
        let config = format!("[[swap]]\npath = '{name}'\npriority = 5\n");
        let plan = plan_with(&facts, &config, &[]);
        assert_eq!(plan.refusals, [], "{name}");
        let on = |step: &Step| matches!(&step.change, Change::Swap { path, after: Some(_), .. } if path == "/dev/vda3");
        assert!(plan.steps.iter().any(on), "{name}");
        assert!(!plan.steps.iter().any(|step| matches!(step.change, Change::SwapHeader { .. })), "{name} has a header");
        assert!(file(&plan, "/etc/fstab").unwrap().contains("UUID=5a5a none swap sw,pri=5,nofail"), "{name}");
    }
}

#[test]
fn two_names_of_one_device_are_refused() {
    let config = "[[swap]]\npath = \"UUID=5a5a\"\n[[swap]]\npath = \"PARTUUID=0003-AB\"\n";
    assert!(refused(&plan_with(&named(), config, &[]), "it is /dev/vda3, which UUID=5a5a names already"));
}

#[test]
fn a_mapping_with_a_key_of_each_boot_keeps_its_name() {
    let mut facts = named();
    let device = facts.block_devices.iter_mut().find(|device| device.name == "vda3").unwrap();
    (device.name, device.dm_name) = ("dm-0".into(), Some("cryptswap".into()));
    device.dm_uuid = Some("CRYPT-PLAIN-cryptswap".into());
    facts.swaps = vec![area("/dev/mapper/cryptswap", "dm-0", -2, 0)];
    fstab(&mut facts, "/dev/mapper/cryptswap none swap sw 0 0\n");
    let plan = plan_with(&facts, "", &[]);
    let text = file(&plan, "/etc/fstab").unwrap();
    assert!(text.ends_with("\n/dev/mapper/cryptswap none swap sw,pri=10,nofail 0 0\n"), "{text}");
}
