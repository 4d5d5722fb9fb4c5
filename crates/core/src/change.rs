//! Changes: the reversible steps that a plan is made of.
//!
//! A change states what it expects to find and what it leaves behind, so that carrying it out is a compare-and-set,
//! its inverse is the same change with both sides exchanged, and a journal of changes is enough to go back. What only
//! exists at the moment of the write (the bytes under a new swap header, owner and mode of a file) is captured in the
//! journal beside the change.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::units::Bytes;

/// How a swap area is switched on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwapState {
    /// Priority, 0 to 32767; negative only for an area that was switched on without one.
    pub priority: i32,
    /// Discard the whole area once at swapon.
    #[serde(default)]
    pub discard_once: bool,
    /// Discard slots as they come free.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub discard_pages: bool,
}

impl SwapState {
    /// On with this priority, and nothing is discarded.
    #[must_use]
    pub fn at(priority: i32) -> Self {
        Self { priority, ..Self::default() }
    }
}

/// How a zram device is set up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZramState {
    /// The compressor, as `comp_algorithm` names it.
    pub algorithm: String,
    /// Uncompressed capacity.
    pub disksize: Bytes,
    /// Most RAM the compressed data may take, zero for no limit.
    pub mem_limit: Bytes,
    /// Secondary compressors for recompression, the first with priority 1. An empty list says nothing of them: up to Linux 6.11
    /// a reset keeps their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recomp_algorithm: Vec<String>,
    /// The block device that pages are written back to, by the path that system calls take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backing_dev: Option<String>,
}

impl ZramState {
    /// Size and compressors, and where it writes back to: `4 GiB lz4, again with zstd, backed by /dev/vdb1`.
    #[must_use]
    pub fn words(&self) -> String {
        let mut words = format!("{} {}", self.disksize, self.algorithm);
        if !self.recomp_algorithm.is_empty() {
            words += &format!(", again with {}", self.recomp_algorithm.join(", "));
        }
        if let Some(device) = &self.backing_dev {
            words += &format!(", backed by {device}");
        }
        words
    }
}

/// A file to be made as swap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwapFileState {
    /// Size, a multiple of the page size.
    pub size: Bytes,
    /// True on btrfs: the file must be created with the NOCOW attribute before it has any extent.
    pub nocow: bool,
}

/// The swap header to be written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwapHeaderState {
    /// UUID, so that fstab can name the area before the header exists.
    pub uuid: String,
    /// Label, at most 16 bytes.
    pub label: String,
}

/// One partition of a table that is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionState {
    /// UUID in the table, so that crypttab can name the partition before it exists.
    pub uuid: String,
    /// Name in the table.
    pub name: String,
    /// GUID of its type.
    pub guid: String,
    /// Where it begins, whole MiB.
    pub start: Bytes,
    /// Its size, whole MiB.
    pub size: Bytes,
}

/// What a device holds as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "format")]
pub enum DeviceFormat {
    /// A partition table.
    Gpt {
        /// UUID of the disk in the table.
        uuid: String,
        /// The partitions in the order of their numbers, from 1.
        partitions: Vec<PartitionState>,
    },
    /// A LUKS2 volume that a key file opens.
    Luks {
        /// UUID of the volume.
        uuid: String,
        /// Its label.
        label: String,
        /// Cipher as dm-crypt names it: `aes-xts-plain64`.
        cipher: String,
        /// Key size; XTS takes two keys, so 512 is AES-256.
        key_bits: u32,
        /// The file with the key, which only root can read.
        key_file: String,
    },
    /// A swap area; only as what is destroyed, since one is made by a swap header.
    Swap {
        /// UUID of its header.
        uuid: String,
    },
}

impl DeviceFormat {
    /// What tells it from any other: the UUID that it is made with.
    #[must_use]
    pub fn uuid(&self) -> &str {
        match self {
            Self::Gpt { uuid, .. } | Self::Luks { uuid, .. } | Self::Swap { uuid } => uuid,
        }
    }

    fn words(&self) -> String {
        match self {
            Self::Gpt { partitions, .. } => {
                let part = |part: &PartitionState| format!("{} {}", part.name, part.size);
                format!("GPT with {}", partitions.iter().map(part).collect::<Vec<_>>().join(", "))
            }
            Self::Luks { cipher, key_bits, .. } => format!("LUKS2, {cipher}, {key_bits} bits"),
            Self::Swap { uuid } => format!("swap {uuid}"),
        }
    }
}

/// Where the key of a mapping comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "key")]
pub enum MappingKey {
    /// Plain dm-crypt with a key that is made anew at each opening and kept nowhere.
    Random {
        /// Cipher as dm-crypt names it.
        cipher: String,
        /// Key size.
        key_bits: u32,
    },
    /// A LUKS volume and its key file.
    File {
        /// The file.
        path: String,
    },
}

/// An encrypted mapping with a swap area in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MappingState {
    /// The device below.
    pub source: String,
    /// Its key.
    #[serde(flatten)]
    pub key: MappingKey,
    /// Whether discards go through to the device.
    pub discard: bool,
    /// The swap header in it. With a random key any header is as good: each boot makes another.
    pub swap: SwapHeaderState,
}

