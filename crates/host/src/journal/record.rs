//! The lines of a journal.
//!
//! A line is one JSON object with `"v"`, the version of its form, and `"record"`, what it tells. Lines of version 1 are
//! read for ever (`tests/journals/v1`): a newer program must be able to take back what an older one did.

use serde::{Deserialize, Serialize};
use swaptune_core::change::{SwapFileState, SwapState, ZramState};
use swaptune_core::plan::Step;

/// Version of the lines that are written.
pub const VERSION: u32 = 1;

/// What a transaction is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TransactionKind {
    /// A plan that a user applied.
    Apply,
    /// A device that a user retired: what it destroyed does not come back.
    Retire,
    /// The boot service, which switches on what is configured.
    Service,
    /// The end of the boot service, which switches it off.
    ServiceStop,
    /// Temporary settings, step by step as they are asked for, and taken back at the end.
    #[serde(rename = "scratch")]
    Temporary,
}

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// Everything was done.
    Applied,
    /// Something failed and everything that had been done was undone.
    Reverted,
    /// It was taken back later.
    RolledBack,
}

/// What a step made of the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "is")]
pub enum StepOutcome {
    /// It was so already.
    Unchanged,
    /// It was changed.
    Changed {
        /// What was there, in short.
        before: String,
        /// What is there now, in short.
        after: String,
    },
    /// The kernel did not take what was wanted; the next best is in effect.
    FellBack {
        /// What was wanted.
        wanted: String,
        /// What is in effect.
        got: String,
        /// The reason, as one sentence for the user.
        why: String,
    },
    /// It was left out.
    Skipped {
        /// The reason, as one sentence for the user.
        why: String,
    },
}

/// A file of the state folder that keeps bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blob {
    /// Name in `blobs/`.
    pub name: String,
    /// Length in bytes.
    pub length: u64,
    /// Fingerprint of the bytes, hexadecimal.
    pub print: String,
}

/// A file as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedFile {
    /// The bytes.
    pub blob: Blob,
    /// Permission bits.
    pub mode: u32,
    /// Owner, `st_uid`.
    pub uid: u32,
    /// Group, `st_gid`.
    pub gid: u32,
    /// Extended attributes (security labels, access lists): name and value, hexadecimal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub xattrs: Vec<(String, String)>,
}

/// Bytes of a device as they were.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedRange {
    /// Where they were.
    pub at: u64,
    /// The bytes.
    pub blob: Blob,
}

/// One output of a generator: as it was before, or as the generator left it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GeneratorOutput {
    /// Absolute path on the machine.
    pub at: String,
    /// Fingerprint of the bytes, hexadecimal; `None` when there is no file.
    pub print: Option<String>,
}

/// A swap file that is to be deleted. What it held is of no use any more, so only its shape and header are kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedSwapFile {
    /// Size and kind.
    pub state: SwapFileState,
    /// Permission bits, owner and group, first page.
    pub head: SavedFile,
}

