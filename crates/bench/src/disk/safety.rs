//! Whether a device may be written to. Decided from what is known about it, in one place, before anything is opened for writing.

use swaptune_host::kernel::OpenBy;
use thiserror::Error;

/// What is known about a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceState {
    /// Path as it was asked for.
    pub path: String,
    /// Where it, or a part of it, is mounted.
    pub mounted_at: Option<String>,
    /// True when it, or a part of it, is active swap.
    pub is_active_swap: bool,
    /// Mappings and arrays that lie on it or on a part of it (`dm-0`, `md127`).
    pub held_by: Vec<String>,
    /// What its first bytes, or udev, say it holds (`swap`, `ext4`, `gpt`).
    pub contents: Vec<String>,
}

/// How far a device may be written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteAccess {
    /// An unused swap area: what it holds is worth nothing, its header is kept.
    BehindHeader,
    /// Everything on it is given up.
    Whole,
}

/// Why a device must not be written to.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DeviceRefusal {
    /// The kernel uses it, or another process has it open.
    #[error("{path} is in use: {how}")]
    InUse {
        /// The device.
        path: String,
        /// By what.
        how: String,
    },
    /// Who has it open cannot be told.
    #[error("{path}: whether another process has it open cannot be seen")]
    Unseen {
        /// The device.
        path: String,
    },
    /// It may carry data.
    #[error("{path} is not an unused swap area: it holds {contents}")]
    CarriesData {
        /// The device.
        path: String,
        /// What it holds.
        contents: String,
    },
}

impl DeviceRefusal {
    /// What to do instead.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::InUse { .. } => "name a folder on it with --dir: a scratch file there is harmless".into(),
            Self::Unseen { .. } => "run it as root".into(),
            Self::CarriesData { path, .. } => {
                format!("measure a scratch file with --dir, or give up everything on the device with --wipe {path}")
            }
        }
    }
}

/// Decides. `give_up` says that the user named this device as one to wipe; nothing in use is written to even then.
///
/// # Errors
/// [`DeviceRefusal`].
pub fn decide(state: &DeviceState, give_up: bool) -> Result<WriteAccess, DeviceRefusal> {
    let in_use = |how: String| Err(DeviceRefusal::InUse { path: state.path.clone(), how });
    if let Some(at) = &state.mounted_at {
        return in_use(format!("mounted at {at}"));
    }
    if state.is_active_swap {
        return in_use("active swap".into());
    }
    if !state.held_by.is_empty() {
        return in_use(format!("{} on it", state.held_by.join(", ")));
    }
    if give_up {
        return Ok(WriteAccess::Whole);
    }
    // A device with two signatures is not what the first one says.
    if !state.contents.is_empty() && state.contents.iter().all(|kind| kind == "swap") {
        return Ok(WriteAccess::BehindHeader);
    }
    let contents = if state.contents.is_empty() { "nothing that is known".into() } else { state.contents.join(" and ") };
    Err(DeviceRefusal::CarriesData { path: state.path.clone(), contents })
}

/// Refuses what another process or a loop device has open: a virtual machine has its disks so, without holding them.
///
/// # Errors
/// [`DeviceRefusal`].
pub fn refuse_if_open(path: &str, by: &OpenBy) -> Result<(), DeviceRefusal> {
    let path = path.to_owned();
    match by {
        OpenBy { who: Some(who), .. } => Err(DeviceRefusal::InUse { path, how: format!("{who} has it open") }),
        OpenBy { unseen: true, .. } => Err(DeviceRefusal::Unseen { path }),
        OpenBy { .. } => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(contents: &[&str]) -> DeviceState {
        let contents = contents.iter().map(|kind| (*kind).to_owned()).collect();
        DeviceState { path: "/dev/vdb".into(), contents, ..DeviceState::default() }
    }

    /// Every kind of device, what may be done with it, and what with --wipe.
    #[test]
    fn only_unused_swap_and_what_is_given_up_is_written_to() {
        let mounted = DeviceState { mounted_at: Some("/".into()), ..state(&["ext4"]) };
        let mounted_swap = DeviceState { mounted_at: Some("/mnt".into()), ..state(&["swap"]) };
        let active = DeviceState { is_active_swap: true, ..state(&["swap"]) };
        let held = DeviceState { held_by: vec!["dm-0".into()], ..state(&["crypto_LUKS"]) };
        let held_swap = DeviceState { held_by: vec!["md127".into()], ..state(&["swap"]) };
        let (in_use, data) = ("is in use", "is not an unused swap area");
        type Expect = Result<WriteAccess, &'static str>;
        let table: [(&str, DeviceState, Expect, Expect); 12] = [
            ("unused swap", state(&["swap"]), Ok(WriteAccess::BehindHeader), Ok(WriteAccess::Whole)),
            ("swap twice seen", state(&["swap", "swap"]), Ok(WriteAccess::BehindHeader), Ok(WriteAccess::Whole)),
            ("hibernation image", state(&["swsuspend"]), Err(data), Ok(WriteAccess::Whole)),
            ("file system", state(&["ext4"]), Err(data), Ok(WriteAccess::Whole)),
            ("swap under a file system", state(&["swap", "ext4"]), Err(data), Ok(WriteAccess::Whole)),
            ("partition table", state(&["gpt"]), Err(data), Ok(WriteAccess::Whole)),
            ("nothing known", state(&[]), Err(data), Ok(WriteAccess::Whole)),
            ("mounted", mounted, Err(in_use), Err(in_use)),
            ("mounted, says swap", mounted_swap, Err(in_use), Err(in_use)),
            ("active swap", active, Err(in_use), Err(in_use)),
            ("held by LUKS", held, Err(in_use), Err(in_use)),
            ("held by an array", held_swap, Err(in_use), Err(in_use)),
        ];
        for (name, state, plain, wiped) in table {
            for (given_up, expect) in [(false, plain), (true, wiped)] {
                match (decide(&state, given_up), expect) {
                    (Ok(access), Ok(expected)) => assert_eq!(access, expected, "{name}"),
                    (Err(refusal), Err(words)) => assert!(refusal.to_string().contains(words), "{name}: {refusal}"),
                    (found, expected) => panic!("{name}, given up {given_up}: {found:?}, expected {expected:?}"),
                }
            }
        }
    }

    #[test]
    fn what_another_process_has_open_is_left_alone() {
        let say = |who: Option<&str>, unseen| {
            let by = OpenBy { who: who.map(str::to_owned), unseen };
            refuse_if_open("/dev/vdb", &by).map_err(|refusal| format!("{refusal}; {}", refusal.hint()))
        };
        assert_eq!(say(None, false), Ok(()));
        let open = say(Some("qemu-system-x86 (process 12)"), false).unwrap_err();
        assert!(open.starts_with("/dev/vdb is in use: qemu-system-x86 (process 12) has it open"), "{open}");
        assert!(say(None, true).unwrap_err().ends_with("run it as root"));
    }

    #[test]
    fn a_refusal_says_what_to_type() {
        let refusal = decide(&state(&["gpt"]), false).unwrap_err();
        assert_eq!(refusal.to_string(), "/dev/vdb is not an unused swap area: it holds gpt");
        assert!(refusal.hint().contains("--wipe /dev/vdb"));
    }
}