/// What a step changes. Every variant is its own inverse with `before` and `after` exchanged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Change {
    /// A kernel setting.
    Knob {
        /// Row of the knob table.
        name: String,
        /// The file, with every pattern resolved.
        path: String,
        /// Value that is expected.
        before: String,
        /// Value that is wanted.
        after: String,
        /// Values to try in this order when the kernel refuses `after` (a compressor that does not load).
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        fallbacks: Vec<String>,
    },
    /// A text file, created, replaced or deleted as a whole.
    File {
        /// Absolute path on the machine.
        path: String,
        /// Text that is expected; `None` when there must be no file.
        before: Option<String>,
        /// Text that is wanted; `None` to delete.
        after: Option<String>,
        /// Permission bits for a file that is created; a replaced file keeps its own.
        mode: u32,
    },
    /// A symbolic link, such as the one that enables a unit.
    Link {
        /// Absolute path on the machine.
        path: String,
        /// Target that is expected.
        before: Option<String>,
        /// Target that is wanted.
        after: Option<String>,
    },
    /// A swap file created (`after`) or deleted (`before`).
    SwapFile {
        /// Absolute path on the machine.
        path: String,
        /// The file that is expected.
        before: Option<SwapFileState>,
        /// The file that is wanted.
        after: Option<SwapFileState>,
    },
    /// A swap header written over the first page of a device or file; going back restores the captured bytes.
    SwapHeader {
        /// Device or file.
        path: String,
        /// The header that is expected, `None` for anything else.
        before: Option<SwapHeaderState>,
        /// The header that is wanted, `None` for what was there before.
        after: Option<SwapHeaderState>,
        /// True when the user named the device to be overwritten in spite of what it carries.
        #[serde(default)]
        wipe: bool,
    },
    /// A swap area switched on, off, or to another priority.
    Swap {
        /// Device or file.
        path: String,
        /// How it is on now, `None` when off.
        before: Option<SwapState>,
        /// How it shall be on, `None` for off.
        after: Option<SwapState>,
    },
    /// A zram device set up or freed.
    Zram {
        /// Kernel name (`zram0`).
        name: String,
        /// How it is set up now.
        before: Option<ZramState>,
        /// How it shall be set up.
        after: Option<ZramState>,
    },
    /// A kernel module loaded or unloaded.
    Module {
        /// Module name.
        name: String,
        /// Loaded now.
        before: bool,
        /// Loaded afterwards.
        after: bool,
    },
    /// What a device holds as a whole: made by an external program, or destroyed for good. Going back from what was made restores the
    /// captured bytes; nothing is captured of what is destroyed.
    Format {
        /// The device.
        path: String,
        /// What is expected, `None` for nothing.
        before: Option<DeviceFormat>,
        /// What is wanted, `None` to destroy it.
        after: Option<DeviceFormat>,
        /// True when the user named the device to be overwritten in spite of what it carries.
        #[serde(default)]
        wipe: bool,
    },
    /// A file of random bytes that only root can read. Its contents are never journalled nor captured: deleted is destroyed.
    KeyFile {
        /// Absolute path on the machine.
        path: String,
        /// There now.
        before: bool,
        /// There afterwards.
        after: bool,
    },
    /// An encrypted mapping opened or closed.
    Mapping {
        /// Name below `/dev/mapper`.
        name: String,
        /// How it is open now.
        before: Option<MappingState>,
        /// How it shall be open.
        after: Option<MappingState>,
    },
    /// Files that a generator makes out of others (`grub.cfg`, an initramfs); going back restores the captured bytes.
    Generated {
        /// What is generated, in words.
        what: String,
        /// The command and its arguments.
        command: Vec<String>,
        /// The files that it writes.
        outputs: Vec<String>,
        /// False: as captured before; true: made by the command.
        before: bool,
        /// As `before`.
        after: bool,
    },
}

impl Change {
    /// The change that undoes this one.
    #[must_use]
    pub fn inverse(&self) -> Self {
        let mut inverse = self.clone();
        match &mut inverse {
            Self::Knob { before, after, .. } => std::mem::swap(before, after),
            Self::File { before, after, .. } | Self::Link { before, after, .. } => std::mem::swap(before, after),
            Self::SwapFile { before, after, .. } => std::mem::swap(before, after),
            Self::SwapHeader { before, after, .. } => std::mem::swap(before, after),
            Self::Swap { before, after, .. } => std::mem::swap(before, after),
            Self::Zram { before, after, .. } => std::mem::swap(before, after),
            Self::Format { before, after, .. } => std::mem::swap(before, after),
            Self::Mapping { before, after, .. } => std::mem::swap(before, after),
            Self::Module { before, after, .. } | Self::Generated { before, after, .. } | Self::KeyFile { before, after, .. } => {
                std::mem::swap(before, after);
            }
        }
        inverse
    }