/// What was there before a step; with it, the step can be undone. Paths are those inside the machine, links followed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Saved {
    /// A setting, and the one that its write sets to zero.
    Value {
        /// The value.
        value: String,
        /// Path and value of the setting that excludes this one (`dirty_ratio` for `dirty_bytes`).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        partner: Option<(String, String)>,
    },
    /// A file, or none.
    File {
        /// Absolute path on the machine.
        at: String,
        /// The file.
        file: Option<SavedFile>,
        /// Folders that had to be made for it, outermost first.
        made: Vec<String>,
    },
    /// A symbolic link, or none.
    Link {
        /// Absolute path on the machine.
        at: String,
        /// Where it pointed.
        target: Option<String>,
        /// Folders that had to be made for it, outermost first.
        made: Vec<String>,
    },
    /// A swap file, or none.
    SwapFile {
        /// Absolute path on the machine.
        at: String,
        /// The file.
        file: Option<SavedSwapFile>,
        /// Folders that had to be made for it, outermost first.
        made: Vec<String>,
    },
    /// The bytes under a swap header.
    Ranges {
        /// Absolute path on the machine.
        at: String,
        /// The bytes.
        ranges: Vec<SavedRange>,
    },
    /// A swap area, on or off.
    Area {
        /// Path as the kernel shows it.
        at: String,
        /// How it was on.
        state: Option<SwapState>,
    },
    /// A zram device.
    Zram {
        /// Whether the driver was there.
        driver: bool,
        /// Whether the device was there.
        device: bool,
        /// The compressor that it had, set up or not.
        algorithm: Option<String>,
        /// How it was set up.
        state: Option<ZramState>,
        /// Its first page, where that was a swap header: without it the area cannot be switched on again. Older
        /// journals do not have it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        head: Option<Blob>,
    },
    /// A device as a whole: its ends, nothing of what is to be destroyed.
    Device {
        /// Absolute path on the machine.
        at: String,
        /// The bytes.
        ranges: Vec<SavedRange>,
        /// Kernel names of its partitions.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        partitions: Vec<String>,
    },
    /// A key file: whether there was one, never what is in it.
    Key {
        /// Absolute path on the machine.
        at: String,
        /// Whether it was there.
        there: bool,
        /// Folders that had to be made for it, outermost first.
        made: Vec<String>,
    },
    /// An encrypted mapping.
    Mapping {
        /// Open or not.
        open: bool,
    },
    /// A module.
    Module {
        /// Loaded or not.
        loaded: bool,
    },
    /// What a generator will overwrite.
    Outputs {
        /// Path and file of each.
        files: Vec<(String, Option<SavedFile>)>,
    },
}

/// What a line tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "record")]
pub enum JournalRecord {
    /// The first line: what shall be done.
    Begin {
        /// Id of the transaction.
        id: String,
        /// UTC time.
        time: String,
        /// Version of swaptune.
        tool: String,
        /// What it is for.
        kind: TransactionKind,
        /// Id of the boot, empty when unknown.
        boot: String,
        /// Profile of the plan.
        profile: String,
        /// What it does, in short.
        summary: String,
        /// All steps. Later lines name them by their place in this list.
        steps: Vec<Step>,
    },
    /// One more step of a transaction whose steps are not known when it begins.
    Add {
        /// The step; its place is the end of the list.
        step: Box<Step>,
    },
    /// A step is about to be made.
    Intent {
        /// Index of the step in the transaction, from 0.
        seq: usize,
        /// What was there.
        saved: Saved,
    },
    /// A step is made. A later line for the same step replaces this one.
    Done {
        /// Index of the step in the transaction, from 0.
        seq: usize,
        /// What came of it.
        outcome: StepOutcome,
        /// What a generator made.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        outputs: Vec<GeneratorOutput>,
    },
    /// A step failed.
    Failed {
        /// Index of the step in the transaction, from 0.
        seq: usize,
        /// The reason, as one sentence for the user.
        error: String,
    },
    /// An unfinished transaction goes on.
    Resume {
        /// UTC time.
        time: String,
        /// Id of the boot.
        boot: String,
    },
    /// From here on steps are undone, newest first.
    Undo {
        /// UTC time.
        time: String,
        /// Id of the boot.
        boot: String,
        /// True when the user asked for it, false when a step failed.
        asked: bool,
    },
    /// A step is undone.
    Undone {
        /// Index of the step in the transaction, from 0.
        seq: usize,
    },
    /// A step was not undone, since another program has changed the same thing, or since the user gave it up.
    Left {
        /// Index of the step in the transaction, from 0.
        seq: usize,
        /// What was found, or why it could not be undone.
        found: String,
        /// True when the user gave it up.
        #[serde(default, skip_serializing_if = "is_false")]
        set_aside: bool,
    },
    /// A command that tells other programs of new files.
    Settled {
        /// The command.
        command: String,
        /// What went wrong.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// The last line.
    End {
        /// What became of the transaction as a whole.
        ending: Ending,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// A record with its version, as it stands in the file.
#[derive(Serialize, Deserialize)]
pub(super) struct JournalLine {
    pub v: u32,
    #[serde(flatten)]
    pub record: JournalRecord,
}

/// Only the version, to be read before anything else is believed.
#[derive(Deserialize)]
pub(super) struct RecordVersion {
    pub v: u32,
}
