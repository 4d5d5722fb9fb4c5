//! The guardian of a folder that stands for something of the kernel, a control group or an instance of tracefs: a shell that waits for
//! the end of a pipe and removes the folder then.
//!
//! A process that is killed cleans nothing up, so another process must. The guardian is in a process group of its own, where
//! Ctrl-C does not reach it, and holds nothing but the reading end of a pipe whose other end is ours alone.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// `$1` is the folder, `$2` a file that hands the memory controller on, or nothing. A group whose last process has just
/// been killed, and an instance that is being read, are busy for a moment.
const SCRIPT: &str = r#"
while read -r _; do :; done
left=100
while [ -d "$1" ] && ! rmdir "$1" 2> /dev/null && [ $left -gt 0 ]; do
	sleep 0.1
	left=$((left - 1))
done
[ -z "$2" ] || echo -memory > "$2"
"#;

/// A running guardian.
#[derive(Debug)]
pub(crate) struct FolderGuardian(Child);

impl FolderGuardian {
    pub(crate) fn start(folder: &Path, handed_on: Option<&Path>) -> io::Result<Self> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", SCRIPT, "swaptune-guard"]).arg(folder).arg(handed_on.unwrap_or(Path::new("")));
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0).spawn().map(Self).inspect_err(
            |_| {
                let _ = std::fs::remove_dir(folder);
            },
        )
    }

    /// Lets it remove the folder, and waits until it has.
    pub(crate) fn end(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}
