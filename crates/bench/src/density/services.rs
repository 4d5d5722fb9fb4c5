//! THE table of services, and what starts one.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use swaptune_core::Bytes;

use super::DensityError;
use crate::process::HelperProgram;

/// A kind of service that `bench density` brings along.
#[derive(Debug)]
pub struct ServiceKind {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub doc: &'static str,
    /// Interpreters, the first that is found is used.
    programs: &'static [&'static str],
    /// The interpreter's flag for a script as an argument.
    flag: &'static str,
    script: &'static str,
    install: &'static str,
}

/// Every kind.
pub static KINDS: &[ServiceKind] = &[
    ServiceKind {
        name: "python",
        doc: "a Python service with sessions as ordinary objects",
        // Debian's own first: a version manager's shim is a shell script that starts many programs.
        programs: &["/usr/bin/python3", "python3"],
        flag: "-c",
        script: include_str!("services/python.py"),
        install: "apt install python3-minimal (Debian, Ubuntu), dnf install python3 (Fedora), pacman -S python (Arch)",
    },
    ServiceKind {
        name: "node",
        doc: "a Node.js service with documents as ordinary objects",
        programs: &["node", "nodejs"],
        flag: "-e",
        script: include_str!("services/node.js"),
        install: "apt install nodejs (Debian, Ubuntu), dnf install nodejs (Fedora), pacman -S nodejs (Arch)",
    },
    ServiceKind {
        name: "sqlite",
        doc: "a Python service with an SQLite database in memory",
        programs: &["/usr/bin/python3", "python3"],
        flag: "-c",
        script: include_str!("services/sqlite.py"),
        install: "apt install python3 (Debian, Ubuntu), dnf install python3 (Fedora), pacman -S python (Arch)",
    },
];

/// How a service is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// A name of the table, or the command as it was typed.
    pub name: String,
    /// What binds a process to its parent and becomes the command that follows the parent's id.
    pub tether: HelperProgram,
    /// What serves as a helper that holds memory.
    pub holder: HelperProgram,
    /// The command, its program first.
    pub command: Vec<OsString>,
    /// Heap that it shall have: `SWAPTUNE_HEAP`, in bytes.
    pub heap: Bytes,
    /// Share of the heap that a wake works on, in percent: `SWAPTUNE_WORK`.
    pub work_percent: u32,
}

impl Launch {
    /// One of the table.
    ///
    /// # Errors
    /// [`DensityError::Refused`] when no interpreter is installed.
    pub fn kind(
        kind: &ServiceKind,
        (tether, holder): (HelperProgram, HelperProgram),
        heap: Bytes,
        work_percent: u32,
    ) -> Result<Self, DensityError> {
        let Some(program) = kind.programs.iter().find_map(|name| find(name)) else {
            let why = format!("the service `{}` needs {}, which is not installed", kind.name, kind.programs.join(" or "));
            return Err(DensityError::Refused { why, hint: format!("install it: {}", kind.install) });
        };
        let command = vec![program.into(), kind.flag.into(), kind.script.into()];
        Ok(Self { name: kind.name.into(), tether, holder, command, heap, work_percent })
    }

    /// A command of the user's own.
    ///
    /// # Errors
    /// [`DensityError::Refused`] when there is no such program.
    pub fn own(
        command: &[OsString],
        (tether, holder): (HelperProgram, HelperProgram),
        heap: Bytes,
        work_percent: u32,
    ) -> Result<Self, DensityError> {
        let words: Vec<String> = command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let program = words.first().map_or("", String::as_str);
        if find(program).is_none() {
            let why = format!("{program}: no such program");
            return Err(DensityError::Refused { why, hint: "name a command that answers each line with a line".into() });
        }
        Ok(Self { name: words.join(" "), tether, holder, command: command.to_vec(), heap, work_percent })
    }

    /// The process to start; `number` makes its contents differ from its neighbours'.
    pub(super) fn process(&self, number: u32) -> Command {
        let mut command = Command::new(&self.tether.path);
        command.args(&self.tether.arguments).arg(std::process::id().to_string()).args(&self.command);
        command.env("SWAPTUNE_HEAP", self.heap.0.to_string());
        command.env("SWAPTUNE_WORK", self.work_percent.to_string()).env("SWAPTUNE_SEED", number.to_string());
        command
    }
}

fn find(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Path::new(name).is_file().then(|| name.into());
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
}