    /// What is changed: a knob's name or a path. Two changes of one target must stay in order.
    #[must_use]
    pub fn target(&self) -> &str {
        match self {
            Self::Knob { name, .. } | Self::Zram { name, .. } | Self::Module { name, .. } | Self::Mapping { name, .. } => name,
            Self::File { path, .. }
            | Self::Link { path, .. }
            | Self::SwapFile { path, .. }
            | Self::SwapHeader { path, .. }
            | Self::Format { path, .. }
            | Self::KeyFile { path, .. }
            | Self::Swap { path, .. } => path,
            Self::Generated { what, .. } => what,
        }
    }

    /// True for changes that a reboot undoes by itself: kernel values, areas and devices that are on.
    #[must_use]
    pub fn is_volatile(&self) -> bool {
        matches!(self, Self::Knob { .. } | Self::Swap { .. } | Self::Zram { .. } | Self::Module { .. } | Self::Mapping { .. })
    }

    /// True for what the boot service switches on and off: knobs, zswap, zram. Disk areas belong to fstab, and systemd
    /// brings them up by itself at the same moment; the kind of their disk belongs to udev.
    #[must_use]
    pub fn is_of_service(&self) -> bool {
        match self {
            Self::Knob { name, .. } => name != "block.rotational",
            Self::Swap { path, .. } | Self::SwapHeader { path, .. } => path.starts_with("/dev/zram"),
            Self::Zram { .. } | Self::Module { .. } => true,
            Self::File { .. }
            | Self::Link { .. }
            | Self::SwapFile { .. }
            | Self::Format { .. }
            | Self::KeyFile { .. }
            | Self::Mapping { .. }
            | Self::Generated { .. } => false,
        }
    }

    /// The two sides as short texts, for a diff: `60 → 100`, `off → priority 10`.
    #[must_use]
    pub fn sides(&self) -> (String, String) {
        fn some<T>(side: &Option<T>, text: impl Fn(&T) -> String, none: &str) -> String {
            side.as_ref().map_or_else(|| none.to_owned(), text)
        }
        let lines = |text: &String| format!("{} lines", text.lines().count());
        match self {
            Self::Knob { before, after, .. } => (before.clone(), after.clone()),
            Self::File { before, after, .. } => (some(before, lines, "no file"), some(after, lines, "no file")),
            Self::Link { before, after, .. } => (some(before, String::clone, "no link"), some(after, String::clone, "no link")),
            Self::SwapFile { before, after, .. } => {
                let text = |file: &SwapFileState| file.size.to_string();
                (some(before, text, "no file"), some(after, text, "no file"))
            }
            Self::SwapHeader { before, after, .. } => {
                let text = |header: &SwapHeaderState| format!("swap {}", header.uuid);
                (some(before, text, "no swap header"), some(after, text, "as before"))
            }
            Self::Swap { before, after, .. } => {
                let text = |area: &SwapState| format!("on, priority {}", area.priority);
                (some(before, text, "off"), some(after, text, "off"))
            }
            Self::Zram { before, after, .. } => {
                (some(before, ZramState::words, "not set up"), some(after, ZramState::words, "not set up"))
            }
            Self::Module { before, after, .. } => {
                let text = |loaded: bool| if loaded { "loaded" } else { "not loaded" }.to_owned();
                (text(*before), text(*after))
            }
            Self::Format { before, after, .. } => {
                (some(before, DeviceFormat::words, "nothing"), some(after, DeviceFormat::words, "nothing"))
            }
            Self::KeyFile { before, after, .. } => {
                let text = |there: bool| if there { "a random key" } else { "no key" }.to_owned();
                (text(*before), text(*after))
            }
            Self::Mapping { before, after, .. } => {
                let text = |mapping: &MappingState| match &mapping.key {
                    MappingKey::Random { cipher, .. } => format!("{} by a random key, {cipher}", mapping.source),
                    MappingKey::File { path } => format!("{} by {path}", mapping.source),
                };
                (some(before, text, "closed"), some(after, text, "closed"))
            }
            Self::Generated { before, after, .. } => {
                let text = |made: bool| if made { "made anew" } else { "as captured" }.to_owned();
                (text(*before), text(*after))
            }
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (before, after) = self.sides();
        match self {
            Self::File { path, before: None, .. } => write!(f, "create {path}"),
            Self::File { path, after: None, .. } => write!(f, "delete {path}"),
            Self::File { path, .. } => write!(f, "edit {path}"),
            Self::Module { name, after: true, .. } => write!(f, "load module {name}"),
            Self::Module { name, .. } => write!(f, "unload module {name}"),
            Self::Format { path, after: None, .. } => write!(f, "destroy what is on {path}: {before}"),
            Self::Format { path, .. } => write!(f, "format {path}: {after}"),
            Self::KeyFile { path, after: true, .. } => write!(f, "create {path}: {after}, for root only"),
            Self::KeyFile { path, .. } => write!(f, "destroy {path}"),
            Self::Mapping { name, after: Some(_), .. } => write!(f, "open /dev/mapper/{name}: {after}"),
            Self::Mapping { name, .. } => write!(f, "close /dev/mapper/{name}"),
            Self::Generated { what, command, after: true, .. } => write!(f, "{what}: run {}", command.join(" ")),
            Self::Generated { what, .. } => write!(f, "{what}: restore"),
            _ => write!(f, "{}: {before} → {after}", self.target()),
        }
    }
}
