//! A device made ready: partitioned, encrypted, with a swap header, on, and found again by every boot.

use super::super::draft::{Draft, Why, uuid};
use super::super::{Plan, PlanRequest, When, areas};
use super::lines::{self, BootArea};
use super::target::{self, Target};
use super::{DeviceWish, begin, finish};
use crate::change::{Change, DeviceFormat, MappingKey, MappingState, SwapHeaderState, SwapState};
use crate::device::{key_file, mapping_name};
use crate::measurement::{CipherFigures, recommend};
use crate::settings::EncryptRule;

/// Without a measurement: what cryptsetup itself takes.
const CIPHER: (&str, u32) = ("aes-xts-plain64", 512);
const LOST: &str = "what the device carries now is lost; the ends that are overwritten are kept for rollback, the rest is not";

/// Plans to make a device swap.
#[must_use]
pub fn prepare(request: &PlanRequest<'_>, wish: &DeviceWish<'_>) -> Plan {
    let mut draft = begin(request, "device prepare");
    if let Some(target) = target::of(&mut draft, wish).filter(|_| !draft.is_refused()) {
        if let Some(device) = draft.facts().device_named(wish.device) {
            areas::correct_disk(&mut draft, &device.name);
        }
        table(&mut draft, wish, &target);
        let path = contents(&mut draft, wish, &target);
        let state = SwapState { discard_once: target.discard, ..SwapState::at(wish.priority) };
        let change = Change::Swap { path, before: None, after: Some(state) };
        draft.step(When::Now, change, Why::rule("the area is on at once", "swapon(2)"));
        last(&mut draft, wish, &target);
        notes(&mut draft, wish, &target);
    }
    finish(draft)
}

fn is_wiped(draft: &Draft<'_>) -> bool {
    !draft.request.wipe.is_empty()
}

fn table(draft: &mut Draft<'_>, wish: &DeviceWish<'_>, target: &Target) {
    let Some(table) = target.table.clone() else { return };
    let wipe = is_wiped(draft);
    let path = draft.facts().device_named(wish.device).map_or_else(|| wish.device.to_owned(), crate::facts::BlockDevice::node);
    let why = Why {
        risk: if wipe { LOST } else { "" },
        ..Why::rule(
            "a partition has a name and a PARTUUID that no key and no swap header erases",
            "UEFI specification, 5.3: GPT; made by sfdisk(8)",
        )
    };
    draft.step(When::Now, Change::Format { path, before: None, after: Some(table), wipe }, why);
}

/// What goes into the partition; says what swapon takes.
fn contents(draft: &mut Draft<'_>, wish: &DeviceWish<'_>, target: &Target) -> String {
    let name = mapping_name(&target.partuuid);
    let swap = SwapHeaderState { uuid: uuid(draft.request.seed, &format!("{} swap", target.node)), label: name.clone() };
    let key = match wish.encrypt {
        EncryptRule::None => return plain(draft, target, swap),
        EncryptRule::Random => random_key(draft),
        EncryptRule::Luks => luks(draft, target, &name),
    };
    let (cipher_why, evidence) = match wish.encrypt {
        EncryptRule::Random => {
            let (_, _, reason, source) = cipher(draft);
            (format!("a key that is made at each boot and is only ever in RAM; {reason}"), source)
        }
        _ => ("opened with its key file".to_owned(), "cryptsetup-open(8)".to_owned()),
    };
    let state = MappingState { source: target.node.clone(), key, discard: target.discard, swap };
    draft.step(
        When::Now,
        Change::Mapping { name: name.clone(), before: None, after: Some(state) },
        Why::rule(cipher_why, evidence),
    );
    format!("/dev/mapper/{name}")
}

fn plain(draft: &mut Draft<'_>, target: &Target, swap: SwapHeaderState) -> String {
    // On a disk that is wiped the new partition holds old data.
    let wipe = is_wiped(draft);
    let why =
        Why::rule("it becomes a swap area", "the header is that of mkswap(8); signatures are probed again before the write");
    let change = Change::SwapHeader { path: target.node.clone(), before: None, after: Some(swap), wipe };
    draft.step(When::Now, change, why);
    target.node.clone()
}

fn random_key(draft: &Draft<'_>) -> MappingKey {
    let (cipher, key_bits, ..) = cipher(draft);
    MappingKey::Random { cipher, key_bits }
}

