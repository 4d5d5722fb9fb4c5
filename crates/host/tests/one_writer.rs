//! One file writes to the machine: no other source of this room calls what changes files.
//!
//! The exceptions write no machine state: the journal and the lock write the state folder, a capture writes the folder
//! that the user names, the bodies of `Kernel` are what the writer calls, the canary proof reads.

use std::fs;
use std::path::{Path, PathBuf};

/// What changes files or kernel state.
const WRITING: [&str; 17] = [
    "fs::write",
    "fs::rename",
    "fs::remove_file",
    "fs::remove_dir",
    "fs::create_dir",
    "fs::hard_link",
    "fs::set_permissions",
    "DirBuilder",
    "File::create",
    "OpenOptions",
    "symlink(",
    ".set_len(",
    ".write_all(",
    ".write_all_at(",
    "sys::swapon",
    "sys::swapoff",
    "Command::new",
];
const ALLOWED: &[(&str, &str)] = &[
    ("transaction/write.rs", "the one writer"),
    ("kernel/", "what the writer calls"),
    ("child.rs", "this process's own score"),
    ("cgroup/", "a group of its own, gone with it"),
    ("folder_guardian.rs", "removes a folder of our own when we are gone"),
    ("work_trace.rs", "an instance of tracefs of its own, gone with it"),
    ("keep/canary.rs", "starts the process of the canary pages"),
    ("daemon_status.rs", "the state folder: what the daemon says of itself"),
    ("keep/spent.rs", "the state folder: what budgets of a day have spent"),
    ("keep/units.rs", "has the kernel reclaim memory, which is no setting"),
    ("journal/", "the state folder"),
    ("lock.rs", "the state folder"),
    ("aside.rs", "the state folder"),
    ("capture", "the folder that the user names"),
    ("machine", "opens for reading"),
    ("inspect/", "opens for reading, asks programs that only print"),
    ("processes/cold.rs", "marks of pages as touched, when it is asked which are cold"),
    ("processes/idle.rs", "marks of pages as idle, for the same"),
    ("prove/", "opens for reading"),
    ("temporary/guardian.rs", "starts the process that puts temporary settings back"),
    ("service.rs", "tells systemd what is so already"),
    ("sys.rs", "the calls themselves"),
    ("testing.rs", "trees for tests, built for tests alone"),
];

#[test]
fn only_one_file_writes_to_the_machine() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    for path in sources(&source) {
        let name = path.strip_prefix(&source).map(|path| path.display().to_string()).unwrap_or_default();
        let text = fs::read_to_string(&path).unwrap_or_default();
        // Tests may write what they like.
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let is_allowed = ALLOWED.iter().any(|(allowed, _)| name.starts_with(allowed));
        found.extend(WRITING.iter().filter(|call| !is_allowed && code.contains(**call)).map(|call| format!("{name}: {call}")));
    }
    assert!(found.is_empty(), "writes outside transaction/write.rs: {found:#?}");
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            paths.extend(sources(&entry.path()));
        } else if entry.path().extension().is_some_and(|ending| ending == "rs") && !entry.path().ends_with("tests.rs") {
            paths.push(entry.path());
        }
    }
    paths
}