fn luks(draft: &mut Draft<'_>, target: &Target, name: &str) -> MappingKey {
    let path = key_file(name);
    let why = Why::rule(
        "64 bytes from the kernel's generator, readable by root only; neither the journal nor a capture has them",
        "random(4)",
    );
    draft.step(When::Now, Change::KeyFile { path: path.clone(), before: false, after: true }, why);
    let (cipher, key_bits, reason, source) = cipher(draft);
    let after = DeviceFormat::Luks {
        uuid: uuid(draft.request.seed, &format!("{} volume", target.node)),
        label: name.to_owned(),
        cipher,
        key_bits,
        key_file: path.clone(),
    };
    let wipe = is_wiped(draft);
    let change = Change::Format { path: target.node.clone(), before: None, after: Some(after), wipe };
    draft.step(When::Now, change, Why { risk: if wipe { LOST } else { "" }, ..Why::rule(reason, source) });
    MappingKey::File { path }
}

/// Cipher and key size, why, and what that rests on.
fn cipher(draft: &Draft<'_>) -> (String, u32, String, String) {
    let measured = draft.request.evidence.ciphers();
    let choice = measured.as_ref().and_then(|ciphers| {
        let rows: Vec<CipherFigures> = ciphers.value.iter().copied().cloned().collect();
        recommend(&rows, None)
    });
    match (choice, measured) {
        (Some(choice), Some(measured)) => {
            let reason = format!("{} with {} bits: {}", choice.cipher, choice.key_bits, choice.reasons.join("; "));
            (choice.cipher, choice.key_bits, reason, measured.source)
        }
        _ => {
            let reason = format!(
                "{} with {} bits, as cryptsetup takes it: `sudo swaptune bench cipher` finds what is fastest here",
                CIPHER.0, CIPHER.1
            );
            (CIPHER.0.into(), CIPHER.1, reason, "cryptsetup(8); no result of `bench cipher`".into())
        }
    }
}

/// The lines for each boot.
fn last(draft: &mut Draft<'_>, wish: &DeviceWish<'_>, target: &Target) {
    let name = mapping_name(&target.partuuid);
    let options = |first: &str| lines::mapping_options(first, target.discard, wish.optional);
    let source = format!("PARTUUID={}", target.partuuid);
    let mapping = match wish.encrypt {
        EncryptRule::None => None,
        EncryptRule::Random => {
            let (cipher, bits, ..) = cipher(draft);
            let first = format!("plain,swap,cipher={cipher},size={bits}");
            Some(format!("{name} {source} /dev/urandom {}", options(&first)))
        }
        // Without `headless` a boot would ask for a passphrase where the key does not fit.
        EncryptRule::Luks => Some(format!("{name} {source} {} {}", key_file(&name), options("luks,headless=true"))),
    };
    let is_plain = wish.encrypt == EncryptRule::None;
    let swap_uuid = uuid(draft.request.seed, &format!("{} swap", target.node));
    let area = BootArea {
        spec: if is_plain { format!("UUID={swap_uuid}") } else { format!("/dev/mapper/{name}") },
        name: if is_plain { source } else { format!("/dev/mapper/{name}") },
        priority: wish.priority,
        discard: target.discard,
        optional: wish.optional,
        encrypt: wish.encrypt,
        partuuid: Some(target.partuuid.clone()),
    };
    lines::add(draft, &area, mapping.map(|line| (name.as_str(), line)));
}

fn notes(draft: &mut Draft<'_>, wish: &DeviceWish<'_>, target: &Target) {
    let what = match wish.encrypt {
        EncryptRule::None => "what is swapped out is written in clear text and stays readable on the device after power-off",
        EncryptRule::Random => {
            "the key is in RAM only: what was swapped out is unreadable after power-off, for its owner too; hibernation to it is impossible"
        }
        EncryptRule::Luks => {
            "who has the device alone cannot read it; who has this machine's root file system too has the key, unless that is encrypted"
        }
    };
    draft.note("encryption", what, "docs/guides/encrypted-swap.md");
    if wish.encrypt != EncryptRule::None {
        let text = "XTS and the like have no integrity: who can write to the device can change pages unnoticed, if not choose what they become";
        draft.note("integrity", text, "IEEE 1619; dm-crypt documentation");
    }
    if wish.cache && target.table.is_some() {
        draft.note("cache", "the second partition is left blank: what uses it makes what it needs", "--rest cache");
    }
}
